"""The study `aqm-lab`: pfifo_fast, ARED, CoDel, FQ-CoDel and PIE under 2, 5, 10 and 20 pairs of two-way TCP.

Source: P. H. Dornelas Almeida, "Laboratorio Casa 02", Universidade de Brasilia. `papers/aqm-lab/README.md` says what the paper
leaves open and how it is read here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..analysis import measures, stats
from ..analysis.stats import Mean
from ..api import Scenario
from ..errors import InputError
from ..report import plot
from ..report.document import Document, Figure, Heading, Table, Text
from ..runs.results import Results
from .base import Finding, Options, Outcome, data, expected, findings_table, judge

__all__ = ["reproduce"]

ID = "aqm-lab"
COUNT = "traffic[0].count"
QUEUE = "topology.chain.links[1].queue"
LABELS = {"pfifo_fast": "pfifo_fast", "ared": "ARED", "codel": "CoDel", "fq_codel": "FQ-CoDel", "pie": "PIE"}
WATCHED = "n2>n3"
# A median within this part of ns-3's, and an index within this distance of it, counts as inside.
RTT_PART, JAIN_DISTANCE = 0.15, 0.03

Cells = dict[tuple[int, str], "Cell"]


@dataclass
class Cell:
    """One number of pairs under one discipline: one value a seed in each list."""

    median_rtt_ms: list[float] = field(default_factory=list)
    p95_rtt_ms: list[float] = field(default_factory=list)
    jain_up: list[float] = field(default_factory=list)
    jain_down: list[float] = field(default_factory=list)
    goodput_mbit: list[float] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    queue_packets: list[float] = field(default_factory=list)


def _discipline(queue: Mapping[str, Any]) -> str:
    return "ared" if queue["kind"] == "red" else str(queue["kind"])


def _scenario(options: Options) -> tuple[Scenario, str]:
    """The experiment, and what `--quick` leaves out of it."""
    variant = options.variant or "ns3"
    if variant not in ("ns3", "linux"):
        raise InputError(f"variant must be `ns3` or `linux`, got `{variant}`")
    scenario = Scenario.load(data(ID) / f"{variant}.toml")
    if not options.quick:
        return scenario, ""
    left = "5 and 10 pairs; 7 of 10 seeds" if options.seeds is None else "5 and 10 pairs"
    return scenario.with_values({"sweep": {**scenario.to_dict()["sweep"], COUNT: [2, 20]}}), left


def _measure(results: Results) -> Cells:
    cells: Cells = {}
    for run in results.runs:
        point = results.points[run.point]
        cell = cells.setdefault((int(point.labels[COUNT]), _discipline(point.labels[QUEUE])), Cell())
        one = measures.Run(results, run)
        cell.jain_up.append(stats.jain(one.goodput_mbit("pair", sender="n1")))
        cell.jain_down.append(stats.jain(one.goodput_mbit("pair", sender="n3")))
        cell.goodput_mbit.append(float(one.goodput_mbit("pair").sum()))
        rtt = one.ping_ms()
        cell.median_rtt_ms.append(stats.percentile(rtt, 50))
        cell.p95_rtt_ms.append(stats.percentile(rtt, 95))
        cell.drops.append(float(sum(one.drops(link) for link in ("n2>n3", "n3>n2"))))
        cell.queue_packets.append(one.mean_queue_packets(WATCHED))
    return cells


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    scenario, left_out = _scenario(options)
    seeds = options.seeds if options.seeds is not None else (3 if options.quick else None)
    results = scenario.run(seeds=seeds, jobs=options.jobs, out=options.out, quiet=options.quiet)
    given = expected(ID)
    cells = _measure(results)
    pairs = sorted({pair for pair, _ in cells})
    ns3 = (options.variant or "ns3") == "ns3"
    document = Document(f"aqm-lab: {scenario.title}")
    seconds = measures.seconds(results.points[0].scenario)
    document.add(
        Text(
            f"{len(results.seeds)} seeds of {seconds:.0f} s for each of {len(cells)} cells. Ours: mean over the seeds with its 95 % interval. "
            "Paper: one run. ns-3: ns-3 3.37 with the study's own set-up, mean of three runs."
        )
    )
    if left_out:
        document.add(Text(f"Left out by --quick: {left_out}."))
    findings = _findings(cells, pairs, given)
    document.add(Heading("Tables"), *_paper_tables(cells, pairs, given), _more(cells, pairs))
    if ns3:
        document.add(_inside(cells, pairs, given))
    document.add(Heading("Figures"), *_figures(results, cells, pairs, given))
    document.add(Heading("Findings"), findings_table(findings))
    return Outcome(ID, document, findings, left_out)


# -- tables ---------------------------------------------------------------------------------------------------------------


def _reference(given: Mapping[str, Any], source: str, measure: str, pairs: int, discipline: str) -> float | None:
    row = given[source].get(measure, {}).get(str(pairs))
    return None if row is None else float(row[given["disciplines"].index(discipline)])


def _beside(
    name: str, title: str, measure: str, digits: int, cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]
) -> Table:
    """Ours, the paper's and ns-3's numbers, one row each for every number of pairs."""
    rows = []
    for pair in pairs:
        ours = [stats.mean(getattr(cells[pair, d], measure)).format(digits) for d in given["disciplines"]]
        rows.append([str(pair), "ours", *ours])
        for source, label in (("paper", "paper"), ("ns3", "ns-3")):
            values = [_reference(given, source, measure, pair, d) for d in given["disciplines"]]
            if any(v is not None for v in values):
                rows.append(["", label, *("–" if v is None else f"{v:.{digits}f}" for v in values)])
    return Table(name, title, ["pairs", "source", *(LABELS[d] for d in given["disciplines"])], rows, left=2)


def _paper_tables(cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]) -> list[Table]:
    return [
        _beside("table1", "Table I: Jain's index of the downloads", "jain_down", 4, cells, pairs, given),
        _beside("table2", "Table II: Jain's index of the uploads", "jain_up", 4, cells, pairs, given),
        _beside("table3", "Table III: median ping RTT (ms)", "median_rtt_ms", 1, cells, pairs, given),
    ]


def _more(cells: Cells, pairs: Sequence[int]) -> Table:
    rows = []
    for pair in pairs:
        for discipline, label in LABELS.items():
            cell = cells[pair, discipline]
            row = [
                stats.mean(v).format(d)
                for v, d in ((cell.p95_rtt_ms, 1), (cell.goodput_mbit, 2), (cell.drops, 0), (cell.queue_packets, 1))
            ]
            rows.append([str(pair), label, *row])
    columns = [
        "pairs",
        "queue",
        "p95 RTT (ms)",
        "goodput both ways (Mbit/s)",
        "drops both ways",
        f"mean queue {WATCHED} (packets)",
    ]
    note = "The mean queue counts the discipline and the device ring under it."
    return Table("more", "What the paper does not print", columns, rows, note, left=2)


def _inside(cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]) -> Table:
    """How many cells lie near ns-3's own."""
    near_rtt = near_jain = 0
    far: list[str] = []
    for (pair, discipline), cell in sorted(cells.items()):
        theirs = _reference(given, "ns3", "median_rtt_ms", pair, discipline)
        ours = float(np.mean(cell.median_rtt_ms))
        if theirs is not None and abs(ours - theirs) <= RTT_PART * theirs:
            near_rtt += 1
        else:
            far.append(f"RTT {LABELS[discipline]} {pair} pairs ({ours:.1f}, ns-3 {theirs})")
        for measure in ("jain_up", "jain_down"):
            index = _reference(given, "ns3", measure, pair, discipline)
            mine = float(np.mean(getattr(cell, measure)))
            if index is not None and abs(mine - index) <= JAIN_DISTANCE:
                near_jain += 1
            else:
                far.append(f"{measure.replace('_', ' ')} {LABELS[discipline]} {pair} pairs ({mine:.4f}, ns-3 {index})")
    rows = [
        [f"median RTT within {RTT_PART:.0%}", f"{near_rtt} of {len(cells)}", "16 of 20"],
        [f"Jain's index within {JAIN_DISTANCE}", f"{near_jain} of {2 * len(cells)}", "34 of 40"],
    ]
    note = "Outside: " + "; ".join(far) + "." if far else ""
    return Table("inside", "Against ns-3", ["measure", "inside", "wanted of the full grid"], rows, note)


# -- figures --------------------------------------------------------------------------------------------------------------


def _figures(results: Results, cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]) -> list[Figure]:
    folder = results.directory / "figures"
    made = [
        _queue_figure(results, folder / "queues", pairs[0]),
        _codel_start(results, folder / "codel-start", pairs[0]),
    ]
    made += [_rtt_figure(results, folder / f"rtt-{pair}-pairs", pair) for pair in pairs]
    made.append(_median_figure(cells, pairs, given, folder / "rtt-median"))
    made.append(_jain_figure(cells, pairs, given, folder / "jain"))
    return made


def _at(results: Results, pairs: int, discipline: str) -> list[measures.Run]:
    wanted = [
        p.index for p in results.points if p.labels[COUNT] == pairs and _discipline(p.labels[QUEUE]) == discipline
    ]
    return [measures.Run(results, run) for run in results.runs if run.point in wanted]


def _queue_figure(results: Results, stem: Any, pairs: int) -> Figure:
    """Figures 2 to 7 of the paper: the queue over time, one panel a discipline."""
    fig, panels = plot.figure(len(LABELS), 1, width=7.2, height=8.0, share=True)
    for axes, (discipline, label) in zip(panels, LABELS.items(), strict=True):
        run = _at(results, pairs, discipline)[0]
        series = run.queue(WATCHED)
        plot.line(axes, series.at_s, series.packets, "discipline", plot.PALETTE[1])
        plot.line(
            axes, series.at_s, series.ring_packets, "device ring" if run.has_ring(WATCHED) else "", plot.PALETTE[0]
        )
        plot.title(axes, label)
        axes.set_ylabel("packets")
        axes.margins(x=0.01)
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    plot.legend(fig, panels[0])
    panels[-1].set_xlabel("time (s)")
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"),
        f"Queue at {WATCHED} over time, {pairs} pairs, first seed (figures 2, 3, 4, 6 and 7 of the paper).",
    )


def _codel_start(results: Results, stem: Any, pairs: int) -> Figure:
    fig, (axes,) = plot.figure(height=2.8)
    series = _at(results, pairs, "codel")[0].queue(WATCHED)
    first = series.at_s <= 15
    plot.line(axes, series.at_s[first], series.packets[first], "discipline", plot.PALETTE[1])
    plot.line(axes, series.at_s[first], series.ring_packets[first], "device ring", plot.PALETTE[0])
    axes.set_xlabel("time (s)")
    axes.set_ylabel("packets")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    plot.legend(fig, axes)
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"), f"CoDel's queue in the first 15 s, {pairs} pairs, first seed (figure 5 of the paper)."
    )


def _rtt_figure(results: Results, stem: Any, pairs: int) -> Figure:
    """Figures 9 to 12 of the paper: ping RTT over time, all disciplines."""
    fig, (axes,) = plot.figure(height=3.4)
    shades = plot.colours(LABELS)
    for discipline, label in LABELS.items():
        runs = [run.ping_series() for run in _at(results, pairs, discipline)]
        grid = runs[0][0]
        plot.band(axes, grid, [_on_grid(grid, at, rtt) for at, rtt in runs], label, shades[discipline])
    axes.set_xlabel("time (s)")
    axes.set_ylabel("ping RTT (ms)")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plot.plain_number())
    axes.yaxis.set_minor_formatter(plot.plain_number((2, 5)))
    axes.margins(x=0.01)
    plot.legend(fig, axes)
    plot.save(fig, stem)
    number = {2: 9, 5: 10, 10: 11, 20: 12}.get(pairs)
    return Figure(
        stem.with_suffix(".png"),
        f"Ping RTT over time, {pairs} pairs: mean over seeds, band from lowest to highest (figure {number} of the paper).",
    )


def _on_grid(grid: Any, at: Any, rtt: Any) -> list[float]:
    known = {round(float(t), 3): float(v) for t, v in zip(at, rtt, strict=True)}
    return [known.get(round(float(t), 3), math.nan) for t in np.asarray(grid)]


def _bars(axes: Any, measure: str, cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]) -> None:
    series = {label: [stats.mean(getattr(cells[pair, d], measure)) for pair in pairs] for d, label in LABELS.items()}
    references = {
        name: {label: [_reference(given, source, measure, pair, d) for pair in pairs] for d, label in LABELS.items()}
        for source, name in (("paper", "paper"), ("ns3", "ns-3"))
    }
    plot.bars(axes, [f"{pair} pairs" for pair in pairs], series, references, plot.colours(series), dots=True)
    for edge in range(len(pairs) - 1):
        axes.axvline(edge + 0.5, color="#D0D0D0", linewidth=0.8)


def _median_figure(cells: Cells, pairs: Sequence[int], given: Mapping[str, Any], stem: Any) -> Figure:
    fig, (axes,) = plot.figure(height=3.4)
    _bars(axes, "median_rtt_ms", cells, pairs, given)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(plot.plain_number())
    axes.yaxis.set_minor_formatter(plot.plain_number((2, 5)))
    axes.set_ylabel("median ping RTT (ms)")
    plot.legend(fig, axes)
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"), "Median ping RTT with 95 % intervals, beside the paper's table III and ns-3."
    )


def _jain_figure(cells: Cells, pairs: Sequence[int], given: Mapping[str, Any], stem: Any) -> Figure:
    fig, panels = plot.figure(2, 1, height=5.2, share=True)
    for axes, measure, title in zip(
        panels, ("jain_down", "jain_up"), ("Downloads (table I)", "Uploads (table II)"), strict=True
    ):
        _bars(axes, measure, cells, pairs, given)
        plot.title(axes, title)
        axes.set_ylabel("Jain's index")
        axes.set_ylim(0.75, 1.012)
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return Figure(
        stem.with_suffix(".png"),
        "Jain's index with 95 % intervals, beside the paper's tables and ns-3 (the axis begins at 0.75).",
    )


# -- findings -------------------------------------------------------------------------------------------------------------


def _differences(
    cells: Cells, pairs: Sequence[int], measure: str, more: str, less: Sequence[str]
) -> list[tuple[str, Mean]]:
    """``more - other`` seed by seed, for each other discipline and each number of pairs."""
    out = []
    for pair in pairs:
        for other in less:
            ours, theirs = getattr(cells[pair, more], measure), getattr(cells[pair, other], measure)
            out.append((f"{LABELS[more]} - {LABELS[other]} at {pair} pairs", stats.paired_difference(ours, theirs)))
    return out


def _negated(differences: list[tuple[str, Mean]]) -> list[tuple[str, Mean]]:
    """The same differences the other way round."""
    out = []
    for name, d in differences:
        first, _, rest = name.partition(" - ")
        second, _, where = rest.partition(" at ")
        out.append((f"{second} - {first} at {where}", Mean(-d.mean, d.half, d.sd, d.n, d.confidence)))
    return out


def _findings(cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]) -> list[Finding]:
    others = [d for d in LABELS if d != "pfifo_fast"]
    found: list[Finding] = []

    def add(text: str, differences: list[tuple[str, Mean]], unit: str, digits: int = 1) -> None:
        verdict, figures = judge(differences, digits)
        found.append(Finding(text, verdict, f"{figures} {unit}".rstrip()))

    add(
        "pfifo_fast has the highest RTT at every number of pairs",
        _differences(cells, pairs, "median_rtt_ms", "pfifo_fast", others),
        "ms",
    )
    not_ared = [d for d in LABELS if d != "ared"]
    for pair in (2, 20):
        if pair in pairs:
            lowest = _negated(_differences(cells, [pair], "median_rtt_ms", "ared", not_ared))
            add(f"ARED has the lowest RTT at {pair} pairs", lowest, "ms")
    found.append(_close_together(cells, pairs, others))
    many = [pair for pair in pairs if pair >= 10]
    not_fq = [d for d in LABELS if d != "fq_codel"]
    for measure, what in (("jain_down", "downloads"), ("jain_up", "uploads")):
        add(
            f"FQ-CoDel is the fairest to {what} with many pairs (10, 20)",
            _differences(cells, many, measure, "fq_codel", not_fq),
            "",
            4,
        )
    for measure, what in (("jain_down", "downloads"), ("jain_up", "uploads")):
        if 20 in pairs:
            unfair = _negated(_differences(cells, [20], measure, "pfifo_fast", others))
            add(f"pfifo_fast is the least fair to {what} at 20 pairs", unfair, "", 4)
    add(
        "CoDel is fairer to uploads than ARED",
        _differences(cells, [p for p in pairs if p > 2], "jain_up", "codel", ["ared"]),
        "",
        4,
    )
    found.append(_bounded(cells, pairs, given))
    add(
        "pfifo_fast holds the longest queue",
        _differences(cells, pairs, "queue_packets", "pfifo_fast", others),
        "packets",
    )
    return found


def _close_together(cells: Cells, pairs: Sequence[int], others: Sequence[str]) -> Finding:
    """The four are nearer to one another than pfifo_fast is to the slowest of them."""
    gaps = []
    for pair in pairs:
        medians = {d: np.array(cells[pair, d].median_rtt_ms) for d in LABELS}
        block = np.array([medians[d] for d in others])
        spread = block.max(axis=0) - block.min(axis=0)
        gap = medians["pfifo_fast"] - block.max(axis=0)
        gaps.append((f"gap less spread at {pair} pairs", stats.paired_difference(gap, spread)))
    verdict, figures = judge(gaps)
    return Finding("ARED, CoDel, FQ-CoDel and PIE lie close together, far below pfifo_fast", verdict, f"{figures} ms")


def _bounded(cells: Cells, pairs: Sequence[int], given: Mapping[str, Any]) -> Finding:
    """pfifo_fast at 20 pairs is less fair than at 10, in both directions."""
    text = "pfifo_fast's fairness falls from 10 to 20 pairs"
    if not {10, 20} <= set(pairs):
        return Finding(text, "cannot be told", "10 pairs were not run")
    falls = []
    for measure, what in (("jain_down", "downloads"), ("jain_up", "uploads")):
        at = [getattr(cells[pair, "pfifo_fast"], measure) for pair in (10, 20)]
        falls.append((f"{what}, 10 less 20 pairs", stats.paired_difference(*at)))
    verdict, figures = judge(falls, 4)
    return Finding(text, verdict, figures)
