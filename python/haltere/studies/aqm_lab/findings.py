"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Finding, Verdict, judge, judge_size
from .cells import LABELS, Cells, Given

_OTHERS = [name for name in LABELS if name != "pfifo_fast"]
_JAIN = {"jain_down": "downloads", "jain_up": "uploads"}
# From the best to the worst: of several verdicts the worst counts.
_ORDER: tuple[Verdict, ...] = ("held", "direction only", "inconclusive", "not held")

Named = list[tuple[str, Mean]]


def under(reading: str, cells: Cells, given: Given) -> list[Finding]:
    """The verdicts under another reading."""
    return [replace(finding, reading=reading, why="") for finding in findings(cells, given)]


def findings(cells: Cells, given: Given) -> list[Finding]:
    """All findings that these cells can test."""
    pairs = sorted({pair for pair, _ in cells if pair > 1})
    made = [
        _highest(cells, pairs),
        _close_together(cells, pairs, given),
        *(_ared_lowest(cells, pair, given) for pair in (2, 20) if pair in pairs),
        *(_fq_fairest(cells, pairs, measure) for measure in _JAIN if max(pairs) >= 10),
    ]
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


def _differences(cells: Cells, pairs: Sequence[int], measure: str, more: str, less: Sequence[str]) -> Named:
    """``more - other`` seed by seed, for each other discipline and each number of pairs."""
    return [
        (
            f"{LABELS[more]} - {LABELS[other]} at {pair} pairs",
            stats.paired_difference(cells[pair, more].of(measure), cells[pair, other].of(measure)),
        )
        for pair in pairs
        for other in less
    ]


def _lower(cells: Cells, pairs: Sequence[int], measure: str, low: str) -> Named:
    """``other - low`` seed by seed, for each other discipline and each number of pairs."""
    others = [name for name in LABELS if name != low]
    return [one for other in others for one in _differences(cells, pairs, measure, other, [low])]


def _worst(*verdicts: Verdict) -> Verdict:
    return max(verdicts, key=_ORDER.index)


def _highest(cells: Cells, pairs: Sequence[int]) -> Finding:
    verdict, ours = judge(_differences(cells, pairs, "median_rtt_ms", "pfifo_fast", _OTHERS))
    none = [str(pair) for pair in pairs if not any(cells[pair, "pfifo_fast"].drops)]
    return Finding(
        "pfifo_fast has the highest median RTT at every number of pairs",
        verdict,
        f"{ours} ms",
        "2 pairs: 218.5 ms, the others at most 83; 20 pairs: 607, at most 123",
        f"it drops at 1000 packets only: nothing with {' and '.join(none)} pairs" if none else "",
    )


def _close_together(cells: Cells, pairs: Sequence[int], given: Given) -> Finding:
    """The four are nearer to one another than pfifo_fast is to the slowest of them, by about as much as in the paper."""
    more: Named = []
    verdicts: list[Verdict] = []
    for pair in pairs:
        medians = {name: np.array(cells[pair, name].median_rtt_ms) for name in LABELS}
        block = np.array([medians[name] for name in _OTHERS])
        gap = medians["pfifo_fast"] - block.max(axis=0)
        more.append(
            (f"gap less spread at {pair} pairs", stats.paired_difference(gap, block.max(axis=0) - block.min(axis=0)))
        )
        printed = [given.of_paper("median_rtt_ms", pair, name) for name in LABELS]
        if None not in printed:
            first, *rest = [float(value) for value in printed if value is not None]
            verdicts.append(judge_size(stats.mean(gap), first - max(rest))[0])
    verdict, ours = judge(more)
    return Finding(
        "ARED, CoDel, FQ-CoDel and PIE lie close together, far below pfifo_fast",
        _worst(verdict, *verdicts),
        f"{ours} ms",
        "gap less spread: 118.5 ms (2 pairs), 446 (20)",
        "the four drop early; pfifo_fast holds whatever the windows bring",
    )


def _ared_lowest(cells: Cells, pair: int, given: Given) -> Finding:
    """At 20 pairs the text says by much: the distance to FQ-CoDel, the next, is judged too."""
    differences = _lower(cells, [pair], "median_rtt_ms", "ared")
    verdict, ours = judge(differences)
    mine, next_one = (given.of_paper("median_rtt_ms", pair, name) or 0.0 for name in ("ared", "fq_codel"))
    if pair == 20:
        to_next = stats.paired_difference(cells[pair, "fq_codel"].median_rtt_ms, cells[pair, "ared"].median_rtt_ms)
        verdict = _worst(verdict, judge_size(to_next, next_one - mine)[0])
    return Finding(
        f"ARED has the lowest median RTT at {pair} pairs" + (", by much" if pair == 20 else ""),
        verdict,
        f"{ours} ms",
        f"{mine:g} ms, the next (FQ-CoDel) {next_one:g}",
        "it drops most and sends least: its thresholds of 5 and 15 packets are fixed",
    )


# -- fairness ---------------------------------------------------------------------------------------------------------------


def _fq_fairest(cells: Cells, pairs: Sequence[int], measure: str) -> Finding:
    many = [pair for pair in pairs if pair >= 10]
    others = [name for name in LABELS if name != "fq_codel"]
    verdict, ours = judge(_differences(cells, many, measure, "fq_codel", others), 4)
    paper = {
        "jain_down": "0.9997 and 0.9998, the next 0.9984 and 0.9913",
        "jain_up": "0.9861 and 0.9641, the next 0.9648 and 0.9486",
    }
    index = stats.mean(cells[max(pairs), "fq_codel"].of(measure)).mean
    why = {
        "jain_down": "in some seeds two downloads share a sub-queue; ns-3's fixed hash keeps these flows apart",
        "jain_up": f"it shares equally among the uploads that are on; their random on times keep it at {index:.3f}",
    }
    return Finding(
        f"FQ-CoDel is the fairest to {_JAIN[measure]} with many pairs (10, 20)",
        verdict,
        ours,
        paper[measure],
        why[measure],
    )


def _codel_above_ared(cells: Cells, pairs: Sequence[int]) -> Finding:
    many = [pair for pair in pairs if pair > 2]
    verdict, ours = judge(_differences(cells, many, "jain_up", "codel", ["ared"]), 4)
    moves = stats.mean(cells[max(many), "codel"].jain_up).sd
    return Finding(
        "CoDel is a little fairer to uploads than ARED",
        verdict,
        ours,
        "by 0.0202 (5 pairs), 0.0207 (10), 0.0135 (20)",
        f"the random on times alone move the index by {moves:.3f} (standard deviation) from run to run",
    )


def _least_fair(cells: Cells, given: Given) -> Finding:
    """Downloads and uploads; the distance to the next is judged too, as the text says by much."""
    unfair: Named = []
    verdicts: list[Verdict] = []
    for measure, what in _JAIN.items():
        unfair += [(f"{name}, {what}", mean) for name, mean in _lower(cells, [20], measure, "pfifo_fast")]
        values = {name: np.array(cells[20, name].of(measure)) for name in LABELS}
        least = np.min([values[name] for name in _OTHERS], axis=0)
        printed = [given.of_paper(measure, 20, name) or 0.0 for name in LABELS]
        verdicts.append(
            judge_size(stats.paired_difference(least, values["pfifo_fast"]), min(printed[1:]) - printed[0], 4)[0]
        )
    verdict, ours = judge(unfair, 4)
    return Finding(
        "pfifo_fast is by much the least fair at 20 pairs, to downloads and to uploads",
        _worst(verdict, *verdicts),
        ours,
        "downloads 0.939, the next 0.987; uploads 0.823, the next 0.935",
        "round trips of 0.6 s: a flow meets few losses a run, and one that is spared has far more",
    )


def _fall(cells: Cells, given: Given) -> Finding:
    verdicts: list[Verdict] = []
    parts: list[str] = []
    for measure, what in _JAIN.items():
        fall = stats.paired_difference(cells[10, "pfifo_fast"].of(measure), cells[20, "pfifo_fast"].of(measure))
        printed = [given.of_paper(measure, pair, "pfifo_fast") or 0.0 for pair in (10, 20)]
        verdict, text = judge_size(fall, printed[0] - printed[1], 3)
        verdicts.append(verdict)
        parts.append(f"{what} {text}")
    drops = [stats.mean(cells[pair, "pfifo_fast"].drops).format(0) for pair in (10, 20)]
    return Finding(
        "pfifo_fast's fairness falls from 10 to 20 pairs",
        _worst(*verdicts),
        ", ".join(parts),
        "downloads 0.056, uploads 0.142",
        f"twice the windows over the same 1000 packets: {drops[0]} drops a run become {drops[1]}",
    )


# -- one pair ---------------------------------------------------------------------------------------------------------------


def _pie_like_pfifo(cells: Cells) -> Finding:
    """PIE's mean queue is nearer to pfifo_fast's than to ARED's."""
    queue: Mapping[str, np.ndarray] = {name: np.array(cells[1, name].queue_packets) for name in LABELS}
    apart = np.abs(queue["pie"] - queue["pfifo_fast"])
    verdict, _ = judge([("", stats.paired_difference(np.abs(queue["pie"] - queue["ared"]), apart))])
    drops = stats.mean(cells[1, "pie"].drops)
    to_pfifo, to_ared = stats.mean(queue["pfifo_fast"] - queue["pie"]), stats.mean(queue["pie"] - queue["ared"])
    return Finding(
        "with one pair, PIE's queue looks like pfifo_fast's (figures 2, 7)",
        verdict,
        f"mean queue: pfifo_fast - PIE = {to_pfifo.format()}, PIE - ARED = {to_ared.format()} packets",
        "by eye",
        f"the ring takes 100 of a window's 128 segments; PIE sees the rest alone: {drops.format(0)} drops a run",
    )


def _drops_at_full_ring(cells: Cells) -> Finding:
    """The text takes the limit of the ring, 100 packets, for that of pfifo_fast."""
    drops = stats.mean(cells[1, "pfifo_fast"].drops)
    verdict: Verdict = "held" if drops.low > 0 else "not held" if drops.high < 1 else "inconclusive"
    return Finding(
        "with one pair, pfifo_fast drops when 100 packets wait (figure 2)",
        verdict,
        f"{drops.format(0)} drops a run",
        "by eye",
        "the ring holds 100, the discipline above it 1000; one window is 128 segments",
    )
