"""Attacks this build and writes the table of it: `make hostile`.

Each part is a process of its own, so a part that ends the process is counted as fallen. All draws follow from `--seed`. A try survives if it
ends as it should: with a result, or with an error of one line that Haltere reports. A panic, a traceback, an end by a signal, a
store that lost a run and a try that takes longer than a minute have fallen. So has a part whose tries were all refused, or that did
not reach a name that it must.

The parts share `--minutes`. A part does less on a busy machine, and the table says what it tried.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hostile_captures  # noqa: F401
import hostile_experiments  # noqa: F401
import hostile_inputs  # noqa: F401
import hostile_processes  # noqa: F401  each registers its parts
from trial import ALARM_S, PARTS, ROOT, Missing, Score

DOCUMENT = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- hostile: made by `make hostile` -->", "<!-- hostile: end -->"
#: Beyond its time a part may start, finish its last try and clean up. A process that is still there then has stopped.
GRACE_S = 5 * ALARM_S


def in_process(name: str, seed: int, seconds: float) -> dict[str, Any]:
    """Runs a part in a process of its own: what it tried, reached, what fell, and what is missing here."""
    with tempfile.TemporaryDirectory(prefix="haltere-hostile-") as folder:
        last = Path(folder) / "last"
        line = [
            sys.executable,
            __file__,
            "--part",
            name,
            "--seed",
            str(seed),
            "--seconds",
            f"{seconds:.0f}",
            "--keep",
            str(last),
        ]

        def fell(why: str) -> dict[str, Any]:
            trying = f"; the last input: {last.read_text()[:2000]}" if last.exists() else ""
            return {"tried": 1, "fallen": [why + trying], "missing": "", "reached": {}}

        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=seconds + GRACE_S, check=False)
        except subprocess.TimeoutExpired:
            return fell(f"it had not ended {GRACE_S} s after its time")
        if (late := done.stderr.rfind("Timeout (")) >= 0:
            return fell(f"a try took longer than {ALARM_S} s: {' '.join(done.stderr[late:].split())[:600]}")
        try:
            out: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            return fell(f"its process ended with {done.returncode}: {done.stderr[-400:]}")
        return out


def run_part(name: str, seed: int, seconds: float, keep: Path | None) -> int:
    """Runs a part here, and prints its score as JSON."""
    score, missing = Score(seconds, keep), ""
    with tempfile.TemporaryDirectory(prefix="haltere-hostile-") as folder:
        try:
            PARTS[name][1](score, random.Random(f"{seed} {name}"), Path(folder))
            score.end_part()
        except Missing as error:
            missing = str(error)
    print(json.dumps({"tried": score.tried, "fallen": score.fallen, "missing": missing, "reached": score.reached}))
    return 0


def told(reached: Mapping[str, int]) -> str:
    """What was reached: single counts, and of each registry how many names."""
    single = [f"{count} {what}" for what, count in reached.items() if " " not in what]
    names = Counter(what.split(" ")[0] for what in reached if " " in what)
    return ", ".join([*single, *(f"{count} {registry}" for registry, count in sorted(names.items()))])


def table(rows: Sequence[tuple[str, int, int]]) -> str:
    """The rows as Markdown."""
    lines = ["| what | tried | survived |", "|---|---:|---:|"]
    return "\n".join([*lines, *(f"| {what} | {tried} | {survived} |" for what, tried, survived in rows)])


def all_parts(seed: int, seconds: float) -> tuple[list[tuple[str, int, int]], bool]:
    """Runs all parts in so long. A part has its share of what is left, so one that ends early leaves time to the others."""
    rows, fell, end = [], False, time.monotonic() + seconds
    names = list(PARTS)
    for i, name in enumerate(names):
        what, _, share, seeds = PARTS[name]
        began = time.monotonic()
        own = max(end - began, 0) * share / sum(PARTS[other][2] for other in names[i:])
        tried, fallen, missing, reached = 0, [], "", Counter[str]()
        for more in range(seeds):
            done = in_process(name, seed + more, own / seeds)
            tried, fallen, missing = tried + done["tried"], fallen + done["fallen"], done["missing"]
            reached.update(done["reached"])
        survived = max(tried - len(fallen), 0)
        rows.append((f"{what} (needs {missing})" if missing else what, tried, survived))
        fell |= bool(fallen)
        result = f"{survived} of {tried} survived" if not missing else f"needs {missing}"
        print(
            f"{name}: {result}, {time.monotonic() - began:.0f} s of {own:.0f} s; {told(reached)}",
            file=sys.stderr,
            flush=True,
        )
        for one in fallen[:8]:
            print(f"  {one}", file=sys.stderr, flush=True)
    return rows, fell


def main(arguments: Sequence[str]) -> int:
    """Runs all parts, prints the table, and writes it if asked."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--part", choices=PARTS, help="one part, in this process")
    to.add_argument("--seconds", type=float, default=float("inf"), help="what that part may take (no limit)")
    to.add_argument("--minutes", type=float, default=9.5, help="what all parts may take (9.5)")
    to.add_argument("--seed", type=int, default=19, help="the first random seed (19)")
    to.add_argument("--keep", type=Path, help="where that part writes each input before it is tried")
    to.add_argument("--write", action="store_true", help=f"write the table into {DOCUMENT.relative_to(ROOT)}")
    given = to.parse_args(arguments)
    if given.part:
        return run_part(given.part, given.seed, given.seconds, given.keep)
    rows, fell = all_parts(given.seed, 60 * given.minutes)
    print(table(rows))
    if given.write:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}", encoding="utf-8")
    return 1 if fell else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
