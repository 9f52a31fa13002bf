"""Statistics against values worked out elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from haltere.analysis import stats
from haltere.analysis.stats import Mean


# Student's t table (two-sided 95 and 99 %), as printed in any book of statistics.
@pytest.mark.parametrize(
    ("confidence", "df", "t"),
    [
        (0.95, 1, 12.706),
        (0.95, 2, 4.303),
        (0.95, 4, 2.776),
        (0.95, 9, 2.262),
        (0.95, 30, 2.042),
        (0.95, 1e6, 1.960),
        (0.99, 9, 3.250),
        (0.90, 5, 2.015),
    ],
)
def test_student_t_is_that_of_the_tables(confidence: float, df: float, t: float) -> None:
    assert stats.student_t(confidence, df) == pytest.approx(t, abs=6e-4)


def test_the_interval_covers_the_true_mean_at_its_confidence() -> None:
    chance = np.random.default_rng(1)
    hits = [abs(m.mean - 5) <= m.half for m in (stats.mean(chance.normal(5, 2, 6)) for _ in range(2000))]
    # 95 % of 2000 draws: the standard deviation of the share is 0.5 %, so 3.5 of them are allowed.
    assert np.mean(hits) == pytest.approx(0.95, abs=0.017)


def test_one_value_has_no_interval() -> None:
    one = stats.mean([3.0])
    assert one.mean == 3.0 and math.isnan(one.half) and one.format() == "3.0"


def test_pairing_takes_out_what_seeds_share() -> None:
    chance = np.random.default_rng(2)
    shared = chance.normal(100, 20, 10)
    a, b = shared + 1 + chance.normal(0, 0.1, 10), shared
    assert stats.paired_difference(a, b).low > 0
    assert stats.mean(a).half > 5 > stats.paired_difference(a, b).half


def test_jain_does_not_depend_on_the_unit_and_knows_its_bounds() -> None:
    rates = [1.0, 2.0, 7.0, 0.5]
    assert stats.jain(rates) == pytest.approx(stats.jain([r * 1e6 for r in rates]))
    assert stats.jain([3, 1]) == pytest.approx(16 / 20)
    assert stats.jain([0, 0]) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stats.mean([]), "mean: values must be at least 1, got 0"),
        (lambda: stats.mean([1, math.nan]), "mean: values must be numbers, got NaN; leave out what is not known"),
        (lambda: stats.jain([1, -1]), "jain: rates must be at least 0, got -1.0"),
        (lambda: stats.percentile([1], 101), "percentile: q must lie between 0 and 100, got 101"),
        (lambda: stats.paired_difference([1], [1, 2]), "paired_difference: both must be equally long, got 1 and 2"),
    ],
)
def test_wrong_input_names_the_rule(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


def test_the_steady_verdict_sees_a_slow_start_and_forgives_noise() -> None:
    chance = np.random.default_rng(3)
    noise = chance.normal(0, 1, 2000)
    assert stats.stationarity(10 + noise).verdict == "steady"
    assert stats.stationarity(np.linspace(5, 10, 2000) + noise).verdict == "drifting"
    # A drift that is certain but smaller than the tolerance is no drift worth a word.
    assert stats.stationarity(np.linspace(10, 10.2, 2000) + noise / 100).verdict == "steady"


def test_a_mean_is_rounded_by_its_interval() -> None:
    assert Mean(2113.920, 183.663, 200.0, 5).format(3) == "2110 ± 180"
    assert Mean(20.43, 9.97, 3.0, 5).format(2) == "20 ± 10", "the digits are those of the rounded half-width"
    assert Mean(0.98765, 0.0123, 0.01, 5).format(4) == "0.988 ± 0.012"
    assert Mean(100.0, 0.0004, 0.01, 5).format(1) == "100.0 ± 0.0", "no more decimals than the column has"


def test_p_values_are_students_and_holms() -> None:
    # R: t.test(c(1, 2, 3, 4))$p.value = 0.03047; p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") = 0.03 0.06 0.06 0.02
    assert stats.p_value(stats.mean([1.0, 2.0, 3.0, 4.0])) == pytest.approx(0.03047, abs=5e-6)
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
