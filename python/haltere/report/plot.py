"""Figures in one style: colours that the colour-blind can tell apart, units on every axis, intervals shown.

Functions draw into a Matplotlib ``Axes`` that :func:`figure` made and return nothing; :func:`save` writes the files. Size, font and
formats are as :mod:`haltere.report.look` says.
No global state of Matplotlib is touched, so figures may be drawn from any thread.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from ..analysis import stats
from ..runs.files import write_atomically
from . import blocks, charts, look

# Okabe and Ito's palette without its yellow (too pale on white) and with a darker sky blue; black last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#3FA7DC", "#7A4FBF", "#000000")


def _mixed(colour: str, with_: int, part: float) -> str:
    """A colour with that part of white (255) or black (0)."""
    return "#" + "".join(f"{round(int(colour[i : i + 2], 16) * (1 - part) + with_ * part):02X}" for i in (1, 3, 5))


#: The palette, and its colours lighter and darker, for figures of more names than it has.
SHADES = (*PALETTE, *(_mixed(one, 255, 0.5) for one in PALETTE[:-1]), *(_mixed(one, 0, 0.5) for one in PALETTE[:-1]))

_INK = "#222222"
_STYLE: Any = {
    "font.family": "DejaVu Sans", "font.size": 9, "text.color": _INK, "lines.linewidth": 1.3, "pdf.fonttype": 42,
    "axes.edgecolor": "#888888", "axes.labelcolor": _INK, "axes.titlesize": 10, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7, "xtick.color": "#555555", "ytick.color": "#555555", "legend.frameon": False, "legend.fontsize": 8.5,
    "figure.facecolor": "white", "savefig.facecolor": "white",
}  # fmt: skip


def style() -> Any:
    """Matplotlib's settings of these figures, for a while."""
    wanted = look.now()
    sizes = {key: value * wanted.points / look.USUAL for key, value in _STYLE.items() if key.endswith("size")}
    settings: Any = {**_STYLE, **sizes, **dict(wanted.rc)}
    return matplotlib.rc_context(settings)


def points(usual: float) -> float:
    """The size of a text that is otherwise of so many points."""
    return usual * look.now().points / look.USUAL


def colours(names: Iterable[str]) -> dict[str, str]:
    """One colour a name, in order; none twice for up to 22 names.

    >>> colours(["codel", "pie"])["codel"]
    '#0072B2'
    """
    return {name: SHADES[i % len(SHADES)] for i, name in enumerate(names)}


def figure(
    rows: int = 1, columns: int = 1, *, width: float = 7.2, height: float = 3.4, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of ``rows`` by ``columns`` panels, ``width`` by ``height`` inches in all; panels row by row."""
    with style():
        fig = Figure(figsize=look.now().size(width, height), layout="constrained")
        FigureCanvasAgg(fig)
        grid = fig.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    return fig, [axes for row in grid for axes in row]


def panels(
    count: int,
    columns: int,
    *,
    width: float = 7.2,
    height: float = 0.5,
    row: float = 2.5,
    least: float = 0.0,
    share: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels in at most so many columns. Each row adds ``row`` inches to ``height``, to at least ``least`` in all."""
    columns = look.now().columns(min(columns, count))
    rows = -(-count // columns)
    fig, every = figure(rows, columns, width=width, height=max(least, height + row * rows), share=share)
    for spare in every[count:]:
        spare.set_visible(False)
    return fig, every[:count]


def title(axes: Axes, text: str) -> None:
    """The title of a panel."""
    axes.set_title(text, loc="left", fontsize=points(9.5), fontweight="bold", color=_INK)


def line(axes: Axes, x: ArrayLike, y: ArrayLike, label: str, colour: str) -> None:
    """A line; thin if it has many points."""
    values = np.asarray(y)
    axes.plot(np.asarray(x), values, label=label or None, color=colour, linewidth=0.7 if values.size > 1000 else 1.3)


def band(axes: Axes, x: ArrayLike, runs: Sequence[ArrayLike], label: str, colour: str) -> None:
    """The mean over runs as a line, and lowest to highest as a shaded band. Each run has the shape of ``x``."""
    t, middle, low, high = stats.by_time(np.asarray(x, dtype=np.float64), runs)
    if len(runs) > 1:
        axes.fill_between(t, low, high, color=colour, alpha=0.18, linewidth=0)
    line(axes, t, middle, label, colour)


def cdf(axes: Axes, values: ArrayLike, label: str, colour: str) -> None:
    """The empirical distribution of the values, as a step line from 0 to 1."""
    x, p = stats.cdf(values)
    axes.step(np.concatenate([x[:1], x]), np.concatenate([[0.0], p]), where="post", label=label, color=colour)
    axes.set_ylim(0, 1.01)


def bars(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[stats.Mean | None]],
    references: Mapping[str, Mapping[str, Sequence[float | None]]] | None = None,
    colour: Mapping[str, str] | None = None,
    dots: bool = False,
) -> None:
    """Bars with intervals as whiskers, one group of bars a name in ``groups``.

    With ``dots`` each bar is a dot: for axes that do not begin at 0, where the length of a bar would lie.
    ``series[name][i]`` is the bar of ``name`` in group ``i``. ``references[source][name][i]`` is what another source (a paper) gives for
    it, drawn as a marker on the bar; ``None`` if it gives nothing.
    """
    shades = colour or colours(series)
    step = 0.8 / max(len(series), 1)
    place = np.arange(len(groups), dtype=np.float64)
    markers = ("D", "o", "^")
    for j, (name, values) in enumerate(series.items()):
        x = place + (j - (len(series) - 1) / 2) * step
        heights = [math.nan if v is None else v.mean for v in values]
        if dots:
            axes.plot(x, heights, "s", markersize=5.5, color=shades[name], label=name, linestyle="none")
        else:
            axes.bar(x, heights, width=step * 0.92, color=shades[name], alpha=0.85, label=name, linewidth=0)
        whiskers = [(xi, v) for xi, v in zip(x, values, strict=True) if v is not None and not math.isnan(v.half)]
        if whiskers:
            at, middle, half = (list(one) for one in zip(*((xi, v.mean, v.half) for xi, v in whiskers), strict=True))
            ink, width, cap = (shades[name], 1.2, 3) if dots else (_INK, 0.9, 2)
            axes.errorbar(at, middle, yerr=half, fmt="none", ecolor=ink, elinewidth=width, capsize=cap)
        for marker, (source, given) in zip(markers, (references or {}).items(), strict=False):
            points = [(xi, y) for xi, y in zip(x, given.get(name, ()), strict=False) if y is not None]
            rim: Any = {"markerfacecolor": "none" if dots else "white", "markeredgecolor": _INK, "markeredgewidth": 0.9}
            label = source if j == len(series) - 1 else None
            at, heights = [xi for xi, _ in points], [y for _, y in points]
            axes.plot(at, heights, marker, markersize=4.5, linestyle="none", label=label, **rim)
    names(axes, place, groups)
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")


def names(axes: Axes, places: ArrayLike, texts: Sequence[str]) -> None:
    """The names of places along the x axis; aslant if they would be over each other."""
    axes.set_xticks(np.asarray(places), texts)
    room = axes.figure.get_figwidth() * axes.get_position().width  # type: ignore[union-attr]
    if sum(len(text) + 2 for text in texts) * 0.55 * points(9) / 72 > room:
        for label in axes.get_xticklabels():
            label.set(rotation=30, horizontalalignment="right", rotation_mode="anchor")


def heat(
    axes: Axes, matrix: ArrayLike, rows: Sequence[str], columns: Sequence[str], unit: str, digits: int = 1
) -> None:
    """A heat map with its numbers written in; ``matrix`` has shape (rows, columns). ``unit`` labels the scale."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (len(rows), len(columns)):
        raise ValueError(f"heat: matrix must be {len(rows)} by {len(columns)}, got {values.shape}")
    image = axes.imshow(values, cmap="cividis", aspect="auto")
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    names(axes, range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (i, j), value in np.ndenumerate(values):
        ink = "white" if value < middle else "black"
        axes.text(j, i, "–" if math.isnan(value) else f"{value:.{digits}f}", ha="center", va="center", color=ink)
    figure = axes.get_figure()
    if isinstance(figure, Figure):
        bar = figure.colorbar(image, ax=axes, pad=0.02)
        bar.set_label(unit)
        bar.outline.set_visible(False)


def legend(fig: Figure, axes: Axes | Sequence[Axes], columns: int = 8) -> None:
    """One legend for the whole figure, above its panels, from the labels of one of them, or of several: each once."""
    with style():
        some = [axes] if isinstance(axes, Axes) else axes
        named = {
            label: handle
            for one in reversed(some)
            for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
        }
        labels = list(dict.fromkeys(label for one in some for label in one.get_legend_handles_labels()[1]))
        columns = fitting(fig, labels, columns)
        fig.legend([named[one] for one in labels], labels, loc="outside upper center", ncols=columns)


def fitting(fig: Figure, labels: Sequence[str], most: int) -> int:
    """How many entries of a legend are side by side: each takes the room of the longest, and of about seven letters of sign and space."""
    wide = (max(map(len, labels), default=0) + 7) * 0.55 * points(8.5) / 72
    return max(1, min(most, len(labels), int(fig.get_figwidth() / wide)))


def save(fig: Figure, stem: str | Path, *, svg: bool = False, pdf: bool = True, png: bool = True) -> list[Path]:
    """Writes ``stem.png`` (150 dpi) and ``stem.pdf``, with ``svg`` an SVG, too, or the formats that were asked for; returns the paths.

    The bytes are the same each time.
    Beside them goes ``stem.json``, the figure's data for pages, if :func:`haltere.report.charts.spec` can read it.
    """
    base = Path(stem)
    base.parent.mkdir(parents=True, exist_ok=True)
    about: dict[str, dict[str, Any]] = {
        "png": {"dpi": 150, "metadata": {"Software": None}},
        "pdf": {"metadata": {"CreationDate": None, "Producer": None, "Creator": None}},
        "svg": {"metadata": {"Date": None, "Creator": None}},
    }
    asked = look.now().formats
    usual = [name for name, one in (("png", png), ("pdf", pdf), ("svg", svg)) if one]
    wanted = usual if asked is None else [name for name in look.FORMATS if name in asked]
    paths = [base.with_name(f"{base.name}.{name}") for name in wanted]
    shown, data = charts.spec(fig), base.with_name(base.name + ".json")
    look.finish(fig)
    with style(), matplotlib.rc_context({"svg.hashsalt": base.name, "svg.fonttype": "none", "pgf.rcfonts": False}):
        for name, path in zip(wanted, paths, strict=True):
            if name == "pgf":
                look.pgf(fig, path)
            else:
                fig.savefig(path, **about[name])
    if shown is None:
        data.unlink(missing_ok=True)  # of an earlier figure of that name
    else:
        write_atomically(data, json.dumps(shown, separators=(",", ":"), ensure_ascii=False) + "\n")
    return paths


def saved(fig: Figure, stem: Path, caption: str, legend_of: Axes | None = None, columns: int = 8) -> blocks.Figure:
    """Saves a figure, with a legend from the labels of a panel if one is named, and returns it as a block of a document."""
    if legend_of is not None:
        legend(fig, legend_of, columns)
    save(fig, stem)
    return blocks.Figure(stem.with_suffix(".png"), caption)


def log_ticks(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic x-axis with ticks at these values alone."""
    axes.set_xscale("log")
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()


def log_axis(axis: Any) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5 times a power of ten."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(plain_number((1, 2, 5)))
    axis.set_minor_formatter(NullFormatter())


def plain_number(multiples: Sequence[int] = (1,)) -> FuncFormatter:
    """Labels for a logarithmic axis: plain numbers, and only at these multiples of a power of ten."""

    def text(value: float, _: int) -> str:
        leading = value / 10 ** math.floor(math.log10(value)) if value > 0 else 0
        return f"{value:g}" if any(abs(leading - multiple) < 1e-6 for multiple in multiples) else ""

    return FuncFormatter(text)
