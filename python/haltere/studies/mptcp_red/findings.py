"""The paper's findings, each with a verdict from intervals over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Finding, judge
from .detectors import MSCM, PAIRS, RED_CPI, SHARED, Detector, fewer_false, larger_area
from .sides import Side, less

__all__ = ["DELAY", "detector_findings", "findings"]

#: The finding that needs a bounded cross connection.
DELAY = "RED lowers the largest delay of B and C"


def _above(name: str, values: Sequence[float], least: float) -> tuple[str, Mean]:
    return name, stats.mean([value - least for value in values])


def _medians(detector: Detector, pair: tuple[int, int]) -> list[float]:
    return [float(np.median(c)) for c in detector.coefficients[pair] if len(c)]


def _shown(detector: Detector, pairs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(stats.mean(_medians(detector, pair)).format(2) for pair in pairs)


def detector_findings(detectors: Sequence[Detector], reading: str = "") -> list[Finding]:
    """Figures 6 and 7. A coefficient counts from phi on, with its sign."""
    red, mscm = detectors[RED_CPI], detectors[MSCM]
    apart = [pair for pair in PAIRS if pair != SHARED]
    found = []

    def add(text: str, paper: str, ours: str, why: str, differences: list[tuple[str, Mean]], digits: int = 2) -> None:
        verdict, decided = judge(differences, digits)
        found.append(Finding(text, verdict, f"{ours}{decided}", paper, why, reading))

    if not all(_medians(one, pair) for one in (red, mscm) for pair in PAIRS):
        return []
    add(
        "RED-CPI: A-B and A-C are centred on 0",
        "median 0",
        f"medians {_shown(red, apart)}; ",
        "tested: the medians of the seeds lie within 0.1 of 0",
        [
            side
            for pair in apart
            for side in (
                _above(f"median of {PAIRS[pair]} + 0.1", _medians(red, pair), -0.1),
                _above(f"0.1 - median of {PAIRS[pair]}", [-m for m in _medians(red, pair)], -0.1),
            )
        ],
    )
    add(
        "B-C: RED-CPI is close to 1, MSCM is above 0",
        "most values very close to 1; above 0",
        f"medians {_shown(red, [SHARED])}; {_shown(mscm, [SHARED])}; ",
        "tested: RED-CPI's median is above 0.8, MSCM's above 0",
        [
            _above("RED-CPI - 0.8", _medians(red, SHARED), 0.8),
            _above("MSCM", _medians(mscm, SHARED), 0.0),
        ],
    )
    add(
        "MSCM: A-B and A-C tend to be negative",
        "below 0 (one run)",
        f"medians {_shown(mscm, apart)}; ",
        "A has no queue, so nothing could make its delays fall as those of B and C rise",
        [(f"-median of {PAIRS[pair]}", stats.mean([-m for m in _medians(mscm, pair)])) for pair in apart],
        3,
    )
    at = -5  # phi = 0.8
    rates = [stats.mean(100 * one.false()[:, at]).format(1) for one in (red, mscm)]
    add(
        "RED-CPI has fewer false positives than MSCM, phi up to 0.8",
        "fewer at every phi",
        f"at 0.8: {rates[0]} and {rates[1]} %; ",
        "tested at each phi from 0.05 to 0.8; depends on jitter and resolution (What if)",
        fewer_false(red, mscm),
        1,
    )
    areas = [stats.mean(one.areas()).format(3) for one in (red, mscm)]
    add(
        "RED-CPI's ROC curve lies above MSCM's",
        "above",
        f"areas {areas[0]} and {areas[1]}; ",
        "tested: area under the curve, seed by seed; depends on jitter and resolution (What if)",
        [("RED-CPI - MSCM", larger_area(red, mscm))],
        3,
    )
    return found


def _negated(differences: list[tuple[str, Mean]]) -> list[tuple[str, Mean]]:
    return [
        (name.replace("redundant - RED", "RED - redundant"), Mean(-d.mean, d.half, d.sd, d.n, d.confidence))
        for name, d in differences
    ]


def _both(sides: dict[str, Side], measure: str, paths: Sequence[int | None], digits: int) -> str:
    """What both schedulers give, path by path."""
    each = [
        f"{stats.mean(sides['redundant'].of(measure, path)).mean:.{digits}f} to {stats.mean(sides['red'].of(measure, path)).mean:.{digits}f}"
        for path in paths
    ]
    return ", ".join(each)


def findings(sides: dict[str, Side], reading: str = "") -> list[Finding]:
    """Figures 8 to 10: the redundant scheduler beside RED, seed by seed."""
    found: list[Finding] = []

    def add(
        text: str, paper: str, ours: str, why: str, differences: list[tuple[str, Mean]], digits: int = 0, **more: Any
    ) -> None:
        verdict, decided = judge(differences, digits)
        found.append(
            Finding(text, more.get("verdict", verdict), f"{ours}{decided}{more.get('unit', '')}", paper, why, reading)
        )

    add(
        DELAY,
        "much lower (figure 8)",
        f"B, C: {_both(sides, 'max_srtt_ms', (1, 2), 0)} ms; ",
        "an endless cross connection fills the queue of 1000 packets by itself; bounded cross connections: What if",
        less(sides, "max_srtt_ms", (1, 2), "largest SRTT"),
        unit=" ms",
    )
    add(
        "RED lowers the throughput of B and C",
        "lower (figure 8)",
        f"B, C: {_both(sides, 'rate_mbit', (1, 2), 2)} Mbit/s; ",
        "RED leaves a path out while it correlates with the path chosen before it",
        less(sides, "rate_mbit", (1, 2), "throughput"),
        2,
        unit=" Mbit/s",
    )
    add(
        "RED raises the least throughput of A",
        "0.8/1.2 (figure 8)",
        f"A: {_both(sides, 'least_rate_mbit', (0,), 2)} Mbit/s; ",
        "a stream of a fixed rate takes all of it on A under either scheduler; the paper's traffic is not known",
        _negated(less(sides, "least_rate_mbit", (0,), "least throughput")),
        3,
        unit=" Mbit/s",
        verdict="not testable",
    )
    add(
        "RED has fewer duplicate ACKs (NCAD)",
        "fewer (figure 9)",
        f"{_both(sides, 'dup_acks', (None,), 0)}; ",
        "fewer segments cross the bottleneck, so fewer are lost there",
        less(sides, "dup_acks", (None,), "NCAD"),
    )
    add(
        "RED has fewer retransmissions (NCR)",
        "fewer (figure 9)",
        f"{_both(sides, 'retransmissions', (None,), 0)}; ",
        "fewer segments cross the bottleneck, so fewer are lost there",
        less(sides, "retransmissions", (None,), "NCR"),
        1,
    )
    add(
        "RED replicates less in all (NMR)",
        "less (figure 10)",
        f"{_both(sides, 'replicas', (None,), 0)} segments; ",
        "the redundant scheduler uses every path, RED leaves out correlated ones",
        less(sides, "replicas", (None,), "NMR"),
    )
    red = [np.array(sides["red"].of("replicas", path)) for path in range(3)]
    shown = ", ".join(f"{values.mean():.0f}" for values in red)
    add(
        "Under RED, C carries far fewer replicas than A and B",
        "a small number (figure 10)",
        f"A, B, C: {shown}; ",
        "tested: C carries less than half of A and less than half of B",
        [(f"half of {name} - C", stats.paired_difference(red[i] / 2, red[2])) for i, name in enumerate("AB")],
    )
    add(
        "Under RED, A and B carry about as many replicas",
        "similar (figure 10)",
        f"A, B: {shown.rsplit(',', 1)[0]}; ",
        "tested: the two differ by less than a fifth of A",
        [("a fifth of A - |A - B|", stats.paired_difference(0.2 * red[0], np.abs(red[0] - red[1])))],
    )
    return found
