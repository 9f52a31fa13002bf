"""What the study `rafle` reads off its runs: FTP tasks and the classifier's verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...runs.records import Done
from ...runs.results import Results

Array = NDArray[np.float64]

BUCKET = 100_000
LAST_BUCKETS = 40


def equal_share(sizes: Sequence[int], upto: float, rate_bps: float) -> float:
    """Seconds until a file of ``upto`` bytes is through when all files start together and share the rate equally.

    >>> equal_share([100, 100, 200], 200, 8.0)
    400.0
    """
    return float(np.minimum(np.asarray(sizes, dtype=np.float64), upto).sum() * 8 / rate_bps)


def paper_s_share(buckets: NDArray[np.int64], rate_bps: float, grid: Array) -> Array:
    """Tasks not done at each time if all share the rate equally and every file lies at the middle of its bucket, as in the paper.

    ``buckets``: the bucket of each file, 0 for files up to 100 KB.
    """
    middles = (buckets + 0.5) * BUCKET
    done = np.sort([equal_share(middles.tolist(), float(size), rate_bps) for size in np.unique(middles)])
    counts = np.unique(buckets, return_counts=True)[1]
    left = buckets.size - np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(left[np.searchsorted(done, grid, "right")], dtype=np.float64)


def _served_by_chance(sizes: Sequence[int], capacity: float, rng: np.random.Generator) -> Array:
    """Small files served by a busy line of ``capacity`` bytes, in 3000 draws of the files."""
    base = np.asarray(sizes, dtype=np.float64)
    length = int(3 * capacity / base.mean()) + 10
    served = []
    for _ in range(3000):
        drawn = rng.choice(base, length)
        served.append(float((drawn[: np.searchsorted(np.cumsum(drawn), capacity)] <= BUCKET).sum()))
    return np.array(served)


def chance_of_gain(sizes: Sequence[int], capacity: float, runs: int, seed: int = 1) -> tuple[float, float]:
    """The range (95 %) of the gain in small files served, in percent, between two queues that differ in nothing.

    A line that is always busy serves ``capacity`` bytes, whatever its queue; how many files that is depends on which were drawn. Each
    queue's figure is a mean of ``runs`` runs, as the paper's are of three.

    >>> low, high = chance_of_gain([10, 10, 10, 10], 1000, 3)
    >>> low, high
    (0.0, 0.0)
    """
    rng = np.random.default_rng(seed)
    means = rng.choice(_served_by_chance(sizes, capacity, rng), (2, 20_000, runs)).mean(axis=2)
    low, high = np.percentile((means[0] / means[1] - 1) * 100, [2.5, 97.5])
    return float(low), float(high)


def chance_of_contrast(sizes: Sequence[int], capacity: float, runs: int, points: float, seed: int = 1) -> float:
    """How likely queues that differ in nothing show a contrast of at least so many percent points, on either side.

    The contrast is that of table 4: the mean gain of three queues over drop tail less the mean gain of three others.

    >>> chance_of_contrast([10, 10, 10, 10], 1000, 3, 1.0)
    0.0
    """
    rng = np.random.default_rng(seed)
    means = rng.choice(_served_by_chance(sizes, capacity, rng), (7, 200_000, runs)).mean(axis=2)
    contrast = (means[1:4].mean(axis=0) - means[4:7].mean(axis=0)) / means[0] * 100
    return float((np.abs(contrast) >= points).mean())


def _by(times: Array, grid: Array) -> Array:
    """How many of these times, NaN apart, have come by each time of ``grid``."""
    return np.searchsorted(np.sort(times[~np.isnan(times)]), grid, "right").astype(np.float64)


@dataclass
class Tasks:
    """The FTP tasks of one run; arrays of shape (tasks,), times in seconds, NaN if a task had not come so far."""

    bytes: Array
    start: Array
    data: Array
    end: Array
    failures: int

    @classmethod
    def of(cls, results: Results, run: Done) -> Tasks:
        """Those of that run."""
        table = results.run_table("tasks", run)

        def seconds(name: str) -> Array:
            column = pc.cast(table[name], pa.float64(), safe=False)
            return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64) * 1e-9

        sizes = table["file_bytes"].to_numpy().astype(np.float64)
        failures = int(pc.sum(table["failures"]).as_py() or 0)
        return cls(sizes, seconds("start_ns"), seconds("data_ns"), seconds("end_ns"), failures)

    @cached_property
    def bucket(self) -> NDArray[np.int64]:
        """0 for files up to 100 KB, 1 up to 200 KB, ..."""
        return ((self.bytes - 1) // BUCKET).astype(np.int64)

    @cached_property
    def took(self) -> Array:
        """Seconds from the first SYN to the reply that the file is stored."""
        return self.end - self.start

    def active(self, grid: Array) -> Array:
        """Tasks begun and not done at each time of ``grid``."""
        return _by(self.start, grid) - self.done(grid)

    def transferring(self, grid: Array) -> Array:
        """Tasks whose data connection was begun and that were not done, at each time of ``grid``."""
        return _by(self.data, grid) - self.done(grid)

    def done(self, grid: Array) -> Array:
        """Tasks done by each time of ``grid``."""
        return _by(self.end, grid)

    def served(self, low: float, high: float) -> Array:
        """Files done between these times, by bucket."""
        inside = (self.end > low) & (self.end <= high)
        return np.bincount(self.bucket[inside], minlength=LAST_BUCKETS).astype(np.float64)


Verdicts = tuple[float, float, float, float]


@dataclass
class Cell:
    """One queue under one reading: one entry a seed in each list."""

    tasks: list[Tasks] = field(default_factory=list)
    verdicts: list[Verdicts] = field(default_factory=list)
    """Packets of short flows called short and long, of long flows called long and short, by the senders' marks."""

    def over(self, measure: Callable[[Tasks], float]) -> list[float]:
        """One value a seed."""
        return [measure(tasks) for tasks in self.tasks]

    def rates(self) -> tuple[list[float], list[float]]:
        """The part of short flows' packets called short, and of long flows' called long."""
        return (
            [hit / (hit + miss) for hit, miss, _, _ in self.verdicts],
            [hit / (hit + miss) for _, _, hit, miss in self.verdicts],
        )


Cells = dict[tuple[str, str], Cell]
"""By reading and name of the queue."""


def verdicts(results: Results, run: Done) -> Verdicts:
    """Packets of short flows called short and long, of long flows called long and short; NaN without a classifier."""
    columns = ("short_hits", "short_misses", "long_hits", "long_misses")
    table = results.run_table("queue_series", run)
    if not set(columns) <= set(table.column_names) or not len(table):
        return (math.nan,) * 4
    last = {name: float(table[name][len(table) - 1].as_py()) for name in columns}
    return last["short_hits"], last["short_misses"], last["long_hits"], last["long_misses"]


def bucket_mean(bucket: int) -> Callable[[Tasks], float]:
    """The mean time of the files of a bucket, in seconds."""
    return lambda tasks: float(np.nanmean(tasks.took[tasks.bucket == bucket]))


def bucket_sd(bucket: int) -> Callable[[Tasks], float]:
    """Its deviation, in seconds."""
    return lambda tasks: float(np.nanstd(tasks.took[tasks.bucket == bucket], ddof=1))


def bucket_percentile(bucket: int, q: float) -> Callable[[Tasks], float]:
    """A percentile of its times, in seconds."""
    return lambda tasks: float(np.nanpercentile(tasks.took[tasks.bucket == bucket], q))


def last_end(tasks: Tasks) -> float:
    """When the last task was done, in seconds."""
    return float(np.nanmax(tasks.end))


def stragglers(number: int, mean: float, deviation: float, at: float, rest: float) -> tuple[float, float]:
    """How many of so many files must take `at` seconds for this mean and deviation if the others deviate by `rest`, and the others' mean.

    Their sum of squares is (n - k) (rest^2 + m^2) + k at^2, where m is the others' mean; k is found by bisection.

    >>> k, m = stragglers(438, 168.267, 304.951, 1750, 100)
    >>> round(k), round(m)
    (14, 116)
    """
    low, high = 0.0, number / 2
    for _ in range(60):
        k = (low + high) / 2
        m = (number * mean - k * at) / (number - k)
        squares = (number - k) * (rest**2 + m**2) + k * at**2
        low, high = (k, high) if squares - number * mean**2 < (number - 1) * deviation**2 else (low, k)
    return k, m
