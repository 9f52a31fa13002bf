"""The summary of a sweep for programs: means of the metrics that the report shows, with their intervals, point by point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .. import kinds
from ..runs import parquet
from ..runs.records import Done, Point
from . import metrics, workloads
from .facts import Facts
from .measures import Run, Tables, by_point


def summary(results: Tables) -> list[dict[str, Any]]:
    """The points of the sweep, each with its metrics: a mean, half its 95 % interval and the number of seeds each.

    Goodput in Mbit/s of all flows of a traffic entry together, Jain's index over its flows, ping round-trip times in ms, mean
    queue in packets, utilisation of a link from 0 to 1, drops in packets.
    """
    out = [{"point": point.index, "labels": dict(point.labels), **_point(runs)} for point, runs in by_point(results)]
    if (facts := getattr(results, "facts", None)) is not None:
        facts.save()
    return out


def facts_of(point: Point, done: Done, tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    """What a summary reads off a run, from the tables as it was made with: ``done`` says which run, ``point`` of what."""
    made = _Made(point, done, tables)
    _point([Run(made, done)])
    return made.facts.of(f"{done.key} {done.digest}")


class _Made:
    """A run whose tables are in memory."""

    def __init__(self, point: Point, done: Done, tables: Mapping[str, pa.Table]) -> None:
        self.points, self.runs, self.facts = [point] * (done.point + 1), [done], Facts(None)
        self._tables = tables

    def run_table(self, name: str, run: Done, columns: list[str] | None = None) -> pa.Table:
        """The table of that name."""
        return self._tables[name] if columns is None else parquet.chosen(self._tables[name], columns)


def _point(runs: Sequence[Run]) -> dict[str, Any]:
    first = runs[0]
    groups = {
        one: {"flows": _flows(runs, one, count), **_means(runs, "traffic", one)}
        for one, count in first.flow_counts().items()
    }
    out: dict[str, Any] = {"traffic": groups, "links": {one: _means(runs, "links", one) for one in first.watched()}}
    if first.has_pings():
        out["ping_ms"] = _means(runs, "ping", None)
    for one in kinds.WORKLOADS:
        if own := workloads.entries(first, one.kind):
            out[one.table] = {group: _means(runs, one.table, group) for group in own}
    completed = {group: _completions(runs, group) for group in groups}
    if any(completed.values()):
        out["completions"] = {group: of for group, of in completed.items() if of}
    if first.experiment.asked("delays"):
        out["sojourn_ms"] = {link: _means(runs, "sojourn", link) for link in first.watched()}
        for table in ("rtt", "one_way"):
            means = {one: _means(runs, table, one) for one in groups}
            out[f"{table}_ms"] = {one: some for one, some in means.items() if some["p50"] is not None}
    if first.experiment.asked("metrics"):
        out["own"] = _means(runs, "own", None)
    whole = _means(runs, "run", None)
    if whole:
        out["run"] = whole
    return out


def _means(runs: Sequence[Run], table: str, part: str | None) -> dict[str, Any]:
    columns = metrics.in_table(table, runs[0].scenario)
    return {
        one.key or one.name: (mean.to_dict() if (mean := metrics.mean_of(runs, one, part)) else None) for one in columns
    }


def _flows(runs: Sequence[Run], group: str, count: int) -> int:
    """The flows of a traffic entry; of flows that come and go those of a run, on average."""
    came = [run.arrivals().get(group) for run in runs]
    known = [one for one in came if one is not None]
    return round(sum(known) / len(known)) if known else count


def _completions(runs: Sequence[Run], group: str) -> dict[str, dict[str, Any]]:
    """By size of the flows: their number in a run on average, those of all runs that did not end, times in ms and slowdown as percentiles."""
    out: dict[str, dict[str, Any]] = {}
    for name in metrics.sizes(runs[0]):
        counts = [_ended(run, group, name) for run in runs]
        if any(flows for flows, _ in counts):
            out[name] = {
                "flows": round(float(np.mean([flows for flows, _ in counts]))),
                "unfinished": sum(unfinished for _, unfinished in counts),
                **_means(runs, "completions", f"{group}/{name}"),
            }
    return out


def _ended(run: Run, group: str, size: str) -> tuple[int, int]:
    def count() -> list[int]:
        slow = run.completion(group, "slowdown", metrics.sizes(run)[size])
        return [len(slow), int(np.isnan(slow).sum())]

    flows, unfinished = run.fact(f"ended {group}/{size}", count)
    return int(flows), int(unfinished)
