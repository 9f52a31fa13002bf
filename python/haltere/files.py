"""Files that are whole or not there."""

from __future__ import annotations

import os
import threading
from pathlib import Path

__all__ = ["scratch_name", "write_atomically"]


def scratch_name(path: Path) -> Path:
    """A hidden name beside ``path`` that no other process or thread uses."""
    return path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file so that a reader, or a crash, never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = scratch_name(path)
    try:
        scratch.write_text(text, encoding="utf-8", newline="\n")
        os.replace(scratch, path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
