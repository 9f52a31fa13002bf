"""Figures over the axes of a sweep: a value against an axis, lines by another, panels by a third; heat maps, distributions and boxes."""

from __future__ import annotations

import copy
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .. import _core
from ..analysis import metrics, stats, workloads
from ..analysis.measures import Run, by_point
from ..errors import InputError, nearest
from ..runs.records import Point, in_words, short_keys, swept
from ..runs.results import Results
from . import look, plot

Array = NDArray[np.float64]
Kind = Literal["line", "bar", "heat", "cdf", "box", "size", "ellipse"]
#: The kinds of figures, each in a few words.
KINDS: dict[str, str] = {
    "line": "a value against an axis, with intervals",
    "bar": "the same as bars",
    "heat": "a value as a colour, over --x and --by",
    "cdf": "the distribution of every single value",
    "box": "quartiles, with whiskers from the 5th to the 95th percentile",
    "size": "a flow's completion time or slowdown against its size",
    "ellipse": "a value against another one, --x: a dot a run, and an ellipse of one standard deviation",
}
#: What an ellipse is drawn along if --x does not say it.
_ALONG = "ping_p50"
#: Panels and lines of one figure.
MOST_PANELS, MOST_LINES = 12, 8


@dataclass(frozen=True)
class Ask:
    """What is to be drawn: a value (a metric, or TABLE.COLUMN), and the axes over which."""

    y: str
    x: str | None = None
    by: str | None = None
    facet: str | None = None
    kind: Kind | None = None
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class _Case:
    """A point of one of the results."""

    labels: Mapping[str, Any]
    runs: Sequence[Run]
    part: str | None = None
    """The traffic entry, class or link of which the value is taken; ``None``: the whole run."""


class Data:
    """The points of one or several results, and the axes over which they differ."""

    def __init__(self, many: Sequence[Results]) -> None:
        cases: list[_Case] = []
        names = _distinct([Path(one.where).name or one.where for one in many])
        for results, name in zip(many, names, strict=True):
            own = {"results": name} if len(many) > 1 else {}
            cases += [_Case({**point.labels, **own}, runs) for point, runs in by_point(results)]
        if not cases:
            raise InputError(f"{many[0].where}: runs must be at least 1, got none")
        scenarios = [one for results in many for one in results.manifest.get("scenarios", ())]
        words = in_words([case.labels for case in cases], scenarios)
        self.cases = [replace(case, labels=labels) for case, labels in zip(cases, words, strict=True)]
        self._name_axes()

    @classmethod
    def of(cls, points: Sequence[tuple[Point, list[Run]]]) -> Data:
        """Some points of one results directory."""
        self = cls.__new__(cls)
        self.cases = [_Case(point.words, runs) for point, runs in points]
        self._name_axes()
        return self

    def _name_axes(self) -> None:
        self.axes = list(dict.fromkeys(key for case in self.cases for key in case.labels))
        self.short = short_keys(self.axes)

    def split(self, ask: Ask) -> Data:
        """With the traffic entries, classes or links as an axis, if ``ask`` names them as one and none of the sweep is called so."""
        named = [name for name in (ask.x, ask.by, ask.facet) if name in _SPLIT and name not in self.short.values()]
        if not named:
            return self
        name, of = named[0], _part_of(ask.y)
        if of not in _SPLIT[name]:
            raise InputError(f"plot: --y must be a metric of each {name} with `{name}` as an axis, got `{ask.y}`")
        out = copy.copy(self)
        out.cases = [
            _Case({**case.labels, name: part}, case.runs, part)
            for case in self.cases
            for part in metrics.parts(case.runs[0], of)
        ]
        out._name_axes()
        return out

    def axis(self, name: str, where: str) -> str:
        """The axis of that name: a whole key, or the end of one."""
        found = [key for key in self.axes if key == name or self.short[key] == name or key.endswith(f".{name}")]
        if len(found) == 1 or name in found:
            return name if name in found else found[0]
        known = [self.short[key] for key in self.axes]
        rule = f"one of {', '.join(f'`{one}`' for one in known)}" if known else "left out: nothing was swept"
        raise InputError(f"plot: {where} must be {rule}, got `{name}`{nearest(name, known)}")

    def values(self, key: str) -> list[Any]:
        """The values of an axis: numbers in their order, others as they were written."""
        seen = list({swept(case.labels[key]): case.labels[key] for case in self.cases if key in case.labels}.values())
        numbers = [axis_number(value) for value in seen]
        if all(one is not None for one in numbers):
            return [
                value for _, value in sorted(zip(numbers, seen, strict=True), key=lambda pair: pair[0] or (0.0, ""))
            ]
        return seen

    def varying(self) -> list[str]:
        """The axes with several values, those with numbers first, of these the one with most values."""
        some = [key for key in self.axes if len(self.values(key)) > 1]
        return sorted(some, key=lambda key: (axis_number(self.values(key)[0]) is None, -len(self.values(key))))


def _distinct(names: Sequence[str]) -> list[str]:
    return [name if list(names).count(name) == 1 else f"{name} {i + 1}" for i, name in enumerate(names)]


#: What a value may be a number of: the kind of quantity, the factor and the unit that people read.
_UNITS = (("rate", 1e-6, "Mbit/s"), ("duration", 1e3, "ms"), ("bytes", 1e-3, "kB"))


def axis_number(value: Any) -> tuple[float, str] | None:
    """A swept value as a number with its unit; ``None`` if it is none.

    >>> axis_number("10Mbit"), axis_number("5ms"), axis_number("20p"), axis_number(4), axis_number({"kind": "red"})
    ((10.0, 'Mbit/s'), (5.0, 'ms'), (20.0, 'packets'), (4.0, ''), None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return float(value), ""
    for suffix, unit in (("bdp", "bandwidth-delay products"), ("p", "packets"), ("%", "%")):
        number = value.removesuffix(suffix)
        if number != value and number.replace(".", "", 1).isdecimal():
            return float(number), unit
    for kind, factor, unit in _UNITS:
        try:
            return _core.parse_quantity(kind, value) * factor, unit
        except (ValueError, InputError):
            continue
    return None


# -- values ---------------------------------------------------------------------------------------------------------------


Each = Callable[[Run, str | None], Array]


@dataclass(frozen=True)
class _Value:
    """A value of a run, and what an axis says of it."""

    label: str
    each: Each
    """Every single value of a run, or of a part of it: of a distribution."""

    def of(self, run: Run, part: str | None) -> float:
        """The mean of a run, or of a part of it."""
        values = self.each(run, part)
        return float(np.mean(values)) if len(values) else math.nan


#: Parts of a run that may be an axis, each with the kinds of parts that metrics have.
_SPLIT = {"traffic": ("traffic", "class"), "class": ("class", "traffic"), "link": ("link",)}


def _of(kind: str, measure: Callable[[Run, str], Array]) -> Each:
    """The single values of the traffic entries of a kind, or of the one that is named."""

    def each(run: Run, group: str | None) -> Array:
        parts = [measure(run, one) for one in workloads.entries(run, kind) if group in (None, one)]
        return np.concatenate([np.empty(0), *parts])

    return each


#: Values of which a run has many: what an axis says of them, and the values.
_SINGLE: dict[str, tuple[str, Each]] = {
    "page_load": ("page load time (s)", _of("web", workloads.load_s)),
    "call_mos": ("mean opinion score of a call", _of("voip", workloads.scores)),
    "pings": ("ping round-trip time (ms)", lambda run, _: run.ping_ms()),
    "fct": ("flow completion time (ms)", lambda run, group: _known(run.completion(group, "fct_ns") * 1e-6)),
    "slowdown": ("slowdown", lambda run, group: _known(run.completion(group, "slowdown"))),
    "flow": ("goodput of a flow (Mbit/s)", lambda run, group: run.goodput_mbit(group)),
}


def _part_of(y: str) -> str:
    """What a value may be taken of."""
    head = y.partition(".")[0]
    return "traffic" if head in _SINGLE and head != "pings" else metrics.METRICS[y].part if y in metrics.METRICS else ""


def _value(name: str, run: Run) -> _Value:
    head, dot, rest = name.partition(".")
    known = metrics.known(run.scenario)
    if head in _SINGLE:
        return _single(name, run)
    if head in known:
        one = known[head]
        factor, unit = one.printed
        label = f"{one.row}{' of ' + rest if dot else ''}{f' ({unit})' if unit and unit not in one.row else ''}"
        return _Value(label, lambda run, part: np.array([factor * metrics.named(run, name if part is None else f"{head}.{part}")]))  # fmt: skip
    if not dot:
        metrics.check([name], "plot: --y", run.scenario)
    return _column(head, rest, run)


def _single(name: str, run: Run) -> _Value:
    """The single values of that name; what follows a dot is a traffic entry or a kind of traffic."""
    head, dot, of = name.partition(".")
    label, each = _SINGLE[head]
    if not dot:
        return _Value(label, each)
    chosen = _chosen(name, run)
    what, bracket, unit = label.partition(" (")

    def some(run: Run, part: str | None) -> Array:
        return np.concatenate([np.empty(0), *(each(run, one) for one in chosen if part in (None, one))])

    return _Value(f"{what} of {of}{bracket}{unit}", some)


def _chosen(name: str, run: Run) -> list[str]:
    """The traffic entries that what follows the dot names, by their own name or by their kind."""
    head, _, of = name.partition(".")
    entries = {} if head == "pings" else {one.name: one.kind for one in run.experiment.traffic}
    chosen = [entry for entry, kind in entries.items() if of in (entry, kind)]
    if not chosen:
        others = ", ".join(f"`{head}.{one}`" for one in dict.fromkeys((*entries, *entries.values())))
        raise InputError(f"plot: --y must be `{head}`{' or one of ' if others else ''}{others}, got `{name}`")
    return chosen


def _known(values: Array) -> Array:
    out: Array = values[~np.isnan(values)]
    return out


def _column(table: str, column: str, run: Run) -> _Value:
    try:
        names = run.table(table).column_names
    except (InputError, KeyError) as error:
        raise InputError(f"plot: --y must be a metric or TABLE.COLUMN, got `{table}.{column}`; {error}") from None
    if column not in names:
        rule = f"name a column of `{table}` ({', '.join(names)})"
        raise InputError(f"plot: --y must {rule}, got `{column}`{nearest(column, names)}")
    # Times are read in milliseconds.
    time = column.endswith("_ns")

    def each(one: Run, _: str | None) -> Array:
        try:
            values = one.table(table)[column].cast("float64").to_numpy(zero_copy_only=False)
        except (ValueError, TypeError, NotImplementedError):
            raise InputError(f"plot: --y must name a column of numbers, got `{table}.{column}`") from None
        return _known(np.asarray(values, dtype=np.float64)) * (1e-6 if time else 1.0)

    return _Value(f"{table}.{column.removesuffix('_ns')}{' (ms)' if time else ''}", each)


# -- figures --------------------------------------------------------------------------------------------------------------


def draw(
    data: Data, ask: Ask, stem: Path, *, svg: bool = True, pdf: bool = True, png: bool = True
) -> tuple[str, list[Path]]:
    """Draws the figure at ``stem`` (PNG, PDF, SVG); returns its caption and files."""
    fig, caption = drawn(data, ask)
    return caption, plot.save(fig, stem, svg=svg, pdf=pdf, png=png)


def drawn(data: Data, ask: Ask) -> tuple[Figure, str]:
    """The figure and its caption."""
    data = data.split(ask)
    value = _value(ask.y, data.cases[0].runs[0])
    if not any(len(_known(value.each(run, case.part))) for case in data.cases for run in case.runs):
        raise InputError(f"plot: --y must be a value that the runs have, got `{ask.y}`, which none of them has")
    kind: Kind = ask.kind or ("cdf" if ask.x is None and ask.y.partition(".")[0] in _SINGLE else "line")
    axes = _axes(data, ask, kind)
    facets = data.values(axes["facet"]) if axes["facet"] else [None]
    if len(facets) > MOST_PANELS:
        raise InputError(f"plot: --facet must have at most {MOST_PANELS} values, got {len(facets)}")
    columns = look.now().columns(1 if len(facets) == 1 else 2 if len(facets) <= 4 else 3)
    width = 7.2 if columns < 3 else 9.0
    fig, panels = plot.panels(len(facets), columns, width=width, least=3.0, share=kind not in ("heat", "ellipse"))
    for panel, facet in zip(panels, facets, strict=True):
        cases = [
            case for case in data.cases if facet is None or swept(case.labels.get(axes["facet"] or "")) == swept(facet)
        ]
        _DRAWERS[kind](_On(panel, data, cases, value, axes, ask))
        if facet is not None:
            plot.title(panel, f"{data.short[axes['facet'] or '']} = {swept(facet)}")
    if kind in ("line", "bar", "box") and not ask.log_y:
        panels[0].set_ylim(bottom=min(0.0, panels[0].get_ylim()[0]))  # shared: set once, when all is drawn
    for i, panel in enumerate(panels):
        if kind != "heat" and i + columns < len(facets):
            panel.set_xlabel("")
    names = {name for panel in panels for name in panel.get_legend_handles_labels()[1]}
    if kind not in ("heat", "box") and names:
        plot.legend(fig, panels, 5 if len(names) == 5 else 4)
    return fig, _caption(data, value, axes, kind)


def _axes(data: Data, ask: Ask, kind: Kind) -> dict[str, str | None]:
    """The axis of x, lines and panels; what is not named is taken from what was swept."""
    given = ("by", "facet") if kind == "ellipse" else ("x", "by", "facet")
    named = {what: data.axis(name, f"--{what}") for what in given if (name := getattr(ask, what))}
    free = [key for key in data.varying() if key not in named.values()]
    out: dict[str, str | None] = {"x": named.get("x"), "by": named.get("by"), "facet": named.get("facet")}
    needs = {"line": ["x"], "bar": ["x"], "heat": ["x", "by"]}.get(kind, [])
    for what in needs:
        if out[what] is None and free:
            out[what] = free.pop(0)
    if out["by"] is None and kind != "heat":
        few = [key for key in free if len(data.values(key)) <= MOST_LINES]
        if few and not ask.by:
            out["by"] = few[0]
            free.remove(few[0])
    for what in needs:
        if out[what] is None:
            raise InputError(f"plot: --{what} must name an axis of the sweep, got none; no swept axis is left")
    return out


def _caption(data: Data, value: _Value, axes: Mapping[str, str | None], kind: Kind) -> str:
    over = [f"{data.short[key]}" for key in (axes["x"], axes["by"], axes["facet"]) if key]
    rest = [data.short[key] for key in data.varying() if key not in axes.values()]
    what = f"{value.label[0].upper()}{value.label[1:]}"
    text = {
        "heat": f"{what} over {' and '.join(over)}: the mean over the seeds",
        "cdf": f"Distribution of {value.label}, all seeds together",
        "box": f"{what}: median, quartiles, and whiskers from the 5th to the 95th percentile, all seeds together",
        "ellipse": f"{what}, a dot a run; the ellipses are of one standard deviation",
        "size": "Median by size of the flow, with a band from the 10th to the 90th percentile, all seeds together",
    }.get(kind, f"{what} over {', '.join(over)}: means over the seeds with 95 % intervals")
    return text + (f", and over {', '.join(rest)}" if rest else "") + "."


def _split(data: Data, cases: Sequence[_Case], key: str | None, named: bool = False) -> list[tuple[str, list[_Case]]]:
    """The cases by the values of an axis; all as one without it. ``named``: a value that is a number comes with the axis's name."""
    if key is None:
        return [("", list(cases))]
    # A number, true or false alone does not say of what.
    bare = all(isinstance(value, bool) or axis_number(value) for value in data.values(key))
    name = f"{data.short[key]} = {{}}" if bare and named else "{}"
    out = [
        (name.format(swept(value)), [c for c in cases if swept(c.labels.get(key)) == swept(value)])
        for value in data.values(key)
    ]
    return [(name, some) for name, some in out if some]


def _mean(cases: Iterable[_Case], value: _Value) -> stats.Mean | None:
    known = [one for case in cases for run in case.runs if not math.isnan(one := value.of(run, case.part))]
    return stats.mean(known) if known else None


@dataclass(frozen=True)
class _On:
    """What one panel shows."""

    panel: Any
    data: Data
    cases: Sequence[_Case]
    value: _Value
    axes: Mapping[str, str | None]
    ask: Ask

    @property
    def x(self) -> str:
        """The axis along the panel."""
        return self.axes["x"] or ""


def _scale(on: _On) -> list[float]:
    """Prepares the x axis; returns the place of each value."""
    panel, data, key, ask = on.panel, on.data, on.x, on.ask
    values = data.values(key)
    numbers = [axis_number(one) for one in values]
    units = {one[1] for one in numbers if one}
    if all(one is not None for one in numbers) and len(units) == 1:
        unit = units.pop()
        panel.set_xlabel(data.short[key] + (f" ({unit})" if unit else ""))
        if ask.log_x:
            panel.set_xscale("log")
            plot.log_axis(panel.xaxis)
        return [one[0] for one in numbers if one]
    if ask.log_x:
        raise InputError(f"plot: --log-x must go with an axis of numbers, got `{data.short[key]}`")
    plot.names(panel, range(len(values)), [swept(one) for one in values])
    panel.set_xlabel(data.short[key])
    return [float(i) for i in range(len(values))]


def _shades(on: _On, key: str | None) -> dict[str, str]:
    """The colours of the lines or boxes, the same in every panel."""
    return plot.colours([name for name, _ in _split(on.data, on.data.cases, key, named=True)])


def _lines(on: _On) -> None:
    places = dict(zip(map(swept, on.data.values(on.x)), _scale(on), strict=True))
    groups = _split(on.data, on.cases, on.axes["by"], named=True)
    shades = _shades(on, on.axes["by"])
    for name, some in groups:
        found = [
            (places[x], mean) for x, own in _split(on.data, some, on.x) if (mean := _mean(own, on.value)) is not None
        ]
        x, y = [at for at, _ in found], [mean.mean for _, mean in found]
        on.panel.plot(x, y, "o-", markersize=3.5, linewidth=1.3, color=shades[name], label=name or None)
        known = [(at, mean) for at, mean in found if not math.isnan(mean.half)]
        if known:
            on.panel.errorbar([at for at, _ in known], [m.mean for _, m in known], yerr=[m.half for _, m in known], fmt="none", ecolor=shades[name], elinewidth=1.0, capsize=2.5)  # fmt: skip
    _tall(on)


def _bars(on: _On) -> None:
    names = [swept(one) for one in on.data.values(on.x)]
    series = {}
    for name, some in _split(on.data, on.cases, on.axes["by"], named=True):
        by_x = dict(_split(on.data, some, on.x))
        series[name] = [_mean(by_x.get(x, ()), on.value) for x in names]
    plot.bars(on.panel, names, series)
    on.panel.set_xlabel(on.data.short[on.x])
    _tall(on)


def _tall(on: _On) -> None:
    room = on.panel.get_position().height * on.panel.figure.get_figheight() * 72
    on.panel.set_ylabel(textwrap.fill(on.value.label, max(12, int(room / (0.5 * plot.points(9))))))
    if on.ask.log_y:
        on.panel.set_yscale("log")
        plot.log_axis(on.panel.yaxis)


def _heat(on: _On) -> None:
    rows = on.axes["by"] or ""
    names = [[swept(one) for one in on.data.values(key)] for key in (rows, on.x)]
    matrix = np.full((len(names[0]), len(names[1])), math.nan)
    for row, some in _split(on.data, on.cases, rows):
        for column, own in _split(on.data, some, on.x):
            if (mean := _mean(own, on.value)) is not None:
                matrix[names[0].index(row), names[1].index(column)] = mean.mean
    digits = 0 if np.nanmax(np.abs(matrix), initial=0.0) >= 100 else 1
    plot.heat(on.panel, matrix, names[0], names[1], on.value.label, digits)
    on.panel.set_ylabel(on.data.short[rows])
    on.panel.set_xlabel(on.data.short[on.x])


def _each(cases: Iterable[_Case], value: _Value) -> Array:
    parts = [value.each(run, case.part) for case in cases for run in case.runs]
    return _known(np.concatenate(parts)) if parts else np.empty(0)


def _groups(on: _On) -> list[tuple[str, list[_Case], str]]:
    """The cases of each line or box, with its name and colour."""
    key = on.axes["by"] or on.axes["x"]
    groups = _split(on.data, on.cases, key, named=True)
    if len(groups) > MOST_LINES * 2:
        raise InputError(f"plot: --by must have at most {MOST_LINES * 2} values, got {len(groups)}")
    shades = _shades(on, key)
    return [(name, some, shades[name]) for name, some in groups]


def _cdf(on: _On) -> None:
    for name, some, colour in _groups(on):
        if len(values := _each(some, on.value)):
            plot.cdf(on.panel, values, name, colour)
    if on.ask.log_x:
        on.panel.set_xscale("log")
        plot.log_axis(on.panel.xaxis)
    on.panel.set_xlabel(on.value.label)
    on.panel.set_ylabel("part of the values")


def _box(on: _On) -> None:
    groups = _groups(on)
    for i, (name, some, colour) in enumerate(groups):
        values = _each(some, on.value)
        if not len(values):
            continue
        low, first, middle, third, high = np.percentile(values, [5, 25, 50, 75, 95])
        box = {"bottom": [first], "width": 0.55, "color": colour, "alpha": 0.55, "linewidth": 0}
        on.panel.bar([i], [third - first], label=name or "all", **box)
        reach = [[middle - low], [high - middle]]
        on.panel.errorbar([i], [middle], yerr=reach, fmt="none", ecolor="#222222", elinewidth=1.0, capsize=4)
        on.panel.plot([i], [middle], "s", markersize=4.5, color="#222222")
    plot.names(on.panel, range(len(groups)), [name or "all" for name, _, _ in groups])
    key = on.axes["by"] or on.axes["x"]
    on.panel.set_xlabel(on.data.short[key] if key else "")
    _tall(on)


def _size(on: _On) -> None:
    slow = on.ask.y.startswith("slowdown")
    column, scale = ("slowdown", 1.0) if slow else ("fct_ns", 1e-6)
    for name, some, colour in _groups(on):
        runs = [run for case in some for run in case.runs]
        of: list[str] | list[None] = _chosen(on.ask.y, runs[0]) if "." in on.ask.y else [None]
        size = np.concatenate([run.completion(one, "bytes") for run in runs for one in of]) * 1e-3
        took = np.concatenate([run.completion(one, column) for run in runs for one in of]) * scale
        size, took = size[~np.isnan(took)], took[~np.isnan(took)]
        if not len(size):
            continue
        edges = np.unique(np.quantile(size, np.linspace(0, 1, 13)))
        place = np.clip(np.searchsorted(edges, size, side="left"), 1, len(edges)) - 1
        bins = [place == i for i in range(len(edges)) if (place == i).any()]
        at = [float(np.median(size[one])) for one in bins]
        low, middle, high = (np.array([np.percentile(took[one], q) for one in bins]) for q in (10, 50, 90))
        on.panel.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
        on.panel.plot(at, middle, "o-", markersize=3.5, color=colour, label=name or None)
    on.panel.set_xscale("log")
    on.panel.set_yscale("log")
    for axis in (on.panel.xaxis, on.panel.yaxis):
        plot.log_axis(axis)
    on.panel.set_xlabel("size of the flow (kB)")
    on.panel.set_ylabel("slowdown" if slow else "flow completion time (ms)")


def _ellipse(on: _On) -> None:
    along = _value(on.ask.x or _ALONG, on.cases[0].runs[0])
    for name, some, colour in _groups(on):
        both = np.array([[each.of(run, case.part) for each in (along, on.value)] for case in some for run in case.runs])
        both = both[np.isfinite(both).all(axis=1)]
        if not len(both):
            continue
        on.panel.plot(*both.T, ".", markersize=3.5, color=colour, label=name or None)
        if len(both) > 2:
            wide, ways = np.linalg.eigh(np.cov(both.T))
            turn = np.linspace(0, 2 * np.pi, 61)
            half = np.sqrt(np.maximum(wide, 0.0))[:, None] * np.array([np.cos(turn), np.sin(turn)])
            on.panel.plot(*(both.mean(axis=0)[:, None] + ways @ half), linewidth=1.2, color=colour)
    if on.ask.log_x:
        on.panel.set_xscale("log")
        plot.log_axis(on.panel.xaxis)
    on.panel.set_xlabel(along.label)
    _tall(on)


_DRAWERS: dict[str, Callable[..., None]] = {
    "line": _lines, "bar": _bars, "heat": _heat, "cdf": _cdf, "box": _box, "size": _size, "ellipse": _ellipse,
}  # fmt: skip
