"""The stopping rule: seeds are added until the means are known well enough.

After each round the Student-t interval of every metric is computed over the seeds 1 ... n of a point. If one is too wide, the next
round goes to the number of seeds that its spread calls for (the half-width shrinks with the root of n). A round adds at most n seeds,
because few seeds give a poor estimate of the spread. The decision rests on results in the order of the seeds alone. So the same seeds
are run whatever the number of jobs and whichever run ends first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..analysis import metrics, stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..errors import InputError


@dataclass(frozen=True)
class Precision:
    """Half of the 95 % interval must be at most ``within`` of the mean, for every metric of ``of``; a point has at most ``max_seeds``."""

    within: float
    of: tuple[str, ...]
    max_seeds: int

    @classmethod
    def of_scenario(cls, scenario: Mapping[str, Any]) -> Precision | None:
        """The rule in a full scenario, or ``None``."""
        rule = scenario.get("precision")
        if rule is None:
            return None
        metrics.check(rule["of"], "precision.of", scenario)
        return cls(float(rule["within"]), tuple(rule["of"]), int(rule["max_seeds"]))

    def judge(self, point: int, runs_of: Callable[[int], list[Run]], known: dict[str, dict[str, float]]) -> Reached:
        """How well the point is known by its runs, in the order of their seeds; ``known`` keeps metrics of runs by key."""
        runs = runs_of(point)
        names = list(self.of) or metrics.default(runs[0])
        for run in runs:
            if run.done.key not in known:
                known[run.done.key] = {name: metrics.named(run, name) for name in names}
        widths = {}
        for name in names:
            values = [known[run.done.key][name] for run in runs]
            if any(map(math.isnan, values)):
                raise InputError(f"precision.of: metric must be one that every run has, got `{name}`, which some lack")
            # Of a single run nothing is known of the spread.
            widths[name] = relative(stats.mean(values)) if len(values) > 1 else math.inf
        count = next_count(len(runs), list(widths.values()), self.within, self.max_seeds)
        return Reached(len(runs), widths, self.within, count)


@dataclass(frozen=True)
class Reached:
    """How well one point is known after ``n`` seeds: the relative half-width of each metric, and with how many to look again."""

    n: int
    widths: Mapping[str, float]
    within: float
    next_n: int

    @property
    def missed(self) -> list[str]:
        """The metrics that are too wide."""
        return [name for name, width in self.widths.items() if width > self.within]

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        widths = {name: None if math.isinf(width) else width for name, width in self.widths.items()}
        return {"seeds": self.n, "widths": widths, "reached": not self.missed}


def relative(mean: Mean) -> float:
    """Half the interval over the mean. A metric that never varies is known, be it 0."""
    if mean.half == 0:
        return 0.0
    return mean.half / abs(mean.mean) if mean.mean else math.inf


def next_count(n: int, widths: Sequence[float], within: float, max_seeds: int) -> int:
    """With how many seeds to look again; ``n`` if that is enough, or the limit.

    >>> next_count(10, [0.01], 0.02, 200), next_count(10, [0.022], 0.02, 200), next_count(10, [0.4], 0.02, 200)
    (10, 13, 20)
    """
    widest = max(widths, default=0.0)
    if widest <= within:
        return n
    called_for = 2 * n if math.isinf(widest) else math.ceil(n * (widest / within) ** 2)
    return max(n, min(max_seeds, max(n + 2, min(called_for, 2 * n))))
