"""What a packet costs in each queue discipline, and an acknowledgement in each congestion control: instructions and time.

`python benches/costs.py` measures and writes `costs.json`, from which `bench.py report` makes a section of docs/performance.md.
Instructions are counted under Valgrind's callgrind, as the difference of a longer and a shorter run, so what else the machine does is
not in them. Times are the least of several runs in one process, in which all take turns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent
COSTS = HERE / "costs.json"
KINDS = {"queues": ("haltere-queue", "cost", "codel"), "controls": ("haltere-congestion", "ack_cost", "cubic")}
"""The crate, its example that measures, and what the others stand beside."""
LENGTHS = (4000, 12_000)


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    if done.returncode:
        sys.exit(f"costs: `{' '.join(command)}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def _instructions(program: str, name: str) -> float:
    counts = []
    for length in LENGTHS:
        told = _said(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(length), name])
        counted = re.search(r"Collected : (\d+)", told)
        assert counted, told
        counts.append(int(counted[1]))
    return (counts[1] - counts[0]) / (LENGTHS[1] - LENGTHS[0])


def measure(crate: str, example: str, beside: str) -> dict[str, dict[str, float]]:
    """Instructions and ns by name, and both over those of `beside`."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")).absolute()
    _said(["cargo", "build", "--quiet", "--release", "-p", crate, "--example", example])
    program = str(target / "release" / "examples" / example)
    times = dict(re.findall(r"(?m)^(.+?) +([\d.]+) ns", _said([program])))
    found = {
        name: {"instructions": round(_instructions(program, name)), "ns": float(ns)} for name, ns in times.items()
    }
    usual = found[beside]
    return {name: cost | {f"{key}_over": round(cost[key] / usual[key], 2) for key in usual} for name, cost in found.items()}


def main() -> int:
    if not shutil.which("valgrind"):
        print("costs: valgrind is missing (on Debian: apt-get install valgrind)", file=sys.stderr)
        return 2
    found = {kind: measure(*what) for kind, what in KINDS.items()}
    COSTS.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
