"""What several tests share: a small experiment and the command line as a shell sees it."""

from __future__ import annotations

import atexit
import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from warm import Warm

ROOT = Path(__file__).resolve().parents[2]
# Tests import the tools that make documents and draw conditions.
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "validation")]

SMALL = """\
title = "Two flows over one bottleneck"
duration = "3s"
warmup = "1s"
seeds = 3

[topology.dumbbell]
pairs = 2
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "10Mbit", delay = "5ms", queue = { kind = "codel" } }

[[traffic]]
kind = "bulk"
pairs = "all"
congestion = ["cubic", "reno"]

[[traffic]]
name = "ping"
kind = "ping"
pairs = [1]
interval = "100ms"
"""

UPLOADS = """\
title = "Uploads"
duration = "6s"
seeds = 1

[topology.dumbbell]
pairs = 1
access = { rate = "100Mbit" }
bottleneck = { rate = "5Mbit", delay = "2ms", queue = { kind = "rafle" } }

[[traffic]]
kind = "ftp"
congestion = "cubic"
files = ["5kB", "60kB"]
tasks = 3
jitter = "0s"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A file with a small experiment, alone in a folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    path = folder / "small.toml"
    path.write_text(SMALL)
    return path


def command(*arguments: str) -> list[str]:
    """The command line that a user would type."""
    return [sys.executable, "-m", "haltere", *arguments]


_warm: list[Warm] = []


def haltere(*arguments: str | Path, cwd: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs `haltere ARGUMENTS` in `cwd`, as from a shell: in a process of its own, which need not load everything again."""
    words, env = list(map(str, arguments)), {**os.environ, "COLUMNS": "100"}
    if sys.platform == "linux":
        if not _warm:
            _warm.append(Warm())
            atexit.register(_warm[0].close)
        if _warm[0].fits:
            return _warm[0].run(words, cwd, env, timeout)
    return subprocess.run(command(*words), cwd=cwd, capture_output=True, text=True, timeout=timeout, env=env)


def listing(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def called(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The same in this process, without the time that Python and its packages take to load."""
    from haltere import cli

    out, err = io.StringIO(), io.StringIO()
    words = [*map(str, arguments)]
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["haltere", *words]):
        try:
            status = cli.main(words)
        except SystemExit as ended:  # --help
            status = int(ended.code or 0)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())
