"""The study `mptcp-red` under other readings of what the paper leaves open: which findings hang on ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...api import Scenario
from ...report.document import Table
from ...runs.results import Results
from ..base import Finding, Options

__all__ = ["READINGS", "compare"]

_QUEUE = "topology.multipath.bottleneck"
_RATE = "traffic[1].rate"


def _wireless(rates: tuple[str, str, str], delays: tuple[str, str, str], every: str) -> dict[str, Any]:
    """A link that is well, bad for a second, and fair for a second, over and over."""
    steps = zip(("0s", "2s", "3s"), rates, delays, strict=True)
    return {
        "schedule": [{"at": at, "rate": rate, "delay": delay} for at, rate, delay in steps],
        "schedule_repeat": every,
    }


READINGS: dict[str, Mapping[str, Any]] = {
    "stream of 1 Mbit/s": {_RATE: "1Mbit"},
    "stream of 12 Mbit/s": {_RATE: "12Mbit"},
    "endless stream": {_RATE: None},
    "queue of 100 packets": {_QUEUE: {"queue": {"kind": "drop_tail", "limit": "100p"}}},
    "queue of 1 BDP": {_QUEUE: {"queue": {"kind": "drop_tail", "limit": "1bdp"}}},
    "links that vary": {
        "topology.multipath.wifi": _wireless(("150Mbit", "15Mbit", "60Mbit"), ("5ms", "15ms", "8ms"), "4s"),
        "topology.multipath.cellular": _wireless(("100Mbit", "10Mbit", "40Mbit"), ("15ms", "45ms", "25ms"), "5s"),
    },
    "cross by round robin": {"traffic[0].multipath": {"scheduler": "round_robin"}},
}
"""What is set for each: the paper gives neither the stream nor the queues nor the cross connection's scheduler."""

SEEDS = 10


def compare(
    scenario: Scenario, base: list[Finding], options: Options, find: Callable[[Results], list[Finding]]
) -> Table:
    """The findings' verdicts under each reading, beside those of ours."""
    seeds = options.seeds if options.seeds is not None else SEEDS
    columns: dict[str, list[Finding]] = {"ours": base}
    for name, changes in READINGS.items():
        results = scenario.with_values(changes).run(
            seeds=seeds, jobs=options.jobs, out=options.out, quiet=options.quiet
        )
        columns[name] = find(results)
    rows = [[finding.text, *(found[i].verdict for found in columns.values())] for i, finding in enumerate(base)]
    note = f"{seeds} seeds for each reading but ours. What each sets stands in README.md."
    return Table("readings", "The findings under other readings", ["finding", *columns], rows, note, left=1)
