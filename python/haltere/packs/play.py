"""Runs the cases of a pack with one or more variants, and judges what must hold and what is worse than a baseline.

Every variant has the same random draws in the same case and seed, so differences are taken seed by seed. A row is bad if its *excess* is above 0: by how much a
condition is violated, or by how much more than its margin a figure is worse. Its p-value is that of a one-sided paired t test, after Holm over all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..analysis import metrics, stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..api import plan_runs, seeds_from
from ..errors import InputError
from ..runs.precision import Precision, Reached, next_count
from ..runs.results import Results, RunsFailed
from ..worlds import DEFAULT, World
from . import Case, Figure, Pack, Variant

#: The error rate of all verdicts of a call together.
LEVEL = 0.05
#: Verdicts that fail a check.
BAD = ("worse", "not held", "failed")


@dataclass(frozen=True)
class Row:
    """What is judged: a condition, or a figure beside the baseline's."""

    case: str
    variant: str
    what: str
    unit: str
    value: Mean
    excess: Mean
    base: Mean | None = None
    """Of a figure: the baseline's value."""
    difference: Mean | None = None
    margin: float = math.nan
    p: float = math.nan
    verdict: str = ""

    @property
    def is_figure(self) -> bool:
        """It is compared; otherwise it must hold."""
        return self.base is not None

    @property
    def is_bad(self) -> bool:
        """It fails a check."""
        return self.verdict in BAD

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        pairs = {"value": self.value, "base": self.base, "difference": self.difference, "excess": self.excess}
        return {
            "case": self.case, "variant": self.variant, "what": self.what, "unit": self.unit, "verdict": self.verdict, "p_holm": self.p,
            "margin": None if math.isnan(self.margin) else self.margin,
            **{name: one.to_dict() if one else None for name, one in pairs.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class Played:
    """The runs of a pack."""

    pack: Pack
    variants: Sequence[Variant]
    results: Results
    runs: Mapping[tuple[str, str], Sequence[Run]]
    """By case and variant, in the order of their seeds."""
    failed: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Why a run of that case and variant ended early."""

    def rows(self) -> Iterator[tuple[Case, str, Sequence[Run]]]:
        """Each case with each variant of which every run ended."""
        for case in self.pack.cases:
            for variant in self.variants:
                if (case.name, variant.name) not in self.failed:
                    yield case, variant.name, self.runs[case.name, variant.name]


def play(
    pack: Pack, variants: Sequence[Variant], out: Path, *, seeds: int | None = None, jobs: int | None = None, quiet: bool = False,
    world: str | World = DEFAULT, precision: Precision | None = None,
) -> Played:  # fmt: skip
    """Runs every case with every variant. ``precision``: more seeds are added until it is reached."""
    pairs = [(case, variant) for case in pack.cases for variant in variants]
    scenarios = [case.scenario(variant) for case, variant in pairs]
    labels = [{"case": case.name, "variant": variant.name} for case, variant in pairs]
    failed: dict[tuple[str, str], str] = {}
    try:
        results = plan_runs(
            scenarios, seeds_from(seeds, pack.seeds), out, jobs=jobs, quiet=quiet, title=f"Pack {pack.name}", labels=labels,
            world=world, precision=precision,
        )  # fmt: skip
    except RunsFailed as error:
        results = error.results
        for one in error.failed:
            case, variant = pairs[one.point]
            failed[case.name, variant.name] = f"seed {one.seed}: {one.error}"
    runs: dict[tuple[str, str], list[Run]] = {(case.name, variant.name): [] for case, variant in pairs}
    for done in sorted(results.runs, key=lambda run: (run.point, run.seed)):
        case, variant = pairs[done.point]
        runs[case.name, variant.name].append(Run(results, done))
    return Played(pack, variants, results, runs, failed)


# -- what must hold -------------------------------------------------------------------------------------------------------


def conditions(played: Played) -> list[Row]:
    """What must hold, of every case and variant."""
    rows = []
    for case, variant, runs in played.rows():
        for one in case.must:
            value, excess = ([read(run) for run in runs] for read in (one.value, one.excess))
            if any(map(math.isnan, excess)):
                raise InputError(
                    f"{case.name}: metrics of a condition must be ones that every run has, got `{one.text}`, of which some lack one"
                )
            unit = one.unit(runs[0].scenario)
            rows.append(Row(case.name, variant, one.text, unit, stats.mean(value), stats.mean(excess)))
    return rows


# -- what is compared -----------------------------------------------------------------------------------------------------


def has(run: Run, name: str) -> bool:
    head, dot, part = name.partition(".")
    one = metrics.metric(head, run.scenario)
    return (not dot or part in metrics.parts(run, one.part)) and not math.isnan(metrics.named(run, name))


def beside(figure: Figure, base: Sequence[Run], new: Sequence[Run]) -> tuple[Mean, Mean, Mean, Mean, float] | None:
    """Base, value, difference, excess and margin of a figure over the common seeds; ``None`` if some run lacks it."""
    one = {run.done.seed: run for run in base}
    two = {run.done.seed: run for run in new}
    seeds = sorted(one.keys() & two.keys())
    if not seeds or not all(has(side[seed], figure.of) for side in (one, two) for seed in seeds):
        return None
    first, second = ([metrics.named(side[seed], figure.of) for seed in seeds] for side in (one, two))
    better = metrics.metric(figure.of, base[0].scenario).better
    before, difference = stats.mean(first), stats.paired_difference(second, first)
    margin = max(figure.margin * abs(before.mean), figure.least)
    worse = {"higher": -difference.mean, "lower": difference.mean, "neither": abs(difference.mean)}[better]
    return before, stats.mean(second), difference, replace(difference, mean=worse - margin), margin


def comparisons(played: Played, figures: Sequence[Figure]) -> list[Row]:
    """Every figure of the second variant beside that of the first."""
    base, new = (variant.name for variant in played.variants)
    rows = []
    for case in played.pack.cases:
        if {(case.name, base), (case.name, new)} & played.failed.keys():
            continue
        one, two = played.runs[case.name, base], played.runs[case.name, new]
        for figure in figures or [Figure(name) for name in metrics.default(one[0])]:
            if (found := beside(figure, one, two)) is not None:
                before, value, difference, excess, margin = found
                factor, unit = metrics.metric(figure.of, one[0].scenario).printed
                value, excess, before, difference = (
                    mean.scaled(factor) for mean in (value, excess, before, difference)
                )
                rows.append(Row(case.name, new, figure.of, unit, value, excess, before, difference, factor * margin))
    return rows


@dataclass(frozen=True)
class Paired(Precision):
    """The stopping rule of a comparison: seeds are added until each figure is worse or not by more than its margin, as its interval says."""

    figures: tuple[Figure, ...]
    level: float
    """What is certain at this level stays so after Holm's correction."""

    @classmethod
    def over(cls, pack: Pack, figures: Sequence[Figure], max_seeds: int) -> Paired:
        """The rule of that pack."""
        level = LEVEL / sum(2 * len(case.must) + len(figures) for case in pack.cases)
        return cls(1.0, (), max_seeds, tuple(figures), level)

    def judge(self, point: int, runs_of: Callable[[int], list[Run]], known: dict[str, dict[str, float]]) -> Reached:
        """Points are pairs, the baseline first; both get the same seeds."""
        base, new = runs_of(point - point % 2), runs_of(point - point % 2 + 1)
        widths = {}
        for figure in self.figures:
            if base and new and (found := beside(figure, base, new)) is not None:
                *_, excess, margin = found
                is_known = excess.half == 0 or excess.high <= 0 or _one_sided(excess) < self.level
                widths[figure.of] = 0.0 if is_known else excess.half / margin if margin else math.inf
        n = max(len(base), len(new))
        return Reached(n, widths, self.within, next_count(n, list(widths.values()), self.within, self.max_seeds))


# -- verdicts -------------------------------------------------------------------------------------------------------------


def _one_sided(excess: Mean) -> float:
    """The p-value of a mean above 0. Of a single run nothing is known of the spread: its sign decides."""
    if excess.n < 2 or excess.sd == 0:
        return 0.0 if excess.mean > 0 else 1.0
    both = stats.p_value(excess)
    return both / 2 if excess.mean > 0 else 1 - both / 2


def judged(rows: Sequence[Row], base: str = "") -> list[Row]:
    """The rows with their verdicts. A condition that does not hold for the variant named ``base`` either is no fault of the other."""
    adjusted = stats.holm([_one_sided(row.excess) for row in rows])
    out = [replace(row, p=p, verdict=_verdict(row, p)) for row, p in zip(rows, adjusted, strict=True)]
    before = {(row.case, row.what) for row in out if row.variant == base and row.verdict == "not held"}
    known = "not held, as with the baseline"
    return [
        replace(row, verdict=known) if base and not row.is_figure and row.is_bad and (row.case, row.what) in before else row
        for row in out
    ]  # fmt: skip


def _verdict(row: Row, p: float) -> str:
    if p < LEVEL:
        return "worse" if row.is_figure else "not held"
    if (row.excess.n < 2 or row.excess.half == 0 or row.excess.high <= 0) and row.excess.mean <= 0:
        return "not worse" if row.is_figure else "held"
    return "inconclusive"
