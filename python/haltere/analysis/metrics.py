"""Metrics: one number that is read off a run. This is the only list of them; one entry of ``METRICS`` adds one, and an
experiment file may add its own.

The report, the sentences, comparisons of variants and of worlds, the stopping rule and the command line read this list.
A name alone means the whole run. A part after a dot means one traffic entry, one watched link, or another part that the metric
has: ``goodput.bulk1``, ``queue.left>right``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc

from .. import _core
from ..errors import InputError, nearest
from ..experiment import Experiment
from . import delays, newest, own, stats, workloads
from .measures import Array, Run
from .stats import Mean

NAN = math.nan
Measure = Callable[[Run, str | None], float]
#: Where a metric is shown without being asked for: in comparisons of variants, and in comparisons of worlds.
Shown = Literal["variants", "worlds"]


@dataclass(frozen=True)
class Metric:
    """One metric."""

    name: str
    about: str
    unit: str
    of: Measure
    """Computes it from one run and a part (``None``: the whole run). NaN if the run has none."""
    better: Literal["higher", "lower", "neither"]
    digits: int
    """Decimals in a table."""
    part: str = ""
    """What may follow its dot: a key of ``PARTS``."""
    label: str = ""
    """Its name in a row of a table; default: ``about``."""
    table: str = ""
    """The table of the report in which it is a column, if any: see :mod:`haltere.analysis.summary`."""
    column: str = ""
    """The heading of that column; default: the label and the unit."""
    key: str = ""
    """Its name in a summary for programs; default: ``name``."""
    shown: tuple[Shown, ...] = ("variants", "worlds")
    percent: bool = False
    """It is a part of 1, which people read in per cent."""
    rare: bool = False
    """A comparison leaves it out if it is 0 on both sides."""
    judged: bool = False
    """The stopping rule takes it if none is named."""
    over: bool = False
    """The report draws it over the axes of a large sweep."""
    reads: str = ""
    """The table of the run that it is read off; default: `links` of a metric of links, else `flows`."""
    asked: str = ""
    """The key of `[measure]` without which tables leave it out."""
    version: str = ""
    """What else than the code decides its value, so that what was measured before is not taken for another."""
    applies: Callable[[Run, str | None], bool] | None = None
    """Whether it says anything of this run; if not, only a summary has it. Default: always."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", self.reads or ("links" if self.part == "link" else "flows"))

    def value(self, run: Run, part: str | None = None) -> float:
        """The metric of a run; NaN if the run has none or if it says nothing."""
        applies = self.applies
        if applies and not run.fact(f"?{self.name} {part or ''}", lambda: bool(applies(run, part))):
            return NAN
        return self.measure(run, part)

    def measure(self, run: Run, part: str | None = None) -> float:
        """The metric of a run, whether it says something or not; kept with the results, so that it is measured once."""

        def measured() -> float | None:
            value = self.of(run, part)
            return value if math.isfinite(value) else None

        known = run.fact(f"{self.name} {part or ''}{self.version}", measured)
        return NAN if known is None else float(known)

    @property
    def described(self) -> dict[str, str]:
        """What a list of the metrics says of it."""
        value = '["LINK"]' if self.asked == "packets" else "true"
        asked = f"with `{self.asked} = {value}` in `[measure]`"
        return {
            "unit": self.printed[1], "table": self.reads, "better": self.better, "part": _AFTER_DOT.get(self.part, ""),
            "needs": asked if self.asked else "with `depths = true` in `[measure]`" if self.reads == "depths" else "",
        }  # fmt: skip

    @property
    def heading(self) -> str:
        """The heading of its column."""
        return self.column or (f"{self.row} ({self.unit})" if self.unit else self.row)

    @property
    def row(self) -> str:
        """The heading of its row."""
        return self.label or self.about

    @property
    def printed(self) -> tuple[float, str]:
        """The factor and the unit in which people read it."""
        return (100.0, "%") if self.percent else (1.0, self.unit)

    def best(self, values: Sequence[float]) -> int:
        """The place of the best value; of the least if neither higher nor lower is better."""
        return int(np.argmax(values)) if self.better == "higher" else int(np.argmin(values))


# -- how they are computed ------------------------------------------------------------------------------------------------


def _goodput(run: Run, group: str | None) -> float:
    rates = run.goodput_mbit(group)
    return float(rates.sum()) if len(rates) else NAN


def _goodput_flow(run: Run, of: str | None) -> float:
    flows = None if of is None else run.classes().get(of, [])
    if run.come_and_go(flows):
        return NAN  # a row of such an entry is the sum of its flows
    rates = run.goodput_mbit() if flows is None else run.goodput_of(flows)
    return float(rates.mean()) if len(rates) else NAN


def _took(run: Run, group: str | None) -> float:
    sized = {one.name for one in run.experiment.traffic if one.values.get("bytes")}
    rows = run.table("flows", group=group).select(["group", "start_ns", "completed_ns"]).to_pylist()
    end = run.experiment.duration_s * 1e9
    spans = [
        (end if row["completed_ns"] is None else row["completed_ns"]) - row["start_ns"]
        for row in rows
        if row["group"] in sized
    ]
    return float(np.mean(spans)) * 1e-9 if spans else NAN


def _again(run: Run, group: str | None) -> float:
    rows = run.table("flows", group=group).select(["segments_sent", "retransmissions"])
    sent = pc.sum(rows["segments_sent"]).as_py()
    return float(pc.sum(rows["retransmissions"]).as_py() / sent) if sent else NAN


def _share(run: Run, of: str | None) -> float:
    classes = run.classes()
    if of is None or of not in classes or len(classes) < 2:
        return NAN
    return float(run.goodput_of(classes[of]).sum() / max(float(run.goodput_mbit().sum()), 1e-9))


def _jain(run: Run, group: str | None) -> float:
    if group is not None and group in run.arrivals():
        return NAN  # the rates of flows that come and go are no shares of one link
    rates = run.goodput_mbit(group)
    return stats.jain(rates) if len(rates) > 1 else NAN


def _alike(run: Run, group: str | None) -> bool:
    """More than one flow, all of one kind that does not come and go, and all over the same watched links: only then are shares comparable."""
    return len(run.goodput_mbit(group)) > 1 and run.is_alike(group)


def _percentile(values: Array, q: float) -> float:
    return stats.percentile(values, q) if len(values) else NAN


def _ping(q: float) -> Measure:
    return lambda run, _: _percentile(run.ping_ms(), q)


def _link(measure: Callable[[Run, str], float | None]) -> Measure:
    """Of one link; of the first watched one if none is named."""

    def of(run: Run, link: str | None) -> float:
        watched = run.watched()
        if link is None and not watched:
            return NAN
        value = measure(run, link or watched[0])
        return NAN if value is None else float(value)

    return of


def _wait(run: Run, link: str) -> float:
    if run.link(link)["rate_bps"] is None:
        return NAN
    waits = run.queue_delay_ms(link)
    return float(waits.mean()) if len(waits) else NAN


def sizes(run: Run) -> dict[str, tuple[float, float]]:
    """Sizes of flows, in bytes: over the first and up to the second. `[measure] size_bins` says where they part."""
    edges = [_core.parse_quantity("bytes", one) for one in run.experiment.asked("size_bins") or ("100kB", "10MB")]
    named = [_spelt(edge) for edge in edges]
    out = {"all": (0.0, math.inf), f"up to {named[0]}": (0.0, edges[0])}
    for i in range(1, len(edges)):
        out[f"{named[i - 1]} to {named[i]}"] = (edges[i - 1], edges[i])
    return {**out, f"over {named[-1]}": (edges[-1], math.inf)}


def _spelt(size: float) -> str:
    factor, unit = next(((f, u) for f, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if size >= f), (1.0, "B"))
    return f"{size / factor:g} {unit}"


def _completion(column: str, q: float, scale: float = 1.0) -> Measure:
    """A percentile over the flows that ended; the part is a traffic entry and one of its ``sizes``: ``web/up to 100 kB``."""

    def of(run: Run, part: str | None) -> float:
        group, _, size = (part or "").rpartition("/")
        values = run.completion(group or None, column, sizes(run)[size or "all"])
        return _percentile(values[~np.isnan(values)] * scale, q)

    return of


def _uploads(run: Run, _: str | None) -> float:
    return float(len(run.upload_s())) if len(run.table("tasks")) else NAN


def _upload(sizes: tuple[float, float]) -> Measure:
    def of(run: Run, _: str | None) -> float:
        times = run.upload_s(sizes)
        return float(times.mean()) if len(times) else NAN

    return of


def _completion_parts(run: Run) -> list[str]:
    if run.completions is None:
        return []
    return [f"{group}/{size}" for group in run.completing() for size in sizes(run)]


def _flow_delay(kind: Literal["rtt", "one_way"]) -> Callable[[float], Measure]:
    return lambda q: lambda run, group: delays.percentile_ms(run, kind, run.flows_of(group), q)


def _sojourn(q: float) -> Measure:
    return _link(lambda run, link: delays.percentile_ms(run, "sojourn", [link], q))


def _percentiles(name: str, median: str, rest: str, of: Callable[[float], Measure], part: str) -> Iterator[Metric]:
    """The median and two percentiles of a delay that `[measure] delays` asks for. `rest` is what the last two are of."""
    for q in (50, 95, 99):
        about = median if q == 50 else f"{q}th percentile of {rest}"
        yield Metric(f"{name}_p{q}", about, "ms", of(q), "lower", 3, part, table=name, column=f"p{q}", key=f"p{q}",
                     shown=("variants",), over=q == 95, asked="delays", reads="delay_bins")  # fmt: skip


def _workload(kind: str, table: str, reads: str, *rows: tuple[Any, ...]) -> Iterator[Metric]:
    """Metrics of a traffic kind. A row: name, what it is, unit, measure, which is better, decimals, heading, and what else holds of it."""
    for name, about, unit, measure, better, digits, column, *holds in rows:
        flags: dict[str, Any] = dict.fromkeys(holds, True)
        label = column if not unit and not digits else ""  # a count
        yield Metric(name, about, unit, workloads.of(kind, measure), better, digits, "traffic", label=label, table=table, column=column,
                     reads=reads, shown=("variants",), **flags)  # fmt: skip


#: What may follow the dot of a metric, and which there are in a run.
PARTS: dict[str, Callable[[Run], list[str]]] = {
    "": lambda run: [],
    "traffic": Run.groups,
    "class": lambda run: list(run.classes()),
    "link": Run.watched,
    "completion": _completion_parts,
}

# -- the list -------------------------------------------------------------------------------------------------------------

_ONLY_ASKED: tuple[Shown, ...] = ()
_ALL = (
    Metric("goodput", "payload delivered in order, all flows together", "Mbit/s", _goodput, "higher", 2, "traffic",
           label="goodput of all flows", table="traffic", column="goodput (Mbit/s)", key="goodput_mbit", judged=True, over=True),
    Metric("goodput_flow", "mean goodput of a flow", "Mbit/s", _goodput_flow, "higher", 2, "class",
           table="classes", column="goodput of a flow (Mbit/s)", shown=_ONLY_ASKED),
    Metric("took", "mean time of transfers that have a size, from start to last byte or to the end of the run", "s", _took, "lower", 3, "traffic",
           label="time of a transfer", shown=_ONLY_ASKED),
    Metric("sent_again", "part of the segments that senders sent again", "", _again, "lower", 4, "traffic", shown=_ONLY_ASKED, percent=True),
    Metric("share", "part of all goodput that flows of one class got", "", _share, "neither", 1, "class",
           label="share", table="classes", column="share of all (%)", shown=("worlds",), percent=True),
    Metric("jain", "Jain's index over the flows' goodput", "", _jain, "higher", 4, "traffic",
           label="Jain's index", table="traffic", judged=True, applies=_alike),
    Metric("ping_p50", "median ping round-trip time", "ms", _ping(50), "lower", 1,
           label="ping: median", table="ping", column="p50", key="p50", judged=True, reads="pings"),
    Metric("ping_p95", "95th percentile of the ping round-trip times", "ms", _ping(95), "lower", 1,
           label="ping: 95th percentile", table="ping", column="p95", key="p95", over=True, reads="pings"),
    Metric("ping_p99", "99th percentile of the ping round-trip times", "ms", _ping(99), "lower", 1,
           label="ping: 99th percentile", table="ping", column="p99", key="p99", shown=("variants",), reads="pings"),
    Metric("utilisation", "part of the link's rate that was used", "", _link(Run.utilisation), "higher", 3, "link",
           label="utilisation", table="links", percent=True, over=True),
    Metric("queue", "mean queue", "packets", _link(Run.mean_queue_packets), "lower", 1, "link",
           table="links", key="mean_queue_packets", shown=("variants",), over=True, reads="queue_series"),
    Metric("drops", "packets that the queue dropped", "packets", _link(Run.drops), "lower", 0, "link",
           table="links", column="drops", shown=("variants",), over=True),
    Metric("marks", "packets that the queue marked", "packets", _link(Run.marks), "neither", 0, "link",
           table="links", column="marks", shown=("variants",)),
    Metric("queue_counted", "mean queue over time, from the queue's counters", "packets",
           _link(lambda run, link: run.link(link)["mean_queue_packets"]), "lower", 2, "link",
           label="mean queue", shown=("worlds",)),
    Metric("drop_rate", "part of the packets that the queue dropped", "", _link(lambda run, link: run.link(link)["drop_rate"]),
           "lower", 4, "link", label="dropped", shown=("worlds",), percent=True),
    Metric("mark_rate", "part of the packets that the queue marked", "", _link(lambda run, link: run.link(link)["mark_rate"]),
           "neither", 4, "link", label="marked", shown=("worlds",), percent=True, rare=True),
    Metric("depth", "mean number of packets that a packet leaves behind in the queue", "packets", _link(Run.mean_depth), "lower", 2,
           "link", label="depth at dequeue: mean", shown=_ONLY_ASKED, reads="depths"),
    Metric("depth_p50", "median of the same", "packets", _link(lambda run, link: run.depth_percentile(link, 50)), "lower", 1,
           "link", label="depth at dequeue: median", shown=_ONLY_ASKED, reads="depths"),
    Metric("depth_p95", "95th percentile of the same", "packets", _link(lambda run, link: run.depth_percentile(link, 95)), "lower", 1,
           "link", label="depth at dequeue: 95th percentile", shown=_ONLY_ASKED, reads="depths"),
    Metric("wait", "mean time that a packet waits in the queue", "ms", _link(_wait), "lower", 1, "link", shown=_ONLY_ASKED, reads="queue_series"),
    Metric("fct_p50", "median flow completion time", "ms", _completion("fct_ns", 50, 1e-6), "lower", 3, "completion",
           table="completions", column="FCT p50 (ms)", key="fct_ms_p50", shown=_ONLY_ASKED, over=True, reads="completions"),
    Metric("fct_p95", "95th percentile of the flow completion times", "ms", _completion("fct_ns", 95, 1e-6), "lower", 3, "completion",
           table="completions", column="p95", key="fct_ms_p95", shown=_ONLY_ASKED, reads="completions"),
    Metric("fct_p99", "99th percentile of the flow completion times", "ms", _completion("fct_ns", 99, 1e-6), "lower", 3, "completion",
           table="completions", column="p99", key="fct_ms_p99", shown=_ONLY_ASKED, over=True, reads="completions"),
    Metric("slowdown_p50", "median slowdown of the flows", "", _completion("slowdown", 50), "lower", 2, "completion",
           table="completions", column="slowdown p50", shown=_ONLY_ASKED, reads="completions"),
    Metric("slowdown_p99", "99th percentile of the slowdowns", "", _completion("slowdown", 99), "lower", 2, "completion",
           table="completions", column="p99", shown=_ONLY_ASKED, reads="completions"),
    *_workload("web", "web", "pages",
        ("pages", "web pages that were loaded", "", workloads.count(workloads.load_s), "higher", 0, "pages"),
        ("page_load_p50", "median page load time", "s", workloads.percentile(workloads.load_s, 50), "lower", 3, "load time p50 (s)", "over"),
        ("page_load_p95", "95th percentile of the page load times", "s", workloads.percentile(workloads.load_s, 95), "lower", 3, "p95 (s)", "over")),
    *_workload("rpc", "rpc", "completions",
        ("calls", "calls that were answered", "", workloads.count(workloads.response_ms), "higher", 0, "calls"),
        ("rpc_p50", "median time of a call", "ms", workloads.percentile(workloads.response_ms, 50), "lower", 3, "time of a call p50 (ms)"),
        ("rpc_p95", "95th percentile of the times of calls", "ms", workloads.percentile(workloads.response_ms, 95), "lower", 3, "p95 (ms)", "over"),
        ("rpc_p99", "99th percentile of the times of calls", "ms", workloads.percentile(workloads.response_ms, 99), "lower", 3, "p99 (ms)", "over")),
    *_workload("video", "video", "segments",
        ("video_bitrate", "mean bitrate of the video", "Mbit/s", workloads.mean(workloads.bitrates_mbit), "higher", 2, "mean bitrate (Mbit/s)", "over"),
        ("rebuffer_ratio", "part of the time that players stalled", "", workloads.stall_share, "lower", 4, "rebuffer ratio", "percent", "over"),
        ("video_switches", "changes of the bitrate in a minute of video", "", workloads.switches, "lower", 2, "switches a minute"),
        ("video_startup", "mean time until a player starts", "s", workloads.startup_s, "lower", 3, "start-up (s)")),
    *_workload("voip", "voice", "voices",
        ("mos", "mean opinion score of the calls", "", workloads.voice("mos"), "higher", 2, "MOS", "over"),
        ("voip_loss", "part of the voice packets that was lost or late", "", workloads.voice_loss, "lower", 4, "lost or late", "percent"),
        ("voip_delay", "mean delay of the voice from mouth to ear", "ms", workloads.voice("mouth_to_ear_ns", 1e-6), "lower", 1, "mouth to ear (ms)"),
        ("voip_jitter", "interarrival jitter of the voice packets (RFC 3550)", "ms", workloads.voice("jitter_ns", 1e-6), "lower", 3, "jitter (ms)")),
    *_percentiles("sojourn", "median sojourn time in a watched queue", "the sojourn times", _sojourn, "link"),
    *_percentiles("rtt", "median of the round-trip times that TCP senders sampled", "the same", _flow_delay("rtt"), "traffic"),
    *_percentiles("one_way", "median one-way delay of UDP packets", "the same", _flow_delay("one_way"), "traffic"),
    Metric("one_way_jitter", "mean interarrival jitter of UDP packets (RFC 3550)", "ms", lambda run, group: delays.jitter_ms(run, run.flows_of(group)),
           "lower", 3, "traffic", table="one_way", column="jitter", key="jitter", shown=("variants",), asked="delays", reads="delay_summary"),
    Metric("one_way_loss", "part of the UDP packets that did not arrive (RFC 3550)", "", lambda run, group: delays.loss(run, run.flows_of(group)),
           "lower", 4, "traffic", table="one_way", column="lost (part)", key="loss", shown=("variants",), percent=True, asked="delays", reads="delay_summary"),
    Metric("self_inflicted", "95th percentile of the age of a flow's newest packet behind a link, less that of an omniscient sender", "ms",
           _link(newest.self_inflicted_ms), "lower", 1, "link", label="self-inflicted delay", table="links", column="self-inflicted (ms)",
           shown=("variants",), over=True, asked="packets", reads="packets"),
    Metric("convergence", "time until all flows stay near their fair share", "s", delays.convergence_s, "lower", 2, "traffic",
           shown=_ONLY_ASKED, reads="flow_series"),
    Metric("uploads", "uploads done", "", _uploads, "higher", 0, shown=("worlds",), reads="tasks"),
    Metric("upload_small", "mean time of an upload of up to 16 kB", "s", _upload((0.0, 16e3)), "lower", 2,
           label="upload, up to 16 kB: mean time", shown=("worlds",), reads="tasks"),
    Metric("upload_large", "mean time of an upload above 16 kB", "s", _upload((16e3, math.inf)), "lower", 2,
           label="upload, above 16 kB: mean time", shown=("worlds",), reads="tasks"),
)  # fmt: skip

METRICS: dict[str, Metric] = {one.name: one for one in _ALL}

_AFTER_DOT = {
    "traffic": "a traffic entry", "class": "a class of flows: a traffic entry, or a control that it assigns", "link": "a watched link",
    "completion": "a traffic entry, and after a slash a range of sizes",
}  # fmt: skip


def known(scenario: Mapping[str, Any]) -> dict[str, Metric]:
    """The metrics of a scenario by name: those of the list, and its own."""
    mine = Experiment(scenario).asked("metrics") or {}
    for name in mine:
        if name in METRICS:
            raise InputError(f"measure.metrics: metric must have a name that is not taken, got `{name}`")
    return {**METRICS, **{name: _own(name, one) for name, one in mine.items()}} if mine else METRICS


def _own(name: str, table: Mapping[str, Any]) -> Metric:
    sql = str(table["sql"])
    return Metric(
        name, str(table.get("about") or name), str(table.get("unit", "")), lambda run, _: own.answer(run, name, sql),
        table.get("better", "neither"), 3, table="own", shown=("variants",), over=True, version=f" {own.version(sql)}",
    )  # fmt: skip


# -- questions to the list ------------------------------------------------------------------------------------------------


def check(names: Sequence[str], where: str, scenario: Mapping[str, Any] | None = None) -> None:
    """Refuses names that no run of the scenario has; what follows a dot is checked against the first run."""
    some = known(scenario or {})
    for name in names:
        head, dot, _ = name.partition(".")
        if head not in some:
            rule = f"one of the {len(some)} that `haltere list metrics` names"
            raise InputError(f"{where}: metric must be {rule}, got `{head}`{nearest(head, some, 3)}")
        if dot and not some[head].part:
            raise InputError(f"{where}: metric must be `{head}` without a part, got `{name}`")


def metric(name: str, scenario: Mapping[str, Any] | None = None) -> Metric:
    """The metric of that name, which may have a part."""
    return known(scenario or {})[name.partition(".")[0]]


def parts(run: Run, kind: str) -> list[str]:
    """What may follow the dot of a metric of that kind."""
    return PARTS[kind](run)


def named(run: Run, name: str) -> float:
    """The metric of that name; NaN if the run has none, such as a ping time without pings."""
    head, dot, part = name.partition(".")
    one = metric(head, run.scenario)
    if dot and part not in parts(run, one.part):
        there = ", ".join(f"`{head}.{other}`" for other in parts(run, one.part)) or "none"
        raise InputError(f"metric must be `{head}` or one of {there}, got `{name}`")
    return one.value(run, part if dot else None)


def mean_of(runs: Sequence[Run], one: Metric | str, part: str | None = None) -> Mean | None:
    """The mean of a metric over those runs that have it, for a summary; ``None`` if none has."""
    measure = (METRICS[one] if isinstance(one, str) else one).measure
    values = [value for value in (measure(run, part) for run in runs) if not math.isnan(value)]
    return stats.mean(values) if values else None


def default(run: Run) -> list[str]:
    """What the stopping rule takes if no metric is named: those marked so that the run has."""
    return [name for name, one in METRICS.items() if one.judged and not math.isnan(one.value(run))]


def in_table(table: str, scenario: Mapping[str, Any] | None = None) -> list[Metric]:
    """The columns of a table of the report: of the list, and those that this scenario asks for."""
    asked = scenario or {}
    some = [one for one in known(asked).values() if one.table == table]
    return [one for one in some if not one.asked or Experiment(asked).asked(one.asked)]


def every(run: Run) -> dict[str, float]:
    """All metrics that comparisons of variants show and that the run has. Parts only if there are several."""
    names = []
    for head, one in known(run.scenario).items():
        if "variants" not in one.shown or (one.asked and not run.experiment.asked(one.asked)):
            continue
        some = parts(run, one.part)
        if one.part != "link" or len(some) == 1:
            names.append(head)
        if len(some) > 1:
            names += [f"{head}.{part}" for part in some]
    values = {name: named(run, name) for name in names}
    return {name: value for name, value in values.items() if not math.isnan(value)}


#: Kinds of parts that a comparison of worlds goes through; of others the whole run is compared.
_THROUGH = ("class", "link")


def worlds(run: Run) -> Iterator[tuple[str, Metric, str | None]]:
    """What comparisons of worlds show: the name of the row, the metric, and its part."""
    shown = [one for one in METRICS.values() if "worlds" in one.shown]
    for kind, some in groupby(shown, lambda one: one.part if one.part in _THROUGH else ""):
        group = list(some)
        if not kind:
            yield from ((one.row, one, None) for one in group)
        for part in parts(run, kind):
            if kind == "link" and not run.sent(part):
                continue
            for one in group:
                yield (f"{part}: {one.row}" if kind == "link" else f"{one.row} of {part}"), one, part
