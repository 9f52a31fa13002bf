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
    assert stats.stationarity([3.0] * 39).verdict == "inconclusive"
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
    assert 0 < told.drift.low < 0.05 * 1.03 < told.drift.high and told.verdict == "inconclusive"


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


@pytest.mark.parametrize("q", [0.2, 0.9, 0.99])
def test_four_degrees_of_freedom_have_a_closed_form_too(q: float) -> None:
    # Shaw 2006: t = 2 sqrt(cos(arccos(sqrt(a)) / 3) / sqrt(a) - 1), a = 4 p (1 - p), p the one-sided probability.
    p = (1 + q) / 2
    root = math.sqrt(4 * p * (1 - p))
    quantile = 2 * math.sqrt(math.cos(math.acos(root) / 3) / root - 1)
    assert stats.student_t(q, 4) == pytest.approx(quantile, rel=1e-9)


def test_half_of_all_is_above_zero() -> None:
    for df in (0.5, 1, 2, 30):
        assert stats._student_t_tail(0, df) == 0.5
    with pytest.raises(ValueError, match="df must be above 0, got 0"):
        stats.student_t(0.95, 0)
    for confidence in (0, 1, -0.1, 1.1):
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1, got"):
            stats.student_t(confidence, 3)


def test_a_difference_of_unlike_samples_is_welch_s() -> None:
    # Variances 4 and 1 of 3 and 2 values over their counts: 4/3 and 0.5. df = (11/6)^2 / ((4/3)^2 / 2 + 0.5^2 / 1) = 2.951.
    told = stats.difference([2, 4, 6], [1, 1 + math.sqrt(2)], confidence=0.9)
    error = math.sqrt(11 / 6)
    assert (told.n, told.confidence, told.sd) == (5, 0.9, pytest.approx(error))
    assert told.half == pytest.approx(stats.student_t(0.9, (11 / 6) ** 2 / (16 / 18 + 0.25)) * error)
    assert told.mean == pytest.approx(4 - 1 - math.sqrt(0.5))
    assert (told.low, told.high) == (pytest.approx(told.mean - told.half), pytest.approx(told.mean + told.half))


def test_a_difference_with_one_value_or_without_spread() -> None:
    for a, b in (([1], [2, 4]), ([2, 4], [1])):
        told = stats.difference(a, b)
        assert abs(told.mean) == 2 and math.isnan(told.half) and math.isnan(told.sd) and told.n == 3
    same = stats.difference([3, 3], [1, 1, 1])
    assert (same.mean, same.half, same.sd, same.n) == (2, 0, 0, 5)
    assert stats.difference([3, 4], [1, 1]).half > 0


def test_a_mean_of_two_values_has_an_interval_of_one_degree_of_freedom() -> None:
    told = stats.mean([1, 3], confidence=0.9)
    assert (told.mean, told.n, told.confidence) == (2, 2, 0.9)
    assert told.sd == pytest.approx(math.sqrt(2)) and told.half == pytest.approx(6.31375, rel=1e-5)
    assert told.format(2) == "2.0 ± 6.3" and stats.paired_difference([2, 4], [1, 1], 0.9).half == told.half
    assert stats.mean([1, 2]).confidence == 0.95 == stats.mean([1]).confidence


def test_percentiles_reach_from_the_least_to_the_most() -> None:
    assert [stats.percentile([1, 2, 4], q) for q in (0, 25, 100)] == [1, 1.5, 4]
    for q in (-1, 100.5):
        with pytest.raises(ValueError, match="q must lie between 0 and 100"):
            stats.percentile([1], q)
    values, shares = stats.cdf([4, 1])
    assert values.tolist() == [1, 4] and shares.tolist() == [0.5, 1]


def test_series_over_time_have_a_mean_a_least_and_a_most_where_a_run_has_a_sample() -> None:
    at, mean, low, high = stats.by_time([0, 1, 2], [[1, math.nan, math.nan], [3, 5, math.nan], [8, 7, math.nan]])
    assert at.tolist() == [0, 1, 2]
    assert [one[:2].tolist() for one in (mean, low, high)] == [[4, 6], [1, 5], [8, 7]]
    assert all(math.isnan(one[2]) for one in (mean, low, high))


def test_the_drift_has_the_batches_and_the_confidence_that_were_asked_for() -> None:
    told = stats.stationarity([1.0, 2.0] * 20, batches=5, confidence=0.9)
    assert (told.drift.n, told.drift.confidence) == (10, 0.9)
    few = stats.stationarity([1.0, 4.0], batches=2, confidence=0.9)
    assert (few.first, few.second, few.drift.mean, few.drift.n, few.drift.confidence) == (1, 4, 3, 0, 0.9)
    with pytest.raises(ValueError, match="values must be at least 2, got 1"):
        stats.stationarity([1.0])
