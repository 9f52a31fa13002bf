"""The store: where runs are kept, each of them whole or not at all.

manifest.json            what was asked for: scenarios, seeds, versions; and what was made: the digest of every run
measures.json            numbers that were read off the runs: see `analysis/facts.py`
runs/KEY/TABLE.parquet   the tables of one run
runs/KEY/*.pcapng, *.qlog  captures and what senders did, if the experiment asks for them
runs/KEY/run.json        its checksum file: the run's key and digest, and size and SHA-256 of every file beside it

Each of the three JSON files begins with the SHA-256 of its other bytes. So no byte of a store can change unnoticed.

A run is there when its checksum file is. In a directory a run is written to a hidden folder, which is renamed: that is atomic, and who
comes second finds the place taken. An object store (any URL that fsspec knows) renames nothing, but a single put is atomic: the
checksum file is put last. What a killed process, a full disk or a power cut leaves behind has no checksum file, or files that do not fit it, and is run again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HaltereError, InputError
from .files import Held, NotAFile, disk, is_own, is_scratch, left_behind, scratch_name, write_atomically
from .records import Seal, seal_of, with_checksum, without_checksum

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["AGAIN", "FORMAT", "Damaged", "Draft", "Seal", "Store", "is_url", "need", "tables_of"]

_SEAL, _MANIFEST = "run.json", "manifest.json"
#: The form of the store. Stores of another form are not read.
FORMAT = 2
_OTHER_BYTES = "its contents are not what was written"
#: What to do about a damaged run.
AGAIN = "run the experiment again (at a URL with --verify) to repeat this run"
#: How often a run is moved to its place before the call fails.
_ATTEMPTS = 5
_WORTH_COMPRESSING = 64 << 10
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


class Draft:
    """A run that is being made. Its hidden folder is locked, which shows other processes that this one works here."""

    def __init__(self, held: Held | None) -> None:
        self._held = held
        self.folder = held.scratch if held else None

    def close(self) -> None:
        """What was not put is of no use."""
        if self._held is not None:
            try:
                disk().remove(self._held.scratch)
            finally:
                self._held.close()


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

    def sizes(self, key: str | None) -> dict[str, int]:
        folders = [self.runs / key] if key else [one for one in self.runs.glob("*") if one.name[0] != "."]
        return {f"runs/{one.name}/{file.name}": file.lstat().st_size for one in folders for file in one.glob("*")}

    def begun(self, keys: Iterable[str]) -> set[str]:
        return {key for key in keys if os.path.lexists(self.runs / key)}

    def write(self, name: str, data: bytes) -> None:
        write_atomically(self.root / name, data)

    def draft(self, key: str) -> Draft:
        return Draft(Held(scratch_name(self.runs / key), folder=True))

    def put(self, draft: Draft, key: str, files: Mapping[str, bytes], sound: Callable[[], bool]) -> None:
        assert draft.folder is not None
        for name, data in files.items():
            disk().write(draft.folder / name, data)
        target = self.runs / key
        for attempt in range(_ATTEMPTS):
            try:
                disk().rename(draft.folder, target)
                return
            except OSError:
                if not os.path.lexists(target):
                    if attempt == _ATTEMPTS - 1:
                        raise
                    continue  # whoever was there has just left
            if sound():  # another process was first
                return
            self._clear(target)
        raise HaltereError(f"{target}: the run was not kept: {_ATTEMPTS} times a damaged run came in its place")

    @staticmethod
    def _clear(target: Path) -> None:
        aside = scratch_name(target.with_name(f"damaged.{target.name}"))
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

    def sizes(self, key: str | None) -> dict[str, int]:
        below = self._path(f"runs/{key}" if key else "runs")
        with self._told():
            self.fs.invalidate_cache()
            found = self.fs.find(below, detail=True)
        skip = len(self.root) + 1
        return {path[skip:]: int(one["size"]) for path, one in found.items()}

    def begun(self, keys: Iterable[str]) -> set[str]:
        there = {name.split("/")[1] for name in self.sizes(None)}
        return {key for key in keys if key in there}

    def write(self, name: str, data: bytes) -> None:
        with self._told():
            self.fs.pipe_file(self._path(name), data)

    def draft(self, key: str) -> Draft:
        return Draft(None)

    def put(self, draft: Draft, key: str, files: Mapping[str, bytes], sound: Callable[[], bool]) -> None:
        if sound():  # another process was first
            return
        with self._told():
            self.fs.pipe({self._path(f"runs/{key}/{name}"): data for name, data in files.items() if name != _SEAL})
            self.fs.pipe_file(self._path(f"runs/{key}/{_SEAL}"), files[_SEAL])

    def tidy(self) -> bool:
        return False


class Store:
    """Runs under one directory or URL. May be pickled: another process opens the same place."""

    def __init__(self, where: str | Path) -> None:
        #: The URL or the directory, as it was given.
        self.where = str(where).rstrip("/") if is_url(where) else str(Path(where))
        self._ahead: dict[str, bytes] = {}
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
        seals = self.seals(keys)
        if not seals:
            return {}
        if self.local if verify is None else verify:
            if len(seals) > 16:
                with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
                    sound = list(pool.map(self._sound, seals.values()))
            else:
                sound = [self._sound(seal) for seal in seals.values()]
        else:
            sizes = self._files.sizes(next(iter(seals)) if len(seals) == 1 else None)
            sound = [all(sizes.get(name) == size for name, size, _ in _parts(seal)) for seal in seals.values()]
        return {key: seal for (key, seal), good in zip(seals.items(), sound, strict=True) if good}

    def seals(self, keys: Iterable[str]) -> dict[str, Seal]:
        """The checksum files of those runs that have one, sound or not."""
        wanted = list(dict.fromkeys(keys))
        data = self._files.read(f"runs/{key}/{_SEAL}" for key in wanted)
        seals = {key: seal_of(data.get(f"runs/{key}/{_SEAL}"), key) for key in wanted}
        return {key: seal for key, seal in seals.items() if seal is not None}

    def damaged(self, keys: Iterable[str]) -> set[str]:
        """Of runs that :meth:`find` did not find: those of which there is something."""
        return self._files.begun(keys)

    def check(self, seals: Iterable[Seal], name: str | None = None) -> list[str]:
        """What is wrong with the files of these runs, or with those of one table: one sentence a file."""
        wanted = [
            part for seal in seals for part in _parts(seal) if name is None or part[0].endswith(f"/{name}.parquet")
        ]
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            return [wrong for wrong in pool.map(self._wrong, wanted) if wrong]

    def _wrong(self, part: tuple[str, int, str]) -> str:
        path, _, digest = part
        data = self._files.read([path]).get(path)
        if data is not None and _sha256(data) == digest:
            return ""
        return f"{self.where}/{path}: {'the file is missing' if data is None else _OTHER_BYTES}"

    def _sound(self, seal: Seal) -> bool:
        """Every file of the run is what was written."""
        parts = list(_parts(seal))
        data = self._files.read(name for name, _, _ in parts)
        return all(name in data and _sha256(data[name]) == digest for name, _, digest in parts)

    @contextmanager
    def draft(self, key: str) -> Iterator[Draft]:
        """A run that is being made, to be given to :meth:`put`; without that nothing of it stays."""
        draft = self._files.draft(key)
        try:
            yield draft
        finally:
            draft.close()

    def put(
        self,
        draft: Draft,
        key: str,
        tables: Mapping[str, Any],
        about: Mapping[str, Any],
        others: Mapping[str, bytes] | None = None,
    ) -> None:
        """Keeps a run: its tables (whatever ``pyarrow.table`` reads) and ``others`` of its files, and in its checksum file what is said ``about`` it."""
        files = {f"{name}.parquet": _parquet(table) for name, table in tables.items()} | dict(others or {})
        listed = {name: {"bytes": len(data), "sha256": _sha256(data)} for name, data in files.items()}
        files[_SEAL] = with_checksum(json.dumps({"key": key, **about, "files": listed}, indent=1) + "\n")
        self._files.put(draft, key, files, lambda: key in self.find([key], verify=True))

    def table(self, seal: Seal, name: str, columns: list[str] | None = None) -> pa.Table:
        """A table of a run, or some columns of it. Raises :class:`Damaged` if the file does not match the checksum file."""
        listed = seal["files"].get(f"{name}.parquet")
        if listed is None:
            have = tables_of([seal])
            raise InputError(f"{self.where}: table must be one of {', '.join(have)}, got `{name}`")
        path = f"runs/{seal['key']}/{name}.parquet"
        data = self._ahead.get(path) or self._files.read([path]).get(path)
        if data is None or _sha256(data) != listed["sha256"]:
            raise Damaged(f"{self.where}/{path}: {'the file is missing' if data is None else _OTHER_BYTES}; {AGAIN}")
        return _read_parquet(data, columns)

    def read_ahead(self, seals: Iterable[Seal], name: str) -> None:
        """At a URL: fetches a table of several runs at once, for :meth:`table` to find. A directory needs no such thing."""
        if self.local:
            return
        paths = [f"runs/{seal['key']}/{name}.parquet" for seal in seals]
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

    def path(self, key: str, name: str) -> str:
        """The place of the file of a table: a path, or a URL."""
        return self.file(key, f"{name}.parquet")

    def file(self, key: str, name: str) -> str:
        """The place of a file of a run: a path, or a URL."""
        return f"{self.where}/runs/{key}/{name}"


def tables_of(seals: Iterable[Seal]) -> list[str]:
    """The names of the tables of these runs, in order."""
    files = {file for seal in seals for file in seal["files"]}
    return sorted(file.removesuffix(".parquet") for file in files if file.endswith(".parquet"))


def _lines(value: Any) -> str:
    """JSON with one element of a list a line: quick to write, and a difference shows what changed."""
    if isinstance(value, list) and value:
        return "[\n " + ",\n ".join(map(json.dumps, value)) + "\n]"
    return json.dumps(value)


def _parquet(data: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, sink = pa.table(data), pa.BufferOutputStream()
    # A small table has nothing to gain, and setting up zstd for each of its columns takes longer than all the rest.
    pq.write_table(table, sink, compression="zstd" if table.nbytes > _WORTH_COMPRESSING else "none")
    return bytes(sink.getvalue())


def _read_parquet(data: bytes, columns: list[str] | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(data))
    some = None if columns is None else [c for c in columns if c in file.schema_arrow.names]
    # Without threads. A thread of Arrow's pool that gives a column's buffer back while the interpreter ends aborts the process.
    return file.read(columns=some, use_threads=False)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _parts(seal: Seal) -> Iterator[tuple[str, int, str]]:
    """Name below the store, size and SHA-256 of each file."""
    for name, one in seal["files"].items():
        yield f"runs/{seal['key']}/{name}", one["bytes"], one["sha256"]
