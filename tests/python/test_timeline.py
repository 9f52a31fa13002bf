"""`haltere plot --timeline`: one run over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL, haltere
from haltere import load
from haltere.analysis import measures
from haltere.errors import InputError
from haltere.report import timeline
from haltere.runs.results import Results


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The small experiment with its flows sampled, two seeds."""
    folder = tmp_path_factory.mktemp("sampled")
    (folder / "small.toml").write_text(SMALL + '\n[measure]\nqueues = "10ms"\nflows = "100ms"\n')
    return load(folder / "small.toml").run(seeds=2, out=folder / "results", quiet=True)


def test_the_command_draws_one_page(sampled: Results) -> None:
    done = haltere("plot", sampled.directory, "--timeline", "--seed", "2", cwd=sampled.directory)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [Path(line).name for line in lines[:2]] == ["timeline-0-2.png", "timeline-0-2.pdf"]
    assert all(Path(line).stat().st_size > 10_000 for line in lines[:2])
    assert "seed 2" in lines[2] and "warm-up" in lines[2]


def test_the_stack_is_what_the_flows_received(sampled: Results) -> None:
    run = measures.Run(sampled, timeline.pick(sampled, None, None))
    flows = timeline.Flows(run)
    assert len(flows.labels) == 2 and {label.split()[-1] for label in flows.labels} == {"cubic", "reno"}
    received = flows.column("received_bytes", 1.0)
    assert received.shape == (len(flows.at_s), 2)
    assert np.all(np.diff(np.nan_to_num(received), axis=0) >= 0)
    # 10 Mbit/s for three seconds, less headers and the start.
    assert 2.0e6 < float(received[-1].sum()) < 3.75e6


@pytest.mark.parametrize(
    ("point", "seed", "error"),
    [(1, None, "--point must be one of 0, got 1"), (None, 9, "--seed must be one of 1, 2, got 9")],
)
def test_a_run_that_is_not_there(sampled: Results, point: int | None, seed: int | None, error: str) -> None:
    with pytest.raises(InputError, match=error):
        timeline.pick(sampled, point, seed)


def test_flows_that_were_not_sampled_are_asked_for(small: Path, tmp_path: Path) -> None:
    results = load(small).with_values({"measure.flows": "off"}).run(seeds=1, out=tmp_path / "out", quiet=True)
    with pytest.raises(InputError, match="flows must be sampled"):
        timeline.draw(results)
