"""How far a sweep is: what is planned, what is there, what failed or is damaged."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..api import Scenario
from ..errors import InputError
from .plan import Plan, seeds_from
from .results import Results
from .store import Store


@dataclass(frozen=True)
class Status:
    """Runs of a sweep by point. ``damaged`` ones and those ``to_do`` are made by the next call, ``failed`` ones are tried again."""

    where: str
    points: list[dict[str, Any]] = field(default_factory=list)
    wall_s: float = 0.0

    def count(self, what: str) -> int:
        """Over all points: ``planned``, ``done``, ``damaged``, ``failed`` or ``to_do``."""
        return sum(int(one[what]) for one in self.points)

    @property
    def complete(self) -> bool:
        """Nothing is left."""
        return self.count("done") == self.count("planned")

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        totals = {what: self.count(what) for what in ("planned", "done", "to_do", "failed", "damaged")}
        return {
            "results": self.where, "complete": self.complete, **totals, "core_s_left": self.core_s_left, "points": self.points,
        }  # fmt: skip

    @property
    def core_s_left(self) -> float | None:
        """What the rest will take on one core, judged by the runs that are done."""
        done = self.count("done")
        return round(self.wall_s / done * (self.count("planned") - done), 3) if done else None


def of_file(path: Path, out: str | Path, changes: dict[str, Any], seeds: int | None) -> Status:
    """Of the sweep in an experiment file, whose results are or will be at ``out``."""
    scenario = Scenario.load(path).with_values(changes)
    plan = Plan([scenario])
    plan.ask(seeds_from(seeds, scenario.seeds))
    names = [point.name for point in plan.points]
    return _status(Store(out), names, [(task.key, task.point) for task in plan.tasks], _failed(out))


def of_results(where: str | Path) -> Status:
    """Of the sweep that made this results directory."""
    results = Results(where)
    planned = [(str(key), int(point)) for key, point, _ in results.manifest.get("planned", ())]
    failed = {one.key for one in results.failed}
    return _status(results.store, [point.name for point in results.points], planned, failed)


def _failed(out: str | Path) -> set[str]:
    try:
        return {str(one["key"]) for one in Store(out).manifest().get("failed", ())}
    except InputError:  # nothing has been run yet
        return set()


def _status(store: Store, names: list[str], planned: list[tuple[str, int]], failed: set[str]) -> Status:
    keys = [key for key, _ in planned]
    sealed, sound = store.seals(keys), store.find(keys, verify=True)
    points: list[dict[str, Any]] = [
        {"point": name, "planned": 0, "done": 0, "to_do": 0, "failed": 0, "damaged": 0} for name in names
    ]
    for key, point in planned:
        what = "done" if key in sound else "damaged" if key in sealed else "failed" if key in failed else "to_do"
        for counted in ("planned", what):
            points[point][counted] += 1
    return Status(store.where, points, sum(float(seal["wall_s"]) for seal in sound.values()))
