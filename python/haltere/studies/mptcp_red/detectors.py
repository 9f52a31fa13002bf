"""The detectors of the study, RED-CPI, MSCM and SBD: coefficients, false positives and ROC, a value for each seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ...runs.results import Results
from .sides import SCHEDULER, Array, column, main_rows

PAIRS = {(0, 1): "A-B", (0, 2): "A-C", (1, 2): "B-C"}
SHARED = (1, 2)
#: In the order of `correlators` in main.toml. The first one steers the scheduler.
METHODS = (
    "RED-CPI of the scheduler",
    "RED-CPI",
    "MSCM",
    "SBD (RFC 8382)",
    "RED-CPI at 1 us",
    "RED-CPI at 1 ms",
    "RED-CPI every 10 ms",
    "MSCM at 1 ns",
    "MSCM by place",
)
RED_CPI, MSCM, SBD, MSCM_BY_PLACE = 1, 2, 3, 8
#: Variants of RED-CPI, each with the MSCM with which it is compared.
VARIANTS = ((1, 2), (1, 8), (4, 7), (5, 2), (6, 2), (1, 7))
WITH_OTHER_JITTER = ((1, 2), (1, 8), (6, 2))
#: At 0 every coefficient that is not negative counts, which says nothing of a detector.
PHIS = np.round(np.arange(0.05, 1.001, 0.05), 2)
#: RFC 8382 has its first verdict after M intervals of 350 ms.
FROM_S = 12.5


@dataclass
class Detector:
    """What one method said in the runs under the redundant scheduler: for each pair an array a seed."""

    coefficients: dict[tuple[int, int], list[Array]] = field(default_factory=dict)
    shares: dict[tuple[int, int], list[Array]] = field(default_factory=dict)

    def all(self, pair: tuple[int, int]) -> Array:
        """The coefficients of a pair in all runs together."""
        return np.concatenate(self.coefficients[pair])

    @cached_property
    def apart(self) -> list[Array]:
        """The coefficients of the pairs that share nothing, a seed at a time."""
        lists = [self.coefficients[pair] for pair in PAIRS if pair != SHARED]
        return [np.concatenate(seed) for seed in zip(*lists, strict=True)]

    @property
    def shared(self) -> list[Array]:
        """The coefficients of the pair that shares the bottleneck, a seed at a time."""
        return self.coefficients[SHARED]

    def median(self, pair: tuple[int, int]) -> Mean | None:
        """The median of a pair's coefficients: mean over the seeds."""
        medians = [float(np.median(c)) for c in self.coefficients[pair] if len(c)]
        return stats.mean(medians) if medians else None

    def false(self) -> Array:
        """Part of the evaluations in which A counts as shared, by seed (row) and phi (column)."""
        return np.array([at_least(c) for c in self.apart if len(c)])

    def true(self) -> Array:
        """The same for B and C."""
        return np.array([at_least(c) for c in self.shared if len(c)])

    def areas(self) -> list[float]:
        """Area under the ROC curve of each seed."""
        each = zip(self.apart, self.shared, strict=True)
        return [area(apart, shared) for apart, shared in each if len(apart) and len(shared)]


def detectors(results: Results) -> list[Detector]:
    """Every method of the experiment, from the runs under the redundant scheduler."""
    found: list[Detector] = []
    for run in results.runs:
        if str(results.points[run.point].labels[SCHEDULER]).find("redundant") < 0:
            continue
        table = main_rows(results.run_table("coefficients", run))
        at = column(table, "at_ns") / 1e9
        method, a, b = (column(table, name) for name in ("correlator", "path_a", "path_b"))
        coefficient, shares = column(table, "coefficient"), column(table, "shares")
        while len(found) <= int(method.max(initial=-1)):
            found.append(Detector())
        for index, detector in enumerate(found):
            for pair in PAIRS:
                rows = (method == index) & (a == pair[0]) & (b == pair[1]) & (at > FROM_S)
                known = coefficient[rows]
                detector.coefficients.setdefault(pair, []).append(known[~np.isnan(known)])
                detector.shares.setdefault(pair, []).append(shares[rows])
    return found


def at_least(values: Array) -> Array:
    """The part of the values that reaches each phi."""
    return np.array([float((values >= phi).mean()) for phi in PHIS])


def area(apart: Array, shared: Array) -> float:
    """Area under the ROC curve: the probability that a shared pair's coefficient is above one of a pair that is apart."""
    order = np.sort(apart)
    below = np.searchsorted(order, shared, "left")
    equal = np.searchsorted(order, shared, "right") - below
    return float((below + 0.5 * equal).mean() / len(order))


def roc(apart: Array, shared: Array) -> tuple[Array, Array]:
    """False and true positive rate at the thresholds at which one of them has changed by 1/250."""
    cuts = np.unique(np.concatenate([apart, shared]))[::-1]
    rates = [(len(v) - np.searchsorted(np.sort(v), cuts, "left")) / len(v) for v in (apart, shared)]
    false, true = (np.concatenate([[0.0], rate]) for rate in rates)
    step = np.floor(250 * false) + 1000 * np.floor(250 * true)
    kept = np.concatenate([[True], step[1:] != step[:-1]])
    kept[-1] = True
    return false[kept], true[kept]


def fewer_false(ours: Detector, other: Detector, most: float = 0.8) -> list[tuple[str, Mean]]:
    """False positives of the other method less ours in percent, at each phi up to `most`."""
    return [
        (
            f"MSCM - RED-CPI at phi = {phi:g}",
            stats.paired_difference(100 * other.false()[:, i], 100 * ours.false()[:, i]),
        )
        for i, phi in enumerate(PHIS)
        if phi <= most + 1e-9
    ]


def larger_area(ours: Detector, other: Detector) -> Mean:
    """The area under our ROC curve less that of the other method, seed by seed."""
    return stats.paired_difference(ours.areas(), other.areas())
