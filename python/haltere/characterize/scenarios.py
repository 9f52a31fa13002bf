"""The scenarios of RFC 7928 (Characterization Guidelines for Active Queue Management, July 2016), with its section numbers.

One bottleneck of 10 Mbit/s and 100 ms of round-trip time without queues (sections 3.1 and 3.2), a buffer of two bandwidth-delay products for every
discipline alike, New Reno as the TCP-friendly control (section 5.1). What the RFC leaves open, or Haltere has not, is in `remark`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

RATE_MBIT, RTT_MS, BUFFER = 10.0, 100.0, "167p"
# Round-trip times of the second flow of section 6, from 5 ms to 560 ms, beside one of 100 ms.
RTTS_MS = (5.0, 20.0, 50.0, 100.0, 200.0, 350.0, 560.0)
# A packet of 1500 bytes at the bottleneck takes 1.2 ms: access links jitter by that, so that flows fall out of step.
_JITTER = "1200us"

NOT_RUN = (
    "LEDBAT, the RFC's less-than-best-effort sender (5.4), is not modelled: Vegas, which yields by delay as well, is in its place.",
    "Packet sizes other than full ones (4.3), and operators' knobs, cost of implementation and tuning (11, 12) are not measured.",
)


@dataclass(frozen=True)
class Case:
    """One scenario: its section of the RFC, its name, and the experiment without queue."""

    key: str
    section: str
    title: str
    topology: Mapping[str, Any]
    traffic: Sequence[Mapping[str, Any]]
    group: str
    """The figure in which it is drawn."""
    remark: str = ""
    tcp: Mapping[str, Any] = field(default_factory=dict)
    ecn: bool = False
    """The discipline marks, if it can."""
    link: str = "left>right"
    """The link at which delay is measured."""
    duration_s: float = 60.0
    warmup_s: float = 10.0
    schedule: Sequence[tuple[float, float]] = ()
    """Steps of the bottleneck's rate: from when (s), Mbit/s."""
    repeat_s: float = 0.0

    def rate_mbit(self, at_s: float) -> float:
        """The rate of the bottleneck at that time."""
        if not self.schedule:
            return RATE_MBIT
        when = at_s % self.repeat_s if self.repeat_s else at_s
        return [rate for start, rate in self.schedule if start <= when + 1e-9][-1]

    def experiment(self, queue: Mapping[str, Any], quick: bool) -> dict[str, Any]:
        """The experiment with this discipline at its bottleneck; `quick`: a third as long."""
        shorter = 3.0 if quick else 1.0
        return {
            "title": f"RFC 7928, {self.section}: {self.title}",
            "duration": f"{self.duration_s / shorter:g}s",
            "warmup": f"{self.warmup_s / shorter:g}s",
            "topology": _filled(self.topology, queue),
            "tcp": {"ecn": True, **self.tcp} if self.ecn else dict(self.tcp),
            "traffic": [_scaled(entry, shorter) for entry in self.traffic],
            "measure": {"queues": "10ms", "flows": "100ms"},
        }


def _filled(value: Any, queue: Mapping[str, Any]) -> Any:
    """The topology with the discipline wherever it says so."""
    if value == "QUEUE":
        return dict(queue)
    if isinstance(value, Mapping):
        return {key: _filled(one, queue) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, queue) for one in value]
    return value


def _scaled(entry: Mapping[str, Any], shorter: float) -> dict[str, Any]:
    """A traffic entry whose times are parts of a shorter run."""
    out = dict(entry)
    for key in ("start", "stop", "jitter"):
        if key in out and isinstance(out[key], float):
            out[key] = f"{out[key] / shorter:g}s"
    return out


#: New Reno flows that lose about 0.1, 0.5 and 1 % under drop tail with this link and buffer: mild, medium and heavy congestion (8.2.1). The card
#: shows what drop tail lost beside.
LEVELS = {"mild": (4, 0.1), "medium": (10, 0.5), "heavy": (14, 1.0)}


def _dumbbell(pairs: int, **more: Any) -> dict[str, Any]:
    bottleneck = {"rate": f"{RATE_MBIT:g}Mbit", "delay": "48ms", "queue": "QUEUE", **more}
    return {"dumbbell": {"pairs": pairs, "access": {"rate": "1Gbit", "delay": "1ms", "jitter": _JITTER}, "bottleneck": bottleneck}}  # fmt: skip


def _beside(rtt_ms: float) -> dict[str, Any]:
    """Two flows over one bottleneck, one of 100 ms and one of another round-trip time."""

    def access(a: str, b: str, rtt: float) -> dict[str, Any]:
        # Both ends of a path have one such link, 1 ms of the rest is the bottleneck's.
        return {"from": a, "to": b, "rate": "1Gbit", "delay": f"{(rtt / 2 - 1) / 2 * 1000:g}us", "jitter": _JITTER}

    links = [
        access("a1", "left", RTT_MS),
        access("b1", "left", rtt_ms),
        {"from": "left", "to": "right", "rate": f"{RATE_MBIT:g}Mbit", "delay": "1ms", "queue": "QUEUE", "watch": True},
        access("right", "a2", RTT_MS),
        access("right", "b2", rtt_ms),
    ]
    return {"graph": {"nodes": ["a1", "b1", "left", "right", "a2", "b2"], "links": links}}


def _bulk(pairs: Sequence[int] | str = "all", **more: Any) -> dict[str, Any]:
    return {"kind": "bulk", "pairs": pairs, "congestion": "reno", "jitter": 1.0, **more}


def _ping(**ends: Any) -> dict[str, Any]:
    return {"name": "ping", "kind": "ping", "interval": "50ms", **(ends or {"pairs": [1]})}


def _web(count: int, span_s: float = 55.0) -> dict[str, Any]:
    """Short transfers that begin at any time, with an initial window of ten."""
    return {"name": "web", "kind": "bulk", "pairs": [1], "count": count, "bytes": "100kB", "congestion": "cubic", "start": 0.5, "jitter": span_s}  # fmt: skip


def _stability() -> list[Case]:
    out = []
    for section, (name, (n, loss)) in zip(("8.2.2", "8.2.3", "8.2.4"), LEVELS.items(), strict=True):
        remark = f"{n} flows, which lose about {loss:g} % under drop tail"
        out.append(Case(name, section, f"{name} congestion", _dumbbell(n), [_bulk(), _ping()], "stability", remark))
    few, some, many = (n for n, _ in LEVELS.values())
    steps = [
        _bulk(list(range(1, few + 1))),
        _bulk(list(range(few + 1, some + 1)), start=20.0),
        _bulk(list(range(some + 1, many + 1)), start=40.0),
    ]
    out.append(Case("varying-congestion", "8.2.5", "congestion that grows", _dumbbell(many), [*steps, _ping()], "stability", "mild, then medium, then heavy, 20 s each"))  # fmt: skip
    for key, section, span, title in (
        ("varying-capacity-slow", "8.2.6.1", 20.0, "100 and 10 Mbit/s, 20 s each"),
        ("varying-capacity-fast", "8.2.6.2", 0.1, "100 and 10 Mbit/s, 0.1 s each"),
    ):
        schedule = [{"at": "0s", "rate": "100Mbit"}, {"at": f"{span:g}s", "rate": "10Mbit"}]
        varying = {"rate": "100Mbit", "schedule": schedule, "schedule_repeat": f"{2 * span:g}s"}
        # The buffer is that of 10 Mbit/s, in packets: `bdp` would be counted at the first rate.
        out.append(Case(key, section, title, _dumbbell(few, **varying), [_bulk(), _ping()], "stability", f"{few} flows", duration_s=80.0 if span > 1 else 60.0, warmup_s=0.0 if span > 1 else 10.0, schedule=((0.0, 100.0), (span, 10.0)), repeat_s=2 * span))  # fmt: skip
    return out


def _transports() -> list[Case]:
    udp = {"name": "udp", "kind": "cbr", "pairs": [2], "rate": "10Mbit", "packet": "1448B"}
    small = {"name": "iw3", "tcp": {"initial_window": 3}}
    reno = _bulk([1], name="reno")
    rows: list[tuple[str, str, str, str, list[dict[str, Any]]]] = [
        ("friendly", "5.1.1", "two TCP-friendly senders", "New Reno, initial window 10", [_bulk()]),
        ("initial-window", "5.1.2", "initial windows of 3 and 10", "New Reno", [_bulk([1], **small), _bulk([2], name="iw10")]),
        ("aggressive", "5.2", "an aggressive sender", "CUBIC beside New Reno", [reno, _bulk([2], congestion="cubic", name="cubic")]),
        ("unresponsive", "5.3.1", "an unresponsive sender", "UDP at the rate of the link", [udp]),
        ("unresponsive-friendly", "5.3.2", "unresponsive beside friendly", "UDP at the rate of the link beside New Reno", [reno, udp]),
        ("less-than-best-effort", "5.4", "a sender that yields", "Vegas for LEDBAT, beside New Reno",
         [reno, _bulk([2], congestion="vegas", name="vegas")]),
    ]  # fmt: skip
    return [
        Case(key, section, title, _dumbbell(2), [*traffic, _ping()], "transports", remark)
        for key, section, title, remark, traffic in rows
    ]


def _profiles() -> list[Case]:
    voice = {"name": "voice", "kind": "cbr", "pairs": [2], "rate": "64kbit", "packet": "160B"}
    video = {"name": "video", "kind": "on_off", "pairs": [3], "congestion": "cubic", "rate": "20Mbit", "on": "100ms", "off": "900ms"}  # fmt: skip
    each = {"uniform": ["0s", "2s"]}
    video2 = {**video, "on": "500ms", "rate": "4Mbit", "off": each}
    chain = {"rate": f"{RATE_MBIT:g}Mbit", "delay": "24ms", "jitter": _JITTER, "queue": "QUEUE", "watch": True}
    ends = ("n1", "n2", "n3")
    series = [
        {"kind": "bulk", "name": name, "from": a, "to": b, "count": 2, "congestion": "reno", "jitter": 1.0}
        for name, a, b in (("both", "n1", "n3"), ("first", "n1", "n2"), ("second", "n2", "n3"))
    ]
    medium = LEVELS["medium"][0]
    along = {"chain": {"nodes": list(ends), "links": [chain, chain]}}
    return [
        Case("bursts", "7", "bursts of web pages and video", _dumbbell(4), [_web(60), video, voice, _bulk([4]), _ping()], "profiles",
             "60 pages of 100 kB with an initial window of 10, video in bursts of 250 kB, voice, a bulk transfer"),
        Case("mix", "9.1", "a mix of traffic", _dumbbell(4), [_web(40), voice, video2, _bulk([4], count=2, congestion="cubic"), _ping()],
             "profiles", "40 pages, voice, video on and off, two CUBIC transfers"),
        Case("both-ways", "9.2", "traffic both ways", _dumbbell(4), [_bulk(direction="both"), _ping()], "profiles",
             "4 New Reno flows each way"),
        Case("series", "10", "two queues in series", along, [*series, _ping(**{"from": "n1", "to": "n3"})], "profiles",
             "2 flows through both, 2 through each alone; delay at the first", link="n1>n2"),
        Case("ecn", "4.5", "medium congestion with ECN", _dumbbell(medium), [_bulk(), _ping()], "profiles",
             f"{medium} flows, marked if the discipline can", ecn=True),
    ]  # fmt: skip


def _round_trips(quick: bool) -> list[Case]:
    times = (20.0, 100.0, 350.0) if quick else RTTS_MS
    flows = [
        {"kind": "bulk", "name": "fixed", "from": "a1", "to": "a2", "congestion": "reno", "jitter": 1.0},
        {"kind": "bulk", "name": "other", "from": "b1", "to": "b2", "congestion": "reno", "jitter": 1.0},
        _ping(**{"from": "a1", "to": "a2"}),
    ]
    return [Case(f"rtt-{rtt:g}", "6", f"round-trip times of 100 and {rtt:g} ms", _beside(rtt), flows, "rtt", "two New Reno flows") for rtt in times]  # fmt: skip


def cases(quick: bool = False) -> list[Case]:
    """Every scenario, in the order of the RFC."""
    return [*_transports(), *_round_trips(quick), *_stability(), *_profiles()]
