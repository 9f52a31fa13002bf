"""A process that has read tables ends quietly: no thread of Arrow's outlives the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import haltere

#: As many exits as were tried when one in twenty aborted: 300. By default fewer.
EXITS = int(os.environ.get("HALTERE_TEST_EXITS", "40"))
# Each child reads tables and ends as an interpreter ends. Two at a time, so that threads come late.
SCRIPT = f"""
import os, sys
import haltere
import pandas, pyarrow.parquet  # once, not in each child

results = haltere.Results("out")
statuses, children = [], 0
while len(statuses) < {EXITS}:
    while children < 2 and children + len(statuses) < {EXITS}:
        if os.fork() == 0:
            for name in ("flow_series", "queue_series", "flows", "links"):
                results.table(name)
            sys.exit(0)
        children += 1
    statuses.append(os.waitstatus_to_exitcode(os.wait()[1]))
    children -= 1
print([status for status in statuses if status])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_exits_after_reading_tables_end_with_status_0(small: Path) -> None:
    haltere.load(small).run(seeds=1, out=small.parent / "out")
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=small.parent, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_tables_are_read_without_threads_of_arrow(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    asked: list[bool] = []
    real = pq.ParquetFile.read

    def read(self: pq.ParquetFile, *arguments: object, use_threads: bool = True, **more: object) -> object:
        asked.append(use_threads)
        return real(self, *arguments, use_threads=use_threads, **more)

    monkeypatch.setattr(pq.ParquetFile, "read", read)
    haltere.load(small).run(seeds=1).table("flows")
    assert asked and not any(asked)
