"""Instructions of one pair, beside the count that is committed: a change of the cost is seen whatever the machine does meanwhile.

`python benches/instructions.py` counts and compares, `--bless` writes the count down. The run is case (b) of the suite, 16 CUBIC
flows over 1 Gbit/s and 10 ms +- 30 % with drop tail, under Valgrind's callgrind. A pair is a full segment delivered and its
acknowledgement; start, set-up and slow start are taken out as the difference of a longer and a shorter run.
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
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import measure

HERE = Path(__file__).absolute().parent
COUNTS = HERE / "instructions.json"
SCENARIO = HERE / "scenarios" / "dumbbell.toml"
SECONDS = (0.5, 2.5)
SEGMENT = 1448
MOST = 0.03
PROFILE = "python"
"""What `release` is, compiled in a fraction of the time."""


def _said(command: Sequence[str | Path], where: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=where)
    if done.returncode:
        sys.exit(f"bench-check: `{' '.join(map(str, command))}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def _count(program: Path, seconds: float) -> tuple[int, float]:
    """Instructions and pairs of a run of so many seconds."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "b.toml"
        text, found = re.subn(r'(?m)^duration = ".*"$', f'duration = "{seconds}s"', SCENARIO.read_text())
        assert found == 1, SCENARIO
        file.write_text(text.replace('warmup = "1s"', 'warmup = "0s"'))
        told = _said(["valgrind", "--tool=callgrind", "--callgrind-out-file=out", program, file, "1"], Path(scratch))
    counted = re.search(r"Collected : (\d+)", told)
    assert counted, told
    return int(counted[1]), measure.parse(told)["received_bytes"] / SEGMENT


def _pair() -> float:
    """Instructions of a pair."""
    build = ["cargo", "build", "--quiet", "--profile", PROFILE, "-p", "haltere-sim", "--example", "scenario"]
    _said(build, HERE.parent)
    program = (
        Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")).absolute() / PROFILE / "examples" / "scenario"
    )
    (few, few_pairs), (many, many_pairs) = (_count(program, seconds) for seconds in SECONDS)
    return (many - few) / (many_pairs - few_pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description="Instructions of a pair, beside the committed count")
    parser.add_argument("--bless", action="store_true", help="write the count down")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print(
            "bench-check: nothing was compared: valgrind is missing (on Debian: apt-get install valgrind)",
            file=sys.stderr,
        )
        return 2
    rustc = _said(["rustc", "--version"], HERE.parent).split("(")[0].strip()
    known = json.loads(COUNTS.read_text()) if COUNTS.exists() else None
    if not args.bless and known and known["rustc"] != rustc:
        print(
            f"bench-check: nothing was compared: the committed count is of {known['rustc']}, and {rustc} makes other code"
        )
        return 0
    pair = _pair()
    if args.bless:
        COUNTS.write_text(json.dumps({"rustc": rustc, "instructions_of_a_pair": round(pair, 1)}, indent=2) + "\n")
        print(f"written down: {pair:,.1f} instructions a pair")
        return 0
    if not known:
        print(f"{pair:,.1f} instructions a pair; no count is committed: write it down with --bless", file=sys.stderr)
        return 2
    change = pair / known["instructions_of_a_pair"] - 1
    print(f"{pair:,.1f} instructions a pair, {change:+.1%} from the committed {known['instructions_of_a_pair']:,.1f}")
    if change > MOST:
        print(f"more than {MOST:.0%} above it: mend it, or write it down with --bless and say why", file=sys.stderr)
        return 1
    if change < -MOST:
        print("well below it: write it down with --bless")
    return 0


if __name__ == "__main__":
    sys.exit(main())
