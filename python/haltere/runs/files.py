"""Files that are whole or not there."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from functools import cache
from pathlib import Path

__all__ = ["in_use", "scratch_name", "write_atomically"]

#: A scratch of another machine counts as left behind after this long.
_STALE_S = 24 * 3600.0


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
