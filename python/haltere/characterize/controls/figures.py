"""The figures of a report card."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes

from ...analysis import stats
from ...analysis.measures import Run
from ...report import plot
from ...report.document import Figure
from .card import Values, called
from .cases import BESIDE, BUFFERS, EVENT_S, EVENTS, LOSSES, RATES_MBIT, RTTS_MS, Case, number
from .measures import MEASURES

#: The goodput of the control's flows over time, by scenario and control: the times (s), and one array of Mbit/s a seed.
Series = dict[tuple[str, str], tuple[np.ndarray, list[np.ndarray]]]


def series_of(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """What the flows under test delivered together, step by step: times (s) and Mbit/s."""
    table = run.table("flow_series")
    names = table["flow"].cast(pa.string()).to_numpy(zero_copy_only=False)
    at, got = table["at_ns"].to_numpy() * 1e-9, table["received_bytes"].to_numpy().astype(np.float64)
    times = np.unique(at)
    total = np.zeros(len(times))
    for name in {name for name in names if str(name).startswith("own")}:
        chosen = names == name
        total += np.interp(times, at[chosen], got[chosen], left=0.0)
    return times[1:], np.diff(total) * 8e-6 / np.diff(times)


def draw(known: Mapping[str, Case], names: Sequence[str], values: Values, series: Series, folder: Path) -> list[Figure]:
    """Every figure of which the scenarios have run."""
    drawn = [
        _buffers(known, names, values, folder),
        _beside(known, names, values, folder),
        _losses(known, names, values, folder),
        _paths(known, names, values, folder),
        _events(known, names, series, folder),
    ]
    return [one for one in drawn if one is not None]


def _lines(
    axes: Axes, x: Sequence[float], keys: Sequence[str], names: Sequence[str], values: Values, measure: str
) -> None:
    """One line a control with intervals over the scenarios."""
    for name, colour in plot.colours(names).items():
        means = [stats.mean([v for v in values[key, name, measure] if not math.isnan(v)]) for key in keys]
        halves = [0.0 if math.isnan(one.half) else one.half for one in means]
        axes.errorbar(
            x,
            [one.mean for one in means],
            yerr=halves,
            color=colour,
            label=called(name),
            capsize=2,
            marker="o",
            markersize=3.5,
        )
    what = MEASURES[measure]
    axes.set_ylabel(f"{what.unit}")
    axes.set_ylim(bottom=0)
    plot.title(axes, what.title)


def _buffers(known: Mapping[str, Case], names: Sequence[str], values: Values, folder: Path) -> Figure | None:
    x = [buffer for buffer in BUFFERS if f"buffer-{number(buffer)}" in known]
    if len(x) < 2:
        return None
    keys = [f"buffer-{number(buffer)}" for buffer in x]
    fig, panels = plot.figure(1, 2, width=7.6, height=3.1)
    for axes, measure in zip(panels, ("delay", "lost"), strict=True):
        _lines(axes, x, keys, names, values, measure)
        plot.log_ticks(axes, x)
        axes.set_xlabel("buffer (BDP)")
    caption = "Queueing delay and loss of four flows over the buffer (sections 5.1.2 and 5.1.3), with 95 % intervals. Less is better."
    return plot.saved(fig, folder / "buffers", caption, panels[0])


def _beside(known: Mapping[str, Case], names: Sequence[str], values: Values, folder: Path) -> Figure | None:
    shown = [
        control for control in ("cubic", "reno") if sum(f"beside-{control}-{number(b)}" in known for b in BESIDE) > 1
    ]
    if not shown:
        return None
    fig, panels = plot.figure(1, len(shown), width=7.6, height=3.1, share=True)
    for axes, control in zip(panels, shown, strict=True):
        _lines(axes, BESIDE, [f"beside-{control}-{number(b)}" for b in BESIDE], names, values, "others")
        plot.title(axes, f"4 flows of {called(control)} beside 4 of each")
        axes.axhline(100, color="#888888", linewidth=0.8, linestyle="--")
        plot.log_ticks(axes, BESIDE)
        axes.set_xlabel("buffer (BDP)")
        axes.set_ylabel("of an equal share (%)" if axes is panels[0] else "")
    caption = "What flows of the standards get beside as many of the control (section 5.2.1). Dashed: an equal share. More is less harm."
    return plot.saved(fig, folder / "beside", caption, panels[0])


def _losses(known: Mapping[str, Case], names: Sequence[str], values: Values, folder: Path) -> Figure | None:
    x = [loss for loss in LOSSES if f"loss-{number(loss)}" in known]
    if len(x) < 2:
        return None
    fig, (axes,) = plot.figure(height=3.0)
    _lines(axes, range(len(x)), [f"loss-{number(loss)}" for loss in x], names, values, "goodput")
    axes.set_xticks(range(len(x)), [f"{loss:g}" for loss in x])
    axes.set_xlabel("random loss (%)")
    caption = "Goodput of one flow over random loss of a line of 20 Mbit/s (section 6.4)."
    return plot.saved(fig, folder / "losses", caption, axes)


def _paths(known: Mapping[str, Case], names: Sequence[str], values: Values, folder: Path) -> Figure | None:
    if any(f"path-{rate:g}-{rtt:g}" not in known for rate in RATES_MBIT for rtt in RTTS_MS):
        return None
    fig, panels = plot.figure(1, len(RATES_MBIT), width=7.6, height=3.0)
    for axes, rate in zip(panels, RATES_MBIT, strict=True):
        _lines(axes, RTTS_MS, [f"path-{rate:g}-{rtt:g}" for rtt in RTTS_MS], names, values, "goodput")
        plot.log_ticks(axes, RTTS_MS)
        axes.set_ylim(0, rate)
        axes.set_ylabel("goodput (Mbit/s)" if axes is panels[0] else "")
        axes.set_xlabel("round-trip time (ms)")
        plot.title(axes, f"{rate:g} Mbit/s")
    caption = "Goodput of two flows over rates and round-trip times, drop tail of one BDP (section 6.1). The top of each panel is the link's rate."
    return plot.saved(fig, folder / "paths", caption, panels[0])


def _events(known: Mapping[str, Case], names: Sequence[str], series: Series, folder: Path) -> Figure | None:
    shown = [key for key in EVENTS if key in known]
    if not shown:
        return None
    fig, panels = plot.panels(len(shown), 2, width=7.6, height=0.4, row=2.3)
    for axes, key in zip(panels, shown, strict=True):
        for name, colour in plot.colours(names).items():
            at, runs = series[key, name]
            near = at >= EVENT_S - 5
            plot.line(axes, at[near] - EVENT_S, np.mean([run[near] for run in runs], axis=0), called(name), colour)
        axes.axvline(0, color="#888888", linewidth=0.8, linestyle="--")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("goodput (Mbit/s)")
        axes.set_xlabel("time after the change (s)")
        plot.title(axes, _EVENT_TITLES[key])
    caption = "Goodput of two flows around a change of the path (sections 7.8 and 7.9), mean of the seeds."
    return plot.saved(fig, folder / "events", caption, panels[0])


_EVENT_TITLES = {
    "rate-up": "4 Mbit/s rise to 40",
    "rate-down": "20 Mbit/s fall to 2",
    "delay-step": "40 ms rise to 120",
    "outage": "an outage of 2 s",
    "onset": "UDP of 15 Mbit/s comes",
}
