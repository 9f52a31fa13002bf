"""One experiment in several worlds: metric by metric, and the difference of each from the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..api import Scenario
from ..errors import InputError
from ..report.document import Document, Heading, Table, Text
from ..runs.records import Failed
from ..runs.results import Results, RunsFailed
from ..worlds import COMPARED, World
from ..worlds import world as world_of
from . import metrics, stats
from .measures import Run, by_point
from .stats import Mean


@dataclass(frozen=True)
class Row:
    """One metric at one point of the sweep, in both worlds, and the other less the baseline. ``world``: the other's name."""

    point: str
    metric: str
    unit: str
    baseline: Mean
    other: Mean
    difference: Mean
    world: str = ""

    @property
    def part(self) -> float:
        """The difference as a part of the baseline's value; NaN if that is 0."""
        return self.difference.mean / self.baseline.mean if self.baseline.mean else math.nan


@dataclass
class Comparison:
    """Worlds compared, the baseline first: the rows, and the results of each. ``unfit``: runs that failed, by world."""

    title: str
    worlds: tuple[World, ...]
    rows: list[Row]
    results: tuple[Results, ...]
    unfit: dict[str, list[Failed]] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """The worlds in a few words."""
        *first, last = (one.title for one in self.worlds)
        text = f"{', '.join(first)} and {last}"
        return f"{text[0].upper()}{text[1:]}"

    def tables(self) -> list[Table]:
        """A table for each point of the sweep."""
        out = []
        baseline, *others = (one.title for one in self.worlds)
        columns = ["metric", "unit", baseline]
        for other in others:
            columns += [other, f"{other} less {baseline}", f"in % of {baseline}"]
        for i, point in enumerate(dict.fromkeys(row.point for row in self.rows)):
            cells = self._lines([row for row in self.rows if row.point == point])
            title = self.heading + (f": {point}" if point != "all" else "")
            out.append(Table(f"parity-{i + 1}", title, columns, cells, left=2))
        return out

    def _lines(self, rows: Sequence[Row]) -> list[list[str]]:
        """A line for each metric, with three cells for each world but the baseline."""
        by_metric: dict[str, dict[str, Row]] = {}
        for row in rows:
            by_metric.setdefault(row.metric, {})[row.world] = row
        lines = []
        for of in by_metric.values():
            line, _ = _cells(next(iter(of.values())))
            for world in self.worlds[1:]:
                line += _cells(of[world.name])[1] if world.name in of else [""] * 3
            lines.append(line)
        return lines

    def document(self) -> Document:
        """The comparison as a document."""
        seeds = len(self.results[1].seeds)
        out = Document(self.title or self.heading)
        means = f"{seeds} seed{'s' if seeds > 1 else ''} in each world; means with 95 % Student-t intervals, differences with Welch's."
        out.add(Text(" ".join([means, *(one.beside_the_seed for one in self.worlds if one.beside_the_seed)])))
        out.add(*self._unfit(), *self.tables())
        remarks = [
            line for one, results in zip(self.worlds, self.results, strict=True) for line in _remarks(one, results)
        ]
        if remarks:
            out.add(Heading("The machine"), *(Text(line) for line in remarks))
        return out

    def _unfit(self) -> list[Heading | Text]:
        """Which runs are not compared, and why."""
        lines = [
            f"{world.title}, {self.results[place].points[one.point].name}, seed {one.seed}: {one.error}."
            for place, world in enumerate(self.worlds)
            for one in self.unfit.get(world.name, ())
        ]
        return [Heading("Runs that are not compared"), *map(Text, lines)] if lines else []

    def to_json(self) -> dict[str, Any]:
        """For programs. ``unfit`` has the runs that are not compared, by world; ``calibrations`` holds the notes of the second world, a run each."""
        names = [one.name for one in self.worlds]
        rows = [
            {
                "point": row.point, "metric": row.metric, "unit": row.unit,
                names[0]: row.baseline.to_dict(), row.world: row.other.to_dict(),
                "difference": row.difference.to_dict(),
            }
            for row in self.rows
        ]  # fmt: skip
        return {
            "title": self.title,
            **{name: str(one.directory) for name, one in zip(names, self.results, strict=True)},
            "rows": rows,
            "unfit": {name: [one.to_dict() for one in failed] for name, failed in self.unfit.items()},
            "calibrations": [run.notes.get(names[1]) for run in self.results[1].runs],
        }


def _remarks(world: World, results: Results) -> list[str]:
    return world.remarks([run.notes for run in results.runs])


def _cells(row: Row) -> tuple[list[str], list[str]]:
    """What a line begins with, and the cells of one world."""
    digits = 1 if row.baseline.mean >= 100 or row.unit == "%" else 2 if row.unit != "" else 3
    # A part of what prints as nothing says nothing.
    small = abs(row.baseline.mean) < 10.0**-digits
    part = "" if small or math.isnan(row.part) or row.unit == "%" else f"{100 * row.part:+.1f}"
    sign = "+" if row.difference.mean >= 0 else ""
    head = [row.metric, row.unit, row.baseline.format(digits)]
    return head, [row.other.format(digits), sign + row.difference.format(digits), part]


def rows_of(point: str, baseline: Sequence[Run], other: Sequence[Run]) -> list[Row]:
    """Every metric that comparisons of worlds show, of one point of the sweep."""
    out = []
    for name, one, part in metrics.worlds(baseline[0]):
        factor, unit = one.printed
        known = [
            [v for v in (factor * one.value(run, part) for run in runs) if not math.isnan(v)]
            for runs in (baseline, other)
        ]
        if not all(known) or (one.rare and not any(map(any, known))):
            continue
        ours, theirs = map(stats.mean, known)
        out.append(Row(point, name, unit, ours, theirs, stats.difference(known[1], known[0])))
    return out


def compare(
    scenario: Scenario,
    *,
    worlds: Sequence[str | World] = COMPARED,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path,
    quiet: bool = False,
) -> Comparison:
    """Runs the experiment in each of these worlds, the baseline first, into ``out/NAME`` of each, and compares.

    Runs that fail, such as those for which this machine is not fit, are named and left out. Raises :class:`haltere.RunsFailed` if nothing
    is left to compare.
    """
    every = tuple(world_of(one) for one in worlds)
    names = [one.name for one in every]
    if len(every) < 2 or len(set(names)) < len(names):
        raise InputError(f"worlds must be two or more, each once, got {', '.join(f'`{name}`' for name in names)}")
    cores = [core for _, core in scenario.points()]
    for one in every:  # refused before the first has worked for nothing
        one.check(cores)
    results: dict[str, Results] = {}
    failures: dict[str, RunsFailed] = {}
    for one in reversed(every):
        most = None if one.most_jobs else jobs
        try:
            results[one.name] = scenario.run(seeds=seeds, jobs=most, out=out / one.name, quiet=quiet, world=one)
        except RunsFailed as failure:
            results[one.name], failures[one.name] = failure.results, failure
    points = {name: {point.index: (point, runs) for point, runs in by_point(results[name])} for name in names}
    rows: list[Row] = []
    for name in names[1:]:
        for index, (point, first) in points[names[0]].items():
            if index in points[name]:
                rows += [replace(row, world=name) for row in rows_of(point.name, first, points[name][index][1])]
    if not rows:
        for reason in failures.values():
            raise reason
    unfit = {name: reason.failed for name, reason in failures.items()}
    return Comparison(scenario.title, every, rows, tuple(results[name] for name in names), unfit)
