"""The findings of the paper of the study `iaas`, and what our runs say of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Finding, Verdict, judge
from .common import LABELS, STUDIED, Array, Cell, Cells, at, relative

#: "Near" the fair share: within this part of it.
NEAR = 0.25
#: Below so many seeds the approximation of chi-square is poor.
LEAST_FOR_DEVIATION = 4
NOT_NEGOTIATED, EARLY = "hosts do not negotiate ECN", "first 9 s of a run"

By = dict[int, Cell]
Share = Callable[[Cell, str, int], Array]


def findings(cells: Cells) -> list[Finding]:
    """The paper's findings in the primary reading, then the same under the other readings."""
    none, red, off = at(cells, "1000p"), at(cells, "red"), at(cells, "red_off")
    found = [
        *_without(none, relative, ""),
        _closer(none, red, relative, ""),
        _alike(red, relative, ""),
        _fewer_each(none, red),
        _total(none, red),
        _dropped(red, ""),
        _deviation(none, red),
    ]
    if off:
        found += [_closer(none, off, relative, NOT_NEGOTIATED), _alike(off, relative, NOT_NEGOTIATED)]
        found.append(_dropped(off, NOT_NEGOTIATED))
    return [*found, *_without(none, _early, EARLY), _closer(none, red, _early, EARLY), _alike(red, _early, EARLY)]


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


def _without(by: By, of: Share, reading: str) -> list[Finding]:
    """How the controls lie to the fair share without ECN."""
    near = [
        (f"{NEAR} - |{LABELS[c]} - 1| at {n} pairs", stats.mean(NEAR - np.abs(of(cell, c, n) - 1)))
        for n, cell in by.items()
        for c in ("cubic", "reno")
    ]
    far = [
        (f"|{LABELS[c]} - 1| - {NEAR} at {n} pairs", stats.mean(np.abs(of(cell, c, n) - 1) - NEAR))
        for n, cell in by.items()
        for c in ("bbr", "vegas")
    ]
    nearer = []
    for n, cell in by.items():
        away = {c: np.abs(of(cell, c, n) - 1) for c in STUDIED}
        least = np.minimum(away["bbr"], away["vegas"]) - np.maximum(away["cubic"], away["reno"])
        nearer.append((f"at {n} pairs", stats.mean(least)))
    pairs = "4, 8, 16 pairs" if len(by) == 3 else f"{', '.join(map(str, by))} pairs"
    ours = [f"{LABELS[c]} {_shares(by, of, c)}" for c in STUDIED]
    hold = sum(one.low > 0 for _, one in near)
    return [
        Finding(
            "Without ECN Cubic and Reno share nearly ideally (within a quarter of the fair share)",
            judge(near, 2)[0],
            f"of the fair share at {pairs}: {ours[0]}; {ours[1]}",
            "no number",
            f"near in {hold} of {len(near)} cells; {judge(near, 2)[1]}",
            reading,
        ),
        Finding(
            "Without ECN BBR and Vegas are dispersed far from the fair share (more than a quarter of it)",
            judge(far, 2)[0],
            f"{ours[2]}; {ours[3]}",
            "no number, no side",
            "Vegas lies below in every run; on which side BBR lies depends on the run's length (table below)",
            reading,
        ),
        Finding(
            "Without ECN Cubic and Reno lie nearer to the fair share than BBR and Vegas",
            judge(nearer, 2)[0],
            "nearest of BBR, Vegas less farthest of Cubic, Reno: " + "; ".join(f"{k} {m.format(2)}" for k, m in nearer),
            "no number",
            "BBR (version 1) keeps twice its estimate of the path in flight; Vegas gives way to a standing queue",
            reading,
        ),
    ]


def _most(gains: Sequence[tuple[str, Mean]]) -> Verdict:
    """A finding `in most cases`: by how many intervals lie on either side of zero."""
    closer, farther = sum(one.low > 0 for _, one in gains), sum(one.high < 0 for _, one in gains)
    if 2 * closer > len(gains):
        return "held"
    return "not held" if 2 * farther >= len(gains) else "inconclusive"


def _closer(none: By, red: By, of: Share, reading: str) -> Finding:
    gains = [
        (f"{n} pairs", stats.paired_difference(_distance(none[n], n, of), _distance(red[n], n, of)))
        for n in none
        if n in red
    ]
    return Finding(
        "With ECN and RED the shares come closer to one another in most cases",
        _most(gains),
        "mean distance from the fair share, without less with: " + "; ".join(f"{k} {m.format(2)}" for k, m in gains),
        "no number",
        "BBR version 1 answers neither marks nor these losses and has "
        f"{_shares(red, of, 'bbr')} of the fair share with RED; Linux 6.1 itself does the same",
        reading,
    )


def _alike(red: By, of: Share, reading: str) -> Finding:
    near = [
        (f"{NEAR} - |{LABELS[c]} - 1| at {n} pairs", stats.mean(NEAR - np.abs(of(cell, c, n) - 1)))
        for n, cell in red.items()
        for c in STUDIED
    ]
    verdict, decided = judge(near, 2)
    return Finding(
        "With ECN and RED the four controls behave alike (all within a quarter of the fair share)",
        verdict,
        f"Jain's index {', '.join(stats.mean(cell.jain).format(2) for cell in red.values())}"
        if not reading or reading == NOT_NEGOTIATED
        else decided,
        "no number",
        "not explained; Mininet passes units of up to 64 kB (segmentation offload), which this study does not have",
        reading,
    )


def _fewer_each(none: By, red: By) -> Finding:
    """A pair has less the more pairs there are."""
    steps = []
    for name, by in (("no ECN", none), ("ECN", red)):
        mean: dict[int, Any] = {n: np.mean([cell.mbit[c] for c in STUDIED], axis=0) for n, cell in by.items()}
        numbers = sorted(mean)
        steps += [
            (f"{name}, {a} less {b} pairs", stats.paired_difference(mean[a], mean[b])) for a, b in pairwise(numbers)
        ]
    verdict, decided = judge(steps)
    return Finding("A pair gets less throughput the more pairs there are", verdict, f"{decided} Mbit/s", "no number", "the link's rate is shared")  # fmt: skip


def _total(none: By, red: By) -> Finding:
    least = [
        (f"utilisation - 0.95, {name}, {n} pairs", stats.mean(np.array(cell.utilisation) - 0.95))
        for name, by in (("no ECN", none), ("ECN", red))
        for n, cell in by.items()
    ]
    verdict, decided = judge(least, 3)
    return Finding("The link alone sets the total (over 95 % used)", verdict, decided, "no number", "no case leaves the link idle")  # fmt: skip


def _dropped(red: By, reading: str) -> Finding:
    drops = [(f"{n} pairs", stats.mean(cell.drops)) for n, cell in red.items()]
    verdict = judge(drops, 0)[0]
    if any(one.high < 1 for _, one in drops):  # an interval about nothing lies on zero, not below it
        verdict = "not held"
    why = (
        "RED drops what it would mark: no host asked for ECN, Linux's default"
        if reading
        else "every segment of data is ECN-capable and the limit is far; only SYNs are dropped, if any"
    )
    ours = "packets dropped in a run: " + "; ".join(f"{k} {m.format(0)}" for k, m in drops)
    return Finding(
        "With ECN and RED packets are still dropped, at every number of pairs", verdict, ours, "no number", why, reading
    )


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
