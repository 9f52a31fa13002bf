"""What is read off one run: rates, round-trip times, queues, drops.

Every rate is in Mbit/s of payload after the warm-up, every delay in milliseconds, every time in seconds from the start of the run.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .. import _core, kinds
from ..runs.records import Done, Point
from .facts import Facts

Array = NDArray[np.float64]


class Tables(Protocol):
    """What holds runs and their tables: :class:`haltere.Results`. An attribute ``facts`` may hold what was measured before."""

    points: list[Point]
    runs: list[Done]

    def run_table(self, name: str, run: Done, columns: list[str] | None = None) -> pa.Table:
        """The table of that name of one run."""


def texts(values: Sequence[str]) -> pa.Array:
    """The texts as an Arrow array. `pyarrow.array` would load pandas, if that is installed: a third of a second for a few names."""
    data = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(data), pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(data)))


def with_texts(table: pa.Table, column: str, some: Sequence[str]) -> pa.Table:
    """The rows whose column has one of these texts."""
    return table.filter(pc.is_in(table[column].cast(pa.string()), value_set=texts(some)))


def by_point(results: Tables) -> list[tuple[Point, list[Run]]]:
    """The points of the sweep that have runs, each with its runs."""
    runs: dict[int, list[Run]] = {}
    for done in results.runs:
        runs.setdefault(done.point, []).append(Run(results, done))
    return [(results.points[i], each) for i, each in sorted(runs.items())]


def arrived_bytes(series: pa.Table) -> tuple[Array, int]:
    """For each row of `flow_series` the payload that had reached the receiver, in order or not; and how many flows there are.

    The column `received_bytes` counts bytes in order, so it jumps when a hole is filled. A TCP sender knows better: `delivered` counts the
    segments that were acknowledged or SACKed. They count with the mean payload of the flow's segments.
    """
    received = series["received_bytes"].to_numpy().astype(np.float64)
    flow = pc.dictionary_encode(series["flow"].cast(pa.string())).combine_chunks()
    code, count = flow.indices.to_numpy(), len(flow.dictionary)
    if "delivered" not in series.column_names:
        return received, count
    delivered = pc.fill_null(series["delivered"], 0).to_numpy().astype(np.float64)
    segments, payload = np.zeros(count), np.zeros(count)
    np.maximum.at(segments, code, delivered)
    np.maximum.at(payload, code, received)
    mean = np.where(segments > 0, payload / np.maximum(segments, 1), 0.0)
    return np.where(segments[code] > 0, delivered * mean[code], received), count


class Grid:
    """Rows of a table as arrays of shape (times, names): one of the names a column, NaN if it has no row at a time."""

    def __init__(self, table: pa.Table, column: str, names: Sequence[str]) -> None:
        self.at_ns, self._row = np.unique(table["at_ns"].to_numpy(), return_inverse=True)
        self.at_s: Array = self.at_ns * 1e-9
        place = {name: i for i, name in enumerate(names)}
        self._column = np.array(
            [place.get(str(one), -1) for one in table[column].cast(pa.string()).to_pylist()], dtype=int
        )
        self._shape = (len(self.at_ns), len(names))
        #: Whether any row is of one of the names.
        self.known = bool((self._column >= 0).any())

    def of(self, values: Array) -> Array:
        """A value for each row of the table as such an array."""
        out, kept = np.full(self._shape, np.nan), self._column >= 0
        out[self._row[kept], self._column[kept]] = values[kept]
        return out


def _within(bits: Array, could: Array) -> Array:
    """The same bits, of which a bin holds no more than the link could carry: what is too much belongs to the bin before or behind."""
    out = bits.copy()
    over = 0.0
    for i in range(len(out)):
        out[i] += over
        over = max(0.0, out[i] - could[i])
        out[i] -= over
    return out


@dataclass(frozen=True)
class QueueSeries:
    """One queue over time; every array has the same shape (samples,)."""

    at_s: Array
    packets: Array
    """Waiting in the discipline."""
    ring_packets: Array
    """Waiting in the device ring below it."""


#: Flows whose names are kept with what was measured before; more would make that file large.
_FEW_FLOWS = 64


class Run:
    """One run and what can be read off it. Tables are read when first asked for."""

    def __init__(self, results: Tables, done: Done) -> None:
        self.results, self.done = results, done
        self.scenario = results.points[done.point].scenario
        self.experiment = results.points[done.point].experiment
        self._facts: Facts = getattr(results, "facts", None) or Facts(None)
        self._reached: dict[str, dict[str, frozenset[str]]] = {}
        self._rows: dict[str, dict[str, Any]] = {}

    def fact(self, name: str, measure: Callable[[], Any]) -> Any:
        """What ``measure`` gives, which JSON can hold: measured once, then kept with the results."""
        return self._facts.ask(f"{self.done.key} {self.done.digest}", name, measure)

    @cached_property
    def warmup_s(self) -> float:
        """The length of the warm-up, in seconds."""
        return self.experiment.warmup_s

    @cached_property
    def until_s(self) -> float:
        """When the measured part of the run ends, in seconds."""
        return self.experiment.until_s

    def measured(self, at_s: Array) -> NDArray[np.bool_]:
        """Which of these times statistics take: from the end of the warm-up to the cool-down or the end, or those of the measured window."""
        after: NDArray[np.bool_] = at_s >= self.warmup_s
        return after & (at_s < self.until_s) if self._ends_early else after

    def measured_ns(self, at_ns: NDArray[Any]) -> NDArray[np.bool_]:
        """The same of times in nanoseconds."""
        after: NDArray[np.bool_] = at_ns >= int(self.warmup_s * 1e9)
        return after & (at_ns < int(self.until_s * 1e9)) if self._ends_early else after

    @property
    def _ends_early(self) -> bool:
        return self.until_s < self.experiment.duration_s

    @cached_property
    def data_flows(self) -> pa.Table:
        """The rows of the table `flows` whose flows carry data (TCP, UDP)."""
        return self.flows.filter(self._carries_data)

    @cached_property
    def kinds(self) -> list[str]:
        """The traffic kinds of its flows."""
        return [str(kind) for kind in pc.unique(self.flows["kind"]).to_pylist()]

    @cached_property
    def _carries_data(self) -> pa.ChunkedArray:
        data = [kind for kind in self.kinds if kinds.traffic(kind).goodput]
        return pc.is_in(self.flows["kind"].cast(pa.string()), value_set=texts(data))

    def table(
        self, name: str, columns: Sequence[str] | None = None, /, **where: str | Sequence[str] | None
    ) -> pa.Table:
        """A table of the run, such as ``flow_series``, or those of the ``columns`` that it has; only the rows with this text, or one of these,
        in a column (``None``: all)."""
        table = self.results.run_table(name, self.done, None if columns is None else list(columns))
        for column, some in where.items():
            if some is not None:
                table = with_texts(table, column, [some] if isinstance(some, str) else some)
        return table

    @cached_property
    def flows(self) -> pa.Table:
        """The table `flows`: one row a flow."""
        return self.table("flows")

    @cached_property
    def links(self) -> pa.Table:
        """The table `links`: one row a direction of a link."""
        return self.table("links")

    def goodput_mbit(self, group: str | None = None, sender: str | None = None) -> Array:
        """Payload delivered in order, Mbit/s, one value a TCP or UDP flow: of one traffic entry, of one sending node, or of all.

        Taken from the later of warm-up and start to the earliest of completion, stop and end.
        """
        keep = self._carries_data
        if group is not None:
            keep = pc.and_(keep, pc.equal(self.flows["group"], group))
        if sender is not None:
            keep = pc.and_(keep, pc.equal(self.flows["from"], sender))
        rates: Array = pc.fill_null(self.flows["goodput_bps"].filter(keep), 0.0).to_numpy() * 1e-6
        return rates

    @cached_property
    def completions(self) -> pa.Table | None:
        """The table `completions`, one row a flow or a response, of those that started in the measured part of the run; ``None`` without such traffic."""
        if not any(kinds.traffic(kind).completions for kind in self.kinds):
            return None
        table = self.table("completions")
        return table.filter(self.measured_ns(table["start_ns"].to_numpy()))

    def flows_of(self, group: str | None) -> list[str]:
        """The flows of a traffic entry, or all."""
        return [str(flow) for flow in self.table("flows", group=group)["flow"].to_pylist()]

    def completing(self) -> list[str]:
        """The traffic entries of which flows or responses are rows of the table `completions`."""
        rows = self.flows.select(["group", "kind"]).group_by(["group", "kind"], use_threads=False).aggregate([])
        return [str(row["group"]) for row in rows.to_pylist() if kinds.traffic(str(row["kind"])).completions]

    def completion(self, group: str | None, column: str, sizes: tuple[float, float] = (0.0, math.inf)) -> Array:
        """A column of `completions`, NaN if the flow did not end: of one traffic entry or of all.

        ``sizes``: only flows of sizes in bytes over the first and up to the second.
        """
        if self.completions is None:
            return np.empty(0)
        rows = self.completions
        if group is not None:
            rows = with_texts(rows, "flow", self.flows_of(group))
        size = rows["bytes"].to_numpy()
        values: Array = pc.cast(rows[column], pa.float64()).to_numpy(zero_copy_only=False)
        chosen: Array = values[(size > sizes[0]) & (size <= sizes[1])]
        return chosen

    def arrived(self, flow: str) -> int:
        """How many flows came during the run, warm-up included, of an entry whose flows come and go."""
        return len(self.table("completions", flow=flow))

    def upload_s(self, sizes: tuple[float, float] = (0.0, math.inf)) -> Array:
        """Seconds that each upload took, of those that began and ended after the warm-up; of files over the first size and up to the second."""
        tasks = self.table("tasks")
        tasks = tasks.filter(pc.is_valid(tasks["end_ns"]))
        start, end, size = (tasks[name].to_numpy() for name in ("start_ns", "end_ns", "file_bytes"))
        took: Array = (end - start)[self.measured_ns(start) & (size > sizes[0]) & (size <= sizes[1])] * 1e-9
        return took

    def ping_series(self) -> tuple[Array, Array]:
        """When each answered ping was sent (s), and its round-trip time (ms); warm-up included."""
        pings = self.table("pings", ["at_ns", "rtt_ns"])
        return pings["at_ns"].to_numpy() * 1e-9, pings["rtt_ns"].to_numpy() * 1e-6

    def ping_ms(self) -> Array:
        """The round-trip times of pings sent after the warm-up, ms."""
        at, rtt = self.ping_series()
        return rtt[self.measured(at)]

    def link(self, link: str) -> dict[str, Any]:
        """The row of the table `links` of one direction of a link."""
        if link not in self._rows:
            names = self.links["link"].to_pylist()
            if link not in names:
                raise KeyError(f"link must be one of {', '.join(names)}, got `{link}`")
            self._rows[link] = self.links.slice(names.index(link), 1).to_pylist()[0]
        return self._rows[link]

    def drops(self, link: str) -> int:
        """Packets that the queue of this link dropped after the warm-up, because it was full or as a congestion signal."""
        row = self.link(link)
        return int(row["dropped_overlimit_after_warmup"] + row["dropped_congestion_after_warmup"])

    def queue(self, link: str) -> QueueSeries:
        """The time series of a watched queue."""
        series = self.table("queue_series", ["at_ns", "link", "packets", "ring_packets"], link=link)
        packets, ring = (series[name].to_numpy().astype(np.float64) for name in ("packets", "ring_packets"))
        return QueueSeries(series["at_ns"].to_numpy() * 1e-9, packets, ring)

    def mean_queue_packets(self, link: str) -> float:
        """Packets that wait at this link on average, discipline and ring together; NaN if queues were not sampled."""
        series = self.queue(link)
        after = self.measured(series.at_s)
        return float((series.packets + series.ring_packets)[after].mean()) if after.any() else float("nan")

    def depth_percentile(self, link: str, q: float) -> float:
        """How many packets a packet leaves behind when it leaves this watched queue: that percentile; NaN if depths were not counted."""
        counted = self._depths(link)
        if counted is None:
            return math.nan
        depth, packets = counted
        # The values in between of a sorted list in which each depth stands as often as it was counted.
        place = q / 100 * (packets.sum() - 1)
        ends = np.cumsum(packets)
        low, high = (float(depth[np.searchsorted(ends, one(place), side="right")]) for one in (math.floor, math.ceil))
        return float(low + (high - low) * (place - math.floor(place)))

    def mean_depth(self, link: str) -> float:
        """The mean of the same."""
        counted = self._depths(link)
        return math.nan if counted is None else float(np.average(counted[0], weights=counted[1]))

    def _depths(self, link: str) -> tuple[Array, Array] | None:
        """Depths at dequeue and how many packets left so many behind, after the warm-up; ``None`` without any."""
        if not self.experiment.asked("depths"):
            return None
        rows = self.table("depths", link=link)
        return (rows["depth"].to_numpy(), rows["packets"].to_numpy()) if len(rows) else None

    def has_ring(self, link: str) -> bool:
        """True if something ever waited in the device ring of this link."""
        return bool(self.queue(link).ring_packets.any())

    def groups(self) -> list[str]:
        """The traffic entries whose flows carry data (TCP, UDP), in the experiment's order."""
        return list(self.flow_counts())

    def flow_counts(self) -> dict[str, int]:
        """The traffic entries whose flows carry data, each with the number of its rows in the table `flows`."""

        counts: dict[str, int] = self.fact(
            "flows", lambda: Counter(map(str, self.flows["group"].filter(self._carries_data).to_pylist()))
        )
        return counts

    def arrivals(self) -> dict[str, int]:
        """The traffic entries whose flows come and go, each with the number of flows that came during the run, warm-up included."""

        def count() -> dict[str, int]:
            rows = self.flows.select(["flow", "group", "kind"]).to_pylist()
            some = [row for row in rows if kinds.traffic(str(row["kind"])).arrivals]
            return {str(row["group"]): self.arrived(str(row["flow"])) for row in some}

        counts: dict[str, int] = self.fact("arrivals", count)
        return counts

    def has_pings(self) -> bool:
        """Whether a ping was answered after the warm-up."""
        return bool(self.fact("pings", lambda: len(self.ping_ms()) > 0))

    def classes(self) -> dict[str, list[str]]:
        """The flows that carry data by class: the traffic entry, and the control if the entry assigns several."""
        if sum(self.flow_counts().values()) > _FEW_FLOWS:
            return self._classes
        classes: dict[str, list[str]] = self.fact("classes", lambda: self._classes)
        return classes

    @cached_property
    def _classes(self) -> dict[str, list[str]]:
        rows = self.data_flows.select(["flow", "group", "congestion"]).to_pylist()
        controls: dict[str, set[str]] = {}
        for row in rows:
            controls.setdefault(row["group"], set()).add(row["congestion"])
        # An entry that names a control for each of its flows does so where they are the same, too.
        listed = {one.name for one in self.experiment.traffic if len(one.congestion) > 1}
        out: dict[str, list[str]] = {}
        for row in rows:
            several = len(controls[row["group"]]) > 1 or row["group"] in listed
            name = row["group"] if not several else row["congestion"] if len(controls) == 1 else f"{row['group']} {row['congestion']}"  # fmt: skip
            out.setdefault(str(name), []).append(str(row["flow"]))
        return out

    def come_and_go(self, flows: Sequence[str] | None = None) -> bool:
        """Whether rows of the table `flows` stand for many flows that arrive and end: of these, or of all that carry data."""
        rows = self.data_flows if flows is None else with_texts(self.flows, "flow", flows)
        return any(kinds.traffic(str(kind)).arrivals for kind in pc.unique(rows["kind"]).to_pylist())

    def is_alike(self, group: str | None = None) -> bool:
        """Whether the flows that carry data, of one traffic entry or of all, do the same over the same watched links."""
        rows = self.data_flows if group is None else self.data_flows.filter(pc.equal(self.data_flows["group"], group))
        does = [str(kind) for kind in pc.unique(rows["kind"]).to_pylist()]
        if len(does) != 1 or kinds.traffic(does[0]).arrivals or kinds.traffic(does[0]).request_response:
            return False  # what such flows carry follows from what is asked for, and is no share of a link
        ends = rows.select(["from", "to"]).group_by(["from", "to"], use_threads=False).aggregate([]).to_pylist()
        return len({self.watched_on(one["from"], one["to"]) for one in ends}) <= 1

    @cached_property
    def _links_from(self) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """The next nodes of each node, each with the link there if it is watched."""
        out: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for row in self.links.select(["link", "from", "to", "watched"]).to_pylist():
            out.setdefault(row["from"], []).append((row["to"], frozenset([row["link"]] if row["watched"] else [])))
        return out

    def watched_on(self, start: str, end: str) -> frozenset[str]:
        """The watched links on a path with the fewest links between two nodes."""
        if start not in self._reached:
            reached = self._reached[start] = {start: frozenset()}
            edge = [start]
            for node in edge:
                for there, watched in self._links_from.get(node, ()):
                    if there not in reached:
                        reached[there] = reached[node] | watched
                        edge.append(there)
        return self._reached[start].get(end, frozenset())

    def goodput_of(self, flows: Sequence[str]) -> Array:
        """Payload delivered in order, Mbit/s, one value for each of these flows; see :meth:`goodput_mbit`."""
        rates = dict(zip(self.flows["flow"].to_pylist(), self.flows["goodput_bps"].to_pylist(), strict=True))
        return np.array([(rates[flow] or 0.0) * 1e-6 for flow in flows])

    def watched(self) -> list[str]:
        """The links whose queue was sampled."""
        names: list[str] = self.fact(
            "watched", lambda: [str(name) for name in self.links.filter(self.links["watched"])["link"].to_pylist()]
        )
        return names

    def queue_delay_ms(self, link: str) -> Array:
        """How long a packet that arrived would wait in the discipline of a watched link, ms: one value a sample after the warm-up."""
        rate = self.link(link)["rate_bps"]
        if rate is None:
            raise ValueError(f"queue_delay_ms: {link} must have a rate, got none")
        series = self.table("queue_series", ["at_ns", "link", "bytes"], link=link)
        after = self.measured(series["at_ns"].to_numpy() * 1e-9)
        waiting: Array = series["bytes"].to_numpy()[after] * (8e3 / rate)
        return waiting

    def sent(self, link: str) -> int:
        """Packets that the line of this link took after the warm-up."""
        return int(self.link(link)["sent_after_warmup"])

    def marks(self, link: str) -> int:
        """Packets that the queue of this link marked CE after the warm-up."""
        return int(self.link(link)["marked_after_warmup"])

    def utilisation(self, link: str) -> float:
        """Part of the link's rate that was used after the warm-up, framing included; NaN for a link without rate."""
        row = self.link(link)
        return float("nan") if row["utilisation"] is None else float(row["utilisation"])

    def rate_series(self, group: str | None) -> tuple[Array, Array] | None:
        """Mean goodput of a flow of a traffic entry (``None``: of all) over time, warm-up included: times (s) and Mbit/s.

        ``None`` if flows were not sampled.
        """
        return self.rate_of(None if group is None else self.flows_of(group))

    def rate_of(self, flows: Sequence[str] | None) -> tuple[Array, Array] | None:
        """The same as :meth:`rate_series`, of these flows. Bytes count when they reach the receiver, in order or not."""
        series = self.table("flow_series", ["at_ns", "flow", "received_bytes", "delivered"], flow=flows)
        if len(series) == 0:
            return None
        times, place = np.unique(series["at_ns"].to_numpy(), return_inverse=True)
        if len(times) < 2:
            return None
        got, count = arrived_bytes(series)
        at = times * 1e-9
        return at[1:], np.diff(np.bincount(place, got, len(times)) / count) * 8e-6 / np.diff(at)

    def throughput(self, link: str, bins: int = 200) -> tuple[Array, Array, Array | None] | None:
        """What a watched link carried over time: edges of bins (s), Mbit/s in each, framing included, and what it could have carried.

        Bins are at least 100 ms long, if the run is. ``None`` if the link was not sampled.
        """
        series = self.table("queue_series", ["at_ns", "link", "sent_bytes"], link=link)
        if len(series) < 3:
            return None
        at, sent = series["at_ns"].to_numpy() * 1e-9, series["sent_bytes"].to_numpy().astype(np.float64)
        step = max(1, -(-len(at) // bins), round(0.1 / float(np.median(np.diff(at)))) if len(at) > 40 else 1)
        edges, bits = at[::step], np.diff(sent[::step]) * 8
        could = self.capacity(link, edges)
        # A frame counts as sent at one end of its transmission, so that a bin may hold a frame that its neighbour carried.
        if could is not None:
            bits = _within(bits, could)
        scale = 1e-6 / np.diff(edges)
        return edges, bits * scale, None if could is None else could * scale

    def capacity(self, link: str, edges: Array) -> Array | None:
        """What a link could carry between each of these times (s) and the next, in bits; ``None`` if packets take no time."""
        bits = self.core.capacity(link, [float(one) for one in edges], self.done.seed)
        return None if bits is None else np.array(bits)

    def varies(self, link: str) -> bool:
        """Whether the rate of a link changes during the run."""
        rates = self.capacity(link, np.linspace(0.0, self.experiment.duration_s, 51))
        return rates is not None and float(np.ptp(rates)) > 1e-3 * float(rates.max())

    @cached_property
    def core(self) -> _core.Scenario:
        """The scenario as the laboratory reads it."""
        return _core.Scenario.from_json(json.dumps(self.scenario))

    def total_rate_series(self) -> Array | None:
        """The goodput of all flows together after the warm-up, one value a sample, in Mbit/s a flow."""
        series = self.rate_series(None)
        if series is None:
            return None
        at, rate = series
        kept = rate[(at > self.warmup_s) & (at <= self.until_s)]
        return kept if len(kept) > 1 else None
