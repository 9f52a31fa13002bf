"""`dctcp-hysteresis`, the paper's own cases: tables 5 and 7, figures 6, 8 and 9, queue and alpha over time, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...report import plot
from ...report.document import Document, Figure, Table, Text
from ...runs.results import Results
from ..base import Finding, expected, judge

__all__ = ["CASES", "NEAREST", "RATE", "show"]

CASES = "ABCDE"
RATE = "topology.switch.processor.packet_rate"
QUEUE = "topology.switch.processor.queue"
PROCESSOR = "switch>switch.out"
# The reading whose goodput with one threshold comes nearest to the paper's: from that row alone, before the others are looked at.
NEAREST = {"A": 700, "B": 1000, "C": 900, "D": 700, "E": 1300}
VARIANTS = {
    "one": "one threshold",
    "hysteresis": "hysteresis",
    "return": "return",
    "return-hysteresis": "return, hysteresis",
}
FIRST, SECOND = ("one", "hysteresis"), ("one", "return", "return-hysteresis")
# In this case the paper's hosts have one TCP flow each, and UDP for the first half only.
OVER_TIME = "D"

Key = tuple[str, int, str]
Cells = dict[Key, "Cell"]


@dataclass
class Cell:
    """One case at one rate with one variant: one value a seed in each list."""

    tcp: dict[str, list[float]] = field(default_factory=dict)
    """Goodput in Mbit/s by sending host."""
    udp: dict[str, list[float]] = field(default_factory=dict)
    queue: list[float] = field(default_factory=list)
    """Packets that wait at the processor on average."""
    told: list[float] = field(default_factory=list)
    """Packets marked or returned."""
    drops: list[float] = field(default_factory=list)

    def total(self) -> list[float]:
        """TCP of all hosts together."""
        return [float(sum(each)) for each in zip(*self.tcp.values(), strict=True)]


def _variant(queue: Mapping[str, Any]) -> str:
    hysteresis = queue.get("lower") is not None
    if queue.get("return_to_sender"):
        return "return-hysteresis" if hysteresis else "return"
    return "hysteresis" if hysteresis else "one"


def _key(labels: Mapping[str, Any]) -> Key:
    return str(labels["case"]), int(labels[RATE]), _variant(labels[QUEUE])


def measure(results: Results) -> Cells:
    """What every run came to."""
    cells: Cells = {}
    for run in results.runs:
        cell = cells.setdefault(_key(results.points[run.point].labels), Cell())
        one = measures.Run(results, run)
        for group in one.groups():
            kind, _, host = group.partition("-")
            goodput = cell.tcp if kind == "tcp" else cell.udp
            goodput.setdefault(host.upper(), []).append(float(one.goodput_mbit(group).sum()))
        link = one.links.filter(pc.equal(one.links["link"], PROCESSOR)).to_pylist()[0]
        cell.queue.append(float(link["mean_queue_packets"]))
        cell.told.append(float(link["marked"] + link["returned"]))
        cell.drops.append(float(link["dropped_overlimit"]))
    return cells


def show(results: Results, document: Document) -> list[Finding]:
    """Adds the paper's tables and figures with ours; returns the findings."""
    cells, given = measure(results), expected("dctcp-hysteresis")
    folder = results.directory / "figures"
    document.add(
        Text(
            f"{len(results.seeds)} seeds of 50 s. Ours: mean with its 95 % interval. Paper: mean and deviation of an unknown number of runs. "
            "How many packets its switch handled in a second the paper does not say; no single rate gives its numbers. Each case is read at "
            "the rate at which one threshold comes nearest to the paper ("
            + ", ".join(f"{case}: {rate}" for case, rate in NEAREST.items())
            + " packets/s); that row alone chose it."
        )
    )
    document.add(
        _beside("table5", "Table 5: TCP goodput of H1 (Mbit/s)", "ABC", ["H1"], FIRST, cells, given),
        _beside("table7", "Table 7: TCP goodput (Mbit/s)", "DE", ["H1", "H3", "H5"], SECOND, cells, given),
        _every(cells),
        _gain_figure(cells, given, folder / "gain"),
        _hosts_figure(cells, given, "return", folder / "return", 8),
        _hosts_figure(cells, given, "return-hysteresis", folder / "return-hysteresis", 9),
        _time_figure(results, folder / "over-time"),
    )
    return _findings(cells)


def _at(cells: Cells, case: str, variant: str) -> Cell:
    return cells[case, NEAREST[case], variant]


# -- tables ---------------------------------------------------------------------------------------------------------------


def _beside(
    name: str,
    title: str,
    cases: str,
    hosts: Sequence[str],
    variants: Sequence[str],
    cells: Cells,
    given: Mapping[str, Any],
) -> Table:
    rows = []
    for case in cases:
        for variant in variants:
            paper = given[case][variant]
            printed = [f"{m:g} (sd {s:g})" for m, s in zip(paper["mean"], paper["sd"], strict=True)]
            rows.append([case, VARIANTS[variant], "paper", *printed])
            cell = _at(cells, case, variant)
            rows.append(["", "", f"ours, {NEAREST[case]}/s", *(stats.mean(cell.tcp[h]).format(4) for h in hosts)])
    return Table(name, title, ["case", "marking", "source", *hosts], rows, left=3)


def _every(cells: Cells) -> Table:
    rows = []
    for (case, rate, variant), cell in sorted(cells.items(), key=lambda one: (one[0][0], one[0][1])):
        columns = [(cell.total(), 4), (cell.udp["H1"], 3), (cell.queue, 1), (cell.told, 0), (cell.drops, 0)]
        rows.append([case, str(rate), VARIANTS[variant], *(stats.mean(v).format(d) for v, d in columns)])
    columns_of = [
        "case",
        "packets/s",
        "marking",
        "TCP, all (Mbit/s)",
        "UDP of H1 (Mbit/s)",
        "mean queue",
        "told",
        "drops",
    ]
    note = "Told: packets marked or returned. Where drops are many and the queue is near 64, it never falls below the lower threshold while UDP sends."
    return Table("every", "All variants at every reading", columns_of, rows, note, left=3)


# -- figures --------------------------------------------------------------------------------------------------------------


def _gains(cells: Cells, case: str) -> Mean:
    """Percent of goodput that hysteresis adds, relative to the mean with one threshold."""
    one, two = (_at(cells, case, variant).tcp["H1"] for variant in FIRST)
    return stats.mean(100 * (np.array(two) - np.array(one)) / np.mean(one))


def _gain_figure(cells: Cells, given: Mapping[str, Any], stem: Any) -> Figure:
    fig, (axes,) = plot.figure(height=3.0)
    label = "hysteresis"
    paper = [100 * (given[c]["hysteresis"]["mean"][0] / given[c]["one"]["mean"][0] - 1) for c in "ABC"]
    plot.bars(axes, [f"case {c}" for c in "ABC"], {label: [_gains(cells, c) for c in "ABC"]}, {"paper": {label: paper}})
    axes.axhline(0, color="#606060", linewidth=0.8)
    axes.set_ylabel("gain of TCP goodput (%)")
    plot.legend(fig, axes)
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"),
        "What hysteresis adds to H1's TCP goodput over one threshold, with 95 % intervals (figure 6 of the paper).",
    )


def _hosts_figure(cells: Cells, given: Mapping[str, Any], variant: str, stem: Any, number: int) -> Figure:
    hosts = ["H1", "H3", "H5"]
    fig, panels = plot.figure(1, 2, height=3.0)
    for axes, case in zip(panels, "DE", strict=True):
        kinds = ("one", variant)
        series = {VARIANTS[k]: [stats.mean(_at(cells, case, k).tcp[h]) for h in hosts] for k in kinds}
        paper = {VARIANTS[k]: given[case][k]["mean"] for k in kinds}
        plot.bars(axes, hosts, series, {"paper": paper})
        axes.set_ylim(bottom=0)
        plot.title(axes, f"Case {case}")
    panels[0].set_ylabel("TCP goodput (Mbit/s)")
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"),
        f"TCP goodput of each host: one threshold and {VARIANTS[variant]}, with 95 % intervals (figure {number} of the paper).",
    )


def _time_figure(results: Results, stem: Any) -> Figure:
    """Queue at the processor and alpha of H1's sender, first seed."""
    fig, panels = plot.figure(len(VARIANTS), 2, height=7.4)
    runs: dict[str, measures.Run] = {}
    for run in results.runs:
        key = _key(results.points[run.point].labels)
        if key[:2] == (OVER_TIME, NEAREST[OVER_TIME]):
            runs.setdefault(key[2], measures.Run(results, run))
    for row, (variant, label) in enumerate(VARIANTS.items()):
        queue, alpha = panels[2 * row], panels[2 * row + 1]
        series = runs[variant].queue(PROCESSOR)
        plot.line(queue, series.at_s, series.packets, "", plot.PALETTE[0])
        for level in (36, 42):
            queue.axhline(level, color="#808080", linewidth=0.7, linestyle="--")
        at, values = _alpha(runs[variant], "tcp-h1")
        plot.line(alpha, at, values, "", plot.PALETTE[1])
        plot.title(queue, label)
        queue.set_ylabel("packets")
        alpha.set_ylabel("alpha of H1")
        queue.set_ylim(0, 66)
        alpha.set_ylim(0, 1.02)
        for axes in (queue, alpha):
            axes.margins(x=0.01)
            if row + 1 == len(VARIANTS):
                axes.set_xlabel("time (s)")
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"),
        f"Queue at the processor and DCTCP's alpha at H1 in case {OVER_TIME}, first seed; dashed: the thresholds of 36 and 42 packets.",
    )


def _alpha(run: measures.Run, flow: str) -> tuple[Any, Any]:
    series = run.table("flow_series")
    series = series.filter(pc.equal(series["flow"].cast(pa.string()), flow))
    return series["at_ns"].to_numpy() * 1e-9, series["alpha"].to_numpy()


# -- findings -------------------------------------------------------------------------------------------------------------


def _differences(cells: Cells, cases: str, hosts: Sequence[str], more: str, less: str) -> list[tuple[str, Mean]]:
    out = []
    for case in cases:
        for host in hosts:
            a, b = (_at(cells, case, variant).tcp[host] for variant in (more, less))
            out.append((f"{VARIANTS[more]} - {VARIANTS[less]}, case {case}, {host}", stats.paired_difference(a, b)))
    return out


def _findings(cells: Cells) -> list[Finding]:
    found = []

    def add(text: str, differences: list[tuple[str, Mean]], unit: str = "Mbit/s") -> None:
        verdict, figures = judge(differences, 4)
        found.append(Finding(text, verdict, f"{figures} {unit}"))

    for case in "ABC":
        add(
            f"hysteresis raises H1's TCP goodput in case {case}", _differences(cells, case, ["H1"], "hysteresis", "one")
        )
    one, two = _at(cells, "B", "one"), _at(cells, "B", "hysteresis")
    largest = [
        (f"gain in B - gain in {case}", stats.paired_difference(_gain_values(cells, "B"), _gain_values(cells, case)))
        for case in "AC"
    ]
    add("the gain is the largest in case B", largest, "%")
    add(
        "in case B hysteresis lowers H1's UDP goodput",
        [("one threshold - hysteresis", stats.paired_difference(one.udp["H1"], two.udp["H1"]))],
    )
    for case in "DE":
        hosts = ["H3", "H5"] if case == "E" else ["H5"]
        text = " and ".join(hosts)
        add(f"returned packets raise {text} in case {case}", _differences(cells, case, hosts, "return", "one"))
    add(
        "returned packets with hysteresis give the highest goodput of H1 in case D",
        [
            *_differences(cells, "D", ["H1"], "return-hysteresis", "one"),
            *_differences(cells, "D", ["H1"], "return-hysteresis", "return"),
        ],
    )
    add(
        "returned packets with hysteresis raise H3 and H5 in case E",
        _differences(cells, "E", ["H3", "H5"], "return-hysteresis", "one"),
    )
    return found


def _gain_values(cells: Cells, case: str) -> list[float]:
    one, two = (np.array(_at(cells, case, variant).tcp["H1"]) for variant in FIRST)
    return [float(v) for v in 100 * (two - one) / one.mean()]
