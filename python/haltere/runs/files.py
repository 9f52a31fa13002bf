"""Files that are whole or not there."""

from __future__ import annotations

import os
import re
import socket
import stat
import threading
import time
from functools import cache
from pathlib import Path

__all__ = ["NotAFile", "TooLarge", "in_use", "read_regular", "scratch_name", "write_atomically"]

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


@cache
def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname()) or "host"


def scratch_name(path: Path) -> Path:
    """A hidden name beside ``path`` that no other process or thread uses; :func:`in_use` says whether its owner lives."""
    return path.with_name(f".{path.name}.{_host()}.{os.getpid()}.{threading.get_ident()}.tmp")


def in_use(scratch: Path) -> bool:
    """Whether the process that made this scratch still works on it."""
    parts = scratch.name.split(".")[-4:-2]
    if len(parts) < 2 or not parts[1].isdigit():
        return True  # none of ours
    if parts[0] == _host() and os.name == "posix":  # elsewhere the question would end the process
        return _alive(int(parts[1]))
    try:
        return time.time() - scratch.stat().st_mtime < _STALE_S
    except OSError:
        return False


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_atomically(path: Path, data: str | bytes) -> None:
    """Writes a file so that a reader, or a crash, never sees half of it. Text is UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = scratch_name(path)
    try:
        scratch.write_bytes(data.encode() if isinstance(data, str) else data)
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
