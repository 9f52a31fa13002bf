"""What is to be run: points times seeds, round by round, and the manifest that says so."""

from __future__ import annotations

import datetime
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from .. import _core
from ..analysis import metrics
from ..analysis.measures import Run
from ..errors import HaltereError, InputError
from ..experiment import Experiment
from ..limits import most
from ..worlds import DEFAULT, World
from ..worlds import world as world_of
from .build import environment
from .precision import Precision, Reached
from .records import Done, Failed, points_of
from .results import Results, RunsFailed
from .runner import Task, execute, finished
from .store import FORMAT, Store

#: Seeds of a point: the same limit as in an experiment file.
MOST_SEEDS = most("random seeds")


class Planned(Protocol):
    """What can be planned: :class:`haltere.Scenario`."""

    def points(self) -> list[tuple[dict[str, Any], _core.Scenario]]:
        """The combinations of the sweep."""

    def to_dict(self) -> dict[str, Any]:
        """The full experiment with every default filled in."""


def seeds_from(seeds: int | Iterable[int] | None, default: int) -> list[int]:
    """The seeds as a list.

    >>> seeds_from(None, 3), seeds_from(2, 3), seeds_from([7, 9], 3)
    ([1, 2, 3], [1, 2], [7, 9])
    """
    chosen = default if seeds is None else seeds
    if isinstance(chosen, int) and chosen > MOST_SEEDS:
        raise InputError(f"seeds must be at most {MOST_SEEDS}, got {chosen}")
    numbers = list(range(1, chosen + 1)) if isinstance(chosen, int) else [int(seed) for seed in chosen]
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise InputError(f"seeds must be at least 1 and all different, got {seeds!r}")
    return numbers


class Plan:
    """The points of some scenarios, and the runs of them that were asked for so far."""

    def __init__(
        self,
        scenarios: Sequence[Planned],
        labels: Iterable[Mapping[str, Any]] | None = None,
        *,
        title: str = "",
        world: str | World = DEFAULT,
    ) -> None:
        self.scenarios, self.title, self.world = scenarios, title, world_of(world)
        extra = [dict(label) for label in labels] if labels is not None else [{} for _ in scenarios]
        many: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.cores: list[_core.Scenario] = []
        for scenario, label in zip(scenarios, extra, strict=True):
            for swept, core in scenario.points():
                many.append(({**label, **swept}, json.loads(core.to_json())))
                self.cores.append(core)
        self.points = points_of(many, (scenario.to_dict() for scenario in scenarios))
        for point in self.points:
            metrics.known(point.scenario)  # refuses names of its own that are taken
        self.tasks: list[Task] = []
        #: How runs ended, by point and seed.
        self.over: defaultdict[int, dict[int, Done | Failed]] = defaultdict(dict)
        self.reached: dict[int, Reached] = {}
        self._began = datetime.datetime.now(datetime.UTC)

    def ask(self, seeds: Iterable[int], points: Iterable[int] | None = None) -> list[Task]:
        """Asks for these seeds of those points (default: of all); returns the new runs."""
        chosen = range(len(self.points)) if points is None else list(points)
        new = [Task(self.cores[i], seed, i, self.world) for i in chosen for seed in seeds]
        self.tasks += new
        return new

    def note(self, one: Done | Failed) -> None:
        """Notes how a run ended."""
        self.over[one.point][one.seed] = one

    def note_found(self, found: Mapping[str, Done]) -> None:
        """Notes runs that are in the store, by key."""
        for task in self.tasks:
            if task.key in found:
                self.note(replace(found[task.key], point=task.point))

    @property
    def failed(self) -> list[Failed]:
        """The runs that failed."""
        return [one for one in self._ended() if isinstance(one, Failed)]

    def runs_of(self, point: int) -> list[Done]:
        """The runs of a point that are done, in the order of their seeds."""
        return [one for _, one in sorted(self.over[point].items()) if isinstance(one, Done)]

    def _ended(self) -> Iterator[Done | Failed]:
        for _, of_point in sorted(self.over.items()):
            yield from (one for _, one in sorted(of_point.items()))

    def manifest(self, *, complete: bool) -> dict[str, Any]:
        """What the results directory says of all this."""
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "title": self.title,
            "world": self.world.name,
            "complete": complete and not self.failed,
            "environment": environment(),
            "began": self._began.isoformat(timespec="seconds"),
            "wall_s": round((datetime.datetime.now(datetime.UTC) - self._began).total_seconds(), 3),
            "seeds": sorted({task.seed for task in self.tasks}),
            "scenarios": [scenario.to_dict() for scenario in self.scenarios],
            "points": [{"labels": point.labels, "scenario": point.scenario} for point in self.points],
            "planned": [[task.key, task.point, task.seed] for task in self.tasks],
            "runs": [one.to_dict() for one in self._ended() if isinstance(one, Done)],
            "failed": [one.to_dict() for one in self.failed],
        }
        if self.reached:
            manifest["precision"] = [{"point": i, **one.to_dict()} for i, one in sorted(self.reached.items())]
        return manifest


def plan_runs(
    scenarios: Iterable[Planned],
    seeds: list[int],
    folder: str | Path,
    *,
    jobs: int | None = None,
    quiet: bool = False,
    title: str = "",
    labels: Iterable[Mapping[str, Any]] | None = None,
    world: str | World = DEFAULT,
    precision: Precision | None = None,
    executor: Executor | None = None,
    verify: bool | None = None,
) -> Results:
    """Runs scenarios, each with its sweep, into one results directory (or a URL that fsspec knows).

    ``labels[i]`` labels the points of scenario ``i``, beside what its own sweep says. ``precision``: begin with ``seeds``, and add
    more until it is reached. ``executor``: where the runs are made, instead of threads of this process. Raises
    :class:`haltere.RunsFailed` when all the others are done.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    world = world_of(world)
    if executor is not None and not world.elsewhere:
        raise InputError(
            f"executor must be left out in world `{world.name}`: its runs are made here, one after another"
        )
    plan = Plan(list(scenarios), labels, title=title, world=world)
    jobs = world.jobs(jobs)
    world.check(plan.cores)
    store = Store(folder)
    store.check_place()
    tasks = plan.ask(seeds)
    _check_same(store, plan)
    if not quiet and (wrong := store.malformed_manifest()):
        print(f"haltere: {wrong.rpartition(';')[0]}; it is written again", file=sys.stderr)
    if not quiet and (line := world.forecast([task.scenario for task in tasks])):
        done = finished(tasks, store, verify=False)
        line = world.forecast([task.scenario for task in tasks if task.key not in done]) if done else line
        if line:
            print(f"haltere: {line}", file=sys.stderr)
    store.write_manifest(plan.manifest(complete=False))
    known: dict[str, dict[str, float]] = {}
    try:
        while tasks:
            for one in execute(
                tasks, store, jobs=jobs, executor=executor, quiet=quiet, verify=verify, on_done=plan.note
            ):
                plan.note(one)  # of points that share a run too
            tasks = _more(plan, precision, store, known) if precision else []
    except BaseException:
        # A run may have been kept after the last that we heard of.
        with suppress(OSError):  # the same failure once more would hide the first
            plan.note_found(finished(plan.tasks, store, verify=False))
            store.write_manifest(plan.manifest(complete=False))
        raise
    manifest = plan.manifest(complete=True)
    store.write_manifest(manifest)
    results = Results.of(store, manifest)
    _keep_facts(results, plan)
    if plan.failed:
        raise RunsFailed(results, plan.failed, len(plan.tasks))
    return results


def _keep_facts(results: Results, plan: Plan) -> None:
    """What was measured when the runs were made is kept for their summary."""
    for of_point in plan.over.values():
        for one in of_point.values():
            if isinstance(one, Done) and one.facts:
                results.facts.add(f"{one.key} {one.digest}", one.facts)
    results.facts.save()


def _check_same(store: Store, plan: Plan) -> None:
    """The place is new, or what it holds comes from the same experiment: a manifest of another would be lost.

    An experiment that was edited is still the same: it has the title that it had, or, without one, some of its runs.
    """
    try:
        there = store.manifest()
    except (HaltereError, OSError):
        return  # none, or one that nobody can read
    if not there["runs"] or there["title"] == plan.title != "":
        return
    keys = {str(run["key"]) for run in there["runs"]}
    alike = [_shape(Experiment(one["scenario"])) for one in there["points"]] == [
        _shape(one.experiment) for one in plan.points
    ]
    if (there["title"] == plan.title and alike) or not keys.isdisjoint(task.key for task in plan.tasks):
        return
    raise InputError(
        f"{store.where}: results directory must be new or hold results of this experiment, "
        f"got those of `{there['title'] or 'an experiment without title'}`; choose another with --out"
    )


def _shape(experiment: Experiment) -> tuple[str, list[str]]:
    return experiment.topology.kind, [one.kind for one in experiment.traffic]


def _more(plan: Plan, rule: Precision, store: Store, known: dict[str, dict[str, float]]) -> list[Task]:
    """The runs of the next round: none if every point is known well enough, or has its limit of seeds."""
    results = Results.of(store, plan.manifest(complete=False))
    stuck = {one.point for one in plan.failed}
    new: list[Task] = []

    def runs_of(point: int) -> list[Run]:
        return [Run(results, done) for done in plan.runs_of(point)]

    for point in plan.points:
        before = plan.reached.get(point.index)
        if point.index in stuck or (before is not None and before.next_n == before.n):
            continue
        reached = rule.judge(point.index, runs_of, known)
        plan.reached[point.index] = reached
        last = max(done.seed for done in plan.runs_of(point.index))
        new += plan.ask(range(last + 1, last + 1 + reached.next_n - reached.n), [point.index])
    if new:
        store.write_manifest(plan.manifest(complete=False))
    return new
