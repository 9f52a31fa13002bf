"""One run in several worlds over time: the queue and the windows, a column a world, on the same scales."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from ..analysis import measures
from ..analysis.parity import Comparison
from . import plot, timeline

#: Flows beyond which colours repeat: only the first are drawn.
MOST_FLOWS = len(plot.PALETTE)


def draw(compared: Comparison, stem: Path) -> list[Path]:
    """Draws the first run of each world into ``stem.png`` and ``stem.svg``; nothing if queues and flows are not sampled.

    Above is the main link's queue, below the congestion window of each flow. The scales are the same for all worlds.
    """
    runs = [measures.Run(results, timeline.pick(results, None, None)) for results in compared.results]
    link = timeline.main_link(runs[0])
    if link is None or not all(len(run.table(name)) for run in runs for name in ("queue_series", "flow_series")):
        return []
    many = len(runs)
    fig, panels = plot.figure(2, many, width=1.2 + 2.9 * many, height=4.6)
    queues, windows = panels[:many], panels[many:]
    for place, (world, run) in enumerate(zip(compared.worlds, runs, strict=True)):
        _queue(queues[place], run, link)
        _windows(windows[place], run)
        plot.title(queues[place], f"{world.title[0].upper()}{world.title[1:]}")
        windows[place].set_xlabel("time (s)")
    for row in (queues, windows):
        _same_scale(row)
    for axes in queues:
        axes.tick_params(labelbottom=False)
    queues[0].set_ylabel("queue (packets)")
    windows[0].set_ylabel("congestion window (kB)")
    if len(windows[0].get_lines()) > 1:
        plot.legend(fig, windows[0])
    return plot.save(fig, stem, svg=True, pdf=False)


def _queue(axes: Axes, run: measures.Run, link: str) -> None:
    own = run.table("queue_series", ["at_ns", "link", "packets"], link=link)
    axes.plot(own["at_ns"].to_numpy() * 1e-9, own["packets"].to_numpy(), color=plot.PALETTE[-1], linewidth=0.8)


def _windows(axes: Axes, run: measures.Run) -> None:
    flows = timeline.Flows(run)
    sent = flows.column("cwnd_bytes", 1e-3)
    for place, label in enumerate(flows.labels[:MOST_FLOWS]):
        axes.plot(flows.at_s, sent[:, place], label=label, color=plot.PALETTE[place], linewidth=1.0)


def _same_scale(row: Sequence[Axes]) -> None:
    """Gives all the largest scale, and the numbers only to the first."""
    top = max(axes.get_ylim()[1] for axes in row)
    for place, axes in enumerate(row):
        axes.set_ylim(0, top)
        axes.set_xlim(left=0)
        axes.tick_params(labelleft=place == 0)
