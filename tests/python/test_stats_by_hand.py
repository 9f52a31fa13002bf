"""The steady-state verdict, worked by hand: Welch's interval of the difference of two halves, and where the verdict changes."""

from __future__ import annotations

import math

import pytest

from haltere.analysis import stats


def test_the_interval_of_the_drift_is_welch_s() -> None:
    # Batch means 0, 2 and 4, 6: each half has the variance 2 over 2 batches. So the error is sqrt(1 + 1), with 2 degrees of freedom.
    told = stats.stationarity([0, 0, 2, 2, 4, 4, 6, 6], batches=2)
    assert (told.first, told.second, told.drift.mean, told.drift.n) == (1, 5, 4, 4)
    assert told.drift.half == pytest.approx(4.30265 * math.sqrt(2), rel=1e-5)
    assert told.verdict == "steady", "the interval contains 0"
    # One half does not vary: one degree of freedom is left.
    told = stats.stationarity([0, 0, 0, 0, 4, 4, 6, 6], batches=2)
    assert told.drift.half == pytest.approx(12.70620, rel=1e-5)


def test_forty_samples_are_enough_for_ten_batches_and_an_odd_one_belongs_to_no_half() -> None:
    assert stats.stationarity([3.0] * 39).verdict == "cannot be told"
    assert stats.stationarity([3.0] * 40).verdict == "steady"
    told = stats.stationarity([1, 1, 1, 1, 9, 2, 2, 2, 2], batches=2)
    assert (told.first, told.second) == (1, 2)
    with pytest.raises(ValueError, match="batches must be at least 2, got 1"):
        stats.stationarity([1.0] * 40, batches=1)


@pytest.mark.parametrize(
    ("second", "tolerance", "verdict"),
    [(1.04, 0.05, "steady"), (1.06, 0.05, "drifting"), (0.94, 0.05, "drifting"), (0.96, 0.05, "steady"), (1.06, 0.1, "steady")],
)  # fmt: skip
def test_without_noise_the_tolerance_decides(second: float, tolerance: float, verdict: str) -> None:
    told = stats.stationarity([1.0] * 20 + [second] * 20, tolerance=tolerance)
    assert told.drift.half == pytest.approx(0, abs=1e-12) and told.verdict == verdict


def test_a_drift_whose_interval_holds_the_tolerance_cannot_be_told() -> None:
    # The drift is 0.06 of a mean of 1.03, its interval does not reach 0 and reaches below 5 %.
    noise = [-0.02, 0.02] * 10
    values = [1 + one for one in noise for _ in range(2)] + [1.06 + one for one in noise for _ in range(2)]
    told = stats.stationarity(values, batches=20)
    assert 0 < told.drift.low < 0.05 * 1.03 < told.drift.high and told.verdict == "cannot be told"


@pytest.mark.parametrize(("confidence", "df", "quantile"), [(0.9, 1, 6.3138), (0.95, 2, 4.30265), (0.99, 30, 2.7500), (0.999, 5, 6.8688)])  # fmt: skip
def test_quantiles_are_those_of_the_tables(confidence: float, df: float, quantile: float) -> None:
    assert stats.student_t(confidence, df) == pytest.approx(quantile, abs=2e-3)


@pytest.mark.parametrize("confidence", [0.02, 0.1, 0.5, 0.9, 0.999])
def test_quantiles_of_one_and_two_degrees_of_freedom_have_closed_forms(confidence: float) -> None:
    # Small quantiles take the other expansion of the beta function.
    assert stats.student_t(confidence, 1) == pytest.approx(math.tan(math.pi * confidence / 2), rel=1e-6)
    assert stats.student_t(confidence, 2) == pytest.approx(confidence * math.sqrt(2 / (1 - confidence**2)), rel=1e-6)


def test_series_of_another_length_than_the_times_are_refused() -> None:
    for series in ([[1.0, 2.0, 3.0]], [[1.0]], [[[1.0, 2.0]]]):
        with pytest.raises(ValueError, match="by_time: each series must have 2 values, got shape"):
            stats.by_time([0.0, 1.0], series)
