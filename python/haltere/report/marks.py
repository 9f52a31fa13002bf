"""Marks of significance in the tables of a report: each point against the first one, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..analysis import metrics, stats
from ..analysis.measures import Run
from ..runs.records import Point

#: What the marks are.
MEANING = "* p < 0.05, ** p < 0.01, *** p < 0.001: paired t tests, adjusted for all rows by Holm's method."
#: A mark by the place of the point, the row within the point, and the name of the metric.
Marks = Mapping[tuple[int, tuple[str, ...], str], str]


def stars(p: float) -> str:
    """The mark of a p-value that is adjusted for the number of tests.

    >>> stars(0.0009), stars(0.04), stars(0.05)
    ('***', '*', '')
    """
    return "*" * sum(p < bound for bound in (0.05, 0.01, 0.001))


def of_table(
    points: Sequence[tuple[Point, Sequence[Run]]],
    columns: Sequence[metrics.Metric],
    rows: Iterable[tuple[tuple[str, ...], str | None]],
) -> tuple[Marks, str]:
    """The marks of a table, and the note below it. ``rows``: those of a point, each with the part of a run that its metrics are of."""
    tests: dict[tuple[int, tuple[str, ...], str], float] = {}
    for row, part in rows:
        for one in columns:
            first = _by_seed(points[0][1], lambda run, one=one, part=part: one.measure(run, part))  # type: ignore[misc]
            for point, runs in points[1:]:
                other = _by_seed(runs, lambda run, one=one, part=part: one.measure(run, part))  # type: ignore[misc]
                seeds = sorted(first.keys() & other.keys())
                if len(seeds) > 1:
                    gap = stats.paired_difference([other[seed] for seed in seeds], [first[seed] for seed in seeds])
                    tests[point.index, row, one.name] = stats.p_value(gap)
    adjusted = zip(tests, stats.holm(list(tests.values())), strict=True)
    marks = {key: mark for key, p in adjusted if (mark := stars(p))}
    against = f"Against {points[0][0].name}, seed by seed. {MEANING.replace('all rows', f'the {len(tests)} tests of the table')}"
    return marks, against if marks else ""


def _by_seed(runs: Sequence[Run], measure: Callable[[Run], float]) -> dict[int, float]:
    values = {run.done.seed: measure(run) for run in runs}
    return {seed: value for seed, value in values.items() if not math.isnan(value)}


def aligned(cells: Sequence[Sequence[str]], marks: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells with their marks; in a column with marks each cell is as much longer, so that numbers stay below one another."""
    wide = [max(map(len, column), default=0) for column in zip(*marks, strict=True)]
    return [
        [f"{cell} {mark:<{w}}" if w else cell for cell, mark, w in zip(row, own, wide, strict=True)]
        for row, own in zip(cells, marks, strict=True)
    ]
