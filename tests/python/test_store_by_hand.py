"""The store and its files by hand: locks, scratch, what a call leaves behind, and what is read back."""

from __future__ import annotations

import errno
import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from haltere import HaltereError, InputError
from haltere.runs import files
from haltere.runs import store as module
from haltere.runs.files import (
    Disk,
    Held,
    NotAFile,
    TooLarge,
    disk,
    is_own,
    is_scratch,
    left_behind,
    read_regular,
    scratch_name,
    use_disk,
    write_atomically,
)
from haltere.runs.records import Kept
from haltere.runs.store import Damaged, Store, is_url, tables_of

needs_locks = pytest.mark.skipif(files.fcntl is None, reason="needs flock")


@pytest.fixture
def instead() -> Iterator[Callable[[Disk], Disk]]:
    """Puts another disk under the store until the test ends."""
    before = disk()
    yield use_disk
    use_disk(before)


def left(scratch: Path) -> bool:
    with left_behind(scratch) as free:
        return free


# -- files ----------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"12345")
    assert read_regular(file) == read_regular(file, 5) == b"12345" and read_regular(file, 6) == b"12345"
    with pytest.raises(TooLarge, match="x: must be at most 4 bytes"):
        read_regular(file, 4)
    with pytest.raises(IsADirectoryError, match="must be a file, got a directory"):
        read_regular(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_what_is_no_regular_file_is_not_kept_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(NotAFile, match="pipe: must be a regular file"):
            read_regular(tmp_path / "pipe")
        with pytest.raises(IsADirectoryError):
            read_regular(tmp_path)
        disk().sync(write(tmp_path / "x"))
        assert left(write(scratch_name(tmp_path / "y")))
    assert len(os.listdir("/proc/self/fd")) == before


def write(path: Path) -> Path:
    path.write_bytes(b"1")
    return path


def test_a_file_is_written_whole_in_utf_8_and_nothing_else_stays(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "b" / "x", "µ")
    write_atomically(tmp_path / "a" / "b" / "x", "µs")
    (file,) = (tmp_path / "a" / "b").iterdir()
    assert file.read_bytes() == b"\xc2\xb5s"


@pytest.mark.parametrize("step", ["write", "sync", "rename"])
def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, instead: Any, step: str) -> None:
    class Full(Disk):
        pass

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, step)

    setattr(Full, step, fails)
    write_atomically(tmp_path / "x", "old")
    instead(Full())
    with pytest.raises(OSError, match=step):
        write_atomically(tmp_path / "x", "new")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("x", "old")]
    Full.remove = lambda *_: fails("", "")  # type: ignore[method-assign, assignment]
    with pytest.raises(OSError, match=step):
        write_atomically(tmp_path / "x", "new")


def test_a_file_system_that_cannot_sync_is_not_an_error_and_any_other_failure_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, fine in ((errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)):

        def fsync(_: int, number: int = number) -> None:
            raise OSError(number, "no sync")

        monkeypatch.setattr(os, "fsync", fsync)
        if fine:
            disk().sync(write(tmp_path / "x"))
        else:
            with pytest.raises(OSError, match="no sync"):
                disk().sync(tmp_path / "x")


def test_what_is_removed_is_gone_and_what_a_link_names_stays(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    write(there / "x")
    (tmp_path / "link").symlink_to(there)
    for name in ("link", "missing"):
        disk().remove(tmp_path / name)
    assert (there / "x").exists() and not os.path.lexists(tmp_path / "link")
    disk().remove(there)
    assert list(tmp_path.iterdir()) == []


def test_the_disk_of_before_is_given_back() -> None:
    before, other = disk(), Disk()
    assert use_disk(other) is before and disk() is other and use_disk(before) is other


def test_the_name_of_scratch_says_whose_it_is(tmp_path: Path) -> None:
    scratch = scratch_name(tmp_path / "runs" / "k")
    assert scratch.parent == tmp_path / "runs" and is_scratch(scratch) and is_own(scratch)
    process = scratch.name.split(".")[-3]
    assert process.split("-")[0] == f"{os.getpid():x}"
    assert not is_own(scratch.with_name(scratch.name.replace(process, "1-0123456789ab")))
    for name in ("k.host.1.2.tmp", ".k.host.1.2.part", ".host.1.2.tmp", ".tmp"):
        assert not is_scratch(tmp_path / name), name


@needs_locks
def test_scratch_is_left_behind_once_its_lock_is_gone(tmp_path: Path) -> None:
    for folder in (True, False):
        held = Held(scratch_name(tmp_path / "x"), folder=folder)
        assert held.scratch.is_dir() == folder and not left(held.scratch)
        held.close()
        held.close()
        assert left(held.scratch)
        disk().remove(held.scratch)
        assert not left(held.scratch), "it has gone"
    assert not left(write(tmp_path / ".other.tmp")), "it is not ours"


@needs_locks
@pytest.mark.parametrize(("host", "hours", "free"), [("", 0, True), ("", 25, True), ("far", 0, False), ("far", 23.9, False), ("far", 24.1, True)])  # fmt: skip
def test_what_another_machine_made_must_be_a_day_old(tmp_path: Path, host: str, hours: float, free: bool) -> None:
    scratch = scratch_name(tmp_path / "x")
    if host:
        parts = scratch.name.split(".")
        scratch = scratch.with_name(".".join([*parts[:-4], host, *parts[-3:]]))
    write(scratch)
    then = time.time() - 3600 * hours
    os.utime(scratch, (then, then))
    assert left(scratch) is free


@needs_locks
def test_scratch_that_is_tidied_before_its_lock_is_held_is_made_again(tmp_path: Path, instead: Any) -> None:
    scratch = scratch_name(tmp_path / "x")

    class Tidied(Disk):
        todo: list[str] = ["open", "lock", "lock and make"]  # noqa: RUF012

        def open(self, path: Path, flags: int) -> int:
            if self.todo[:1] == ["open"]:
                self.todo.pop(0)
                path.rmdir()
            return super().open(path, flags)

        def lock(self, opened: int, operation: int) -> None:
            if self.todo:
                what = self.todo.pop(0)
                scratch.rename(tmp_path / what)
                if what == "lock and make":
                    scratch.mkdir()
            super().lock(opened, operation)

    instead(Tidied())
    held = Held(scratch, folder=True)
    assert Tidied.todo == [] and scratch.is_dir() and not left(scratch)
    assert {one.name for one in tmp_path.iterdir()} == {scratch.name, "lock", "lock and make"}
    held.close()


@needs_locks
def test_a_file_system_without_locks_leaves_what_may_be_at_work(tmp_path: Path, instead: Any) -> None:
    class Lockless(Disk):
        def lock(self, opened: int, operation: int) -> None:
            raise OSError(errno.ENOLCK, "no locks")

    instead(Lockless())
    held = Held(scratch_name(tmp_path / "x"), folder=True)
    assert not left(held.scratch)
    held.close()
    assert not left(held.scratch)


# -- the store ------------------------------------------------------------------------------------------------------------

ABOUT = {"seed": 1, "digest": "0" * 64, "wall_s": 0.0, "build": "b"}
TABLES = {"flows": {"x": [1, 2], "y": [3, 4]}, "links": {"z": [5]}}


def put(store: Store, *keys: str, others: Mapping[str, bytes] | None = None) -> None:
    for key in keys:
        store.put([Kept(key, {name: pa.table(table) for name, table in TABLES.items()}, ABOUT, others or {})])


def test_a_run_is_found_with_all_its_files_or_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    keys = [f"k{i}" for i in range(20)]
    put(store, *keys, others={"left.pcapng": b"1234"})
    assert list(store.find([*keys, "k3", "none"])) == keys and store.find([]) == {}
    assert sorted(store.find(keys)["k0"]["files"]) == ["flows.parquet", "left.pcapng", "links.parquet"]
    (tmp_path / "runs" / "k1" / "left.pcapng").write_bytes(b"1235")
    (tmp_path / "runs" / "k2" / "left.pcapng").write_bytes(b"12345")
    (tmp_path / "runs" / "k3" / "left.pcapng").unlink()
    (tmp_path / "runs" / "k4" / "run.json").write_text("{}")
    (tmp_path / "runs" / "k5" / "more").write_text("not listed")
    # Of one run, of some, and of so many that threads read them.
    for some in (keys, keys[:6], *([key] for key in keys)):
        assert set(store.find(some)) == set(some) - {"k1", "k2", "k3", "k4"}
        assert set(store.find(some, verify=False)) == set(some) - {"k2", "k3", "k4"}
    assert set(store.seals(keys)) == set(keys) - {"k4"}
    store.find(["k1", "k4", "none"])
    assert store.damaged(["k1", "k4", "none"]) == 2
    wrong = store.check(store.seals(keys).values())
    other = "its contents are not what was written"
    assert wrong == [f"{tmp_path}/runs/{key}/left.pcapng: {what}" for key, what in (("k1", other), ("k2", other), ("k3", "the file is missing"))]  # fmt: skip
    assert store.check(store.seals(keys).values(), "flows") == []


def test_a_table_is_read_with_the_columns_that_it_has(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put(store, "k")
    seal = store.find(["k"])["k"]
    assert store.table(seal, "flows").to_pydict() == TABLES["flows"]
    assert store.table(seal, "flows", ["y", "w"]).to_pydict() == {"y": [3, 4]}
    assert store.table(seal, "flows", []).num_columns == 0
    assert tables_of([seal, {**seal, "files": {"a.qlog": {}, "b.parquet": {}}}]) == ["b", "flows", "links"]
    with pytest.raises(InputError, match=f"^{tmp_path}: table must be one of flows, links, got `x`"):
        store.table(seal, "x")
    Path(store.file(seal, "links.parquet")).unlink()
    with pytest.raises(Damaged, match=r"runs/k/links\.parquet: the file is missing; run the experiment again"):
        store.table(seal, "links")


SERIES = {"at_ns": [1, 1, 2, 2, 3], "flow": ["b", "a", "b", "a", "b"], "x": [10, 20, 11, 21, 12]}
MIXED = {"at_ns": [2, 1], "flow": ["a", "b"], "x": [1, 2]}


def kept(key: str, **tables: Any) -> Kept:
    return Kept(key, {name: pa.table(table) for name, table in tables.items()}, ABOUT)


@pytest.mark.parametrize("series", [[SERIES, SERIES], [SERIES, MIXED], [MIXED, {name: [] for name in SERIES}]])
def test_runs_of_a_batch_have_their_own_rows_in_their_own_order(tmp_path: Path, series: list[dict[str, Any]]) -> None:
    store = Store(tmp_path)
    schema = pa.schema({"at_ns": pa.uint64(), "flow": pa.dictionary(pa.int32(), pa.string()), "x": pa.int64()})
    store.put(Kept(f"k{i}", {"s": pa.table(one, schema)}, ABOUT) for i, one in enumerate(series))
    (batch,) = (tmp_path / "runs").iterdir()
    assert batch.name.startswith("many-")
    seals = store.find(["k0", "k1", "k2"])
    assert list(seals) == ["k0", "k1"]
    for seal, one in zip(seals.values(), series, strict=True):
        assert store.table(seal, "s").to_pydict() == one and store.table(seal, "s").schema.equals(schema)
        assert store.table(seal, "s", ["x"]).to_pydict() == {"x": one["x"]}


def test_runs_of_other_columns_or_with_files_of_their_own_have_a_batch_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    capture = {"left.pcapng": b"1"}
    alone = Kept("k2", {"s": pa.table({"x": [1]})}, ABOUT, capture)
    store.put([kept("k0", s={"x": [1]}), kept("k1", s={"y": [1]}), alone, kept("k3", s={"x": [2]})])
    assert {seal["batch"][:5] for seal in store.find(["k0", "k3"]).values()} == {"many-"}
    assert store.table(store.find(["k3"])["k3"], "s").to_pydict() == {"x": [2]}
    assert {one.name for one in (tmp_path / "runs").iterdir() if one.name[:5] != "many-"} == {"k1", "k2"}


@pytest.mark.parametrize("name", ["run.json", "s.parquet"])
def test_a_damaged_batch_is_no_run_and_makes_way(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path)
    store.put([kept("k0", s={"x": [1]}), kept("k1", s={"x": [2]})])
    put(store, "k2")
    (batch,) = (tmp_path / "runs").glob("many-*")
    (batch / name).write_bytes(b"")
    assert set(store.find(["k0", "k1", "k2"])) == {"k2"} and Store(tmp_path).seen("k2")
    assert store.damaged(["k0", "k1"]) == (1 if name == "run.json" else 2)
    store.put([kept("k0", s={"x": [1]})])
    assert (
        set(store.find(["k0", "k2"])) == {"k0", "k2"}
        and store.table(store.find(["k0"])["k0"], "s")["x"][0].as_py() == 1
    )
    store.clear()
    assert {one.name for one in (tmp_path / "runs").iterdir()} == {"k0", "k2"}


def test_a_batch_that_was_read_wrongly_once_stays(tmp_path: Path, instead: Any) -> None:
    class Short(Disk):
        def read(self, path: Path) -> bytes:
            return super().read(path)[: 9 if path.suffix == ".parquet" else None]

    store = Store(tmp_path)
    store.put([kept("k0", s={"x": [1]}), kept("k1", s={"x": [2]})])
    before = use_disk(Short())
    assert store.find(["k0"]) == {} and store.damaged(["k0"]) == 1
    instead(before)
    store.clear()
    assert set(store.find(["k0", "k1"])) == {"k0", "k1"}


def test_a_manifest_has_a_line_for_each_element(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.malformed_manifest() == ""
    with pytest.raises(InputError, match=f"^{tmp_path}: must be a results directory, got no manifest.json in it"):
        store.manifest()
    store.write_manifest({"format": 3, "a": [1, {"b": 2}], "c": [], "d": "x"})
    good = (tmp_path / "manifest.json").read_text()
    assert good.partition(", ")[2] == '\n"format": 3,\n"a": [\n 1,\n {"b": 2}\n],\n"c": [],\n"d": "x"\n}\n'
    assert store.manifest() == {"format": 3, "a": [1, {"b": 2}], "c": [], "d": "x"} and store.malformed_manifest() == ""
    store.write_manifest({"format": 2})
    assert "in format 3, got format 2 of another version" in store.malformed_manifest()
    got = "one whose contents are not what was written"
    for text in ("[", "[1]", "[" * 100_000, good + "\n", good.replace('"x"', '"y"')):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(InputError) as error:
            store.manifest()
        assert f"must be one that haltere wrote, got {got}" in str(error.value) and len(str(error.value)) < 400
        assert store.malformed_manifest() == str(error.value)


def test_results_go_where_nothing_else_is(tmp_path: Path) -> None:
    place = tmp_path / "out"
    Store(place).check_place()
    Store(place / "below" / "it").check_place()
    place.mkdir()
    Store(place).check_place()
    write(scratch_name(place / "manifest.json"))
    Store(place).check_place()
    write(place / "mine.txt")
    with pytest.raises(InputError, match="must be empty or hold results of haltere; choose another with --out"):
        Store(place).check_place()
    write(place / "manifest.json")
    Store(place).check_place()
    (place / "manifest.json").unlink()
    (place / "runs").mkdir()
    Store(place).check_place()
    (place / "manifest.json").mkdir()
    with pytest.raises(InputError, match=r"manifest\.json must be a file, got a directory"):
        Store(place).check_place()
    (place / "runs").rmdir()
    write(place / "runs")
    with pytest.raises(InputError, match="must hold a directory `runs`, got a file of that name"):
        Store(place).check_place()
    with pytest.raises(InputError, match=r"mine\.txt: results directory must be a directory, got a file"):
        Store(place / "mine.txt").check_place()
    with pytest.raises(InputError, match=r"must be writable, got `.*mine\.txt`, which is not a directory to write in"):
        Store(place / "mine.txt" / "below").check_place()


def test_a_draft_that_is_not_put_is_removed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(KeyError), store.at_work():
        assert list((tmp_path / "runs").iterdir()) and not store.tidy()
        raise KeyError
    assert list((tmp_path / "runs").iterdir()) == []


def test_scratch_of_a_live_process_is_reported_and_that_of_a_dead_one_removed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put(store, "k")
    mine = scratch_name(tmp_path / "runs" / "l")
    other = mine.with_name(mine.name.replace(mine.name.split(".")[-3], "1-0123456789ab"))
    held = Held(other, folder=True)
    write(scratch_name(tmp_path / "manifest.json"))
    assert store.tidy() and other.exists() and not [one for one in tmp_path.iterdir() if one.name[0] == "."]
    held.close()
    assert not store.tidy() and not other.exists() and set(store.find(["k"])) == {"k"}


def test_the_first_sound_run_stays_and_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    store, run = Store(tmp_path), tmp_path / "runs" / "k"
    put(store, "k")
    before = (run / "run.json").stat().st_ino
    put(store, "k")
    assert (run / "run.json").stat().st_ino == before
    (run / "flows.parquet").write_bytes(b"")
    put(store, "k")
    assert (run / "run.json").stat().st_ino != before and set(store.find(["k"])) == {"k"}
    assert [one.name for one in (tmp_path / "runs").iterdir()] == ["k"]


@pytest.mark.parametrize(("failures", "kept"), [(4, True), (5, False)])
def test_a_run_is_moved_to_its_place_in_five_tries(tmp_path: Path, instead: Any, failures: int, kept: bool) -> None:
    class Busy(Disk):
        count = 0

        def rename(self, old: Path, new: Path) -> None:
            self.count += 1
            if self.count <= failures:
                raise OSError(errno.EBUSY, "busy")
            super().rename(old, new)

    instead(Busy())
    if kept:
        put(Store(tmp_path), "k")
    else:
        with pytest.raises(OSError, match="busy"):
            put(Store(tmp_path), "k")
    assert [one.name for one in (tmp_path / "runs").iterdir()] == ["k"] * kept


def test_a_place_that_others_damage_each_time_is_an_error(tmp_path: Path, instead: Any) -> None:
    class Harmful(Disk):
        def rename(self, old: Path, new: Path) -> None:
            if new.name == "k":
                new.mkdir(exist_ok=True)
                write(new / "x")
            super().rename(old, new)

    instead(Harmful())
    with pytest.raises(HaltereError, match="k: the run was not kept: 5 times a damaged run came in its place"):
        put(Store(tmp_path), "k")


def test_a_store_is_the_same_in_another_process_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    near, far = Store("out"), Store("memory://a/b/")
    assert (near.where, near.local, near.folder) == ("out", True, Path("out"))
    assert (far.where, far.local, far.folder) == ("memory://a/b", False, Path("results/b"))
    assert pickle.loads(pickle.dumps(near)).where == str(tmp_path / "out")
    assert pickle.loads(pickle.dumps(far)).where == "memory://a/b"
    write(tmp_path / "memory:")
    far.check_place()
    assert is_url("s3://x") and not is_url(Path("a:/b"))
    assert far.file({"batch": "k"}, "x") == "memory://a/b/runs/k/x" and near.file({"batch": "k"}, "x") == "out/runs/k/x"


# -- an object store ------------------------------------------------------------------------------------------------------


@pytest.fixture
def remote(tmp_path: Path) -> Store:
    """An object store in memory, which all tests of a process share, with a place of its own."""
    pytest.importorskip("fsspec")
    return Store(f"memory://{tmp_path.name}/{time.time_ns()}")


class Watched:
    """A file system that writes down what it is asked."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.asked = inner, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        def ask(*arguments: Any, **more: Any) -> Any:
            self.asked.append((name, arguments))
            return getattr(self.inner, name)(*arguments, **more)

        return ask

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def watched(store: Store) -> Watched:
    assert isinstance(store._files, module._Remote)
    store._files.fs = Watched(store._files.fs)
    return store._files.fs  # type: ignore[no-any-return]


def test_the_checksum_file_is_put_last_and_a_sound_run_is_not_put_again(remote: Store) -> None:
    fs = watched(remote)
    put(remote, "k", "l")
    puts = [arguments for name, arguments in fs.asked if name in ("pipe", "pipe_file")]
    assert [isinstance(one[0], dict) for one in puts] == [True, False] * 2
    assert puts[1][0].endswith("/runs/k/run.json") and not any("run.json" in path for path in puts[0][0])
    fs.asked.clear()
    put(remote, "k")
    assert "pipe" not in fs.names() and "pipe_file" not in fs.names()
    assert not remote.tidy()
    fs.pipe_file(f"{remote._files.root}/runs/k/links.parquet", b"PAR1")  # type: ignore[attr-defined]
    assert set(remote.find(["k", "l", "m"])) == {"l"} == set(remote.find(["k", "l"], verify=True))
    assert set(remote.find(["k"])) == set() and remote.damaged(["k", "m"]) == 1
    put(remote, "k")
    assert set(remote.find(["k", "l"], verify=True)) == {"k", "l"}


def test_damage_of_the_same_length_is_found_if_it_is_looked_for(remote: Store) -> None:
    put(remote, "k")
    path = f"{remote._files.root}/runs/k/links.parquet"  # type: ignore[attr-defined]
    data = remote.filesystem.cat_file(path)
    remote.filesystem.pipe_file(path, data[:-1] + b"0")
    assert set(remote.find(["k"])) == {"k"} and remote.find(["k"], verify=True) == {}


def test_tables_are_fetched_together_and_kept_up_to_a_size(remote: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(remote, "k", "l", "m")
    seals = list(remote.seals(["k", "l", "m"]).values())
    fs = watched(remote)
    remote.read_ahead(seals, "flows")
    remote.read_ahead(seals[:1], "flows")
    remote.read_ahead([], "flows")
    assert fs.names() == ["cat"] and len(remote._ahead) == 3
    assert remote.table(seals[1], "flows").to_pydict() == TABLES["flows"] and fs.names() == ["cat"]
    assert remote.table(seals[1], "links").to_pydict() == TABLES["links"] and fs.names() == ["cat", "cat"]
    size = seals[0]["files"]["links.parquet"]["bytes"]
    monkeypatch.setattr(module, "_AHEAD_BYTES", 2 * size)
    remote.read_ahead(seals, "links")
    assert list(remote._ahead) == [f"runs/{key}/links.parquet" for key in "lm"]
    monkeypatch.setattr(module, "_AHEAD_BYTES", 1)
    remote.read_ahead(seals, "links")
    assert len(remote._ahead) == 1, "the last one stays"


def test_whatever_an_object_store_raises_is_one_line_with_its_url(remote: Store) -> None:
    class Down:
        def __getattr__(self, name: str) -> Any:
            def ask(*_: Any, **__: Any) -> Any:
                raise RuntimeError("" if name == "invalidate_cache" else "no\n  answer")

            return ask

    remote._files.fs = Down()  # type: ignore[attr-defined]
    for ask, got in (
        (lambda: remote.manifest(), "no answer"),
        (lambda: remote.write_manifest({}), "no answer"),
        (lambda: remote.find(["k"]), "RuntimeError"),
        (lambda: put(remote, "k"), "no answer"),
    ):
        with pytest.raises(module.Unreachable) as error:
            ask()
        assert str(error.value) == f"{remote.where}: the store must be reachable and writable, got `{got}`"


def test_a_missing_object_is_none_and_one_that_is_refused_is_an_error(remote: Store) -> None:
    class Refusing(Watched):
        def cat(self, paths: list[str], on_error: str) -> dict[str, Any]:
            assert on_error == "return"
            return {path: self.answer for path in paths}

    put(remote, "k")
    fs = Refusing(remote.filesystem)
    remote._files.fs = fs  # type: ignore[attr-defined]
    for answer in (FileNotFoundError("x"), NotADirectoryError("x")):
        fs.answer = answer  # type: ignore[attr-defined]
        assert remote.seals(["k"]) == {}
    fs.answer = PermissionError("not yours")  # type: ignore[attr-defined]
    with pytest.raises(module.Unreachable, match="got `not yours`"):
        remote.seals(["k"])
