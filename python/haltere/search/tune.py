"""`haltere search`: the values of some keys of an experiment for which a metric is best."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis import metrics, stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..api import Scenario
from ..errors import InputError
from .climb import Budget, Cost, Found, Search
from .experiment import changed_file
from .race import Candidate, Judge
from .ranges import Range
from .reduce import minimal, shorter

#: The part of what was won over the file that must remain when values are put back or rounded.
KEPT = 0.9


@dataclass(frozen=True)
class Question:
    """What is searched for: which metric of which experiment, in which direction, over which keys."""

    file: Path
    scenario: Scenario
    metric: str
    maximise: bool
    over: Mapping[str, Range]

    @property
    def sign(self) -> float:
        """Scores are the higher the better; the metric may be the lower the better."""
        return 1.0 if self.maximise else -1.0

    def candidate(self, scenario: Scenario) -> Candidate:
        """The experiment with some values: the score of a seed is the mean over the points of its sweep."""

        def score(runs: Sequence[Run]) -> float:
            return self.sign * float(np.mean([metrics.named(run, self.metric) for run in runs]))

        return Candidate(tuple(core for _, core in scenario.points()), score)

    def printed_score(self, value: float) -> str:
        """A score for people, in the unit of the metric."""
        return f"{self.metric} {self.printed(self.sign * value)}"

    def printed(self, value: float | Mean) -> str:
        """A value of the metric with its unit."""
        one = metrics.metric(self.metric, self.scenario.to_dict())
        factor, unit = one.printed
        digits = max(one.digits, 2 if one.percent else 0)
        text = value.scaled(factor).format(digits) if isinstance(value, Mean) else f"{value * factor:.{digits}f}"
        return f"{text} {unit}".strip()


@dataclass
class Tuned:
    """What a search found: the values that differ from the file, and the metric of both with seeds that the search did not use."""

    question: Question
    budget: Budget
    found: Found
    values: dict[str, Any]
    """What differs from the file, after what is not needed was left out."""
    before: Mean
    after: Mean
    difference: Mean
    """After minus before, seed by seed; above 0 is better."""
    text: str
    """The experiment file."""
    base: float = 0.0
    """The score of the file with the seeds of the search."""
    cost: Cost = field(default_factory=Cost)

    @property
    def better(self) -> bool:
        """The interval of the difference lies above 0."""
        return bool(self.values) and self.difference.low > 0

    @property
    def signed(self) -> Mean:
        """The difference of the metric; the search takes higher for better."""
        return self.difference.scaled(self.question.sign)


def tune(question: Question, budget: Budget, judge: Judge, *, command: str = "", quiet: bool = False) -> Tuned:
    """Searches, leaves out what the result does not need, and compares the result with the file on fresh seeds."""
    began = time.process_time()
    check(question)
    base = _judged(judge, question.candidate(question.scenario), range(1, budget.seeds + 1), question)
    search = Search(
        "search", "candidate", "metric", judge, budget, lambda values: question.candidate(question.scenario.with_values(values)), base
    )  # fmt: skip
    found = search.climb(
        lambda draw: {key: one.draw(key, draw) for key, one in question.over.items()}, question.printed_score, quiet
    )
    values = _reduced(search, found, question.over)
    best = question.scenario.with_values(values)
    before = np.array(_judged(judge, question.candidate(question.scenario), search.fresh(), question))
    after = np.array(_judged(judge, question.candidate(best), search.fresh(), question)) if values else before
    tuned = Tuned(
        question, budget, found, values, stats.mean(question.sign * before), stats.mean(question.sign * after),
        stats.paired_difference(after, before), "", float(np.mean(base)), Cost.of(judge, began),
    )  # fmt: skip
    tuned.text = changed_file(question.file, question.scenario, best, _comment(tuned, command))
    return tuned


def check(question: Question) -> None:
    """Refuses a metric and keys that the experiment does not have, before anything is run."""
    flag = "--maximise" if question.maximise else "--minimise"
    metrics.check([question.metric], flag, question.scenario.to_dict())
    for key, one in question.over.items():
        try:
            question.scenario.with_values({key: one.middle})
        except InputError as error:
            raise InputError(f"--over {key}={one}: {str(error).removeprefix(f'set {key}: ')}") from None


def _judged(judge: Judge, candidate: Candidate, seeds: Sequence[int], question: Question) -> tuple[float, ...]:
    (scores,) = judge.scores([candidate], seeds)
    if isinstance(scores, str):
        raise InputError(f"{question.file}: metric must be one that every run has, got `{question.metric}`: {scores}")
    return tuple(scores)


def _reduced(search: Search, found: Found, over: Mapping[str, Range]) -> dict[str, Any]:
    """The values of the best candidate without those that it does not need, and with few digits.

    A value is put back to the file's, or rounded, if :data:`KEPT` of what was won over the file remains, with the seeds of the search.
    """
    if found.best is None:
        return {}
    values, least = found.best.values, KEPT * found.best.outcome.merit(search.baseline)
    kept = minimal(list(values), lambda some: bool(some) and search.holds({key: values[key] for key in some}, least))
    return shorter({key: values[key] for key in kept}, over, lambda some: search.holds(some, least))


def _comment(tuned: Tuned, command: str) -> str:
    q = tuned.question
    lines = [f"# Found by `{command}`." if command else "# Found by a search.", f"# {verdict(tuned)}", "#"]
    lines += [f"#   {key} = {value}" for key, value in tuned.values.items()] or ["#   no value differs"]
    lines += ["#", f"# Everything else is as in {q.file.name}. Its comments are not repeated here."]
    return "\n".join(lines) + "\n"


def verdict(tuned: Tuned) -> str:
    """What the search found, in a sentence."""
    q = tuned.question
    if not tuned.values:
        return f"None of {len(tuned.found.trials)} candidates is better than the file: {q.metric} is {q.printed(tuned.before)}."
    figures = f"{q.metric} is {q.printed(tuned.after)} instead of {q.printed(tuned.before)}"
    sure = "" if tuned.better else " The interval contains 0, so nothing better was shown."
    return f"{figures} (difference {q.printed(tuned.signed)}, {tuned.difference.n} seeds that the search did not use).{sure}"
