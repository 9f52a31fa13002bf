"""Judges candidates by runs: all with the same seeds, hopeless ones with few.

Every candidate is run with the seeds 1 ... n of each round. Each component of a run draws from its own random stream, so two candidates
of one seed get the same random draws, and the difference seed by seed has a narrow interval (common random numbers). After a round a
candidate stops if the interval of its difference from the best one lies below 0: it cannot reach the best.

The store holds every run. A call that was killed repeats its decisions from the stored runs, and continues.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import pyarrow as pa

from .. import _core
from ..analysis import stats
from ..analysis.facts import Facts
from ..analysis.measures import Run
from ..runs.records import Done, Failed, Point, Seal
from ..runs.runner import Task, execute
from ..runs.store import Store
from ..worlds import World

#: Seconds between two writes of what was measured.
_SAVE_EVERY_S = 10.0


@dataclass(frozen=True)
class Candidate:
    """What is judged: with each seed one run of each scenario (without sweep), and one number read off these runs, the higher the better."""

    cores: tuple[_core.Scenario, ...]
    score: Callable[[Sequence[Run]], float]


@dataclass(frozen=True)
class Outcome:
    """How a candidate did: its score with each seed; or why it has none."""

    scores: tuple[float, ...] = ()
    stopped: bool = False
    """It was stopped before it had all seeds."""
    error: str = ""

    @property
    def mean(self) -> float:
        """The mean over the seeds that it had; NaN if it failed."""
        return math.nan if self.error else float(stats.mean(self.scores).mean)

    def merit(self, baseline: Sequence[float] | None = None) -> float:
        """The mean less its standard error; with a baseline, that of the differences from it, seed by seed.

        The best of many noisy candidates is lucky rather than good. A candidate with a large spread must have a larger mean to be the best.
        """
        if baseline is None:
            value = stats.mean(self.scores)
        else:
            value = stats.paired_difference(self.scores, baseline[: len(self.scores)])
        return value.mean - (value.sd / math.sqrt(value.n) if value.n > 1 else 0.0)

    @property
    def complete(self) -> bool:
        """It has all seeds."""
        return not self.stopped and not self.error


@dataclass
class Judge:
    """Makes the runs of candidates, keeps them in a store, and reads scores off them. Also what :class:`Run` takes tables from."""

    store: Store
    world: World
    jobs: int | None = None
    executor: Executor | None = None
    points: list[Point] = field(default_factory=list)
    runs: list[Done] = field(default_factory=list)
    made: int = 0
    """Runs that this call made."""
    found: int = 0
    """Runs that were in the store."""

    def __post_init__(self) -> None:
        self.facts = Facts(self.store.folder if self.store.local else None)
        self._places: dict[str, int] = {}
        self._seals: dict[str, Seal] = {}
        self._ended: dict[str, Done | Failed] = {}
        self._saved = time.monotonic()

    def run_table(self, name: str, run: Done, columns: list[str] | None = None) -> pa.Table:
        """The table of that name of one run."""
        if run.key not in self._seals:
            self._seals.update(self.store.seals(self._ended))  # of all at once: each look lists the store
        return self.store.table(self._seals[run.key], name, columns)

    def scores(self, candidates: Sequence[Candidate], seeds: Sequence[int]) -> list[list[float] | str]:
        """The score of each candidate with each seed; or in one sentence why it has none."""
        tasks = [
            Task(core, seed, self._place(core), self.world)
            for one in candidates
            for seed in seeds
            for core in one.cores
        ]
        ended = self._execute(tasks)
        out: list[list[float] | str] = []
        start = 0
        for one in candidates:
            many = len(one.cores)
            own = [ended[start + i * many : start + (i + 1) * many] for i in range(len(seeds))]
            out.append(self._read(one, own))
            start += many * len(seeds)
        if time.monotonic() - self._saved > _SAVE_EVERY_S:
            self.facts.save()
            self._saved = time.monotonic()
        return out

    def _place(self, core: _core.Scenario) -> int:
        text = core.to_json()
        if text not in self._places:
            self._places[text] = len(self.points)
            self.points.append(Point(len(self.points), {}, json.loads(text)))
        return self._places[text]

    def _execute(self, tasks: Sequence[Task]) -> list[Done | Failed]:
        """Makes the runs that this call has not seen and that the store does not have."""
        new = list({task.key: task for task in tasks if task.key not in self._ended}.values())
        self.world.check([task.scenario for task in new])
        for one in execute(new, self.store, jobs=self.jobs, executor=self.executor, quiet=True) if new else ():
            self._ended[one.key] = one
            if isinstance(one, Done) and one.facts:
                self.facts.add(f"{one.key} {one.digest}", one.facts)
                self.made += 1
            else:
                self.found += isinstance(one, Done)
        return [replace(self._ended[task.key], point=task.point) for task in tasks]

    def _read(self, candidate: Candidate, by_seed: Sequence[Sequence[Done | Failed]]) -> list[float] | str:
        scores = []
        for ended in by_seed:
            runs = []
            for one in ended:
                if isinstance(one, Failed):
                    return one.error
                runs.append(Run(self, one))
            scores.append(candidate.score(runs))
        if any(map(math.isnan, scores)):
            return "the metric has no value in some runs"
        return scores


def rounds(seeds: int) -> list[int]:
    """How many seeds a candidate has after each round.

    >>> rounds(1), rounds(3), rounds(10)
    ([1], [2, 3], [2, 4, 8, 10])
    """
    out, many = [], 2
    while many < seeds:
        out.append(many)
        many *= 2
    return [*out, seeds]


def hopeless(scores: Sequence[float], best: Sequence[float] | None) -> bool:
    """Whether the interval of the difference from the best one, seed by seed, lies below 0.

    >>> hopeless([1.0, 1.1], [5.0, 5.1]), hopeless([1.0, 9.0], [5.0, 5.1]), hopeless([1.0], [5.0])
    (True, False, False)
    """
    if best is None or len(scores) < 2:
        return False
    return stats.paired_difference(scores, best[: len(scores)]).high < 0


def race(judge: Judge, batch: Sequence[Candidate], best: Sequence[float] | None, seeds: int) -> list[Outcome]:
    """Judges a batch of candidates, round by round, against the best one so far."""
    scores: list[list[float]] = [[] for _ in batch]
    errors: list[str] = [""] * len(batch)
    stopped: set[int] = set()
    before = 0
    for many in rounds(seeds):
        going = [i for i in range(len(batch)) if i not in stopped and not errors[i]]
        new = judge.scores([batch[i] for i in going], range(before + 1, many + 1))
        for i, one in zip(going, new, strict=True):
            if isinstance(one, str):
                errors[i] = one
                continue
            scores[i] += one
            if many < seeds and hopeless(scores[i], best):
                stopped.add(i)
        before = many
    return [Outcome(tuple(scores[i]), i in stopped, errors[i]) for i in range(len(batch))]
