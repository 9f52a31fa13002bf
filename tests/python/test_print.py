"""Figures and tables for a paper: sizes, formats, styles, PGF, LaTeX, marks of significance, names of swept values, sizes of exports."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from matplotlib.figure import Figure as Drawing

from conftest import SMALL, haltere
from haltere import Scenario, templates
from haltere.analysis import stats
from haltere.commands import results as export
from haltere.errors import InputError
from haltere.experiment import seconds_of
from haltere.report import latex, look, over, overview, plot
from haltere.report.document import Table
from haltere.runs.results import Results

BOTTLENECK = "topology.dumbbell.bottleneck"
SHORT = SMALL.replace('duration = "3s"\nwarmup = "1s"', 'duration = "2s"\nwarmup = "500ms"')


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two disciplines, of which the second has a name of its author's, and four seeds."""
    queues = {"values": [{"kind": "drop_tail", "limit": "100p"}, {"kind": "codel", "target": "3ms"}], "labels": ["deep_queue", "CoDel, 3 ms"]}  # fmt: skip
    return Scenario.from_toml(SHORT).sweep({f"{BOTTLENECK}.queue": queues}).run(4, out=tmp_path_factory.mktemp("p") / "out")  # fmt: skip


def media_box(pdf: Path) -> tuple[float, float]:
    found = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf.read_bytes())
    assert found
    return float(found[1]), float(found[2])


def drawn(stem: Path, wanted: look.Look) -> tuple[Drawing, list[Path]]:
    with look.looking(wanted):
        fig, (axes,) = plot.figure()
        plot.line(axes, [0, 1, 2], [1, 3, 2], "a_b", plot.PALETTE[0])
        axes.set_xlabel("time (s)")
        axes.set_ylabel("rate (%)")
        plot.legend(fig, axes)
        return fig, plot.save(fig, stem)


def test_a_figure_for_a_paper_has_its_size_and_font(tmp_path: Path) -> None:
    paper, slides = look.STYLES["paper"], look.STYLES["slides"]
    fig, (_, pdf) = drawn(tmp_path / "paper", paper)
    assert media_box(pdf)[0] == 3.5 * 72 and {t.get_fontsize() for t in fig.axes[0].get_xticklabels()} == {8.0}
    assert fig.axes[0].xaxis.label.get_fontfamily()[0] == "STIXGeneral" and fig.axes[0].lines[0].get_linewidth() == pytest.approx(1.3 * 0.85)  # fmt: skip
    fig, (_, pdf) = drawn(tmp_path / "slides", slides)
    assert media_box(pdf)[0] == 720 and {t.get_fontsize() for t in fig.axes[0].get_xticklabels()} == {16.0}
    fig, (_, pdf) = drawn(tmp_path / "usual", look.Look())
    assert media_box(pdf)[0] == pytest.approx(7.2 * 72, abs=0.1)


def test_pgf_is_written_without_tex_and_names_no_file_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    _, paths = drawn(tmp_path / "one", look.Look(formats=("pgf",)))
    assert [path.name for path in paths] == ["one.pgf"]
    text = paths[0].read_text()
    assert text.count(r"\begin{pgfscope}") == text.count(r"\end{pgfscope}") > 10
    assert r"time (s)}" in text and r"a\_b" in text.replace(r"{\_}", r"\_")
    assert "/" not in re.sub(r"%.*", "", text).replace("haltere", ""), "no path of a font"
    _, again = drawn(tmp_path / "two", look.Look(formats=("pgf",)))
    assert again[0].read_text() == text


PREAMBLE = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs, pgf}
\begin{document}
"""


def compiled(body: str, folder: Path) -> str:
    """Compiles a document with LaTeX; returns its log."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    (folder / "paper.tex").write_text(PREAMBLE + body + "\n\\end{document}\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF")
    return (folder / "paper.log").read_text(errors="replace")


HOSTILE = r"a_b & 50 % of $x^2$ #1 ~ {c} \input{d} – − × → ← ≤ ≥ µ μ … ± < >"


def test_latex_compiles_the_tables_and_figures_of_a_report(results: Results, tmp_path: Path) -> None:
    parts = [latex.table(one) for one in overview.tables(results)]
    parts.append(latex.table(Table("hostile", HOSTILE, [HOSTILE, "n"], [[HOSTILE, "8.97 ± 0.32 **"], ["–", "12"]], note=HOSTILE)))  # fmt: skip
    data, formats = over.Data([results]), ("pgf",)
    with look.looking(look.Look(3.3, formats=formats)):
        made = [over.draw(data, over.Ask(y, x="queue", kind=kind), tmp_path / f"{kind}")[1] for y, kind in (("goodput", "line"), ("drops", "bar"), ("pings", "cdf"), ("flow", "box"))]  # fmt: skip
    with look.looking(look.Look(formats=formats, y_label=HOSTILE)):
        fig, (axes,) = plot.figure()
        plot.heat(axes, [[1.0, 2.0], [3.0, 4.0]], ["a_b", "c"], [HOSTILE, "50 %"], "part (%)")
        axes.set_ylabel("rows")
        made.append(plot.save(fig, tmp_path / "heat"))
    parts += [rf"\input{{{paths[0].name}}}\par" for paths in made]
    log = compiled("\n".join(parts), tmp_path)
    assert "Missing character" not in log and "undefined" not in log, log[-3000:]


def test_the_commands_take_how_figures_look(results: Results, tmp_path: Path) -> None:
    done = haltere(
        "plot", results.directory, "--y", "goodput", "--style", "paper", "--width", "8cm", "--height", "2in", "--format", "pdf,pgf",
        "--x-label", "Queue & more", "--font", "DejaVu Serif", "--out", "fig/one", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["fig/one.pdf", "fig/one.pgf"] and not (tmp_path / "fig/one.png").exists()
    assert media_box(tmp_path / "fig/one.pdf") == pytest.approx((8 / 2.54 * 72, 144), abs=0.1)
    assert r"Queue \& more" in (tmp_path / "fig/one.pgf").read_text().replace(r"{\&}", r"\&")
    done = haltere("report", results.directory, "--format", "pdf,pgf", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = {path.suffix for path in (results.directory / "figures").glob("goodput.*")}
    assert made == {".png", ".pdf", ".pgf", ".json"}
    done = haltere("plot", results.directory, "--timeline", "--out", "t/run", "--format", "pdf", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "t/run.pdf").exists(), done.stderr


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--format", "pfd", "got `pfd`; did you mean `pdf`?"),
        ("--width", "3", "length must be a number with `in`, `cm`, `mm` or `pt`, from 0.5in to 100in, got `3`"),
        ("--font", "DejaVu Sarif", "did you mean `DejaVu Serif`"),
        ("--style", "papre", "did you mean `paper`"),
    ],
)
def test_a_wrong_look_is_told_in_one_line(option: str, value: str, told: str, results: Results, tmp_path: Path) -> None:
    done = haltere("plot", results.directory, "--y", "goodput", option, value, cwd=tmp_path)
    assert done.returncode == 2 and told in done.stderr and done.stderr.count("\n") == 1


def test_names_of_swept_values_are_everywhere(results: Results, tmp_path: Path) -> None:
    names = ["deep_queue", "CoDel, 3 ms"]
    assert [point.name for point in results.points] == [f"queue={name}" for name in names]
    assert over.Data([results]).values(f"{BOTTLENECK}.queue") == names
    assert results.pandas("flows", labels=True)["queue"].unique().tolist() == names
    assert results.pandas("points")["queue"].tolist() == names
    results.write_table("points", tmp_path / "points.csv")
    assert 'queue="' not in (tmp_path / "points.csv").read_text() and "deep_queue" in (tmp_path / "points.csv").read_text()  # fmt: skip
    again = Results(results.directory)
    assert [point.name for point in again.points] == [point.name for point in results.points]
    told = haltere("compare", f"{results.directory}@queue=deep_queue", f"{results.directory}@queue=CoDel", cwd=tmp_path)
    assert told.returncode == 2 and "queue=CoDel, 3 ms" in told.stderr, "there is no such value, and they are named"
    document = overview.document(results, figures=False).text()
    assert "queue=deep_queue" in document and "drop_tail" not in document.replace("queue=deep_queue", "")


def test_a_report_marks_what_differs_from_the_first_point_by_holm(results: Results) -> None:
    table = next(one for one in overview.tables(results) if one.name == "links")
    link = next(row[1] for row in table.rows)
    column = table.columns.index("mean queue (packets)")
    first, second = (row[column] for row in table.rows if row[1] == link)
    assert "*" not in first and second.rstrip().endswith("*"), "a deep queue and CoDel's differ"
    assert "Holm" in table.note and "queue=deep_queue" in table.note
    assert len({len(row[column]) for row in table.rows}) <= 2 and all(
        not cell.endswith("*") for row in table.every for cell in row
    )
    assert all(one.note == "" for one in overview.tables(results, marked=False))


def test_marks_are_those_of_paired_tests_adjusted_for_the_whole_table() -> None:
    assert stats.holm([0.01, 0.02]) == [0.02, 0.02]
    assert stats.holm([0.01, 0.02, 1.0, 1.0, 1.0, 1.0])[0] == pytest.approx(0.06), "more tests, fewer stars"


def test_tables_for_latex_are_escaped_and_rounded_as_the_report(results: Results, tmp_path: Path) -> None:
    done = haltere(
        "export", results.directory, "--format", "latex", "--table", "traffic", "links", "--out", "tex", cwd=tmp_path
    )
    assert done.returncode == 0 and done.stdout.split() == ["tex/traffic.tex", "tex/links.tex"], done.stderr
    text = (tmp_path / "tex/links.tex").read_text()
    assert r"queue=deep\_queue & left\textgreater{}right & $" in text and r" \pm " in text
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{llrrrr}")] == [
        1,
        1,
        1,
        1,
    ]
    body = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    assert not re.search(r"(?<!\\)[_%#]", body) and body.count(r"\\") == 4
    table = next(one for one in overview.tables(results) if one.name == "links")
    assert latex.cell(table.rows[0][2]) in text
    wrong = haltere("export", results.directory, "--format", "latex", "--table", "flows", cwd=tmp_path)
    assert wrong.returncode == 2 and "--table must be one of traffic," in wrong.stderr
    hostile = latex.table(Table("t", "50 % & more", ["a_b"], [["\\input{x}"]]))
    assert r"\textbackslash{}input\{x\}" in hostile and r"50 \% \& more" in hostile


def test_a_large_export_is_announced_with_its_size(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    ask = argparse.Namespace(results=results.directory, table=None, format="csv", out=tmp_path)
    assert export._export(ask) == 0 and capsys.readouterr().err == ""
    monkeypatch.setattr(export, "_LARGE", 1.0)
    assert export._export(ask) == 0
    told = capsys.readouterr().err
    assert re.search(r"writing \d+ tables, about \d+ MB, to .*; --table takes some tables alone", told)


def test_labels_that_do_not_fit_are_refused() -> None:
    axis = f"{BOTTLENECK}.rate"
    with pytest.raises(InputError, match="labels must be one for each of the 2 `values`, got 1"):
        Scenario.from_toml(SHORT).sweep({axis: {"values": ["1Mbit", "2Mbit"], "labels": ["slow"]}}).points()
    with pytest.raises(InputError, match="labels must be one for each"):
        Scenario.from_toml(SHORT).sweep({axis: {"linspace": {"from": "1Mbit", "to": "2Mbit", "count": 2}, "labels": ["a", "b"]}}).points()  # fmt: skip


@pytest.mark.parametrize("name", [one.name for one in templates.every() if one.path.suffix == ".toml"])
def test_a_starter_with_several_long_flows_has_a_jitter_or_unlike_round_trips(name: str) -> None:
    for _, core in Scenario.load(templates.find(name).path).points()[:1]:
        one = Scenario(core).experiment
        long = [entry for entry in one.traffic if entry.behaviour.greedy and not entry.behaviour.paths]
        pairs = one.topology.values.get("pairs", 2)
        many = sum((pairs if entry.values.get("pairs") == "all" else len(entry.values.get("pairs") or [1])) * int(entry.values.get("count", 1)) for entry in long)  # fmt: skip
        if many < 2 or one.topology.kind not in ("dumbbell", "graph"):
            continue
        unlike = one.topology.values.get("rtt_spread") not in (None, 0, 0.0, "0%")
        assert unlike or any(map(seconds_of, one.topology.all("jitter"))), "phase would decide who finds room"
