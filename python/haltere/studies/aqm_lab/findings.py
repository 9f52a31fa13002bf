"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Claims, Finding, Judged, judge, judge_size, times, unfairness, weakest
from .cells import ID, LABELS, Cell, Cells, Given

_OTHERS = [name for name in LABELS if name != "pfifo_fast"]
_found = Claims(ID)
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
    why = f": nothing with {' and '.join(none)} pairs" if none else ""
    return _found("highest", judged, f"{judged.text} ms", none=why)


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
    return _found("close", weakest([judged, *sizes]), f"{judged.text} ms")


def _ared_lowest(cells: Cells, pair: int, given: Given) -> Finding:
    """At 20 pairs the text says by much: the distance to FQ-CoDel, the next, is judged too."""
    judged = judge(_less(cells, "median_rtt_ms", [(pair, other, "ared") for other in _OTHERS if other != "ared"]))
    mine, after = (given.of_paper("median_rtt_ms", pair, name) or 0.0 for name in ("ared", "fq_codel"))
    ours, much = f"{judged.text} ms", ""
    if pair == 20:
        ((_, gap),) = _less(cells, "median_rtt_ms", [(pair, "fq_codel", "ared")])
        judged, much = weakest([judged, judge_size(gap, after - mine)]), ", by much"
    return _found("ared", judged, ours, pair=pair, much=much, mine=mine, after=after)


def _rises(cells: Cells, given: Given) -> Finding:
    """From 2 to 20 pairs, by about as much more than ARED's as in the paper."""
    rise = {name: np.subtract(cells[20, name].median_rtt_ms, cells[2, name].median_rtt_ms) for name in _OTHERS}
    printed = {n: [given.of_paper("median_rtt_ms", pair, n) or 0 for pair in (2, 20)] for n in _OTHERS}
    paper = {name: after - before for name, (before, after) in printed.items()}
    more = {name: stats.paired_difference(rise[name], rise["ared"]) for name in _OTHERS if name != "ared"}
    judged = weakest([judge_size(value, paper[name] - paper["ared"]) for name, value in more.items()])
    shown = ", ".join(f"{LABELS[name]} {paper[name] - paper['ared']:g}" for name in more)
    ours = ", ".join(f"{LABELS[name]} {value.format(1)}" for name, value in more.items()) + " ms more"
    return _found("rises", judged, ours, paper=shown)


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
    decided = [one for one in named if one[0] in judged.text]
    return judged._replace(text=f"least: {decided[0][0]}: {times(decided[0][1])} as fair") if decided else judged


def _fq_fairest(cells: Cells, pairs: Sequence[int], measure: str) -> Finding:
    at = [(n, "fq_codel", other) for n in pairs if n >= 10 for other in LABELS if other != "fq_codel"]
    deep = stats.mean(cells[10, "pfifo_fast"].jain_down).format(4) if (10, "pfifo_fast") in cells else "–"
    up = stats.mean(cells[max(pairs), "fq_codel"].jain_up).mean
    return _found(f"fq_{measure}", _judged_fairer(_fairer(cells, measure, at)), deep=deep, up=up)


def _codel_above_ared(cells: Cells, pairs: Sequence[int]) -> Finding:
    many = [pair for pair in pairs if pair > 2]
    moves = stats.mean(cells[max(many), "codel"].jain_up).sd
    return _found("codel", _judged_fairer(_fairer(cells, "jain_up", [(n, "codel", "ared") for n in many])), moves=moves)


def _least_fair(cells: Cells, given: Given) -> Finding:
    """Downloads and uploads; the distance to the next is judged too, as the text says by much."""
    named, sizes = [], []
    for measure, what in _JAIN.items():
        each = _fairer(cells, measure, [(20, other, "pfifo_fast") for other in _OTHERS])
        named += [(f"{name}, {what}", value) for name, value in each]
        others = np.max([unfairness(cells[20, name].of(measure)) for name in _OTHERS], axis=0)
        first, *rest = unfairness([given.of_paper(measure, 20, name) or 0.0 for name in LABELS])
        away = stats.mean(unfairness(cells[20, "pfifo_fast"].of(measure)) - others)
        sizes.append(judge_size(away, first - max(rest)))
    judged = _judged_fairer(named)
    return _found("least_fair", weakest([judged, *sizes]), judged.text)


def _fall(cells: Cells, given: Given) -> Finding:
    sizes, parts = [], []
    for measure, what in _JAIN.items():
        before, after = (unfairness(cells[n, "pfifo_fast"].of(measure)) for n in (10, 20))
        theirs = unfairness([given.of_paper(measure, n, "pfifo_fast") or 0.0 for n in (10, 20)])
        grown = stats.mean(after - before)
        sizes.append(judge_size(grown, float(theirs[1] - theirs[0])))
        parts.append(f"{what} {times(grown)}")
    drops = [stats.mean(cells[pair, "pfifo_fast"].drops).format(0) for pair in (10, 20)]
    return _found("fall", weakest(sizes), ", ".join(parts), before=drops[0], after=drops[1])


def three_bands(ours: Cell, drop_tail: Cell) -> Finding:
    """The text's cause of pfifo_fast's unfairness, against a queue of 1000 packets without bands."""
    ours = ours.first(len(drop_tail.drops))
    first, second = (
        ", ".join(f"{what} {stats.mean(cell.of(m)).format(4)}" for m, what in _JAIN.items())
        for cell in (ours, drop_tail)
    )
    if ours.jain_up == drop_tail.jain_up and ours.jain_down == drop_tail.jain_down:
        why = "all packets have one priority, so one band is used: drop tail of 1000 packets gives the same runs"
        return _found("bands", Judged("not held", f"without bands the same index in every seed: {second}"), why=why)
    apart = Judged("inconclusive", f"{first}; without bands {second}")
    return _found("bands", apart, why="the two queues differ in some seed")


# -- one pair ---------------------------------------------------------------------------------------------------------------


def _pie_like_pfifo(cells: Cells) -> Finding:
    """PIE's mean queue is nearer to pfifo_fast's than to ARED's."""
    queue = {name: np.array(cells[1, name].queue_packets) for name in LABELS}
    apart = [queue["pfifo_fast"] - queue["pie"], queue["pie"] - queue["ared"]]
    judged = judge([("", stats.paired_difference(np.abs(apart[1]), np.abs(apart[0])))])
    shown = [stats.mean(one).format() for one in apart]
    ours = f"mean queue: pfifo_fast - PIE = {shown[0]}, PIE - ARED = {shown[1]} packets"
    return _found("pie", judged, ours, drops=stats.mean(cells[1, "pie"].drops).format(0))


def _drops_at_full_ring(cells: Cells) -> Finding:
    """The text takes the limit of the ring, 100 packets, for that of pfifo_fast."""
    drops = stats.mean(cells[1, "pfifo_fast"].drops)
    verdict = "not held" if drops.high < 1 else judge([("", drops)]).verdict
    return _found("full_ring", Judged(verdict, f"{drops.format(0)} drops a run"))
