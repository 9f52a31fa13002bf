"""One run over time on one page: throughput, window, round-trip time, queue, drops and marks, all over the same seconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ..analysis import measures
from ..errors import InputError, nearest
from ..runs.records import Done
from ..runs.results import Results
from . import inner, plot
from .charts import thin

Array = NDArray[np.float64]
# What is drawn: a name, and the places of its flows.
Lines = Sequence[tuple[str, list[int]]]
# Flows beyond which those of a class are drawn as one.
MOST_LINES = 14
# Points of a panel, beyond which neighbours are taken together: a page has no more dots.
MOST_POINTS = 600


def pick(results: Results, point: int | None, seed: int | None) -> Done:
    """The run of that point of the sweep and that seed; the first if none is given."""
    if not results.runs:
        raise InputError(f"{results.directory}: runs must be at least 1, got none")
    points, seeds = sorted({run.point for run in results.runs}), sorted({run.seed for run in results.runs})
    wanted = points[0] if point is None else point
    if wanted not in points:
        raise InputError(f"--point must be one of {_span(points)}, got {wanted}")
    own = sorted((run for run in results.runs if run.point == wanted), key=lambda run: run.seed)
    for run in own:
        if seed is None or run.seed == seed:
            return run
    raise InputError(f"--seed must be one of {_span(seeds)}, got {seed}")


def _span(values: Sequence[int]) -> str:
    whole = values == list(range(values[0], values[-1] + 1)) if len(values) > 2 else False
    return f"{values[0]} to {values[-1]}" if whole else ", ".join(map(str, values))


class Flows:
    """The series of the flows of a run, as arrays of shape (times, flows)."""

    def __init__(self, run: measures.Run) -> None:
        table = run.table("flow_series")
        if len(table) == 0:
            raise InputError('timeline: flows must be sampled; write `[measure] flows = "100ms"` in the experiment')
        rows = run.data_flows.select(["flow", "group", "congestion"]).to_pylist()
        self.names = [str(row["flow"]) for row in rows]
        self.labels = _labels(rows)
        self.classes = [_class(row) for row in rows]
        at = table["at_ns"].to_numpy()
        self.times_ns, place = np.unique(at, return_inverse=True)
        self.at_s: Array = self.times_ns * 1e-9
        flow = table["flow"].cast(pa.string()).to_pylist()
        column = {name: i for i, name in enumerate(self.names)}
        self._rows = np.array([column.get(name, -1) for name in flow])
        self._place, self._table = place, table

    def column(self, name: str, scale: float) -> Array:
        """A column of the table; NaN if a flow has no sample."""
        return self._spread(self._table[name].to_numpy() * scale)

    def rates(self) -> Array:
        """Mbit/s of each flow from one time to the next, counted when bytes reach the receiver: shape (times - 1, flows)."""
        got = np.nan_to_num(self._spread(measures.arrived_bytes(self._table)[0] * 8e-6))
        return np.maximum(np.diff(got, axis=0) / np.diff(self.at_s)[:, None], 0.0)

    def _spread(self, values: Array) -> Array:
        out = np.full((len(self.times_ns), len(self.names)), np.nan)
        kept = self._rows >= 0
        out[self._place[kept], self._rows[kept]] = values[kept]
        return out

    def lines(self) -> Lines:
        """What is drawn: each flow by itself, or of many each class as one, by name and places."""
        if len(self.names) <= MOST_LINES:
            return [(label, [i]) for i, label in enumerate(self.labels)]
        classes: dict[str, list[int]] = {}
        for i, name in enumerate(self.classes):
            classes.setdefault(name, []).append(i)
        return [(f"{name}, {len(own)} flows" if len(own) > 1 else name, own) for name, own in classes.items()]


def _class(row: dict[str, Any]) -> str:
    return f"{row['group']} {row['congestion']}" if row["congestion"] else str(row["group"])


def _labels(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the legend calls the flows: their traffic entry, their ends if the entry has several, and their control."""
    groups = [str(row["group"]) for row in rows]
    out = []
    for row, group in zip(rows, groups, strict=True):
        ends = str(row["flow"]).split(":", 1)[-1] if groups.count(group) > 1 else ""
        out.append(" ".join(part for part in (group, ends, str(row["congestion"] or "")) if part))
    return out if len(set(out)) == len(out) else [str(row["flow"]) for row in rows]


def _shades(names: Sequence[str]) -> list[str]:
    """A colour a line; black is the link's."""
    own = [one for one in plot.SHADES if one != "#000000"]
    return [own[i % len(own)] for i in range(len(names))]


def spread_of(values: Array) -> tuple[Array, Array, Array]:
    """The median of each row, and its 10th and 90th percentile; NaN if no value is known."""
    import warnings

    with warnings.catch_warnings():  # a row of NaN only says so by NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        low, middle, high = np.nanpercentile(values, [10, 50, 90], axis=1)
    return middle, low, high


def main_link(runs: measures.Run | Sequence[measures.Run], link: str | None = None) -> str | None:
    """The link of that name that all these runs watched; if none is named, of the busiest the one that carried most."""
    some = [runs] if isinstance(runs, measures.Run) else runs
    links = [one for one in some[0].watched() if all(one in run.watched() for run in some)]
    if link is not None:
        if link not in links:
            known = ", ".join(links) or "no watched link"
            raise InputError(f"--link must be one of {known}, got `{link}`{nearest(link, links)}")
        return link
    used = {one: float(np.nansum([run.utilisation(one) for run in some])) for one in links}
    busy = [one for one in links if used[one] >= 0.8 * max(used.values())]
    return (
        max(busy, key=lambda one: sum(int(run.link(one)["sent_bytes_after_warmup"]) for run in some)) if busy else None
    )


def draw(
    results: Results,
    point: int | None = None,
    seed: int | None = None,
    link: str | None = None,
    stem: Path | None = None,
) -> tuple[str, list[Path]]:
    """Draws ``figures/timeline-POINT-SEED``, or at ``stem``, and returns its caption and files. ``link``: whose queue; default: the one
    used most."""
    done = pick(results, point, seed)
    run = measures.Run(results, done)
    flows, chosen = Flows(run), main_link(run, link)
    lines = flows.lines()
    shades = _shades([name for name, _ in lines])
    of_queue, of_flows = inner.of_queue(run, chosen) if chosen else [], inner.of_flows(run, flows.names)
    usual, more = 5 if chosen else 3, len(of_queue) + len(of_flows)
    fig, panels = plot.figure(usual + more, 1, width=7.6, height=(9.6 if chosen else 6.0) + 1.5 * more)
    for axes in panels[1:]:
        axes.sharex(panels[0])
    _throughput(panels[0], run, flows, lines, shades, chosen)
    _lines(panels[1], flows.at_s, flows.column("cwnd_bytes", 1e-3), lines, shades, "window (kB)")
    _lines(panels[2], flows.at_s, flows.column("srtt_ns", 1e-6), lines, shades, "round-trip\ntime (ms)")
    _pings(panels[2], run)
    if chosen:
        _queue(panels[3], panels[4], run, chosen)
    _inner(panels[usual:], of_queue, of_flows, lines, shades, chosen)
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel("time (s)")
    panels[0].set_xlim(0, run.experiment.duration_s)
    warmup = run.warmup_s
    for axes in panels:
        for start, end in ((0.0, warmup), (run.until_s, run.experiment.duration_s)):
            if end > start:
                axes.axvspan(start, end, color="#000000", alpha=0.05, linewidth=0)
    fig.align_ylabels(panels)
    _legend(fig, [name for name, _ in lines], shades)
    suffix = "" if link is None else "-" + "".join(c if c.isalnum() else "-" for c in link)
    paths = plot.save(fig, stem or results.directory / "figures" / f"timeline-{done.point}-{done.seed}{suffix}")
    return _caption(results, done, chosen, warmup > 0, any(len(own) > 1 for _, own in lines)), paths


def _caption(results: Results, done: Done, link: str | None, has_warmup: bool, has_bands: bool) -> str:
    parts = [f"One run over time: {results.points[done.point].name}, seed {done.seed}"]
    if link:
        parts.append(f"throughput (black), capacity (grey area), queue, drops and marks of {link}")
    parts.append("flows of every direction, not stacked; smoothed RTT of TCP as lines, pings as dots")
    if has_bands:
        parts.append(
            "of many flows the sum of their throughput, else the median, with a band from the 10th to the 90th percentile"
        )
    return "; ".join([*parts, *(["grey at the left: warm-up"] if has_warmup else [])]) + "."


def _throughput(
    axes: Axes, run: measures.Run, flows: Flows, lines: Lines, shades: Sequence[str], link: str | None
) -> None:
    carried = run.throughput(link) if link else None
    if carried is not None:
        edges, rate, could = carried
        if could is not None:
            axes.fill_between(np.repeat(edges, 2)[1:-1], np.repeat(could, 2), color="#000000", alpha=0.09, linewidth=0)
        axes.plot(np.repeat(edges, 2)[1:-1], np.repeat(rate, 2), color="#000000", linewidth=0.9)
    rates = flows.rates()
    for (_, own), colour in zip(lines, shades, strict=True):
        axes.plot(flows.at_s[1:], rates[:, own].sum(axis=1), color=colour, linewidth=0.9)
    axes.set_ylabel("throughput\n(Mbit/s)")
    axes.set_ylim(bottom=0)
    if link:
        plot.title(axes, f"throughput: flows, and all of {link} in black")


def _draw_lines(axes: Axes, at: Array, values: Array, lines: Lines, shades: Sequence[str]) -> None:
    for (_, own), colour in zip(lines, shades, strict=True):
        if len(own) == 1:
            axes.plot(at, values[:, own[0]], color=colour, linewidth=0.9)
            continue
        middle, low, high = spread_of(values[:, own])
        axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(at, middle, color=colour, linewidth=1.1)


def _lines(axes: Axes, at: Array, values: Array, lines: Lines, shades: Sequence[str], label: str) -> None:
    values = np.where(values > 0, values, np.nan)
    _draw_lines(axes, at, values, lines, shades)
    seen = values[np.isfinite(values)]
    # A few flows far above the others would press these to the axis.
    if seen.size and np.percentile(seen, 99) > 20 * max(float(np.median(seen)), 1e-9):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plot.plain_number())
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(label if "\n" in label else label.replace(" (", "\n("))


def _inner(
    panels: Sequence[Axes],
    of_queue: Sequence[inner.Inner],
    of_flows: Sequence[inner.Inner],
    lines: Lines,
    shades: Sequence[str],
    link: str | None,
) -> None:
    """Inner variables, a panel each: those of the queue, then those of the senders."""
    for axes, one in zip(panels, [*of_queue, *of_flows], strict=True):
        values, is_queue = one.values * inner.scale(one)[0], any(one is other for other in of_queue)
        if is_queue:
            axes.plot(one.at_s, values[:, 0], color=plot.PALETTE[0], linewidth=0.7)
        else:
            _draw_lines(axes, one.at_s, values, lines, shades)
        for line in axes.lines if one.states else []:
            line.set_drawstyle("steps-post")
        inner.label(axes, one)
        if any(one is first for first in (*of_queue[:1], *of_flows[:1])):
            plot.title(
                axes, f"inner variables of the queue of {link}" if is_queue else "inner variables of the senders"
            )


def _pings(axes: Axes, run: measures.Run) -> None:
    at, rtt = run.ping_series()
    if len(at):
        step = -(-len(at) // MOST_POINTS)
        axes.plot(at[::step], rtt[::step], ".", markersize=2.2, color="#777777", label="pings", zorder=1.5)
        axes.legend(loc="upper right", frameon=False, fontsize=plot.points(8), handletextpad=0.1)


def _queue(axes: Axes, events: Axes, run: measures.Run, link: str) -> None:
    series = run.queue(link)
    at, packets = thin(series.at_s, series.packets, most=2 * MOST_POINTS)
    axes.fill_between(at, packets, color=plot.PALETTE[0], alpha=0.25, linewidth=0)
    axes.plot(at, packets, color=plot.PALETTE[0], linewidth=0.7)
    plot.title(axes, f"queue of {link}")
    axes.set_ylabel("queue\n(packets)")
    axes.set_ylim(bottom=0)
    table = run.table("queue_series")
    table = table.filter(pc.equal(table["link"].cast(pa.string()), link))
    drawn = False
    for name, colour in (("dropped", plot.PALETTE[1]), ("marked", plot.PALETTE[2])):
        total = table[name].to_numpy().astype(np.float64)
        if total.size < 2 or total[-1] == 0:
            continue
        edges = np.linspace(series.at_s[0], series.at_s[-1], min(MOST_POINTS, total.size) // 2 + 1)
        per_s = np.diff(np.interp(edges, series.at_s, total)) / np.diff(edges)
        events.stairs(np.where(per_s > 0, per_s, np.nan), edges, color=colour, label=name, linewidth=1.0)
        drawn = True
    events.set_ylabel("drops, marks\n(packets/s)")
    if drawn:
        events.set_yscale("log")
        events.yaxis.set_major_formatter(plot.plain_number())
        events.legend(loc="upper right", frameon=False, ncols=2, fontsize=plot.points(8))
        low, high = events.get_ylim()
        events.set_ylim(low, high * 4)  # room for the legend
    else:
        events.set_yticks([])
        events.text(0.5, 0.5, "nothing was dropped or marked", transform=events.transAxes, ha="center", va="center", color="#777777")  # fmt: skip


def _legend(fig: Any, labels: Sequence[str], shades: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    shown = list(zip(labels, shades, strict=True))
    handles = [Patch(color=colour, label=label) for label, colour in shown]
    fig.legend(
        handles=handles,
        loc="outside upper center",
        ncols=plot.fitting(fig, labels, 4),
        frameon=False,
        fontsize=plot.points(8.5),
    )
