"""One experiment in both worlds: the simulator beside the wire, metric by metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ..api import Scenario
from ..report.document import Document, Heading, Table, Text
from ..report.overview import by_point
from ..runs.results import Results
from ..worlds import World
from . import stats
from .measures import Run, seconds_of
from .stats import Mean

__all__ = ["Comparison", "Row", "compare"]


@dataclass(frozen=True)
class Row:
    """One metric at one point of the sweep, in both worlds, and wire less simulator."""

    point: str
    metric: str
    unit: str
    sim: Mean
    wire: Mean
    difference: Mean

    @property
    def part(self) -> float:
        """The difference as a part of the simulator's value; NaN where that is 0."""
        return self.difference.mean / self.sim.mean if self.sim.mean else math.nan

    def to_json(self) -> dict[str, Any]:
        """For programs."""

        def told(value: Mean) -> dict[str, Any]:
            return {"mean": value.mean, "half": None if math.isnan(value.half) else value.half}

        return {
            "point": self.point,
            "metric": self.metric,
            "unit": self.unit,
            "sim": told(self.sim),
            "wire": told(self.wire),
            "difference": told(self.difference),
        }


@dataclass
class Comparison:
    """What came of it: the rows, and both results."""

    title: str
    rows: list[Row]
    sim: Results
    wire: Results

    def tables(self) -> list[Table]:
        """A table for each point of the sweep."""
        out = []
        for i, point in enumerate(dict.fromkeys(row.point for row in self.rows)):
            cells = [_cells(row) for row in self.rows if row.point == point]
            title = "Simulator and wire" + (f": {point}" if point != "all" else "")
            columns = ["metric", "unit", "simulator", "wire", "wire - simulator", "of it"]
            out.append(Table(f"parity-{i + 1}", title, columns, cells, left=2))
        return out

    def document(self) -> Document:
        """The comparison as a document."""
        seeds = len(self.wire.seeds)
        out = Document(self.title or "Simulator and wire")
        out.add(
            Text(
                f"{seeds} seed{'s' if seeds > 1 else ''} in each world; means with 95 % Student-t intervals, differences with Welch's. "
                "On the wire the seed decides start times and chance, the kernel's scheduling decides the rest."
            )
        )
        out.add(*self.tables())
        out.add(Heading("The machine"), *(Text(line) for line in calibrations(self.wire)))
        return out

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "title": self.title,
            "sim": str(self.sim.directory),
            "wire": str(self.wire.directory),
            "rows": [row.to_json() for row in self.rows],
            "calibrations": [run.wire for run in self.wire.runs],
        }


def _cells(row: Row) -> list[str]:
    digits = 1 if row.sim.mean >= 100 or row.unit == "%" else 2 if row.unit != "" else 3
    # A part of what prints as nothing says nothing.
    small = abs(row.sim.mean) < 10.0**-digits
    part = "" if small or math.isnan(row.part) or row.unit == "%" else f"{100 * row.part:+.1f} %"
    cells = [row.metric, row.unit, row.sim.format(digits), row.wire.format(digits)]
    sign = "+" if row.difference.mean >= 0 else ""
    return [*cells, sign + row.difference.format(digits), part]


#: How the kernel runs the router's thread.
SCHEDULES = {
    "fifo": "before all ordinary ones (SCHED_FIFO)",
    "slice": "one of the ordinary ones, with a short slice (no CAP_SYS_NICE)",
    "shared": "one of the ordinary ones",
}


def calibrations(results: Results) -> list[str]:
    """What the calibrations before the runs measured, and what was out of bounds, in a few sentences."""
    told = [run.wire for run in results.runs if run.wire]
    each = [one["calibration"] for one in told if one.get("calibration")]
    if not each:
        return []
    rates = [c["link"]["measured_bps"] / c["link"]["planned_bps"] - 1 for c in each if c.get("link")]
    late = [1e6 * (c["measured_rtt_s"] - c["planned_rtt_s"]) for c in each]
    lines = [
        f"Measured before each of {len(each)} runs: "
        + (
            f"rate of the slowest link {100 * min(rates):+.2f} to {100 * max(rates):+.2f} % of the plan's; "
            if rates
            else ""
        )
        + f"idle round trip {min(late):.0f} to {max(late):.0f} us above the plan's, its deviation up to {1e6 * max(c['jitter_s'] for c in each):.0f} us; "
        f"the router used {100 * min(one['router_cpu'] for one in told):.0f} to {100 * max(one['router_cpu'] for one in told):.0f} % of a core in the runs."
    ]
    lost = sum(one["router"]["unaccounted"] for one in told)
    outside = sum(port["overrun"] + port["refused"] for one in told for port in one["router"]["ports"])
    lines.append(f"Packets that the router cannot account for: {lost}; lost before or behind its queues: {outside}.")
    late = [one["router"]["late_us"] for one in told]
    how = sorted({one["router"].get("schedule", "shared") for one in told})
    lines.append(
        f"Frames left {min(one['mean'] for one in late):.0f} to {max(one['mean'] for one in late):.0f} us late on average, the latest "
        f"{max(one['max'] for one in late):.0f} us; the router's thread: {', '.join(SCHEDULES[one] for one in how)}."
    )
    out = [c["out_of_bounds"] for c in each if c["out_of_bounds"]]
    if out:
        lines.append(f"Out of bounds in {len(out)} of {len(each)} runs, run anyway: {out[0]}.")
    return lines


# -- metrics --------------------------------------------------------------------------------------------------------------

Measure = Callable[[Run], float]


def _classes(run: Run) -> list[tuple[str, str | None, str | None]]:
    """Name, traffic entry and congestion control of each kind of data flow."""
    rows = run.flows.filter(pc.not_equal(run.flows["kind"], "ping"))
    pairs = list(dict.fromkeys(zip(rows["group"].to_pylist(), rows["congestion"].to_pylist(), strict=True)))
    groups = [group for group, _ in pairs]
    return [
        ((f"{g} {c}" if groups.count(g) > 1 and len(set(groups)) > 1 else c if groups.count(g) > 1 else g) or g, g, c)
        for g, c in pairs
    ]


def _of_class(run: Run, group: str | None, congestion: str | None) -> float:
    rates = [
        row["goodput_bps"] or 0.0
        for row in run.flows.select(["group", "congestion", "goodput_bps", "kind"]).to_pylist()
        if row["kind"] != "ping" and row["group"] == group and row["congestion"] == congestion
    ]
    return sum(rates) * 1e-6


def _share(group: str | None, congestion: str | None) -> Measure:
    return lambda run: 100 * _of_class(run, group, congestion) / max(1e-12, float(run.goodput_mbit().sum()))


def _of_link(link: str, name: str, scale: float = 1.0) -> Measure:
    return lambda run: scale * _column(run, link, name)


def _utilisation(link: str) -> Measure:
    return lambda run: 100 * run.utilisation(link)


def _ping(q: float) -> Measure:
    return lambda run: stats.percentile(run.ping_ms(), q) if len(run.ping_ms()) else math.nan


def _metrics(run: Run) -> list[tuple[str, str, Measure]]:
    """Name, unit and measure of everything that such a run shows."""
    out: list[tuple[str, str, Measure]] = []
    classes = _classes(run)
    if classes:
        out.append(("goodput of all flows", "Mbit/s", lambda r: float(r.goodput_mbit().sum())))
    if len(classes) > 1:
        for name, group, congestion in classes:
            out.append((f"share of {name}", "%", _share(group, congestion)))
    if len(run.goodput_mbit()) > 1:
        out.append(("Jain's index", "", lambda r: stats.jain(r.goodput_mbit())))
    for link in run.watched():
        if not run.sent(link):
            continue
        row = run._link(link)
        out.append((f"{link}: mean queue", "packets", _of_link(link, "mean_queue_packets")))
        if row["rate_bps"] is not None:
            out.append((f"{link}: utilisation", "%", _utilisation(link)))
        out.append((f"{link}: dropped", "%", _of_link(link, "drop_rate", 100)))
        if run.marks(link):
            out.append((f"{link}: marked", "%", _of_link(link, "mark_rate", 100)))
    if len(run.ping_ms()):
        for q, name in ((50, "median"), (95, "95th percentile")):
            out.append(
                (
                    f"ping: {name}",
                    "ms",
                    _ping(q),
                )
            )
    if len(run.table("tasks")):
        out += [
            ("uploads done", "", lambda r: float(len(_tasks(r, lambda _: True)))),
            ("upload, up to 16 kB: mean time", "s", lambda r: _mean_time(r, lambda b: b <= 16_000)),
            ("upload, above 16 kB: mean time", "s", lambda r: _mean_time(r, lambda b: b > 16_000)),
        ]
    return out


def _column(run: Run, link: str, name: str) -> float:
    value = run._link(link)[name]
    return math.nan if value is None else float(value)


def _tasks(run: Run, keep: Callable[[int], bool]) -> list[float]:
    """Seconds that each task with such a file took, of those that began and ended after the warm-up."""
    warmup_ns = seconds_of(run.scenario.get("warmup", "0s")) * 1e9
    rows = run.table("tasks").select(["file_bytes", "start_ns", "end_ns"]).to_pylist()
    return [
        (row["end_ns"] - row["start_ns"]) * 1e-9
        for row in rows
        if row["end_ns"] is not None and row["start_ns"] >= warmup_ns and keep(row["file_bytes"])
    ]


def _mean_time(run: Run, keep: Callable[[int], bool]) -> float:
    times = _tasks(run, keep)
    return float(np.mean(times)) if times else math.nan


def _mean(values: list[float]) -> Mean | None:
    known = [value for value in values if not math.isnan(value)]
    return stats.mean(known) if known else None


def compare(
    scenario: Scenario,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    out: Path,
    quiet: bool = False,
    anyway: bool = False,
) -> Comparison:
    """Runs the experiment in both worlds, into ``out/sim`` and ``out/wire``, and compares."""
    wire_world = World("wire", anyway)
    wire_world.check(
        [core for _, core in scenario.points()], None
    )  # refused before the simulator has worked for nothing
    wire = scenario.run(seeds=seeds, out=out / "wire", quiet=quiet, world=wire_world)
    sim = scenario.run(seeds=seeds, jobs=jobs, out=out / "sim", quiet=quiet)
    rows = []
    for (point, in_sim), (_, on_wire) in zip(by_point(sim), by_point(wire), strict=True):
        for metric, unit, measure in _metrics(in_sim[0]):
            values = [[measure(run) for run in runs] for runs in (in_sim, on_wire)]
            known = [[v for v in each if not math.isnan(v)] for each in values]
            ours, theirs = (_mean(each) for each in values)
            if ours is not None and theirs is not None:
                rows.append(Row(point.name, metric, unit, ours, theirs, stats.difference(known[1], known[0])))
    return Comparison(scenario.title, rows, sim, wire)
