"""What the study measures of each path, a run at a time, under each scheduler."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...runs.results import Results

Array = NDArray[np.float64]

SCHEDULER = "traffic[1].multipath.scheduler"
PATHS = ("A", "B", "C")
#: Schedulers as figures and tables name them.
NAMES = {"redundant": "redundant", "red": "RED"}


@dataclass
class PathMeasures:
    """One run: each list has one value a path."""

    replicas: list[float] = field(default_factory=list)
    dup_acks: list[float] = field(default_factory=list)
    retransmissions: list[float] = field(default_factory=list)
    max_srtt_ms: list[float] = field(default_factory=list)
    mean_srtt_ms: list[float] = field(default_factory=list)
    rate_mbit: list[float] = field(default_factory=list)
    least_rate_mbit: list[float] = field(default_factory=list)
    given_bytes: list[float] = field(default_factory=list)


@dataclass
class Side:
    """All runs under one scheduler."""

    runs: list[PathMeasures] = field(default_factory=list)
    srtt_ms: list[list[Array]] = field(default_factory=lambda: [[], [], []])
    rate_mbit: list[list[Array]] = field(default_factory=lambda: [[], [], []])
    at_s: Array | None = None
    dup_acks: list[Array] = field(default_factory=list)
    retransmissions: list[Array] = field(default_factory=list)

    def of(self, measure: str, path: int | None = None) -> list[float]:
        """That measure of one path, or of all together, one value a run."""
        values = [getattr(run, measure) for run in self.runs]
        return [float(sum(v)) if path is None else float(v[path]) for v in values]


def main_rows(table: pa.Table) -> pa.Table:
    """The rows of the connection under test."""
    return table.filter(pc.equal(table["flow"].cast(pa.string()), "main"))


def column(table: pa.Table, name: str) -> Array:
    """A column as numbers; what is missing is NaN."""
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=float)


def _take(side: Side, results: Results, run: Any, warmup_s: float) -> None:
    paths = main_rows(results.run_table("paths", run))
    number = column(paths, "path")
    one, dup, again = PathMeasures(), [], []
    for path in range(len(PATHS)):
        rows = paths.filter(pa.array(number == path))
        at = column(rows, "at_ns") / 1e9
        warm = at >= warmup_s
        given = column(rows, "given_bytes")
        rate = np.diff(given) * 8 / np.maximum(np.diff(at), 1e-9) / 1e6
        # Over a second, as throughput is looked at: ten samples of 100 ms.
        width = max(1, round(1.0 / float(np.median(np.diff(at)))))
        whole = rate[warm[1:]]
        second = whole[: len(whole) // width * width].reshape(-1, width).mean(axis=1)
        srtt = column(rows, "srtt_ns")[warm] / 1e6
        srtt = srtt[srtt > 0]
        side.srtt_ms[path].append(srtt)
        side.rate_mbit[path].append(second)
        one.replicas.append(column(rows, "replicas")[-1])
        one.given_bytes.append(given[-1])
        one.dup_acks.append(column(rows, "dup_acks")[-1])
        one.retransmissions.append(column(rows, "retransmissions")[-1])
        one.max_srtt_ms.append(float(srtt.max()) if len(srtt) else math.nan)
        one.mean_srtt_ms.append(float(srtt.mean()) if len(srtt) else math.nan)
        one.rate_mbit.append(float(second.mean()))
        one.least_rate_mbit.append(float(second.min()))
        grid = np.arange(3.0, at[-1], 1.0)
        side.at_s = grid
        dup.append(np.interp(grid, at, column(rows, "dup_acks")))
        again.append(np.interp(grid, at, column(rows, "retransmissions")))
    side.runs.append(one)
    side.dup_acks.append(np.sum(dup, axis=0))
    side.retransmissions.append(np.sum(again, axis=0))


def sides(results: Results) -> dict[str, Side]:
    """The runs by scheduler."""
    found: dict[str, Side] = {}
    for run in results.runs:
        point = results.points[run.point]
        label = point.labels[SCHEDULER]
        name = label if isinstance(label, str) else str(label["kind"])
        warmup = point.experiment.duration_s - point.experiment.span_s
        _take(found.setdefault(name, Side()), results, run, warmup)
    return found
