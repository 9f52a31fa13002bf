"""Instructions of one run, beside the count that is committed: a change of the cost is seen whatever the machine does meanwhile.

`python benches/instructions.py` counts and compares, `--bless` writes the count down. The run is 16 CUBIC flows over 1 Gbit/s and
10 ms +- 30 % with drop tail; start and set-up are taken out as the difference of a longer and a shorter run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COUNTS = HERE / "instructions.json"
RUN = ["16", "1Gbit", "10ms", "30%"]
SECONDS = ("0.1", "0.4")
MOST = 0.03


def _lines(command: list[str], **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return str(done.stdout + done.stderr)


def _count(program: Path, seconds: str) -> tuple[int, int]:
    """Instructions and pairs of a run of so many seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        out = f"--callgrind-out-file={scratch}/out"
        told = _lines(["valgrind", "--tool=callgrind", out, str(program), *RUN, seconds])
    counted, pairs = re.search(r"Collected : (\d+)", told), re.search(r"pairs +(\d+)", told)
    assert counted and pairs, told
    return int(counted[1]), int(pairs[1])


def main() -> int:
    parser = argparse.ArgumentParser(description="Instructions of a pair, beside the committed count")
    parser.add_argument("--bless", action="store_true", help="write the count down")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: valgrind is missing (on Debian: apt-get install valgrind)")
        return 0
    rustc = _lines(["rustc", "--version"]).split("(")[0].strip()
    known = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    if not args.bless and known.get("rustc") != rustc:
        print(f"skipped: the committed count is of {known.get('rustc')}, this is {rustc}, which makes other code")
        return 0
    _lines(
        ["cargo", "build", "--quiet", "--profile", "python", "-p", "haltere-sim", "--example", "dumbbell"],
        cwd=HERE.parent,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    (few, few_pairs), (many, many_pairs) = (_count(target / "python/examples/dumbbell", s) for s in SECONDS)
    pair = (many - few) / (many_pairs - few_pairs)
    if args.bless:
        COUNTS.write_text(json.dumps({"rustc": rustc, "instructions_of_a_pair": round(pair, 1)}, indent=2) + "\n")
        print(f"written down: {pair:.1f} instructions a pair")
        return 0
    change = pair / known["instructions_of_a_pair"] - 1
    print(f"{pair:.1f} instructions a pair, {change:+.1%} of the committed {known['instructions_of_a_pair']}")
    if change > MOST:
        print(f"more than {MOST:.0%} above it: mend it, or write it down with --bless and say why", file=sys.stderr)
        return 1
    if change < -MOST:
        print("well below it: write it down with --bless")
    return 0


if __name__ == "__main__":
    sys.exit(main())
