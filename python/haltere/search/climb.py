"""The search itself: batches of candidates, until the trials or the time are used up."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from ..runs.progress import Bar
from .propose import Proposer
from .race import Candidate, Judge, Outcome, race
from .ranges import Draw

#: At least so many seeds, which the search did not use, measure what it found.
FRESH = 10


@dataclass(frozen=True)
class Budget:
    """How long a search may take, and how candidates are judged."""

    trials: int
    time_s: float | None
    seeds: int
    """Seeds of a candidate that is not stopped."""
    batch: int
    """Candidates that are proposed together. More of them keep more cores busy; fewer learn more from those before."""
    seed: int
    """Of the proposals."""


@dataclass(frozen=True)
class Trial:
    """One candidate: its values by name, and how it did."""

    number: int
    values: Mapping[str, Any]
    outcome: Outcome
    is_best: bool
    """It was the best one so far."""


@dataclass
class Found:
    """What a search found."""

    trials: list[Trial] = field(default_factory=list)
    best: Trial | None = None
    out_of_time: bool = False

    @property
    def failed(self) -> list[Trial]:
        """Candidates without a score."""
        return [one for one in self.trials if one.outcome.error]

    @property
    def stopped(self) -> list[Trial]:
        """Candidates that were stopped early."""
        return [one for one in self.trials if one.outcome.stopped]

    def counts(self) -> dict[str, int]:
        """How many candidates there were, for programs."""
        return {"candidates": len(self.trials), "stopped": len(self.stopped), "failed": len(self.failed)}


@dataclass(frozen=True)
class Cost:
    """What a search cost: processor time, runs that it made, and runs that were in the store."""

    cpu_s: float = 0.0
    made: int = 0
    there: int = 0

    @classmethod
    def of(cls, judge: Judge, began: float) -> Cost:
        """The cost of the runs of this judge since that processor time; what was measured is saved."""
        judge.facts.save()
        return cls(time.process_time() - began, judge.made, judge.found)

    def to_dict(self) -> dict[str, float]:
        """For programs."""
        return {"runs_made": self.made, "runs_found": self.there, "cpu_s": round(self.cpu_s, 3)}

    def notes(self, found: Found, most: int, what: str) -> list[str]:
        """Sentences for a report; `what`: the plural of a candidate."""
        lines = [f"CPU time of this call: {self.cpu_s:.0f} s. Runs: {self.made} made, {self.there} found in the store."]
        if found.out_of_time:
            lines.append(
                f"The time was used up after {len(found.trials)} of {most} {what}. The same command continues."
            )
        if found.failed:
            lines.append(f"{len(found.failed)} {what} failed, the first with: {found.failed[0].outcome.error}.")
        return lines


@dataclass(frozen=True)
class Search:
    """A search for the values with the highest :meth:`Outcome.merit`, as `haltere search` and `haltere attack` make it."""

    what: str
    noun: str
    """What a sentence calls a candidate."""
    goal: str
    """What it must have to be judged."""
    judge: Judge
    budget: Budget
    candidate: Callable[[Mapping[str, Any]], Candidate]
    """Makes a candidate of values, or raises an `InputError`."""
    baseline: tuple[float, ...] | None = None
    """Scores to beat."""

    def climb(
        self, build: Callable[[Draw], dict[str, Any]], printed_score: Callable[[float], str], quiet: bool = False
    ) -> Found:
        """Judges what ``build`` draws, batch by batch, until the trials or the time are used up. ``printed_score``: a score for people.

        The candidates, and what is decided of them, follow from the arguments and not from ``judge.jobs``.
        """
        budget, proposer = self.budget, Proposer(build, self.budget.seed, self.budget.batch, self.what.split()[0])
        found, began = Found(), time.monotonic()
        best, merit = (Outcome(self.baseline), 0.0) if self.baseline else (None, -math.inf)
        with Bar(budget.trials, self.what, quiet=quiet, unit="candidates") as bar:
            while len(found.trials) < budget.trials:
                if budget.time_s is not None and found.trials and time.monotonic() - began > budget.time_s:
                    found.out_of_time = True
                    break
                asked = [proposer.ask() for _ in range(min(budget.batch, budget.trials - len(found.trials)))]
                outcomes = self._judged([values for _, values in asked], best.scores if best else None)
                for (trial, values), outcome in zip(asked, outcomes, strict=True):
                    own = -math.inf if outcome.error else outcome.merit(self.baseline)
                    proposer.tell(trial, None if outcome.error else own)
                    is_best = outcome.complete and own > merit
                    found.trials.append(Trial(len(found.trials), values, outcome, is_best))
                    if is_best:
                        best, merit, found.best = outcome, own, found.trials[-1]
                        _say(f"{self.what}: candidate {found.best.number}: {printed_score(outcome.mean)}", bar)
                bar.update(len(found.trials))
        if len(found.failed) == len(found.trials):
            why = f"got none of {len(found.trials)}; {found.failed[0].outcome.error}"
            raise InputError(f"{self.what.split()[0]}: at least one {self.noun} must have the {self.goal}, {why}")
        return found

    def _judged(self, batch: Sequence[Mapping[str, Any]], best: Sequence[float] | None) -> list[Outcome]:
        made = [self._made(values) for values in batch]
        raced = iter(race(self.judge, [one for one in made if isinstance(one, Candidate)], best, self.budget.seeds))
        return [next(raced) if isinstance(one, Candidate) else Outcome(error=one) for one in made]

    def _made(self, values: Mapping[str, Any]) -> Candidate | str:
        try:
            return self.candidate(values)
        except InputError as error:
            return str(error)

    def holds(self, values: Mapping[str, Any], least: float) -> bool:
        """Whether these values have at least that merit, with the seeds of the search."""
        candidate = self._made(values)
        if isinstance(candidate, str):
            return False
        (scores,) = self.judge.scores([candidate], range(1, self.budget.seeds + 1))
        return not isinstance(scores, str) and Outcome(tuple(scores)).merit(self.baseline) >= least

    def fresh(self) -> range:
        """Seeds that the search does not use, which measure what it found."""
        return range(self.budget.seeds + 1, self.budget.seeds + 1 + max(FRESH, self.budget.seeds))


def _say(line: str, bar: Bar) -> None:
    """A line above the progress bar."""
    if not bar.quiet:
        print(f"\r{line}\x1b[K" if bar.terminal else line, file=sys.stderr)


def seconds_of(text: str) -> float:
    """A time budget such as ``10min``, ``90s`` or ``1h``, in seconds.

    >>> seconds_of("10min"), seconds_of("90s"), seconds_of("1.5h")
    (600.0, 90.0, 5400.0)
    """
    for unit, factor in (("min", 60.0), ("h", 3600.0), ("s", 1.0)):
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdecimal() and float(number) > 0:
            return float(number) * factor
    raise ValueError(f"a time > 0 such as `10min`, `90s` or `1h`, got `{text}`")
