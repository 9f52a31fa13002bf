"""`dctcp-hysteresis`, what the paper leaves for later: a map of both thresholds, 10 to 100 Gbit/s, 2 to 64 senders, incast.

Findings here are ours, not the paper's: their reading is `beyond the paper`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...report import plot
from ...report.document import Document, Figure, Table, Text
from ...runs.results import Results
from ..base import Finding, judge

SENDERS = "topology.dumbbell.pairs"
UPPER = "topology.dumbbell.bottleneck.queue.upper"
FRACTION = "topology.dumbbell.bottleneck.queue.lower_fraction"
BOTTLENECK = "left>right"
SPEEDS = ("10Gbit", "40Gbit", "100Gbit")
# How far the lower threshold lies below the upper: one threshold, the paper's two, and a wider band.
BANDS = {0.0: "one threshold", 0.15: "lower 15 % below", 0.5: "lower 50 % below"}
# A pair of thresholds is good when it keeps this part of the greatest throughput seen.
KEEP = 0.99
BEYOND = "beyond the paper"

Array = NDArray[np.float64]


@dataclass
class Cell:
    """One point of a sweep: one value a seed in each list."""

    goodput: list[float] = field(default_factory=list)
    """Gbit/s of all flows."""
    delay: list[float] = field(default_factory=list)
    """Mean time that a packet waits, us (Little's law: mean queue over rate)."""
    jain: list[float] = field(default_factory=list)


def _measure(results: Results, key: Callable[[Mapping[str, Any]], Any]) -> dict[Any, Cell]:
    cells: dict[Any, Cell] = {}
    for run in results.runs:
        cell = cells.setdefault(key(results.points[run.point].labels), Cell())
        one = measures.Run(results, run)
        link = one.link(BOTTLENECK)
        rates = one.goodput_mbit()
        cell.goodput.append(float(rates.sum()) * 1e-3)
        packets_per_us = link["sent_after_warmup"] / (one.experiment.span_s * 1e6)
        cell.delay.append(float(link["mean_queue_packets"]) / packets_per_us)
        cell.jain.append(stats.jain(rates))
    return cells


def _difference(cells: Mapping[Any, Any], what: str, more: Any, less: Any) -> Mean:
    return stats.paired_difference(getattr(cells[more], what), getattr(cells[less], what))


def _verdicts(name: str, findings: Sequence[Finding]) -> Table:
    rows = [[one.text, one.ours, one.verdict] for one in findings]
    return Table(name, "Does a second threshold help?", ["question", "ours", "verdict"], rows, left=3)


# -- the map --------------------------------------------------------------------------------------------------------------


def show_map(results: Results, document: Document) -> list[Finding]:
    """Adds the map over both thresholds and the pair that waits least at full throughput."""
    cells = _measure(results, lambda labels: (int(labels[SENDERS]), int(labels[UPPER][:-1]), float(labels[FRACTION])))
    senders, uppers, fractions = (sorted({key[i] for key in cells}) for i in range(3))
    document.add(
        Text(
            "Two and eight long flows over 10 Gbit/s with a round trip of 100 us (83 packets); 0.17 C RTT is 14 packets. The first row of each map "
            "is one threshold; further down the lower threshold lies further below the upper."
        )
    )
    stem = results.directory / "figures" / "map"
    fig, panels = plot.figure(2, len(senders), width=9.6, height=5.4)
    measures_of = (("goodput", "throughput (Gbit/s)", 2), ("delay", "queueing delay (us)", 1))
    for i, (what, unit, digits) in enumerate(measures_of):
        for j, count in enumerate(senders):
            axes = panels[i * len(senders) + j]
            matrix = [[float(np.mean(getattr(cells[count, u, f], what))) for u in uppers] for f in fractions]
            below = ["one" if f == 0 else f"{f:.0%}" for f in fractions]
            plot.heat(axes, matrix, below, [str(u) for u in uppers], unit, digits)
            plot.title(axes, f"{count} senders: {unit}")
            axes.set_xlabel("upper threshold (packets)")
            axes.set_ylabel("lower, below upper")
            axes.tick_params(labelsize=8)
            for text in axes.texts:
                text.set_fontsize(6.5)
    document.add(
        plot.saved(fig, stem, "Throughput and mean queueing delay over both thresholds, means over the seeds.")
    )
    found = [_map_finding(cells, count) for count in senders]
    document.add(
        _best_table(cells, senders, uppers, fractions),
        _frontier(results, cells, senders),
        _verdicts("map-verdicts", found),
    )
    return found


def _good(cells: Mapping[Any, Cell], count: int) -> dict[tuple[int, float], float]:
    """Mean delay of the pairs that keep nearly all throughput."""
    mine = {key[1:]: cell for key, cell in cells.items() if key[0] == count}
    most = max(float(np.mean(cell.goodput)) for cell in mine.values())
    return {k: float(np.mean(c.delay)) for k, c in mine.items() if float(np.mean(c.goodput)) >= KEEP * most}


def _best(cells: Mapping[Any, Cell], count: int) -> tuple[tuple[int, float], tuple[int, float]]:
    """Of the good pairs the one that waits least, with one threshold and with two."""
    good = _good(cells, count)
    one = min((k for k in good if k[1] == 0.0), key=lambda k: good[k])
    two = min((k for k in good if k[1] > 0.0), key=lambda k: good[k])
    return one, two


def _best_table(
    cells: Mapping[Any, Cell], senders: Sequence[int], uppers: Sequence[int], fractions: Sequence[float]
) -> Table:
    rows = []
    for count in senders:
        for label, (upper, fraction) in zip(("one threshold", "two"), _best(cells, count), strict=True):
            cell = cells[count, upper, fraction]
            lower = max(1, int(upper * (1 - fraction) + 1e-6))
            figures = [stats.mean(cell.goodput).format(3), stats.mean(cell.delay).format(2)]
            rows.append([str(count), label, str(upper), str(lower), *figures])
    columns = ["senders", "marking", "upper", "lower", "throughput (Gbit/s)", "queueing delay (us)"]
    note = f"Of the pairs that keep {KEEP:.0%} of the greatest throughput, the one with the least queueing delay."
    return Table("thresholds", "What the two thresholds should be", columns, rows, note, left=2)


def _same_delay(cells: Mapping[Any, Cell], count: int, fraction: float) -> Mean:
    """Throughput with this distance of the lower threshold less that of one threshold at the same queueing delay, Gbit/s.

    What one threshold reaches at a delay between two of its points is drawn straight between them; seed by seed, mean over the upper thresholds.
    """
    uppers = sorted(key[1] for key in cells if key[0] == count and key[2] == fraction)
    one = [cells[count, upper, 0.0] for upper in uppers]
    two = [cells[count, upper, fraction] for upper in uppers]
    gains = []
    for seed in range(len(one[0].delay)):
        x, y = zip(*sorted((cell.delay[seed], cell.goodput[seed]) for cell in one), strict=True)
        more = [cell.goodput[seed] - float(np.interp(cell.delay[seed], x, y)) for cell in two]
        gains.append(float(np.mean(more)))
    return stats.mean(gains)


def _map_finding(cells: Mapping[Any, Cell], count: int) -> Finding:
    fractions = sorted({key[2] for key in cells} - {0.0})
    verdict, figures = judge([(f"lower {f:.0%} below", _same_delay(cells, count, f)) for f in fractions], 4)
    text = f"two thresholds carry more than one at the same queueing delay, {count} senders, 10 Gbit/s"
    return Finding(text, verdict, f"{figures} Gbit/s", reading=BEYOND)


def _frontier(results: Results, cells: Mapping[Any, Cell], senders: Sequence[int]) -> Figure:
    """Throughput against delay: is a pair with hysteresis above what one threshold can reach?"""
    stem = results.directory / "figures" / "frontier"
    fig, panels = plot.figure(1, len(senders), height=3.2)
    fractions = sorted({key[2] for key in cells})
    shades = plot.colours([f"{f:.0%}" for f in fractions])
    for axes, count in zip(panels, senders, strict=True):
        for fraction in fractions:
            line = sorted((k[1], c) for k, c in cells.items() if k[0] == count and k[2] == fraction)
            delay = [float(np.mean(c.delay)) for _, c in line]
            goodput = [float(np.mean(c.goodput)) for _, c in line]
            name = "one threshold" if fraction == 0 else f"lower {fraction:.0%} below"
            axes.plot(delay, goodput, "o-", markersize=3, linewidth=1.0, color=shades[f"{fraction:.0%}"], label=name)
        plot.title(axes, f"{count} senders")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plot.plain_number())
        axes.xaxis.set_minor_formatter(plot.plain_number((2, 5)))
        axes.set_xlabel("queueing delay (us)")
    panels[0].set_ylabel("throughput (Gbit/s)")
    caption = (
        "The same points as throughput against delay, one line for each distance of the lower threshold, a dot for each upper one. "
        "If two lines coincide, a second threshold has the effect of a lower single one."
    )
    return plot.saved(fig, stem, caption, panels[0], columns=3)


# -- long flows -----------------------------------------------------------------------------------------------------------


def show_fast(results: Results, document: Document) -> list[Finding]:
    """Adds throughput and delay of long flows at each speed; returns whether hysteresis helps."""
    cells = _measure(results, lambda labels: (str(labels["rate"]), int(labels[SENDERS]), float(labels[FRACTION])))
    speeds, senders = _axes(cells)
    stem = results.directory / "figures" / "fast"
    fig, panels = plot.figure(2, len(speeds), width=3.2 * max(len(speeds), 2), height=5.0)
    rows = []
    for j, speed in enumerate(speeds):
        gbit = float(speed.removesuffix("Gbit"))
        for i, (what, scale) in enumerate((("goodput", 100 / gbit), ("delay", 1.0))):
            axes = panels[i * len(speeds) + j]
            _lines(axes, cells, speed, senders, what, scale)
            plot.title(axes, speed.replace("Gbit", " Gbit/s"))
        panels[len(speeds) + j].set_xlabel("senders")
        panels[len(speeds) + j].set_ylim(bottom=0)
        for count in senders:
            for fraction in list(BANDS)[1:]:
                keys = (speed, count, fraction), (speed, count, 0.0)
                shown = [stats.mean(cells[keys[1]].goodput).format(3), _difference(cells, "goodput", *keys).format(3)]
                shown += [stats.mean(cells[keys[1]].delay).format(2), _difference(cells, "delay", *keys).format(2)]
                jain = _difference(cells, "jain", *keys).format(4)
                rows.append([speed, str(count), BANDS[fraction], *shown, jain])
    panels[0].set_ylabel("throughput (% of the rate)")
    panels[len(speeds)].set_ylabel("mean queueing delay (us)")
    columns = [
        "rate",
        "senders",
        "marking",
        "one: Gbit/s",
        "difference",
        "one: delay (us)",
        "difference",
        "Jain, difference",
    ]
    note = (
        "Differences are hysteresis less one threshold, seed by seed, with 95 % intervals. One threshold is 0.17 C RTT."
    )
    document.add(Table("fast", "Hysteresis against one threshold", columns, rows, note, left=3))
    caption = "Throughput (payload) and mean queueing delay of long flows, with 95 % intervals; round trip 100 us."
    document.add(plot.saved(fig, stem, caption, panels[0]))
    found = []
    for speed in speeds:
        found.append(
            _gain(cells, speed, senders, "goodput", "raises the throughput of long flows", 4, "Gbit/s", 0.15, 0.0)
        )
        found.append(
            _gain(cells, speed, senders, "delay", "shortens the queueing delay of long flows", 3, "us", 0.0, 0.15)
        )
    document.add(_verdicts("fast-verdicts", found))
    return found


def _gain(
    cells: Mapping[Any, Any], speed: str, senders: Sequence[int], what: str, says: str, digits: int, unit: str, more: float, less: float,
) -> Finding:  # fmt: skip
    """Whether hysteresis helps at a speed: of `what`, the band `more` less the band `less`, for every number of senders."""
    each = [(f"{n} senders", _difference(cells, what, (speed, n, more), (speed, n, less))) for n in senders]
    verdict, figures = judge(each, digits)
    return Finding(f"hysteresis {says} at {speed}/s", verdict, f"{figures} {unit}", reading=BEYOND)


def _axes(cells: Mapping[Any, Any]) -> tuple[list[str], list[int]]:
    present = {key[0] for key in cells}
    return [speed for speed in SPEEDS if speed in present], sorted({key[1] for key in cells})


def _lines(axes: Any, cells: Mapping[Any, Any], speed: str, senders: Sequence[int], what: str, scale: float) -> None:
    shades = plot.colours(BANDS.values())
    for shift, (fraction, label) in zip((-1, 0, 1), BANDS.items(), strict=True):
        each = [stats.mean(getattr(cells[speed, count, fraction], what)) for count in senders]
        x = np.array(senders) * (1 + 0.04 * shift)
        y = scale * np.array([m.mean for m in each])
        half = scale * np.nan_to_num([m.half for m in each])
        axes.errorbar(
            x, y, yerr=half, fmt="o-", markersize=3, linewidth=1.0, capsize=2, color=shades[label], label=label
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(senders), [str(count) for count in senders])
    axes.minorticks_off()


# -- incast ---------------------------------------------------------------------------------------------------------------


@dataclass
class Rounds:
    """Incast at one point: one value a seed."""

    last: list[float] = field(default_factory=list)
    """Mean over the rounds of the time until the last block is complete, ms."""
    worst: list[float] = field(default_factory=list)
    """The slowest round, ms."""
    drops: list[float] = field(default_factory=list)


def _rounds(run: measures.Run) -> Array:
    """Of each round the time from its start to its last block, ms."""
    table = run.flows.select(["group", "start_ns", "completed_ns"])
    if table["completed_ns"].null_count:
        raise ValueError("incast: every block must complete within the run; make `duration` longer")
    by_round = table.group_by("group", use_threads=False).aggregate([("start_ns", "min"), ("completed_ns", "max")])
    spans: Array = (by_round["completed_ns_max"].to_numpy() - by_round["start_ns_min"].to_numpy()) * 1e-6
    return spans


def show_incast(results: Results, document: Document) -> list[Finding]:
    """Adds how long a round of incast takes; returns whether hysteresis helps."""
    cells: dict[tuple[str, int, float], Rounds] = {}
    for run in results.runs:
        labels = results.points[run.point].labels
        cell = cells.setdefault((str(labels["rate"]), int(labels[SENDERS]), float(labels[FRACTION])), Rounds())
        one = measures.Run(results, run)
        spans = _rounds(one)
        cell.last.append(float(spans.mean()))
        cell.worst.append(float(spans.max()))
        cell.drops.append(float(one.drops(BOTTLENECK)))
    speeds, senders = _axes(cells)
    stem = results.directory / "figures" / "incast"
    fig, panels = plot.figure(1, len(speeds), width=3.2 * max(len(speeds), 2), height=3.0)
    rows = []
    for axes, speed in zip(panels, speeds, strict=True):
        _lines(axes, cells, speed, senders, "last", 1.0)
        axes.set_ylim(bottom=0)
        plot.title(axes, speed.replace("Gbit", " Gbit/s"))
        axes.set_xlabel("senders")
        for count in senders:
            one_cell = cells[speed, count, 0.0]
            differences = [_difference(cells, "last", (speed, count, f), (speed, count, 0.0)) for f in list(BANDS)[1:]]
            shown = [stats.mean(one_cell.last).format(3), stats.mean(one_cell.worst).format(3)]
            drops = stats.mean(one_cell.drops).format(0)
            rows.append([speed, str(count), *shown, *(d.format(4) for d in differences), drops])
    panels[0].set_ylabel("until the last block (ms)")
    columns = ["rate", "senders", "one: mean (ms)", "one: worst (ms)", "15 % - one", "50 % - one", "drops (one)"]
    note = "Each sender begins a block of 64 kB at once, with a new connection; ten rounds a run. Differences seed by seed, 95 % intervals."
    document.add(Table("incast", "Time until the last block of a round is complete", columns, rows, note, left=2))
    caption = "Mean time until the last block of a round is complete, with 95 % intervals."
    document.add(plot.saved(fig, stem, caption, panels[0]))
    found = [_gain(cells, speed, senders, "last", "shortens incast", 4, "ms", 0.0, 0.15) for speed in speeds]
    document.add(_verdicts("incast-verdicts", found))
    return found
