"""The summary of a sweep for programs: means of the metrics that the report shows, with their intervals, point by point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import metrics
from .measures import Run, Tables, by_point
from .stats import Mean

__all__ = ["record", "summary"]


def record(value: Mean | None) -> dict[str, Any] | None:
    """A mean as JSON holds it: half of its 95 % interval is null if it is not known."""
    if value is None:
        return None
    return {"mean": value.mean, "half": None if math.isnan(value.half) else value.half, "n": value.n}


def summary(results: Tables) -> list[dict[str, Any]]:
    """The points of the sweep, each with its metrics: a mean, half its 95 % interval and the number of seeds each.

    Goodput in Mbit/s of all flows of a traffic entry together, Jain's index over its flows, ping round-trip times in ms, mean
    queue in packets, utilisation of a link from 0 to 1, drops in packets.
    """
    return [
        {"point": point.index, "labels": dict(point.labels), **_point(runs)} for point, runs in by_point(results)
    ]  # fmt: skip


def _point(runs: Sequence[Run]) -> dict[str, Any]:
    first = runs[0]
    groups = {one: {"flows": len(first.goodput_mbit(one)), **_means(runs, "traffic", one)} for one in first.groups()}
    out: dict[str, Any] = {"traffic": groups, "links": {one: _means(runs, "links", one) for one in first.watched()}}
    if len(first.ping_ms()):
        out["ping_ms"] = _means(runs, "ping", None)
    completed = {group: _completions(runs, group) for group in groups}
    if any(completed.values()):
        out["completions"] = {group: of for group, of in completed.items() if of}
    whole = _means(runs, "run", None)
    if whole:
        out["run"] = whole
    return out


def _means(runs: Sequence[Run], table: str, part: str | None) -> dict[str, Any]:
    """The means of the metrics that are columns of that table."""
    return {one.key or one.name: record(metrics.mean_of(runs, one, part)) for one in metrics.in_table(table)}


def _completions(runs: Sequence[Run], group: str) -> dict[str, dict[str, Any]]:
    """By size of the flows: their number and those that did not end, times in ms and slowdown as percentiles."""
    out: dict[str, dict[str, Any]] = {}
    for name, sizes in metrics.SIZES.items():
        slow = [run.completion(group, "slowdown", sizes) for run in runs]
        if any(len(values) for values in slow):
            out[name] = {
                "flows": round(float(np.mean([len(values) for values in slow]))),
                "unfinished": int(sum(np.isnan(values).sum() for values in slow)),
                **_means(runs, "completions", f"{group}/{name}"),
            }
    return out
