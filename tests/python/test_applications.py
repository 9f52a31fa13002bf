"""Reports of applications and of swept lists and tables: names, sentences, figures, legends; and the list of the metrics."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import haltere as package
import reference
from conftest import haltere
from haltere import Results, catalogue
from haltere.analysis import metrics, workloads
from haltere.analysis.facts import Facts
from haltere.analysis.measures import Run, by_point
from haltere.errors import InputError
from haltere.report import explore, figures, over, overview, plot, words
from haltere.runs.query import query
from haltere.runs.records import in_words

LINKS = """
[topology.dumbbell]
pairs = 4
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "10ms", queue = { kind = "drop_tail", limit = "200p" } }
"""
APPLICATIONS = f"""
title = "Applications"
duration = "8s"
warmup = "1s"
seeds = 2
[measure]
delays = true
flows = "100ms"
packets = ["left>right"]
{LINKS}
[[traffic]]
kind = "bulk"
pairs = [1]
congestion = ["cubic", "cubic"]
[[traffic]]
kind = "web"
pairs = [2]
objects = 3
sizes = "20kB"
think = "300ms"
[[traffic]]
kind = "voip"
pairs = [3]
[[traffic]]
kind = "video"
pairs = [4]
segment = "1s"
[sweep]
"topology.dumbbell.bottleneck.queue" = ["drop_tail", {{ kind = "codel", target = "5ms" }}, {{ kind = "codel", target = "60ms" }}, "fq_codel"]
"""
QUEUES = ["drop_tail", "codel target=5ms", "codel target=60ms", "fq_codel"]


@pytest.fixture(scope="module")
def applications(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A sweep of four queues, two of one kind."""
    text = APPLICATIONS.replace('pairs = [1]\ncongestion = ["cubic", "cubic"]', "pairs = [1]")
    return package.Scenario.from_toml(text).run(out=tmp_path_factory.mktemp("applications") / "out")


@pytest.fixture(scope="module")
def controls(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A sweep of lists of controls, the first of one control twice."""
    text = f'duration = "3s"\nwarmup = "1s"\nseeds = 1\n[measure]\nflows = "100ms"\n{LINKS}[[traffic]]\nkind = "bulk"\npairs = [1, 2]\ncongestion = ["cubic", "cubic"]\n'
    text += '[sweep]\n"traffic.0.congestion" = [["cubic", "cubic"], ["cubic", "bbr"], ["reno", "bbr"]]\n'
    return package.Scenario.from_toml(text).run(out=tmp_path_factory.mktemp("controls") / "out")


# -- names of swept values -----------------------------------------------------------------------------------------------


def test_swept_tables_have_short_names_everywhere(applications: Results) -> None:
    assert [point.name for point in applications.points] == [f"queue={name}" for name in QUEUES]
    assert applications.pandas("points")["queue"].tolist() == QUEUES
    assert applications.pandas("flows", labels=True)["queue"].unique().tolist() == QUEUES
    assert [
        row["queue"] for row in query(applications, "SELECT queue FROM points ORDER BY point").to_pylist()
    ] == QUEUES
    assert over.Data([applications]).values("topology.dumbbell.bottleneck.queue") == QUEUES
    told = overview.document(applications, figures=False)
    assert "{" not in "".join(told.tables()[0].columns) + "".join(cell for row in told.tables()[0].rows for cell in row)


def test_two_tables_of_one_kind_are_two_lines_of_a_figure(applications: Results, tmp_path: Path) -> None:
    data = over.Data([applications])
    over.draw(data, over.Ask("goodput", x="queue", kind="bar"), tmp_path / "bars", pdf=False)
    told = json.loads((tmp_path / "bars.json").read_text())
    assert [text for _, text in told["panels"][0]["x"]["ticks"]] == QUEUES


def test_export_writes_the_short_names(controls: Results) -> None:
    done = haltere("export", ".", "--table", "points", cwd=controls.directory)
    assert done.returncode == 0, done.stderr
    with (controls.directory / "export" / "points.csv").open() as file:
        assert [row["congestion"] for row in csv.DictReader(file)] == ["cubic cubic", "cubic bbr", "reno bbr"]


def test_names_are_told_apart_and_short() -> None:
    long = [{"kind": "red", **{f"key_{i}": value for i in range(30)}} for value in range(3)]
    names = [one["q"] for one in in_words([{"q": one} for one in long])]
    assert len(set(names)) == 3 and max(map(len, names)) < 70


# -- one link, one colour, one name --------------------------------------------------------------------------------------


def legend(path: Path) -> Iterator[dict[str, str]]:
    """Name and colour of each line or bar, panel by panel."""
    for panel in json.loads(path.read_text())["panels"]:
        yield {one["name"]: one["colour"] for one in panel["series"] if one["name"] and one["kind"] != "whiskers"}


def test_the_queue_figure_has_one_link_in_every_panel_and_names_it(applications: Results) -> None:
    (caption, paths) = next((c, p) for c, p in figures.draw(applications, pdf=False) if p[0].stem == "queue")
    told = json.loads(paths[0].with_suffix(".json").read_text())
    assert [panel["title"] for panel in told["panels"]] == [f"{name}: left>right" for name in QUEUES]
    assert "at left>right" in caption and "--link all" in caption
    both = figures.draw(applications, pdf=False, link="all")
    assert [p[0].stem for _, p in both] == ["queue-left-right", "queue-right-left"]
    with pytest.raises(InputError, match="--link must be one of left>right, right>left"):
        figures.draw(applications, link="left")


def test_a_control_that_an_entry_names_twice_has_its_own_name(controls: Results) -> None:
    names = [list(runs[0].classes()) for _, runs in by_point(controls)]
    assert names == [["cubic"], ["cubic", "bbr"], ["reno", "bbr"]]
    figures.draw(controls, pdf=False)
    shown = {name for panel in legend(controls.directory / "figures" / "rates.json") for name in panel}
    assert shown == {"cubic", "bbr", "reno"}


def test_no_colour_stands_for_two_names(applications: Results) -> None:
    assert len(set(plot.colours(map(str, range(22))).values())) == 22
    (choice,) = [explore.runs(applications)]
    assert choice is not None
    for _, data in choice.options:
        named = {one["name"]: one["colour"] for panel in data["panels"] for one in panel["series"] if one["name"]}
        assert len(set(named.values())) == len(named), named


# -- applications ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rate", "duration"), [("web", "1Mbit", "4s"), ("video", "100kbit", "1s"), ("web", "64kbit", "2s")]
)
def test_an_application_of_which_nothing_ended_has_a_report(
    tmp_path: Path, kind: str, rate: str, duration: str
) -> None:
    links = LINKS.replace("10Mbit", rate)
    (tmp_path / "slow.toml").write_text(f'duration = "{duration}"\nseeds = 1\n{links}[[traffic]]\nkind = "{kind}"\n')
    done = haltere("run", "slow.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0 and "nan" not in done.stdout, done.stderr
    assert haltere("report", "out", cwd=tmp_path).returncode == 0


def test_sentences_compare_what_users_saw(applications: Results) -> None:
    told = words.sentences(applications, by_point(applications))
    for start in (
        "The median page load time of web2 is best with ", "The mean opinion score of voip3 is best with ",
        "The mean bitrate of video4 is", "The 95th percentile of the sojourn times at left>right is best with ",
    ):  # fmt: skip
        (line,) = [one for one in told if one.startswith(start)]
        assert "±" in line, line
    loads = {
        p.name: np.mean([metrics.named(run, "page_load_p50") for run in runs]) for p, runs in by_point(applications)
    }
    best = min(loads, key=lambda name: loads[name]).partition("=")[2]
    assert any(f"page load time of web2 is best with {best} (" in one for one in told)


def test_distributions_of_what_users_saw_are_drawn(applications: Results) -> None:
    drawn = {paths[0].stem for _, paths in figures.draw(applications, pdf=False)}
    assert {"page-load", "mos", "video-bitrate", "sojourn", "fct"} <= drawn
    told = json.loads((applications.directory / "figures" / "page-load.json").read_text())
    for (_, runs), series in zip(by_point(applications), told["panels"][0]["series"], strict=True):
        loads = np.sort(np.concatenate([workloads.load_s(run, "web2") for run in runs]))
        assert np.allclose(series["x"][1:], loads, rtol=1e-4)


def test_the_sojourn_figure_agrees_with_the_metric(applications: Results) -> None:
    from haltere.analysis import delays

    run = Run(applications, applications.runs[0])
    values = delays.sojourn_ms(run, "left>right")
    assert np.isclose(np.percentile(values, 95), metrics.named(run, "sojourn_p95.left>right"), rtol=0.01)


def test_completion_times_of_one_kind_of_traffic_are_drawn(applications: Results, tmp_path: Path) -> None:
    data = over.Data([applications])
    caption, _ = over.draw(data, over.Ask("fct.web", by="queue"), tmp_path / "fct", pdf=False)
    other, _ = over.draw(data, over.Ask("fct.web2", by="queue"), tmp_path / "named", pdf=False)
    assert "flow completion time of web (ms)" in caption and other.startswith("Distribution")
    first, second = (
        json.loads((tmp_path / f"{name}.json").read_text())["panels"][0]["series"] for name in ("fct", "named")
    )
    assert [one["x"] for one in first] == [one["x"] for one in second]
    over.draw(data, over.Ask("page_load", by="queue"), tmp_path / "loads", pdf=False)
    with pytest.raises(InputError, match=r"must be `fct` or one of `fct\.bulk1`"):
        over.draw(data, over.Ask("fct.wob", by="queue"), tmp_path / "none")


# -- the list of the metrics -----------------------------------------------------------------------------------------------


def test_every_metric_is_listed_explained_and_in_the_reference(tmp_path: Path) -> None:
    listed = dict(catalogue.kinds("metrics")["metrics"])
    assert list(listed) == list(metrics.METRICS) and listed["page_load_p50"] == "median page load time (s)."
    page = reference.pages()["metrics.md"]
    for name, one in metrics.METRICS.items():
        told = catalogue.explain(name)
        assert f"{name} (metric)" in told and f"`{one.reads}`" in told and one.printed[1] in told, told
        assert f"| `{name}` | {one.about}" in page
    done = haltere("explain", "page_lod_p50", cwd=tmp_path)
    assert done.returncode == 2 and "did you mean `page_load_p50`" in done.stderr, done.stderr
    assert json.loads(haltere("explain", "page_load_p50", "--json", cwd=tmp_path).stdout)["table"] == "pages"
    for command in ("compare", "plot"):
        assert "haltere list metrics" in " ".join(haltere(command, "--help", cwd=tmp_path).stdout.split())


#: Of these there is nothing in the experiment.
_NONE = ("pings", "tasks", "depths")


@pytest.mark.parametrize("name", [name for name, one in metrics.METRICS.items() if one.reads not in _NONE])
def test_a_metric_reads_the_table_that_the_list_names(applications: Results, name: str) -> None:
    read, one = set(), metrics.METRICS[name]

    class Spy(Run):
        def table(self, name: str, columns: Any = None, /, **where: Any) -> pa.Table:
            read.add(name)
            return super().table(name, columns, **where)

    run = Spy(applications, applications.runs[-1])
    run._facts = Facts(None)
    for part in [*metrics.parts(run, one.part), None]:
        one.value(run, part)
    assert one.reads in read or name.startswith(("calls", "rpc", "convergence")), (name, read)
