"""The figure of a trace: its rate over time, with outages marked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..traces.trace import Trace
from . import plot


def draw(trace: Trace, name: str, stem: Path) -> list[Path]:
    """Draws a trace, its delay in a second panel if it has one; returns the files."""
    shown = [one for one in ("rate", "delay") if one in trace.columns]
    fig, panels = plot.panels(len(shown), 1, row=2.4)
    with plot.style():
        for axes, what in zip(panels, shown, strict=True):
            if what == "rate":
                edges, rates = trace.rates()
                axes.fill_between(
                    np.repeat(edges, 2)[1:-1],
                    np.repeat(rates * 1e-6, 2),
                    color=plot.PALETTE[0],
                    alpha=0.35,
                    linewidth=0,
                )
                axes.stairs(rates * 1e-6, edges, color=plot.PALETTE[0], linewidth=0.6)
                for begin, end in trace.outages():
                    axes.axvspan(begin, end, color=plot.PALETTE[1], alpha=0.5, linewidth=0)
                plot.title(axes, f"{name}: rate in intervals of 100 ms; orange: outages of 200 ms and more")
                axes.set_ylabel("Mbit/s")
            else:
                ends = np.append(trace.at_s, trace.end_s)
                axes.stairs(trace.columns[what] * 1e3, ends, baseline=None, color=plot.PALETTE[2], linewidth=0.9)
                plot.title(axes, f"{name}: delay of one direction")
                axes.set_ylabel("ms")
            axes.set_xlim(0, trace.end_s)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("time (s)")
    return plot.save(fig, stem.with_suffix("") if stem.suffix in (".png", ".pdf") else stem, pdf=False)
