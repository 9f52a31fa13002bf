"""The command line, from a shell as a user would."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import haltere as package
from conftest import ROOT, called, haltere, listing
from haltere import cli
from haltere.commands import completion


def test_a_run_prints_what_came_of_it_and_keeps_it(small: Path) -> None:
    done = haltere("run", small.name, "--seeds", "2", cwd=small.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Two flows over one bottleneck\n")
    assert "Traffic" in done.stdout and "Ping round-trip time" in done.stdout
    assert "2/2 runs" in done.stderr and "2/2 runs" not in done.stdout
    folder = small.parent / "results" / "small"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["complete"] and manifest["seeds"] == [1, 2] and len(manifest["runs"]) == 2
    scenario = manifest["points"][0]["scenario"]
    # A default that the file does not name: the manifest has them all.
    assert scenario["topology"]["dumbbell"]["bottleneck"]["queue"]["target"] == "5ms"
    for run in manifest["runs"]:
        assert pq.read_table(folder / "runs" / run["key"] / "flows.parquet").num_rows == 3


def test_json_is_json_and_nothing_else(small: Path) -> None:
    done = haltere("run", small.name, "--seeds", "2", "--json", cwd=small.parent)
    told = json.loads(done.stdout)
    (point,) = told["summary"]
    rate = sum(one["goodput_mbit"]["mean"] for one in point["traffic"].values())
    # Payload over a 10 Mbit/s line of 1514-byte frames: at most 9.57, and two TCP flows come near.
    assert 8.0 < rate < 9.6
    assert 12 < point["ping_ms"]["p50"]["mean"] < 60
    assert point["traffic"]["bulk1"]["goodput_mbit"]["n"] == 2


def test_a_second_call_runs_nothing_again(small: Path) -> None:
    first = haltere("run", small.name, "--seeds", "2", cwd=small.parent)
    runs = small.parent / "results" / "small" / "runs"
    before = {path: path.stat().st_mtime_ns for path in runs.rglob("*.parquet")}
    again = haltere("run", small.name, "--seeds", "3", cwd=small.parent)
    assert first.returncode == again.returncode == 0
    assert "run (2 found): 1/1 runs" in again.stderr
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())
    assert len(list(runs.iterdir())) == 3


def test_results_are_the_same_on_one_thread_and_two(small: Path) -> None:
    for jobs in ("1", "2"):
        haltere("run", small.name, "--jobs", jobs, "--out", f"jobs{jobs}", cwd=small.parent)
    one, two = (haltere("hash", f"jobs{jobs}", cwd=small.parent) for jobs in ("1", "2"))
    assert one.returncode == 0 and len(one.stdout.splitlines()) == 4
    assert one.stdout == two.stdout
    digests = [line.split()[0] for line in one.stdout.splitlines()]
    assert len(set(digests)) == 4, "different seeds must give different bytes"


def test_set_changes_a_value_and_another_key(small: Path) -> None:
    base = json.loads(called("run", small.name, "--seeds", "1", "--json", cwd=small.parent).stdout)
    half = called(
        "run", small.name, "--seeds", "1", "--json", "--set", "topology.dumbbell.bottleneck.rate=5Mbit",
        "--set", "traffic.0.congestion=cubic", "--out", "half", cwd=small.parent,
    )  # fmt: skip
    assert half.returncode == 0, half.stderr
    rates = [
        sum(g["goodput_mbit"]["mean"] for g in told["summary"][0]["traffic"].values())
        for told in (base, json.loads(half.stdout))
    ]
    assert rates[1] == pytest.approx(rates[0] / 2, rel=0.1)


def test_quick_says_what_it_left_out(small: Path) -> None:
    done = called("run", small.name, "--quick", cwd=small.parent)
    assert done.returncode == 0, done.stderr
    assert "Left out by --quick: 1 of 3 seeds." in done.stdout


def test_report_and_plot_write_figures(small: Path) -> None:
    called("run", small.name, "--seeds", "2", cwd=small.parent)
    report = called("report", "results/small", cwd=small.parent)
    assert report.returncode == 0, report.stderr
    assert "results/small/report.html" in report.stdout
    page = (small.parent / "results/small/report.html").read_text()
    assert page.count('class="spec"') >= 3 and "digest of all runs" in page
    plot = called("plot", "results/small", cwd=small.parent)
    for path in plot.stdout.split():
        assert (small.parent / path).stat().st_size > 1000
    assert {Path(path).suffix for path in plot.stdout.split()} == {".png", ".pdf", ".svg"}


def test_list_and_explain_know_every_mechanism(tmp_path: Path) -> None:
    listed = json.loads(called("list", "--json", cwd=tmp_path).stdout)
    assert "codel" in listed["queues"] and "cubic" in listed["congestion"] and "aqm-lab" in listed["studies"]
    only = called("list", "queues", cwd=tmp_path).stdout
    assert "fq_codel" in only and "cubic" not in only
    told = called("explain", "codel", cwd=tmp_path).stdout
    assert "RFC 8289" in told and "target" in told and "5ms" in told
    assert "Known problems:" in told and "Example:" in told and 'kind = "codel"' in told
    json.loads(called("explain", "codel", "--json", cwd=tmp_path).stdout)


def test_explain_takes_any_spelling_tables_and_keys_and_says_which_red() -> None:
    from haltere import InputError, catalogue

    assert catalogue.find("Cubic").name == "cubic"
    assert catalogue.find("FQ-CoDel").name == catalogue.find("fq-codel").name == "fq_codel"
    assert [entry.one for entry in catalogue.found("red")] == ["queue discipline", "path scheduler"]
    assert catalogue.find("GraphLink").name == "graph_link" and "(table)" in catalogue.explain("graph-link")
    assert "key of kind of traffic `poisson`" in catalogue.explain("per_second")
    assert catalogue.explain("dumbbells") == catalogue.explain("dumbbell")
    with pytest.raises(InputError, match="did you mean `codel`") as caught:
        catalogue.explain("codell")
    assert str(caught.value).count("`") <= 2 * 5, "the nearest three and no more"


def test_every_mechanism_names_its_source_and_every_table_has_an_example() -> None:
    from haltere import catalogue

    mechanisms = ("queues", "classifiers", "services", "congestion", "schedulers", "correlators")
    for entry in catalogue.entries():
        if entry.kind in mechanisms:
            for part in ("Source: ", "Deviations: ", "Known problems: "):
                assert f"\n\n{part}" in entry.about, f"{entry.kind} {entry.name}: {part}"
        if entry.kind in (*mechanisms, "topologies", "traffic"):
            assert entry.example, f"{entry.kind} {entry.name}"
        elif entry.kind == "tables" and entry.name != "experiment":
            assert entry.example, f"table {entry.name}"


def test_the_schema_is_that_of_experiment_files(tmp_path: Path) -> None:
    schema = json.loads(called("schema", cwd=tmp_path).stdout)
    assert {"duration", "topology", "traffic"} <= set(schema["properties"])


def test_help_and_version(tmp_path: Path) -> None:
    top = called("--help", cwd=tmp_path)
    assert top.returncode == 0 and "reproduce aqm-lab --quick" in top.stdout
    for path, _ in completion._walk("haltere", cli._parser([])):
        one = called(*path.split()[1:], "--help", cwd=tmp_path)
        assert one.returncode == 0 and one.stdout.startswith(f"usage: {path} "), one.stderr
    assert called("--version", cwd=tmp_path).stdout == f"haltere {package.__version__}\n"


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    import subprocess
    import sys

    shell = f"{sys.executable} -m haltere schema | head -1"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "{\n" and "Traceback" not in done.stderr


SWEEP = """
[sweep]
"topology.dumbbell.bottleneck.queue" = ["codel", "pie"]
"traffic[0].count" = [1, 2]
"""


def test_a_sweep_has_a_point_for_each_combination(small: Path) -> None:
    small.write_text(small.read_text() + SWEEP)
    results = package.load(small).run(seeds=2, out=small.parent / "swept")
    assert [point.name for point in results.points] == [
        "queue=codel count=1",
        "queue=codel count=2",
        "queue=pie count=1",
        "queue=pie count=2",
    ]
    flows = results.table("flows", columns=["flow"])
    assert flows.column_names == ["point", "seed", "flow"]
    assert len(flows.filter(flows["point"].to_numpy() == 1)) == 2 * (2 * 2 + 1)
    assert len(results.summary()) == 4
    assert results.table("queue_series", points=[2]).num_rows > 0


def test_python_without_a_directory_leaves_nothing_behind(small: Path) -> None:
    before = listing(small.parent)
    results = package.load(small).run(seeds=1)
    frame = results.pandas("flows")
    assert list(frame["seed"].unique()) == [1] and len(frame) == 3
    folder = results.directory
    del results
    assert not folder.exists() and listing(small.parent) == before


def test_every_example_file_of_the_studies_is_valid() -> None:
    files = sorted(ROOT.glob("papers/*/*.toml"))
    assert files
    for path in files:
        if path.name != "expected.toml":
            assert package.load(path).points(), path
