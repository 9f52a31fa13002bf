"""Which build of Haltere this is, and on what it runs."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core


@cache
def build_id() -> str:
    """Names this build of the simulator: its version and the digest of its machine code."""
    code = Path(str(_core.__file__)).read_bytes()
    return f"{_core.version}+{hashlib.sha256(code).hexdigest()[:12]}"


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def environment() -> dict[str, Any]:
    """What a results directory says of the programs that made it."""
    import pyarrow

    return {
        "haltere": _core.version,
        "build": build_id(),
        "git": _git_hash(),
        "python": sys.version.split()[0],
        "pyarrow": pyarrow.__version__,
        "platform": platform.platform(),
        "cores": usable_cores(),
    }


@cache
def _git_hash() -> str | None:
    """The commit of the source tree that this package runs from, ``+`` if it was changed; ``None`` for an installed one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "crates" / "haltere-units").is_dir():
        return None
    try:
        said = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()
