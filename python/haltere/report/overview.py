"""The document of any experiment: tables of its results, figures, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import kinds
from ..analysis import metrics
from ..analysis.measures import Run, by_point
from ..analysis.stats import Mean
from ..analysis.summary import summary
from ..play import browser, export
from ..runs.results import Results
from . import marks, picture, words
from .document import Block, Bullets, Document, Figure, Heading, Picture, Table, Text
from .many import MOST_POINTS, over_axes

Record = Mapping[str, Any]
Parts = Callable[[Record], Iterable[tuple[list[str], Record]]]


# -- tables ---------------------------------------------------------------------------------------------------------------


def _cell(value: Record | None, digits: int) -> str:
    if value is None:
        return "–"
    half = math.nan if value["half"] is None else value["half"]
    return Mean(value["mean"], half, math.nan, value["n"]).format(digits)


def _cells(columns: Sequence[metrics.Metric], values: Record) -> list[str]:
    """The cells of the metrics that are columns of a table."""
    return [_cell(values.get(one.key or one.name), one.digits) for one in columns]


def _part(cells: Sequence[str], table: str) -> str | None:
    """The part of a run that a row is of, by the cells in front of its metrics."""
    return "/".join(cells[:2]) if table == "completions" else cells[0] if cells else None


def _columns(scenarios: Iterable[Record], table: str) -> list[metrics.Metric]:
    """The columns of a table, of all these scenarios."""
    return list({one.name: one for scenario in scenarios for one in metrics.in_table(table, scenario)}.values())


def _completions(point: Record) -> Iterable[tuple[list[str], Record]]:
    for group, sizes in point.get("completions", {}).items():
        for size, of in sizes.items():
            if size != "all" and of["flows"] == sizes["all"]["flows"]:
                continue  # one size only: the row of all says the same
            yield [group, size, str(of["flows"]), str(of["unfinished"])], of


def _each(key: str) -> Parts:
    """Of tables with one row a point and link or traffic entry."""
    return lambda point: (([name], values) for name, values in point.get(key, {}).items())


def _whole(key: str) -> Parts:
    """Of tables with one row a point."""
    return lambda point: [([], point.get(key, {}))]


@dataclass(frozen=True)
class _Spec:
    """A table of the report: its name, its title, the columns in front of the metrics, and the rows of a point."""

    name: str
    title: str
    first: tuple[str, ...]
    parts: Parts
    left: int = 1
    """How many of these columns are text."""


_CLASSES = "classes"
#: The tables in their order.
_TABLES = (
    _Spec("traffic", "Traffic", ("traffic", "flows"), lambda point: (([name, str(of["flows"])], of) for name, of in point["traffic"].items())),
    _Spec(_CLASSES, "Traffic by control", ("flows of", "flows"), _whole("")),
    _Spec("links", "Watched links", ("link",), _each("links")),
    _Spec("completions", "Flow completion times", ("traffic", "size", "flows of a run", "unfinished in all runs"), _completions, 2),
    *(_Spec(one.table, one.title, ("traffic",), _each(one.table)) for one in kinds.WORKLOADS),
    _Spec("sojourn", "Sojourn times (ms)", ("link",), _each("sojourn_ms")),
    _Spec("rtt", "Round-trip times of TCP (ms)", ("traffic",), _each("rtt_ms")),
    _Spec("one_way", "One-way delays of UDP (ms)", ("traffic",), _each("one_way_ms")),
    _Spec("ping", "Ping round-trip time (ms)", (), _whole("ping_ms"), 0),
    _Spec("own", "Custom metrics", (), _whole("own"), 0),
    _Spec("run", "Whole runs", (), _whole("run"), 0),
)  # fmt: skip


def tables(results: Results, *, marked: bool = True) -> list[Table]:
    """What the summary holds, table by table; metrics of the list are the columns, behind those named here.

    ``marked``: with marks of significance, if there are several points.
    """
    every = [(one, results.points[one["point"]]) for one in summary(results)]
    points = [{**one, "name": point.name, "words": point.words} for one, point in every]
    named = len(results.points) > 1
    over, left_out = over_axes(points) if len(points) > MOST_POINTS else ([], 0)
    many, shown_points = bool(over), over or points
    # Columns differ with what is measured, which is mostly the same at all points.
    scenarios = list({repr(point.scenario.get("measure")): point.scenario for point in results.points}.values())

    def table(one: _Spec) -> Table:
        if one.name == _CLASSES:
            return _classes(results, one, named)
        naming, shown = named or not one.left, _columns(scenarios, one.name)

        def rows_of(some: Sequence[Record]) -> list[list[str]]:
            return [
                [*([point["name"]] if naming else []), *cells, *_cells(shown, values)]
                for point in some
                for cells, values in one.parts(point)
            ]

        columns = [*(["point"] if naming else []), *one.first, *(metric.heading for metric in shown)]
        made = Table(one.name, one.title, columns, rows_of(shown_points), left=one.left + naming)
        if many:
            return replace(made, note=_note(results, left_out), every=rows_of(points))
        return _marked(made, results, shown, points, one.parts) if marked and named else made

    def measured(one: _Spec) -> bool:
        return one.name == _CLASSES or any(values for point in points for _, values in one.parts(point))

    return [made for one in _TABLES if measured(one) and (made := table(one)).rows]


def _marked(
    plain: Table, results: Results, columns: Sequence[metrics.Metric], points: Sequence[Record], parts: Parts
) -> Table:
    """The table with its marks; its file has none."""
    front = [tuple(cells) for cells, _ in parts(points[0])]
    rows = [(cells[:2], _part(cells, plain.name)) for cells in front]
    found, note = marks.of_table(by_point(results), columns, rows)
    if not found:
        return plain
    own = [
        [""] * (len(plain.columns) - len(columns))
        + [found.get((one["point"], tuple(cells[:2]), metric.name), "") for metric in columns]
        for one in points
        for cells, _ in parts(one)
    ]
    return replace(plain, rows=marks.aligned(plain.rows, own), note=note, every=plain.rows)


def _note(results: Results, left_out: int) -> str:
    """What a table over the axes leaves out, and where it is."""
    more = f"{left_out} more values of axes and all" if left_out else "All"
    return (
        f"Means over the points with that value. {more} {len(results.points)} points: `haltere report {results.where}` writes tables/*.csv, and "
        f'`haltere results {results.where} --query "SELECT * FROM points JOIN flows USING (point)"` asks them.'
    )


def _classes(results: Results, one: _Spec, named: bool) -> Table:
    """What a flow got by control, if a traffic entry assigns several."""
    columns = metrics.in_table(one.name)
    rows = [
        [*([point.name] if named else []), name, str(len(flows)), *(_class(runs, metric, name) for metric in columns)]
        for point, runs in by_point(results)
        if not set(runs[0].classes()) <= set(runs[0].groups())
        for name, flows in runs[0].classes().items()
    ]
    headings = [*(["point"] if named else []), *one.first, *(metric.heading for metric in columns)]
    more = len(rows) - MOST_POINTS
    note = f"{more} more rows: tables/classes.csv, which `haltere report {results.where}` writes." if more > 0 else ""
    return Table(one.name, one.title, headings, rows[:MOST_POINTS], note, named + one.left, rows)


def _class(runs: Sequence[Run], one: metrics.Metric, name: str) -> str:
    value, (factor, _) = metrics.mean_of(runs, one, name), one.printed
    return "–" if value is None else value.scaled(factor).format(one.digits)


# -- the document ---------------------------------------------------------------------------------------------------------


def document(results: Results, *, figures: bool) -> Document:
    """The document of an experiment: sentences, tables and cautions; with ``figures`` the network, figures and single runs, too."""
    out = Document(results.title or "Experiment")
    points = by_point(results)
    if points:
        out.add(Heading("Summary"), Bullets(words.sentences(results, points)))
    if points and figures:
        out.add(*_picture(results))
    cautions = words.cautions(results, points)
    care: list[Block] = [Heading("Caveats"), Bullets(cautions, care=True)] if cautions else []
    if not figures:
        return _added(out, [*tables(results, marked=False), *care])
    _added(out, care)
    made = tables(results)
    _added(out, [Heading("Tables"), *made] if made else [])
    from . import explore  # with Matplotlib, which takes its time to load
    from .figures import draw

    drawn, single = [Figure(paths[0], caption) for caption, paths in draw(results, pdf=False)], explore.runs(results)
    _added(out, [Heading("Figures"), *drawn] if drawn else [])
    _added(out, [Heading("Single runs"), single] if single else [])
    results.facts.save()
    return _added(out, [Heading("Provenance"), Text(_made(results), _again(results))])


def _added(out: Document, blocks: Sequence[Block]) -> Document:
    out.add(*blocks)
    return out


#: Points of a sweep whose networks are drawn, one over the other.
_MOST_DRAWN = 16


def _picture(results: Results) -> list[Block]:
    points = by_point(results)
    some = points[:: max(1, len(points) // _MOST_DRAWN)]
    drawn = [
        picture.network(point.scenario) or picture.network(point.scenario, runs[0].links.to_pylist())
        for point, runs in some
    ]
    known = [one for one in drawn if one is not None]
    if not known:
        return []
    many = " Values that differ between the points of the sweep are separated by bars." if len(known) > 1 else ""
    caption = f"The network: rate and delay of each link, in blue the queues (→ in front of the link, ← of its other direction); thick: watched.{many}"
    return [Heading("The network"), Picture("network", picture.svg(known), caption)]


def _again(results: Results) -> tuple[str, str] | None:
    """The link that runs the experiment again in a browser, if it is one and it is known where the page for that is."""
    scenarios = results.manifest["scenarios"]
    if len(scenarios) != 1 or browser.address() is None:
        return None
    text = export.toml(scenarios[0], head="# From a report of Haltere.")
    return "Run it again in the browser", str(browser.link(text))


def _made(results: Results) -> str:
    made = results.manifest["environment"]
    return (
        f"haltere {made['haltere']} (build {made['build']}, source {made['git'] or 'installed'}), Python {made['python']}, {made['platform']}; "
        f"digest of all runs {results.digest()}. manifest.json holds the experiment with every default."
    )
