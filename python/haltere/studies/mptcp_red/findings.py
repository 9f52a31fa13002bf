"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import LEVEL, Finding, judge, unfairness
from .detectors import MSCM, MSCM_BY_PLACE, PAIRS, PHIS, RED_CPI, SHARED, Detector, fewer_false
from .sides import PATHS, Side

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
    rows: list[tuple[str, str, str, str, list[tuple[str, Mean]]]] = [
        (
            "RED-CPI: A-B and A-C are centred on 0",
            "median 0",
            f"medians: {_shown(red, apart)}",
            "tested: the medians of the seeds lie within 0.1 of 0",
            sides,
        ),
        (
            "B-C: RED-CPI is close to 1, MSCM is above 0",
            "most values very close to 1; above 0",
            f"medians: RED-CPI {_shown(red, [SHARED])[4:]}, MSCM {_shown(mscm, [SHARED])[4:]}",
            "tested: RED-CPI's median is above 0.8, MSCM's above 0",
            [_above("RED-CPI - 0.8", _medians(red, SHARED), 0.8), _above("MSCM", _medians(mscm, SHARED), 0.0)],
        ),
        (
            "MSCM: A-B and A-C tend to be negative",
            "below 0 (one run)",
            f"medians: {_shown(mscm, apart, 3)}",
            "A shares no queue with B and C, so nothing ties its delays to theirs",
            [(f"-median of {PAIRS[pair]}", stats.mean([-m for m in _medians(mscm, pair)])) for pair in apart],
        ),
        (
            "RED-CPI has fewer false positives than MSCM at phi = 0.8, the module's",
            "fewer",
            f"{shown[0]} %",
            "hardly any coefficient of either reaches 0.8",
            [("MSCM - RED-CPI", stats.paired_difference(at[1], at[0]))],
        ),
        (
            "RED-CPI has fewer false positives than MSCM over phi up to 0.8 (mean of 16 values)",
            "fewer at every phi",
            f"{shown[1]} %; after Holm fewer at {counts[0]}, more at {counts[1]} of {len(fewer)} phis",
            "A's values tie at 100 us: most coefficients are 0, and the others are large",
            [("MSCM - RED-CPI", stats.paired_difference(whole[1], whole[0]))],
        ),
    ]
    for other, name, why in (
        (MSCM_BY_PLACE, "MSCM paired by place", "both methods with the same windows, as the paper's text has it"),
        (MSCM, "MSCM aligned in time", "MSCM as its own authors define it (Liao et al.)"),
    ):
        areas = [red.areas(), detectors[other].areas()]
        misses = [unfairness(one) for one in areas]
        ours = f"areas {np.mean(areas[0]):.3f} and {np.mean(areas[1]):.3f}: {stats.paired_difference(areas[0], areas[1]).format(3)}"
        text = f"RED-CPI's ROC curve lies above MSCM's; {name}"
        rows.append((text, "above", ours, why, [("RED-CPI - MSCM", stats.paired_difference(misses[1], misses[0]))]))
    return [Finding.of(text, judge(each), paper, why, ours, reading) for text, paper, ours, why, each in rows]


def _less(of: dict[str, Side], measure: str, path: int | None) -> Mean:
    """Redundant less RED, seed by seed."""
    return stats.paired_difference(of["redundant"].of(measure, path), of["red"].of(measure, path))


def findings(sides: dict[str, Side], reading: str = "") -> list[Finding]:
    """Figures 8 to 10: the redundant scheduler beside RED, seed by seed."""
    lost = "fewer segments cross the bottleneck, so fewer are lost there"
    # Finding, paper, why, measure, paths (None: all together), unit, digits.
    lower: tuple[tuple[str, str, str, str, tuple[int | None, ...], str, int], ...] = (
        (DELAY, "much lower (figure 8)", "an endless cross connection keeps the queue of 1000 packets full by itself", "max_srtt_ms", (1, 2), "ms", 1),
        (
            "RED lowers the throughput of B and C",
            "lower (figure 8)",
            "RED leaves out a path while it correlates with the one chosen before it: mostly C, seldom B",
            "rate_mbit", (1, 2), "Mbit/s", 2,
        ),
        ("RED has fewer duplicate ACKs (NCAD)", "fewer (figure 9)", lost, "dup_acks", (None,), "a run", 0),
        ("RED has fewer retransmissions (NCR)", "fewer (figure 9)", lost, "retransmissions", (None,), "a run", 1),
        (
            "RED replicates less in all (NMR)",
            "less (figure 10)",
            "the redundant scheduler uses every path, RED leaves out correlated ones",
            "replicas", (None,), "segments", 0,
        ),
    )  # fmt: skip
    found = []
    for text, paper, why, measure, paths, unit, digits in lower:
        each = [_less(sides, measure, path) for path in paths]
        of = [stats.mean(sides["redundant"].of(measure, path)).mean for path in paths]
        names = ["" if path is None else f"{PATHS[path]} " for path in paths]
        shown = [
            f"{n}{0 - d.mean:+.{digits}f} ± {d.half:.{digits}f} of {m:.{digits}f}"
            for n, d, m in zip(names, each, of, strict=True)
        ]
        found.append(
            Finding.of(text, judge([("", one) for one in each]), paper, why, f"{', '.join(shown)} {unit}", reading)
        )
    least = [sides[name].of("least_rate_mbit", 0) for name in ("redundant", "red")]
    raised = stats.paired_difference(least[1], least[0])
    a, b, c = (np.array(sides["red"].of("replicas", path)) for path in range(3))
    found.insert(
        2,
        Finding.of(
            "RED raises the least throughput of A",
            judge([("", raised)]),
            "0.8/1.2 (figure 8)",
            "A carries all of a stream of a fixed rate under either scheduler; an endless stream: What if",
            f"{raised.mean + 0.0:+.2f} ± {raised.half:.2f} of {np.mean(least[0]):.2f} Mbit/s",
            reading,
        ),
    )
    alike = (
        (
            "Under RED, C carries far fewer replicas than A and B",
            "a small number (figure 10)",
            "tested: C carries less than half of A and less than half of B",
            f"A {a.mean():.0f}, B {b.mean():.0f}, C {stats.mean(c).format(0)} segments",
            [stats.paired_difference(x / 2, c) for x in (a, b)],
        ),
        (
            "Under RED, A and B carry about as many replicas",
            "similar (figure 10)",
            "tested: the two differ by less than a fifth of A",
            f"A {a.mean():.0f}, B {b.mean():.0f}, apart by {stats.mean(np.abs(a - b)).format(0)} segments",
            [stats.paired_difference(0.2 * a, np.abs(a - b))],
        ),
    )
    return found + [
        Finding.of(text, judge([("", one) for one in each]), paper, why, ours, reading)
        for text, paper, why, ours, each in alike
    ]


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
