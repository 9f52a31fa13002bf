"""The stubs of the extension say what the extension has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_stubs_fit_the_extension(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "haltere._core", "--ignore-missing-stub"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={**os.environ, "MYPY_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
