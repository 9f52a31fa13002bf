"""Faults of the store, drawn from a seed: operations that fail, are short or are torn, processes that die or come in between.

One seed is one history: some calls of `run` on one store, each on a system with faults of its own, then one on a sound system. After
every call the store is either as before or has more runs, each of them complete; the last call ends with the reference's digest.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from fsspec import AbstractFileSystem
from fsspec.registry import register_implementation

import haltere as package
from haltere.runs import files, runner
from haltere.runs.plan import Plan, plan_runs
from haltere.runs.results import Results
from haltere.runs.store import Store
from haltere.worlds import World

TINY = """
title = "Faults"
duration = "1s"
[topology.dumbbell]
pairs = 1
access = { rate = "1Gbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "1ms" }
[[traffic]]
kind = "bulk"
"""
SEEDS = [1, 2, 3]


class Dead(BaseException):
    """The process has ended here. No `except Exception` and no cleaning up sees it."""


class Made:
    """A run in no time: what it is follows from its seed."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.numbers = {name: [draw.random() for _ in range(20)] for name in ("flows", "links")}

    def tables(self) -> Mapping[str, Any]:
        import pyarrow as pa

        return {name: pa.table({"x": numbers}) for name, numbers in self.numbers.items()}

    def digest(self) -> str:
        return hashlib.sha256(repr(sorted(self.numbers.items())).encode()).hexdigest()


@dataclass(frozen=True)
class Quick(World):
    """A world whose runs cost nothing."""

    name = "quick"
    about = title = place = "a world for tests"

    def run(self, scenario: Any, seed: int, progress: Any) -> Made:
        return Made(seed)


@dataclass
class Chances:
    """How likely each fault is, for one operation."""

    fail: float = 0.0
    short: float = 0.0
    die: float = 0.0
    other: float = 0.0
    rot: float = 0.0
    #: A death is a power cut: what was not synced may be torn.
    power: bool = False

    @classmethod
    def drawn(cls, draw: random.Random) -> Chances:
        """Mostly one kind of fault, now and then all."""
        kinds = draw.choice(
            [["fail"], ["short"], ["die"], ["die"], ["other"], ["rot"], ["fail", "short", "die", "other"]]
        )
        return cls(**{kind: draw.choice([0.01, 0.05, 0.2]) for kind in kinds}, power=draw.random() < 0.3)


class Faulty(files.Disk):
    """One process's view of a disk that fails as the seed says."""

    def __init__(self, draw: random.Random, chances: Chances, other: Callable[[], None], seen: Counter[str]) -> None:
        self.draw, self.chances, self.other, self.seen = draw, chances, other, seen
        self.dead = False
        self.opened: set[int] = set()
        #: Files that were written and not synced since.
        self.unsynced: set[Path] = set()

    def _happens(self, chance: float) -> bool:
        return self.draw.random() < chance

    def _before(self, what: str) -> None:
        """The process may be dead, may die now, another may come in between, or the operation may fail."""
        if self.dead or self._happens(self.chances.die):
            if not self.dead:
                self.seen[f"{what}: died before it"] += 1
            self._die()
        if self._happens(self.chances.other):
            self.seen[f"{what}: another process before it"] += 1
            self.other()
        if self._happens(self.chances.fail):
            self.seen[f"{what}: failed"] += 1
            number = self.draw.choice([errno.EIO, errno.ENOSPC, errno.EINTR, errno.EMFILE, errno.EDQUOT])
            raise OSError(number, os.strerror(number))

    def _die(self) -> None:
        if not self.dead and self.chances.power:
            self._tear()
        self.dead = True
        raise Dead

    def _tear(self) -> None:
        """A power cut: any part of what was not synced is missing or is zeros."""
        for path in self.unsynced:
            if path.exists() and self._happens(0.7):
                self.seen["write: torn by a power cut"] += 1
                data = path.read_bytes()
                keep = self.draw.randrange(len(data) + 1)
                path.write_bytes(data[:keep] + bytes(len(data) - keep if self._happens(0.5) else 0))

    def mkdir(self, path: Path) -> None:
        self._before("mkdir")
        super().mkdir(path)

    def open(self, path: Path, flags: int) -> int:
        self._before("open")
        opened = super().open(path, flags)
        self.opened.add(opened)
        return opened

    def close(self, opened: int) -> None:
        self.opened.discard(opened)
        super().close(opened)

    def lock(self, opened: int, operation: int) -> None:
        self._before("lock")
        super().lock(opened, operation)

    def read(self, path: Path) -> bytes:
        self._before("read")
        data = super().read(path)
        if data and self._happens(self.chances.short):
            self.seen["read: short"] += 1
            return data[: self.draw.randrange(len(data))]
        if data and self._happens(self.chances.rot):
            self.seen["read: one bit wrong"] += 1
            at = self.draw.randrange(len(data))
            return bytes([*data[:at], data[at] ^ (1 << self.draw.randrange(8)), *data[at + 1 :]])
        return data

    def write(self, path: Path, data: bytes) -> None:
        self._before("write")
        if self._happens(self.chances.short):
            self.seen["write: short"] += 1
            super().write(path, data[: self.draw.randrange(len(data))])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._happens(self.chances.die):
            self.seen["write: died in it"] += 1
            super().write(path, data[: self.draw.randrange(len(data))])
            self._die()
        super().write(path, data)
        self.unsynced.add(path)

    def sync(self, path: Path) -> None:
        self._before("sync")
        self.unsynced.discard(path)

    def rename(self, old: Path, new: Path) -> None:
        self._before("rename")
        super().rename(old, new)
        moved = {path for path in self.unsynced if path == old or old in path.parents}
        self.unsynced = self.unsynced - moved | {new / path.relative_to(old) if path != old else new for path in moved}
        if self._happens(self.chances.die):
            self.seen["rename: died after it"] += 1
            self._die()

    def remove(self, path: Path) -> None:
        self._before("remove")
        if self._happens(self.chances.short) and path.is_dir():
            self.seen["remove: in part"] += 1
            for one in list(path.iterdir())[:1]:
                one.unlink()
            return
        super().remove(path)

    def buried(self) -> None:
        """The system closes what a dead process had open, and so gives its locks back."""
        for opened in self.opened:
            os.close(opened)


class Inline(Executor):
    """A pool of no threads: a task is done when it is submitted. Waiting for threads would take most of the time of a history."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, work: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future


@contextmanager
def without_threads(draw: random.Random) -> Iterator[None]:
    """Nine of ten histories; in half of all, several runs share a batch."""
    before = runner.ThreadPoolExecutor, runner._BATCHES
    if draw.random() < 0.9:
        runner.ThreadPoolExecutor = Inline  # type: ignore[misc,assignment]
    runner._BATCHES = draw.choice([1, before[1]])
    try:
        yield
    finally:
        runner.ThreadPoolExecutor, runner._BATCHES = before  # type: ignore[misc]


_names = iter(range(1 << 60))


@contextmanager
def process(disk: files.Disk) -> Iterator[None]:
    """What follows is done by a process of its own, with that disk."""
    token, before = f"{next(_names):x}-test", files.use_disk(disk)
    real = files._token
    files._token = lambda pid: token  # type: ignore[assignment]
    try:
        yield
    finally:
        files._token = real
        files.use_disk(before)


@dataclass
class Report:
    """What a number of histories came to."""

    histories: int = 0
    calls: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)


class History:
    """One seed: a store, and what happens to it."""

    def __init__(self, seed: int, folder: Path, report: Report) -> None:
        self.draw, self.out, self.report = random.Random(seed), folder / "out", report
        self.scenario = _scenario()
        self.digest = _reference()
        #: Runs that were complete after the last call, and runs that a power cut tore.
        self.kept: set[str] = set()
        self.torn: set[str] = set()

    def run(self, executor: Executor | None = None) -> Results:
        """What `haltere run` does."""
        return plan_runs([self.scenario], SEEDS, self.out, jobs=1, quiet=True, world=Quick(), executor=executor)

    def other(self) -> None:
        """A whole call by another process, in the middle of an operation of this one."""
        with process(files.Disk()):
            assert self.run().digest() == self.digest

    def call(self, chances: Chances) -> None:
        """One call on a disk with faults."""
        disk = Faulty(self.draw, chances, self.other, self.report.seen)
        self.report.calls += 1
        lost = chances.rot > 0 or chances.short > 0
        try:
            with process(disk):
                results = self.run()
            self.report.ended["done"] += 1
            assert results.digest() == self.digest, "a call that ended well has another digest"
        except Dead:
            self.report.ended["process died"] += 1
        except (OSError, package.HaltereError) as error:
            self.report.ended[f"reported: {type(error).__name__}"] += 1
        finally:
            disk.buried()
        self.check(torn=disk.dead and chances.power, doubted=lost)

    def check(self, *, torn: bool, doubted: bool) -> None:
        """The store is as before or has more, each run whole."""
        store = Store(self.out)
        keys, names = _keys(), [path.name for path in (self.out / "runs").glob("[!.]*")]
        # A folder whose checksum file cannot be read stands for the runs that it may have held.
        batches = store._read_seals(names).items()
        visible = {one for name, seals in batches for one in ([seal["key"] for seal in seals] or [name])}
        sound = set(store.find(keys, verify=True))
        # A power cut tears runs of the call in which it came, and no others.
        self.torn = visible - sound if torn else self.torn & visible
        assert visible - sound <= self.torn, f"runs that are not complete: {visible - sound - self.torn}"
        # A run that a read showed damaged may have been taken away to be made anew, and its maker may have died then.
        assert doubted or self.kept <= sound, f"runs were lost: {self.kept - sound}"
        self.kept = sound
        for seal in store.find(sound, verify=True).values():
            assert seal["digest"] == Made(seal["seed"]).digest(), "a run has another digest"
        if (self.out / "manifest.json").exists():
            assert not store.malformed_manifest(), "the manifest is neither the old nor the new one"

    def end(self) -> None:
        """A last call, on a sound system."""
        with process(files.Disk()):
            results = self.run()
        assert results.complete and results.digest() == self.digest and results.check() == []
        left = [path.name for path in (*self.out.glob(".*"), *(self.out / "runs").glob(".*"))]
        assert not left, f"scratch was left: {left}"


_cached: dict[str, Any] = {}


def _scenario() -> package.Scenario:
    if "scenario" not in _cached:
        _cached["scenario"] = package.Scenario.from_toml(TINY)
    return _cached["scenario"]  # type: ignore[no-any-return]


def _reference() -> str:
    if "digest" not in _cached:
        with tempfile.TemporaryDirectory() as folder:
            _cached["digest"] = plan_runs([_scenario()], SEEDS, folder, jobs=1, quiet=True, world=Quick()).digest()
    return _cached["digest"]  # type: ignore[no-any-return]


def _keys() -> list[str]:
    if "keys" not in _cached:
        _cached["keys"] = [task.key for task in Plan([_scenario()], world=Quick()).ask(SEEDS)]
    return _cached["keys"]  # type: ignore[no-any-return]


def _folder() -> Path:
    """In memory if it can be: a history writes some hundred files."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="haltere-faults-", dir=memory if os.access(memory, os.W_OK) else None))


def disk_history(seed: int, report: Report) -> None:
    """One history of a directory."""
    folder = _folder()
    try:
        history = History(seed, folder, report)
        with without_threads(history.draw):
            for _ in range(history.draw.randint(1, 3)):
                history.call(Chances.drawn(history.draw))
            history.end()
        report.histories += 1
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- workers elsewhere ----------------------------------------------------------------------------------------------------


class KilledWorker(Exception):
    """What Dask says of a task that killed as many workers as it allows."""


class Workers(Executor):
    """A cluster: its workers die and their tasks go to others, come back late, and do a task twice."""

    def __init__(self, history: History, chance: float) -> None:
        self.history, self.draw, self.chance = history, history.draw, chance
        self.late: list[tuple[Any, ...]] = []

    def submit(self, work: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        seen = self.history.report.seen
        for _attempt in range(3):
            if self.draw.random() < self.chance and self._dies(work, arguments):
                seen["worker: died in its task"] += 1
                continue
            if self.draw.random() < self.chance:
                seen["worker: came back after its task was given away"] += 1
                self.late.append((work, arguments))
                continue
            with process(self._twice(work, arguments)):
                future.set_result(work(*arguments))
            break
        else:
            future.set_exception(KilledWorker("3 workers died"))
        if self.late and self.draw.random() < 0.5:
            self.comes_back()
        return future

    def _dies(self, work: Any, arguments: Any) -> bool:
        disk = Faulty(self.draw, Chances(die=0.1), lambda: None, self.history.report.seen)
        try:
            with process(disk):
                work(*arguments)
        except Dead:
            return True
        finally:
            disk.buried()
        return False

    def _twice(self, work: Any, arguments: Any) -> files.Disk:
        """A disk on which, before some operation, another worker does the same task."""
        if self.draw.random() >= self.chance:
            return files.Disk()

        def other() -> None:
            with process(files.Disk()):
                work(*arguments)

        return Faulty(self.draw, Chances(other=0.1), other, self.history.report.seen)

    def comes_back(self) -> None:
        """A worker that was thought dead does its task after all."""
        work, arguments = self.late.pop(self.draw.randrange(len(self.late)))
        with process(files.Disk()):
            work(*arguments)


class WorkersHistory(History):
    """One seed: a directory that workers elsewhere write to, and what happens to it."""

    def on_workers(self) -> None:
        """One call."""
        workers = Workers(self, self.draw.choice([0.1, 0.3, 0.6]))
        self.report.calls += 1
        try:
            assert self.run(executor=workers).digest() == self.digest
            self.report.ended["done"] += 1
        except package.RunsFailed:
            self.report.ended["reported: RunsFailed"] += 1
        while workers.late:  # after the call was over
            workers.comes_back()
        self.check(torn=False, doubted=False)


def workers_history(seed: int, report: Report) -> None:
    """One history of a directory that workers elsewhere write to."""
    folder = _folder()
    try:
        history = WorkersHistory(seed, folder, report)
        with without_threads(history.draw):
            for _ in range(history.draw.randint(1, 2)):
                history.on_workers()
            history.end()
        report.histories += 1
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# -- an object store ------------------------------------------------------------------------------------------------------


class Bucket(AbstractFileSystem):  # type: ignore[misc]
    """An object store in memory whose requests fail as the seed says. A put is whole or not there, as S3 promises."""

    protocol = "faulty"
    cachable = False
    objects: ClassVar[dict[str, bytes]] = {}
    draw: ClassVar[random.Random] = random.Random(0)
    chances: ClassVar[Chances] = Chances()
    other: ClassVar[Callable[[], None]] = staticmethod(lambda: None)
    seen: ClassVar[Counter[str]] = Counter()
    dead: ClassVar[bool] = False

    def _before(self, what: str) -> None:
        of = type(self)
        if of.dead or of.draw.random() < of.chances.die:
            if not of.dead:
                of.seen[f"{what}: died before it"] += 1
            of.dead = True
            raise Dead
        if of.draw.random() < of.chances.other:
            of.seen[f"{what}: another process before it"] += 1
            of.other()
        if of.draw.random() < of.chances.fail:
            of.seen[f"{what}: failed"] += 1
            raise of.draw.choice([ConnectionError("endpoint went away"), PermissionError("slow down"), TimeoutError()])

    def cat_file(self, path: str, start: Any = None, end: Any = None, **_: Any) -> bytes:
        self._before("get")
        if path not in self.objects:
            raise FileNotFoundError(path)
        data, of = self.objects[path], type(self)
        if data and of.draw.random() < of.chances.short:
            of.seen["get: short"] += 1
            return data[: of.draw.randrange(len(data))]
        return data

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        self._before("put")
        self.objects[path] = bytes(value)
        of = type(self)
        if of.draw.random() < of.chances.fail:
            of.seen["put: done, and its answer lost"] += 1
            raise ConnectionError("no answer")
        if of.draw.random() < of.chances.die:
            of.seen["put: died after it"] += 1
            of.dead = True
            raise Dead

    def rm(self, path: str, recursive: bool = False, maxdepth: Any = None) -> None:
        for name in [one for one in self.objects if one.startswith(f"{path}/")]:
            self._before("delete")
            del self.objects[name]

    def find(self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **_: Any) -> Any:
        self._before("list")
        found = {name: {"size": len(data)} for name, data in self.objects.items() if name.startswith(f"{path}/")}
        return found if detail else sorted(found)


register_implementation("faulty", Bucket, clobber=True)


class BucketHistory(History):
    """One seed: an object store, and what happens to it."""

    def __init__(self, seed: int, report: Report) -> None:
        super().__init__(seed, Path("unused"), report)
        Bucket.objects, Bucket.draw, Bucket.seen, Bucket.other = {}, self.draw, report.seen, self.other
        self.url = "faulty://bucket/results"

    def run(self, executor: Executor | None = None) -> Results:
        return plan_runs([self.scenario], SEEDS, self.url, jobs=1, quiet=True, world=Quick(), verify=True)

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Requests of another process, or of a check: without faults."""
        before = Bucket.chances, Bucket.dead
        Bucket.chances, Bucket.dead = Chances(), False
        try:
            yield
        finally:
            Bucket.chances, Bucket.dead = before

    def other(self) -> None:
        with self.sound():
            assert self.run().digest() == self.digest

    def call(self, chances: Chances) -> None:
        self.report.calls += 1
        Bucket.chances, Bucket.dead = chances, False
        try:
            results = self.run()
            self.report.ended["done"] += 1
            assert results.digest() == self.digest, "a call that ended well has another digest"
        except Dead:
            self.report.ended["process died"] += 1
        except (OSError, package.HaltereError) as error:
            self.report.ended[f"reported: {type(error).__name__}"] += 1
        with self.sound():
            store = Store(self.url)
            named, sound = set(store.seals(_keys())), set(store.find(_keys(), verify=True))
            assert named == sound, f"checksum files of runs that are not complete: {named - sound}"
            assert self.kept <= sound, f"runs were lost: {self.kept - sound}"
            self.kept = sound
            if "bucket/results/manifest.json" in Bucket.objects:
                assert not store.malformed_manifest()

    def end(self) -> None:
        with self.sound():
            results = self.run()
            assert results.complete and results.digest() == self.digest and results.check() == []


def bucket_history(seed: int, report: Report) -> None:
    """One history of an object store."""
    try:
        history = BucketHistory(seed, report)
        with without_threads(history.draw):
            for _ in range(history.draw.randint(1, 3)):
                history.call(Chances.drawn(history.draw))
            history.end()
        report.histories += 1
    except BaseException as error:
        raise AssertionError(f"seed {seed}: {error!r}") from error
