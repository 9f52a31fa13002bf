"""What a Matplotlib figure shows, as data: a page draws it again, so that it can be zoomed, read off and thinned out by hand.

:func:`spec` reads lines, steps, points, bars, whiskers, bands, outlines and heat maps off a figure that :mod:`haltere.report.plot` or a study drew. A
figure is so drawn once, for print, and both forms show the same. What it cannot read (a stack of pictures, an axis on the right) gives
``None``: the page then shows the print.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import collections as shapes
from matplotlib import lines, patches
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Series = dict[str, Any]
# Points of a line beyond which a page shows no more: a screen has not as many dots.
MOST_POINTS = 800


def thin(x: ArrayLike, *columns: ArrayLike, most: int = MOST_POINTS) -> list[Array]:
    """At most ``most`` of the points, peaks kept: of each stretch the lowest and the highest of the first column.

    >>> [a.tolist() for a in thin([0, 1, 2, 3], [5, 9, 1, 2], most=2)]
    [[1.0, 2.0], [9.0, 1.0]]
    """
    at, each = np.asarray(x, dtype=np.float64), [np.asarray(c, dtype=np.float64) for c in columns]
    if len(at) <= most or not each:
        return [at, *each]
    edges = np.linspace(0, len(at), most // 2 + 1).astype(int)
    first = np.nan_to_num(each[0], nan=0.0)
    keep: set[int] = set()
    for low, high in itertools.pairwise(edges):
        if high > low:
            keep.update((low + int(first[low:high].argmin()), low + int(first[low:high].argmax())))
    if most >= 4:
        keep.update((0, len(at) - 1))
    chosen = sorted(keep)
    return [at[chosen], *(c[chosen] for c in each)]


def numbers(values: Iterable[float]) -> list[float | None]:
    """Six significant digits each, ``None`` for what is no number: short, and JSON.

    >>> numbers([1.23456789, float("nan"), 2.0])
    [1.23457, None, 2]
    """
    out: list[float | None] = []
    for value in values:
        short = float(f"{value:.6g}") if math.isfinite(value) else None
        out.append(int(short) if short is not None and short.is_integer() and abs(short) < 1e15 else short)
    return out


class _Unreadable(Exception):
    """A figure shows something that cannot be read."""


def spec(fig: Figure) -> dict[str, Any] | None:
    """The figure as data, or ``None`` if it shows something that cannot be read."""
    shown = [axes for axes in fig.axes if axes.get_visible() and not hasattr(axes, "_colorbar")]
    try:
        panels = [_panel(axes) for axes in shown]
    except _Unreadable:
        return None
    places = [place for axes in shown if (place := axes.get_subplotspec())]
    columns = max([1, *(place.get_gridspec().ncols for place in places)])
    _name_by_colour(panels)
    if not any(panel["series"] or panel.get("heat") for panel in panels):
        return None
    shared = len(panels) > 1 and all(fig.axes[0].get_shared_x_axes().joined(fig.axes[0], a) for a in fig.axes[1:])
    return {"columns": columns, "shared": shared, "panels": panels}


def _panel(axes: Axes) -> dict[str, Any]:
    out: dict[str, Any] = {
        "title": axes.get_title("left") or axes.get_title(),
        "x": _axis(axes, "x"),
        "y": _axis(axes, "y"),
        "series": [],
        "rules": [],
        "texts": [],
    }
    if axes.images:
        return _heat(axes, out)
    seen: set[int] = set()
    for read in (_containers, _lines, _collections, _patches):
        read(axes, out, seen)
    for text in axes.texts:
        if text.get_transform() == axes.transData and text.get_text():
            out["texts"].append([*map(float, text.get_position()), text.get_text()])
    return out


def _axis(axes: Axes, which: str) -> dict[str, Any]:
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    out: dict[str, Any] = {
        "label": axis.get_label_text().replace("\n", " "),
        "log": axis.get_scale() == "log",
        "min": float(min(low, high)),
        "max": float(max(low, high)),
        "reversed": bool(low > high),
    }
    locator: Any = axis.get_major_locator()
    formatter: Any = axis.get_major_formatter()
    if isinstance(locator, FixedLocator):
        places: Any = getattr(locator, "locs", ())
        texts = [text.replace("\n", " ") for text in formatter.format_ticks(places)]
        out["ticks"] = [[float(at), text] for at, text in zip(places, texts, strict=False)]
    return out


def _named(artist: Any) -> str:
    label = str(artist.get_label() or "")
    return "" if label.startswith("_") else label


def series(kind: str, name: str, colour: Any, x: Iterable[float], **columns: Any) -> Series:
    """A series as pages take it: columns of numbers, and what else says how it looks."""
    out: Series = {"kind": kind, "name": name, "colour": to_hex(colour), "x": numbers(x)}
    out.update({k: numbers(v) if isinstance(v, list | np.ndarray) else v for k, v in columns.items()})
    return out


# -- containers: bars and whiskers ----------------------------------------------------------------------------------------


def _containers(axes: Axes, out: dict[str, Any], seen: set[int]) -> None:
    last = ""
    for container in axes.containers:
        if isinstance(container, BarContainer):
            bars = list(container.patches)
            seen.update(map(id, bars))
            last = _named(container)
            if bars and getattr(container, "orientation", "vertical") == "horizontal":
                raise _Unreadable
            colour, width = (bars[0].get_facecolor(), float(bars[0].get_width())) if bars else ("k", 0.0)
            middle = [bar.get_x() + bar.get_width() / 2 for bar in bars]
            tops, base = [bar.get_y() + bar.get_height() for bar in bars], [bar.get_y() for bar in bars]
            out["series"].append(series("bars", last, colour, middle, y=tops, base=base, width=width))
            if container.errorbar is not None:
                _whiskers(container.errorbar, last, out, seen)
        elif isinstance(container, ErrorbarContainer):
            data = container.lines[0]
            _whiskers(container, _named(container) or (_named(data) if data else "") or last, out, seen)


def _whiskers(container: Any, name: str, out: dict[str, Any], seen: set[int]) -> None:
    data, caps, strokes = container.lines
    seen.update(id(cap) for cap in caps)
    if data is not None:
        data.set_label(name or data.get_label())
    for stroke in strokes:
        seen.add(id(stroke))
        segments = [np.asarray(s, dtype=np.float64) for s in stroke.get_segments()]
        upright = [s for s in segments if len(s) == 2 and s[0][0] == s[1][0]]
        if not upright:
            continue
        colour = stroke.get_color()[0] if len(stroke.get_color()) else "k"
        low, high = ([of(s[0][1], s[1][1]) for s in upright] for of in (min, max))
        out["series"].append(series("whiskers", name, colour, [s[0][0] for s in upright], lo=low, hi=high))


# -- lines, points, rules -------------------------------------------------------------------------------------------------


def _lines(axes: Axes, out: dict[str, Any], seen: set[int]) -> None:
    for line in axes.lines:
        if id(line) in seen or not line.get_visible():
            continue
        x = np.asarray(line.get_xdata(orig=False), dtype=np.float64)
        y = np.asarray(line.get_ydata(orig=False), dtype=np.float64)
        if line.get_transform() != axes.transData:
            _rule(axes, line, x, y, out)
            continue
        out["series"].append(_line(line, x, y))


def _rule(axes: Axes, line: lines.Line2D, x: Array, y: Array, out: dict[str, Any]) -> None:
    """A line across the whole panel: ``axvline`` or ``axhline``."""
    upright = line.get_transform() == axes.get_xaxis_transform()
    at = x if upright else y
    if len(at):
        rule = {"axis": "x" if upright else "y", "at": float(at[0]), "name": _named(line)}
        out["rules"].append({**rule, "colour": to_hex(line.get_color())})


def _line(line: lines.Line2D, x: Array, y: Array) -> Series:
    bare = line.get_linestyle() in ("None", "none", " ", "")
    sign = line.get_marker() if line.get_marker() not in ("None", "none", None, "", " ") else ""
    if bare:
        face = line.get_markerfacecolor()
        colour = line.get_markeredgecolor() if face in ("white", "none", "w") else face
        hollow = face in ("white", "none", "w")
        return series("points", _named(line), colour, x, y=y, sign=str(sign), hollow=hollow)
    dash, width = line.get_linestyle() not in ("-", "solid"), float(line.get_linewidth())
    extra = {"dash": dash, "width": width, "sign": str(sign)}
    if len(x) > 1 and (np.diff(x[np.isfinite(x)]) < 0).any():
        return series("path", _named(line), line.get_color(), x, y=y, **extra)
    kind = "step" if line.get_drawstyle() == "steps-post" else "line"
    x, y = thin(x, y)
    return series(kind, _named(line), line.get_color(), x, y=y, **extra)


# -- bands and the rest ---------------------------------------------------------------------------------------------------


def _collections(axes: Axes, out: dict[str, Any], seen: set[int]) -> None:
    for one in axes.collections:
        if id(one) in seen or not one.get_visible():
            continue
        if isinstance(one, shapes.PolyCollection):
            _areas(axes, one, out)
        elif isinstance(one, shapes.PathCollection):
            points = np.asarray(one.get_offsets(), dtype=np.float64)
            faces: Any = one.get_facecolor()
            rims: Any = one.get_edgecolor()
            if len(faces) > 1:
                raise _Unreadable
            colour = faces[0] if len(faces) else rims[0]
            out["series"].append(series("points", _named(one), colour, points[:, 0], y=points[:, 1], sign="o"))
        elif isinstance(one, shapes.LineCollection):
            inks: Any = one.get_color()
            for segment in one.get_segments():
                points = np.asarray(segment, dtype=np.float64)
                out["series"].append(series("path", _named(one), inks[0], points[:, 0], y=points[:, 1], width=1.0))
        else:
            raise _Unreadable


def _areas(axes: Axes, one: shapes.PolyCollection, out: dict[str, Any]) -> None:
    """What ``fill_between`` filled: along the lower edge, then back along the upper.

    A band keeps the same places as its line, so that the page shows the interval of the very point that it reads off.
    """
    colours: Any = one.get_facecolor()
    for path in one.get_paths():
        # A point to begin with, the lower edge, a point to turn at, the upper edge back, a point to close.
        points: Any = path.vertices
        half = (len(points) - 3) // 2
        if half < 1 or len(points) != 2 * half + 3:
            raise _Unreadable
        low, high = points[1 : half + 1], points[half + 2 : 2 * half + 2][::-1]
        if not np.allclose(low[:, 0], high[:, 0]):
            raise _Unreadable
        x = low[:, 0]
        lo, hi = np.minimum(low[:, 1], high[:, 1]), np.maximum(low[:, 1], high[:, 1])
        line = _line_of(axes, x, to_hex(colours[0][:3]))
        x, _, lo, hi = thin(x, lo if line is None else line, lo, hi)
        out["series"].insert(0, series("area", _named(one), colours[0][:3], x, lo=lo, hi=hi))


def _line_of(axes: Axes, x: Array, colour: str) -> Array | None:
    """The line in the middle of a band: of its colour and over the same x."""
    for line in axes.lines:
        at = np.asarray(line.get_xdata(orig=False), dtype=np.float64)
        if to_hex(line.get_color()) == colour and len(at) == len(x) and np.array_equal(at, x):
            return np.asarray(line.get_ydata(orig=False), dtype=np.float64)
    return None


def _patches(axes: Axes, out: dict[str, Any], seen: set[int]) -> None:
    for one in axes.patches:
        if id(one) in seen or not one.get_visible():
            continue
        if isinstance(one, patches.StepPatch):
            data: Any = one.get_data()
            values, edges = data[0], data[1]
            x, y = thin(edges, np.append(values, values[-1:]))
            out["series"].append(series("step", _named(one), one.get_edgecolor(), x, y=y, width=1.0))
        elif one.get_transform() == axes.get_xaxis_transform() + axes.transData:
            continue
        elif isinstance(one, patches.Polygon) and one.get_data_transform() == axes.transData and one.get_fill():
            points = np.asarray(one.get_xy(), dtype=np.float64)
            out["series"].append(series("path", _named(one), one.get_facecolor(), points[:, 0], y=points[:, 1], width=0.0, fill=True))  # fmt: skip
        # Shades behind the data (a warm-up) say nothing that could be read off.


def _heat(axes: Axes, out: dict[str, Any]) -> dict[str, Any]:
    image = axes.images[0]
    values = np.ma.filled(np.ma.asarray(image.get_array(), dtype=np.float64), math.nan)
    if values.ndim != 2 or len(axes.images) > 1:
        raise _Unreadable
    rows = [text for _, text in out["y"].get("ticks", [])]
    columns = [text for _, text in out["x"].get("ticks", [])]
    if values.shape != (len(rows), len(columns)):
        raise _Unreadable
    shades = [[to_hex(tuple(image.cmap(image.norm(v)))) if math.isfinite(v) else "" for v in row] for row in values]
    cells = {(round(t.get_position()[1]), round(t.get_position()[0])): t for t in axes.texts}

    def each(of: Callable[[Any], str]) -> list[list[str]]:
        """What the text of each cell says."""
        places = [[(i, j) for j in range(len(columns))] for i in range(len(rows))]
        return [[of(cells[place]) if place in cells else "" for place in row] for row in places]

    texts, inks = each(lambda text: text.get_text()), each(lambda text: to_hex(text.get_color()))
    out["heat"] = {
        "rows": rows, "columns": columns, "values": [numbers(row) for row in values], "texts": texts, "colours": shades, "inks": inks,
    }  # fmt: skip
    return out


def _name_by_colour(panels: Sequence[dict[str, Any]]) -> None:
    """A series without a name is part of the named one of its colour and sign: its band, or itself in another panel."""
    names: dict[tuple[str, str], str] = {}
    by_colour: dict[str, str] = {}
    for panel in panels:
        for one in panel["series"]:
            if one["name"] and one["kind"] != "whiskers":
                names.setdefault(_look(one), one["name"])
                by_colour.setdefault(one["colour"], one["name"])
    for panel in panels:
        for one in panel["series"]:
            # A line whose dot has the name; but dots of one colour and another sign are another thing.
            other = by_colour.get(one["colour"], "") if one["kind"] != "points" else ""
            one["name"] = one["name"] or names.get(_look(one), other)
        panel["series"] = [one for one in panel["series"] if one["x"]]


def _look(one: Series) -> tuple[str, str]:
    return one["colour"], one["sign"] if one["kind"] == "points" else ""
