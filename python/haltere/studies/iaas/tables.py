"""The tables of the study `iaas`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...analysis import stats
from ...report.document import Table
from .cells import CASES, LABELS, OTHER_DELAYS, READ_AT_MS, STUDIED, Cells, fair_mbit, relative
from .findings import NEAR, side


def _of(cells: Cells, cases: Sequence[str]) -> Cells:
    return {key: cell for key, cell in cells.items() if key[0] == READ_AT_MS and key[1] in cases}


def shares(cells: Cells, cases: Sequence[str], name: str = "shares") -> Table:
    """What a pair of each control has."""
    rows = []
    for (_, case, pairs), cell in _of(cells, cases).items():
        means = [stats.mean(cell.mbit[c]).format(1) for c in STUDIED]
        rows.append([CASES[case], str(pairs), f"{fair_mbit(pairs):.1f}", *means, stats.mean(cell.jain).format(3)])
    columns = ["case", "pairs", "fair share", *(LABELS[c] for c in STUDIED), "Jain's index"]
    return Table(name, "Mean throughput of a pair, by control (Mbit/s)", columns, rows)


def by_length(cells: Cells, seconds: float) -> Table:
    """Which way the controls lie in short runs and in long ones."""
    rows = []
    for (_, case, pairs), cell in _of(cells, list(CASES)).items():
        for label, early in (("1 to 9 s", True), (f"10 to {seconds:.0f} s", False)):
            values = {c: stats.mean(relative(cell, c, pairs, early)) for c in STUDIED}
            rows.append([CASES[case], str(pairs), label, *(values[c].format(2) for c in STUDIED), side(values["bbr"])])
    columns = ["case", "pairs", "part of the run", *(LABELS[c] for c in STUDIED), "BBR lies"]
    return Table("length", "Throughput over the fair share, by part of the run", columns, rows, left=3)


def by_round_trip(cells: Cells) -> Table:
    """BBR's throughput at other round-trip times."""
    rtts = sorted({key[0] for key in cells})
    rows = []
    for case in CASES:
        for pairs in sorted({key[2] for key in cells if key[1] == case}):
            found = [cells.get((rtt, case, pairs)) for rtt in rtts]
            if sum(cell is not None for cell in found) < 2:
                continue
            values = ["–" if c is None else stats.mean(relative(c, "bbr", pairs)).format(2) for c in found]
            jain = ["–" if c is None else f"{np.mean(c.jain):.2f}" for c in found]
            rows.append([CASES[case], str(pairs), *values, " / ".join(jain)])
    columns = ["case", "pairs", *(f"{rtt:g} ms" for rtt in rtts), "Jain's index"]
    note = f"1 ms: the study's runs. The {len(OTHER_DELAYS)} others: 20 s."
    return Table("round-trip-times", "BBR's throughput over the fair share, by round-trip time", columns, rows, note)


def by_segment(found: Mapping[tuple[str, bool, int], Sequence[Mapping[str, float]]]) -> Table:
    """Shares with RED below htb and with long segments, a stand-in for segmentation offload."""
    rows = []
    for (size, negotiated, pairs), runs in found.items():
        shown = [stats.mean([run[c] for run in runs]).format(2) for c in STUDIED]
        near = sum(all(abs(run[c] - 1) <= NEAR for c in STUDIED) for run in runs)
        rows.append([size, "yes" if negotiated else "no", str(pairs), *shown, f"{near} of {len(runs)}"])
    columns = ["segment", "ECN negotiated", "pairs", *(LABELS[c] for c in STUDIED), "runs with all four near"]
    note = "RED below htb, RTT 0.2 ms, runs of 10 s from the start, as iperf makes them. Parts of the fair share of what got through. Near: within a quarter."
    return Table("segments", "Long segments, a stand-in for segmentation offload", columns, rows, note)
