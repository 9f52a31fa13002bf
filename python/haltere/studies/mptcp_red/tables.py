"""The tables of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...analysis import stats
from ...report.document import Table
from .detectors import (
    METHODS,
    MSCM,
    PAIRS,
    RED_CPI,
    SBD,
    SHARED,
    VARIANTS,
    WITH_OTHER_JITTER,
    Detector,
    fewer_false,
    larger_area,
)
from .sides import NAMES, PATHS, Array, Side


def _quartiles(values: Array) -> list[str]:
    return [f"{np.percentile(values, q):.2f}" if len(values) else "–" for q in (25, 50, 75)]


def detector_table(detectors: Sequence[Detector]) -> Table:
    """Figures 6 and 7 in numbers."""
    rows = []
    for method in (RED_CPI, MSCM, SBD, 0):
        one = detectors[method]
        areas = one.areas()
        for pair, label in PAIRS.items():
            shares = [100 * float(v.mean()) for v in one.shares[pair] if len(v)]
            cell = stats.mean(areas).format(3) if pair == SHARED and areas else ""
            name = METHODS[method] if pair == (0, 1) else ""
            rows.append(
                [name, label, *_quartiles(one.all(pair)), stats.mean(shares).format(1) if shares else "–", cell]
            )
    columns = ["method", "pair", "25 %", "median", "75 %", "held to share (%)", "area under ROC"]
    note = (
        "B and C share a bottleneck; A shares none. RED-CPI and MSCM as the paper computes them: each new sample at a resolution of 100 us, "
        "a coefficient every 100 ms. SBD (RFC 8382) has no coefficient. RED-CPI of the scheduler: a sample a visit, every 2 s."
    )
    return Table("detectors", "Figures 6 and 7: coefficients and verdicts by pair", columns, rows, note, left=2)


def variant_table(primary: Sequence[Detector], others: Mapping[str, Sequence[Detector]]) -> Table:
    """RED-CPI beside MSCM with other resolutions and pairings, and some of them with other jitter."""
    rows = [["100 us", *cells] for cells in _variants(primary, VARIANTS)]
    for name, detectors in others.items():
        rows += [[name, *cells] for cells in _variants(detectors, WITH_OTHER_JITTER)]
    columns = ["jitter", "method", "beside", "area", "area of MSCM", "difference", "fewer / more"]
    note = (
        "RED-CPI and MSCM without further words: each new sample at 100 us, MSCM aligned in time. The last column counts, of the 16 phis from "
        "0.05 to 0.8, those at which RED-CPI has fewer / more false positives."
    )
    return Table("variants", "Detectors of other resolutions, samplings and pairings", columns, rows, note, left=3)


def _variants(detectors: Sequence[Detector], variants: Sequence[tuple[int, int]]) -> list[list[str]]:
    rows = []
    for ours, other in variants:
        red, mscm = detectors[ours], detectors[other]
        if not red.areas() or not mscm.areas():
            continue
        fewer = [difference for _, difference in fewer_false(red, mscm)]
        better = sum(one.low > 0 for one in fewer)
        worse = sum(one.high < 0 for one in fewer)
        areas = [stats.mean(one.areas()).format(3) for one in (red, mscm)]
        rows.append([METHODS[ours], METHODS[other], *areas, larger_area(red, mscm).format(3), f"{better} / {worse}"])
    return rows


def path_table(sides: dict[str, Side]) -> Table:
    """Figures 8 to 10 in numbers."""
    rows = []
    measured = (
        ("replicas", 0),
        ("dup_acks", 0),
        ("retransmissions", 1),
        ("mean_srtt_ms", 1),
        ("max_srtt_ms", 1),
        ("rate_mbit", 2),
        ("least_rate_mbit", 2),
    )
    for name, label in NAMES.items():
        for path, letter in enumerate(PATHS):
            cells = [stats.mean(sides[name].of(measure, path)).format(digits) for measure, digits in measured]
            rows.append([label if path == 0 else "", letter, *cells])
    columns = ["scheduler", "path", "NMR", "NCAD", "NCR", "mean SRTT (ms)", "max SRTT (ms)", "Mbit/s", "min Mbit/s"]
    note = "NMR: replicas. NCAD: duplicate ACKs. NCR: retransmissions. min Mbit/s: the least of a second."
    return Table("paths", "Figures 8 to 10 in numbers, a run", columns, rows, note, left=2)
