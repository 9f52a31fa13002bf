"""Two variants side by side: paired differences over common seeds.

Each component of a run draws from its own stream, seeded by (seed, name). So two variants of one seed get the same random draws. What
the draws do to both cancels in the difference of the pair, and its interval is narrower than that of two unpaired means.

The effect size is Cohen's d of paired values: the mean difference over the standard deviation of the differences. It compares
the difference with the spread from seed to seed (0.2 small, 0.5 medium, 0.8 large, after Cohen 1988).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..runs.records import Point, swept
from ..runs.results import Results
from . import metrics, stats
from .measures import Run
from .stats import Mean


@dataclass(frozen=True)
class Side:
    """Points of a results directory: ``DIR``, or ``DIR@key=value,key=value`` for those with these swept values."""

    text: str
    results: Results
    points: tuple[Point, ...]
    chosen: frozenset[str]
    """The swept keys that the text names: the others must agree for two points to make a pair."""

    @classmethod
    def of(cls, text: str | Path | Results) -> Side:
        """Reads one side."""
        if isinstance(text, Results):
            return cls(text.where, text, tuple(text.points), frozenset())
        where, _, filters = str(text).partition("@")
        results = Results(where)
        wanted = dict(_setting(one, str(text)) for one in filters.split(",")) if filters else {}
        keys = {name: _key(name, results, str(text)) for name in wanted}
        points = [
            point for point in results.points
            if all(value in (swept(point.labels.get(key)), str(point.words.get(key))) for name, value in wanted.items() if (key := keys[name]))
        ]  # fmt: skip
        if not points:
            have = ", ".join(f"`{point.name}`" for point in results.points[:12])
            raise InputError(f"{text}: points must be at least 1, got none; there are {have}")
        return cls(str(text), results, tuple(points), frozenset(keys.values()))


def _setting(text: str, where: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"{where}: what follows `@` must be KEY=VALUE,KEY=VALUE, got `{text}`")
    return name.strip(), value.strip()


def _key(name: str, results: Results, where: str) -> str:
    """The swept key of that path, or with that end."""
    keys = list(dict.fromkeys(key for point in results.points for key in point.labels))
    found = [key for key in keys if key == name or key.endswith(f".{name}")]
    if len(found) != 1:
        known = ", ".join(f"`{key}`" for key in keys) or "none, nothing was swept"
        raise InputError(f"{where}: key must be the end of one swept key, got `{name}`; swept: {known}")
    return found[0]


@dataclass(frozen=True)
class Difference:
    """One metric of a pair of points: ``b - a`` over the seeds that both have."""

    point: str
    metric: str
    unit: str
    a: Mean
    b: Mean
    difference: Mean

    @property
    def effect(self) -> float:
        """Cohen's d of the pairs; NaN if the difference never varies."""
        return self.difference.mean / self.difference.sd if self.difference.sd else math.nan

    @property
    def p(self) -> float:
        """The p-value of the paired t test, for this difference alone."""
        return stats.p_value(self.difference)

    @property
    def significant(self) -> bool:
        """The interval leaves out 0: the two differ at this confidence."""
        return not self.difference.low <= 0 <= self.difference.high

    def sentence(self, first: str = "A", second: str = "B") -> str:
        """In plain words."""
        low, high, n = self.difference.low, self.difference.high, self.difference.n
        unit = f" {self.unit}" if self.unit else ""
        at = "" if self.point == "all" else f" ({self.point})"
        if self.difference.mean == 0 and self.difference.half == 0:
            return f"{self.metric}{at}: {first} and {second} are equal in all {n} seeds."
        interval = f"{_figure(low)} to {_figure(high)}{unit}, {n} seeds"
        if not self.significant:
            return (
                f"{self.metric}{at}: no significant difference; {second} minus {first} is {_figure(self.difference.mean)}{unit} "
                f"on average, with an interval from {interval}."
            )
        share = f", {abs(self.difference.mean / self.a.mean):.1%}" if self.a.mean else ""
        size = "" if math.isnan(self.effect) else f"; {_size(self.effect)} effect, d = {self.effect:.2g}"
        word = "higher" if self.difference.mean > 0 else "lower"
        amount = f"{_figure(abs(self.difference.mean))}{unit}"
        return f"{self.metric}{at}: {second} is {amount}{share} {word} than {first} ({interval}{size})."

    def to_dict(self) -> dict[str, Any]:
        """For programs."""

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None

        return {
            "point": self.point, "metric": self.metric, "unit": self.unit, "seeds": self.difference.n,
            "a": self.a.mean, "b": self.b.mean, "difference": self.difference.mean, "low": plain(self.difference.low),
            "high": plain(self.difference.high), "confidence": self.difference.confidence, "effect": plain(self.effect), "p": plain(self.p),
            "significant": self.significant, "sentence": self.sentence(),
        }  # fmt: skip


def _figure(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _size(effect: float) -> str:
    """Cohen's words.

    >>> [_size(d) for d in (0.1, -0.3, 0.6, 2.0)]
    ['a very small', 'a small', 'a medium', 'a large']
    """
    bounds = ((0.2, "a very small"), (0.5, "a small"), (0.8, "a medium"))
    return next((word for bound, word in bounds if abs(effect) < bound), "a large")


def compare(
    a: str | Path | Results | Side,
    b: str | Path | Results | Side,
    names: Sequence[str] = (),
    confidence: float = 0.95,
) -> list[Difference]:
    """Every metric of every pair of points: ``b`` minus ``a``, paired by seed.

    ``names``: which metrics; default: all that both have. A side is a results directory, or ``DIR@key=value`` for the points with these
    swept values. Points make a pair when the swept values that are not named agree.
    """
    first, second = (one if isinstance(one, Side) else Side.of(one) for one in (a, b))
    metrics.check(list(names), "compare", first.points[0].scenario)
    out = []
    for name, left, right in _pairs(first, second):
        one, two = _runs(first, left), _runs(second, right)
        seeds = sorted(one.keys() & two.keys())
        if len(seeds) < 2:
            raise InputError(
                f"compare: {name}: common seeds must be at least 2, got {len(seeds)}; run both with the same seeds"
            )
        out += _differences(name, [one[seed] for seed in seeds], [two[seed] for seed in seeds], names, confidence)
    return out


def _pairs(first: Side, second: Side) -> list[tuple[str, Point, Point]]:
    """The points of both sides whose other swept values agree, with what these are."""
    chosen = first.chosen | second.chosen
    if len(first.points) == len(second.points) == 1:
        return [("all", first.points[0], second.points[0])]

    def rest(point: Point) -> str:
        return Point(0, {key: value for key, value in point.words.items() if key not in chosen}, {}).name

    sides = []
    for side in (first, second):
        by_name = {rest(point): point for point in side.points}
        if len(by_name) < len(side.points):
            raise InputError(
                f"{side.text}: points must differ in more than what `@` names, got several of `{rest(side.points[0])}`"
            )
        sides.append(by_name)
    shared = [name for name in sides[0] if name in sides[1]]
    if not shared:
        raise InputError(
            f"compare: points must have swept values in common, got `{next(iter(sides[0]))}` and `{next(iter(sides[1]))}`; "
            "name one on each side, as in DIR@queue=codel"
        )
    return [(name, sides[0][name], sides[1][name]) for name in shared]


def _runs(side: Side, point: Point) -> dict[int, Run]:
    return {run.seed: Run(side.results, run) for run in side.results.runs if run.point == point.index}


def _differences(
    point: str, one: Sequence[Run], two: Sequence[Run], names: Sequence[str], confidence: float
) -> list[Difference]:
    values = [[_values(run, names) for run in runs] for runs in (one, two)]
    shared = [name for name in values[0][0] if all(name in run for side in values for run in side)]
    lacking = [name for name in names if name not in shared]
    if lacking:
        raise InputError(f"compare: metric must be one that every run has, got `{lacking[0]}`")
    out = []
    for name in shared:
        a, b = ([run[name] for run in side] for side in values)
        unit = metrics.metric(name, one[0].scenario).unit
        pair = (stats.mean(a, confidence), stats.mean(b, confidence), stats.paired_difference(b, a, confidence))
        out.append(Difference(point, name, unit, *pair))
    return out


def _values(run: Run, names: Sequence[str]) -> dict[str, float]:
    if not names:
        return metrics.every(run)
    values = {name: metrics.named(run, name) for name in names}
    return {name: value for name, value in values.items() if not math.isnan(value)}
