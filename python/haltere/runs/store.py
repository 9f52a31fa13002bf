"""The store: where runs are kept, each of them whole or not at all.

manifest.json              what was asked for: scenarios, seeds, versions; and what was made: the digest of every run
measures.json              numbers that were read off the runs: see `analysis/facts.py`
runs/BATCH/TABLE.parquet   a table of the runs of a batch, one run's rows behind another's; the column `run` has the key
runs/BATCH/*.pcapng, *.qlog  captures and what senders did, if the experiment asks for them
runs/BATCH/run.json        its checksum file: keys, digests and numbers of rows of its runs, and size and SHA-256 of every file beside it

A run alone is a batch too, whose name is the run's key. Short runs of a large sweep share batches, because a file costs much more than the
rows of a run. Each of the three JSON files begins with the SHA-256 of its other bytes. So no byte of a store can change unnoticed.

A batch is there when its checksum file is. In a directory a batch is written to a hidden folder, which is renamed: that is atomic, and who
comes second finds the place taken. An object store (any URL that fsspec knows) renames nothing, but a single put is atomic: the
checksum file is put last. What a killed process, a full disk or a power cut leaves behind has no checksum file, or files that do not fit it, and is run again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HaltereError, InputError
from . import parquet
from .files import Held, NotAFile, disk, is_own, is_scratch, left_behind, scratch_name, write_atomically
from .records import Kept, Seal, batch_name, is_alone, seals_of, with_checksum, without_checksum

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AGAIN", "FORMAT", "Damaged", "Seal", "Store", "is_url", "need", "tables_of"]

_SEAL, _MANIFEST = "run.json", "manifest.json"
#: The form of the store. Stores of another form are not read.
FORMAT = 3
_OTHER_BYTES = "its contents are not what was written"
#: What to do about a damaged run.
AGAIN = "run the experiment again (at a URL with --verify) to repeat this run"
#: How often a batch is moved to its place before the call fails.
_ATTEMPTS = 5
#: Tables of several runs that are kept as they were read, for the next run of their batch.
_TABLES_AT_HAND = 8
#: How much of a bucket is kept in memory, so that what is read run by run is fetched many runs at a time.
_AHEAD_BYTES = 256 << 20


_NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, NotAFile)


class Damaged(HaltereError):
    """A stored file is not what was written."""


class Unreachable(HaltereError, OSError):
    """An object store does not answer, or refuses. As an :class:`OSError` it ends the call: no other run would fare better."""


def is_url(where: str | Path) -> bool:
    """Whether this names an object store and not a directory."""
    return "://" in str(where)


def need(module: str, extra: str, what: str) -> Any:
    """The optional ``module``. If it is missing, the error says what to type."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{what}: package `{module}` is not installed (`{error}`); type: pip install 'haltere[{extra}]'"
        ) from None


class _Directory:
    """The place of the bytes. Names are relative, with `/`."""

    def __init__(self, root: Path) -> None:
        self.root, self.runs = root, root / "runs"

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        out = {}
        for name in names:
            try:
                out[name] = disk().read(self.root / name)
            except OSError as error:
                # A loop of symbolic links holds no file either.
                if not isinstance(error, _NO_FILE) and error.errno != errno.ELOOP:
                    raise
        return out

    def batches(self) -> list[str]:
        return sorted(one.name for one in self.runs.glob("*") if one.name[0] != ".")

    def sizes(self, batches: Iterable[str]) -> dict[str, int]:
        return {
            f"runs/{batch}/{file.name}": file.lstat().st_size
            for batch in batches
            for file in (self.runs / batch).glob("*")
        }

    def write(self, name: str, data: bytes) -> None:
        write_atomically(self.root / name, data)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        scratch = scratch_name(self.runs / "work")
        held = Held(scratch, folder=True)
        try:
            yield
        finally:
            try:
                disk().remove(scratch)
            finally:
                held.close()

    def put(self, batch: str, files: Mapping[str, bytes], sound: Callable[[], bool]) -> None:
        target = self.runs / batch
        scratch = scratch_name(target)
        held = Held(scratch, folder=True)
        try:
            for name, data in files.items():
                disk().write(scratch / name, data)
            for attempt in range(_ATTEMPTS):
                try:
                    disk().rename(scratch, target)
                    return
                except OSError:
                    if not os.path.lexists(target):
                        if attempt == _ATTEMPTS - 1:
                            raise
                        continue  # whoever was there has just left
                if sound():  # another process was first
                    return
                self.clear(batch)
        finally:
            try:
                disk().remove(scratch)
            finally:
                held.close()
        raise HaltereError(f"{target}: the run was not kept: {_ATTEMPTS} times a damaged run came in its place")

    def clear(self, batch: str) -> None:
        target = self.runs / batch
        aside = scratch_name(target.with_name(f"damaged.{batch}"))
        try:
            disk().rename(target, aside)
        except FileNotFoundError:  # another process was faster
            return
        disk().remove(aside)

    def tidy(self) -> bool:
        """Removes what dead processes left; whether a live one of others is at work."""
        others = False
        for scratch in (*self.runs.glob(".*.tmp"), *self.root.glob(".*.tmp")):
            with left_behind(scratch) as left:
                if left:
                    disk().remove(scratch)
                else:
                    others = others or not is_own(scratch)
        return others


class _Remote:
    """The same in an object store."""

    def __init__(self, url: str) -> None:
        self.url, scheme = url, url.partition("://")[0]
        extra = "s3" if scheme in ("s3", "s3a") else "scale"
        fsspec = need("fsspec", extra, url)
        try:
            self.fs, path = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise InputError(
                f"{url}: the file system of this URL is not installed (`{error}`); type: pip install 'haltere[{extra}]'"
            ) from None
        except ValueError as error:
            raise InputError(
                f"{url}: must be a URL that fsspec knows, such as s3://bucket/name, got `{error}`"
            ) from None
        self.root = path.rstrip("/")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever the client of the object store raises is reported in one line: its errors have no class in common."""
        try:
            yield
        except Exception as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise Unreachable(f"{self.url}: the store must be reachable and writable, got `{what}`") from error

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        paths = {self._path(name): name for name in names}
        # A missing file is left out; anything else that goes wrong is an error.
        with self._told():
            got = self.fs.cat(list(paths), on_error="return") if paths else {}
        out = {}
        for path, data in got.items():
            if isinstance(data, BaseException):
                if not isinstance(data, FileNotFoundError | NotADirectoryError):
                    with self._told():
                        raise data
            else:
                out[paths[path if path in paths else path.lstrip("/")]] = bytes(data)
        return out

    def batches(self) -> list[str]:
        return list(dict.fromkeys(name.split("/")[1] for name in self.sizes()))

    def sizes(self, batches: Iterable[str] = ()) -> dict[str, int]:
        with self._told():
            self.fs.invalidate_cache()
            found = self.fs.find(self._path("runs"), detail=True)
        skip = len(self.root) + 1
        return {path[skip:]: int(one["size"]) for path, one in found.items()}

    def write(self, name: str, data: bytes) -> None:
        with self._told():
            self.fs.pipe_file(self._path(name), data)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        yield

    def put(self, batch: str, files: Mapping[str, bytes], sound: Callable[[], bool]) -> None:
        if sound():  # another process was first
            return
        with self._told():
            self.fs.pipe({self._path(f"runs/{batch}/{name}"): data for name, data in files.items() if name != _SEAL})
            self.fs.pipe_file(self._path(f"runs/{batch}/{_SEAL}"), files[_SEAL])

    def clear(self, batch: str) -> None:
        with self._told():
            self.fs.rm(self._path(f"runs/{batch}"), recursive=True)

    def tidy(self) -> bool:
        return False


class Store:
    """Runs under one directory or URL. May be pickled: another process opens the same place."""

    def __init__(self, where: str | Path) -> None:
        #: The URL or the directory, as it was given.
        self.where = str(where).rstrip("/") if is_url(where) else str(Path(where))
        self._ahead: dict[str, bytes] = {}
        self._at_hand: dict[tuple[str, str, tuple[str, ...] | None], pa.Table] = {}
        #: Batches that were there when :meth:`seen` last looked, and their runs.
        self._looked_at: set[str] = set()
        self._seen: set[str] = set()
        self._look_again = 0.0
        #: Batches that :meth:`find` met and that are damaged, with the runs that they say they have.
        self._unsound: dict[str, list[Seal]] = {}
        self._files: _Directory | _Remote = _Remote(self.where) if is_url(where) else _Directory(Path(where).absolute())

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return (Store, (self.where if not self.local else str(Path(self.where).absolute()),))

    @property
    def local(self) -> bool:
        """Whether it is a directory."""
        return not is_url(self.where)

    @property
    def folder(self) -> Path:
        """The folder of figures and reports of these results: beside the runs, or for a URL in ``results/NAME``."""
        return Path(self.where) if self.local else Path("results") / self.where.rsplit("/", 1)[-1]

    def check_place(self) -> None:
        """The place is new, empty, or holds results of ours."""
        where = Path(self.where)
        if not self.local:
            return
        if where.exists() and not where.is_dir():
            raise InputError(f"{where}: results directory must be a directory, got a file")
        there = next(one for one in (where.absolute(), *where.absolute().parents) if os.path.lexists(one))
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise InputError(
                f"{where}: results directory must be writable, got `{there}`, which is not a directory to write in"
            )
        if not where.exists():
            return
        if os.path.lexists(where / "runs") and not (where / "runs").is_dir():
            raise InputError(f"{where}: results directory must hold a directory `runs`, got a file of that name")
        if (where / "manifest.json").is_dir():
            raise InputError(f"{where}: manifest.json must be a file, got a directory; move it away")
        ours = (where / "manifest.json").exists() or (where / "runs").is_dir()
        # A call that was killed before its first manifest leaves scratch alone.
        if not ours and not all(is_scratch(one) for one in where.iterdir()):
            raise InputError(
                f"{where}: results directory must be empty or hold results of haltere; choose another with --out"
            )

    def tidy(self) -> bool:
        """Removes what killed processes left behind; whether other processes are at work here now."""
        return self._files.tidy()

    def at_work(self) -> AbstractContextManager[None]:
        """Inside, other processes see that this one makes runs."""
        return self._files.at_work()

    # -- the manifest ---------------------------------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Any]:
        """What was asked for."""
        data = self._files.read([_MANIFEST]).get(_MANIFEST)
        if data is None:
            raise InputError(f"{self.where}: must be a results directory, got no {_MANIFEST} in it")
        manifest, wrong = without_checksum(data), f"{self.where}/{_MANIFEST}: manifest must be one that haltere wrote"
        if manifest is None:
            old = data.startswith(b'{\n"format": 1,')
            got = "one of an earlier version" if old else "one whose contents are not what was written"
            raise InputError(f"{wrong}, got {got}; run the experiment again")
        if manifest.get("format") != FORMAT:
            raise InputError(
                f"{wrong} in format {FORMAT}, got format {manifest.get('format')} of another version; run the experiment again"
            )
        return manifest

    def malformed_manifest(self) -> str:
        """What is wrong with the manifest that is there; empty if there is none, or nothing is wrong."""
        try:
            self.manifest()
        except InputError as error:
            return str(error) if _MANIFEST in self._files.read([_MANIFEST]) else ""
        return ""

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Writes it, whole: one line an entry, and one an element of a list."""
        entries = [f"{json.dumps(key)}: {_lines(value)}" for key, value in manifest.items()]
        self._files.write(_MANIFEST, with_checksum("{\n" + ",\n".join(entries) + "\n}\n"))

    # -- runs -----------------------------------------------------------------------------------------------------------------

    def find(self, keys: Iterable[str], *, verify: bool | None = None) -> dict[str, Seal]:
        """The checksum files of those runs that are there and sound.

        Names and sizes of the files must fit the checksum file, and with ``verify`` their SHA-256 too. Default: in a
        directory yes. At a URL no, because it would fetch everything; a table that is read is checked against its checksum file in any case.
        """
        wanted = dict.fromkeys(keys)
        every = self._batches(wanted)
        batches = {name: seals for name, seals in every.items() if any(seal["key"] in wanted for seal in seals)}
        if self.local if verify is None else verify:
            with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
                each = pool.map if len(batches) > 16 else map
                sound = list(each(self._sound, (seals[0] for seals in batches.values())))
        else:
            sizes = self._files.sizes(batches) if batches else {}
            sound = [all(sizes.get(name) == size for name, size, _ in _parts(seals[0])) for seals in batches.values()]
        good = {name for name, fits in zip(batches, sound, strict=True) if fits}
        self._unsound = {
            name: seals for name, seals in every.items() if name not in good and (name in batches or not seals)
        }
        found = {seal["key"]: seal for name in good for seal in batches[name]}
        return {key: found[key] for key in wanted if key in found}

    def seals(self, keys: Iterable[str]) -> dict[str, Seal]:
        """What the checksum files say of those runs that are in one, sound or not."""
        wanted = dict.fromkeys(keys)
        found = {seal["key"]: seal for seals in self._batches(wanted).values() for seal in seals}
        return {key: found[key] for key in wanted if key in found}

    def _batches(self, wanted: Container[str]) -> dict[str, list[Seal]]:
        """The batches that may hold these runs, each with its runs: none if its checksum file is malformed."""
        return self._read_seals([name for name in self._files.batches() if name in wanted or not is_alone(name)])

    def _read_seals(self, names: Sequence[str]) -> dict[str, list[Seal]]:
        data = self._files.read(f"runs/{name}/{_SEAL}" for name in names)
        return {name: seals_of(data.get(f"runs/{name}/{_SEAL}"), name) for name in names}

    def seen(self, key: str) -> bool:
        """Whether the run was there at the last look, which is at most a second old, or ten times as old as it took."""
        if (began := time.monotonic()) >= self._look_again:
            new = [name for name in self._files.batches() if name not in self._looked_at]
            self._looked_at.update(new)
            self._seen.update(seal["key"] for seals in self._read_seals(new).values() for seal in seals)
            self._look_again = time.monotonic() + max(1.0, 10 * (time.monotonic() - began))
        return key in self._seen

    def damaged(self, keys: Iterable[str]) -> int:
        """How many of these runs, which :meth:`find` did not find, are damaged."""
        wanted = set(keys)
        return sum(len(wanted & {seal["key"] for seal in seals}) or not seals for seals in self._unsound.values())

    def clear(self) -> None:
        """Takes away the damaged batches that :meth:`find` met, when their runs have been made again and are in others.

        A damaged run that is alone is replaced by the next that is put in its place.
        """
        for name, seals in self._unsound.items():
            # In a bucket, what has no checksum file may be what another process is just writing.
            if not is_alone(name) and (seals or self.local) and not self._is_there(name):
                self._files.clear(name)

    def check(self, seals: Iterable[Seal], name: str | None = None) -> list[str]:
        """What is wrong with the files of these runs, or with those of one table: one sentence a file."""
        wanted = dict.fromkeys(
            part for seal in seals for part in _parts(seal) if name is None or part[0].endswith(f"/{name}.parquet")
        )
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            return [wrong for wrong in pool.map(self._wrong, wanted) if wrong]

    def _wrong(self, part: tuple[str, int, str]) -> str:
        path, _, digest = part
        data = self._files.read([path]).get(path)
        if data is not None and _sha256(data) == digest:
            return ""
        return f"{self.where}/{path}: {'the file is missing' if data is None else _OTHER_BYTES}"

    def _sound(self, seal: Seal) -> bool:
        """Every file of the batch is what was written."""
        parts = list(_parts(seal))
        data = self._files.read(name for name, _, _ in parts)
        return all(name in data and _sha256(data[name]) == digest for name, _, digest in parts)

    def put(self, runs: Iterable[Kept]) -> None:
        """Keeps runs. Those whose tables have the same columns share a batch, unless they have other files too."""
        alike: dict[object, list[Kept]] = {}
        for one in runs:
            shape = tuple((name, table.schema) for name, table in one.tables.items())
            alike.setdefault(one.key if one.others else shape, []).append(one)
        for batch in alike.values():
            self._put(batch)

    def _put(self, runs: Sequence[Kept]) -> None:
        keys = [one.key for one in runs]
        files = {f"{name}.parquet": parquet.write(keys, [one.tables[name] for one in runs]) for name in runs[0].tables}
        files |= runs[0].others
        listed = {name: {"bytes": len(data), "sha256": _sha256(data)} for name, data in files.items()}
        rows = ({name: len(table) for name, table in one.tables.items()} for one in runs)
        each = [{"key": one.key, **one.about, "rows": many} for one, many in zip(runs, rows, strict=True)]
        files[_SEAL] = with_checksum(f'{{\n "runs": {_lines(each)},\n "files": {json.dumps(listed, indent=1)}\n}}\n')
        batch = batch_name(keys)
        self._files.put(batch, files, lambda: self._is_there(batch))
        self._looked_at.add(batch)

    def _is_there(self, batch: str) -> bool:
        seals = self._read_seals([batch])[batch]
        return bool(seals) and self._sound(seals[0])

    def table(self, seal: Seal, name: str, columns: list[str] | None = None) -> pa.Table:
        """A table of a run, or some columns of it. Raises :class:`Damaged` if the file does not match the checksum file."""
        listed = seal["files"].get(f"{name}.parquet")
        if listed is None:
            have = tables_of([seal])
            raise InputError(f"{self.where}: table must be one of {', '.join(have)}, got `{name}`")
        at = (seal["batch"], name, None if columns is None else tuple(columns))
        whole = self._at_hand.get(at)
        if whole is None:
            path = f"runs/{seal['batch']}/{name}.parquet"
            data = self._ahead.get(path) or self._files.read([path]).get(path)
            if data is None or _sha256(data) != listed["sha256"]:
                raise Damaged(
                    f"{self.where}/{path}: {'the file is missing' if data is None else _OTHER_BYTES}; {AGAIN}"
                )
            whole = parquet.read(data, columns)
            if not is_alone(seal["batch"]):
                self._at_hand[at] = whole
                while len(self._at_hand) > _TABLES_AT_HAND:
                    self._at_hand.pop(next(iter(self._at_hand)), None)
        return parquet.of_run(whole, seal["rows"][name], columns)

    def read_ahead(self, seals: Iterable[Seal], name: str) -> None:
        """At a URL: fetches a table of several runs at once, for :meth:`table` to find. A directory needs no such thing."""
        if self.local:
            return
        paths = list(dict.fromkeys(f"runs/{seal['batch']}/{name}.parquet" for seal in seals))
        missing = [path for path in paths if path not in self._ahead]
        if paths and paths[0] not in missing:
            return
        self._ahead.update(self._files.read(missing))
        while len(self._ahead) > 1 and sum(map(len, self._ahead.values())) > _AHEAD_BYTES:
            del self._ahead[next(iter(self._ahead))]

    @property
    def filesystem(self) -> Any:
        """fsspec's file system of a URL."""
        assert isinstance(self._files, _Remote)
        return self._files.fs

    def file(self, seal: Seal, name: str) -> str:
        """The place of a file of a run's batch: a path, or a URL."""
        return f"{self.where}/runs/{seal['batch']}/{name}"


def tables_of(seals: Iterable[Seal]) -> list[str]:
    """The names of the tables of these runs, in order."""
    files = {file for seal in seals for file in seal["files"]}
    return sorted(file.removesuffix(".parquet") for file in files if file.endswith(".parquet"))


def _lines(value: Any) -> str:
    """JSON with one element of a list a line: quick to write, and a difference shows what changed."""
    if isinstance(value, list) and value:
        return "[\n " + ",\n ".join(map(json.dumps, value)) + "\n]"
    return json.dumps(value)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _parts(seal: Seal) -> Iterator[tuple[str, int, str]]:
    """Name below the store, size and SHA-256 of each file."""
    for name, one in seal["files"].items():
        yield f"runs/{seal['batch']}/{name}", one["bytes"], one["sha256"]
