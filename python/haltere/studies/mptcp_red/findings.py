"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Finding, judge
from .detectors import MSCM, MSCM_BY_PLACE, PAIRS, PHIS, RED_CPI, SHARED, Detector, fewer_false, larger_area
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
    found = []

    def add(text: str, paper: str, ours: str, why: str, differences: list[tuple[str, Mean]]) -> None:
        found.append(Finding(text, judge(differences)[0], ours, paper, why, reading))

    add(
        "RED-CPI: A-B and A-C are centred on 0",
        "median 0",
        f"medians: {_shown(red, apart)}",
        "tested: the medians of the seeds lie within 0.1 of 0",
        [
            side
            for pair in apart
            for side in (
                _above("median + 0.1", _medians(red, pair), -0.1),
                _above("0.1 - median", [-m for m in _medians(red, pair)], -0.1),
            )
        ],
    )
    add(
        "B-C: RED-CPI is close to 1, MSCM is above 0",
        "most values very close to 1; above 0",
        f"medians: RED-CPI {_shown(red, [SHARED])[4:]}, MSCM {_shown(mscm, [SHARED])[4:]}",
        "tested: RED-CPI's median is above 0.8, MSCM's above 0",
        [_above("RED-CPI - 0.8", _medians(red, SHARED), 0.8), _above("MSCM", _medians(mscm, SHARED), 0.0)],
    )
    add(
        "MSCM: A-B and A-C tend to be negative",
        "below 0 (one run)",
        f"medians: {_shown(mscm, apart, 3)}",
        "A shares no queue with B and C, so nothing ties its delays to theirs",
        [(f"-median of {PAIRS[pair]}", stats.mean([-m for m in _medians(mscm, pair)])) for pair in apart],
    )
    fewer = fewer_false(red, mscm)
    rates = [stats.mean(100 * one.false()[:, PHIS == 0.8].ravel()).format(1) for one in (red, mscm)]
    better, worse = sum(one.low > 0 for _, one in fewer), sum(one.high < 0 for _, one in fewer)
    add(
        "RED-CPI has fewer false positives than MSCM, phi up to 0.8",
        "fewer at every phi",
        f"fewer at {better}, more at {worse} of {len(fewer)} phis; at 0.8: {rates[0]} and {rates[1]} %",
        "A's values tie at 100 us: most coefficients are 0, and the others are large; tested at each phi from 0.05",
        fewer,
    )
    for other, name, why in (
        (MSCM_BY_PLACE, "MSCM paired by place", "both methods with the same windows, as the paper's text has it"),
        (MSCM, "MSCM aligned in time", "MSCM as its own authors define it (Liao et al.)"),
    ):
        difference = larger_area(red, detectors[other])
        areas = [f"{np.mean(one.areas()):.3f}" for one in (red, detectors[other])]
        add(
            f"RED-CPI's ROC curve lies above MSCM's; {name}",
            "above",
            f"areas {areas[0]} and {areas[1]}: {difference.mean:+.3f} ± {difference.half:.3f}",
            why,
            [("RED-CPI - MSCM", difference)],
        )
    return found


def _less(of: dict[str, Side], measure: str, path: int | None) -> Mean:
    """Redundant less RED, seed by seed."""
    return stats.paired_difference(of["redundant"].of(measure, path), of["red"].of(measure, path))


def findings(sides: dict[str, Side], reading: str = "") -> list[Finding]:
    """Figures 8 to 10: the redundant scheduler beside RED, seed by seed."""
    found: list[Finding] = []

    def add(text: str, paper: str, ours: str, why: str, differences: Sequence[Mean]) -> None:
        verdict = judge([("", one) for one in differences])[0]
        found.append(Finding(text, verdict, ours, paper, why, reading))

    def lower(
        text: str, paper: str, why: str, measure: str, paths: Sequence[int | None], unit: str, digits: int
    ) -> None:
        each = [_less(sides, measure, path) for path in paths]
        of = [stats.mean(sides["redundant"].of(measure, path)).mean for path in paths]
        names = ["" if path is None else f"{PATHS[path]} " for path in paths]
        parts = zip(names, each, of, strict=True)
        shown = [f"{n}{-d.mean:+.{digits}f} ± {d.half:.{digits}f} of {m:.{digits}f}" for n, d, m in parts]
        add(text, paper, f"{', '.join(shown)} {unit}", why, each)

    lower(
        DELAY,
        "much lower (figure 8)",
        "an endless cross connection keeps the queue of 1000 packets full by itself; a bounded one: What if",
        "max_srtt_ms",
        (1, 2),
        "ms",
        1,
    )
    lower(
        "RED lowers the throughput of B and C",
        "lower (figure 8)",
        "RED leaves out a path while it correlates with the one chosen before it: mostly C, seldom B",
        "rate_mbit",
        (1, 2),
        "Mbit/s",
        2,
    )
    least = [stats.mean(sides[name].of("least_rate_mbit", 0)).format(2) for name in ("redundant", "red")]
    found.append(
        Finding(
            "RED raises the least throughput of A",
            "not testable",
            f"{least[0]} and {least[1]} Mbit/s",
            "0.8/1.2 (figure 8)",
            "A carries all of a stream of a fixed rate under either scheduler; the paper's traffic is not known",
            reading,
        )
    )
    lost = "fewer segments cross the bottleneck, so fewer are lost there"
    lower("RED has fewer duplicate ACKs (NCAD)", "fewer (figure 9)", lost, "dup_acks", (None,), "a run", 0)
    lower("RED has fewer retransmissions (NCR)", "fewer (figure 9)", lost, "retransmissions", (None,), "a run", 1)
    every = "the redundant scheduler uses every path, RED leaves out correlated ones"
    lower("RED replicates less in all (NMR)", "less (figure 10)", every, "replicas", (None,), "segments", 0)
    a, b, c = (np.array(sides["red"].of("replicas", path)) for path in range(3))
    add(
        "Under RED, C carries far fewer replicas than A and B",
        "a small number (figure 10)",
        f"A {a.mean():.0f}, B {b.mean():.0f}, C {stats.mean(c).format(0)} segments",
        "tested: C carries less than half of A and less than half of B",
        [stats.paired_difference(x / 2, c) for x in (a, b)],
    )
    add(
        "Under RED, A and B carry about as many replicas",
        "similar (figure 10)",
        f"A {a.mean():.0f}, B {b.mean():.0f}, apart by {stats.mean(np.abs(a - b)).format(0)} segments",
        "tested: the two differ by less than a fifth of A",
        [stats.paired_difference(0.2 * a, np.abs(a - b))],
    )
    return found
