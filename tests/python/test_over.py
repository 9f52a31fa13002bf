"""Figures over the axes of a sweep, tables with labels, export, and results that are read once."""

from __future__ import annotations

import csv as csv_of_python
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dictionary
from conftest import ROOT, SMALL, haltere
from haltere import Scenario
from haltere.analysis import facts
from haltere.errors import InputError
from haltere.report import figures, over, overview, plot
from haltere.runs.results import Results
from haltere.runs.tables import ROWS

BOTTLENECK = "topology.dumbbell.bottleneck"
SHORT = SMALL.replace('duration = "3s"\nwarmup = "1s"', 'duration = "1s"\nwarmup = "200ms"')


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """2 rates, 3 limits, 2 queues, two seeds each."""
    axes: dict[str, Any] = {
        f"{BOTTLENECK}.rate": ["10Mbit", "5Mbit"],
        f"{BOTTLENECK}.queue": ["codel", "drop_tail"],
        "topology.dumbbell.pairs": [2, 3, 4],
    }
    return Scenario.from_toml(SHORT).sweep(axes).run(seeds=2, out=tmp_path_factory.mktemp("swept") / "out")


def spec(paths: list[Path]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(paths[0].with_suffix(".json").read_text())
    return told


def test_the_command_draws_a_value_over_axes(swept: Results) -> None:
    done = haltere(
        "plot",
        swept.directory,
        "--x",
        "rate",
        "--y",
        "ping_p95",
        "--by",
        "queue",
        "--facet",
        "pairs",
        "--log-x",
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    *files, caption = done.stdout.splitlines()
    assert [Path(one).suffix for one in files] == [".png", ".pdf", ".svg"]
    assert all(Path(one).stat().st_size > 1000 for one in files)
    assert caption == "Ping: 95th percentile (ms) over rate, queue, pairs: means over the seeds with 95 % intervals."
    drawn = spec([Path(files[0])])
    assert [panel["title"] for panel in drawn["panels"]] == ["pairs = 2", "pairs = 3", "pairs = 4"]
    assert all(panel["x"]["log"] for panel in drawn["panels"])
    lines = [one for one in drawn["panels"][0]["series"] if one["kind"] == "line"]
    assert [one["name"] for one in lines] == ["codel", "drop_tail"] and lines[0]["x"] == [5, 10], (
        "numbers in their order"
    )
    summary = {json.dumps(one["labels"], sort_keys=True): one for one in swept.summary()}
    labels = {f"{BOTTLENECK}.rate": "5Mbit", f"{BOTTLENECK}.queue": "codel", "topology.dumbbell.pairs": 2}
    assert lines[0]["y"][0] == pytest.approx(
        summary[json.dumps(labels, sort_keys=True)]["ping_ms"]["p95"]["mean"], rel=1e-4
    )


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (over.Ask("goodput", x="rate", by="pairs", kind="heat"), "heat"),
        (over.Ask("pings", by="queue", facet="rate", kind="cdf", log_x=True), "step"),
        (over.Ask("flow", by="queue", kind="box"), "bars"),
        (over.Ask("links.mean_queue_packets", x="pairs", kind="bar"), "bars"),
        (over.Ask("utilisation.left>right", x="pairs", by="queue"), "line"),
        (over.Ask("goodput", x="ping_p95", by="queue", facet="rate", kind="ellipse"), "path"),
    ],
)
def test_every_kind_is_drawn(swept: Results, tmp_path: Path, ask: over.Ask, kind: str) -> None:
    caption, paths = over.draw(over.Data([swept]), ask, tmp_path / "figure")
    panel = spec(paths)["panels"][0]
    assert "heat" in panel if kind == "heat" else kind in {one["kind"] for one in panel["series"]}
    assert caption.endswith(".") and paths[2].read_text().lstrip().startswith("<?xml")


def test_an_ellipse_is_of_one_standard_deviation(swept: Results, tmp_path: Path) -> None:
    _, paths = over.draw(over.Data([swept]), over.Ask("goodput", by="queue", kind="ellipse"), tmp_path / "ellipse")
    (panel,) = spec(paths)["panels"]
    assert (panel["x"]["label"], panel["y"]["label"]) == ("ping: median (ms)", "goodput of all flows (Mbit/s)")
    dots, ellipse = (one for one in panel["series"] if one["colour"] == plot.PALETTE[0].lower())
    assert len(dots["x"]) == 12, "two rates, three limits, two seeds"
    for axis in "xy":
        reach = (max(ellipse[axis]) - min(ellipse[axis])) / 2
        assert reach == pytest.approx(np.std(dots[axis], ddof=1), rel=0.01)


def test_flow_completion_times_by_size(tmp_path: Path) -> None:
    text = SHORT.split("[[traffic]]")[0] + '[[traffic]]\nkind = "poisson"\nsizes = "cache"\nper_second = 200\n'
    results = Scenario.from_toml(text).run(seeds=2, out=tmp_path / "out")
    caption, paths = over.draw(over.Data([results]), over.Ask("fct", kind="size"), tmp_path / "size")
    panel = spec(paths)["panels"][0]
    (line,) = (one for one in panel["series"] if one["kind"] == "line")
    assert panel["x"]["log"] and panel["y"]["log"] and line["x"] == sorted(line["x"]) and len(line["x"]) > 3
    assert {one["kind"] for one in panel["series"]} == {"line", "area"} and "size of the flow" in caption.lower()


def test_several_results_are_drawn_in_one_figure(swept: Results, tmp_path: Path) -> None:
    other = Scenario.from_toml(SHORT).run(seeds=2, out=tmp_path / "other")
    data = over.Data([swept, other])
    _, paths = over.draw(data, over.Ask("pings", by="results", kind="cdf"), tmp_path / "both")
    assert {one["name"] for one in spec(paths)["panels"][0]["series"]} == {"out", "other"}


def test_traffic_entries_and_links_are_axes_too(swept: Results, tmp_path: Path) -> None:
    data = over.Data([swept])
    caption, paths = over.draw(data, over.Ask("goodput", x="rate", by="traffic"), tmp_path / "shares")
    assert {one["name"] for one in spec(paths)["panels"][0]["series"]} == {"bulk1"}
    assert caption.startswith("Goodput of all flows (Mbit/s) over rate, traffic: means")
    _, paths = over.draw(data, over.Ask("utilisation", x="rate", by="link"), tmp_path / "links")
    assert {one["name"] for one in spec(paths)["panels"][0]["series"]} == {"left>right", "right>left"}
    assert "traffic" not in data.axes, "the data are as they were"
    with pytest.raises(InputError, match="--y must be a metric of each traffic"):
        over.draw(data, over.Ask("ping_p50", x="rate", by="traffic"), tmp_path / "none")


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            over.Ask("ping_p95", x="rat"),
            r"--x must be one of `rate`, `queue`, `pairs`, got `rat`; did you mean `rate`\?",
        ),
        (over.Ask("goodputt", x="rate"), r"metric must be one of the \d+ that .*did you mean `goodput`"),
        (over.Ask("links.drop", x="rate"), r"--y must name a column of `links`"),
        (over.Ask("fct"), r"--y must be a value that the runs have, got `fct`, which none of them has"),
        (over.Ask("rpc_p95", x="rate"), "got `rpc_p95`, which none of them has"),
        (over.Ask("rpc_p95", x="rate", kind="bar"), "got `rpc_p95`, which none of them has"),
        (over.Ask("rpc_p95", x="rate", by="queue", kind="heat"), "got `rpc_p95`, which none of them has"),
        (over.Ask("ping_p95", x="queue", log_x=True), r"--log-x must go with an axis of numbers, got `queue`"),
    ],
)
def test_what_is_not_there_is_named(swept: Results, tmp_path: Path, ask: over.Ask, told: str) -> None:
    with pytest.raises(InputError, match=told):
        over.draw(over.Data([swept]), ask, tmp_path / "none")


def test_options_that_do_nothing_are_refused(swept: Results) -> None:
    for words in (
        ("--x", "rate"),
        ("--timeline", "--y", "goodput"),
        ("--point", "1"),
        ("--link", "all", "--y", "goodput"),
    ):
        done = haltere("plot", swept.directory, *words, cwd=ROOT)
        assert done.returncode == 2 and done.stderr.startswith("haltere: plot: "), done.stderr


def test_a_sweep_of_many_points_is_drawn_over_its_axes(tmp_path: Path) -> None:
    axes: dict[str, Any] = {
        f"{BOTTLENECK}.rate": [f"{n}Mbit" for n in (4, 6, 8, 10, 12)],
        "topology.dumbbell.pairs": [2, 3, 4],
    }
    results = Scenario.from_toml(SHORT).sweep(axes).run(seeds=1, out=tmp_path / "out")
    drawn = figures.draw(results)
    assert not any("first" in caption for caption, _ in drawn)
    goodput = spec(next(paths for _, paths in drawn if paths[0].stem == "goodput-over"))["panels"][0]
    lines = [one for one in goodput["series"] if one["kind"] == "line"]
    assert len(lines) == 3 and all(len(one["x"]) == 5 for one in lines), "all 15 points"
    page = overview.document(results, figures=True)
    page.write(results.directory)
    assert "The first 12 of" not in (results.directory / "report.html").read_text()


def test_tables_carry_what_was_swept(swept: Results) -> None:
    pandas = pytest.importorskip("pandas")
    frame = swept.pandas("flows", labels=True)
    assert list(frame.columns[:5]) == ["point", "seed", "rate", "queue", "pairs"]
    assert set(frame["pairs"]) == {2, 3, 4} and isinstance(frame, pandas.DataFrame)
    points = swept.pandas("points")
    assert len(points) == 12 and list(points.columns) == ["point", "name", "rate", "queue", "pairs"]
    assert len(swept.pandas("runs", labels=True)) == 24
    means = frame.groupby("rate")["goodput_bps"].sum()
    assert means["10Mbit"] > means["5Mbit"]


def test_a_notebook_shows_results_and_figures(swept: Results) -> None:
    html = swept._repr_html_()
    assert (
        "<table" in html and "Two flows over one bottleneck" in html and "<script" not in html and "<style" not in html
    )
    figure = swept.plot("ping_p95", x="rate", by="queue", out=swept.directory / "figures" / "mine")
    assert figure._repr_png_().startswith(b"\x89PNG") and "over rate, queue" in figure.caption


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_tables_are_exported(swept: Results, tmp_path: Path, form: str) -> None:
    done = haltere(
        "export", swept.directory, "--table", "flows", "points", "--format", form, "--out", tmp_path, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == [f"flows.{form}", f"points.{form}"]
    if form == "csv":
        with open(tmp_path / "flows.csv", newline="") as file:
            rows = list(csv_of_python.DictReader(file))
        assert len(rows) == len(swept.table("flows")) and rows[0]["rate"] in ("5Mbit", "10Mbit")
    if form == "json":
        assert json.loads((tmp_path / "points.json").read_text())[0]["point"] == 0
    wrong = haltere("export", swept.directory, "--table", "flow", cwd=ROOT)
    assert wrong.returncode == 2 and "--table must be one of" in wrong.stderr


def test_a_summary_reads_no_table_of_runs_that_were_measured(swept: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run gave is measured when it is made, and kept; results without that file are measured anew, to the same numbers."""
    before = swept.summary()
    fresh = Results(swept.directory)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a table was read")

    monkeypatch.setattr(Results, "run_table", refuse)
    began = time.process_time()
    assert fresh.summary() == before
    print(f"summary of {len(fresh.runs)} runs: {time.process_time() - began:.3f} s of CPU")
    monkeypatch.undo()
    (swept.directory / "measures.json").unlink()
    assert Results(swept.directory).summary() == before
    assert (swept.directory / "measures.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "old", "runs": {"x": 1}}', '{"version": 1, "runs": []}'])
def test_a_file_of_measures_that_does_not_fit_is_not_believed(swept: Results, text: str) -> None:
    before = swept.summary()
    (swept.directory / "measures.json").write_text(text)
    assert Results(swept.directory).summary() == before


def test_other_code_measures_again(swept: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = facts.Facts(swept.directory)
    run = swept.runs[0]
    key = f"{run.key} {run.digest}"
    assert kept.of(key)
    monkeypatch.setattr(facts, "_version", lambda: "another")
    assert facts.Facts(swept.directory).of(key) == {}


def test_every_table_and_column_is_in_the_dictionary_with_its_meaning(swept: Results) -> None:
    known = dictionary.columns()
    of_the_wire = {
        "programs",
        "outputs",
        "sockets",
        "iperf3",
    }  # the simulator runs no programs; docs/programs.md has them
    assert set(known) == set(ROWS) - {"points", "runs"} - of_the_wire
    for run in swept.runs[:1]:
        for file in swept.seal(run)["files"]:
            name = file.removesuffix(".parquet")
            assert set(swept.run_table(name, run).column_names) <= {one.name for one in known[name]}
    nameless = [
        f"{one.table}.{one.name}" for some in known.values() for one in some if one.meaning == "inner variable of "
    ]
    assert nameless == []
    assert "| `goodput_bps` | double | bit/s |" in dictionary.page("")
