"""`dctcp-hysteresis`, the paper's own cases: its tables and figures with ours beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...report import plot
from ...report.document import Figure, Table
from ...runs.results import Results
from .cases import (
    CASES,
    EGRESS,
    INPUT,
    PRIMARY,
    RATES,
    STRUCTURES,
    VARIANTS,
    Cells,
    Setup,
    hosts,
    percent,
    variants,
)

#: In this case each host has one TCP flow, and UDP for the first half only.
OVER_TIME = "D"
LOWER, UPPER = 35, 42

Blocks = list[Table | Figure]


def primary(results: Results, cells: Cells, given: Mapping[str, Any]) -> Blocks:
    """What the paper's own figures and tables show, in the primary reading."""
    folder = results.directory / "figures"
    return [
        _levels(cells, given, folder / "levels"),
        _gains(cells, given, folder / "gain"),
        _hosts(cells, given, PRIMARY, folder / "return"),
        _over_time(results, folder / "over-time"),
    ]


def others(results: Results, cells: Cells, given: Mapping[str, Any]) -> Blocks:
    """The other readings, and at last every figure of every reading."""
    folder = results.directory / "figures"
    processor = Setup("processor", PRIMARY.rate)
    blocks: Blocks = [_levels_by_rate(cells, given)]
    if cells.has(processor):
        blocks.append(_hosts(cells, given, processor, folder / "return-processor"))
    return [*blocks, _every(cells)]


# -- levels ---------------------------------------------------------------------------------------------------------------


def _levels(cells: Cells, given: Mapping[str, Any], stem: Path) -> Figure:
    fig, (axes,) = plot.figure(height=3.2)
    places = [(case, host) for case in CASES for host in hosts(case)]
    series: dict[str, list[Mean | None]] = {
        "paper": [Mean(value, math.nan, math.nan, 1) for case in CASES for value in given[case]["one"]["mean"]]
    }
    for structure, name in STRUCTURES.items():
        series[name] = [stats.mean(cells.at(case, Setup(structure), "one").tcp[host]) for case, host in places]
    shades = {**plot.colours(STRUCTURES.values()), "paper": "#303030"}
    plot.bars(axes, [f"{case}\n{host}" for case, host in places], series, colour=shades, dots=True)
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-3)
    axes.yaxis.set_major_formatter(plot.plain_number())
    axes.set_ylabel("TCP goodput (Mbit/s)")
    caption = f"TCP goodput with one threshold in every case, {PRIMARY.rate} packets/s, with 95 % intervals. BMv2's structure is nearest to the paper."
    return plot.saved(fig, stem, caption, axes)


def _levels_by_rate(cells: Cells, given: Mapping[str, Any]) -> Table:
    columns = [
        "switch",
        "packets/s",
        *(f"{case} {host}" for case in CASES for host in hosts(case)),
        "factor from the paper",
    ]
    rows = [["paper", "", *(f"{value:g}" for case in CASES for value in given[case]["one"]["mean"]), ""]]
    for structure, name in STRUCTURES.items():
        for rate in RATES:
            setup = Setup(structure, rate)
            if cells.has(setup):
                means = [stats.mean(cells.at(case, setup, "one").tcp[host]) for case in CASES for host in hosts(case)]
                rows.append(
                    [name, str(rate), *(mean.format(3) for mean in means), f"{cells.distance(setup, given):.1f}"]
                )
    note = "The factor is the root mean square of the logarithm of ours over the paper's, over the five cases. It chose the primary reading's rate."
    return Table("levels", "One threshold: TCP goodput at common rates (Mbit/s)", columns, rows, note, left=1)


# -- gains ----------------------------------------------------------------------------------------------------------------


def _gains(cells: Cells, given: Mapping[str, Any], stem: Path) -> Figure:
    fig, (axes,) = plot.figure(height=3.0)
    series: dict[str, list[Mean | None]] = {}
    for structure, name in STRUCTURES.items():
        pairs = [
            [cells.at(case, Setup(structure), variant).tcp["H1"] for variant in ("hysteresis", "one")] for case in "ABC"
        ]
        series[name] = [percent(more, less) for more, less in pairs]
    paper = [100 * (given[c]["hysteresis"]["mean"][0] / given[c]["one"]["mean"][0] - 1) for c in "ABC"]
    plot.bars(axes, [f"case {c}" for c in "ABC"], dict(series), {"paper": {STRUCTURES[PRIMARY.structure]: paper}})
    axes.axhline(0, color="#606060", linewidth=0.8)
    axes.set_ylabel("gain of TCP goodput (%)")
    caption = (
        f"Figure 6: what hysteresis adds to H1's TCP goodput over one threshold, {PRIMARY.rate} packets/s, with 95 % intervals. "
        "With BMv2's structure it is nothing."
    )
    return plot.saved(fig, stem, caption, axes)


def _hosts(cells: Cells, given: Mapping[str, Any], setup: Setup, stem: Path) -> Figure:
    fig, panels = plot.figure(1, 2, height=3.2)
    for axes, case in zip(panels, "DE", strict=True):
        names = hosts(case)
        series = {VARIANTS[v]: [stats.mean(cells.at(case, setup, v).tcp[h]) for h in names] for v in variants(case)}
        paper = {VARIANTS[v]: given[case][v]["mean"] for v in variants(case)}
        plot.bars(axes, names, series, {"paper": paper})
        axes.set_ylim(bottom=0)
        plot.title(axes, f"Case {case}")
    panels[0].set_ylabel("TCP goodput (Mbit/s)")
    caption = f"Figures 8 and 9 ({setup.name}): TCP goodput of each host with one threshold and with returned packets, with 95 % intervals."
    return plot.saved(fig, stem, caption, panels[0])


# -- over time ------------------------------------------------------------------------------------------------------------


def _over_time(results: Results, stem: Path) -> Figure:
    """The queues in which packets wait in case D with one threshold, and alpha of H1's sender; first seed."""
    runs: dict[str, measures.Run] = {}
    for done in results.runs:
        labels = results.points[done.point].labels
        if (labels["case"], labels["rate"], labels["variant"]) == (OVER_TIME, PRIMARY.rate, "one"):
            runs.setdefault(str(labels["structure"]), measures.Run(results, done))
    fig, panels = plot.figure(2, 2, height=4.6)
    shown = (
        (panels[0], "bmv2", INPUT, "BMv2: before the ingress thread"),
        (panels[1], "bmv2", EGRESS, "BMv2: egress thread of H2 and H6"),
        (panels[2], "processor", INPUT, "One processor"),
    )
    for axes, structure, link, title in shown:
        series = runs[structure].queue(link)
        plot.line(axes, series.at_s, series.packets, "", plot.PALETTE[0])
        plot.title(axes, title)
        axes.set_ylabel("packets")
        axes.set_ylim(-2, max(66.0, 1.05 * float(np.max(series.packets, initial=0.0))))
        if link != INPUT or structure == "processor":
            for level in (LOWER, UPPER):
                axes.axhline(level, color="#808080", linewidth=0.7, linestyle="--")
    for structure, colour in zip(("bmv2", "processor"), plot.PALETTE[1:], strict=False):
        at, values = _alpha(runs[structure], "tcp-h1")
        plot.line(panels[3], at, values, STRUCTURES[structure], colour)
    plot.title(panels[3], "DCTCP's alpha at H1")
    panels[3].set_ylim(0, 1.02)
    panels[3].legend(frameon=False, fontsize=8)
    for axes in panels:
        axes.margins(x=0.01)
    for axes in panels[2:]:
        axes.set_xlabel("time (s)")
    caption = (
        f"The queues in which packets wait in case {OVER_TIME} with one threshold, {PRIMARY.rate} packets/s, first seed. Dashed: the thresholds of {LOWER} and {UPPER} packets. "
        "In BMv2 packets wait before the ingress thread (buffer and sockets), where nothing marks them."
    )
    return plot.saved(fig, stem, caption)


def _alpha(run: measures.Run, flow: str) -> tuple[Any, Any]:
    series = run.table("flow_series", flow=flow)
    return series["at_ns"].to_numpy() * 1e-9, series["alpha"].to_numpy()


# -- everything -----------------------------------------------------------------------------------------------------------


def _every(cells: Cells) -> Table:
    rows = []
    for case, setup, variant, cell in cells.all():
        sender = "counts" if setup.counts else "ignores" if "return" in variant else "–"
        columns: Sequence[tuple[Sequence[float], int]] = (
            (cell.total(), 4), (cell.udp["H1"], 3), (cell.waiting, 1), (cell.depth, 1), (cell.signals, 0), (cell.drops, 0),
        )  # fmt: skip
        figures = [stats.mean(values).format(digits) for values, digits in columns]
        rows.append([case, STRUCTURES[setup.structure], str(setup.rate), VARIANTS[variant], sender, *figures])
    names = [
        "case", "switch", "packets/s", "marking", "sender", "TCP, all (Mbit/s)", "UDP of H1 (Mbit/s)", "mean queue before the processor",
        "depth at dequeue, p95", "marked or returned", "drops",
    ]  # fmt: skip
    note = (
        "The queue before the processor is that of the ingress thread, sockets included, if there is one. Depth at dequeue: 95 % of the packets leave at most so "
        "many behind in the queue that is compared with the thresholds."
    )
    return Table("every", "Every reading", names, rows, note, left=5)
