"""The findings of the paper of the study `iaas`, and what our runs say of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import LEVEL, Claims, Finding, Judged, Verdict, judge
from .cells import ID, LABELS, STUDIED, Array, Cell, Cells, at, relative

#: "Near" the fair share: within this part of it.
NEAR = 0.25
#: Below so many seeds the approximation of chi-square is poor.
LEAST_FOR_DEVIATION = 4
NOT_NEGOTIATED, NEGOTIATED_ECN, EARLY = "hosts do not negotiate ECN", "hosts negotiate ECN", "first 9 s of a run"

_found = Claims(ID)

By = dict[int, Cell]
Share = Callable[[Cell, str, int], Array]
Named = list[tuple[str, Mean]]


def findings(cells: Cells) -> list[Finding]:
    """The paper's findings in the primary reading, then the same under the other readings.

    The paper says that packets are dropped in spite of ECN. That is judged with hosts that do not ask for ECN, as Linux's do not by default: its
    text complains of the drops.
    """
    none, red, off = at(cells, "1000p"), at(cells, "red"), at(cells, "red_off")
    found = [
        *_without(none, relative),
        _closer(none, red, relative),
        _alike(red, relative),
        _fewer_each(none, red),
        _total(none, red),
    ]
    found += [_dropped(off or red, bool(off)), _deviation(none, red)]
    if off:
        found += _under(NOT_NEGOTIATED, _closer(none, off, relative), _alike(off, relative))
        found += _under(NEGOTIATED_ECN, _dropped(red, False))
    return found + _under(EARLY, *_without(none, _early), _closer(none, red, _early), _alike(red, _early))


def _under(reading: str, *found: Finding) -> list[Finding]:
    return [replace(one, reading=reading) for one in found]


def _early(cell: Cell, control: str, pairs: int) -> Array:
    return relative(cell, control, pairs, early=True)


def side(share: Mean) -> str:
    """On which side of the fair share a control lies."""
    if math.isnan(share.half) or share.low <= 1 <= share.high:
        return "at the fair share" if not math.isnan(share.half) else "one seed"
    return "above" if share.mean > 1 else "below"


def _shares(by: By, of: Share, control: str) -> str:
    return ", ".join(f"{stats.mean(of(cell, control, n)).format(2)}" for n, cell in by.items())


def _distance(cell: Cell, pairs: int, of: Share) -> Array:
    """How far the controls lie from the fair share on average, in parts of it, a value a seed."""
    return np.asarray(np.mean([np.abs(of(cell, control, pairs) - 1) for control in STUDIED], axis=0))


def _off(by: By, of: Share, controls: Iterable[str], sign: int) -> Named:
    """How much farther than `NEAR` from the fair share (sign 1), or nearer (sign -1)."""
    words = ("|{} - 1| - {}", "{1} - |{0} - 1|")[sign < 0]
    return [
        (words.format(LABELS[c], NEAR) + f" at {n} pairs", stats.mean(sign * (np.abs(of(cell, c, n) - 1) - NEAR)))
        for n, cell in by.items()
        for c in controls
    ]


def _listed(named: Named, digits: int) -> str:
    return "; ".join(f"{name} {value.format(digits)}" for name, value in named)


def _without(by: By, of: Share) -> list[Finding]:
    """How the controls lie to the fair share without ECN."""
    near, far = _off(by, of, ("cubic", "reno"), -1), _off(by, of, ("bbr", "vegas"), 1)
    nearer = []
    for n, cell in by.items():
        away = {c: np.abs(of(cell, c, n) - 1) for c in STUDIED}
        least = np.minimum(away["bbr"], away["vegas"]) - np.maximum(away["cubic"], away["reno"])
        nearer.append((f"at {n} pairs", stats.mean(least)))
    shares = {c: f"{LABELS[c]} {_shares(by, of, c)}" for c in STUDIED}
    judged, at = judge(near, 2), ", ".join(map(str, by))
    ours = f"of the fair share at {at} pairs: {shares['cubic']}; {shares['reno']}"
    within = sum(one.low > 0 for _, one in near)
    gap = f"nearest of BBR, Vegas less farthest of Cubic, Reno: {_listed(nearer, 2)}"
    return [
        _found("near", judged, ours, near=within, cells=len(near), least=judged.text),
        _found("far", judge(far, 2), f"{shares['bbr']}; {shares['vegas']}"),
        _found("nearer", judge(nearer, 2), gap),
    ]


def _closer(none: By, red: By, of: Share) -> Finding:
    """In most cases: by how many differences lie on either side of zero, each after Holm."""
    gains = [
        (f"{n} pairs", stats.paired_difference(_distance(none[n], n, of), _distance(red[n], n, of)))
        for n in none
        if n in red
    ]
    p = [1.0] * len(gains)
    if all(one.n > 1 for _, one in gains):
        p = stats.holm([stats.p_value(one) for _, one in gains])
    decided = sorted((value, one.mean > 0) for value, (_, one) in zip(p, gains, strict=True) if value < LEVEL)
    closer = sum(sign for _, sign in decided)
    verdict: Verdict = "inconclusive"
    if 2 * max(closer, len(decided) - closer) > len(gains):
        verdict = "held" if 2 * closer > len(gains) else "not held"
    judged = Judged(verdict, "", None if verdict == "inconclusive" else max(value for value, _ in decided))
    ours = f"mean distance from the fair share, without less with: {_listed(gains, 2)}"
    return _found("closer", judged, ours, bbr=_shares(red, of, "bbr"))


def _alike(red: By, of: Share) -> Finding:
    judged, index = judge(_off(red, of, STUDIED, -1), 2), [stats.mean(cell.jain).format(2) for cell in red.values()]
    return _found("alike", judged, f"Jain's index {', '.join(index)}; {judged.text}")


def _fewer_each(none: By, red: By) -> Finding:
    """A pair has less the more pairs there are."""
    steps = []
    for name, by in (("no ECN", none), ("ECN", red)):
        mean = {n: np.mean([cell.mbit[c] for c in STUDIED], axis=0) for n, cell in by.items()}
        for a, b in pairwise(sorted(mean)):
            steps.append((f"{name}, {a} less {b} pairs", stats.paired_difference(mean[a], mean[b])))
    judged = judge(steps)
    return _found("fewer", judged, f"{judged.text} Mbit/s")


def _total(none: By, red: By) -> Finding:
    cells = [(f"{name}, {n} pairs", cell) for name, by in (("no ECN", none), ("ECN", red)) for n, cell in by.items()]
    spare = [(f"utilisation - 0.95, {name}", stats.mean(np.array(cell.utilisation) - 0.95)) for name, cell in cells]
    return _found("total", judge(spare, 3))


def _dropped(red: By, as_linux: bool) -> Finding:
    drops = [(f"{n} pairs", stats.mean(cell.drops)) for n, cell in red.items()]
    judged = judge(drops, 0)
    if any(one.high < 1 for _, one in drops):  # an interval about nothing lies on zero, not below it
        judged = Judged("not held", "", 0.0)
    why = "every segment of data is ECN-capable and the limit is far; only SYNs are dropped, if any"
    if as_linux:
        why = "RED drops what it would mark: no host asks for ECN, which is Linux's default and what the text complains of"
    return _found("dropped", judged, f"packets dropped in a run: {_listed(drops, 0)}", why=why)


def _chi_square(p: float, df: int) -> float:
    """A quantile of the chi-square distribution (Wilson and Hilferty 1931): ``p`` 0.025 or 0.975."""
    z = {0.025: -1.959964, 0.975: 1.959964}[p]
    part = 2 / (9 * df)
    return df * float((1 - part + z * math.sqrt(part)) ** 3)


def _deviation(none: By, red: By) -> Finding:
    """The deviation of a pair's throughput between runs, at the least number of pairs: there each control has one pair."""
    paper = 70.0
    least = min(none)
    values = {
        f"{LABELS[c]}, {name}, {least} pairs": stats.mean(by[least].mbit[c])
        for name, by in (("no ECN", none), ("ECN", red))
        for c in STUDIED
    }
    if any(one.n < LEAST_FOR_DEVIATION for one in values.values()):
        return _found("deviation", Judged("inconclusive", "too few seeds"))
    name, most = max(values.items(), key=lambda one: one[1].sd)
    df = most.n - 1
    low, high = (most.sd * math.sqrt(df / _chi_square(p, df)) for p in (0.975, 0.025))
    verdict: Verdict = "not held" if high < paper / 2 else "held" if paper / 2 <= low else "inconclusive"
    return _found("deviation", Judged(verdict, f"largest: {most.sd:.0f} [{low:.0f}, {high:.0f}] Mbit/s ({name})"))
