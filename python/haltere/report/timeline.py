"""One run over time on one page: throughput by flow, window, round-trip time, queue, drops and marks, all over the same seconds."""

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
from ..errors import InputError
from ..runs.records import Done
from ..runs.results import Results
from . import plot

__all__ = ["draw", "pick"]

Array = NDArray[np.float64]
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
        rows = run.data_flows.select(["flow", "congestion"]).to_pylist()
        self.names = [str(row["flow"]) for row in rows]
        self.labels = _labels(rows)
        at = table["at_ns"].to_numpy()
        self.times_ns, place = np.unique(at, return_inverse=True)
        self.at_s: Array = self.times_ns * 1e-9
        flow = table["flow"].cast(pa.string()).to_pylist()
        column = {name: i for i, name in enumerate(self.names)}
        self._rows = np.array([column.get(name, -1) for name in flow])
        self._place, self._table = place, table

    def column(self, name: str, scale: float) -> Array:
        """A column of the table; NaN if a flow has no sample."""
        out = np.full((len(self.times_ns), len(self.names)), np.nan)
        kept = self._rows >= 0
        out[self._place[kept], self._rows[kept]] = self._table[name].to_numpy()[kept] * scale
        return out


def _labels(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the legend calls the flows: their ends and their control."""
    short = [str(row["flow"]).split(":", 1)[-1] for row in rows]
    if len(set(short)) < len(short):
        short = [str(row["flow"]) for row in rows]
    return [f"{name} {row['congestion']}" if row["congestion"] else name for name, row in zip(short, rows, strict=True)]


def _shades(rows: Sequence[str]) -> list[str]:
    """A colour a flow; of more flows than colours those of one control share one."""
    if len(rows) <= len(plot.PALETTE):
        return list(plot.PALETTE[: len(rows)])
    kinds = [label.rsplit(" ", 1)[-1] for label in rows]
    by_kind = plot.colours(dict.fromkeys(kinds))
    return [by_kind[kind] for kind in kinds]


def draw(results: Results, point: int | None = None, seed: int | None = None) -> tuple[str, list[Path]]:
    """Draws ``figures/timeline-POINT-SEED`` and returns its caption and files (PNG, PDF)."""
    done = pick(results, point, seed)
    run = measures.Run(results, done)
    flows, links = Flows(run), run.watched()
    busiest = max(links, key=run.sent) if links else None
    fig, panels = plot.figure(5 if busiest else 3, 1, width=7.6, height=9.6 if busiest else 6.0)
    for axes in panels[1:]:
        axes.sharex(panels[0])
    shades = _shades(flows.labels)
    _stack(panels[0], flows, shades)
    _lines(panels[1], flows, flows.column("cwnd_bytes", 1e-3), shades, "window (kB)")
    _lines(panels[2], flows, flows.column("srtt_ns", 1e-6), shades, "smoothed RTT (ms)")
    if busiest:
        _queue(panels[3], panels[4], run, busiest)
    for axes in panels[:-1]:
        axes.tick_params(labelbottom=False)
    panels[-1].set_xlabel("time (s)")
    panels[0].set_xlim(0, measures.seconds(run.scenario))
    warmup = run.warmup_s
    for axes in panels if warmup > 0 else []:
        axes.axvspan(0, warmup, color="#000000", alpha=0.05, linewidth=0)
    fig.align_ylabels(panels)
    _legend(fig, flows.labels, shades)
    stem = results.directory / "figures" / f"timeline-{done.point}-{done.seed}"
    paths = plot.save(fig, stem)
    name = results.points[done.point].name
    where = f" at {busiest}" if busiest else ""
    grey = "; grey: warm-up" if warmup > 0 else ""
    return f"One run over time: {name}, seed {done.seed}; queue, drops and marks{where}{grey}.", paths


def _stack(axes: Axes, flows: Flows, shades: Sequence[str]) -> None:
    got = np.nan_to_num(flows.column("received_bytes", 8e-6))
    rate = np.diff(got, axis=0) / np.diff(flows.at_s)[:, None]
    at, rate = _thin(flows.at_s[1:], rate)
    axes.stackplot(at, np.maximum(rate.T, 0), colors=shades, alpha=0.85, linewidth=0.25, edgecolor="white")
    axes.set_ylabel("throughput\n(Mbit/s)")
    axes.set_ylim(bottom=0)


def _lines(axes: Axes, flows: Flows, values: Array, shades: Sequence[str], label: str) -> None:
    at, values = flows.at_s, np.where(values > 0, values, np.nan)
    for i, colour in enumerate(shades):
        axes.plot(at, values[:, i], color=colour, linewidth=0.8)
    seen = values[np.isfinite(values)]
    # A few flows far above the others would press these to the axis.
    if seen.size and np.percentile(seen, 99) > 20 * max(float(np.median(seen)), 1e-9):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(plot.plain_number())
    else:
        axes.set_ylim(bottom=0)
    axes.set_ylabel(label.replace(" (", "\n("))


def _queue(axes: Axes, events: Axes, run: measures.Run, link: str) -> None:
    series = run.queue(link)
    at, packets = _peaks(series.at_s, series.packets)
    axes.fill_between(at, packets, color=plot.PALETTE[0], alpha=0.25, linewidth=0)
    axes.plot(at, packets, color=plot.PALETTE[0], linewidth=0.7)
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
        events.legend(loc="upper right", frameon=False, ncols=2, fontsize=8)
        low, high = events.get_ylim()
        events.set_ylim(low, high * 4)  # room for the legend
    else:
        events.set_yticks([])
        events.text(0.5, 0.5, "nothing was dropped or marked", transform=events.transAxes, ha="center", va="center", color="#777777")  # fmt: skip


def _thin(at: Array, values: Array) -> tuple[Array, Array]:
    """Means of neighbours, so that at most ``MOST_POINTS`` are left."""
    step = -(-len(at) // MOST_POINTS)
    if step <= 1:
        return at, values
    whole = len(at) // step * step
    return at[:whole].reshape(-1, step).mean(axis=1), values[:whole].reshape(-1, step, values.shape[1]).mean(axis=1)


def _peaks(at: Array, values: Array) -> tuple[Array, Array]:
    """The lowest and the highest of neighbours, one after the other, so that no peak is lost."""
    step = -(-2 * len(at) // (2 * MOST_POINTS))
    if step <= 2:
        return at, values
    whole = len(at) // step * step
    block = values[:whole].reshape(-1, step)
    pairs = np.stack([block.min(axis=1), block.max(axis=1)], axis=1).ravel()
    times = at[:whole].reshape(-1, step)
    return np.stack([times[:, 0], times[:, step // 2]], axis=1).ravel(), pairs


def _legend(fig: Any, labels: Sequence[str], shades: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    if len(labels) > len(plot.PALETTE):
        kinds: dict[str, str] = {}
        for label, colour in zip(labels, shades, strict=True):
            kinds.setdefault(label.rsplit(" ", 1)[-1], colour)
        shown = [(f"{sum(one.rsplit(' ', 1)[-1] == kind for one in labels)} flows {kind}", colour) for kind, colour in kinds.items()]  # fmt: skip
    else:
        shown = list(zip(labels, shades, strict=True))
    handles = [Patch(color=colour, label=label) for label, colour in shown]
    fig.legend(handles=handles, loc="outside upper center", ncols=min(4, len(handles)), frameon=False, fontsize=8.5)
