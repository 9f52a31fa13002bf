"""The study `mptcp-red` under other readings of what the paper leaves open: which findings depend on ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...analysis import stats
from ...api import Scenario
from ...report.document import Table
from ..base import Finding, Options, readings_table
from .detectors import Detector, detectors
from .findings import detector_findings, findings
from .sides import SCHEDULER, Side, sides

#: Readings by group: what each sets.
Groups = Mapping[str, Mapping[str, Mapping[str, Any]]]

_QUEUE = "topology.multipath.bottleneck"
_MAIN, _CROSS = "traffic[1].rate", "traffic[0].rate"
_ROWS = ("wifi", "cellular", "bottleneck", "others")
#: Jitter of the primary reading (main.toml).
_JITTER = "100us"


def jitter(of: str) -> dict[str, Any]:
    """That jitter on every link."""
    return {f"topology.multipath.{row}": {"jitter": of} for row in _ROWS}


def _wireless(rates: tuple[str, str, str], delays: tuple[str, str, str], every: str) -> dict[str, Any]:
    """A link that is well, bad for a second, and fair for a second, over and over."""
    steps = zip(("0s", "2s", "3s"), rates, delays, strict=True)
    return {
        "schedule": [{"at": at, "rate": rate, "delay": delay} for at, rate, delay in steps],
        "schedule_repeat": every,
        "jitter": _JITTER,
    }


def _bounded(main: int, cross: int) -> dict[str, Any]:
    return {_MAIN: f"{main}Mbit", _CROSS: f"{cross}Mbit", "traffic[0].packet": "1408B"}


def _red(**changes: Any) -> dict[str, Any]:
    return {"sweep": {SCHEDULER: ["redundant", {"kind": "red", **changes}]}}


_FIRST = "traffic[1].multipath.correlators[0]"

#: Rates of the stream and of a cross connection with a bound, in Mbit/s: one copy fits the bottleneck of 20 Mbit/s, two do not.
CROSS: dict[str, Mapping[str, Any]] = {
    "8, cross 5": _bounded(8, 5),
    "6, cross 8": _bounded(6, 8),
    "6, cross 10": _bounded(6, 10),
}
JITTERS: dict[str, Mapping[str, Any]] = {"no jitter": jitter("0s"), "50 us": jitter("50us"), "200 us": jitter("200us")}
#: What is set for each: the paper gives neither the stream nor the queues nor the cross connection's scheduler nor its hosts' noise.
READINGS: dict[str, dict[str, Mapping[str, Any]]] = {
    "rates in Mbit/s of the stream and of a bounded cross connection": CROSS,
    "jitter of a link, and the scheduler": {
        **JITTERS,
        "samples where there is room": {_FIRST: {"kind": "red_cpi", "sampling": "opportunity"}},
        "pairwise rule": _red(rule="pairwise"),
    },
    "traffic, queues and links": {
        "1 Mbit/s": {_MAIN: "1Mbit"},
        "12 Mbit/s": {_MAIN: "12Mbit"},
        "endless": {_MAIN: None},
        "100 packets": {_QUEUE: {"jitter": _JITTER, "queue": {"kind": "drop_tail", "limit": "100p"}}},
        "1 BDP": {_QUEUE: {"jitter": _JITTER, "queue": {"kind": "drop_tail", "limit": "1bdp"}}},
        "varying links": {
            "topology.multipath.wifi": _wireless(("150Mbit", "15Mbit", "60Mbit"), ("5ms", "15ms", "8ms"), "4s"),
            "topology.multipath.cellular": _wireless(("100Mbit", "10Mbit", "40Mbit"), ("15ms", "45ms", "25ms"), "5s"),
        },
        "cross by round robin": {"traffic[0].multipath": {"scheduler": "round_robin"}},
    },
}

SEEDS = 10


@dataclass
class Found:
    """What came out under the other readings."""

    #: The findings by group of readings.
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    #: The runs of each reading by scheduler, and what the detectors said in them.
    sides: dict[str, dict[str, Side]] = field(default_factory=dict)
    detectors: dict[str, list[Detector]] = field(default_factory=dict)


def find(scenario: Scenario, groups: Groups, seeds: int, options: Options) -> Found:
    """Runs every reading."""
    found = Found()
    for group, each in groups.items():
        for name, changes in each.items():
            changed = scenario.with_values(changes)
            results = options.run([changed], seeds=seeds, part="readings")
            found.sides[name], found.detectors[name] = sides(results), detectors(results)
            here = [*detector_findings(found.detectors[name], name), *findings(found.sides[name], name)]
            found.findings.setdefault(group, []).extend(here)
    return found


def verdict_tables(primary: Sequence[Finding], by_group: Mapping[str, list[Finding]], seeds: int) -> list[Table]:
    """A table of verdicts for each group of readings."""
    out = []
    for number, (group, found) in enumerate(by_group.items(), 1):
        tested = {one.text for one in found}
        table = readings_table([one for one in primary if one.text in tested] + found)
        note = f"{seeds} seeds for each reading but the primary one. {table.note}"
        out.append(replace(table, name=f"readings-{number}", title=f"Verdicts: {group}", note=note))
    return out


def cross_table(primary: dict[str, Side], others: Mapping[str, dict[str, Side]], seeds: int) -> Table:
    """The largest delays of B and C under both schedulers with cross connections of several rates."""
    rows = []
    for name, of in {"4, cross endless (primary)": primary, **others}.items():
        cells = []
        for path in (1, 2):
            for scheduler in ("redundant", "red"):
                cells.append(f"{np.mean(of[scheduler].of('max_srtt_ms', path)):.0f}")
            both = [of[scheduler].of("max_srtt_ms", path) for scheduler in ("redundant", "red")]
            cells.append(stats.paired_difference(both[1], both[0]).format(1))
        rows.append([name, *cells])
    columns = ["Mbit/s of the stream"]
    columns += [f"{path}: {what}" for path in "BC" for what in ("redundant", "RED", "difference")]
    note = f"Largest smoothed RTT of a run in ms; {seeds} seeds for each but the primary reading."
    return Table("cross", "The largest delay of B and C with a bounded cross connection", columns, rows, note, left=1)
