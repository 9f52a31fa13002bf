"""Closed loops and a call on a path without congestion: what another world gives is what the simulator gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

import pyarrow
import pytest

__all__ = ["EXPERIMENT", "Tables", "same_draws", "same_loops", "tables_of"]

#: Rows of each table.
Tables = Mapping[str, list[dict[str, Any]]]

#: A round trip takes 100 ms, so that a wake-up that is 2 ms late counts for 2 %.
EXPERIMENT = """\
title = "Pages, calls, a video and a voice"
duration = "12s"
warmup = "1s"
seeds = 1

[topology.dumbbell]
pairs = 4
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { rate = "50Mbit", delay = "48ms" }

[[traffic]]
kind = "web"
pairs = [1]
objects = [2, 9]
sizes = { kind = "pareto", mean = "8kB", shape = 1.5 }
think = "200ms"

[[traffic]]
kind = "rpc"
pairs = [2]
outstanding = 2
response = "4kB"

[[traffic]]
kind = "video"
pairs = [3]
segment = "1s"
buffer = "4s"
ladder = ["1Mbit", "3Mbit", "6Mbit"]

[[traffic]]
kind = "voip"
pairs = [4]
"""


def tables_of(run: Any) -> dict[str, list[dict[str, Any]]]:
    """The rows of a run."""
    return {name: pyarrow.table(batch).to_pylist() for name, batch in run.tables().items()}


def _group(row: Mapping[str, Any]) -> str:
    """The traffic entry of a row."""
    name: str = row["flow"]
    return name.split(":")[0]


#: Tables with what their rows draw, and the time that a row took.
DRAWN = {
    "pages": (("objects", "bytes"), "load_ns"),
    "segments": (("bitrate_bps", "bytes"), "fetch_ns"),
    "completions": (("from", "to", "bytes", "ideal_ns"), "fct_ns"),
}


def _both(table: str, sim: Tables, other: Tables) -> Iterator[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]:
    """The rows of each traffic entry in both worlds that are complete."""
    groups = {_group(row) for row in sim[table]}
    assert groups == {_group(row) for row in other[table]}
    took = DRAWN[table][1]
    for group in sorted(groups):
        ours, theirs = ([row for row in of[table] if _group(row) == group and row[took]] for of in (sim, other))
        yield group, ours, theirs


def same_draws(sim: Tables, other: Tables, tables: Sequence[str] = ("pages", "completions")) -> None:
    """As far as both came, what they drew is the same, whatever time it took."""
    for table in tables:
        drawn, _ = DRAWN[table]
        for group, ours, theirs in _both(table, sim, other):
            both = min(len(ours), len(theirs))
            assert both > 0, (table, group)
            if not (table == "completions" and group.startswith("web")):
                # Objects of a page end in another order, but a page has the same.
                assert [[row[key] for key in drawn] for row in ours[:both]] == [
                    [row[key] for key in drawn] for row in theirs[:both]
                ], table


def same_loops(sim: Tables, other: Tables, near: float) -> None:
    """Draws are the same, and times within the part ``near`` of each other."""
    same_draws(sim, other, tuple(DRAWN))
    for table, (_, took) in DRAWN.items():
        for group, ours, theirs in _both(table, sim, other):
            both = min(len(ours), len(theirs))
            assert both > 8 and abs(len(ours) - len(theirs)) <= 1 + near * both, (table, group, len(ours), len(theirs))
            middle = [median(row[took] for row in rows[:both]) for rows in (ours, theirs)]
            assert middle[1] == pytest.approx(middle[0], rel=near), (table, group)
    assert sum(row["stall_ns"] for row in other["segments"]) == sum(row["stall_ns"] for row in sim["segments"])
    (ours,), (theirs,) = sim["voices"], other["voices"]
    assert abs(ours["packets"] - theirs["packets"]) <= 1 and theirs["lost"] == theirs["late"] == 0
    for key in ("delay_ns", "mouth_to_ear_ns", "rating", "mos"):
        assert theirs[key] == pytest.approx(ours[key], rel=near), key
    for group in ("web", "rpc", "video", "voip"):
        received = [
            next(row["received_after_warmup"] for row in of["flows"] if _group(row).startswith(group))
            for of in (sim, other)
        ]
        assert received[1] == pytest.approx(received[0], rel=0.15), group
    sampled = {row["flow"] for row in other["flow_series"]}
    assert sampled == {row["flow"] for row in sim["flow_series"]}
