"""Mechanisms from outside the tree on the workers of others: the same runs, the same errors."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

import haltere as package
from conftest import haltere

OWN = '''
import haltere
from haltere import param

class Odd(Exception):
    """An error that only this module has."""

class Half(haltere.CongestionControl):
    class Params:
        late: bool = param(False, doc="Fail after a second.")
    def on_ack(self, ev):
        if self.params.late and ev.now > 1_000_000_000:
            raise Odd("enough")
        self.cwnd += self.mss * ev.acked / self.cwnd
    def on_loss(self, ev):
        self.ssthresh = self.cwnd = max(self.cwnd / 2, 2 * self.mss)

class Drop(haltere.Queue):
    def __init__(self):
        self.packets = []
    def enqueue(self, now, packet):
        self.drop(packet) if self.random.random() < 0.02 else self.packets.append(packet)
    def dequeue(self, now):
        return self.packets.pop(0) if self.packets else None
'''
EXPERIMENT = """
duration = "2s"
seeds = 6
[topology.dumbbell]
pairs = 1
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "9ms", queue = "python:own:Drop" }
[[traffic]]
kind = "bulk"
congestion = "python:own:Half"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An experiment with a module of the user's own beside it."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    return tmp_path / "experiment.toml"


@pytest.fixture(scope="module")
def dask() -> Iterator[str]:
    """The address of a cluster whose workers were started in another folder, before there was any module."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield str(cluster.scheduler_address)


def spawned() -> ProcessPoolExecutor:
    """Two processes that begin anew, as those of another machine would."""
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def test_processes_make_the_same_runs(file: Path) -> None:
    scenario = package.load(file)
    here = scenario.run(out=file.parent / "here", jobs=1)
    assert scenario.run(out=file.parent / "threads", jobs=2).digest() == here.digest()
    with spawned() as executor:
        there = scenario.run(out=file.parent / "there", executor=executor)
    assert there.complete and there.digest() == here.digest()


def test_dask_makes_the_same_runs_and_follows_a_changed_file(file: Path, dask: str) -> None:
    digests = []
    for number, text in enumerate((OWN, OWN.replace("0.02", "0.05"))):
        (file.parent / "own.py").write_text(text)
        there = haltere("run", file.name, "--out", f"there{number}", "--dask", dask, cwd=file.parent)
        assert there.returncode == 0, there.stderr
        here = haltere("run", file.name, "--out", f"here{number}", cwd=file.parent)
        assert here.returncode == 0, here.stderr
        digests.append(package.Results(file.parent / f"here{number}").digest())
        assert package.Results(file.parent / f"there{number}").digest() == digests[-1]
    assert digests[0] != digests[1], "the workers read the changed file"


def test_an_error_of_the_users_code_comes_back_with_its_line(file: Path, dask: str) -> None:
    file.write_text(EXPERIMENT.replace('"python:own:Half"', '{ kind = "python:own:Half", late = true }'))
    done = haltere("run", file.name, "--out", "there", "--dask", dask, cwd=file.parent)
    assert done.returncode == 1, done.stderr
    assert "on_ack must return without an error, got Odd: enough at" in done.stderr and "own.py:13" in done.stderr, (
        done.stderr
    )


class Registered(package.CongestionControl):
    """A window that never changes, of a class without a file that workers know."""


def test_a_registered_class_runs_where_the_workers_know_it_and_is_refused_elsewhere(tmp_path: Path) -> None:
    name = package.register(Registered)
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT.replace("python:own:Half", name).replace("python:own:Drop", "drop_tail"))
    scenario = package.load(file)
    here = scenario.run(out=tmp_path / "here", jobs=1)
    with ThreadPoolExecutor(2) as threads:
        assert scenario.run(out=tmp_path / "there", executor=threads).digest() == here.digest()
    refused = (
        r"^executor: kind must be a class that its workers know, got `python:Registered`, which this program alone has registered; "
        r"name the file of the class: `python:\./file\.py:Registered`$"
    )
    mixed = scenario.with_values({"traffic": [{"kind": "bulk", "congestion": ["cubic", name]}]})
    with spawned() as executor:
        for number, one in enumerate((scenario, mixed)):
            with pytest.raises(package.InputError, match=refused):
                one.run(out=tmp_path / f"refused{number}", executor=executor)
