"""Many runs at a time, each kept as soon as it is done.

A run is a function of (scenario, seed, version of the simulator), and so is its key. A run whose key is
already in the store is not run again, so a call that was interrupted goes on where it stopped. A run that fails is told of and
does not stop the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from .. import _core
from ..errors import HaltereError, InputError
from ..worlds import SIM, World
from .progress import Bar
from .store import Seal, Store

__all__ = ["Done", "Failed", "Task", "build_id", "environment", "execute", "finished", "usable_cores"]

#: Runs that an executor of others is given at a time: enough for a large cluster, few enough to take back.
_IN_FLIGHT = 1024


@cache
def build_id() -> str:
    """What tells this build of the simulator from others: its version and the digest of its machine code."""
    code = Path(str(_core.__file__)).read_bytes()
    return f"{_core.version}+{hashlib.sha256(code).hexdigest()[:12]}"


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Task:
    """One run to be done: a scenario without sweep, and a seed."""

    scenario: _core.Scenario
    seed: int
    point: int
    world: World = SIM

    @cached_property
    def key(self) -> str:
        """Names the run. In the simulator equal keys are equal results."""
        world = "" if self.world.name == "sim" else f" {self.world.name}"
        return hashlib.sha256(f"{self.scenario.hash(self.seed)} {build_id()}{world}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Done:
    """One run that is done; ``digest`` is the SHA-256 of its tables, ``wall_s`` the seconds it took, ``wire`` what the wire says of it."""

    key: str
    point: int
    seed: int
    digest: str
    wall_s: float
    wire: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, seal: Seal, point: int) -> Done:
        """The run with that seal, as a run of ``point``."""
        return cls(seal["key"], point, int(seal["seed"]), str(seal["digest"]), float(seal["wall_s"]), seal.get("wire"))

    def told(self) -> dict[str, Any]:
        """For the manifest."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Failed:
    """One run that came to no end, and why."""

    key: str
    point: int
    seed: int
    error: str


def finished(tasks: Sequence[Task], store: Store, *, verify: bool | None = None) -> dict[str, Done]:
    """Those of the tasks whose runs are in the store, by key."""
    points = {task.key: task.point for task in reversed(tasks)}
    return {key: Done.of(seal, points[key]) for key, seal in store.find(points, verify=verify).items()}


def _run_one(task: Task, store: Store, progress: _core.Progress) -> Done:
    """Makes a run and keeps it. What another process has finished meanwhile is taken instead."""
    found = store.find([task.key], verify=True)
    if found:
        return Done.of(found[task.key], task.point)
    with store.draft(task.key) as draft:
        began = time.monotonic()
        run = task.world.run(task.scenario, task.seed, progress)
        tables = {name: pa.table(data) for name, data in run.tables().items()}
        wire = json.loads(run.wire) if run.wire else None
        done = Done(task.key, task.point, task.seed, run.digest(), round(time.monotonic() - began, 4), wire)
        told = {**done.told(), "build": build_id()}
        del told["key"], told["point"]  # the store's and the manifest's
        store.put(draft, task.key, tables, told)
    return done


def _run_elsewhere(task: Task, store: Store, build: str) -> Done:
    """What a worker of an executor does."""
    if build_id() != build:
        raise HaltereError(
            f"worker: haltere must be the build of the caller, {build}, got {build_id()}; install the same on all"
        )
    return _run_one(task, store, _core.Progress())


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
    if others:  # the process that is at work here goes forwards: meet it
        todo.reverse()
    elif not store.local:  # nobody sees who else is at work: begin anywhere
        start = random.randrange(len(todo) or 1)
        todo = todo[start:] + todo[:start]
    if todo:
        with Bar(len(todo), f"run ({len(results)} found)" if results else "run", quiet=quiet) as bar:
            hands = _Lent(executor, store, jobs) if executor else _Threads(store, jobs or usable_cores())
            with closing(_each(todo, hands, bar)) as ended:
                for done in ended:
                    results[done.key] = done
                    if on_done:
                        on_done(done)
    return [_as_of(results[task.key], task.point) for task in tasks]


def _as_of(done: Done | Failed, point: int) -> Done | Failed:
    """Points of equal scenarios share a run."""
    return done if done.point == point else replace(done, point=point)


class _Threads:
    """Threads of this process: the simulator gives up the interpreter's lock."""

    def __init__(self, store: Store, jobs: int) -> None:
        self.store, self.most = store, jobs
        self.pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="haltere")
        self.watches: dict[str, _core.Progress] = {}

    def submit(self, task: Task) -> Future[Done]:
        watch = self.watches[task.key] = _core.Progress()
        return self.pool.submit(_run_one, task, self.store, watch)

    def under_way(self) -> float:
        """How many runs' worth of work is in those that are not done."""
        return min(sum(watch.done for watch in self.watches.values()), len(self.watches) * 0.999)

    def over(self, task: Task, done: Done | None) -> None:
        del self.watches[task.key]

    def stop(self) -> None:
        for watch in self.watches.values():
            watch.cancel()

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


class _Lent:
    """Somebody's executor: processes, a cluster."""

    def __init__(self, executor: Executor, store: Store, jobs: int | None) -> None:
        self.executor, self.store, self.most = executor, store, jobs or _IN_FLIGHT
        self.futures: dict[str, Future[Done]] = {}
        self.seen = False

    def submit(self, task: Task) -> Future[Done]:
        future = self.futures[task.key] = self.executor.submit(_run_elsewhere, task, self.store, build_id())
        return future

    def under_way(self) -> float:
        return 0.0

    def over(self, task: Task, done: Done | None) -> None:
        del self.futures[task.key]
        if done is not None and not self.seen:
            self._must_be_here(done)
            self.seen = True

    def _must_be_here(self, done: Done) -> None:
        """What the first worker wrote must be seen from here; a network's file system may take some seconds."""
        for _ in range(20):
            if self.store.find([done.key]):
                return
            time.sleep(0.5)
        raise HaltereError(
            f"{self.store.where}: results directory must be one that all workers share, got a run that a worker kept "
            "and that is not here; give --out a shared directory or a URL such as s3://bucket/name"
        )

    def stop(self) -> None:
        for future in self.futures.values():
            future.cancel()

    def close(self) -> None:
        """It is not ours to shut down."""


def _each(todo: Sequence[Task], hands: _Threads | _Lent, bar: Bar) -> Generator[Done | Failed]:
    """Does the tasks, as many at a time as the hands take, and gives each as it is done."""
    ended: queue.SimpleQueue[tuple[Task, Future[Done]]] = queue.SimpleQueue()
    waiting = iter(todo)
    over = under_way = 0

    def start() -> bool:
        task = next(waiting, None)
        if task is not None:
            hands.submit(task).add_done_callback(lambda future: ended.put((task, future)))
        return task is not None

    try:
        while over < len(todo):
            while under_way < hands.most and start():
                under_way += 1
            try:
                task, future = ended.get(timeout=0.2)
            except queue.Empty:
                bar.update(over + hands.under_way())
                continue
            over, under_way = over + 1, under_way - 1
            done = _outcome(task, future)
            hands.over(task, done if isinstance(done, Done) else None)
            bar.update(over + hands.under_way())
            yield done
    except BaseException:
        hands.stop()
        raise
    finally:
        hands.close()


def _outcome(task: Task, future: Future[Done]) -> Done | Failed:
    try:
        return future.result()
    except (OSError, BrokenExecutor):  # no store or no hands: the others would fare no better
        raise
    except CancelledError:
        raise HaltereError("executor: runs must be left to end, got one that was cancelled") from None
    except Exception as error:
        if isinstance(error, InputError) and task.world.name != "sim":
            raise  # this machine is not fit for it: nor for the next run
        text = " ".join(str(error).split()) or type(error).__name__
        return Failed(task.key, task.point, task.seed, text)


def environment() -> dict[str, Any]:
    """What a results directory says of the programs that made it."""
    import platform
    import sys

    return {
        "haltere": _core.version,
        "build": build_id(),
        "git": _git_hash(),
        "python": sys.version.split()[0],
        "pyarrow": pa.__version__,
        "platform": platform.platform(),
        "cores": usable_cores(),
    }


@cache
def _git_hash() -> str | None:
    """The commit of the source tree that this package runs from, ``+`` when it was changed; ``None`` for an installed one."""
    import subprocess

    root = Path(__file__).resolve().parents[2]
    if not (root / "crates" / "haltere-units").is_dir():
        return None
    try:
        told = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return told.stdout.strip()
