"""`haltere plot --timeline`: one run over time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SMALL, haltere
from haltere import Scenario, formats, load
from haltere.analysis import measures
from haltere.errors import InputError
from haltere.report import explore, timeline
from haltere.runs.query import columns
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


def test_curves_of_another_tool_are_drawn_beside(sampled: Results, tmp_path: Path) -> None:
    stem = tmp_path / "beside"
    files = [*formats.write("flent", sampled, tmp_path)[1:], *formats.write("iperf3", sampled, tmp_path)[:1]]
    explore.draw(sampled, seed=1, stem=stem, beside=files)
    panels = {one["title"]: one["series"] for one in json.loads(stem.with_suffix(".json").read_text())["panels"]}
    drawn = {one["name"]: one for one in panels["Throughput"] if one.get("dash") and "capacity" not in one["name"]}
    assert {name.split(":")[0] for name in drawn} == {files[0].name, f"{files[1].name} 1"}
    wanted = next(one for one in formats.curves(files[1]))
    assert drawn[f"{files[1].name} 1"]["y"] == pytest.approx(wanted.values, rel=1e-4)
    other = {"intervals": [{"streams": []}]}
    (tmp_path / "none.json").write_text(json.dumps(other))
    with pytest.raises(InputError, match=r"none\.json: file must have a curve in Mbit/s or ms"):
        explore.draw(sampled, beside=[tmp_path / "none.json"])


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
        explore.draw(results)


BOTH_WAYS = """\
duration = "4s"
warmup = "1s"

[topology.dumbbell]
pairs = 2
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "24Mbit", delay = "10ms", loss = 0.005, queue = "codel", SCHEDULE reverse = { rate = "5Mbit" } }

[[traffic]]
name = "down"
kind = "bulk"
pairs = [1]

[[traffic]]
name = "up"
kind = "bulk"
pairs = [2]
direction = "backward"

[[traffic]]
name = "echo"
kind = "ping"
pairs = [1]
interval = "50ms"

[measure]
queues = "10ms"
flows = "50ms"
"""


def drawn(text: str, folder: Path, **chosen: str) -> tuple[str, dict[str, Any], measures.Run]:
    results = Scenario.from_toml(text).run(seeds=1, out=folder / "out", quiet=True)
    caption, paths = explore.draw(results, **chosen)
    run = measures.Run(results, results.runs[0])
    return caption, json.loads(paths[0].with_suffix(".json").read_text()), run


def test_throughput_is_never_above_the_capacity(tmp_path: Path) -> None:
    """With losses, bytes in order come in bursts: counted so, a line of 24 Mbit/s seemed to carry many times that."""
    schedule = 'schedule = [{ at = "2s", rate = "8Mbit" }, { at = "3s", rate = "24Mbit" }],'
    _, spec, run = drawn(BOTH_WAYS.replace("SCHEDULE", schedule), tmp_path)
    edges, rate, could = run.throughput("left>right") or pytest.fail("sampled")
    assert could is not None and np.all(rate <= could * (1 + 1e-9)) and rate.max() > 15
    assert could[(edges[:-1] > 2.05) & (edges[1:] < 2.95)] == pytest.approx(8.0)
    assert could[edges[1:] < 1.95] == pytest.approx(24.0)
    at, down = run.rate_of(run.classes()["down"]) or pytest.fail("sampled")
    assert down.max() < 25.0 and float((down * np.diff(at, prepend=0)).sum()) > 8
    series = spec["panels"][0]["series"]
    assert any(one["name"].startswith("capacity of ") and one["dash"] for one in series), "the capacity lies behind"
    assert max(max(v for v in one.get("y", one.get("hi")) if v is not None) for one in series) < 25.0


def test_the_link_is_chosen_and_named_and_traffic_keeps_its_name(tmp_path: Path) -> None:
    text = BOTH_WAYS.replace("SCHEDULE", "").replace("loss = 0.005, ", "")
    caption, spec, run = drawn(text, tmp_path / "a")
    assert timeline.main_link(run) == "left>right" and "of left>right" in caption
    assert any("left>right" in panel["title"] for panel in spec["panels"])
    names = {one["name"] for panel in spec["panels"] for one in panel["series"]}
    assert "pings" in names and not any(
        one["kind"] == "path" and one.get("fill") for one in spec["panels"][0]["series"]
    ), "not stacked"
    assert timeline.Flows(run).labels == ["down cubic", "up cubic"]
    caption, spec, _ = drawn(text, tmp_path / "b", link="right>left")
    assert "of right>left" in caption and any("right>left" in panel["title"] for panel in spec["panels"])
    with pytest.raises(InputError, match="--link must be one of left>right, right>left, got `right`"):
        timeline.main_link(run, "right")


def test_many_flows_are_drawn_as_median_and_band_by_class(tmp_path: Path) -> None:
    text = BOTH_WAYS.replace("SCHEDULE", "").replace(
        'pairs = [1]\n\n[[traffic]]\nname = "up"', 'pairs = [1]\ncount = 60\n\n[[traffic]]\nname = "up"', 1
    )
    caption, spec, run = drawn(text, tmp_path)
    lines = timeline.Flows(run).lines()
    assert [name for name, _ in lines] == ["down cubic, 60 flows", "up cubic"]
    assert "median" in caption
    assert [one["kind"] for one in spec["panels"][1]["series"]].count("line") == 2


def test_axes_of_one_name_are_told_apart(tmp_path: Path) -> None:
    rate = {"topology.dumbbell.access.rate": ["50Mbit", "100Mbit"], "topology.dumbbell.bottleneck.rate": ["5Mbit"]}
    results = Scenario.from_toml(BOTH_WAYS.replace("SCHEDULE", "")).sweep(rate).run(seeds=1, out=tmp_path / "out")
    assert results.points[0].name == "access.rate=50Mbit bottleneck.rate=5Mbit"
    assert {"access.rate", "bottleneck.rate"} <= set(columns(results)["points"])


def test_results_of_another_experiment_are_not_replaced(small: Path) -> None:
    assert haltere("run", small.name, "--seeds", "1", "--out", "mine", cwd=small.parent).returncode == 0
    before = (small.parent / "mine" / "manifest.json").read_bytes()
    other = small.with_name("other.toml")
    other.write_text(
        small.read_text().replace("Two flows over one bottleneck", "Something else").replace("10Mbit", "7Mbit")
    )
    refused = haltere("run", other.name, "--seeds", "1", "--out", "mine", cwd=small.parent)
    assert refused.returncode == 2 and "hold results of this experiment" in refused.stderr and "--out" in refused.stderr
    assert (small.parent / "mine" / "manifest.json").read_bytes() == before
    edited = haltere(
        "run", small.name, "--seeds", "2", "--set", "traffic.0.congestion=bbr", "--out", "mine", cwd=small.parent
    )
    assert edited.returncode == 0, edited.stderr
