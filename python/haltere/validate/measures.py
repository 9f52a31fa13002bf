"""The measures of one run, computed in the same way from the harness's results and from ours.

A measure's key names the quantity, the direction and the subject, e.g. `goodput fwd` or `share fwd bbr`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ..analysis import stats
from . import dynamics
from .scenario import Flow, Scenario, expand_transfers

Measures = dict[str, float | None]

WAYS = ("fwd", "rev")


def goodputs(way: str, flows: list[tuple[str, float]]) -> Measures:
    """Goodput, fairness and shares of the flows one way: pairs of control and Mbit/s."""
    if not flows:
        return {}
    rates = [rate for _, rate in flows]
    measures: Measures = {f"goodput {way}": sum(rates)}
    if len(flows) > 1:
        measures[f"jain {way}"] = stats.jain(rates) if any(rates) else None
    controls = list(dict.fromkeys(control for control, _ in flows))
    if len(controls) > 1 and sum(rates) > 0:
        for control in controls:
            of_control = sum(rate for name, rate in flows if name == control)
            measures[f"share {way} {control}"] = 100 * of_control / sum(rates)
    return measures


def queue(way: str, length: float, drops: float, sent: float, marks: float | None) -> Measures:
    """A queue's mean length and its loss and mark rates in percent, as the harness's summary defines them."""
    measures: Measures = {f"queue {way}": length, f"loss {way}": 100 * drops / max(1, drops + sent)}
    if marks:
        measures[f"marks {way}"] = 100 * marks / max(1, sent)
    return measures


def counts_all_marks(s: Scenario) -> bool:
    """False where the harness counts only some of the marks: those of a `ce_threshold` and of CAKE are counted elsewhere."""
    text = f"{s.qdisc} {s.qdisc_rev}"
    return "ce_threshold" not in text and "cake" not in text


Timed = tuple[str, int, float, float | None]
"""A short flow: way, bytes, start in seconds, and completion time in seconds or `None` if it was not done."""
ROOM_TO_END_s = 6.0
"""Transfers that start later than this before the end are left out, as in the harness's summary: many of them cannot be done."""


def labels(flows: Sequence[Flow]) -> list[str]:
    """The names of shares: the control, with what the flows differ in besides (ECN, their host)."""
    names = [flow.cc for flow in flows]
    if len({bool(flow.ecn) for flow in flows}) > 1:
        names = [f"{name} {'ecn' if flow.ecn else 'plain'}" for name, flow in zip(names, flows, strict=True)]
    if len({flow.host for flow in flows}) > 1:
        names = [f"{name} {flow.host or 'n1'}" for name, flow in zip(names, flows, strict=True)]
    return names


def marks_acknowledged(s: Scenario, way: str, flows: Sequence[tuple[str, float, float]]) -> Measures:
    """The marked part of what the senders had acknowledged over the whole run: (control, packets, marked packets).

    Taken if the queue's own count is not whole; DCTCP's receivers echo each mark, others do not.
    """
    sent = sum(packets for _, packets, _ in flows)
    if counts_all_marks(s) or not sent or any(control != "dctcp" for control, _, _ in flows):
        return {}
    return {f"marks {way} told": 100 * sum(marked for _, _, marked in flows) / sent}


def fct(s: Scenario, transfers: Sequence[Timed]) -> Measures:
    """Completion times of the transfers by way and size, and the part of them that was done if not all were.

    Median and 95th percentile are those of the transfers that were done, taken as the harness's summary takes them. A run in
    which fewer than half were done has none: the longest are missing.
    """
    counted = [one for one in transfers if s.warmup <= one[2] <= s.duration - ROOM_TO_END_s]
    measures = Measures()
    for way, size in sorted({(way, size) for way, size, _, _ in counted}):
        of = [time for there, bytes_, _, time in counted if (there, bytes_) == (way, size)]
        done = sorted(1000 * time for time in of if time is not None)
        name = f"{way} {size // 1000} kB"
        enough = 2 * len(done) >= len(of)
        measures[f"fct {name} p50"] = median(done) if enough else None
        measures[f"fct {name} p95"] = done[int(0.95 * (len(done) - 1))] if enough else None
        measures[f"done {name}"] = 100 * len(done) / len(of)
    return measures


def rate_between(series: list[tuple[float, float]], warmup: float) -> float | None:
    """Mbit/s between the first and the last of (seconds, bytes) after the warm-up."""
    after = [(at, bytes_) for at, bytes_ in series if at >= warmup]
    if len(after) < 2:
        return None
    return (after[-1][1] - after[0][1]) * 8e-6 / (after[-1][0] - after[0][0])


def pings(rtts_ms: list[float]) -> Measures:
    """Median and 95th percentile of the pings."""
    return {f"ping {name}": stats.percentile(rtts_ms, q) for name, q in (("median", 50), ("p95", 95)) if rtts_ms}


def has_data(s: Scenario, way: str) -> bool:
    """True if data flows in that direction, so that its queue matters."""
    ways = [*(one.dir for one in s.flows), *(one.dir for one in s.transfers), *(one.dir for one in s.udp)]
    return way in ways


def _of_transfers(s: Scenario, result: Mapping[str, Any]) -> Measures:
    """The completion times of a result, whole (a list of tables) or compact (only the times, in the order of their start)."""
    times = [one["fct"] if isinstance(one, dict) else one for one in result.get("transfers") or []]
    drawn = expand_transfers(s)
    if len(times) != len(drawn):
        return {}
    return fct(s, [(one.dir, one.bytes, one.start, time) for one, time in zip(drawn, times, strict=True)])


def of_linux(s: Scenario, result: Mapping[str, Any]) -> Measures:
    """The measures of one result of the harness."""
    measures: Measures = {}
    for way in WAYS:
        some = [flow for flow in result["flows"] if flow["dir"] == way]
        names = labels([Flow(cc=str(flow["cc"]), ecn=flow.get("ecn"), host=flow.get("host")) for flow in some])
        measures |= goodputs(
            way, [(name, flow.get("goodput_mbit") or 0.0) for name, flow in zip(names, some, strict=True)]
        )
        counts = [(flow["cc"], flow.get("delivered_pkts", 0), flow.get("delivered_ce", 0)) for flow in some]
        measures |= marks_acknowledged(s, way, counts)
        # Where netem shapes, its one queue is listed under the shaper's name only.
        found = result["queues"].get(way) or result["queues"].get(f"shaper_{way}")
        if found and has_data(s, way):
            marks = found.get("marked", found.get("ecn_mark")) if counts_all_marks(s) else None
            measures |= queue(way, found["qlen_mean"], found["drops"], found["packets"], marks)
    for label, found in sorted(result["queues"].items()):
        if s.paths and label.rstrip("0123456789") in WAYS:
            path = label[3:] or "0"
            measures[f"path {path} link"] = found["rate_mbit"]
            measures[f"path {path} loss"] = 100 * found["drops"] / max(1, found["drops"] + found["packets"])
    measures |= _of_transfers(s, result)
    for number, udp in enumerate(result.get("udp") or []):
        series = [(at, received * udp.get("size", 1000)) for at, _, received in udp.get("series", [])]
        measures[f"goodput {udp.get('dir', 'fwd')} udp {number}"] = rate_between(series, s.warmup)
    ping = result.get("ping")
    if ping and ping.get("median_ms") is not None:
        measures |= {"ping median": ping["median_ms"], "ping p95": ping["p95_ms"]}
    return measures | dynamics.of_linux(s, result)


def of_summary(row: dict[str, Any], index: int) -> Measures:
    """The measures of one repetition of which only the row in `summary.json` is left."""
    measures: Measures = {}

    def take(key: str, name: str) -> None:
        values = row.get(key)
        if isinstance(values, list) and index < len(values) and values[index] is not None:
            measures[name] = values[index]

    for way in WAYS:
        take(f"goodput_{way}", f"goodput {way}")
        take(f"jain_{way}", f"jain {way}")
        take(f"qlen_mean_{way}", f"queue {way}")
        take(f"loss_pct_{way}", f"loss {way}")
        take(f"mark_pct_{way}", f"marks {way}")
        by_control = {name: rates[index] for name, rates in row.get(f"by_cc_{way}", {}).items() if index < len(rates)}
        total = sum(by_control.values())
        if total > 0:
            measures |= {f"share {way} {name}": 100 * rate / total for name, rate in by_control.items()}
    take("ping_median", "ping median")
    take("ping_p95", "ping p95")
    return measures
