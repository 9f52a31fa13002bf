"""A process that has read tables ends quietly: no thread of Arrow's outlives the interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import haltere

EXITS = 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_sixty_exits_after_reading_tables_end_with_status_0(small: Path) -> None:
    haltere.load(small).run(seeds=1, out=small.parent / "out")
    # Each child is a new interpreter that reads tables and ends at once; several at a time, so that threads are late.
    script = "import haltere; r = haltere.Results('out'); r.table('flow_series'); r.table('queue_series'); r.table('flows')"
    statuses: list[int] = []
    for _ in range(EXITS // 6):
        children = [
            os.posix_spawn(
                sys.executable,
                [sys.executable, "-c", f"import os; os.chdir({str(small.parent)!r}); {script}"],
                {**os.environ},
            )
            for _ in range(6)
        ]
        statuses += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert statuses == [0] * EXITS


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
