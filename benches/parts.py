"""One run in parts: how much faster several threads are, and what the cut costs on one.

`python benches/parts.py` builds, and takes runs in turn: the whole network, its parts on one thread, and on `--threads` (default: 2,
or a list such as 2,4). It prints the median of the ratios of wall times, which need an idle machine. `--model` prints instead, from
instructions counted under Valgrind, what the balance of the parts and the windows allow on any number of cores.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bench
import measure
from suite import CASES, Case

LEAF_SPINE = {
    "topology.leaf_spine.leaves": 32,
    "topology.leaf_spine.spines": 32,
    "topology.leaf_spine.hosts": 32,
}
TREE = {"topology.fat_tree.k": 16}
NETWORKS: dict[str, Case] = {
    "leaf and spine, 128 hosts": next(case for case in CASES if case.id == "f-leaf"),
    "leaf and spine, 1,024 hosts": Case("p-leaf-1024", "", "leaf_spine.toml", LEAF_SPINE),
    "fat tree, 1,024 hosts": Case("p-tree-1024", "", "fat_tree.toml", TREE),
    "dumbbell, 10,000 flows": next(case for case in CASES if case.id == "h-10000"),
}
SHORT = {"leaf_spine": ("1ms", "2ms"), "fat_tree": ("1ms", "2ms"), "dumbbell": ("200ms", "400ms")}
"""Lengths of two runs whose difference has no set-up in it."""


PARTS_WORK = "Run::run_until|::take_in|::close_window"
"""What a part does: its events, the mail that comes and what leaves. What these call is counted with them."""


def _wall(file: Path, *options: str) -> float:
    said = measure.run([*bench.haltere_command(file), *options], bench.UNLIMITED_S).said
    return float(said["run_wall_s"])


def measured(threads: list[int], parts: str, repeats: int) -> None:
    """Prints ratios of wall times of runs taken in turn."""
    print(f"{'':28} {'whole':>8} {'1 thread':>9} " + " ".join(f"{n:>2} threads" for n in threads))
    for name, case in NETWORKS.items():
        file = bench.experiment(case)
        ways = [("--parts=1",), *((f"--parts={parts}", f"--threads={n}") for n in (1, *threads))]
        walls = [[_wall(file, *way) for way in ways] for _ in range(repeats)]
        whole, *others = zip(*walls, strict=True)
        alone, *several = (measure.ratios(other, whole).median for other in others)
        speed = " ".join(f"{1 / one:>9.2f}x" for one in several)
        print(f"{name:28} {min(whole):>6.2f} s {alone:>8.2f}x {speed}")


def _of_parts(file: Path, parts: int) -> list[int]:
    """Instructions of each part, each on its own thread, without the time that it waits."""
    with tempfile.TemporaryDirectory() as scratch:
        tool = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=out"]
        command = [*tool, *bench.haltere_command(file), f"--parts={parts}", f"--threads={parts}"]
        subprocess.run(command, cwd=scratch, check=True, capture_output=True)
        counts = []
        for out in sorted(Path(scratch).glob("out-*")):
            text = subprocess.run(
                ["callgrind_annotate", "--inclusive=yes", "--threshold=100", out],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            found = re.findall(rf"([\d,]+) \([^)]*\)\s+\S*haltere_sim::.*(?:{PARTS_WORK})", text)
            counts.append(sum(int(count.replace(",", "")) for count in found))
        return counts


def model(parts: list[int]) -> None:
    """Prints what so many parts allow on as many cores: the whole run's instructions over the largest part's."""
    for name, case in NETWORKS.items():
        short, long = SHORT[case.file.removesuffix(".toml")]
        files = [
            bench.experiment(
                Case(f"{case.id}-{length}", "", case.file, {**case.settings, "duration": length, "warmup": "0s"})
            )
            for length in (short, long)
        ]
        (whole,) = (many - few for few, many in zip(*(_of_parts(file, 1) for file in files), strict=True))
        for count in parts:
            each = [many - few for few, many in zip(*(_of_parts(file, count) for file in files), strict=True)]
            largest = max(each) * len(each) / sum(each)
            bound = f"{sum(each) / whole:.2f} of the work, the largest {largest:.2f} of its share"
            print(f"{name:28} {len(each):>3} parts: {bound}, at most {whole / max(each):.1f}x")


def main() -> int:
    parser = argparse.ArgumentParser(description="One run in parts, on several threads")
    parser.add_argument("--threads", default="2", help="numbers of threads, such as 2,4")
    parser.add_argument("--parts", default="auto", help="the number of parts, or auto")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--model", metavar="PARTS", help="numbers of parts, such as 2,16,64, under Valgrind")
    options = parser.parse_args()
    build = ["cargo", "build", "--release", "--quiet", "-p", "haltere-sim", "--example", "scenario"]
    subprocess.run(build, cwd=bench.ROOT, check=True)
    if options.model and not shutil.which("valgrind"):
        print("parts: valgrind is missing (on Debian: apt-get install valgrind)", file=sys.stderr)
        return 2
    if options.model:
        model([int(word) for word in options.model.split(",")])
    else:
        measured([int(word) for word in options.threads.split(",")], options.parts, options.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
