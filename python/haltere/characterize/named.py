"""What every report card needs: the mechanism that is characterised with those beside it, the scenarios asked for, and their runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import stacks
from ..analysis import stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..api import Scenario
from ..errors import InputError
from ..kinds import label
from ..studies import Options
from .files import Case, Table

#: A mechanism as an experiment has it.
Entry = dict[str, Any]


def entry(kind: str, settings: Mapping[str, Any]) -> Entry:
    """The mechanism with these parameters. A file of one from outside is looked for from the current folder."""
    folder = {"source": {"folder": str(Path.cwd())}} if ":" in kind else {}
    return {"kind": kind, **folder, **settings}


def lineup(
    kind: str, settings: Mapping[str, Any], beside: Sequence[str], default: Sequence[str], stack: str | None = None
) -> dict[str, Entry]:
    """The mechanism first, on that stack, then those beside it, each under its name. Names that would be the same are written out in full."""
    others = [other for other in dict.fromkeys(beside or default) if settings or stack or other != kind]
    if not others:
        raise InputError(f"--beside must differ from the characterised mechanism, got `{kind}`")
    short = [label(one) for one in (kind, *others)]
    names = [one if short.count(label(one)) > 1 else label(one) for one in (kind, *others)]
    names[0] = ", ".join([names[0], *(f"{key}={value}" for key, value in settings.items())])
    if stack:
        names[0] = f"{stacks.label(stack)}:{names[0]}"
    return {
        names[0]: entry(kind, settings) | ({"stack": stack} if stack else {}),
        **{name: entry(one, {}) for name, one in zip(names[1:], others, strict=True)},
    }


@dataclass(frozen=True)
class Finished:
    """The runs of a report card."""

    cases: list[Case]
    """The scenarios that ran."""
    seeds: int
    runs: Iterator[tuple[Case, str, Run]]
    """Each with its scenario and the name of its mechanism."""


def finished(
    title: str, kind: str, every: Sequence[Case], mechanisms: Mapping[str, Entry], experiment: Callable[[Case, Entry], Table],
    options: Options, only: Sequence[str], quick: Sequence[str], seeds: tuple[int, int],
) -> Finished:  # fmt: skip
    """Runs each scenario with each mechanism (a ``kind``): those of ``only``, with `--quick` those of ``quick``, else ``every``.

    ``seeds``: how many with `--quick`, and without.
    """
    known = {case.key: case for case in every}
    for key in only:
        if key not in known:
            raise InputError(f"--only must be one of {', '.join(known)}, got `{key}`")
    wanted = [case for case in every if case.key in (only or (quick if options.quick else known))]
    many = options.seeds or seeds[not options.quick]
    pairs = [(case, name) for case in wanted for name in mechanisms]
    scenarios = [Scenario.from_dict(experiment(case, mechanisms[name]), case.key) for case, name in pairs]
    labels = [{"scenario": case.key, kind: name} for case, name in pairs]
    results = options.run(scenarios, labels, seeds=many, title=title)
    return Finished(wanted, many, ((*pairs[done.point], Run(results, done)) for done in results.runs))


def cell(value: Mean | None, digits: int = 1) -> str:
    """A mean in a table."""
    return "–" if value is None else value.format(digits)


def mean(values: Sequence[float]) -> Mean | None:
    """The mean of the values that exist; ``None`` if none does."""
    known = [value for value in values if not math.isnan(value)]
    return stats.mean(known) if known else None


def few_seeds(seeds: int, enough: int, more: str = "") -> list[str]:
    """A warning if there are fewer seeds than are enough."""
    return [f"Only {counted(seeds)}: intervals are wide or missing{more}."] if seeds < enough else []


def counted(seeds: int) -> str:
    """So many seeds."""
    return f"{seeds} seed{'s' if seeds > 1 else ''}"
