"""Makes many runs at a time, and keeps each as soon as it is done.

A run is a function of (scenario, seed, version of the simulator), and so is its key. A run whose key is already in the store is not
made again, so a call that was interrupted goes on where it stopped. A run that fails is reported and does not stop the others.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import queue
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .. import _core, errors
from ..errors import HaltereError, InputError
from ..mechanisms.find import registered_in, unregistered
from ..worlds import World, world
from .build import build_id, usable_cores
from .progress import Bar
from .records import Done, Failed, Point
from .store import Store

#: Runs that an external executor is given at a time: enough for a large cluster, few enough to take back.
_IN_FLIGHT = 1024
#: How often, and how many seconds apart, a run that a worker kept is looked for: a network's file system may take some seconds.
_LOOKS, _LOOK_EVERY_S = 20, 0.5

#: Seconds after which a cancelled run that goes on is taken to be in an endless loop.
_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Task:
    """One run to be done: a scenario without sweep, and a seed."""

    scenario: _core.Scenario
    seed: int
    point: int
    world: World = field(default_factory=world)

    @cached_property
    def key(self) -> str:
        """Names the run. In the simulator equal keys are equal results."""
        text = f"{self.scenario.hash(self.seed)} {build_id()}{self.world.key_part}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def finished(tasks: Sequence[Task], store: Store, *, verify: bool | None = None) -> dict[str, Done]:
    """Those of the tasks whose runs are in the store, by key."""
    points = {task.key: task.point for task in reversed(tasks)}
    return {key: Done.of_seal(seal, points[key]) for key, seal in store.find(points, verify=verify).items()}


def _run_one(task: Task, store: Store, progress: _core.Progress) -> Done:
    """Makes a run and keeps it. If another process has finished it meanwhile, that run is taken instead."""
    found = store.find([task.key], verify=True)
    if found:
        return Done.of_seal(found[task.key], task.point)
    with store.draft(task.key) as draft:
        began = time.monotonic()
        made = task.world.run(task.scenario, task.seed, progress)
        tables = dict(made.tables())
        digest, wall_s = made.digest(), round(time.monotonic() - began, 4)
        done = Done(task.key, task.point, task.seed, digest, wall_s, task.world.notes(made))
        seal = {**done.to_dict(), "build": build_id()}
        del seal["key"], seal["point"]  # the store's and the manifest's
        store.put(draft, task.key, tables, seal, made.files() if isinstance(made, _core.Run) else None)
    return replace(done, facts=_facts(task, done, tables))


def _facts(task: Task, done: Done, tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a summary will ask, read off while the tables are in memory. What cannot be read will be asked of the stored run."""
    from ..analysis.summary import facts_of

    try:
        return facts_of(Point(task.point, {}, json.loads(task.scenario.to_json())), done, tables)
    except Exception:  # the run is kept; whoever asks for its summary gets the error
        return {}


def _run_elsewhere(task: Task, store: Store, build: str) -> Done:
    """What a worker of an external executor does."""
    if build_id() != build:
        raise HaltereError(
            f"worker: its haltere is build {build_id()}, the caller's is {build}; install the same build on all workers"
        )
    return _run_one(task, store, _core.Progress())


def _check_workers(executor: Executor, tasks: Sequence[Task]) -> None:
    """Asks a worker whether it knows the registered classes of the runs. One that does not could not even read its task, and would end."""
    scenarios = {id(task.scenario): task.scenario for task in tasks}.values()
    names = sorted(set[str]().union(*(registered_in(json.loads(scenario.to_json())) for scenario in scenarios)))
    if names and (unknown := executor.submit(unregistered, names).result()):
        raise InputError(
            f"executor: kind must be a class that its workers know, got `python:{unknown[0]}`, which this program alone has registered; "
            f"name the file of the class: `python:./file.py:{unknown[0]}`"
        )


def execute(
    tasks: Sequence[Task],
    store: Store,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    quiet: bool = False,
    verify: bool | None = None,
    on_done: Callable[[Done | Failed], None] | None = None,
) -> list[Done | Failed]:
    """Does all tasks that are not yet in the store, ``jobs`` at a time; in the order of ``tasks``.

    ``executor``: where, instead of threads of this process; its workers must see the store. A run that fails becomes
    :class:`Failed`. An interrupt, a store that cannot be written and an executor that breaks end the call; what is finished is kept.
    """
    others = store.tidy()
    results: dict[str, Done | Failed] = dict(finished(tasks, store, verify=verify))
    for done in results.values():
        if on_done:
            on_done(done)
    todo = list({task.key: task for task in tasks if task.key not in results}.values())
    if todo and not quiet and (damaged := store.damaged(task.key for task in todo)):
        print(f"haltere: {store.where}: {len(damaged)} damaged or incomplete runs are repeated", file=sys.stderr)
    if others:  # the process that is at work here goes forwards: go backwards
        todo.reverse()
    elif not store.local:  # other processes cannot be seen: begin anywhere
        start = random.randrange(len(todo) or 1)
        todo = todo[start:] + todo[:start]
    if executor and todo:
        _check_workers(executor, todo)
    if todo:
        with Bar(len(todo), f"run ({len(results)} found)" if results else "run", quiet=quiet) as bar:
            workers = (
                _External(executor, store, jobs) if executor else _Threads(store, jobs or usable_cores(), len(todo))
            )
            with closing(_each(todo, workers, bar)) as ended:
                for done in ended:
                    results[done.key] = done
                    if on_done:
                        on_done(done)
    return [_as_of(results[task.key], task.point) for task in tasks]


def _as_of(done: Done | Failed, point: int) -> Done | Failed:
    """Points of equal scenarios share a run."""
    return done if done.point == point else replace(done, point=point)


class _Threads:
    """Makes ``most`` runs at a time on threads of this process: the simulator releases the interpreter's lock.

    If there are fewer runs than jobs, each has several threads for its `parts`.
    """

    def __init__(self, store: Store, jobs: int, runs: int) -> None:
        self.store, self.most, self.threads = store, jobs, max(1, jobs // runs)
        self.pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="haltere")
        self.progress: dict[str, _core.Progress] = {}
        self.busy: set[int] = set()

    def submit(self, task: Task) -> Future[Done]:
        progress = self.progress[task.key] = _core.Progress(self.threads)
        return self.pool.submit(self._run, task, progress)

    def _run(self, task: Task, progress: _core.Progress) -> Done:
        self.busy.add(threading.get_ident())
        try:
            return _run_one(task, self.store, progress)
        finally:
            self.busy.discard(threading.get_ident())

    def part_done(self) -> float:
        """How many runs' worth of work is in those that are not done."""
        return min(sum(one.done for one in self.progress.values()), len(self.progress) * 0.999)

    def ended(self, task: Task, done: Done | None) -> None:
        """A run has ended; ``None``: it failed."""
        del self.progress[task.key]

    def stop(self) -> None:
        """Cancels the runs. One that is in an endless loop of a Python class does not look: it gets an exception there."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        for one in self.progress.values():
            one.cancel()
        patience = time.monotonic() + _PATIENCE_S
        while self.busy:
            time.sleep(0.01)
            if time.monotonic() > patience:
                for thread in tuple(self.busy):
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
                    )
                patience += _PATIENCE_S

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


class _External:
    """The same on an executor that the caller brought: processes, a cluster."""

    def __init__(self, executor: Executor, store: Store, jobs: int | None) -> None:
        self.executor, self.store, self.most = executor, store, jobs or _IN_FLIGHT
        self.futures: dict[str, Future[Done]] = {}
        self.shared = False

    def submit(self, task: Task) -> Future[Done]:
        future = self.futures[task.key] = self.executor.submit(_run_elsewhere, task, self.store, build_id())
        return future

    def part_done(self) -> float:
        return 0.0

    def ended(self, task: Task, done: Done | None) -> None:
        del self.futures[task.key]
        if done is not None and not self.shared:
            self._find(done)
            self.shared = True

    def _find(self, done: Done) -> None:
        """What the first worker kept must be seen from here."""
        for _ in range(_LOOKS):
            if self.store.find([done.key]):
                return
            time.sleep(_LOOK_EVERY_S)
        raise HaltereError(
            f"{self.store.where}: a worker has kept a run that is not here, so the workers do not share this results directory; "
            "give --out a shared directory or a URL such as s3://bucket/name"
        )

    def stop(self) -> None:
        for future in self.futures.values():
            future.cancel()

    def close(self) -> None:
        """The caller shuts it down."""


def _each(todo: Sequence[Task], workers: _Threads | _External, bar: Bar) -> Generator[Done | Failed]:
    """Does the tasks, as many at a time as the workers take, and gives each as it is done."""
    ended: queue.SimpleQueue[tuple[Task, Future[Done]]] = queue.SimpleQueue()
    waiting = iter(todo)
    over = active = 0

    def start() -> bool:
        task = next(waiting, None)
        if task is not None:
            workers.submit(task).add_done_callback(lambda future: ended.put((task, future)))
        return task is not None

    try:
        while over < len(todo):
            while active < workers.most and start():
                active += 1
            try:
                task, future = ended.get(timeout=0.2)
            except queue.Empty:
                bar.update(over + workers.part_done())
                continue
            over, active = over + 1, active - 1
            done = _outcome(task, future)
            workers.ended(task, done if isinstance(done, Done) else None)
            bar.update(over + workers.part_done())
            yield done
    except BaseException:
        workers.stop()
        raise
    finally:
        workers.close()


def _outcome(task: Task, future: Future[Done]) -> Done | Failed:
    try:
        return future.result()
    except (OSError, BrokenExecutor):  # no store or no workers: the others would fare no better
        raise
    except CancelledError:
        raise HaltereError("executor: a run was cancelled before it ended") from None
    except Exception as error:
        if isinstance(error, InputError) and not task.world.errors_are_of_one_run:
            raise
        if errors.traced and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        text = " ".join(str(error).split()) or type(error).__name__
        return Failed(task.key, task.point, task.seed, text)
