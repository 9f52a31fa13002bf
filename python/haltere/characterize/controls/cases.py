"""The scenarios in which a congestion control is characterised: paths, traffic and the measured window.

The control under test is in the entries whose name begins with `own`. The base is 20 Mbit/s, 40 ms of round-trip time without queues and a
drop-tail buffer of one bandwidth-delay product (67 packets); each scenario says what is different.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

RATE_MBIT, RTT_MS = 20.0, 40.0
#: Buffers in bandwidth-delay products: from below the 1.5 of RFC 9743, section 5.1.3, to bufferbloat.
BUFFERS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
#: The buffers in which the control stands beside others.
BESIDE = (0.5, 1.0, 4.0)
#: Random loss of the line, in percent.
LOSSES = (0.0, 0.01, 0.1, 1.0, 3.0)
#: Flows of the same control.
COUNTS = (2, 8, 32)
RATES_MBIT, RTTS_MS = (2.0, 20.0, 200.0), (10.0, 40.0, 160.0)
#: Scenarios in which the path changes at `EVENT_S`, which are drawn over time.
EVENTS = ("rate-up", "rate-down", "delay-step", "outage", "onset")
EVENT_S = 20.0
#: The disciplines of section 7.1, and those that most devices have.
AQMS = ("codel", "pie", "red", "fq_codel", "dualpi2")
_NAMES = {"cubic": "CUBIC", "reno": "Reno"}
#: The control under test, wherever a traffic entry names it.
OWN = "OWN"


@dataclass(frozen=True)
class Case:
    """One scenario."""

    key: str
    title: str
    topology: Mapping[str, Any]
    traffic: Sequence[Mapping[str, Any]]
    window: tuple[float, float] = (15.0, 45.0)
    """The measured part of the run, in seconds; the run ends with it."""
    tcp: Mapping[str, Any] = field(default_factory=dict)
    link: str = "left>right"
    """The link whose queue is measured."""

    def experiment(self, control: Mapping[str, Any]) -> dict[str, Any]:
        """The experiment with this control under test."""
        start, end = self.window
        # What happens at an event is seen in the series of the flows; other scenarios need the counters only.
        series = "200ms" if self.key in EVENTS else "off"
        return {
            "title": f"RFC 9743: {self.title}",
            "duration": f"{end:g}s",
            "topology": dict(self.topology),
            "tcp": dict(self.tcp),
            "traffic": [{**entry, **({"congestion": dict(control)} if entry.get("congestion") == OWN else {})} for entry in self.traffic],
            "measure": {"queues": "off", "flows": series, "delays": True, "window": [f"{start:g}s", f"{end:g}s"]},
        }  # fmt: skip


def _path(
    pairs: int, *, rate: float = RATE_MBIT, rtt: float = RTT_MS, buffer: float | str = 1.0, queue: Mapping[str, Any] | None = None, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """A dumbbell. `buffer`: bandwidth-delay products, or a size. Access links jitter by a packet at the bottleneck, so that flows fall out of step."""
    limit = f"{buffer:g}bdp" if isinstance(buffer, float) else buffer
    access_ms, jitter_us = rtt / 40, min(12000 / rate, 50 * rtt)
    bottleneck = {
        "rate": f"{rate * 1e6:.0f}bit", "delay": f"{(rtt / 2 - access_ms) * 1000:g}us",
        "queue": dict(queue or {"kind": "drop_tail", "limit": limit}), "watch": True, **more,
    }  # fmt: skip
    access = {
        "rate": f"{max(1000.0, 10 * rate):g}Mbit",
        "delay": f"{access_ms * 500:g}us",
        "jitter": f"{jitter_us:g}us",
    }
    return {"dumbbell": {"pairs": pairs, "access": access, "bottleneck": bottleneck}}


def _own(pairs: Sequence[int] | str = "all", **more: Any) -> dict[str, Any]:
    return {"name": "own", "kind": "bulk", "pairs": pairs, "congestion": OWN, "jitter": "1s", **more}


def _other(control: str, pairs: Sequence[int]) -> dict[str, Any]:
    return {"name": "other", "kind": "bulk", "pairs": list(pairs), "congestion": control, "jitter": "1s"}


def _short(control: str, pairs: Sequence[int], load: float = 0.2) -> dict[str, Any]:
    return {"name": "short" if control != OWN else "own-short", "kind": "poisson", "pairs": list(pairs), "sizes": "100kB", "load": load, "congestion": control}  # fmt: skip


def _steps(*steps: Mapping[str, Any], repeat: float = 0.0) -> dict[str, Any]:
    out: dict[str, Any] = {"schedule": [dict(step) for step in steps]}
    return {**out, "schedule_repeat": f"{repeat:g}s"} if repeat else out


def number(value: float) -> str:
    """A number in a key.

    >>> number(0.25)
    '0_25'
    """
    return f"{value:g}".replace(".", "_")


def _ranges() -> list[Case]:
    own = [_own()]
    out = [
        Case(f"buffer-{number(one)}", f"4 flows, buffer of {one:g} BDP", _path(4, buffer=one), own) for one in BUFFERS
    ]
    out += [Case(f"flows-{count}", f"{count} flows", _path(count), own) for count in COUNTS]
    out += [
        Case(f"loss-{number(one)}", f"1 flow, random loss of {one:g} %", _path(1, loss=one / 100), own)
        for one in LOSSES
    ]
    for rate, rtt in product(RATES_MBIT, RTTS_MS):
        # A flow fills a long and fast path late: the window begins after so many round trips.
        window = (15.0, 45.0) if rate < 200 else (10.0, 20.0)
        path = _path(2, rate=rate, rtt=rtt)
        out.append(Case(f"path-{rate:g}-{rtt:g}", f"2 flows, {rate:g} Mbit/s, {rtt:g} ms", path, own, window))
    return out


def _single() -> list[Case]:
    silence = _steps({"at": f"{EVENT_S:g}s", "loss": 1.0})
    rtts = _path(2)
    rtts["dumbbell"]["access_delays"] = ["500us", "30500us"]
    late = [_own([1]), {**_own([2]), "name": "own-late", "start": "20s"}]
    return [
        Case("overload", "32 flows over 1 Mbit/s, 100 ms", _path(32, rate=1.0, rtt=100.0), [_own()], (10.0, 70.0)),
        Case("silence", "all packets lost from 20 s on", _path(2, **silence), [_own()], (EVENT_S + 1, EVENT_S + 41)),
        Case("loss-20", "1 flow, random loss of 20 %", _path(1, loss=0.2), [_own()]),
        Case("late", "a second flow starts 20 s later", _path(2), late, (21.0, 41.0)),
        Case("rtts", "round-trip times of 40 and 160 ms", rtts, [_own()], (15.0, 75.0)),
        Case("start", "1 MB over an empty path", _path(1), [_own(bytes="1MB", jitter="0s")], (0.0, 10.0)),
        Case("start-long", "1 MB over an empty path, 160 ms", _path(1, rtt=160.0), [_own(bytes="1MB", jitter="0s")], (0.0, 10.0)),
        Case("short-among", "flows of 100 kB (load 20 %) beside 2 long ones, all of this control", _path(4), [_own([1, 2]), _short(OWN, [3, 4])], (10.0, 70.0)),
    ]  # fmt: skip


def _mixed() -> list[Case]:
    out = []
    for control, buffer in product(("cubic", "reno"), BESIDE):
        title = f"4 flows beside 4 of {_NAMES[control]}, buffer of {buffer:g} BDP"
        traffic = [_own(pairs_of(1, 4)), _other(control, pairs_of(5, 8))]
        out.append(Case(f"beside-{control}-{number(buffer)}", title, _path(8, buffer=buffer), traffic, (15.0, 75.0)))
    voice = {"name": "voice", "kind": "voip", "pairs": [5]}
    ping = {"name": "ping", "kind": "ping", "pairs": [5], "interval": "20ms"}
    return [
        *out,
        Case("beside-bbr3", "4 flows beside 4 of BBRv3", _path(8), [_own(pairs_of(1, 4)), _other("bbr3", pairs_of(5, 8))], (15.0, 75.0)),
        Case("one-beside-8", "1 flow beside 8 of CUBIC", _path(9), [_own([1]), _other("cubic", pairs_of(2, 9))], (15.0, 75.0)),
        Case("8-beside-one", "8 flows beside 1 of CUBIC", _path(9), [_own(pairs_of(1, 8)), _other("cubic", [9])], (15.0, 75.0)),
        Case("voice", "4 flows beside a telephone call", _path(5), [_own(pairs_of(1, 4)), voice, ping]),
        Case("short-beside", "2 long flows beside CUBIC flows of 100 kB (load 20 %)", _path(4), [_own([1, 2]), _short("cubic", [3, 4])], (10.0, 70.0)),
        Case("own-short-beside", "flows of 100 kB (load 20 %) beside 2 long CUBIC flows", _path(4), [_other("cubic", [1, 2]), _short(OWN, [3, 4])], (10.0, 70.0)),
    ]  # fmt: skip


def pairs_of(first: int, last: int) -> list[int]:
    """The pairs from the first to the last."""
    return list(range(first, last + 1))


def _queues() -> list[Case]:
    # DualPI2 has ECN always; its senders decide.
    paths = {one: _path(4, queue={"kind": one} if one == "dualpi2" else {"kind": one, "ecn": True}) for one in AQMS}
    ecn, beside = {"ecn": True}, [_own(pairs_of(1, 2)), _other("cubic", pairs_of(3, 4))]
    out = []
    for kind, path in paths.items():
        if kind != "dualpi2":
            out.append(Case(kind, f"4 flows, {kind}", _path(4, queue={"kind": kind}), [_own()]))
        out.append(Case(f"{kind}-ecn", f"4 flows, {kind} with ECN", path, [_own()], tcp=ecn))
    for kind in ("codel", "fq_codel", "dualpi2"):
        title = f"2 flows beside 2 of CUBIC, {kind} with ECN"
        out.append(Case(f"beside-{kind}", title, paths[kind], beside, (15.0, 75.0), ecn))
    return out


def _wireless() -> list[Case]:
    bursts = {"kind": "gilbert_elliott", "p": "0.05%", "r": "20%"}
    varying = _steps(*({"at": f"{at}s", "rate": f"{rate}Mbit"} for at, rate in enumerate((20, 8, 14, 4))), repeat=4.0)
    return [
        Case("burst-loss", "1 flow, loss in bursts of 5 packets", _path(1, loss=bursts), [_own()]),
        Case("varying-rate", "2 flows, 20, 8, 14, 4 Mbit/s for 1 s each, in turn", _path(2, **varying), [_own()]),
        Case("jitter", "2 flows, up to 20 ms of jitter", _path(2, jitter="20ms"), [_own()]),
        Case("delay-steps", "2 flows, 40 and 80 ms of round-trip time for 5 s each, in turn", _path(2, **_steps({"at": "0s", "delay": "19ms"}, {"at": "5s", "delay": "39ms"}, repeat=10.0)), [_own()]),
        Case("iot", "1 flow over 64 kbit/s, 400 ms, buffer of 20 packets", _path(1, rate=0.064, rtt=400.0, buffer="20p"), [_own()], (20.0, 80.0)),
        Case("satellite", "2 flows over 20 Mbit/s, 600 ms, buffer of 0.5 BDP", _path(2, rtt=600.0, buffer=0.5), [_own()], (20.0, 80.0)),
        Case("reorder", "1 flow, 1 % of packets held back for 10 ms", _path(1, reorder=0.01, reorder_by="10ms"), [_own()]),
        Case("reorder-extreme", "1 flow, 20 % of packets held back for 40 ms", _path(1, reorder=0.2, reorder_by="40ms"), [_own()]),
    ]  # fmt: skip


def _events() -> list[Case]:
    at = f"{EVENT_S:g}s"
    outage = _steps({"at": at, "loss": 1.0}, {"at": f"{EVENT_S + 2:g}s", "loss": 0.0})
    burst = {"name": "udp", "kind": "cbr", "pairs": [3], "rate": "15Mbit", "start": at, "stop": f"{EVENT_S + 10:g}s"}
    after, soon = (EVENT_S, EVENT_S + 10), (EVENT_S + 2, EVENT_S + 12)
    return [
        Case("onset", "2 flows, UDP of 15 Mbit/s comes for 10 s", _path(3), [_own([1, 2]), burst], after),
        Case("outage", "2 flows, the 10 s after 2 s of outage", _path(2, **outage), [_own()], soon),
        Case("rate-down", "2 flows, the 10 s after 20 Mbit/s fell to 2", _path(2, **_steps({"at": at, "rate": "2Mbit"})), [_own()], after),
        Case("rate-up", "2 flows, the 10 s after 4 Mbit/s rose to 40", _path(2, rate=4.0, buffer="67p", **_steps({"at": at, "rate": "40Mbit"})), [_own()], after),
        Case("delay-step", "2 flows, the 10 s after 40 ms rose to 120", _path(2, **_steps({"at": at, "delay": "59ms"})), [_own()], after),
    ]  # fmt: skip


def _beyond() -> list[Case]:
    narrow = {"rate": "200kbit", "queue": {"kind": "drop_tail", "limit": "20p"}}
    queue, nodes = {"kind": "drop_tail", "limit": "67p"}, ["n1", "n2", "n3", "n4"]
    hop = {"rate": f"{RATE_MBIT:g}Mbit", "delay": "6ms", "jitter": "600us", "queue": queue, "watch": True}
    along = [
        {"kind": "bulk", "name": name, "from": a, "to": b, "count": 2, "congestion": OWN, "jitter": "1s"}
        for name, a, b in (("own-all", "n1", "n4"), ("own-1", "n1", "n2"), ("own-2", "n2", "n3"), ("own-3", "n3", "n4"))
    ]
    return [
        Case("data-centre", "16 flows over 1 Gbit/s, 0.2 ms, buffer of 100 packets", _path(16, rate=1000.0, rtt=0.2, buffer="100p"), [_own(jitter="10ms")], (0.5, 2.0)),
        Case("asymmetric", "1 flow, 200 kbit/s for the acknowledgements", _path(1, reverse=narrow), [_own()]),
        Case("two-way", "2 flows each way", _path(2), [_own(direction="both")]),
        Case("three-hops", "2 flows over three bottlenecks, 2 over each alone", {"chain": {"nodes": nodes, "links": [hop, hop, hop]}}, along, (15.0, 75.0), link="n1>n2"),
    ]  # fmt: skip


def cases() -> dict[str, Case]:
    """Every scenario by its key."""
    groups = (_ranges(), _single(), _mixed(), _queues(), _wireless(), _events(), _beyond())
    return {case.key: case for group in groups for case in group}
