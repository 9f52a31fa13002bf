"""What the store and a cluster cost: `python benches/store.py [RUNS]`, 1,000 runs where nothing is said. Takes about a minute on two cores.

Prints the CPU time of a tiny run alone and in a sweep (the difference is the store: keys, Parquet, checksums, seals, manifest), a
second call that finds everything, and the throughput of a local Dask cluster of as many processes beside threads of this process.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import haltere
from haltere import _core
from haltere.runs.build import usable_cores

EXPERIMENT = """
duration = "{duration}"
[topology.dumbbell]
pairs = {pairs}
access = {{ rate = "1Gbit", delay = "1ms" }}
bottleneck = {{ rate = "{rate}", delay = "5ms", queue = "codel" }}
[[traffic]]
kind = "bulk"
pairs = "all"
"""
TINY = {"duration": "1s", "pairs": 1, "rate": "1Mbit"}
MODEST = {"duration": "10s", "pairs": 4, "rate": "100Mbit"}


def scenario(sizes: dict[str, object]) -> haltere.Scenario:
    """The experiment of that size."""
    return haltere.Scenario.from_toml(EXPERIMENT.format(**sizes))


def overhead(runs: int, folder: Path) -> None:
    """A sweep of tiny runs beside the same simulations without a store."""
    tiny = scenario(TINY)
    ((_, core),) = tiny.points()
    began = time.process_time()
    for seed in range(1, 201):
        _core.run(core, seed)
    alone = (time.process_time() - began) / 200
    cpu, wall = time.process_time(), time.perf_counter()
    tiny.run(seeds=runs, out=folder)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{runs} tiny runs on {usable_cores()} cores: {wall:.1f} s, {runs / wall:.0f} runs/s")
    print(
        f"CPU time of a run: {alone * 1e3:.2f} ms alone, {cpu / runs * 1e3:.2f} ms in the sweep: {(cpu / runs - alone) * 1e3:.2f} ms for the store"
    )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    again = time.perf_counter()
    tiny.run(seeds=runs, out=folder)
    again = time.perf_counter() - again
    print(
        f"second call, every file checked: {again:.2f} s, {again / runs * 1e3:.2f} ms a run of {size / runs / 1e3:.0f} kB"
    )


def throughput(folder: Path) -> None:
    """Threads of this process beside a Dask cluster of as many processes."""
    from distributed import Client, LocalCluster

    cores = usable_cores()
    with (
        LocalCluster(cores, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor(pure=False)
        scenario(TINY).run(seeds=2 * cores, out=folder / "warm", executor=executor)
        for name, sizes, runs in (("tiny", TINY, 400), ("modest", MODEST, 60)):
            seconds = []
            for where, hands in (("threads", None), ("dask", executor)):
                began = time.perf_counter()
                scenario(sizes).run(seeds=runs, out=folder / f"{name}-{where}", executor=hands)
                seconds.append(time.perf_counter() - began)
            here, there = (runs / one for one in seconds)
            print(
                f"{runs} {name} runs: {here:.1f} runs/s in {cores} threads, {there:.1f} runs/s in {cores} Dask processes ({there / here:.0%})"
            )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="haltere-bench-") as place:
        overhead(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, Path(place) / "store")
        throughput(Path(place))
