"""Many runs on all cores, each kept as soon as it is done.

A run is a function of (scenario, seed, version of the simulator), and so is its key. A run whose key is
already in the results directory is not run again, so a call that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import _core
from .files import scratch_name
from .progress import Bar

__all__ = ["Done", "Task", "build_id", "environment", "execute", "usable_cores"]


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

    @property
    def key(self) -> str:
        """Names the run: equal keys, equal results."""
        return hashlib.sha256(f"{self.scenario.hash(self.seed)} {build_id()}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Done:
    """One run that is done; ``digest`` is the SHA-256 of its tables, ``wall_s`` the seconds it took."""

    key: str
    point: int
    seed: int
    digest: str
    wall_s: float


def _finished(folder: Path, task: Task) -> Done | None:
    """The run, if it is in ``folder`` already."""
    try:
        told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        return Done(task.key, task.point, task.seed, str(told["digest"]), float(told["wall_s"]))
    except (OSError, ValueError, KeyError):
        return None


def _run_one(task: Task, runs: Path, progress: _core.Progress) -> Done:
    folder = runs / task.key
    began = time.monotonic()
    run = _core.run(task.scenario, task.seed, progress)
    tables = {name: pa.table(data) for name, data in run.tables().items()}
    done = Done(task.key, task.point, task.seed, run.digest(), round(time.monotonic() - began, 3))
    scratch = scratch_name(folder)
    try:
        scratch.mkdir()
        for name, table in tables.items():
            pq.write_table(table, scratch / f"{name}.parquet", compression="zstd")
        told = {"key": done.key, "seed": done.seed, "digest": done.digest, "wall_s": done.wall_s, "build": build_id()}
        (scratch / "run.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        if folder.exists():  # a folder without a readable run.json is of no use to anybody
            shutil.rmtree(folder)
        os.replace(scratch, folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return done


def execute(
    tasks: Sequence[Task],
    runs: Path,
    *,
    jobs: int | None = None,
    quiet: bool = False,
    on_done: Callable[[Done], None] | None = None,
) -> list[Done]:
    """Does all tasks that are not yet in the folder ``runs``, ``jobs`` at a time; in the order of ``tasks``.

    An interrupt (or the first run that fails) stops the runs under way and is raised; what is finished is kept.
    """
    runs.mkdir(parents=True, exist_ok=True)
    results: dict[int, Done] = {}
    todo: list[int] = []
    for i, task in enumerate(tasks):
        done = _finished(runs / task.key, task)
        if done is None:
            todo.append(i)
        else:
            results[i] = done
    if on_done:
        for done in results.values():
            on_done(done)
    if todo:
        # The longest runs first would be best; their length is not known, the order of the sweep is.
        _execute_missing(tasks, todo, runs, jobs or usable_cores(), results, quiet, on_done)
    return [results[i] for i in range(len(tasks))]


def _execute_missing(
    tasks: Sequence[Task],
    todo: Sequence[int],
    runs: Path,
    jobs: int,
    results: dict[int, Done],
    quiet: bool,
    on_done: Callable[[Done], None] | None,
) -> None:
    found = len(results)
    watches = {i: _core.Progress() for i in todo}
    with Bar(len(todo), "run" if not found else f"run ({found} found)", quiet=quiet) as bar:
        pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="haltere")
        futures: dict[Future[Done], int] = {pool.submit(_run_one, tasks[i], runs, watches[i]): i for i in todo}
        pending: set[Future[Done]] = set(futures)
        try:
            while pending:
                finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    done = results[futures[future]] = future.result()
                    watches.pop(futures[future])
                    if on_done:
                        on_done(done)
                under_way = sum(watch.done for watch in watches.values())
                bar.update(len(results) - found + min(under_way, len(watches) * 0.999))
        except BaseException:
            for watch in watches.values():
                watch.cancel()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        pool.shutdown()


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
