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
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from .. import _core, errors
from ..errors import HaltereError, InputError
from ..mechanisms.find import registered_in, unregistered
from ..worlds import World, world
from .build import build_id, usable_cores
from .progress import Bar
from .records import Done, Failed, Kept, Point
from .store import Store

#: Runs that an external executor is given at a time: enough for a large cluster, few enough to take back.
_IN_FLIGHT = 1024
#: How often, and how many seconds apart, a run that a worker kept is looked for: a network's file system may take some seconds.
_LOOKS, _LOOK_EVERY_S = 20, 0.5

#: Runs that share a batch: at most so many, and a sweep has at least so many batches. So a kill loses little, and damage spreads little.
_BATCH_RUNS, _BATCHES = 64, 32
#: What a batch holds in memory, and how long a run waits for others of its batch.
_BATCH_BYTES, _BATCH_WAITS_S = 64 << 20, 1.0

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


@dataclass(frozen=True)
class _Made:
    """A run that is made and not yet kept."""

    done: Done
    kept: Kept
    size: int


def _make(task: Task, progress: _core.Progress) -> _Made:
    import pyarrow as pa

    began = time.monotonic()
    made = task.world.run(task.scenario, task.seed, progress)
    tables = {name: pa.table(table) for name, table in made.tables().items()}
    digest, wall_s = made.digest(), round(time.monotonic() - began, 4)
    done = Done(task.key, task.point, task.seed, digest, wall_s, task.world.notes(made))
    about = {**done.to_dict(), "build": build_id()}
    del about["key"], about["point"]  # the store's and the manifest's
    kept = Kept(task.key, tables, about, made.files() if isinstance(made, _core.Run) else {})
    return _Made(
        replace(done, facts=_facts(task, done, tables)),
        kept,
        sum(8 * len(one) * one.num_columns for one in tables.values()),
    )


def _facts(task: Task, done: Done, tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a summary will ask, read off while the tables are in memory. What cannot be read will be asked of the stored run."""
    from ..analysis.summary import facts_of

    try:
        return facts_of(Point(task.point, {}, json.loads(task.scenario.to_json())), done, tables)
    except Exception:  # the run is kept; whoever asks for its summary gets the error
        return {}


def _run_elsewhere(task: Task, store: Store, build: str) -> Done:
    """What a worker of an external executor does: makes a run and keeps it."""
    if build_id() != build:
        raise HaltereError(
            f"worker: its haltere is build {build_id()}, the caller's is {build}; install the same build on all workers"
        )
    made = _make(task, _core.Progress())
    store.put([made.kept])
    return made.done


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
    if todo and (damaged := store.damaged(task.key for task in todo)) and not quiet:
        print(f"haltere: {store.where}: {damaged} damaged or incomplete runs are repeated", file=sys.stderr)
    if others:  # the process that is at work here goes forwards: go backwards
        todo.reverse()
    elif not store.local:  # other processes cannot be seen: begin anywhere
        start = random.randrange(len(todo) or 1)
        todo = todo[start:] + todo[:start]
    if executor and todo:
        _check_workers(executor, todo)
    if todo:
        with (
            Bar(len(todo), f"run ({len(results)} found)" if results else "run", quiet=quiet) as bar,
            store.at_work(),
        ):
            workers = _External(executor, store, jobs) if executor else _Threads(jobs or usable_cores(), len(todo))
            with closing(_each(todo, workers, store, bar)) as ended:
                for done in ended:
                    results[done.key] = done
                    if on_done:
                        on_done(done)
    store.clear()
    return [_as_of(results[task.key], task.point) for task in tasks]


def _as_of(done: Done | Failed, point: int) -> Done | Failed:
    """Points of equal scenarios share a run."""
    return done if done.point == point else replace(done, point=point)


class _Threads:
    """Makes ``most`` runs at a time on threads of this process: the simulator releases the interpreter's lock.

    If there are fewer runs than jobs, each has several threads for its `parts`.
    """

    def __init__(self, jobs: int, runs: int) -> None:
        self.most, self.threads = jobs, max(1, jobs // runs)
        self.pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="haltere")
        self.progress: dict[str, _core.Progress] = {}
        self.busy: set[int] = set()

    def submit(self, task: Task) -> Future[_Made]:
        progress = self.progress[task.key] = _core.Progress(self.threads)
        return self.pool.submit(self._run, task, progress)

    def _run(self, task: Task, progress: _core.Progress) -> _Made:
        self.busy.add(threading.get_ident())
        try:
            return _make(task, progress)
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


class _Batch:
    """Runs that are made and wait for others, to be kept together."""

    def __init__(self, store: Store, most: int) -> None:
        self.store, self.most, self.made, self.since = store, most, list[_Made](), 0.0

    def add(self, one: _Made) -> None:
        self.since = self.since if self.made else time.monotonic()
        self.made.append(one)

    def is_due(self) -> bool:
        """Enough runs wait, or one has waited long."""
        many = len(self.made) >= self.most or sum(one.size for one in self.made) > _BATCH_BYTES
        return many or (bool(self.made) and time.monotonic() - self.since > _BATCH_WAITS_S)

    def keep(self) -> list[Done]:
        """Keeps them."""
        self.store.put(one.kept for one in self.made)
        done, self.made = [one.done for one in self.made], []
        return done


def _put(ended: queue.SimpleQueue[tuple[Task, Future[Any]]], task: Task, future: Future[Any]) -> None:
    ended.put((task, future))


def _each(todo: Sequence[Task], workers: _Threads | _External, store: Store, bar: Bar) -> Generator[Done | Failed]:
    """Does the tasks, as many at a time as the workers take, and gives each as it is done."""
    ended: queue.SimpleQueue[tuple[Task, Future[Any]]] = queue.SimpleQueue()
    waiting = deque(todo)
    batch = _Batch(store, min(_BATCH_RUNS, max(1, len(todo) // _BATCHES)))
    over = active = 0
    try:
        while over < len(todo):
            found: list[Done | Failed] = []
            while active < workers.most and waiting:
                task = waiting.popleft()
                if store.seen(task.key) and (there := finished([task], store, verify=True)):
                    found += there.values()  # another process has made it meanwhile
                    continue
                workers.submit(task).add_done_callback(partial(_put, ended, task))
                active += 1
            if active:
                with suppress(queue.Empty):
                    task, future = ended.get(timeout=0.2)
                    active -= 1
                    outcome = _outcome(task, future)
                    workers.ended(task, outcome if isinstance(outcome, Done) else None)
                    if isinstance(outcome, _Made):
                        batch.add(outcome)
                    else:
                        found.append(outcome)
            if batch.is_due() or not (active or waiting):
                found += batch.keep()
            over += len(found)
            bar.update(over + len(batch.made) + workers.part_done())
            yield from found
    except BaseException:
        workers.stop()
        workers.close()
        while not ended.empty():
            _, future = ended.get()
            if not future.cancelled() and future.exception() is None and isinstance(future.result(), _Made):
                batch.add(future.result())
        with suppress(OSError, HaltereError):  # the failure that led here is the one to report
            batch.keep()
        raise
    finally:
        workers.close()


def _outcome(task: Task, future: Future[Any]) -> _Made | Done | Failed:
    try:
        outcome: _Made | Done = future.result()
        return outcome
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
