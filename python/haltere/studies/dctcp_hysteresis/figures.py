"""`dctcp-hysteresis`, the paper's own cases: its tables and figures with ours beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...report import plot
from ...report.document import Figure, Table
from ...runs.results import Results
from .cases import CASES, INPUT, OTHERS, PRIMARY, SCAN, TRANSMIT, VARIANTS, Cells, Setup, hosts, percent, variants

#: In this case UDP sends more than the switch handles for the whole run.
OVER_TIME = "B"
LOWER, UPPER = 35, 42
#: One reading of each slowest stage.
SHOWN = {"transmit thread": PRIMARY, "egress threads": Setup("egress"), "ingress thread": Setup("ingress", ingress=1000), "one processor": Setup("processor")}  # fmt: skip


def primary(results: Results, cells: Cells, given: Mapping[str, Any]) -> list[Figure]:
    """What the paper's own figures and tables show, in the primary reading."""
    folder = results.directory / "figures"
    shown = {name: setup for name, setup in SHOWN.items() if cells.has(setup, returned=False)}
    made = [
        _levels(cells, given, shown, folder / "levels"),
        _gains(cells, given, folder / "gain"),
        _hosts(cells, given, folder / "return"),
    ]
    # Linux tells alpha to nobody.
    told = "alpha" in results.run_table("flow_series", results.runs[0]).column_names
    return [*made, _over_time(results, folder / "over-time")] if told else made


def _levels(cells: Cells, given: Mapping[str, Any], shown: Mapping[str, Setup], stem: Path) -> Figure:
    fig, (axes,) = plot.figure(height=3.2)
    places = [(case, host) for case in CASES for host in hosts(case)]
    paper: list[Mean | None] = [
        Mean(value, math.nan, math.nan, 1) for case in CASES for value in given[case]["one"]["mean"]
    ]
    series = {"paper": paper} | {
        name: [stats.mean(cells.at(case, setup, "one").tcp[host]) for case, host in places]
        for name, setup in shown.items()
    }
    shades = {**plot.colours(shown), "paper": "#303030"}
    plot.bars(axes, [f"{case}\n{host}" for case, host in places], series, colour=shades, dots=True)
    axes.set_yscale("log")
    axes.set_ylim(bottom=1e-3)
    axes.yaxis.set_major_formatter(plot.plain_number())
    axes.set_ylabel("TCP goodput (Mbit/s)")
    caption = f"TCP goodput with one threshold in every case, by the slowest stage of the switch, {PRIMARY.rate} packets/s, with 95 % intervals."
    return plot.saved(fig, stem, caption, axes, columns=3)


def _gains(cells: Cells, given: Mapping[str, Any], stem: Path) -> Figure:
    fig, (axes,) = plot.figure(height=3.0)
    marked = {
        f"{s.ingress}/{s.rate}" if s.stage == "transmit" else s.name: s
        for s in (PRIMARY, Setup(ingress=10_000), SHOWN["one processor"])
        if cells.has(s)
    }
    series: dict[str, list[Mean | None]] = {
        name: [percent(*(cells.at(case, setup, v).tcp["H1"] for v in ("hysteresis", "one"))) for case in "ABC"]
        for name, setup in marked.items()
    }
    paper = [100 * (given[c]["hysteresis"]["mean"][0] / given[c]["one"]["mean"][0] - 1) for c in "ABC"]
    plot.bars(axes, [f"case {c}" for c in "ABC"], series, {"paper": {next(iter(series)): paper}})
    axes.axhline(0, color="#606060", linewidth=0.8)
    axes.set_ylabel("gain of TCP goodput (%)")
    caption = "Figure 6: what hysteresis adds to H1's TCP goodput over one threshold, by packets/s of ingress and transmit thread, with 95 % intervals."
    return plot.saved(fig, stem, caption, axes)


def _hosts(cells: Cells, given: Mapping[str, Any], stem: Path) -> Figure:
    fig, panels = plot.figure(1, 2, height=3.2)
    for axes, case in zip(panels, "DE", strict=True):
        names = hosts(case)
        series = {VARIANTS[v]: [stats.mean(cells.at(case, PRIMARY, v).tcp[h]) for h in names] for v in variants(case)}
        plot.bars(axes, names, series, {"paper": {VARIANTS[v]: given[case][v]["mean"] for v in variants(case)}})
        axes.set_ylim(bottom=0)
        plot.title(axes, f"Case {case}")
    panels[0].set_ylabel("TCP goodput (Mbit/s)")
    caption = (
        "Figures 8 and 9: TCP goodput of each host with one threshold and with returned packets, with 95 % intervals."
    )
    return plot.saved(fig, stem, caption, panels[0])


def _over_time(results: Results, stem: Path) -> Figure:
    """The queues in which packets wait, with one threshold and with two, and alpha of H1's sender; first seed."""
    runs: dict[str, measures.Run] = {}
    for done in results.runs:
        labels = dict(results.points[done.point].labels)
        case, variant = labels.pop("case"), str(labels.pop("variant"))
        if case == OVER_TIME and Setup(**labels) == PRIMARY.of(variant):
            runs.setdefault(variant, measures.Run(results, done))
    fig, panels = plot.figure(1, 3, width=9.0, height=2.8)
    for colour, (variant, run) in zip(plot.PALETTE, runs.items(), strict=False):
        waiting, sent, flow = run.queue(INPUT), run.queue(TRANSMIT), run.table("flow_series", flow="tcp-h1")
        for axes, at, values in (
            (panels[0], waiting.at_s, waiting.packets),
            (panels[1], sent.at_s, sent.packets),
            (panels[2], flow["at_ns"].to_numpy() * 1e-9, flow["alpha"].to_numpy()),
        ):
            plot.line(axes, at, values, VARIANTS[variant], colour)
            axes.margins(x=0.01)
            axes.set_xlabel("time (s)")
    for axes, text in zip(
        panels, ("before the ingress thread", "before the transmit thread", "DCTCP's alpha at H1"), strict=True
    ):
        plot.title(axes, text)
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("packets")
    caption = f"The queues in case {OVER_TIME}, {PRIMARY.name} packets/s, first seed. Before the transmit thread each port has a queue of 64 packets with thresholds of {LOWER} and {UPPER}."
    return plot.saved(fig, stem, caption, panels[0])


def scan(cells: Cells, given: Mapping[str, Any]) -> Table:
    """One threshold in every stage and at every rate: levels, queue depth, marks, and what hysteresis adds there."""
    names = [f"{case} {host}" for case in CASES for host in hosts(case)]
    columns = [
        "slowest stage, packets/s",
        *names,
        "factor",
        "waiting in B (median, 95 %)",
        "marked in B",
        "B: hysteresis (%)",
    ]
    rows = [["paper", *(f"{value:g}" for case in CASES for value in given[case]["one"]["mean"]), "", "", "", "+35.7"]]
    for setup in dict.fromkeys((PRIMARY, Setup(buffer=128), *SCAN, *OTHERS)):
        if not cells.has(setup, returned=False):
            continue
        means = [f"{np.mean(cells.at(case, setup, 'one').tcp[host]):.3f}" for case in CASES for host in hosts(case)]
        one, two = (cells.at("B", setup, variant) for variant in ("one", "hysteresis"))
        depth = ", ".join(f"{np.mean(one.depth[q]):.0f}" for q in (50, 95))
        gain = percent(two.tcp["H1"], one.tcp["H1"]).format(1)
        rows.append(
            [setup.name, *means, f"{cells.distance(setup, given):.1f}", depth, f"{np.mean(one.signals):.0f}", gain]
        )
    note = (
        "TCP goodput in Mbit/s with one threshold. Factor: root mean square of the logarithm of ours over the paper's, over the five cases; it chose the primary "
        "reading, the first row of ours. Waiting: packets over time in the queues that have thresholds, of all ports of a thread, 64 a port. Last column: H1's TCP."
    )
    return Table("scan", "One threshold by slowest stage and rate", columns, rows, note, left=1)
