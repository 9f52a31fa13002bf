"""What the store, reports and a cluster cost: `python benches/store.py [RUNS]`, 1,000 runs where nothing is said. Takes two minutes on two cores.

`--sweep RUNS` does the first part alone, with tiny runs: 100,000 take ten minutes. Prints CPU time of this process, which other
processes change little: of a run alone and in a sweep (the difference is the store: facts, Parquet, checksums, manifest), of a second
call that finds everything, of `Results.summary` and of a report; then the throughput of a local Dask cluster beside threads.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import haltere
from haltere import _core, cli
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
FOUR = {"duration": "30s", "pairs": 4, "rate": "10Mbit"}
MODEST = {"duration": "10s", "pairs": 4, "rate": "100Mbit"}


def scenario(sizes: dict[str, object]) -> haltere.Scenario:
    """The experiment of that size."""
    return haltere.Scenario.from_toml(EXPERIMENT.format(**sizes))


def measured(what: str, work: Callable[[], object]) -> float:
    """The seconds of CPU time that it takes, printed with the time that passes."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    cpu = time.process_time() - cpu
    print(f"{what}: {cpu:.2f} s of CPU time in {time.perf_counter() - wall:.1f} s", flush=True)
    return cpu


def analysis(sizes: dict[str, object], runs: int, folder: Path) -> None:
    """A sweep beside the same simulations without a store, and what reading it costs."""
    some = scenario(sizes)
    ((_, core),) = some.points()
    alone = measured("100 runs alone", lambda: [_core.run(core, seed) for seed in range(1, 101)]) / 100
    cpu = measured(f"{runs} runs on {usable_cores()} cores", lambda: some.run(seeds=runs, out=folder)) / runs
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    files = sum(1 for path in folder.rglob("*") if path.is_file())
    print(
        f"of a run: {alone * 1e3:.2f} ms alone, {(cpu - alone) * 1e3:.2f} ms for the store, {size / runs / 1e3:.1f} kB; {files} files"
    )
    measured("second call, every file checked", lambda: some.run(seeds=runs, out=folder))
    measured("results opened", lambda: haltere.Results(folder))
    results = haltere.Results(folder)
    measured("summary", results.summary)
    measured("first report, matplotlib loaded", lambda: cli.main(["report", str(folder)]))
    measured("second report", lambda: cli.main(["report", str(folder)]))


def throughput(folder: Path) -> None:
    """Threads of this process beside a Dask cluster of as many processes."""
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        print("no Dask cluster: install haltere[dask]")
        return
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
        if sys.argv[1:2] == ["--sweep"]:
            analysis(TINY, int(sys.argv[2]), Path(place) / "store")
        else:
            analysis(FOUR, int(sys.argv[1]) if len(sys.argv) > 1 else 1000, Path(place) / "store")
            throughput(Path(place))
