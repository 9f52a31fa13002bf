"""One experiment in the simulator and over several kernels, and what differs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...analysis.measures import by_point
from ...analysis.parity import Row, rows_of
from ...api import Scenario
from ...report.document import Document, Table, Text
from ...runs.results import Results
from .. import DEFAULT, Kernel, world

__all__ = ["Matrix", "matrix"]


@dataclass(frozen=True)
class Matrix:
    """The rows of each kernel against the simulator, and those of each but the first against the first, by the kernel's name."""

    title: str
    seeds: int
    rows: dict[str, list[Row]]
    changes: dict[str, list[Row]]

    def document(self) -> Document:
        """What changed from kernel to kernel; then a table for each point of the sweep. A star: the kernel differs from the simulator."""
        out = Document(self.title)
        about = f"{self.seeds} seeds each, means with 95 % Student-t intervals. A star: differs from the simulator (Welch's test, 95 %)."
        out.add(Text(about))
        names = list(self.rows)
        if self.changes:
            changed = [(name, row) for name, rows in self.changes.items() for row in rows if differs(row)]
            count = sum(map(len, self.changes.values()))
            what = f"{len(changed)} of {count} figures differ from those of {names[0]} (Welch's test, 95 %); without any change about {count / 20:.0f} would."
            columns = ["kernel", "point", "metric", "unit", names[0], "this kernel", "difference"]
            body = [
                [name, row.point, row.metric, row.unit]
                + [one.format(_digits(row)) for one in (row.baseline, row.other, row.difference)]
                for name, row in changed
            ]
            out.add(Text(what), *([Table("changes", "What changed", columns, body, left=4)] if body else []))
        cells: dict[str, dict[tuple[str, str], list[str]]] = {}
        for place, name in enumerate(names):
            for row in self.rows[name]:
                line = cells.setdefault(row.point, {}).setdefault((row.metric, row.unit), [""] * (len(names) + 1))
                line[0] = row.baseline.format(_digits(row))
                line[place + 1] = row.other.format(_digits(row)) + (" *" if differs(row) else "")
        for i, (point, lines) in enumerate(cells.items()):
            body = [[metric, unit, *line] for (metric, unit), line in lines.items()]
            title = "Kernels" + (f": {point}" if point != "all" else "")
            out.add(Table(f"kernels-{i + 1}", title, ["metric", "unit", "simulator", *names], body, left=2))
        return out

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"title": self.title, "seeds": self.seeds, "kernels": _told(self.rows), "changes": _told(self.changes)}


def _told(rows: dict[str, list[Row]]) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [
            {
                "point": row.point, "metric": row.metric, "unit": row.unit, "baseline": row.baseline.mean,
                "value": row.other.mean, "differs": differs(row),
            }
            for row in some
        ]
        for name, some in rows.items()
    }  # fmt: skip


def differs(row: Row) -> bool:
    """The interval of the difference does not hold zero."""
    half = row.difference.half
    return not math.isnan(half) and abs(row.difference.mean) > half


def _digits(row: Row) -> int:
    return 1 if row.baseline.mean >= 100 or row.unit == "%" else 2 if row.unit else 3


def matrix(
    scenario: Scenario, names: Sequence[str], *, out: Path, seeds: int | None = None, jobs: int | None = None, quiet: bool = False
) -> Matrix:  # fmt: skip
    """Runs the experiment in the simulator and in each of these kernels, into folders of ``out``."""
    kernels = [Kernel(kernel=name) for name in names]
    cores = [core for _, core in scenario.points()]
    for one in kernels:  # refused before the first has worked for nothing
        one.check(cores)
    baseline = world(DEFAULT)
    ours = scenario.run(seeds=seeds, jobs=jobs, out=out / baseline.name, quiet=quiet, world=baseline)
    made = {
        f"{one.built.release} {one.built.hash[:6]}": scenario.run(
            seeds=seeds, jobs=jobs, out=out / one.built.hash[:12], quiet=quiet, world=one
        )
        for one in kernels
    }
    first, *others = made
    against = {name: _against(ours, theirs) for name, theirs in made.items()}
    changes = {name: _against(made[first], made[name]) for name in others}
    return Matrix(scenario.title, len(ours.seeds), against, changes)


def _against(baseline: Results, other: Results) -> list[Row]:
    pairs = zip(by_point(baseline), by_point(other), strict=True)
    return [row for (point, first), (_, second) in pairs for row in rows_of(point.name, first, second)]
