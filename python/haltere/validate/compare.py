"""Compares our measures with Linux's: one row a measure, with its tolerance."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from ..analysis import stats


@dataclass(frozen=True)
class Tolerance:
    """The allowed distance from Linux's mean: a part of it (`relative`), and an amount (`absolute`)."""

    relative: float = 0.0
    absolute: float = 0.0

    def around(self, mean: float) -> float:
        """The tolerance around that mean, in the measure's unit."""
        return self.relative * abs(mean) + self.absolute


@dataclass(frozen=True)
class Kind:
    """A kind of measure: its unit, decimals to print, and tolerance."""

    unit: str
    decimals: int
    tolerance: Tolerance


KINDS: dict[str, Kind] = {
    "goodput": Kind("Mbit/s", 2, Tolerance(relative=0.03)),
    "share": Kind("%", 1, Tolerance(absolute=5)),
    "jain": Kind("", 3, Tolerance(absolute=0.03)),
    "queue": Kind("packets", 1, Tolerance(relative=0.15)),
    "ping": Kind("ms", 2, Tolerance(relative=0.15)),
    "loss": Kind("%", 3, Tolerance(relative=0.25)),
    "marks": Kind("%", 2, Tolerance(relative=0.25)),
    "first": Kind("s", 2, Tolerance(relative=0.15)),
    "cwnd": Kind("packets", 1, Tolerance(relative=0.15)),
    "period": Kind("s", 2, Tolerance(relative=0.15)),
    "bandwidth": Kind("Mbit/s", 2, Tolerance(relative=0.03)),
    "probe_rtt": Kind("s", 2, Tolerance(relative=0.05)),
    "steady": Kind("packets", 1, Tolerance(relative=0.25)),
    "fct": Kind("ms", 1, Tolerance(relative=0.15)),
    "done": Kind("%", 1, Tolerance(absolute=5)),
    "path": Kind("", 2, Tolerance(relative=0.15)),
}
"""The tolerances, by the first word of a measure's key. `steady` is the queue of one flow that paces at its bandwidth estimate."""

_ROUNDING = 1e-9


#: The numbers of a row that are no whole ones.
FRACTIONS = ("linux", "spread", "ours", "interval", "difference", "tolerance", "copy")


@dataclass
class Row:
    """One measure of one case: Linux's, ours, and the verdict. A value that does not exist is `None`.

    `copy` is how often, from 0 to 1, the verdict is "inside" if some of our own runs stand for Linux's: what an exact copy
    of Linux would have.
    """

    group: str
    case: str
    measure: str
    unit: str
    decimals: int
    linux: float | None = None
    spread: float = 0.0
    linux_runs: int = 0
    ours: float | None = None
    interval: float = 0.0
    our_runs: int = 0
    difference: float | None = None
    tolerance: float = 0.0
    inside: bool = False
    copy: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON and tables: what is infinite or not a number is null."""
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Writes all rows as CSV: a column for each field of a row, an empty cell for a missing value."""
    with path.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names := [one.name for one in fields(Row)])
        for row in rows:
            values = row.as_dict()
            out.writerow([_cell(name, values[name], row.decimals) for name in names])


def _cell(name: str, value: Any, decimals: int) -> str:
    """A number with two decimals more than are shown, so that the file changes only with the result."""
    if value is None:
        return ""
    if name in FRACTIONS:
        return f"{value:.{decimals + 2}f}"
    return ("yes" if value else "no") if name == "inside" else str(value)


def compare_case(
    group: str, case: str, linux: Sequence[dict[str, Any]], ours: Sequence[dict[str, Any]]
) -> list[Row]:  # fmt: skip
    """All rows of a case. A measure that only one side has is a row, too, and outside."""
    keys = list(dict.fromkeys(key for measures in (*linux, *ours) for key in measures))
    rows = (_row(group, case, key, _values(linux, key), _values(ours, key), "bandwidth" in keys) for key in keys)
    return [row for row in rows if row is not None]


def _values(runs: Sequence[dict[str, Any]], key: str) -> list[float]:
    return [float(run[key]) for run in runs if run.get(key) is not None]


def spread_of(values: Sequence[float]) -> float:
    """Half the range over the repetitions; zero for a single one."""
    return (max(values) - min(values)) / 2 if values else 0.0


def _row(group: str, case: str, key: str, linux: list[float], ours: list[float], estimate: bool) -> Row | None:
    word = key.split()[0]
    kind = KINDS["steady" if word == "queue" and estimate else word]
    if (not linux and not ours) or _says_nothing(word, linux, ours):
        return None
    row = Row(group, case, key, kind.unit, kind.decimals)
    row.linux_runs, row.our_runs, row.spread = len(linux), len(ours), spread_of(linux)
    row.linux, mean = fmean(linux) if linux else None, stats.mean(ours) if ours else None
    row.ours = mean.mean if mean else None
    if row.linux is not None and mean is not None:
        row.interval = mean.half if math.isfinite(mean.half) else 0.0
        row.difference, row.tolerance = mean.mean - row.linux, _tolerance(kind, linux)
        row.inside = abs(row.difference) <= row.tolerance + _ROUNDING
        row.copy = _of_copy(kind, ours, len(linux))
    return row


def _tolerance(kind: Kind, linux: Sequence[float]) -> float:
    return max(kind.tolerance.around(fmean(linux)), spread_of(linux))


def _of_copy(kind: Kind, ours: Sequence[float], repetitions: int) -> float | None:
    """How often the mean of our runs is inside if so many of them stand for Linux's. `None`: there are too few.

    Runs in turn have the start times of Linux's repetitions, so consecutive ones stand for a set of repetitions.
    """
    verdicts = []
    for at in range(0, len(ours) - repetitions + 1, repetitions):
        theirs, rest = ours[at : at + repetitions], [*ours[:at], *ours[at + repetitions :]]
        if rest:
            verdicts.append(abs(fmean(rest) - fmean(theirs)) <= _tolerance(kind, theirs) + _ROUNDING)
    return fmean(verdicts) if verdicts else None


def _says_nothing(word: str, linux: list[float], ours: list[float]) -> bool:
    """True for transfers that all completed, and for a completion time that Linux lacks: the row of `done` shows it."""
    return (word == "done" and {*linux, *ours} == {100.0}) or (word == "fct" and not linux)
