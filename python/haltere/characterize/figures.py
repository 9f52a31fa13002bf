"""The figures of a characterisation: ellipses of delay and goodput, and the shares of unlike round-trip times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..analysis import stats
from ..report import plot
from ..report.document import Figure
from .files import Case
from .measure import Cell, ellipse

Cells = Mapping[tuple[str, str], Cell]
_TITLES = {
    "transports": "Transports (RFC 7928, section 5)",
    "stability": "Stability (section 8)",
    "profiles": "Bursts, traffic profiles, two queues in series and ECN (sections 7, 9, 10 and 4.5)",
    "rtt": "Unlike round-trip times (section 6)",
}


def ellipses(cases: Sequence[Case], names: Sequence[str], cells: Cells, folder: Path) -> list[Figure]:
    """One figure a group of scenarios, one panel a scenario: goodput over delay, to the upper right is better."""
    out = []
    for group in dict.fromkeys(case.group for case in cases):
        shown = [case for case in cases if case.group == group]
        out.append(_group(group, shown, names, cells, folder / f"ellipses-{group}"))
    return out


def _group(group: str, shown: Sequence[Case], names: Sequence[str], cells: Cells, stem: Path) -> Figure:
    fig, panels = plot.panels(len(shown), 2, width=7.6, row=2.55)
    shades = plot.colours(names)
    for axes, case in zip(panels, shown, strict=True):
        for name in names:
            drawn = ellipse(cells[case.key, name])
            if drawn is None:
                continue
            x, y, (at, rate) = drawn
            axes.fill(x, y, color=shades[name], alpha=0.12, linewidth=0)
            axes.plot(x, y, color=shades[name], linewidth=1.2)
            axes.plot([at], [rate], "o", markersize=4.5, color=shades[name], label=name)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plot.plain_number((1, 2, 5)))
        low, high = axes.get_xlim()
        axes.xaxis.set_minor_formatter(plot.plain_number((2, 5) if high > 5 * low else range(2, 10)))
        axes.tick_params(axis="x", which="minor", labelsize=7.5, length=2)
        axes.invert_xaxis()
        plot.title(axes, f"{case.section} {case.title}")
        axes.set_xlabel("queueing delay, less to the right (ms)")
        axes.set_ylabel("goodput (Mbit/s)")
    caption = (
        f"{_TITLES[group]}: goodput of all flows over delay at the bottleneck; dots are means, ellipses one standard deviation of "
        "the seconds of all seeds. Up and to the right is better, a small ellipse is steadier."
    )
    return plot.saved(fig, stem, caption, panels[0])


def round_trips(cases: Sequence[Case], names: Sequence[str], cells: Cells, folder: Path) -> Figure | None:
    """What a flow of another round-trip time gets beside one of 100 ms."""
    shown = [case for case in cases if case.group == "rtt"]
    if len(shown) < 2:
        return None
    fig, (axes,) = plot.figure()
    times = [float(case.of["rtt"]) for case in shown]
    for name, colour in plot.colours(names).items():
        shares = [_share(cells[case.key, name]) for case in shown]
        axes.errorbar(times, [m for m, _ in shares], yerr=[h for _, h in shares], color=colour, label=name, capsize=2, marker="o", markersize=3.5)  # fmt: skip
    axes.axhline(50, color="#888888", linewidth=0.8, linestyle="--")
    plot.log_ticks(axes, times)
    axes.set_ylim(0, 100)
    axes.set_xlabel("round-trip time of the other flow (ms)")
    axes.set_ylabel("its share (%)")
    caption = "Share of a flow beside one of 100 ms, over its own round-trip time without queues, with 95 % intervals; dashed: half each (section 6)."
    return plot.saved(fig, folder / "round-trips", caption, axes)


def _share(cell: Cell) -> tuple[float, float]:
    pairs = zip(cell.shares["fixed"], cell.shares["other"], strict=True)
    ratio = stats.mean([100 * b / max(a + b, 1e-9) for a, b in pairs])
    return ratio.mean, float(np.nan_to_num(ratio.half))
