"""The figures of the study: the paper's, with its own values and ns-3's in the same picture if they are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from ...analysis import measures, stats
from ...report import plot
from ...report.document import Figure
from .cells import LABELS, WATCHED, Cells, Given

# The paper's figures of the round-trip time, by the number of pairs.
_RTT_FIGURES = {2: 9, 5: 10, 10: 11, 20: 12}


def _queue(axes: Axes, run: measures.Run, until_s: float = math.inf) -> None:
    series = run.queue(WATCHED)
    shown = series.at_s <= until_s
    plot.line(axes, series.at_s[shown], series.packets[shown], "discipline", plot.PALETTE[1])
    if run.has_ring(WATCHED):
        plot.line(axes, series.at_s[shown], series.ring_packets[shown], "device ring", plot.PALETTE[0])
    axes.margins(x=0.01)


def _pairs(pairs: int) -> str:
    return "one pair" if pairs == 1 else f"{pairs} pairs"


def queues(runs: Mapping[str, Sequence[measures.Run]], pairs: int, stem: Path) -> Figure:
    """Figures 2, 3, 4, 6 and 7 of the paper: the queue over time, one panel a discipline."""
    fig, panels = plot.figure(len(LABELS), 1, width=7.2, height=8.0, share=True)
    for axes, (name, label) in zip(panels, LABELS.items(), strict=True):
        _queue(axes, runs[name][0])
        plot.title(axes, label)
        axes.set_ylabel("packets")
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    panels[-1].set_xlabel("time (s)")
    caption = f"Queue at {WATCHED} over time, {_pairs(pairs)}, first seed (figures 2, 3, 4, 6 and 7 of the paper, which show the device ring)."
    return plot.saved(fig, stem, caption, panels[0])


def codel_start(run: measures.Run, pairs: int, stem: Path) -> Figure:
    """Figure 5 of the paper."""
    fig, (axes,) = plot.figure(height=2.8)
    _queue(axes, run, until_s=15)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("packets")
    axes.set_ylim(bottom=0)
    caption = f"CoDel's queue in the first 15 s, {_pairs(pairs)}, first seed (figure 5 of the paper)."
    return plot.saved(fig, stem, caption, axes)


def rtt(runs: Mapping[str, Sequence[measures.Run]], pairs: int, given: Given, stem: Path) -> Figure:
    """Figures 9 to 12 of the paper: every ping of one run, all disciplines; the paper's medians as dashed lines."""
    fig, (axes,) = plot.figure(height=3.4)
    shades = plot.colours(LABELS)
    for name, label in LABELS.items():
        at, rtt_ms = runs[name][0].ping_series()
        axes.plot(at, rtt_ms, "o", markersize=3, color=shades[name], linestyle="none", label=label)
        theirs = given.of_paper("median_rtt_ms", pairs, name)
        if theirs is not None:
            axes.axhline(theirs, color=shades[name], linestyle=(0, (4, 3)), linewidth=1.0)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("ping RTT (ms)")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plot.plain_number())
    axes.yaxis.set_minor_formatter(plot.plain_number((2, 5)))
    axes.margins(x=0.01)
    number = _RTT_FIGURES.get(pairs)
    printed = given.of_paper("median_rtt_ms", pairs, "pie") is not None
    caption = f"Ping RTT over time, {_pairs(pairs)}, first seed (figure {number} of the paper)." + (
        " Dashed: the paper's median of each." if printed else ""
    )
    return plot.saved(fig, stem, caption, axes)


def _dots(axes: Axes, measure: str, cells: Cells, pairs: Sequence[int], given: Given) -> None:
    series = {label: [stats.mean(cells[pair, name].of(measure)) for pair in pairs] for name, label in LABELS.items()}
    paper = {label: [given.of_paper(measure, pair, name) for pair in pairs] for name, label in LABELS.items()}
    means = {label: [given.of_ns3(measure, pair, name) for pair in pairs] for name, label in LABELS.items()}
    ns3 = {label: [None if mean is None else mean.mean for mean in row] for label, row in means.items()}
    references: dict[str, dict[str, list[float | None]]] = {"paper": paper, "ns-3": ns3}
    plot.bars(axes, [_pairs(pair) for pair in pairs], series, references, plot.colours(series), dots=True)
    for edge in range(len(pairs) - 1):
        axes.axvline(edge + 0.5, color="#D0D0D0", linewidth=0.8)


def medians(cells: Cells, pairs: Sequence[int], given: Given, stem: Path) -> Figure:
    """Table III of the paper as a figure."""
    fig, (axes,) = plot.figure(height=3.4)
    _dots(axes, "median_rtt_ms", cells, pairs, given)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plot.plain_number())
    axes.yaxis.set_minor_formatter(plot.plain_number((2, 5)))
    axes.set_ylabel("median ping RTT (ms)")
    caption = "Median ping RTT with 95 % intervals (table III of the paper). Diamond: paper. Circle: ns-3."
    return plot.saved(fig, stem, caption, axes)


def fairness(cells: Cells, pairs: Sequence[int], given: Given, stem: Path) -> Figure:
    """Tables I and II of the paper as a figure."""
    fig, panels = plot.figure(2, 1, height=5.2)
    for axes, measure, title in zip(
        panels, ("jain_down", "jain_up"), ("Downloads (table I)", "Uploads (table II)"), strict=True
    ):
        _dots(axes, measure, cells, pairs, given)
        plot.title(axes, title)
        axes.set_ylabel("Jain's index")
        low = axes.get_ylim()[0]
        axes.set_ylim(low, 1 + 0.05 * (1 - low))  # an interval may pass 1, an index may not
    caption = "Jain's index with 95 % intervals (tables I and II). The two axes differ. Diamond: paper. Circle: ns-3."
    return plot.saved(fig, stem, caption, panels[0])
