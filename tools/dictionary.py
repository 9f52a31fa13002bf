"""The dictionary of tables and columns, read off small runs of every mechanism: `docs/reference/data.md`."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from haltere import _core
from haltere.runs.tables import ROWS

#: What a column holds. One with `_after_warmup` holds the same without the warm-up.
MEANINGS = {
    "point": "place of the point in the sweep, from 0", "seed": "random seed of the run", "name": "the labels of the point in words",
    "key": "name of the run in the store", "digest": "SHA-256 of the run's tables", "wall_s": "time that the run took",
    "flow": "name of the flow", "group": "traffic entry", "kind": "traffic kind", "congestion": "congestion control",
    "from": "node that sends", "to": "node that receives", "start_ns": "start", "stop_ns": "stop, if the entry has one",
    "goodput_bps": "payload delivered in order, from the later of warm-up and start to the earliest of completion, stop and end",
    "received_bytes": "payload delivered in order", "packets_sent": "packets sent (UDP)", "packets_received": "packets received (UDP)",
    "completed_ns": "when the last byte was delivered", "segments_sent": "TCP segments sent, retransmissions included",
    "retransmissions": "segments sent again", "timeouts": "retransmission timeouts", "recoveries": "episodes of loss recovery",
    "ecn_reductions": "reductions of the window because of marks", "delivered": "segments acknowledged or SACKed",
    "delivered_ce": "of these, segments that were marked", "srtt_ns": "smoothed round-trip time", "min_rtt_ns": "least round-trip time seen",
    "rttvar_ns": "variation of the round-trip time", "cwnd_bytes": "congestion window", "in_flight_bytes": "bytes in flight",
    "acked_bytes": "bytes acknowledged", "ssthresh_bytes": "slow-start threshold", "pacing_rate_bps": "pacing rate",
    "at_ns": "time of the sample, from the start of the run", "rtt_ns": "round-trip time; of a link, that of the shortest path over it without queues",
    "link": "direction of the link, `FROM>TO`", "queue": "queue discipline", "watched": "whether its queue is sampled",
    "rate_bps": "rate; its mean if it varies", "delay_ns": "propagation delay; of a write, from the write to its delivery",
    "arrived": "packets that came to the queue", "sent": "packets that the link sent", "sent_bytes": "bytes that the link sent, framing left out",
    "dropped_overlimit": "packets dropped because the queue was full", "dropped_congestion": "packets dropped as a congestion signal",
    "dropped": "packets dropped so far", "marked": "packets marked CE", "returned": "packets returned to their senders",
    "lost": "packets that the link lost; of a call, that did not arrive", "peak_packets": "largest backlog", "mean_queue_packets": "backlog, mean over time after the warm-up",
    "utilisation": "part of the rate that was used after the warm-up, framing included", "drop_rate": "part of the packets that was dropped",
    "mark_rate": "part of the packets that was marked", "packets": "backlog of the discipline; of a call, packets after the warm-up", "bytes": "backlog of the discipline; of a completion, size of the flow or response; of a page, of its objects",
    "ring_packets": "packets in the device ring", "file_bytes": "size of the file", "data_ns": "when its data began", "end_ns": "end",
    "failures": "attempts that failed", "fct_ns": "flow completion time; null if the flow did not end",
    "ideal_ns": "completion time on an idle network", "slowdown": "completion time divided by the ideal one",
    "load_ns": "page load time, from the first connection to the last object; null if the page was not there at the end", "objects": "objects of the page",
    "bitrate_bps": "bitrate of the segment", "buffer_ns": "playing time in the buffer when the segment was asked for",
    "stall_ns": "how long the player stalled since the segment before came", "fetch_ns": "from the request to the last byte; null if it did not come",
    "late": "packets that came after their time to be played", "jitter_ns": "interarrival jitter of RFC 3550",
    "mouth_to_ear_ns": "delay from mouth to ear: of the first packet, the playout buffer and the codec", "rating": "rating R of ITU-T G.107",
    "mos": "mean opinion score that follows from the rating",
    "path": "path of the connection", "correlator": "correlator", "path_a": "one path", "path_b": "the other path",
    "coefficient": "correlation of the two", "shares": "whether they share a bottleneck, by this verdict",
    "received_after_warmup": "payload delivered in order after the warm-up", "segments": "segments sent on this path",
    "given_bytes": "bytes that the scheduler gave to this path", "reinjected": "bytes given to another path again",
    "replicas": "segments sent redundantly", "dup_acks": "duplicate ACKs", "depth": "packets that a packet left behind",
    "measure": "`sojourn` (of a link), `rtt` (of a TCP flow) or `one_way` (of a UDP flow)", "samples": "number of values",
    "mean_ns": "mean", "min_ns": "least value", "max_ns": "largest value", "p50_ns": "median", "p90_ns": "90th percentile",
    "p95_ns": "95th percentile", "p99_ns": "99th percentile", "p999_ns": "99.9th percentile",
    "expected": "packets from the first to the last that arrived (RFC 3550 appendix A.3)",
    "low_ns": "least value that the bin holds", "high_ns": "first value beyond it", "variable": "name of the inner variable",
    "unit": "its unit; of a state the names of its values from 0 on, separated by a bar", "value": "its value",
    "source_port": "source port", "destination_port": "destination port", "ip_id": "IP identification",
    "sojourn_ns": "time until the line took it or it was dropped", "fate": "`sent`, `marked`, `dropped_overlimit` or `dropped_congestion`",
}  # fmt: skip

#: The same of columns that mean something else in one table.
_ELSEWHERE = {
    ("depths", "packets"): "packets that left so many behind",
    ("packets", "at_ns"): "when it came to the queue",
    ("packets", "bytes"): "bytes on the link, framing included",
    ("packets", "flow"): "name of the flow; null if it is not known",
    ("delay_summary", "name"): "name of the link or flow",
    ("delay_bins", "name"): "name of the link or flow",
    ("delay_summary", "lost"): "of the expected packets, those that did not arrive",
}


class Column:
    """A column: its table, name, type and unit, and the mechanisms of which alone it is."""

    def __init__(self, table: str, field: pa.Field) -> None:
        self.table, self.name = table, str(field.name)
        value = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        self.type = "text" if pa.types.is_string(value) or pa.types.is_large_string(value) else str(value)
        self.unit = (field.metadata or {}).get(b"unit", b"").decode()
        self.of: set[str] = set()

    @property
    def meaning(self) -> str:
        """What it holds; of an inner variable, whose."""
        base = self.name.removesuffix("_after_warmup")
        if (self.table, self.name) in _ELSEWHERE:
            return _ELSEWHERE[self.table, self.name]
        if self.name in MEANINGS:
            return MEANINGS[self.name]
        if base in MEANINGS:
            return MEANINGS[base] + (" (after the warm-up)" if base != self.name else "")
        return f"inner variable of {', '.join(sorted(self.of))}"


#: Disciplines that are the line: their link has no rate.
_MEDIA = ("wifi", "cell", "docsis")
_LINKS = 'access = { rate = "100Mbit" }\nbottleneck = { rate = "5Mbit", delay = "2ms", queue = { kind = "QUEUE" } }\n'
_BASE = 'duration = "300ms"\n[measure]\nqueues = "10ms"\nflows = "10ms"\n[topology.dumbbell]\npairs = 2\n' + _LINKS
_ASKED = _BASE.replace("[topology", 'depths = true\ndelays = true\nstate = true\npackets = ["left>right"]\n[topology')
_PLAIN = '[[traffic]]\nkind = "bulk"\npairs = "all"\ncongestion = "CONTROL"\njitter = "0s"\n'
_MORE = (
    '[[traffic]]\nkind = "ping"\npairs = [1]\n[[traffic]]\nkind = "ftp"\npairs = [1]\nfiles = ["5kB"]\n'
    '[[traffic]]\nkind = "cbr"\npairs = [1]\nrate = "100kbit"\n[[traffic]]\nkind = "poisson"\nsizes = "cache"\nper_second = 20\n'
    '[[traffic]]\nkind = "web"\npairs = [1]\nobjects = 2\nsizes = "5kB"\n[[traffic]]\nkind = "voip"\npairs = [1]\n'
    '[[traffic]]\nkind = "video"\npairs = [1]\nsegment = "50ms"\nbuffer = "1s"\n'
)
_PATHS = (
    'duration = "1500ms"\n[measure]\nflows = "50ms"\n[topology.multipath]\n[[traffic]]\nkind = "multipath"\ncongestion = "lia"\n'
    'paths = [{ from = "s1", to = "d1" }, { from = "s2", to = "d2" }]\nmultipath = { correlators = ["sbd"] }\nrate = "1Mbit"\n'
)


def _runs() -> Iterator[tuple[str, str, str]]:
    """Small runs, which have every table and every inner variable: the mechanism that each shows, the table of its variables, and the experiment."""
    for queue in _core.names("queues"):
        base = _BASE.replace('rate = "5Mbit", ', "") if queue in _MEDIA else _BASE
        yield queue, "queue_series", (base + _PLAIN).replace("QUEUE", queue).replace("CONTROL", "reno")
    for control in _core.names("congestion"):
        yield control, "flow_series", (_BASE + _PLAIN).replace("QUEUE", "codel").replace("CONTROL", control)
    yield "", "", (_ASKED + _PLAIN + _MORE).replace("QUEUE", "codel").replace("CONTROL", "cubic")
    yield "multipath", "paths", _PATHS


def columns() -> dict[str, list[Column]]:
    """Every column, by table."""
    out: dict[str, dict[str, Column]] = {}
    for of, inner, text in _runs():
        try:
            scenario = _core.Scenario.from_toml(text, "dictionary")
        except _core.InputError:
            continue  # a mechanism that needs more than its name, such as a coupled control
        for name, table in _core.run(scenario, 1, _core.Progress()).tables().items():
            known = out.setdefault(name, {})
            for field in pa.table(table).schema:
                column = known.setdefault(field.name, Column(name, field))
                if name == inner:
                    column.of.add(of)
    return {name: list(some.values()) for name, some in out.items()}


def page(made: str) -> str:
    """The page as Markdown."""
    parts = [
        made,
        "# Tables of results",
        "`results.table(NAME)` and `results.pandas(NAME)` give a table over all runs, `haltere results --query` asks it in SQL, and `haltere export` "
        "writes it. Each row has `point` and `seed` in front. Times are nanoseconds from the start of the run. The unit of a column is also in the "
        "metadata of its Arrow field. A column that a mechanism lacks is null.",
    ]
    for name, some in columns().items():
        rows = ["| column | type | unit | meaning |", "|---|---|---|---|"]
        rows += [f"| `{one.name}` | {one.type} | {one.unit} | {one.meaning} |" for one in some]
        parts += [f"## `{name}`", f"One row: {ROWS[name]}.", "\n".join(rows)]
    extra = {
        "points": ["point", "name"],
        "runs": ["key", "point", "seed", "digest", "wall_s"],
    }
    for name, known in extra.items():
        rows = ["| column | meaning |", "|---|---|", *(f"| `{one}` | {MEANINGS[one]} |" for one in known)]
        if name == "points":
            rows.append("| an axis of the sweep, by its last word | its value at this point |")
        parts += [f"## `{name}`", f"One row: {ROWS[name]}.", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"
