"""The search itself: batches of candidates, until the trials or the time are used up."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
            lines.append(f"The time was used up after {len(found.trials)} of {most} {what}. The same command goes on.")
        if found.failed:
            lines.append(f"{len(found.failed)} {what} failed, the first with: {found.failed[0].outcome.error}.")
        return lines


def climb(
    build: Callable[[Draw], dict[str, Any]],
    candidate: Callable[[Mapping[str, Any]], Candidate | str],
    judge: Judge,
    budget: Budget,
    *,
    what: str,
    baseline: Outcome | None = None,
    quiet: bool = False,
    printed_score: Callable[[float], str] = str,
) -> Found:
    """Searches for the candidate with the highest :meth:`Outcome.merit`.

    ``build`` draws the values of a candidate, ``candidate`` makes it of them, or says why there is none. ``baseline``: scores to beat.
    ``printed_score``: a score for people. The candidates, and what is decided of them, follow from the arguments and not from ``judge.jobs``.
    """
    proposer: Proposer[dict[str, Any]] = Proposer(build, budget.seed, budget.batch, what)
    found, began = Found(), time.monotonic()
    base = baseline.scores if baseline else None
    best, merit = baseline, 0.0 if baseline else -math.inf
    with Bar(budget.trials, what, quiet=quiet, unit="candidates") as bar:
        while len(found.trials) < budget.trials:
            if budget.time_s is not None and found.trials and time.monotonic() - began > budget.time_s:
                found.out_of_time = True
                break
            asked = [proposer.ask() for _ in range(min(budget.batch, budget.trials - len(found.trials)))]
            made = [candidate(values) for _, values in asked]
            raceable = [one for one in made if isinstance(one, Candidate)]
            raced = iter(race(judge, raceable, best.scores if best else None, budget.seeds))
            for (trial, values), one in zip(asked, made, strict=True):
                outcome = next(raced) if isinstance(one, Candidate) else Outcome(error=one)
                own = -math.inf if outcome.error else outcome.merit(base)
                proposer.tell(trial, None if outcome.error else own)
                is_best = outcome.complete and own > merit
                found.trials.append(Trial(len(found.trials), values, outcome, is_best))
                if is_best:
                    best, merit, found.best = outcome, own, found.trials[-1]
                    _say(f"{what}: candidate {found.best.number}: {printed_score(outcome.mean)}", bar)
            bar.update(len(found.trials))
    return found


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
