"""Flows that arrive during the run, as sockets of the kernel world: the same rows as in the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import loops
from haltere import _core
from haltere.api import Scenario
from haltere.worlds import World, world
from haltere.worlds.kernel.guests import GuestKernel
from test_kernel import kernel  # noqa: F401

NETWORK = """\
title = "Flows that come and go"
duration = "6s"
warmup = "1s"
seeds = 1

[topology.dumbbell]
pairs = 4
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "8ms", queue = { kind = "drop_tail", limit = "200p" } }
"""
POISSON = """
[[traffic]]
kind = "poisson"
pairs = "all"
sizes = { points = [[2000, 0.3], [10000, 0.7], [100000, 1]] }
per_second = 20
"""
INCAST = """
[[traffic]]
kind = "incast"
senders = 4
bytes = "32kB"
interval = "500ms"
rounds = 8
spread = "50us"
"""


def completions(where: World, path: Path) -> list[dict[str, Any]]:
    import pyarrow

    where.check([Scenario.load(path)._core])
    run = where.run(Scenario.load(path)._core, 1, _core.Progress())
    rows: list[dict[str, Any]] = pyarrow.table(run.tables()["completions"]).to_pylist()
    return sorted(rows, key=lambda row: (row["start_ns"], row["from"], row["to"]))


@pytest.mark.parametrize("traffic", [POISSON, INCAST], ids=["poisson", "incast"])
def test_flows_that_arrive_fill_the_same_rows_as_in_the_simulator(
    traffic: str, tmp_path: Path, kernel: GuestKernel  # noqa: F811
) -> None:  # fmt: skip
    path = tmp_path / "net.toml"
    path.write_text(NETWORK + traffic)
    ours, theirs = completions(world("sim"), path), completions(world("kernel", kernel=kernel.hash), path)
    drawn = ("flow", "from", "to", "bytes", "start_ns", "ideal_ns")
    assert len(ours) > 30
    assert [[row[name] for name in drawn] for row in ours] == [[row[name] for name in drawn] for row in theirs]
    spans = [[row["fct_ns"] for row in rows if row["fct_ns"] is not None] for rows in (ours, theirs)]
    assert len(spans[0]) == len(spans[1])
    # Each takes at least as long as it must, and the middle one as long as in the simulator.
    assert all(row["slowdown"] >= 0.99 for row in theirs if row["fct_ns"] is not None)
    middle = [sorted(one)[len(one) // 2] for one in spans]
    assert middle[1] == pytest.approx(middle[0], rel=0.1)


def test_closed_loops_and_calls_are_those_of_the_simulator(
    tmp_path: Path, kernel: GuestKernel  # noqa: F811
) -> None:  # fmt: skip
    path = tmp_path / "net.toml"
    path.write_text(loops.EXPERIMENT)
    core = Scenario.load(path)._core
    where = world("kernel", kernel=kernel.hash)
    where.check([core])
    sim = loops.tables_of(world("sim").run(core, 1, _core.Progress()))
    runs = [where.run(core, 1, _core.Progress()) for _ in range(2)]
    assert runs[0].digest() == runs[1].digest()
    loops.same_loops(sim, loops.tables_of(runs[0]), near=0.02)


CALLS = """
[[traffic]]
kind = "rpc"
pairs = [1]
outstanding = 2
response = "40kB"
tcp = { max_retries = 3, syn_retries = 2 }
"""


@pytest.mark.parametrize("name", ["sim", "kernel"])
def test_calls_of_connections_that_give_up_are_made_again(
    name: str, tmp_path: Path, kernel: GuestKernel  # noqa: F811
) -> None:  # fmt: skip
    """For 20 s every packet is lost. A connection with `max_retries = 3` gives up in 4 s."""
    path = tmp_path / "net.toml"
    cut = 'schedule = [{ at = "2s", loss = "100%" }, { at = "22s", loss = "0%" }]'
    path.write_text(NETWORK.replace('"6s"', '"40s"').replace('delay = "8ms",', f'delay = "8ms", {cut},') + CALLS)
    options = {"kernel": kernel.hash} if name == "kernel" else {}
    rows = completions(world(name, **options), path)
    late = [row for row in rows if row["start_ns"] < 2e9 and (row["fct_ns"] or 0) > 20e9]
    assert len(late) == 2, "asked for before the failure, answered after it on another connection"
    assert sum(row["start_ns"] > 22e9 for row in rows) > 100
