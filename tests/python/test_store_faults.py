"""Histories of stores whose operations fail, are short or torn, and whose processes die: see `store_faults.py`.

`make hostile` runs more seeds: HALTERE_TEST_FAULTS says how many.
"""

from __future__ import annotations

import os

import pytest

from store_faults import Report, bucket_history, disk_history, workers_history

SEEDS = int(os.environ.get("HALTERE_TEST_FAULTS", "100"))


@pytest.mark.parametrize("history", [disk_history, workers_history, bucket_history])
def test_after_any_fault_the_store_is_as_before_or_complete_and_the_next_run_ends_well(history: object) -> None:
    report = Report()
    for seed in range(SEEDS):
        history(seed, report)  # type: ignore[operator]
    assert report.histories == SEEDS
    assert sum(report.seen.values()) > SEEDS / 4 and len(report.ended) > 1, (report.seen, report.ended)
