"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import LEVEL, Claims, Finding, judge, unfairness
from .detectors import MSCM, MSCM_BY_PLACE, PAIRS, PHIS, RED_CPI, SHARED, Detector, fewer_false
from .sides import PATHS, Side

_found = Claims("mptcp-red")
#: The finding that needs a bounded cross connection.
DELAY = "RED lowers the largest delay of B and C"


def _above(name: str, values: Sequence[float], least: float) -> tuple[str, Mean]:
    return name, stats.mean([value - least for value in values])


def _medians(detector: Detector, pair: tuple[int, int]) -> list[float]:
    return [float(np.median(c)) for c in detector.coefficients[pair] if len(c)]


def _shown(detector: Detector, pairs: Sequence[tuple[int, int]], digits: int = 2) -> str:
    return ", ".join(f"{PAIRS[pair]} {stats.mean(_medians(detector, pair)).format(digits)}" for pair in pairs)


def detector_findings(detectors: Sequence[Detector], reading: str = "") -> list[Finding]:
    """Figures 6 and 7. A coefficient counts from phi on, with its sign."""
    red, mscm = detectors[RED_CPI], detectors[MSCM]
    if not all(_medians(one, pair) for one in (red, mscm) for pair in PAIRS):
        return []
    apart = [pair for pair in PAIRS if pair != SHARED]
    sides = [
        (f"{sign:+d} median of {PAIRS[pair]}", stats.mean([0.1 + sign * m for m in _medians(red, pair)]))
        for pair in apart
        for sign in (1, -1)
    ]
    rates = [100 * one.false() for one in (red, mscm)]
    at = [rate[:, PHIS == 0.8].ravel() for rate in rates]
    fewer = fewer_false(red, mscm)
    adjusted = stats.holm([stats.p_value(one) for _, one in fewer])
    counts = [
        sum(p < LEVEL and (one.mean > 0) == more for p, (_, one) in zip(adjusted, fewer, strict=True))
        for more in (True, False)
    ]
    whole = [rate[:, PHIS <= 0.8 + 1e-9].mean(axis=1) for rate in rates]
    shown = [", ".join(stats.mean(values).format(1) for values in pair) for pair in (at, whole)]
    close = [_above("RED-CPI - 0.8", _medians(red, SHARED), 0.8), _above("MSCM", _medians(mscm, SHARED), 0.0)]
    below = [(f"-median of {PAIRS[pair]}", stats.mean([-m for m in _medians(mscm, pair)])) for pair in apart]
    medians = [_shown(red, apart), f"RED-CPI {_shown(red, [SHARED])[4:]}, MSCM {_shown(mscm, [SHARED])[4:]}", _shown(mscm, apart, 3)]  # fmt: skip
    over = f"{shown[1]} %; after Holm fewer at {counts[0]}, more at {counts[1]} of {len(fewer)} phis"
    less = [[("MSCM - RED-CPI", stats.paired_difference(*rates[::-1]))] for rates in (at, whole)]
    rows = [
        ("centred", f"medians: {medians[0]}", sides),
        ("shared", f"medians: {medians[1]}", close),
        ("mscm", f"medians: {medians[2]}", below),
        ("false_at", f"{shown[0]} %", less[0]),
        ("false_over", over, less[1]),
    ]
    for other, name in ((MSCM_BY_PLACE, "roc_place"), (MSCM, "roc_time")):
        areas = [red.areas(), detectors[other].areas()]
        misses = [unfairness(one) for one in areas]
        ours = f"areas {np.mean(areas[0]):.3f} and {np.mean(areas[1]):.3f}: {stats.paired_difference(areas[0], areas[1]).format(3)}"
        rows.append((name, ours, [("RED-CPI - MSCM", stats.paired_difference(misses[1], misses[0]))]))
    return [replace(_found(name, judge(each), ours), reading=reading) for name, ours, each in rows]


def _less(of: dict[str, Side], measure: str, path: int | None) -> Mean:
    """Redundant less RED, seed by seed."""
    return stats.paired_difference(of["redundant"].of(measure, path), of["red"].of(measure, path))


#: What RED lowers: measure, paths (None: all together), unit, digits.
LOWER: tuple[tuple[str, str, tuple[int | None, ...], str, int], ...] = (
    ("delay", "max_srtt_ms", (1, 2), "ms", 1),
    ("rate", "rate_mbit", (1, 2), "Mbit/s", 2),
    ("acks", "dup_acks", (None,), "a run", 0),
    ("again", "retransmissions", (None,), "a run", 1),
    ("replicas", "replicas", (None,), "segments", 0),
)


def findings(sides: dict[str, Side], reading: str = "") -> list[Finding]:
    """Figures 8 to 10: the redundant scheduler beside RED, seed by seed."""
    found = []
    for name, measure, paths, unit, digits in LOWER:
        each = [_less(sides, measure, path) for path in paths]
        of = [stats.mean(sides["redundant"].of(measure, path)).mean for path in paths]
        names = ["" if path is None else f"{PATHS[path]} " for path in paths]
        shown = [
            f"{n}{0 - d.mean:+.{digits}f} ± {d.half:.{digits}f} of {m:.{digits}f}"
            for n, d, m in zip(names, each, of, strict=True)
        ]
        found.append(_found(name, judge([("", one) for one in each]), f"{', '.join(shown)} {unit}"))
    least = [sides[name].of("least_rate_mbit", 0) for name in ("redundant", "red")]
    raised = stats.paired_difference(least[1], least[0])
    ours = f"{raised.mean + 0.0:+.2f} ± {raised.half:.2f} of {np.mean(least[0]):.2f} Mbit/s"
    found.insert(2, _found("least", judge([("", raised)]), ours))
    a, b, c = (np.array(sides["red"].of("replicas", path)) for path in range(3))
    both = f"A {a.mean():.0f}, B {b.mean():.0f}"
    few = judge([("", stats.paired_difference(x / 2, c)) for x in (a, b)])
    alike = judge([("", stats.paired_difference(0.2 * a, np.abs(a - b)))])
    found.append(_found("few", few, f"{both}, C {stats.mean(c).format(0)} segments"))
    found.append(_found("alike", alike, f"{both}, apart by {stats.mean(np.abs(a - b)).format(0)} segments"))
    return [replace(one, reading=reading) for one in found]


def open_if_readings_differ(primary: Sequence[Finding], others: Sequence[Finding]) -> list[Finding]:
    """The largest delay is open if the cross connection's bound, which the paper does not give, decides it."""
    out = []
    for one in primary:
        told = {other.verdict for other in others if other.text == one.text} if one.text == DELAY else set()
        if one.verdict != "held" and told == {"held"}:
            why = f"open: held with every bounded cross connection (What if), and the paper gives none; endless: {one.why}"
            one = replace(one, verdict="inconclusive", why=why, p=None)
        out.append(one)
    return out
