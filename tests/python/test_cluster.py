"""Executors of others: processes, and a Dask cluster of which a worker is killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

import pytest

import haltere as package
from conftest import haltere
from haltere.runs.records import Done
from haltere.runs.runner import Task
from haltere.runs.store import Store


def test_any_executor_makes_the_same_runs(small: Path) -> None:
    scenario = package.load(small)
    here = scenario.run(seeds=4, out=small.parent / "here")
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        there = scenario.run(seeds=4, out=small.parent / "there", executor=executor)
    assert there.complete and there.digest() == here.digest()


class Elsewhere:
    """An executor whose worker has another disk, and another build where asked for."""

    def __init__(self, away: Path, build: str = "") -> None:
        self.away, self.build = away, build

    def submit(self, work: object, task: Task, store: Store, build: str) -> Future[Done]:
        from haltere.runs import runner

        future: Future[Done] = Future()
        try:
            future.set_result(runner._run_elsewhere(task, Store(self.away), self.build or build))
        except Exception as error:
            future.set_exception(error)
        return future


def test_workers_that_do_not_see_the_store_are_told_of(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(package.HaltereError, match="the workers do not share this results directory"):
        package.load(small).run(out=small.parent / "here", executor=Elsewhere(small.parent / "away"))  # type: ignore[arg-type]


def test_a_worker_with_another_build_is_refused(small: Path) -> None:
    with pytest.raises(package.RunsFailed, match=r"its haltere is build .*, the caller's is 0\.0\.1\+other"):
        executor = Elsewhere(small.parent / "away", build="0.0.1+other")
        package.load(small).run(out=small.parent / "here", executor=executor)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_dask_worker_killed_in_mid_sweep_costs_nothing(small: Path) -> None:
    from distributed import LocalCluster

    reference = package.load(small).run(seeds=60, out=small.parent / "reference")
    with LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(small.parent / "dask")
    ) as cluster:  # fmt: skip
        out = small.parent / "swept"
        pids = [worker.pid for worker in cluster.workers.values()]
        killed: list[tuple[int, int]] = []

        def kill() -> None:
            while len(list(out.glob("runs/[!.]*/run.json"))) < 5:
                time.sleep(0.002)
            os.kill(pids[0], signal.SIGKILL)
            killed.append((pids[0], len(list(out.glob("runs/[!.]*/run.json")))))

        assassin = threading.Thread(target=kill, daemon=True)
        assassin.start()
        done = haltere(
            "run", small.name, "--seeds", "60", "--out", "swept", "--dask", cluster.scheduler_address, cwd=small.parent
        )
        assassin.join(timeout=60)
    assert done.returncode == 0, done.stderr
    assert "distributed" not in done.stderr, "a lost connection was printed although all went well"
    assert killed and killed[0][1] < 60, "the worker was to die before the sweep was over"
    results = package.Results(out)
    assert results.complete and len(results.runs) == 60 and not results.failed
    assert results.digest() == reference.digest()
    assert len(Store(out).find((run.key for run in results.runs), verify=True)) == 60


def test_an_address_without_a_scheduler_is_told(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = haltere("run", small.name, "--dask", "10.0.0.7:8786", cwd=small.parent)
    assert wrong.returncode == 2 and "--dask must be the address of a scheduler" in wrong.stderr
    from haltere.runs import cluster

    monkeypatch.setattr(cluster, "_TIMEOUT_S", 1)
    with (
        pytest.raises(package.HaltereError, match=r"no scheduler answered at tcp://127\.0\.0\.1:9 within 1 s"),
        cluster.dask("tcp://127.0.0.1:9"),
    ):
        pass
