"""What a pack or a check came to: a document with a small figure, JSON, and JUnit's XML."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..analysis import metrics, stats
from ..analysis.stats import Mean
from ..report import plot
from ..report.blocks import Figure as Drawn
from ..report.document import Bullets, Document, Heading, Table, Text
from ..runs.files import write_atomically
from . import Pack
from .play import Played, Row, has

_SIGNS = {"held": "", "not held": " ✗", "inconclusive": " ?"}
#: Rows of a figure beyond which it would not be small.
_MOST_ROWS = 45
#: Larger differences are an arrow at the edge.
_MOST_PERCENT = 100.0


def _opened(title: str, pack: Pack, about: str) -> Document:
    document = Document(title)
    document.add(
        Text(
            f"{pack.title}, {len(pack.cases)} cases. Source: {pack.source}; licence of its facts: {pack.licence}. {about}"
        )
    )
    return document


def _care(pack: Pack, failed: Mapping[tuple[str, str], str]) -> list[str]:
    failures = [f"{case} with {variant} did not end. {error}" for (case, variant), error in failed.items()]
    return [*failures, *(f"{name} is left out: {why}." for name, why in pack.left_out.items())]


def of_pack(played: Played, rows: Sequence[Row]) -> Document:
    """The document of `haltere pack run`."""
    pack, columns = played.pack, [variant.name for variant in played.variants]
    seeds = len(played.results.seeds)
    document = _opened(f"Pack {pack.name}", pack, f"Means of {seeds} seeds with 95 % intervals.")
    cells = {(row.case, row.what, row.variant): row for row in rows}
    lines: list[list[str]] = []
    about = {case.name: case.about for case in pack.cases}
    for case, what in dict.fromkeys((row.case, row.what) for row in rows):
        lines.append([case, about[case], what, *(_cell(cells.get((case, what, variant))) for variant in columns)])
    note = "The value of the left side. ✗: the condition does not hold, Holm's correction over the table; ?: the interval contains the bound; no sign: it holds."
    document.add(
        Table(
            "conditions",
            "What must hold",
            ["case", "path and data", "condition", *columns],
            _once(lines),
            note,
            left=3,
            every=lines,
        )
    )
    if others := _others(played):
        columns = ["case", "path and data", "figure", *columns]
        document.add(Table("figures", "Other figures", columns, _once(others), left=3, every=others))
    if published := _published(played):
        document.add(
            Table(
                "published",
                "Beside the source's own means",
                ["case", "figure", "control", "here", "published", "difference"],
                published,
                left=3,
            )
        )
    if care := _care(pack, played.failed):
        document.add(Heading("To be careful about"), Bullets(care, care=True))
    return document


def _once(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows with the case named in its first row alone."""
    before = ["", *(row[0] for row in rows)]
    return [["", "", *row[2:]] if row[0] == last else list(row) for row, last in zip(rows, before, strict=False)]


def _cell(row: Row | None) -> str:
    return "–" if row is None else row.value.format(3) + _SIGNS.get(row.verdict, "")


def _others(played: Played) -> list[list[str]]:
    out = []
    for case in played.pack.cases:
        shown = {name.partition(".")[0] for one in case.must for name in one.names()}
        for figure in played.pack.figures:
            if figure.of.partition(".")[0] in shown:
                continue
            cells = []
            for variant in played.variants:
                runs = played.runs[case.name, variant.name]
                known = runs and all(has(run, figure.of) for run in runs)
                cells.append(stats.mean([metrics.named(run, figure.of) for run in runs]).format(3) if known else "–")
            if set(cells) != {"–"}:
                out.append([case.name, case.about, figure.of, *cells])
    return out


def _published(played: Played) -> list[list[str]]:
    rows = []
    for case, variant, runs in played.rows():
        for name, known in case.published.items():
            if variant in known:
                ours = stats.mean([metrics.named(run, name) for run in runs])
                gap = f"{100 * (ours.mean / known[variant] - 1):+.1f} %"
                rows.append([case.name, name, variant, ours.format(3), f"{known[variant]:g}", gap])
    return rows


def of_check(played: Played, rows: Sequence[Row], base: str, smaller: Mapping[str, Path]) -> Document:
    """The document of `haltere check`; ``base`` is empty without one."""
    pack, new = played.pack, played.variants[-1].name
    bad = [row for row in rows if row.is_bad]
    many = sorted({len(runs) for runs in played.runs.values() if runs})
    seeds = f"{many[0]}" if len(many) == 1 else f"{many[0]} to {many[-1]}" if many else "0"
    against = f"{new} beside {base}" if base else new
    document = _opened(
        f"Check of {against}", pack, f"{seeds} seeds a case; both sides of a case have the same random draws."
    )
    document.add(Text(verdict(rows, played.failed)))
    shown = [row for row in rows if row.variant == new]
    figures, must = ([row for row in shown if row.is_figure is kind] for kind in (True, False))
    if figures:
        cells = {
            row: [row.case, f"{row.what} ({row.unit})" if row.unit else row.what, *_numbers(row), row.verdict]
            for row in figures
        }
        notable = [cells[row] for row in figures if row.verdict != "not worse"]
        note = (
            f"{len(figures) - len(notable)} of {len(figures)} figures are not worse by more than their margin; tables/figures.csv has them."
            if len(notable) < len(figures)
            else ""
        )
        columns = ["case", "figure", "baseline", "new", "difference", "margin", "verdict"]
        _add(document, Table("figures", "Figures", columns, notable, note, left=2, every=list(cells.values())))
        document.add(_differences(figures, bad, played.results.directory / "figures" / "differences"))
    if must:
        lines = {row: [row.case, row.what, row.value.format(3), row.verdict] for row in must}
        notable = [lines[row] for row in must if row.verdict != "held"]
        note = f"{len(must) - len(notable)} of {len(must)} conditions hold." if len(notable) < len(must) else ""
        columns = ["case", "condition", "value", "verdict"]
        _add(
            document, Table("conditions", "What must hold", columns, notable, note, left=2, every=list(lines.values()))
        )
    if smaller:
        document.add(
            Heading("The smallest experiments that show it"),
            Bullets([f"{case}: `haltere run {path}`" for case, path in smaller.items()]),
        )
    if care := _care(pack, played.failed):
        document.add(Heading("To be careful about"), Bullets(care, care=True))
    return document


def _add(document: Document, table: Table) -> None:
    """A table, or its note alone if all rows are as they should be. The CSV file has every row."""
    document.add(table if table.rows else Text(table.note))


def verdict(rows: Sequence[Row], failed: Mapping[Any, str]) -> str:
    """The outcome in a sentence."""
    worse = sum(row.verdict == "worse" for row in rows)
    broken = sum(row.verdict == "not held" for row in rows)
    unknown = sum(row.verdict == "inconclusive" for row in rows)
    counted = [
        (worse, "figure is worse beyond its margin", "figures are worse beyond their margin"),
        (broken, "condition does not hold", "conditions do not hold"),
        (len(failed), "case did not end", "cases did not end"),
        (unknown, "row is inconclusive with these seeds", "rows are inconclusive with these seeds"),
    ]
    parts = [f"{many} {one if many == 1 else several}" for many, one, several in counted if many]
    word = "Failed" if worse or broken or failed else "Passed"
    return f"{word}: {', '.join(parts) or 'nothing is worse, and every condition holds'} (error rate of all verdicts together 5 %)."


def _numbers(row: Row) -> list[str]:
    assert row.base is not None and row.difference is not None
    digits = 3 if abs(row.base.mean) < 100 else 1
    return [row.base.format(digits), row.value.format(digits), row.difference.format(digits), f"{row.margin:.3g}"]


def _differences(rows: Sequence[Row], bad: Sequence[Row], stem: Path) -> Drawn:
    """Each figure's difference in per cent of the baseline's mean, the baseline as a line, the worst ones first if there are many."""

    def percent(row: Row) -> Mean:
        assert row.base is not None and row.difference is not None
        return row.difference.scaled(100 / abs(row.base.mean))

    known = [row for row in rows if row.base is not None and row.base.mean and math.isfinite(percent(row).half)]
    if len(known) > _MOST_ROWS:
        kept = {id(row) for row in sorted(known, key=lambda row: row.p)[:_MOST_ROWS]}
        known = [row for row in known if id(row) in kept]
    fig, (axes,) = plot.figure(width=5.6, height=0.7 + 0.17 * max(len(known), 2))
    limit = min(max([abs(percent(row).mean) + percent(row).half for row in known] + [1.0]) * 1.05, _MOST_PERCENT)
    for y, row in enumerate(reversed(known)):
        one, colour = percent(row), "#D55E00" if row in bad else "#0072B2"
        margin = 100 * row.margin / abs(row.base.mean)  # type: ignore[union-attr]
        axes.plot([-margin, margin], [y, y], color="#E4E4E4", linewidth=5, solid_capstyle="butt", zorder=1)
        if abs(one.mean) <= limit:
            axes.errorbar(
                one.mean, y, xerr=one.half, fmt="o", markersize=3, capsize=0, color=colour, linewidth=1.2, zorder=3
            )
        else:
            side = math.copysign(1.0, one.mean)
            axes.plot(side * limit * 0.97, y, ">" if side > 0 else "<", markersize=4, color=colour, zorder=3)
            axes.annotate(
                f"{one.mean:+.0f}",
                (side * limit * 0.93, y),
                ha="right" if side > 0 else "left",
                va="center",
                fontsize=plot.points(7),
                color=colour,
            )
    axes.set_yticks(range(len(known)), [f"{row.case}  {row.what}" for row in reversed(known)])
    axes.tick_params(axis="y", labelsize=plot.points(7), length=0)
    axes.axvline(0, color="#888888", linewidth=0.8)
    axes.grid(False, axis="y")
    axes.set_xlim(-limit, limit)
    axes.set_xlabel("difference from the baseline (%)")
    caption = (
        "Differences from the baseline with 95 % intervals, seed by seed; grey: the margin; orange: worse beyond it."
    )
    plot.save(fig, stem, svg=True, pdf=False)
    stem.with_suffix(".json").unlink(missing_ok=True)  # a page's own drawing would lack the arrows
    return Drawn(stem.with_suffix(".png"), caption)


def to_json(played: Played, rows: Sequence[Row], smaller: Mapping[str, Path]) -> dict[str, Any]:
    """For programs."""
    return {
        "pack": played.pack.name,
        "variants": [variant.name for variant in played.variants],
        "passed": not any(row.is_bad for row in rows) and not played.failed,
        "rows": [row.to_dict() for row in rows],
        "failed": [
            {"case": case, "variant": variant, "error": error} for (case, variant), error in played.failed.items()
        ],
        "left_out": dict(played.pack.left_out),
        "smallest": {case: str(path) for case, path in smaller.items()},
    }


def write_junit(played: Played, rows: Sequence[Row], path: Path) -> None:
    """JUnit's XML: a test a row of the last variant, and one a case that was left out or did not end."""
    suite = ET.Element("testsuite", name=f"haltere {played.pack.name}")

    def test(case: str, name: str, kind: str = "", message: str = "") -> None:
        one = ET.SubElement(suite, "testcase", classname=f"{played.pack.name}.{case}", name=name)
        if kind:
            ET.SubElement(one, kind, message=message)

    for row in rows:
        if row.variant == played.variants[-1].name:
            beside = f"{row.base.format(3)} -> " if row.base else ""
            message = f"{row.verdict}: {beside}{row.value.format(3)} {row.unit}".strip()
            test(row.case, row.what, "failure" if row.is_bad else "", message)
    for (case, variant), error in played.failed.items():
        test(case, f"ends with {variant}", "error", error)
    for case, why in played.pack.left_out.items():
        test(case, "is read", "skipped", why)
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    whole = ET.Element("testsuites")
    whole.append(suite)
    ET.indent(whole)
    write_atomically(path, ET.tostring(whole, encoding="unicode", xml_declaration=True) + "\n")
