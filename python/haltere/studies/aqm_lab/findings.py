"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Finding, Judged, judge, judge_size, times, unfairness, weakest
from .cells import LABELS, Cell, Cells, Given

_OTHERS = [name for name in LABELS if name != "pfifo_fast"]
_JAIN = {"jain_down": "downloads", "jain_up": "uploads"}

Named = list[tuple[str, Mean]]


def under(reading: str, cells: Cells, given: Given) -> list[Finding]:
    """The verdicts under another reading."""
    return [replace(finding, reading=reading, why="") for finding in findings(cells, given)]


def findings(cells: Cells, given: Given) -> list[Finding]:
    """All findings that these cells can test."""
    pairs = sorted({pair for pair, _ in cells if pair > 1})
    made = [_highest(cells, pairs), _close_together(cells, pairs, given)]
    made += [_ared_lowest(cells, pair, given) for pair in (2, 20) if pair in pairs]
    if {2, 20} <= set(pairs):
        made.append(_rises(cells, given))
    if max(pairs) >= 10:
        made += [_fq_fairest(cells, pairs, measure) for measure in _JAIN]
    if max(pairs) > 2:
        made.append(_codel_above_ared(cells, pairs))
    if 20 in pairs:
        made.append(_least_fair(cells, given))
    if {10, 20} <= set(pairs):
        made.append(_fall(cells, given))
    if (1, "pie") in cells:
        made += [_pie_like_pfifo(cells), _drops_at_full_ring(cells)]
    return made


# -- round-trip times -------------------------------------------------------------------------------------------------------


def _less(cells: Cells, measure: str, at: Iterable[tuple[int, str, str]]) -> Named:
    """For each number of pairs and two disciplines the first's measure less the second's, seed by seed."""
    return [
        (
            f"{LABELS[a]} - {LABELS[b]} at {n} pairs",
            stats.paired_difference(cells[n, a].of(measure), cells[n, b].of(measure)),
        )
        for n, a, b in at
    ]


def _highest(cells: Cells, pairs: Sequence[int]) -> Finding:
    judged = judge(_less(cells, "median_rtt_ms", [(n, "pfifo_fast", other) for n in pairs for other in _OTHERS]))
    none = [str(pair) for pair in pairs if not any(cells[pair, "pfifo_fast"].drops)]
    return Finding.of(
        "pfifo_fast has the highest median RTT at every number of pairs",
        judged,
        "2 pairs: 218.5 ms, the others at most 83; 20 pairs: 607, at most 123",
        f"it drops at 1000 packets only: nothing with {' and '.join(none)} pairs"
        if none
        else "it drops at 1000 packets only",
        f"{judged.text} ms",
    )


def _close_together(cells: Cells, pairs: Sequence[int], given: Given) -> Finding:
    """The four are nearer to one another than pfifo_fast is to the slowest of them, by about as much as in the paper."""
    more: Named = []
    sizes: list[Judged] = []
    for pair in pairs:
        block = np.array([cells[pair, name].median_rtt_ms for name in _OTHERS])
        gap, spread = np.array(cells[pair, "pfifo_fast"].median_rtt_ms) - block.max(axis=0), np.ptp(block, axis=0)
        more.append((f"gap less spread at {pair} pairs", stats.paired_difference(gap, spread)))
        first, *rest = (given.of_paper("median_rtt_ms", pair, name) for name in LABELS)
        if first is not None:
            sizes.append(judge_size(stats.mean(gap), first - max(value or 0.0 for value in rest)))
    judged = judge(more)
    return Finding.of(
        "ARED, CoDel, FQ-CoDel and PIE lie close together, far below pfifo_fast",
        weakest([judged, *sizes]),
        "gap less spread: 118.5 ms (2 pairs), 446 (20)",
        "the four drop early; pfifo_fast holds whatever the windows bring",
        f"{judged.text} ms",
    )


def _ared_lowest(cells: Cells, pair: int, given: Given) -> Finding:
    """At 20 pairs the text says by much: the distance to FQ-CoDel, the next, is judged too."""
    judged = judge(_less(cells, "median_rtt_ms", [(pair, other, "ared") for other in _OTHERS if other != "ared"]))
    mine, after = (given.of_paper("median_rtt_ms", pair, name) or 0.0 for name in ("ared", "fq_codel"))
    ours, verdict = f"{judged.text} ms", judged
    if pair == 20:
        ((_, gap),) = _less(cells, "median_rtt_ms", [(pair, "fq_codel", "ared")])
        verdict = weakest([judged, judge_size(gap, after - mine)])
    return Finding.of(
        f"ARED has the lowest median RTT at {pair} pairs" + (", by much" if pair == 20 else ""),
        verdict,
        f"{mine:g} ms, the next (FQ-CoDel) {after:g}",
        "it drops most and sends least: its thresholds of 5 and 15 packets are fixed",
        ours,
    )


def _rises(cells: Cells, given: Given) -> Finding:
    """From 2 to 20 pairs, by about as much more than ARED's as in the paper."""
    rise = {name: np.subtract(cells[20, name].median_rtt_ms, cells[2, name].median_rtt_ms) for name in _OTHERS}
    paper = {
        name: (given.of_paper("median_rtt_ms", 20, name) or 0) - (given.of_paper("median_rtt_ms", 2, name) or 0)
        for name in _OTHERS
    }
    more = {name: stats.paired_difference(rise[name], rise["ared"]) for name in _OTHERS if name != "ared"}
    return Finding.of(
        "CoDel, FQ-CoDel and PIE do not keep the RTT from rising with the number of pairs (more than ARED)",
        weakest([judge_size(value, paper[name] - paper["ared"]) for name, value in more.items()]),
        ", ".join(f"{LABELS[name]} {paper[name] - paper['ared']:g}" for name in more) + " ms more from 2 to 20 pairs",
        "their targets are delays of 5 and 15 ms with room for a burst; ARED's are packets",
        ", ".join(f"{LABELS[name]} {value.format(1)}" for name, value in more.items()) + " ms more",
    )


# -- fairness: by 1 less the index, on a logarithmic scale ---------------------------------------------------------------------


def _fairer(cells: Cells, measure: str, at: Iterable[tuple[int, str, str]]) -> Named:
    """For each number of pairs and two disciplines how much fairer the first is: log10 of the ratio of 1 - Jain's index."""
    return [
        (
            f"{LABELS[a]} over {LABELS[b]} at {n} pairs",
            stats.mean(unfairness(cells[n, b].of(measure)) - unfairness(cells[n, a].of(measure))),
        )
        for n, a, b in at
    ]


def _judged_fairer(named: Named) -> Judged:
    """With the deciding ratio as a factor."""
    judged = judge(named)
    decisive = next((value for name, value in named if name in judged.text), None)
    name = next((name for name, _ in named if name in judged.text), "")
    return judged if decisive is None else judged._replace(text=f"least: {name}: {times(decisive)} as fair")


def _fq_fairest(cells: Cells, pairs: Sequence[int], measure: str) -> Finding:
    others = [name for name in LABELS if name != "fq_codel"]
    judged = _judged_fairer(
        _fairer(cells, measure, [(n, "fq_codel", other) for n in pairs if n >= 10 for other in others])
    )
    paper = {
        "jain_down": "0.9997 and 0.9998, the next 0.9984 and 0.9913: 5 and 43 times",
        "jain_up": "0.9861 and 0.9641, the next 0.9648 and 0.9486: 2.5 and 1.4 times",
    }
    up = stats.mean(cells[max(pairs), "fq_codel"].jain_up).mean
    deep = stats.mean(cells[10, "pfifo_fast"].jain_down) if (10, "pfifo_fast") in cells else None
    why = {
        "jain_down": "two downloads that share a sub-queue are not all: with 65,536 sub-queues (What if) the verdict is the same, since our pfifo_fast is "
        f"as fair at 10 pairs ({deep.format(4) if deep else '–'}; ns-3 0.9948 ± 0.0046)",
        "jain_up": f"it shares equally among the uploads that are on; their random on times keep it at {up:.3f}",
    }
    return Finding.of(
        f"FQ-CoDel is the fairest to {_JAIN[measure]} with many pairs (10, 20)", judged, paper[measure], why[measure]
    )


def _codel_above_ared(cells: Cells, pairs: Sequence[int]) -> Finding:
    many = [pair for pair in pairs if pair > 2]
    moves = stats.mean(cells[max(many), "codel"].jain_up).sd
    return Finding.of(
        "CoDel is a little fairer to uploads than ARED",
        _judged_fairer(_fairer(cells, "jain_up", [(n, "codel", "ared") for n in many])),
        "by 0.0202 (5 pairs), 0.0207 (10), 0.0135 (20)",
        f"the random on times alone move the index by {moves:.3f} (standard deviation) from run to run",
    )


def _least_fair(cells: Cells, given: Given) -> Finding:
    """Downloads and uploads; the distance to the next is judged too, as the text says by much."""
    named, sizes = [], []
    for measure, what in _JAIN.items():
        named += [
            (f"{name}, {what}", value)
            for name, value in _fairer(cells, measure, [(20, other, "pfifo_fast") for other in _OTHERS])
        ]
        others = np.max([unfairness(cells[20, name].of(measure)) for name in _OTHERS], axis=0)
        first, *rest = unfairness([given.of_paper(measure, 20, name) or 0.0 for name in LABELS])
        sizes.append(
            judge_size(stats.mean(unfairness(cells[20, "pfifo_fast"].of(measure)) - others), first - max(rest))
        )
    judged = _judged_fairer(named)
    return Finding.of(
        "pfifo_fast is by much the least fair at 20 pairs, to downloads and to uploads",
        weakest([judged, *sizes]),
        "downloads 0.939, the next 0.987; uploads 0.823, the next 0.935",
        "round trips of 0.6 s: a flow meets few losses a run, and one that is spared has far more",
        judged.text,
    )


def _fall(cells: Cells, given: Given) -> Finding:
    sizes, parts = [], []
    for measure, what in _JAIN.items():
        (before, after), printed = (unfairness(cells[n, "pfifo_fast"].of(measure)) for n in (10, 20)), [given.of_paper(measure, n, "pfifo_fast") or 0.0 for n in (10, 20)]  # fmt: skip
        theirs = unfairness(printed)
        sizes.append(judge_size(stats.mean(after - before), float(theirs[1] - theirs[0])))
        parts.append(f"{what} {times(stats.mean(after - before))}")
    drops = [stats.mean(cells[pair, "pfifo_fast"].drops).format(0) for pair in (10, 20)]
    return Finding.of(
        "pfifo_fast's fairness falls from 10 to 20 pairs",
        weakest(sizes),
        "1 - index grows: downloads 12.9 times, uploads 5.0",
        f"twice the windows over the same 1000 packets: {drops[0]} drops a run become {drops[1]}",
        ", ".join(parts),
    )


def three_bands(ours: Cell, drop_tail: Cell) -> Finding:
    """The text's cause of pfifo_fast's unfairness, against a queue of 1000 packets without bands."""
    ours = ours.first(len(drop_tail.drops))
    same = ours.jain_up == drop_tail.jain_up and ours.jain_down == drop_tail.jain_down
    text = "pfifo_fast is unfair because it has three bands"
    shown = [
        ", ".join(f"{what} {stats.mean(cell.of(m)).format(4)}" for m, what in _JAIN.items())
        for cell in (ours, drop_tail)
    ]
    if same:
        why = "all packets have one priority, so one band is used: drop tail of 1000 packets gives the same runs"
        return Finding(text, "not held", f"without bands the same index in every seed: {shown[1]}", "in words", why)
    return Finding(
        text, "inconclusive", f"{shown[0]}; without bands {shown[1]}", "in words", "the two queues differ in some seed"
    )


# -- one pair ---------------------------------------------------------------------------------------------------------------


def _pie_like_pfifo(cells: Cells) -> Finding:
    """PIE's mean queue is nearer to pfifo_fast's than to ARED's."""
    queue = {name: np.array(cells[1, name].queue_packets) for name in LABELS}
    apart = np.abs(queue["pie"] - queue["pfifo_fast"])
    to_pfifo, to_ared = stats.mean(queue["pfifo_fast"] - queue["pie"]), stats.mean(queue["pie"] - queue["ared"])
    return Finding.of(
        "with one pair, PIE's queue looks like pfifo_fast's (figures 2, 7)",
        judge([("", stats.paired_difference(np.abs(queue["pie"] - queue["ared"]), apart))]),
        "by eye",
        f"the ring takes 100 of a window's 128 segments; PIE sees the rest alone: {stats.mean(cells[1, 'pie'].drops).format(0)} drops a run",
        f"mean queue: pfifo_fast - PIE = {to_pfifo.format()}, PIE - ARED = {to_ared.format()} packets",
    )


def _drops_at_full_ring(cells: Cells) -> Finding:
    """The text takes the limit of the ring, 100 packets, for that of pfifo_fast."""
    drops = stats.mean(cells[1, "pfifo_fast"].drops)
    none = drops.high < 1
    return Finding(
        "with one pair, pfifo_fast drops when 100 packets wait (figure 2)",
        "not held" if none else judge([("", drops)]).verdict,
        f"{drops.format(0)} drops a run",
        "by eye",
        "the ring holds 100, the discipline above it 1000; one window is 128 segments",
    )
