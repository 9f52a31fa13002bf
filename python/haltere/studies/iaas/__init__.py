"""The study `iaas`: Cubic, Reno, BBR and Vegas share one gigabit, 4, 8 and 16 pairs, without ECN and with ECN and RED.

Source: G. Xavier, A. Schuelter, G. Koslovski, "Analise do Controle de Congestionamento TCP em Data Centers de Nuvens IaaS", UDESC.
`papers/iaas/README.md` says what the paper leaves open and how it is read here. The variant `matrix` is in :mod:`.iaas_matrix`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...api import Scenario, plan_runs, seeds_from
from ...errors import InputError
from ...report import plot
from ...report.document import Document, Figure, Heading, Table, Text
from ...runs.results import Results
from ..base import Finding, Options, Outcome, Verdict, data, findings_table, judge
from . import matrix
from .common import CASES, ID, LABELS, shorter

__all__ = ["LABELS", "reproduce"]

WATCHED = "left>right"
PAIRS, LIMIT = "topology.dumbbell.pairs", "topology.dumbbell.bottleneck.queue.limit"
DELAY = "topology.dumbbell.bottleneck.delay"
STUDIED = ("cubic", "reno", "bbr", "vegas")
SHORT = {"1bdp": "1 BDP", "1000p": "1000 packets", "red": "ECN, RED"}
NO_ECN = ("1bdp", "1000p")
# The round-trip time at which the paper is read, in milliseconds.
READ_AT_MS = 1.0
AS_READ: Mapping[str, Any] = {DELAY: ["500us"]}
# "Near" the fair share: within this part of it. A flow is starved below the second part of it.
NEAR, STARVED = 0.25, 0.01
# Payload of a full segment to what it takes on the line.
PAYLOAD = 1448 / 1514

Key = tuple[float, str, int]
Cells = dict[Key, "Cell"]


@dataclass
class Cell:
    """One round-trip time, case and number of pairs: one value a seed in each list."""

    mbit: dict[str, list[float]] = field(default_factory=dict)
    """Mean throughput of a flow of each control."""
    jain: list[float] = field(default_factory=list)
    utilisation: list[float] = field(default_factory=list)
    delay_ms: list[float] = field(default_factory=list)
    p95_delay_ms: list[float] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    retransmitted: list[float] = field(default_factory=list)
    """Percent of the segments sent."""
    marked: list[float] = field(default_factory=list)
    """Percent of the packets that the bottleneck sent."""
    starved: list[float] = field(default_factory=list)
    """Flows under 1 % of the fair share."""


def fair_mbit(pairs: int) -> float:
    """What every pair would have of one gigabit if all had the same, in Mbit/s of payload."""
    return 1000.0 * PAYLOAD / pairs


def reproduce(options: Options) -> Outcome:
    """Runs the study and writes its figures."""
    if options.variant == "matrix":
        return matrix.reproduce(options)
    if options.variant not in (None, "paper"):
        raise InputError(f"variant must be `paper` or `matrix`, got `{options.variant}`")
    return report(*_run(options))


def report(results: Results, left_out: str = "") -> Outcome:
    """What these runs show: tables, figures and verdicts."""
    cells = _measure(results)
    document = Document(f"iaas: {results.title}")
    seconds = measures.seconds(results.points[0].scenario)
    document.add(
        Text(
            f"{len(results.seeds)} seeds of {seconds:.0f} s for each of {len(cells)} cells, {len(STUDIED)} controls in equal shares. Means over the "
            f"seeds with 95 % intervals; throughput is payload. The paper gives no round-trip time: it is read at {READ_AT_MS:g} ms."
        )
    )
    if left_out:
        document.add(Text(f"Left out by --quick: {left_out}."))
    findings = _findings(cells)
    document.add(Heading("Tables"), _share_table(cells), _more_table(cells))
    document.add(Heading("Figures"), *_figures(cells, results.directory / "figures"))
    document.add(Heading("Findings"), findings_table(findings), Text(_reading(cells)))
    return Outcome(ID, document, findings, left_out)


# -- runs -----------------------------------------------------------------------------------------------------------------


def _run(options: Options) -> tuple[Results, str]:
    each = [Scenario.load(data(ID) / name) for name in ("drop_tail.toml", "red_ecn.toml")]
    seeds, left_out = options.seeds, ""
    if options.variant == "paper":
        each = [one.with_values({"sweep": {**one.to_dict()["sweep"], **AS_READ}}) for one in each]
    if options.quick:
        each = [shorter(one, AS_READ) for one in each]
        left_out = f"round-trip times other than {READ_AT_MS:g} ms; 50 of 60 s"
        if seeds is None:
            seeds, left_out = 3, f"{left_out}; 7 of 10 seeds"
    results = plan_runs(
        each,
        seeds_from(seeds, each[0].seeds),
        options.out,
        jobs=options.jobs,
        quiet=options.quiet,
        title="Cubic, Reno, BBR and Vegas share one gigabit",
        labels=[{"ecn": False}, {"ecn": True}],
    )
    return results, left_out


def _key(labels: Mapping[str, Any], scenario: Mapping[str, Any]) -> Key:
    delay = 2e3 * measures.seconds_of(scenario["topology"]["dumbbell"]["bottleneck"]["delay"])
    return round(delay, 6), "red" if labels["ecn"] else str(labels[LIMIT]), int(labels[PAIRS])


def _measure(results: Results) -> Cells:
    cells: Cells = {}
    for done in results.runs:
        point = results.points[done.point]
        key = _key(point.labels, point.scenario)
        _add(cells.setdefault(key, Cell()), measures.Run(results, done), key[2])
    return dict(sorted(cells.items(), key=lambda one: (one[0][0], list(CASES).index(one[0][1]), one[0][2])))


def by_control(run: measures.Run) -> dict[str, list[float]]:
    """The throughput of every flow in Mbit/s, by control."""
    rates: dict[str, list[float]] = {}
    for control, rate in zip(run.flows["congestion"].to_pylist(), run.goodput_mbit(), strict=True):
        rates.setdefault(str(control), []).append(float(rate))
    return rates


def _add(cell: Cell, run: measures.Run, pairs: int) -> None:
    for control, values in by_control(run).items():
        cell.mbit.setdefault(control, []).append(float(np.mean(values)))
    rates = run.goodput_mbit()
    cell.jain.append(stats.jain(rates))
    cell.starved.append(float((rates < STARVED * fair_mbit(pairs)).sum()))
    cell.utilisation.append(run.utilisation(WATCHED))
    delay = run.queue_delay_ms(WATCHED)
    cell.delay_ms.append(float(delay.mean()))
    cell.p95_delay_ms.append(stats.percentile(delay, 95))
    cell.drops.append(float(run.drops(WATCHED)))
    sent, again = (run.flows[f"{name}_after_warmup"].to_numpy().sum() for name in ("segments_sent", "retransmissions"))
    cell.retransmitted.append(100.0 * float(again) / max(float(sent), 1.0))
    cell.marked.append(100.0 * run.marks(WATCHED) / max(run.sent(WATCHED), 1))


# -- tables ---------------------------------------------------------------------------------------------------------------


def _share_table(cells: Cells) -> Table:
    rows = []
    for (rtt, case, pairs), cell in cells.items():
        shares = [stats.mean(cell.mbit[c]).format(1) for c in STUDIED]
        rows.append([f"{rtt:g} ms", CASES[case], str(pairs), f"{fair_mbit(pairs):.1f}", *shares])
    columns = ["RTT", "case", "pairs", "fair share", *(LABELS[c] for c in STUDIED)]
    return Table("shares", "Mean throughput of a pair, by control (Mbit/s)", columns, rows, left=2)


def _more_table(cells: Cells) -> Table:
    rows = []
    for (rtt, case, pairs), cell in cells.items():
        shown = (
            (cell.jain, 3),
            (cell.utilisation, 3),
            (cell.delay_ms, 2),
            (cell.p95_delay_ms, 2),
            (cell.retransmitted, 2),
            (cell.marked, 1),
            (cell.starved, 1),
        )
        rows.append([f"{rtt:g} ms", CASES[case], str(pairs), *(stats.mean(v).format(d) for v, d in shown)])
    columns = ["RTT", "case", "pairs", "Jain's index", "utilisation", "queueing delay (ms)", "its 95th percentile (ms)", "retransmitted (%)", "marked (%)", "starved flows"]  # fmt: skip
    note = f"Jain's index is over all flows. Starved: under {STARVED:.0%} of the fair share."
    return Table("more", "Fairness, queue, losses and marks", columns, rows, note, left=2)


# -- figures --------------------------------------------------------------------------------------------------------------


def _figures(cells: Cells, folder: Path) -> list[Figure]:
    at = {key: cell for key, cell in cells.items() if key[0] == READ_AT_MS}
    made = [
        _bars_figure(at, NO_ECN, folder / "figure1", "Throughput without ECN (figure 1 of the paper)"),
        _bars_figure(at, ("red",), folder / "figure2", "Throughput with ECN and RED (figure 2 of the paper)"),
    ]
    if len({key[0] for key in cells}) > 1:
        made += [_rtt_figure(cells, folder / "rtt"), _jain_figure(cells, folder / "jain")]
    return made


def _bars_figure(cells: Cells, cases: Sequence[str], stem: Path, caption: str) -> Figure:
    numbers = sorted({key[2] for key in cells})
    fig, panels = plot.figure(len(cases), len(numbers), height=0.6 + 2.3 * len(cases))
    for axes, (case, pairs) in zip(panels, ((c, n) for c in cases for n in numbers), strict=True):
        cell = cells[READ_AT_MS, case, pairs]
        for place, (control, colour) in enumerate(plot.colours(STUDIED).items()):
            value = stats.mean(cell.mbit[control])
            axes.bar(place, value.mean, width=0.7, color=colour, alpha=0.85, linewidth=0)
            if not math.isnan(value.half):
                axes.errorbar(place, value.mean, yerr=value.half, fmt="none", ecolor="#222222", elinewidth=0.9, capsize=3)  # fmt: skip
            top = value.mean + (0.0 if math.isnan(value.half) else value.half)
            axes.annotate(f"{value.mean:.3g}", (place, top), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=7.5, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5})  # fmt: skip
        axes.axhline(fair_mbit(pairs), color="#222222", linestyle="--", linewidth=1.0, label="fair share")
        axes.set_xticks(range(len(STUDIED)), [LABELS[c] for c in STUDIED])
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        # All there is, for one control alone: the same scale in every case of so many pairs.
        axes.set_ylim(0, 1.1 * fair_mbit(pairs) * len(STUDIED))
        plot.title(axes, f"{pairs} pairs" + (f", {SHORT[case]}" if len(cases) > 1 else ""))
    for row in range(len(cases)):
        panels[row * len(numbers)].set_ylabel("Mbit/s a pair")
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), f"{caption}: mean of a pair by control, with 95 % intervals; dashed: the fair share. RTT {READ_AT_MS:g} ms.")  # fmt: skip


def _rtt_figure(cells: Cells, stem: Path) -> Figure:
    rtts, numbers = sorted({key[0] for key in cells}), sorted({key[2] for key in cells})
    fig, panels = plot.figure(len(numbers), len(CASES), height=6.6, share=True)
    for axes, (pairs, case) in zip(panels, ((n, c) for n in numbers for c in CASES), strict=True):
        for control, colour in plot.colours(STUDIED).items():
            values = [stats.mean(np.array(cells[rtt, case, pairs].mbit[control]) / fair_mbit(pairs)) for rtt in rtts]
            halves = [0.0 if math.isnan(v.half) else v.half for v in values]
            axes.errorbar(rtts, [v.mean for v in values], yerr=halves, color=colour, label=LABELS[control], marker="o", markersize=3.5, linewidth=1.2, capsize=2)  # fmt: skip
        axes.axhline(1.0, color="#222222", linestyle="--", linewidth=0.9)
        axes.set_xscale("log")
        axes.set_xticks(rtts, [f"{rtt:g}" for rtt in rtts])
        axes.minorticks_off()
        plot.title(axes, f"{pairs} pairs, {SHORT[case]}")
    panels[0].set_ylim(0, 1.05 * len(STUDIED))  # one control that has everything
    for row in range(len(numbers)):
        panels[row * len(CASES)].set_ylabel("throughput / fair share")
    for axes in panels[-len(CASES) :]:
        axes.set_xlabel("RTT without queue (ms)")
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), "Throughput over the fair share (1 is fair, dashed) against the round-trip time, with 95 % intervals.")  # fmt: skip


def _jain_figure(cells: Cells, stem: Path) -> Figure:
    rtts, numbers = sorted({key[0] for key in cells}), sorted({key[2] for key in cells})
    fig, panels = plot.figure(1, len(numbers), height=2.9, share=True)
    for axes, pairs in zip(panels, numbers, strict=True):
        for (case, label), colour in zip(CASES.items(), plot.PALETTE, strict=False):
            values = [stats.mean(cells[rtt, case, pairs].jain) for rtt in rtts]
            halves = [0.0 if math.isnan(v.half) else v.half for v in values]
            axes.errorbar(rtts, [v.mean for v in values], yerr=halves, color=colour, label=label, marker="o", markersize=3.5, linewidth=1.2, capsize=2)  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(rtts, [f"{rtt:g}" for rtt in rtts])
        axes.minorticks_off()
        axes.set_xlabel("RTT without queue (ms)")
        plot.title(axes, f"{pairs} pairs")
    panels[0].set_ylim(0, 1)
    panels[0].set_ylabel("Jain's index, all flows")
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), "Jain's index over all flows against the round-trip time, with 95 % intervals.")  # fmt: skip


# -- findings -------------------------------------------------------------------------------------------------------------


def _at(cells: Cells, cases: Iterable[str]) -> list[tuple[str, int, str, Cell]]:
    """The cells at the round-trip time of the study: case, pairs, name for figures, cell."""
    wanted = set(cases)
    return [
        (case, pairs, f"{pairs} pairs, {SHORT[case]}", cell)
        for (rtt, case, pairs), cell in cells.items()
        if rtt == READ_AT_MS and case in wanted
    ]


def _relative(cell: Cell, control: str, pairs: int) -> Any:
    """Throughput of a control over the fair share, a value a seed."""
    return np.array(cell.mbit[control]) / fair_mbit(pairs)


def _distance(cell: Cell, pairs: int) -> Any:
    """How far the controls lie from the fair share on average, in parts of it, a value a seed."""
    return np.mean([np.abs(_relative(cell, control, pairs) - 1) for control in STUDIED], axis=0)


def _per_case(text: str, differences: list[tuple[str, Mean]], digits: int = 2) -> Finding:
    verdict, figures = judge(differences, digits)
    hold = sum(one.low > 0 for _, one in differences)
    return Finding(text, verdict, f"in {hold} of {len(differences)} cells; {figures} of the fair share")


def _findings(cells: Cells) -> list[Finding]:
    """The paper's findings; those without ECN for each of the buffers that it may have had."""
    found = [finding for case in NO_ECN for finding in _without(_at(cells, [case]), SHORT[case])]
    found += [_closer(cells, case) for case in NO_ECN]
    return [*found, _total(cells), _still_lost(cells)]


def _without(each: list[tuple[str, int, str, Cell]], buffer: str) -> list[Finding]:
    near = [
        (f"{NEAR} - |{LABELS[c]} - 1| at {n} pairs", stats.mean(NEAR - np.abs(_relative(cell, c, n) - 1)))
        for _, n, _, cell in each
        for c in ("cubic", "reno")
    ]
    above = [(f"BBR - {1 + NEAR} at {n} pairs", stats.mean(_relative(cell, "bbr", n) - 1 - NEAR)) for _, n, _, cell in each]  # fmt: skip
    below = [(f"{1 - NEAR} - Vegas at {n} pairs", stats.mean(1 - NEAR - _relative(cell, "vegas", n))) for _, n, _, cell in each]  # fmt: skip
    nearer = []
    for _, n, _, cell in each:
        far = {c: np.abs(_relative(cell, c, n) - 1) for c in STUDIED}
        least = np.minimum(far["bbr"], far["vegas"]) - np.maximum(far["cubic"], far["reno"])
        nearer.append((f"nearest of BBR, Vegas less farthest of Cubic, Reno at {n} pairs", stats.mean(least)))
    start = f"No ECN, {buffer}:"
    return [
        _per_case(f"{start} Cubic and Reno lie near the fair share (within a quarter)", near),
        _per_case(f"{start} Cubic and Reno lie nearer to it than BBR and Vegas", nearer),
        _per_case(f"{start} BBR lies far above it (more than a quarter)", above),
        _per_case(f"{start} Vegas lies far below it (more than a quarter)", below),
    ]


def _closer(cells: Cells, case: str) -> Finding:
    """With ECN the shares come closer in most cases: against one buffer, at each number of pairs."""
    with_ecn = {n: cell for _, n, _, cell in _at(cells, ["red"])}
    gains = [
        (f"{n} pairs", stats.paired_difference(_distance(cell, n), _distance(with_ecn[n], n)))
        for _, n, _, cell in _at(cells, [case])
    ]
    closer, farther = sum(one.low > 0 for _, one in gains), sum(one.high < 0 for _, one in gains)
    verdict: Verdict = "cannot be told"
    if 2 * closer > len(gains):
        verdict = "held"
    elif 2 * farther >= len(gains):
        verdict = "not held"
    gains_text = "; ".join(f"{name} {one.format(2)}" for name, one in gains)
    return Finding(
        f"With ECN the shares come closer to one another in most cases: than with drop tail of {SHORT[case]}",
        verdict,
        f"closer in {closer}, farther in {farther} of {len(gains)}; mean distance from the fair share, without less with ECN: {gains_text}",
    )


def _total(cells: Cells) -> Finding:
    """The link, not the number of pairs, sets the total."""
    least = [(f"utilisation - 0.95 at {name}", stats.mean(np.array(cell.utilisation) - 0.95)) for _, _, name, cell in _at(cells, CASES)]  # fmt: skip
    verdict, figures = judge(least, 3)
    return Finding("What a pair gets falls with the number of pairs; the link alone sets the total (over 95 % used)", verdict, figures)  # fmt: skip


def _still_lost(cells: Cells) -> Finding:
    drops = [(f"drops at {name}", stats.mean(cell.drops)) for _, _, name, cell in _at(cells, ["red"])]
    verdict, figures = judge(drops, 0)
    if all(one.high < 1 for _, one in drops):  # an interval about nothing lies on zero, not below it
        verdict = "not held"
    return Finding("With ECN and RED packets are still dropped", verdict, f"{figures} packets a run")


def _reading(cells: Cells) -> str:
    """What stands behind the verdicts, by the figures of these runs."""
    bbr = [stats.mean(_relative(cell, "bbr", n)) for _, n, _, cell in _at(cells, ["red"])]
    marked = [float(np.mean(cell.marked)) for _, _, _, cell in _at(cells, ["red"])]
    starved = [float(np.mean(cell.starved)) for _, _, _, cell in _at(cells, ["red"])]
    return (
        "BBR version 1 does not answer ECN marks: it goes on while the others halve to the least window. "
        f"With ECN and RED it had {min(b.mean for b in bbr):.1f} to {max(b.mean for b in bbr):.1f} times the fair share, RED marked "
        f"{min(marked):.0f} to {max(marked):.0f} % of the packets, and {min(starved):.1f} to {max(starved):.1f} flows were starved. "
        "Linux 6.1 itself does the same (papers/iaas/README.md), so what the paper saw came from its emulated world. Without ECN the buffer decides: BBR "
        "holds twice the path's packets in flight, which fills a buffer of 1 BDP and shuts the others out; a deep one leaves them room."
    )
