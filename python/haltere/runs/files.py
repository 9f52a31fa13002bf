"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

#: A scratch of another machine counts as left behind after this long.
_STALE_S = 24 * 3600.0


class NotAFile(OSError):
    """It exists, and is not a regular file: a directory, a pipe, a device."""


class TooLarge(OSError):
    """A file is larger than what may be read."""


def read_regular(path: Path, most: int | None = None) -> bytes:
    """The bytes of a regular file of at most ``most`` bytes. Never waits for the other end of a pipe."""
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(opened).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path}: must be a file, got a directory")
        if not stat.S_ISREG(mode):
            raise NotAFile(f"{path}: must be a regular file")
    except BaseException:
        os.close(opened)
        raise
    with open(opened, "rb") as file:
        data = file.read() if most is None else file.read(most + 1)
    if most is not None and len(data) > most:
        raise TooLarge(f"{path}: must be at most {most} bytes")
    return data


class Disk:
    """All that the store asks of the system. A test puts one in its place that fails, tears what it writes, or ends the process."""

    def mkdir(self, path: Path) -> None:
        """Makes a folder and those above it; it may be there."""
        path.mkdir(parents=True, exist_ok=True)

    def open(self, path: Path, flags: int) -> int:
        """Opens a file or a folder in order to lock it."""
        return os.open(path, flags, 0o666)

    def close(self, opened: int) -> None:
        """Closes what :meth:`open` opened, and so gives its lock back."""
        os.close(opened)

    def lock(self, opened: int, operation: int) -> None:
        """``flock``: raises :class:`BlockingIOError` if another holds it."""
        assert fcntl is not None
        fcntl.flock(opened, operation)

    def read(self, path: Path) -> bytes:
        """The bytes of a regular file."""
        return read_regular(path)

    def write(self, path: Path, data: bytes) -> None:
        """Writes a file."""
        path.write_bytes(data)

    def sync(self, path: Path) -> None:
        """Returns when the bytes of a file are where a power cut leaves them."""
        opened = os.open(path, os.O_RDWR)
        try:
            os.fsync(opened)
        except OSError as error:
            if error.errno not in _NO_SYNC:
                raise
        finally:
            os.close(opened)

    def rename(self, old: Path, new: Path) -> None:
        """Moves a file or a folder. A file at the new place is replaced; a folder that is not empty is an error."""
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        """Removes a folder with all that is in it, or whatever else is there, as far as that can be done."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


#: A file system that cannot sync says so.
_NO_SYNC = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})
_disk = Disk()


def disk() -> Disk:
    """What this process asks the system through."""
    return _disk


def use_disk(other: Disk) -> Disk:
    """Puts another in its place; returns the one before."""
    global _disk
    before, _disk = _disk, other
    return before


@cache
def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname()) or "host"


@cache
def _token(pid: int) -> str:
    """Names this process. Its number would not: every container has a process 1."""
    return f"{pid:x}-{secrets.token_hex(6)}"


def scratch_name(path: Path) -> Path:
    """A hidden name beside ``path`` that no other process or thread uses."""
    return path.with_name(f".{path.name}.{_host()}.{_token(os.getpid())}.{threading.get_ident()}.tmp")


def is_scratch(path: Path) -> bool:
    """Whether this name is one of :func:`scratch_name`."""
    return path.name[0] == "." and path.suffix == ".tmp" and len(path.name.split(".")) >= 6


def is_own(scratch: Path) -> bool:
    """Whether a thread of this process made this scratch."""
    return f".{_token(os.getpid())}." in scratch.name


class Held:
    """A scratch file or folder that this process works on. It holds the kernel's lock on it, which ends with the process.

    So the owner of a lock lives, in whatever container it runs. A process number says nothing in another container.
    """

    def __init__(self, scratch: Path, *, folder: bool) -> None:
        self.scratch = scratch
        while True:
            if folder:
                _disk.mkdir(scratch)
            try:
                self._opened: int | None = _open(scratch, create=not folder)
            except FileNotFoundError:
                if not folder:
                    raise
                continue  # who tidies was between the two
            try:
                # Who tidies may have taken it for left behind, before the lock was held.
                if self._opened is None or (_lock(self._opened, shared=True) and _is_at(self._opened, scratch)):
                    return
            except BaseException:
                self.close()
                raise
            self.close()

    def close(self) -> None:
        """Gives the lock back."""
        if self._opened is not None:
            _disk.close(self._opened)
            self._opened = None


def _open(scratch: Path, *, create: bool) -> int | None:
    """``None``: this system locks no folders."""
    if fcntl is None:
        if create:
            scratch.touch()
        return None
    return _disk.open(scratch, os.O_RDWR | os.O_CREAT if create else os.O_RDONLY)


def _is_at(opened: int, path: Path) -> bool:
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return False
    mine = os.fstat(opened)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def _lock(opened: int, *, shared: bool) -> bool:
    """Waits for the lock if it is ``shared``; otherwise says whether nobody held it. A file system without locks gives it."""
    assert fcntl is not None
    try:
        _disk.lock(opened, fcntl.LOCK_SH if shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return shared
    return True


@contextmanager
def left_behind(scratch: Path) -> Iterator[bool]:
    """Whether the process that made this scratch works on it no longer. Inside, no process can begin to."""
    if not is_scratch(scratch):
        yield False
        return
    try:
        # Locks of a network's file system may be known on one machine alone, so what others made must be old too.
        fresh = time.time() - scratch.stat().st_mtime < _STALE_S
        elsewhere = scratch.name.split(".")[-4] != _host()
        opened = None if fcntl is None else _disk.open(scratch, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        yield False  # it has just gone, or is not ours to open
        return
    if opened is None:
        yield not fresh
        return
    try:
        yield _lock(opened, shared=False) and not (fresh and elsewhere)
    finally:
        _disk.close(opened)


def write_atomically(path: Path, data: str | bytes) -> None:
    """Writes a file so that a reader, or a crash, never sees half of it. Text is UTF-8."""
    _disk.mkdir(path.parent)
    content = data.encode() if isinstance(data, str) else data
    held = Held(scratch_name(path), folder=False)
    try:
        _disk.write(held.scratch, content)
        # Without this a power cut may leave the new name with nothing behind it, and the old file gone.
        _disk.sync(held.scratch)
        _disk.rename(held.scratch, path)
    except BaseException:
        with suppress(OSError):  # the failure that led here is the one to report
            _disk.remove(held.scratch)
        raise
    finally:
        held.close()
