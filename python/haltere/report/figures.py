"""The figures of any experiment: goodput, rates over time, queues, distributions of delays and of what users saw, a map of two swept axes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis import delays, metrics, workloads
from ..analysis.measures import Array, Run, by_point
from ..analysis.stats import Mean
from ..runs.records import Point
from ..runs.results import Results
from . import look, plot, words
from .timeline import main_link

Points = list[tuple[Point, list[Run]]]
#: What draws a figure: the figure and its caption, or nothing.
Drawn = tuple[Any, str] | None
Maker = Callable[[Points], Drawn]
# Panels of one figure, lines of one panel and bars beyond which a figure cannot be read.
MOST_PANELS, MOST_LINES, MOST_BARS = 6, 8, 12


def draw(
    results: Results, *, svg: bool = False, pdf: bool = True, link: str | None = None
) -> list[tuple[str, list[Path]]]:
    """Draws every figure that the results allow into ``figures/``: caption and the files of each; with ``link`` the queue of that link alone,
    with ``all`` of each watched link.

    A sweep of more points than a figure can hold is drawn over its axes. Without ``pdf``, which is for the report, such figures are data only.
    """
    points = by_point(results)
    if not points:
        return []
    folder = results.directory / "figures"
    if link is None and len(points) > MOST_BARS and len(results.points[0].labels) > 0:
        return _over_axes(results, points, folder, svg=svg, prints=pdf)
    distributions: list[tuple[str, Maker]] = [(one.name, partial(_distribution_figure, one)) for one in _DISTRIBUTIONS]
    makers = [
        ("goodput", _goodput_figure), ("rates", _rates_figure), *distributions[:-1], ("queue", _queue_figure), distributions[-1],
        ("heat", _heat_figure),
    ]  # fmt: skip
    if link is not None:
        links = points[0][1][0].watched() if link == "all" else [link]
        makers = [(f"queue-{re.sub('[^A-Za-z0-9_.-]+', '-', one)}", partial(_queue_figure, link=one)) for one in links]
    made = [(name, drawn) for name, make in makers if (drawn := make(points)) is not None]
    return [(caption, plot.save(fig, folder / name, svg=svg, pdf=pdf)) for name, (fig, caption) in made]


def _over_axes(
    results: Results, points: Points, folder: Path, *, svg: bool, prints: bool
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


def _panels(count: int) -> tuple[Any, list[Any]]:
    columns = look.now().columns(1 if count < 4 else 2)
    fig, panels = plot.panels(count, columns, row=2.0, least=2.8, share=True)
    for axes in panels[-columns:]:
        axes.set_xlabel("time (s)")
        axes.tick_params(labelbottom=True)
    return fig, panels


def _more(points: Sequence[Any], most: int) -> str:
    return f" The first {most} of {len(points)} points." if len(points) > most else ""


def _goodput_figure(points: Points) -> Drawn:
    shown = points[:MOST_BARS]
    classes = list(dict.fromkeys(name for _, runs in shown for name in runs[0].classes()))
    if len(shown) * len(classes) < 2:
        return None
    series = {}
    for name in classes:
        per_flow: list[Mean | None] = [metrics.mean_of(runs, "goodput_flow", name) for _, runs in shown]
        if any(value is not None for value in per_flow):
            series[name] = per_flow
    if not series:
        return None
    fig, (axes,) = plot.figure(height=3.2 if len(shown) > 3 else 2.8)
    every = [point for point, _ in points]
    plot.bars(axes, [words.short(point, every) if len(points) > 1 else "" for point, _ in shown], series)
    axes.set_ylabel(metrics.METRICS["goodput_flow"].heading)
    plot.legend(fig, axes)
    return fig, "Mean goodput of a flow, with 95 % intervals over the seeds." + _more(points, MOST_BARS)


def _rates_figure(points: Points) -> Drawn:
    shown = [(point, runs) for point, runs in points[:MOST_PANELS] if runs[0].rate_series(None) is not None]
    if not shown:
        return None
    classes = list(
        dict.fromkeys(
            name for _, runs in shown for name, own in runs[0].classes().items() if not runs[0].come_and_go(own)
        )
    )
    if not classes:
        return None  # rows of flows that come and go hold no bytes over time
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
    plot.legend(fig, panels)
    return fig, (
        "Throughput of a flow over time, counted when bytes reach the receiver: mean over flows and seeds, band from the lowest seed to the highest."
        + _more(points, MOST_PANELS)
    )


def _queue_figure(points: Points, link: str | None = None) -> Drawn:
    """The queue of one link in every panel: of that link, or of the one that all points used most."""
    shown = [(p, runs) for p, runs in points[:MOST_PANELS] if runs[0].watched() and len(runs[0].table("queue_series"))]
    # Every panel empty: bursts between two samples, of which a figure of samples knows nothing.
    if not any(runs[0].table("queue_series")["packets"].to_numpy().any() for _, runs in shown):
        return None
    one = main_link([runs[0] for _, runs in shown], link)
    fig, panels = _panels(len(shown))
    for axes, (point, runs) in zip(panels, shown, strict=True):
        # Points with other networks may have no link in common.
        own = one or main_link(runs[0]) or runs[0].watched()[0]
        series = [run.queue(own) for run in runs]
        length = min(len(each.at_s) for each in series)
        waiting = [(each.packets + each.ring_packets)[:length] for each in series]
        plot.band(axes, series[0].at_s[:length], waiting, own, plot.PALETTE[0])
        plot.title(axes, f"{words.short(point, [p for p, _ in points])}: {own}" if len(points) > 1 else own)
        axes.margins(x=0.01)
        axes.set_ylabel("packets")
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    which = ("" if link else ", the link that was used most") if one else ", in each panel the link that was used most"
    more = (
        " `haltere plot --link all` draws the others." if one and not link and len(shown[0][1][0].watched()) > 1 else ""
    )
    return fig, (
        f"Packets waiting{f' at {one}' if one else ''}{which}: mean over the seeds, band from lowest to highest.{more}"
        + _more(points, MOST_PANELS)
    )


@dataclass(frozen=True)
class _Distribution:
    """A distribution that a report draws: single values of a part of a run."""

    name: str
    parts: Callable[[Run], Sequence[str]]
    values: Callable[[Run, str], Array]
    label: str
    of: str
    """What the values are parts of: "the part of the pages"."""
    about: str
    log: bool = True


def _completed(run: Run, group: str) -> Array:
    return run.completion(group, "fct_ns") * 1e-6


_DISTRIBUTIONS = (
    _Distribution("fct", Run.completing, _completed, "flow completion time (ms)", "flows",
                  "flow completion times over all seeds, of flows that started after the warm-up and ended"),
    _Distribution("page-load", lambda run: workloads.entries(run, "web"), workloads.load_s, "page load time (s)", "pages",
                  "page load times over all seeds, of pages that were requested after the warm-up and loaded"),
    _Distribution("video-bitrate", lambda run: workloads.entries(run, "video"), workloads.bitrates_mbit, "bitrate of a segment (Mbit/s)",
                  "segments", "the bitrates of the segments of video over all seeds", log=False),
    _Distribution("mos", lambda run: workloads.entries(run, "voip"), workloads.scores, "mean opinion score of a call", "calls",
                  "the mean opinion scores of the calls over all seeds (1: bad, 4.5: the best)", log=False),
    _Distribution("sojourn", lambda run: [one for one in run.watched() if run.utilisation(one) >= 0.05], delays.sojourn_ms, "sojourn time (ms)", "packets",
                  "sojourn times in the watched queues after the warm-up, each seed with the same weight"),
    _Distribution("rtt-cdf", lambda run: [""], lambda run, _: run.ping_ms(), "ping round-trip time (ms)", "pings",
                  "ping round-trip times over all seeds", log=False),
)  # fmt: skip


def _distribution_figure(what: _Distribution, points: Points) -> Drawn:
    """A panel a part, a line a point."""
    every, shown = [point for point, _ in points], points[:MOST_LINES]
    drawn = []
    for part in dict.fromkeys(part for _, runs in shown for part in what.parts(runs[0])):
        own = [(point, np.concatenate([what.values(run, part) for run in runs])) for point, runs in shown]
        known = [(point, values[~np.isnan(values)]) for point, values in own]
        if any(len(values) for _, values in known):
            drawn.append((part, known))
    drawn = drawn[:MOST_PANELS]
    if not drawn:
        return None
    fig, panels = plot.figure(len(drawn), 1, height=max(2.8, 2.4 * len(drawn) + 0.4))
    for axes, (part, known) in zip(panels, drawn, strict=True):
        for (point, values), colour in zip(known, plot.PALETTE, strict=False):
            if len(values):
                plot.cdf(axes, values, words.short(point, every), colour)
        if what.log:
            axes.set_xscale("log")
            plot.log_axis(axes.xaxis)
        axes.set_xlabel(what.label)
        axes.set_ylabel(f"part of the {what.of}")
        plot.title(axes, part if len(drawn) > 1 or what.name == "sojourn" else "")
    if len(shown) > 1:
        plot.legend(fig, panels, 4)
    return fig, f"Distribution of {what.about}." + _more(points, MOST_LINES)


def _heat_figure(points: Points) -> Drawn:
    """A map of the two axes of a sweep: of pings, if every point has some."""
    from . import over

    data = over.Data.of([(point, runs) for point, runs in points])
    if len(data.axes) != 2 or len(data.varying()) != 2:
        return None
    one = metrics.METRICS["ping_p95" if all(len(runs[0].ping_ms()) for _, runs in points) else "goodput"]
    return over.drawn(data, over.Ask(one.name, x=data.axes[1], by=data.axes[0], kind="heat"))
