"""The tables of the study: paper, ours and ns-3 beside one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Table
from .cells import LABELS, WATCHED, Cells, Given

_JAIN = {"jain_down": "downloads", "jain_up": "uploads"}


def _cell(mean: Mean | None, digits: int) -> str:
    return "–" if mean is None else mean.format(digits)


def _printed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _three(measure: str, digits: int, cells: Cells, given: Given, key: tuple[int, str]) -> list[str]:
    """Paper, ours, ns-3."""
    ours = stats.mean(cells[key].of(measure))
    return [
        _printed(given.of_paper(measure, *key), digits),
        _cell(ours, digits),
        _cell(given.of_ns3(measure, *key), digits),
    ]


def _rows(pairs: Sequence[int], row: Callable[[tuple[int, str]], list[str]]) -> list[list[str]]:
    """One row a cell; the number of pairs is in the first row of each block."""
    return [
        ["" if i else str(pair), label, *row((pair, name))]
        for pair in pairs
        for i, (name, label) in enumerate(LABELS.items())
    ]


def medians(cells: Cells, pairs: Sequence[int], given: Given) -> Table:
    """Table III of the paper, and the numbers of pairs that it leaves out."""
    rows = _rows(pairs, lambda key: _three("median_rtt_ms", 1, cells, given, key))
    note = "The paper prints medians for 2 and 20 pairs only."
    columns = ["pairs", "queue", "paper", "ours", "ns-3"]
    return Table("table3", "Median ping RTT in ms (table III)", columns, rows, note, left=2)


def fairness(cells: Cells, pairs: Sequence[int], given: Given) -> list[Table]:
    """Tables I and II of the paper."""
    made = []
    for number, (measure, what) in enumerate(_JAIN.items(), 1):
        rows = _rows(pairs, lambda key, measure=measure: _three(measure, 4, cells, given, key))  # type: ignore[misc]
        title = f"Jain's index of the {what} (table {'I' * number})"
        made.append(Table(f"table{number}", title, ["pairs", "queue", "paper", "ours", "ns-3"], rows, left=2))
    return made


def more(cells: Cells, pairs: Sequence[int], given: Given) -> Table:
    """What the paper does not print."""
    measures = {"p95_rtt_ms": 1, "goodput_mbit": 2, "drops": 0, "queue_packets": 1}

    def row(key: tuple[int, str]) -> list[str]:
        return [text for name, digits in measures.items() for text in _three(name, digits, cells, given, key)[1:]]

    names = ("p95 RTT (ms)", "goodput (Mbit/s)", "drops", f"queue {WATCHED} (packets)")
    columns = ["pairs", "queue", *(f"{name}, {who}" for name in names for who in ("ours", "ns-3"))]
    note = (
        "Goodput and drops of both directions together. The queue is the mean of discipline and device ring together."
    )
    return Table("more", "What the paper does not print", columns, _rows(pairs, row), note, left=2)


# -- distances ------------------------------------------------------------------------------------------------------------


def _part(a: float, b: float) -> float:
    return abs(a - b) / b


def distance_part(cells: Cells, given: Given) -> float:
    """The mean distance of our medians from the paper's, over the cells that both have, as a part of the paper's."""
    parts = [
        _part(float(np.mean(cell.median_rtt_ms)), theirs)
        for key, cell in cells.items()
        if (theirs := given.of_paper("median_rtt_ms", *key)) is not None
    ]
    return float(np.mean(parts))


def _mean_distance(pairs: list[tuple[float, float]], relative: bool) -> str:
    if not pairs:
        return "–"
    if relative:
        return f"{np.mean([_part(a, b) for a, b in pairs]):.1%}"
    return f"{np.mean([abs(a - b) for a, b in pairs]):.3f}"


def distances(cells: Cells, given: Given) -> Table:
    """How far ours, ns-3's and the paper's values lie from one another, on average over the cells."""
    rows = []
    for measure, label in (
        ("median_rtt_ms", "median RTT"),
        ("jain_down", "Jain's index, downloads"),
        ("jain_up", "Jain's index, uploads"),
    ):
        ours = {key: float(np.mean(cell.of(measure))) for key, cell in cells.items()}
        paper = {key: value for key in cells if (value := given.of_paper(measure, *key)) is not None}
        ns3 = {key: mean.mean for key in cells if (mean := given.of_ns3(measure, *key)) is not None}
        both = [[(a[key], b[key]) for key in a if key in b] for a, b in ((ours, paper), (ns3, paper), (ours, ns3))]
        counts = f"{len(both[0])}, {len(both[2])}"
        rows.append([label, *(_mean_distance(one, measure == "median_rtt_ms") for one in both), counts])
    columns = ["measure", "ours to paper", "ns-3 to paper", "ours to ns-3", "cells with paper, with ns-3"]
    note = "Mean of the distances of the cells. That of the medians is a part of the second value."
    return Table("distances", "How far apart they are", columns, rows, note)


def other_medians(readings: Mapping[str, Cells], pairs: Sequence[int], given: Given) -> Table:
    """The medians under the other readings. A reading that changes one discipline has that one's cells alone."""

    def row(key: tuple[int, str]) -> list[str]:
        ours = [_cell(stats.mean(c[key].median_rtt_ms) if key in c else None, 1) for c in readings.values()]
        return [_printed(given.of_paper("median_rtt_ms", *key), 1), *ours]

    columns = ["pairs", "queue", "paper", *(name or "primary" for name in readings)]
    return Table("other_medians", "What if: median ping RTT in ms", columns, _rows(pairs, row), left=2)
