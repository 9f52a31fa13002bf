"""Instructions of one pair in five networks, beside the last line of `instructions.csv`, whatever else the machine does meanwhile.

`python benches/instructions.py` counts and compares, `--bless WHY` adds a line. A run is counted by Valgrind's callgrind. A pair is a
full segment delivered to an application and its acknowledgement. Start, set-up and slow start are taken out as the difference of a
longer and a shorter run; births and ends of short flows are in it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import measure
from suite import LONG_10000, SCENARIOS, set_key

HERE = Path(__file__).absolute().parent
HISTORY = HERE / "instructions.csv"
MOST = 0.01
PROFILE = "python"
"""What `release` is, compiled in a fraction of the time."""


@dataclass(frozen=True)
class Network:
    """A network whose pairs are counted between two instants."""

    title: str
    file: str
    seconds: tuple[float, float]
    settings: Mapping[str, object] = field(default_factory=dict)


NETWORKS: Mapping[str, Network] = {
    "dumbbell": Network("16 CUBIC flows, drop tail", "dumbbell.toml", (0.5, 1.5)),
    "flows": Network("10,000 CUBIC flows, drop tail", "dumbbell.toml", (0.25, 0.3), LONG_10000.settings),
    "tree": Network("DCTCP in a fat tree of 16 hosts", "fat_tree.toml", (0.002, 0.005), {"topology.fat_tree.k": 4}),
    "short": Network(
        "short DCTCP flows, leaf and spine",
        "websearch.toml",
        (0.004, 0.024),
        {"topology.leaf_spine.leaves": 3, "topology.leaf_spine.spines": 2, "topology.leaf_spine.hosts": 4},
    ),
    "cake": Network("4 BBRv3 flows, CAKE", "cake.toml", (2, 6)),
}


def _said(command: Sequence[str | Path], where: Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=where)
    if done.returncode:
        sys.exit(f"bench-check: `{' '.join(map(str, command))}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def experiment(network: Network, seconds: float) -> dict[str, Any]:
    """The network's experiment over so many seconds."""
    table = tomllib.loads((SCENARIOS / network.file).read_text())
    for path, value in network.settings.items():
        set_key(table, path, value)
    return table | {"duration": f"{seconds}s", "warmup": "0s"}


def _count(program: Path, network: Network, seconds: float) -> tuple[int, float]:
    """Instructions and pairs of a run of so many seconds."""
    table = experiment(network, seconds)
    segment = int(table.get("tcp", {}).get("mss", "1448B").removesuffix("B"))
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "experiment.json"
        file.write_text(json.dumps(table))
        told = _said(["valgrind", "--tool=callgrind", "--callgrind-out-file=out", program, file, "1"], Path(scratch))
    counted = re.search(r"Collected : (\d+)", told)
    assert counted, told
    return int(counted[1]), measure.parse(told)["received_bytes"] / segment


def _pairs(program: Path) -> dict[str, float]:
    """Instructions of a pair in each network."""
    runs = [(network, seconds) for network in NETWORKS.values() for seconds in network.seconds]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda run: _count(program, *run), runs))
    found = {}
    for name, (few, few_pairs), (many, many_pairs) in zip(NETWORKS, counts[::2], counts[1::2], strict=True):
        found[name] = (many - few) / (many_pairs - few_pairs)
    return found


def _build() -> Path:
    build = ["cargo", "build", "--quiet", "--profile", PROFILE, "-p", "haltere-sim", "--example", "scenario"]
    _said(build, HERE.parent)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    return target.absolute() / PROFILE / "examples" / "scenario"


def history() -> list[dict[str, str]]:
    """The lines that are committed, the oldest first."""
    with HISTORY.open(newline="") as file:
        return list(csv.DictReader(file))


def table() -> str:
    """The first and the last committed counts, as a table for the page."""
    lines = history()
    first, last = lines[0], lines[-1]
    rows = [
        f"| {network.title} | {float(first[name]):,.0f} | {float(last[name]):,.0f} | {float(last[name]) / float(first[name]) - 1:+.0%} |"
        for name, network in NETWORKS.items()
    ]
    head = ["| network | first line | last line | change |", "| --- | ---: | ---: | ---: |"]
    return "\n".join([*head, *rows])


def figure(file: Path) -> None:
    """The committed counts, one line of the history after the other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = history()
    shown, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    for name, network in NETWORKS.items():
        axes.plot(
            range(1, len(lines) + 1), [float(line[name]) for line in lines], marker="o", ms=4, label=network.title
        )
    axes.set(xlabel="line of benches/instructions.csv", ylabel="instructions a pair", xticks=range(1, len(lines) + 1))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    shown.savefig(file, dpi=130)
    plt.close(shown)


def main() -> int:
    parser = argparse.ArgumentParser(description="Instructions of a pair, beside the committed counts")
    parser.add_argument("--bless", metavar="WHY", help="add a line to the history, with the reason")
    parser.add_argument("--program", type=Path, help="a built `scenario` instead of that of these sources")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print(
            "bench-check: nothing was compared: valgrind is missing (on Debian: apt-get install valgrind)",
            file=sys.stderr,
        )
        return 2
    rustc = _said(["rustc", "--version"], HERE.parent).split("(")[0].strip()
    known = history()[-1]
    if not args.bless and known["rustc"] != rustc:
        print(
            f"bench-check: nothing was compared: the committed counts are of {known['rustc']}, and {rustc} makes other code"
        )
        return 0
    counted = _pairs(args.program.absolute() if args.program else _build())
    changes = {name: pair / float(known[name]) - 1 for name, pair in counted.items()}
    for name, pair in counted.items():
        print(f"{NETWORKS[name].title:34} {pair:8,.1f} instructions a pair, {changes[name]:+.1%}")
    if args.bless:
        line = {"date": datetime.date.today().isoformat(), "rustc": rustc}
        line |= {name: f"{pair:.1f}" for name, pair in counted.items()} | {"why": args.bless}
        with HISTORY.open("a", newline="") as file:
            csv.DictWriter(file, list(known), lineterminator="\n").writerow(line)
        print("written down; `benches/bench.py report` puts it into docs/performance.md")
        return 0
    if max(changes.values()) > MOST:
        print(f"more than {MOST:.0%} above: mend it, or write it down with --bless WHY", file=sys.stderr)
        return 1
    if min(changes.values()) < -MOST:
        print("well below: write it down with --bless WHY")
    return 0


if __name__ == "__main__":
    sys.exit(main())
