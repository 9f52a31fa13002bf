"""The figures of the study `iaas`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...analysis import stats
from ...report import plot
from ...report.document import Figure
from .cells import CASES, LABELS, READ_AT_MS, SHORT, STUDIED, Cells, at, fair_mbit, relative


def bars(cells: Cells, cases: Sequence[str], stem: Path, caption: str) -> Figure:
    """Throughput of a pair by control, one panel a number of pairs and case."""
    numbers = sorted({key[2] for key in cells if key[0] == READ_AT_MS})
    fig, panels = plot.figure(len(cases), len(numbers), height=0.6 + 2.3 * len(cases))
    for axes, (case, pairs) in zip(panels, ((c, n) for c in cases for n in numbers), strict=True):
        cell = cells[READ_AT_MS, case, pairs]
        for place, (control, colour) in enumerate(plot.colours(STUDIED).items()):
            value = stats.mean(cell.mbit[control])
            half = 0.0 if math.isnan(value.half) else value.half
            axes.bar(place, value.mean, width=0.7, color=colour, alpha=0.85, linewidth=0)
            if half:
                axes.errorbar(place, value.mean, yerr=half, fmt="none", ecolor="#222222", elinewidth=0.9, capsize=3)
            text = f"{value.mean:.3g}" if value.mean < 1000 else f"{value.mean:.0f}"
            # In one row at the top of the panel, where no line passes.
            axes.text(place, 0.93, text, transform=axes.get_xaxis_transform(), ha="center", va="center", fontsize=7.5)
        axes.axhline(fair_mbit(pairs), color="#222222", linestyle="--", linewidth=1.0, label="fair share")
        axes.set_xticks(range(len(STUDIED)), [LABELS[c] for c in STUDIED])
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        # All there is, for one control alone: the same scale in every case of so many pairs.
        axes.set_ylim(0, 1.15 * fair_mbit(pairs) * len(STUDIED))
        plot.title(axes, f"{pairs} pairs" + (f", {SHORT[case]}" if len(cases) > 1 else ""))
    for row in range(len(cases)):
        panels[row * len(numbers)].set_ylabel("Mbit/s a pair")
    caption = f"{caption}: mean of a pair by control, with 95 % intervals. Dashed: the fair share. The paper's bars have no numbers. RTT {READ_AT_MS:g} ms."
    return plot.saved(fig, stem, caption, panels[0])


def over_time(cells: Cells, case: str, stem: Path) -> Figure:
    """Throughput over the fair share in every second: which way BBR lies depends on the length."""
    by = at(cells, case)
    fig, panels = plot.figure(1, len(by), height=2.9, share=True)
    for axes, (pairs, cell) in zip(panels, by.items(), strict=True):
        for control, colour in plot.colours(STUDIED).items():
            length = min(len(run) for run in cell.over_time[control])
            runs = [run[:length] / fair_mbit(pairs) for run in cell.over_time[control]]
            plot.band(axes, np.arange(length) + 0.5, runs, LABELS[control], colour)
        axes.axhline(1.0, color="#222222", linestyle="--", linewidth=0.9)
        axes.axvline(9.0, color="#222222", linestyle="--", linewidth=0.9)
        axes.set_xlabel("time (s)")
        axes.margins(x=0)
        plot.title(axes, f"{pairs} pairs")
    panels[0].set_ylim(0, 1.08 * len(STUDIED))  # one control that has everything, and what it catches up
    panels[0].set_ylabel("throughput / fair share")
    caption = f"Throughput over the fair share in every second, {CASES[case]}: mean over the seeds, shaded from the lowest to the highest. Dashed: the fair share, and the end of the first 9 s."
    return plot.saved(fig, stem, caption, panels[0])


def round_trips(cells: Cells, stem: Path) -> Figure:
    """Throughput over the fair share against the round-trip time."""
    rtts = sorted({key[0] for key in cells})
    cases = [case for case in CASES if len({key[0] for key in cells if key[1] == case}) > 1]
    numbers = sorted({key[2] for key in cells if key[0] != READ_AT_MS})
    fig, panels = plot.figure(len(numbers), len(cases), height=0.9 + 2.1 * len(numbers), share=True)
    for axes, (pairs, case) in zip(panels, ((n, c) for n in numbers for c in cases), strict=True):
        for control, colour in plot.colours(STUDIED).items():
            values = [stats.mean(relative(cells[rtt, case, pairs], control, pairs)) for rtt in rtts]
            halves = [0.0 if math.isnan(v.half) else v.half for v in values]
            axes.errorbar(rtts, [v.mean for v in values], yerr=halves, color=colour, label=LABELS[control], marker="o", markersize=3.5, linewidth=1.2, capsize=2)  # fmt: skip
        axes.axhline(1.0, color="#222222", linestyle="--", linewidth=0.9)
        plot.log_ticks(axes, rtts)
        plot.title(axes, f"{pairs} pairs, {SHORT[case]}")
    panels[0].set_ylim(0, 1.05 * len(STUDIED))  # one control that has everything
    for row in range(len(numbers)):
        panels[row * len(cases)].set_ylabel("throughput / fair share")
    for axes in panels[-len(cases) :]:
        axes.set_xlabel("RTT without queue (ms)")
    caption = "Throughput over the fair share (1 is fair, dashed) against the round-trip time, with 95 % intervals."
    return plot.saved(fig, stem, caption, panels[0])
