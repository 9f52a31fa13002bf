"""The figures of any experiment: goodput, rates over time, queues, round-trip times, and a map of two swept axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis import metrics
from ..analysis.measures import Run, by_point
from ..analysis.stats import Mean
from ..runs.records import Point, short_keys, swept
from ..runs.results import Results
from . import plot, words
from .timeline import main_link

__all__ = ["draw"]

# Panels of one figure, lines of one panel and bars beyond which a figure cannot be read.
MOST_PANELS, MOST_LINES, MOST_BARS = 6, 8, 12


def draw(results: Results, *, svg: bool = False, pdf: bool = True) -> list[tuple[str, list[Path]]]:
    """Draws every figure that the results allow into ``figures/``: caption and the files of each.

    A sweep of more points than a figure can hold is drawn over its axes. Without ``pdf``, which is for the report, such figures are data only.
    """
    points = by_point(results)
    if not points:
        return []
    folder = results.directory / "figures"
    save = partial(plot.save, svg=svg, pdf=pdf)
    if len(points) > MOST_BARS and len(results.points[0].labels) > 0:
        return _over_axes(results, points, folder, svg=svg, prints=pdf)
    makers: list[tuple[str, Callable[[list[tuple[Point, list[Run]]], Path, Save], str]]] = [
        ("goodput", _goodput_figure),
        ("rates", _rates_figure),
        ("fct", _completion_figure),
        ("queue", _queue_figure),
        ("rtt-cdf", _rtt_figure),
        ("heat", _heat_figure),
    ]
    out = []
    for name, make in makers:
        paths: list[Path] = []
        caption = make(points, folder / name, partial(_saved, save, paths))
        if caption:
            out.append((caption, paths))
    return out


def _saved(save: Callable[[Any, Path], list[Path]], into: list[Path], fig: Any, stem: Path) -> None:
    into += save(fig, stem)


def _over_axes(
    results: Results, points: list[tuple[Point, list[Run]]], folder: Path, *, svg: bool, prints: bool
) -> list[tuple[str, list[Path]]]:
    """The metrics over the axes of the sweep. Without ``prints`` only their data is written, from which the page draws."""
    from . import over

    data = over.Data([results])
    axes = data.varying()
    first = points[0][1][0]
    lines = sorted(axes[:2], key=lambda key: -len(data.values(key)))
    facet = axes[2] if len(axes) > 2 and len(data.values(axes[2])) <= over.MOST_PANELS else None
    many = len(lines) > 1 and len(data.values(lines[1])) > over.MOST_LINES
    out = []
    known = metrics.known(first.scenario)
    for name in [name for name, one in known.items() if one.over]:
        if math.isnan(known[name].value(first, None)):
            continue
        ask = over.Ask(
            name, x=lines[0], by=lines[1] if len(lines) > 1 else None, facet=facet, kind="heat" if many else "line"
        )
        stem = folder / f"{name}-over"
        caption, paths = over.draw(data, ask, stem, svg=svg, pdf=prints, png=prints)
        out.append((caption, paths or [stem.with_suffix(".png")]))
    return out


Save = Callable[[Any, Path], None]


def _panels(count: int, height: float = 2.0) -> tuple[Any, list[Any]]:
    columns = 1 if count < 4 else 2
    rows = math.ceil(count / columns)
    fig, panels = plot.figure(rows, columns, height=max(2.8, height * rows + 0.5), share=True)
    for spare in panels[count:]:
        spare.set_visible(False)
    for axes in panels[max(0, count - columns) : count]:
        axes.set_xlabel("time (s)")
        axes.tick_params(labelbottom=True)
    return fig, panels[:count]


def _more(points: Sequence[Any], most: int) -> str:
    return f" The first {most} of {len(points)} points." if len(points) > most else ""


def _goodput_figure(points: list[tuple[Point, list[Run]]], stem: Path, save: Save) -> str:
    shown = points[:MOST_BARS]
    classes = list(dict.fromkeys(name for _, runs in shown for name in runs[0].classes()))
    if len(shown) * len(classes) < 2:
        return ""
    series = {}
    for name in classes:
        per_flow: list[Mean | None] = [metrics.mean_of(runs, "goodput_flow", name) for _, runs in shown]
        if any(value is not None for value in per_flow):
            series[name] = per_flow
    if not series:
        return ""
    fig, (axes,) = plot.figure(height=3.2 if len(shown) > 3 else 2.8)
    every = [point for point, _ in points]
    plot.bars(axes, [words.short(point, every) if len(points) > 1 else "" for point, _ in shown], series)
    if len(shown) > 3:
        axes.tick_params(axis="x", labelrotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
    axes.set_ylabel(metrics.METRICS["goodput_flow"].heading)
    plot.legend(fig, axes)
    save(fig, stem)
    return "Mean goodput of a flow, with 95 % intervals over the seeds." + _more(points, MOST_BARS)


def _rates_figure(points: list[tuple[Point, list[Run]]], stem: Path, save: Save) -> str:
    shown = [(point, runs) for point, runs in points[:MOST_PANELS] if runs[0].rate_series(None) is not None]
    if not shown:
        return ""
    classes = list(
        dict.fromkeys(
            name for _, runs in shown for name, own in runs[0].classes().items() if not runs[0].come_and_go(own)
        )
    )
    if not classes:
        return ""  # rows of flows that come and go hold no bytes over time
    shades = plot.colours(classes)
    fig, panels = _panels(len(shown))
    every = [point for point, _ in points]
    for axes, (point, runs) in zip(panels, shown, strict=True):
        for name, own in runs[0].classes().items():
            if name not in shades:
                continue
            series = [run.rate_of(own) for run in runs]
            usable = [one for one in series if one is not None]
            if usable:
                plot.band(axes, usable[0][0], [rate for _, rate in usable], name, shades[name])
        if len(points) > 1:
            plot.title(axes, words.short(point, every))
        axes.margins(x=0.01)
        axes.set_ylabel("Mbit/s a flow")
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    plot.legend(fig, panels[0])
    save(fig, stem)
    return (
        "Throughput of a flow over time, counted when bytes reach the receiver: mean over flows and seeds, band from the lowest seed to the highest."
        + _more(points, MOST_PANELS)
    )


def _queue_figure(points: list[tuple[Point, list[Run]]], stem: Path, save: Save) -> str:
    shown = [(p, runs) for p, runs in points[:MOST_PANELS] if runs[0].watched() and len(runs[0].table("queue_series"))]
    # Every panel empty: bursts between two samples, of which a figure of samples knows nothing.
    if not any(runs[0].table("queue_series")["packets"].to_numpy().any() for _, runs in shown):
        return ""
    fig, panels = _panels(len(shown))
    for axes, (point, runs) in zip(panels, shown, strict=True):
        link = main_link(runs[0]) or runs[0].watched()[0]
        series = [run.queue(link) for run in runs]
        length = min(len(one.at_s) for one in series)
        plot.band(
            axes,
            series[0].at_s[:length],
            [(one.packets + one.ring_packets)[:length] for one in series],
            link,
            plot.PALETTE[0],
        )
        plot.title(axes, f"{words.short(point, [p for p, _ in points])}: {link}" if len(points) > 1 else link)
        axes.margins(x=0.01)
        axes.set_ylabel("packets")
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    save(fig, stem)
    return "Packets waiting at the link that was used most: mean over the seeds, band from lowest to highest." + _more(
        points, MOST_PANELS
    )


def _completion_figure(points: list[tuple[Point, list[Run]]], stem: Path, save: Save) -> str:
    """Distributions of flow completion times: a panel an entry, a line a point."""
    entries = list(dict.fromkeys(group for _, runs in points for group in runs[0].completing()))
    every, shown = [point for point, _ in points], points[:MOST_LINES]
    completed = [(name, _completed(shown, name)) for name in entries]
    drawn = [(name, values) for name, values in completed if any(len(one) for _, one in values)]
    if not drawn:
        return ""
    fig, panels = plot.figure(len(drawn), 1, height=max(2.8, 2.4 * len(drawn) + 0.4))
    for axes, (name, values) in zip(panels, drawn, strict=True):
        for (point, took), colour in zip(values, plot.PALETTE, strict=False):
            if len(took):
                plot.cdf(axes, took, words.short(point, every), colour)
        axes.set_xscale("log")
        plot.log_axis(axes.xaxis)
        axes.set_xlabel("flow completion time (ms)")
        axes.set_ylabel("part of the flows")
        plot.title(axes, name if len(drawn) > 1 else "")
    if len(shown) > 1:
        plot.legend(fig, panels[0], 4)
    save(fig, stem)
    return (
        "Distribution of flow completion times over all seeds, of flows that started after the warm-up and ended."
        + _more(points, MOST_LINES)
    )


def _completed(points: list[tuple[Point, list[Run]]], group: str) -> list[tuple[Point, Any]]:
    took = [(point, np.concatenate([run.completion(group, "fct_ns") for run in runs]) * 1e-6) for point, runs in points]
    return [(point, values[~np.isnan(values)]) for point, values in took]


def _rtt_figure(points: list[tuple[Point, list[Run]]], stem: Path, save: Save) -> str:
    shown = [(point, np.concatenate([run.ping_ms() for run in runs])) for point, runs in points]
    shown = [(point, rtt) for point, rtt in shown if len(rtt)]
    if not shown:
        return ""
    fig, (axes,) = plot.figure()
    for (point, rtt), colour in zip(shown[:MOST_LINES], plot.PALETTE, strict=False):
        plot.cdf(axes, rtt, words.short(point, [p for p, _ in points]), colour)
    axes.set_xlabel("ping round-trip time (ms)")
    axes.set_ylabel("part of the pings")
    if len(shown) > 1:
        plot.legend(fig, axes, 3)
    save(fig, stem)
    return "Distribution of ping round-trip times over all seeds." + _more(shown, MOST_LINES)


def _heat_figure(points: list[tuple[Point, list[Run]]], stem: Path, save: Save) -> str:
    keys = list(dict.fromkeys(key for point, _ in points for key in point.labels))
    if len(keys) != 2:
        return ""
    names = [list(dict.fromkeys(swept(point.labels.get(key)) for point, _ in points)) for key in keys]
    if min(map(len, names)) < 2:
        return ""
    one = metrics.METRICS["ping_p95" if all(len(runs[0].ping_ms()) for _, runs in points) else "goodput"]
    matrix = np.full((len(names[0]), len(names[1])), math.nan)
    for point, runs in points:
        value = metrics.mean_of(runs, one)
        if value is not None:
            matrix[
                names[0].index(swept(point.labels.get(keys[0]))), names[1].index(swept(point.labels.get(keys[1])))
            ] = value.mean
    fig, (axes,) = plot.figure(height=1.2 + 0.5 * len(names[0]))
    what = f"{one.row} ({one.unit})"
    plot.heat(axes, matrix, names[0], names[1], one.unit)
    plot.title(axes, what)
    names_of = short_keys(keys)
    axes.set_ylabel(names_of[keys[0]])
    axes.set_xlabel(names_of[keys[1]])
    save(fig, stem)
    return f"{what[0].upper()}{what[1:]} over the sweep, mean over the seeds."
