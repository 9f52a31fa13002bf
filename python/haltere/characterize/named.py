"""What every report card needs: the mechanism that is characterised with those beside it, the scenarios asked for, and their runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..analysis.measures import Run
from ..api import Scenario
from ..errors import InputError
from ..kinds import label
from ..studies import Options

#: A mechanism as an experiment has it.
Entry = dict[str, Any]


def entry(kind: str, settings: Mapping[str, Any]) -> Entry:
    """The mechanism with these parameters. A file of one from outside is looked for from the current folder."""
    folder = {"source": {"folder": str(Path.cwd())}} if ":" in kind else {}
    return {"kind": kind, **folder, **settings}


def lineup(kind: str, settings: Mapping[str, Any], beside: Sequence[str], default: Sequence[str]) -> dict[str, Entry]:
    """The mechanism first, then those beside it, each under its name. Names that would be the same are written out in full."""
    others = [other for other in dict.fromkeys(beside or default) if settings or other != kind]
    if not others:
        raise InputError(f"--beside must be another mechanism than the one that is characterised, got `{kind}`")
    short = [label(one) for one in (kind, *others)]
    names = [one if short.count(label(one)) > 1 else label(one) for one in (kind, *others)]
    names[0] = ", ".join([names[0], *(f"{key}={value}" for key, value in settings.items())])
    return {
        names[0]: entry(kind, settings),
        **{name: entry(one, {}) for name, one in zip(names[1:], others, strict=True)},
    }


class Keyed(Protocol):
    """A scenario of a report card."""

    @property
    def key(self) -> str:
        """How `--only` names it."""


C = TypeVar("C", bound=Keyed)


def chosen(every: Sequence[C], only: Sequence[str], quick: Collection[str]) -> list[C]:
    """The scenarios that `--only` names; without it those of ``quick``, or all if that is empty."""
    keys = [one.key for one in every]
    for key in only:
        if key not in keys:
            raise InputError(f"--only must be one of {', '.join(keys)}, got `{key}`")
    return [one for one in every if one.key in (only or quick or keys)]


def runs(
    options: Options, experiments: Mapping[tuple[str, str], dict[str, Any]], kind: str, seeds: int, title: str
) -> Iterator[tuple[str, str, Run]]:
    """Makes the experiments, each named by its scenario and its mechanism (a ``kind``), and gives their runs."""
    scenarios = [Scenario.from_dict(one, key) for (key, _), one in experiments.items()]
    labels = [{"scenario": key, kind: name} for key, name in experiments]
    results = options.run(scenarios, labels, seeds=seeds, title=title)
    for done in results.runs:
        of = results.points[done.point].labels
        yield of["scenario"], of[kind], Run(results, done)


def few_seeds(seeds: int, enough: int, more: str = "") -> list[str]:
    """A warning if there are fewer seeds than are enough."""
    return [f"Only {counted(seeds)}: intervals are wide or missing{more}."] if seeds < enough else []


def counted(seeds: int) -> str:
    """So many seeds."""
    return f"{seeds} seed{'s' if seeds > 1 else ''}"
