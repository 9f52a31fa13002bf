"""ns-3 with the settings of the study aqm-lab: every cell, several runs, one row each into `papers/aqm-lab/ns3.csv`.

`make bench-ns3` gets ns-3; `NS3_BUILD=DIRECTORY` names the `build` directory of another optimised one. Rows that the file has already
are kept, so that a run that was stopped goes on where it ended.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ns3

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
OWN_NS3 = Path(os.environ.get("NS3_BUILD", TARGET / "ns3" / "build"))
QUEUES = ("pfifo_fast", "ared", "codel", "fq_codel", "pie")
PAIRS = (1, 2, 5, 10, 20)
KEYS = ("pairs", "queue", "run")
MEASURES = (
    "median_rtt_ms",
    "median_whole_ms",
    "p95_rtt_ms",
    "jain_down",
    "jain_up",
    "goodput_mbit",
    "drops",
    "queue_packets",
)

Row = dict[str, str]


def cells(runs: int) -> Iterator[tuple[int, str, int]]:
    """All cells of the first run, then those of the second: a file that was stopped has whole runs."""
    for run in range(1, runs + 1):
        for pairs in PAIRS:
            for queue in QUEUES:
                yield pairs, queue, run


def measure(program: Path, cell: tuple[int, str, int], more: list[str]) -> Row:
    """One run."""
    pairs, queue, run = cell
    command = [str(program), f"--pairs={pairs}", f"--queue={queue}", f"--run={run}", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout.splitlines()[-1])
    print(f"{pairs} pairs, {queue}, run {run}: {said}", file=sys.stderr)
    return {**dict(zip(KEYS, map(str, cell), strict=True)), **{name: str(said[name]) for name in MEASURES}}


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of each cell (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--out", type=Path, default=ROOT / "papers" / "aqm-lab" / "ns3.csv", help="the file")
    parser.add_argument("--control", default="TcpNewReno", help="ns-3's name of the congestion control (default TcpNewReno)")
    parser.add_argument("--always", action="store_true", help="sources that are always on, as in ns-3's benchmark example")
    options = parser.parse_args()
    found = ns3.builds(OWN_NS3)
    if not found:
        print(ns3.HOW_TO_GET, file=sys.stderr)
        return 2
    program = found[0].compile(TARGET / "bench", "aqm_lab")
    print(f"ns-3 {found[0].version}: {found[0].note}", file=sys.stderr)
    more = [f"--control={options.control}", *(["--always=true"] if options.always else [])]
    rows: dict[tuple[int, str, int], Row] = {}
    if options.out.exists():
        with options.out.open(newline="") as file:
            rows = {(int(row["pairs"]), row["queue"], int(row["run"])): row for row in csv.DictReader(file)}
    missing = [cell for cell in cells(options.runs) if cell not in rows]
    with ThreadPoolExecutor(options.jobs) as pool:
        for cell, row in zip(missing, pool.map(lambda one: measure(program, one, more), missing), strict=True):
            rows[cell] = row
            with options.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, [*KEYS, *MEASURES], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows[one] for one in sorted(rows, key=lambda key: (key[0], QUEUES.index(key[1]), key[2])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
