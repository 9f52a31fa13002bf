"""The study `mptcp-red` under other readings of what the paper leaves open: which findings depend on ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...analysis import stats
from ...api import Scenario
from ...report.document import Table
from ..base import Finding, Options, expected, readings_table
from .detectors import Detector, detectors
from .findings import detector_findings, findings
from .sides import Side, sides

Groups = Mapping[str, Mapping[str, Mapping[str, Any]]]
#: Readings by group: what each sets.
READINGS: Groups = {
    group: {name: {key: None if value == "none" else value for key, value in of.items()} for name, of in each.items()}
    for group, each in expected("mptcp-red")["readings"].items()
}
#: Those with a bounded cross connection, and those with another jitter.
CROSS, JITTERS = (list(READINGS[group])[:3] for group in list(READINGS)[:2])
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
