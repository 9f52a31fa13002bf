"""Linux's own queue disciplines in the kernel world, and ours beside them: the same packets at the same times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import haltere
from haltere import _core, kernels
from haltere.api import Scenario
from haltere.worlds import world
from test_kernel import kernel  # noqa: F401

EXPERIMENT = """\
title = "A queue of the kernel"
duration = "{seconds}s"
warmup = "1s"
seeds = 1

[measure]
queues = "100ms"

[topology.dumbbell]
pairs = {pairs}
access = {{ rate = "100Mbit", delay = "1ms" }}
bottleneck = {{ rate = "10Mbit", delay = "8ms", queue = {{ kind = "kernel", tc = "{tc}"{beside} }} }}

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = "cubic"
ecn = {ecn}
"""


def written(tc: str, beside: str = "", *, pairs: int = 4, seconds: int = 10, ecn: bool = False) -> str:
    extra = f", beside = {beside}" if beside else ""
    return EXPERIMENT.format(seconds=seconds, pairs=pairs, tc=tc, beside=extra, ecn=str(ecn).lower())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.toml"
    path.write_text(written("fq_codel limit 1000"))
    return path


@pytest.mark.parametrize("name", ["sim", "wire"])
def test_other_worlds_refuse_it_by_name(name: str, file: Path) -> None:
    done = haltere("run", file.name, "--world", name, cwd=file.parent)
    assert done.returncode == 2 and not (file.parent / "results").exists(), done.stderr
    assert "must be one of Haltere's disciplines outside the kernel world, got `kernel`" in done.stderr, done.stderr
    assert "run it with `--world kernel`" in done.stderr


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("tc", "told"),
    [
        ("htb default 1", "queue.tc must be one of `codel`, `fq_codel`"),
        ("codel limits 3", "queue.tc must be `codel` with words among `target`, `limit`"),
        ("pie target soon", "queue.tc must be written with a time, such as `5ms` after `target`"),
    ],
)
def test_words_that_tc_does_not_know_are_refused(tc: str, told: str, file: Path) -> None:
    file.write_text(written(tc))
    done = haltere("run", file.name, "--world", "kernel", cwd=file.parent)
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert not (file.parent / "results").exists()


def measured(text: str, file: Path, seed: int = 1) -> dict[str, Any]:
    """What passed the bottleneck, and the last sample of its queue."""
    import pyarrow

    file.write_text(text)
    run = world("kernel").run(Scenario.load(file)._core, seed, _core.Progress())
    tables = run.tables()
    (link,) = [one for one in pyarrow.table(tables["links"]).to_pylist() if one["link"] == "left>right"]
    series = pyarrow.table(tables["queue_series"]).to_pylist()
    told = json.loads(run.wire)
    assert told["router"]["unaccounted"] == 0
    return {**link, **series[-1], "digest": run.digest()}


@pytest.mark.parametrize(
    "tc", ["pfifo limit 50", "fq_codel limit 1000 ecn", "tbf rate 5mbit burst 10kb limit 50kb", "red limit 120kb min 15kb max 45kb avpkt 1500"]
)  # fmt: skip
def test_the_kernels_own_disciplines_carry_a_run(tc: str, file: Path, kernel: kernels.Kernel) -> None:  # noqa: F811
    one = measured(written(tc, ecn="ecn" in tc), file)
    most = 5e6 if tc.startswith("tbf") else 10e6
    assert one["sent_bytes"] * 8 / 10 == pytest.approx(most, rel=0.04)
    assert one["dropped_overlimit"] + one["dropped_congestion"] + one["marked"] > 0
    assert (one["marked"] > 0) == ("ecn" in tc)
    assert measured(written(tc, ecn="ecn" in tc), file)["digest"] == one["digest"]
