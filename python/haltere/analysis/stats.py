"""Statistics of repeated runs: means with intervals, fairness, percentiles, steady state.

Every function takes plain sequences or NumPy arrays and returns plain numbers or small frozen
records. Units are those of what goes in. A wrong input raises :class:`ValueError` with the rule that it
broke. Missing values (NaN) are wrong input: what is not known must be left out by the caller, who knows
why it is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Mean:
    """A mean with its Student-t interval.

    ``mean``, ``sd`` (standard deviation of one value) and ``half`` (half the width of the interval) have the unit of the
    values; ``n`` is how many there were. With one value ``sd`` and ``half`` are NaN: nothing is known of the spread.
    """

    mean: float
    half: float
    sd: float
    n: int
    confidence: float = 0.95

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return self.mean + self.half

    def scaled(self, factor: float) -> Mean:
        """The same in another unit, or with the other sign."""
        return replace(self, mean=factor * self.mean, half=abs(factor) * self.half, sd=abs(factor) * self.sd)

    def to_dict(self) -> dict[str, float | None]:
        """For programs: half of the interval is null if it is not known."""
        return {"mean": self.mean, "half": None if math.isnan(self.half) else self.half, "n": self.n}

    def format(self, digits: int = 1) -> str:
        """The mean, and the interval if there is one, with two significant digits of the interval and at most ``digits`` decimals.

        >>> Mean(10.04, 0.26, 0.4, 10).format()
        '10.0 ± 0.3'
        >>> Mean(2113.920, 183.663, 200.0, 5).format(3)
        '2110 ± 180'
        >>> Mean(10.04, math.nan, math.nan, 1).format()
        '10.0'
        """
        if math.isnan(self.half):
            return f"{self.mean:.{digits}f}"
        own = decimals(self.half, digits)
        return f"{rounded(self.mean, own)} ± {rounded(self.half, own)}"


def decimals(half: float, most: int) -> int:
    """The decimals of two significant digits of half an interval, at most ``most``; negative: tens and hundreds are rounded.

    >>> decimals(183.7, 3), decimals(9.97, 3), decimals(0.0123, 2), decimals(0.0, 1)
    (-1, 0, 2, 1)
    """
    if not half or not math.isfinite(half):
        return most
    return min(most, 1 - int(f"{half:.1e}".partition("e")[2]))


def rounded(value: float, digits: int) -> str:
    """The value with so many decimals; a negative number rounds to tens, hundreds and so on.

    >>> rounded(2113.92, -1), rounded(1.25, 2), rounded(-0.001, 1)
    ('2110', '1.25', '0.0')
    """
    if not math.isfinite(value):
        return f"{value:g}"
    return f"{round(value, digits) + 0.0:.{max(digits, 0)}f}"


def _values(what: str, values: ArrayLike, least: int = 1) -> Array:
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size < least:
        raise ValueError(f"{what}: values must be at least {least}, got {array.size}")
    if np.isnan(array).any():
        raise ValueError(f"{what}: values must be numbers, got NaN; leave out what is not known")
    return array


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Lentz's method; DLMF 8.17.22)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    h = d
    for m in range(1, 400):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            c = 1.0 + numerator / c
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            h *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return h


def _student_t_tail(t: float, df: float) -> float:
    """P(T > t) for t >= 0, by the regularised incomplete beta function."""
    x = df / (df + t * t)
    if x == 1:
        return 0.5
    a, b = df / 2.0, 0.5
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1.0) / (a + b + 2.0):
        return 0.5 * front * _beta_fraction(a, b, x) / a
    return 0.5 * (1.0 - front * _beta_fraction(b, a, 1.0 - x) / b)


@cache
def student_t(confidence: float, df: float) -> float:
    """The two-sided quantile of Student's t distribution: ``|T| <= t`` with this confidence.

    ``confidence`` lies in (0, 1); ``df``, the degrees of freedom, is above 0 (it need not be whole: Welch).

    >>> round(student_t(0.95, 9), 4)
    2.2622
    >>> round(student_t(0.99, 2), 3)
    9.925
    """
    if not 0 < confidence < 1:
        raise ValueError(f"student_t: confidence must lie between 0 and 1, got {confidence}")
    if not df > 0:
        raise ValueError(f"student_t: df must be above 0, got {df}")
    tail = (1 - confidence) / 2
    low, high = 0.0, 1.0
    while _student_t_tail(high, df) > tail:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if _student_t_tail(middle, df) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def mean(values: ArrayLike, confidence: float = 0.95) -> Mean:
    """The mean of independent values (one per seed) and its Student-t interval.

    >>> mean([9.0, 10.0, 11.0]).format(3)
    '10.0 ± 2.5'
    >>> mean([])
    Traceback (most recent call last):
        ...
    ValueError: mean: values must be at least 1, got 0
    """
    array = _values("mean", values)
    centre = float(array.mean())
    if array.size == 1:
        return Mean(centre, math.nan, math.nan, 1, confidence)
    sd = float(array.std(ddof=1))
    half = student_t(confidence, array.size - 1) * sd / math.sqrt(array.size)
    return Mean(centre, half, sd, int(array.size), confidence)


def paired_difference(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Mean:
    """The mean of ``a - b`` with its interval; ``a[i]`` and ``b[i]`` come from the same seed.

    Runs of one seed get the same random draws, so the paired interval is narrower than that of two means. When it
    does not contain 0, the two differ at this confidence.

    >>> paired_difference([10, 12, 11], [9, 11, 10]).mean
    1.0
    """
    first, second = _values("paired_difference", a), _values("paired_difference", b)
    if first.size != second.size:
        raise ValueError(f"paired_difference: both must be equally long, got {first.size} and {second.size}")
    return mean(first - second, confidence)


def p_value(difference: Mean) -> float:
    """The two-sided p-value of Student's t test that a mean is 0; NaN with one value.

    >>> round(p_value(mean([1.0, 2.0, 3.0, 4.0])), 4), p_value(mean([0.0, 0.0])), p_value(mean([1.0, 1.0]))
    (0.0305, 1.0, 0.0)
    """
    if difference.n < 2:
        return math.nan
    if difference.sd == 0:
        return float(difference.mean == 0)
    t = abs(difference.mean) / (difference.sd / math.sqrt(difference.n))
    return 2 * _student_t_tail(t, difference.n - 1)


def holm(values: Sequence[float]) -> list[float]:
    """p-values adjusted for as many tests as there are (Holm 1979): the probability of one false discovery among all stays below each.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    out, least = [0.0] * len(values), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(values) - place) * values[i]))
        out[i] = least
    return out


def difference(a: ArrayLike, b: ArrayLike, confidence: float = 0.95) -> Mean:
    """The difference of the means of ``a`` and ``b``, two independent samples, with its interval (Welch).

    >>> difference([10, 12, 11], [9, 11, 10]).format(2)
    '1.0 ± 2.3'
    >>> difference([10], [9]).format(2)
    '1.00'
    """
    first, second = _values("difference", a), _values("difference", b)
    centre = float(first.mean() - second.mean())
    count = int(first.size + second.size)
    if min(first.size, second.size) < 2:
        return Mean(centre, math.nan, math.nan, count, confidence)
    parts = [float(x.var(ddof=1)) / x.size for x in (first, second)]
    total = sum(parts)
    if total == 0:
        return Mean(centre, 0.0, 0.0, count, confidence)
    df = total**2 / sum(v * v / (x.size - 1) for v, x in zip(parts, (first, second), strict=True))
    return Mean(centre, student_t(confidence, df) * math.sqrt(total), math.sqrt(total), count, confidence)


def welch(a: Mean, b: Mean) -> float:
    """The two-sided p-value of Welch's t test that two means are equal, from what is printed of each: mean, deviation and number.

    >>> round(welch(Mean(3.42, math.nan, 0.1234, 5), Mean(3.53, math.nan, 0.1863, 5)), 2)
    0.31
    """
    parts = [one.sd**2 / one.n for one in (a, b)]
    df = sum(parts) ** 2 / sum(part**2 / (one.n - 1) for part, one in zip(parts, (a, b), strict=True))
    return 2 * _student_t_tail(abs(a.mean - b.mean) / math.sqrt(sum(parts)), df)


def jain(rates: ArrayLike) -> float:
    """Jain's fairness index of the flows' rates: 1 when all are equal, 1/n when one has everything.

    Rates in any unit, none below 0. When all are 0 the index is 1: all have the same.

    >>> jain([5, 5, 5, 5])
    1.0
    >>> jain([1, 0, 0, 0])
    0.25
    """
    x = _values("jain", rates)
    if (x < 0).any():
        raise ValueError(f"jain: rates must be at least 0, got {x.min()}")
    squares = float((x * x).sum())
    return 1.0 if squares == 0 else float(x.sum()) ** 2 / (x.size * squares)


def percentile(values: ArrayLike, q: float) -> float:
    """The ``q``-th percentile (0 to 100), linear between the two nearest values.

    >>> percentile([1, 2, 3, 4], 50)
    2.5
    """
    if not 0 <= q <= 100:
        raise ValueError(f"percentile: q must lie between 0 and 100, got {q}")
    return float(np.percentile(_values("percentile", values), q))


def cdf(values: ArrayLike) -> tuple[Array, Array]:
    """The empirical distribution: sorted values and the fraction of values at or below each (both of shape (n,)).

    >>> cdf([3, 1, 2, 2])[1].tolist()
    [0.25, 0.5, 0.75, 1.0]
    """
    x = np.sort(_values("cdf", values))
    return x, np.arange(1, x.size + 1) / x.size


Verdict = Literal["steady", "drifting", "inconclusive"]


@dataclass(frozen=True)
class Stationarity:
    """Whether a series is in its steady state.

    ``first`` and ``second`` are the means of the two halves; ``drift`` is ``second - first`` with its interval. ``verdict``
    is ``steady``, ``drifting`` or ``inconclusive``.
    """

    verdict: Verdict
    first: float
    second: float
    drift: Mean


def stationarity(
    values: ArrayLike, batches: int = 10, tolerance: float = 0.05, confidence: float = 0.95
) -> Stationarity:
    """Compares the halves of a series, taken at equal intervals after the warm-up.

    Neighbouring samples depend on each other, so each half is cut into ``batches`` and their means are
    compared (Welch). The halves *drift* when the interval of the difference lies wholly outside
    ``± tolerance`` times the mean; they are *steady* when it lies wholly inside, or contains 0. Anything else, and a series
    of fewer than ``4 * batches`` samples, *inconclusive*.

    >>> import random
    >>> draws = random.Random(1)
    >>> stationarity([10 + draws.random() for _ in range(1000)]).verdict
    'steady'
    >>> stationarity([float(i) for i in range(1000)]).verdict
    'drifting'
    >>> stationarity([1.0, 2.0]).verdict
    'inconclusive'
    """
    if batches < 2:
        raise ValueError(f"stationarity: batches must be at least 2, got {batches}")
    x = _values("stationarity", values, 2)
    halves = (x[: x.size // 2], x[x.size - x.size // 2 :])
    first, second = float(halves[0].mean()), float(halves[1].mean())
    if x.size < 4 * batches:
        return Stationarity("inconclusive", first, second, Mean(second - first, math.nan, math.nan, 0, confidence))
    groups = [np.array([part.mean() for part in np.array_split(half, batches)]) for half in halves]
    drift = replace(difference(groups[1], groups[0], confidence), mean=second - first)
    return Stationarity(_drift_verdict(drift, tolerance * abs(float(x.mean()))), first, second, drift)


def _drift_verdict(drift: Mean, allowed: float) -> Verdict:
    if drift.low > allowed or drift.high < -allowed:
        return "drifting"
    if drift.low <= 0 <= drift.high or (drift.low >= -allowed and drift.high <= allowed):
        return "steady"
    return "inconclusive"


def by_time(at: Sequence[float] | Array, series: Iterable[ArrayLike]) -> tuple[Array, Array, Array, Array]:
    """Several runs' series on one grid of times: times, mean, lowest and highest at each (all of shape (n,)).

    ``at`` has shape (n,); each series has shape (n,) and may hold NaN if a run has no sample.

    >>> [a.tolist() for a in by_time([0, 1], [[1, 2], [3, 6]])]
    [[0.0, 1.0], [2.0, 4.0], [1.0, 2.0], [3.0, 6.0]]
    """
    grid = np.asarray(at, dtype=np.float64)
    block = np.array([np.asarray(s, dtype=np.float64) for s in series])
    if block.ndim != 2 or block.shape[1] != grid.size:
        raise ValueError(f"by_time: each series must have {grid.size} values, got shape {block.shape}")
    import warnings

    with warnings.catch_warnings():  # a column of NaN only: no run has a sample there, and NaN says so
        warnings.simplefilter("ignore", RuntimeWarning)
        return grid, np.nanmean(block, axis=0), np.nanmin(block, axis=0), np.nanmax(block, axis=0)
