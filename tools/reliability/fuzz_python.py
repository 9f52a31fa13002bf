"""Any bytes into the parsers that are Python: checksum files, manifests and messages of the playground. `make fuzz` runs it."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from trial import Score, corpus, mutated


def main(arguments: Sequence[str]) -> int:
    """Both for so many seconds; the first input that falls is written into the corpus."""
    from haltere.play.protocol import Refused, experiment_of, read
    from haltere.runs.records import seal_of

    to = argparse.ArgumentParser(description=__doc__)
    to.add_argument("--seconds", type=float, default=60)
    given = to.parse_args(arguments)

    def checksum(data: bytes) -> None:
        seal_of(data, "0" * 32)

    def message(data: bytes) -> None:
        _, keys = read(data.decode(errors="replace"))
        experiment_of(keys.get("experiment", {}))

    status = 0
    for target, exercise in {"checksum": checksum, "message": message}.items():
        files, score, end = corpus(target), Score(), time.monotonic() + given.seconds
        draw = random.Random(time.time_ns())
        while time.monotonic() < end and not score.fallen:
            data = mutated(files, draw)
            with score.one(target, Refused):
                exercise(data)
            if score.fallen:
                found = Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / target / f"fallen-{time.time_ns()}"
                found.write_bytes(data)
                print(f"{target}: {score.fallen[0]}; the input is {found}")
                status = 1
        print(f"{target}: {score.tried} inputs, {len(score.fallen)} fell")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
