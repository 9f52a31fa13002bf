"""The findings of the paper of the study `iaas`, and what our runs say of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import LEVEL, Finding, Judged, Verdict, judge
from .common import LABELS, STUDIED, Array, Cell, Cells, at, relative

#: "Near" the fair share: within this part of it.
NEAR = 0.25
#: Below so many seeds the approximation of chi-square is poor.
LEAST_FOR_DEVIATION = 4
NOT_NEGOTIATED, NEGOTIATED_ECN, EARLY = "hosts do not negotiate ECN", "hosts negotiate ECN", "first 9 s of a run"

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
    judged = judge(near, 2)
    return [
        Finding.of(
            "Without ECN Cubic and Reno share nearly ideally (within a quarter of the fair share)",
            judged,
            "no number",
            f"near in {sum(one.low > 0 for _, one in near)} of {len(near)} cells; {judged.text}",
            f"of the fair share at {', '.join(map(str, by))} pairs: {shares['cubic']}; {shares['reno']}",
        ),
        Finding.of(
            "Without ECN BBR and Vegas are dispersed far from the fair share (more than a quarter of it)",
            judge(far, 2),
            "no number, no side",
            "Vegas lies below in every run; on which side BBR lies depends on the run's length (table below)",
            f"{shares['bbr']}; {shares['vegas']}",
        ),
        Finding.of(
            "Without ECN Cubic and Reno lie nearer to the fair share than BBR and Vegas",
            judge(nearer, 2),
            "no number",
            "BBR (version 1) keeps twice its estimate of the path in flight; Vegas gives way to a standing queue",
            f"nearest of BBR, Vegas less farthest of Cubic, Reno: {_listed(nearer, 2)}",
        ),
    ]


def _closer(none: By, red: By, of: Share) -> Finding:
    """In most cases: by how many differences lie on either side of zero, each after Holm."""
    gains = [
        (f"{n} pairs", stats.paired_difference(_distance(none[n], n, of), _distance(red[n], n, of)))
        for n in none
        if n in red
    ]
    p = (
        stats.holm([stats.p_value(one) for _, one in gains])
        if all(one.n > 1 for _, one in gains)
        else [1.0] * len(gains)
    )
    decided = sorted((value, one.mean > 0) for value, (_, one) in zip(p, gains, strict=True) if value < LEVEL)
    closer = sum(sign for _, sign in decided)
    verdict: Verdict = (
        "held"
        if 2 * closer > len(gains)
        else "not held"
        if 2 * (len(decided) - closer) > len(gains)
        else "inconclusive"
    )
    judged = Judged(verdict, "", None if verdict == "inconclusive" else max(value for value, _ in decided))
    return Finding.of(
        "With ECN and RED the shares come closer to one another in most cases",
        judged,
        "no number",
        f"BBR version 1 answers neither marks nor these losses and has {_shares(red, of, 'bbr')} of the fair share with RED; Linux 6.1 itself does the same",
        f"mean distance from the fair share, without less with: {_listed(gains, 2)}",
    )


def _alike(red: By, of: Share) -> Finding:
    judged = judge(_off(red, of, STUDIED, -1), 2)
    return Finding.of(
        "With ECN and RED the four controls behave alike (all within a quarter of the fair share)",
        judged,
        "no number",
        "not held on Linux 6.1 either; neither round trip, length of run nor segmentation offload changes it (What if), and the paper gives no values",
        f"Jain's index {', '.join(stats.mean(cell.jain).format(2) for cell in red.values())}; {judged.text}",
    )


def _fewer_each(none: By, red: By) -> Finding:
    """A pair has less the more pairs there are."""
    steps = []
    for name, by in (("no ECN", none), ("ECN", red)):
        mean = {n: np.mean([cell.mbit[c] for c in STUDIED], axis=0) for n, cell in by.items()}
        steps += [
            (f"{name}, {a} less {b} pairs", stats.paired_difference(mean[a], mean[b]))
            for a, b in pairwise(sorted(mean))
        ]
    judged = judge(steps)
    return Finding.of(
        "A pair gets less throughput the more pairs there are",
        judged,
        "no number",
        "the link's rate is shared",
        f"{judged.text} Mbit/s",
    )


def _total(none: By, red: By) -> Finding:
    cells = [(f"{name}, {n} pairs", cell) for name, by in (("no ECN", none), ("ECN", red)) for n, cell in by.items()]
    judged = judge(
        [(f"utilisation - 0.95, {name}", stats.mean(np.array(cell.utilisation) - 0.95)) for name, cell in cells], 3
    )
    return Finding.of(
        "The link alone sets the total (over 95 % used)", judged, "no number", "no case leaves the link idle"
    )


def _dropped(red: By, as_linux: bool) -> Finding:
    drops = [(f"{n} pairs", stats.mean(cell.drops)) for n, cell in red.items()]
    judged = judge(drops, 0)
    if any(one.high < 1 for _, one in drops):  # an interval about nothing lies on zero, not below it
        judged = Judged("not held", "", 0.0)
    why = (
        "RED drops what it would mark: no host asks for ECN, which is Linux's default and what the text complains of"
        if as_linux
        else "every segment of data is ECN-capable and the limit is far; only SYNs are dropped, if any"
    )
    text = "With ECN and RED packets are still dropped, at every number of pairs"
    return Finding.of(text, judged, "no number", why, f"packets dropped in a run: {_listed(drops, 0)}")


def _chi_square(p: float, df: int) -> float:
    """A quantile of the chi-square distribution (Wilson and Hilferty 1931): ``p`` 0.025 or 0.975."""
    z = {0.025: -1.959964, 0.975: 1.959964}[p]
    part = 2 / (9 * df)
    return df * float((1 - part + z * math.sqrt(part)) ** 3)


def _deviation(none: By, red: By) -> Finding:
    """The deviation of a pair's throughput between runs, at the least number of pairs: there each control has one pair."""
    paper = 70.0
    values = {
        f"{LABELS[c]}, {name}, {min(by)} pairs": stats.mean(by[min(by)].mbit[c])
        for name, by in (("no ECN", none), ("ECN", red))
        for c in STUDIED
    }
    text = "Standard deviation of a pair's throughput between runs is about 70 Mbit/s"
    why = "the simulated hosts do not share one PC, which is where the paper's noise must come from"
    if any(one.n < LEAST_FOR_DEVIATION for one in values.values()):
        return Finding(text, "inconclusive", "too few seeds", "about 70 Mbit/s", why)
    name, most = max(values.items(), key=lambda one: one[1].sd)
    df = most.n - 1
    low, high = (most.sd * math.sqrt(df / _chi_square(p, df)) for p in (0.975, 0.025))
    verdict: Verdict = "not held" if high < paper / 2 else "held" if paper / 2 <= low else "inconclusive"
    return Finding(text, verdict, f"largest: {most.sd:.0f} [{low:.0f}, {high:.0f}] Mbit/s ({name})", "about 70 Mbit/s", why)  # fmt: skip
