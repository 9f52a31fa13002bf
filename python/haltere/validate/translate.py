"""Makes an experiment of Haltere out of a scenario of the kernel harness, the harness's artefacts included.

The artefacts (the harness's own list): the shapers `htb` and `tbf` hand a frame on when its transmission starts
and let one frame more through after an idle time; hosts' links take no time unless `access_mbit` says so; every frame has at
most `mtu` + 14 bytes; kernel timers tick at 250 Hz; pings are ECT(0) if ECN is on; DCTCP always uses ECN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..worlds.kernel import own_discipline
from .load import Case
from .netem import link_of_netem
from .scenario import Flow, Scenario, Transfer, expand_flows, expand_transfers
from .tc import parse_qdisc, queue_of_classes
from .tc_words import NotTranslated, Queue, duration, nbytes, packets

ETHERNET = 14
IP_TCP = 40
TIMESTAMPS = 12
FAST = "100Gbit"
"""The rate of a link that stands for a device without one."""
NETEM_LIMIT = 1_000_000
"""Packets that the harness lets netem hold: more than ever wait."""

CONTROLS: dict[str, dict[str, Any]] = {
    "reno": {"kind": "reno"},
    # Linux 6.1: beta is 717/1024, the Reno-friendly slope is fixed, slow start is left by the older HyStart.
    # The reference's release, 6.1.192, begins its rounds as 6.13 does: CUBIC alone leaves slow start at 75 segments (set D).
    "cubic": {"kind": "cubic", "beta": 717 / 1024, "reno_friendly": "linux", "hystart": "linux_6_13"},
    "vegas": {"kind": "vegas"},
    "dctcp": {"kind": "dctcp"},
    "bbr": {"kind": "bbr"},
    # The authors' own, in a kernel with their patch.
    "bbr3": {"kind": "bbr3", "variant": "linux"},
    # Linux's constants in whole numbers: beta 724/1024, and 42 for 1/G over a sum of eight changes, in 1e6 / us.
    "cdg": {"kind": "cdg", "beta": 724 / 1024, "scale": "2976us"},
}
PLAIN = ("highspeed", "scalable", "hybla", "htcp", "westwood", "bic", "illinois", "veno", "yeah", "nv", "lp")
CONTROLS |= {name: {"kind": name} for name in PLAIN}
ALWAYS_ECN = ("dctcp",)
# Linux 6.1: its own scheduler, a send buffer as large as that of one subflow, and no repetition if the window blocks.
MULTIPATH = {"scheduler": "linux", "tune_send_buffer": True, "opportunistic": False}
# htb sends while its bucket is not in debt, so a frame is handed on as its transmission starts; tbf sends once the bucket
# covers the frame. Both buckets hold one frame, which is what an idle line saves up.
SHAPERS = {"htb": {"handover": "start"}, "tbf": {"handover": "end"}}


def translate(case: Case, seed: int) -> dict[str, Any]:
    """The experiment that repeats the repetition `seed` of a case. Raises `NotTranslated` with the reason."""
    s = case.scenario
    if s.unknown:
        raise NotTranslated(f"scenario keys that are not supported: {', '.join(f'`{key}`' for key in s.unknown)}")
    if s.topology != "chain":
        raise NotTranslated(f"topology `{s.topology}` is not supported")
    _check_paths(s)
    if s.pre and not s.classes:
        raise NotTranslated("the scenario runs commands of its own (`pre`), whose effect is not supported")
    flows, tcp = _flows(case, seed), _tcp(s)
    return {
        "title": case.name,
        "duration": _seconds(s.duration),
        "warmup": _seconds(s.warmup),
        "seeds": 1,
        "framing": nbytes(ETHERNET),
        "topology": {"graph": _graph(s)},
        "tcp": tcp,
        "traffic": flows + _transfers(replace(s, seed=case.setup_seed(seed))) + _udp(s) + _ping(s),
        "measure": {"queues": _ms(s.sample.qdisc_ms), "flows": _ms(s.sample.tcp_ms)},
    }


def _check_paths(s: Scenario) -> None:
    """Either one path and plain TCP, or several and Multipath TCP with a subflow on each."""
    multipath = [flow for flow in expand_flows(s) if flow.proto != "tcp"]
    if any(flow.proto != "mptcp" for flow in multipath):
        raise NotTranslated("flows of this protocol are not supported")
    if bool(multipath) != bool(s.mptcp):
        raise NotTranslated("Multipath TCP that is switched on for some flows alone is not supported")
    if s.paths and (s.transfers or s.udp or s.steps or s.hosts):
        raise NotTranslated("transfers, UDP, steps or hosts beside several paths are not supported")
    if not s.paths:
        if multipath:
            raise NotTranslated("Multipath TCP without several paths (`paths`) is not supported")
        return
    if not multipath:
        raise NotTranslated("several paths (`paths`) without Multipath TCP are not supported")
    if s.ping:
        raise NotTranslated("pings beside several paths are not supported")
    for flow in multipath:
        if flow.dir != "fwd" or flow.path:
            raise NotTranslated("Multipath TCP that begins elsewhere than on the first path is not supported")


def differences(s: Scenario) -> list[str]:
    """What the translation does not reproduce exactly."""
    return ["steps: after an idle time the shaper lets one frame more through, here it does not"] if s.steps else []


def _seconds(seconds: float) -> str:
    return duration(round(seconds * 1e9))


def _ms(ms: float) -> str:
    return duration(round(ms * 1e6))


# ------------------------------------------------------------------ links
def bottleneck(s: Scenario, way: str) -> dict[str, Any]:
    """The router's link to the receiver of that way's data."""
    if way == "rev" and not s.both_ways:
        return {}
    bits = int(s.rate_mbit * 1e6)
    link: dict[str, Any] = {"rate": f"{bits}bit", "watch": True}
    if s.shaper == "netem":
        return link | {"queue": {"kind": "drop_tail", "limit": packets(NETEM_LIMIT)}}
    if s.shaper == "none":  # the discipline shapes, on a device that is infinitely fast
        return link | {"rate": FAST, "queue": _queue(s, way)}
    if s.shaper not in SHAPERS:
        raise NotTranslated(f"shaper `{s.shaper}` is not supported")
    shaper = SHAPERS[s.shaper] | {"burst": nbytes(s.mtu + ETHERNET)}
    link |= {"queue": _queue(s, way), **shaper}
    if way == "fwd" and s.steps:
        link |= {"schedule": _schedule(s), "burst": nbytes(0)}  # a token bucket has one rate
    return link


def _queue(s: Scenario, way: str) -> dict[str, Any]:
    if s.classes and way == "fwd":
        return queue_of_classes(s.classes, s.rate_mbit)
    text = s.qdisc_rev if way == "rev" and s.qdisc_rev else s.qdisc
    if s.on_linux:
        return own_discipline(text)
    queue: Queue = parse_qdisc(text, s.txqueuelen, s.mtu + ETHERNET)
    return queue.as_dict()


def _schedule(s: Scenario) -> list[dict[str, Any]]:
    if any(step.cmd is not None for step in s.steps):
        raise NotTranslated("steps: a command of its own (`cmd`), whose effect is not supported")
    if s.shaper != "htb":
        raise NotTranslated(f"steps: the shaper must be `htb`, got `{s.shaper}`")
    steps = sorted(s.steps, key=lambda step: step.at)
    return [{"at": _seconds(step.at), "rate": f"{int(step.rate_mbit * 1e6)}bit"} for step in steps]


def _host(s: Scenario, way: str) -> dict[str, Any]:
    """A host's link to the router: netem's delay with what the scenario adds to it, and its rate if one is given."""
    if not s.rtt_ms:
        return {}
    link = link_of_netem(
        s.netem_fwd if way == "fwd" else s.netem_rev, f"netem_{way}", round(s.rtt_ms / 2 * 1000) * 1000
    ) | {"watch": False}
    if s.access_mbit:  # the text follows it, and its rate would be the last one given
        link = {"rate": f"{int(s.access_mbit * 1e6)}bit"} | link
    if "jitter" in link and "rate" not in link:  # with a rate, netem counts the delay from the packet before
        link["overtake"] = True
    if "rate" in link:
        link["queue"] = {"kind": "drop_tail", "limit": packets(NETEM_LIMIT)}
    return link


def _graph(s: Scenario) -> dict[str, Any]:
    """One router a path; an interface of a host is a node of its own."""
    nodes, links = [], []
    for k, path in enumerate(s.each_path()):
        one, router, other = _node("n1", k), f"r{k}", _node("n3", k)
        nodes += [one, router, other]
        links += [
            _pair(one, router, _host(path, "fwd"), bottleneck(path, "rev")),
            _pair(other, router, _host(path, "rev"), bottleneck(path, "fwd")),
        ]
    for name, host in s.hosts.items():
        # Its own netem holds what its round-trip time has over the half that the receiver's netem adds.
        delay = round((host.rtt_ms - s.rtt_ms / 2) * 1000) * 1000
        if delay < 0:
            raise NotTranslated(f"hosts: {name}: rtt_ms must be at least half of the scenario's, got {host.rtt_ms}")
        nodes.append(name)
        links.append(_pair(name, "r0", {"delay": duration(delay), "watch": False}, {}))
    return {"nodes": nodes, "links": links}


def _node(host: str, path: int) -> str:
    return f"{host}.{path}" if path else host


IMPAIRMENTS: dict[str, Any] = {"loss": 0.0, "jitter": "0s", "overtake": False, "reorder": 0.0, "reorder_by": "0s"}
"""What a link's reverse direction would take over from it, and how to say that it has none."""


def _pair(one: str, other: str, there: dict[str, Any], back: dict[str, Any]) -> dict[str, Any]:
    """A link and its reverse, begun at the end without a rate: a reverse direction cannot take a rate back."""
    if "rate" in there and "rate" not in back:
        one, other, there, back = other, one, back, there
    plain = {"delay": "0s", "watch": False, "queue": {"kind": "drop_tail"}, "handover": "end", "burst": "0B"}
    plain |= {key: zero for key, zero in IMPAIRMENTS.items() if key in there}
    return {"from": one, "to": other, **there, "reverse": plain | back}


def link_of(way: str, path: int = 0) -> str:
    """Name of the watched link in Haltere's results."""
    return f"r{path}>{_node('n3' if way == 'fwd' else 'n1', path)}"


# ------------------------------------------------------------------ traffic
def _flows(case: Case, seed: int) -> list[dict[str, Any]]:
    s, entries = case.scenario, []
    for number, (flow, start) in enumerate(zip(expand_flows(s), case.starts(seed), strict=True)):
        congestion = _congestion(s, flow)
        ends = ENDS[flow.dir]
        if flow.host and flow.dir == "fwd":
            ends = (_known_host(s, flow.host), ends[1])
        entry: dict[str, Any] = {"kind": "bulk", "name": f"f{number}", "start": _seconds(start), "jitter": "0s"}
        if flow.proto == "mptcp":
            joined = [{"from": _node("n1", k), "to": _node("n3", k)} for k in range(len(s.paths))]
            entry |= {"kind": "multipath", "paths": joined, "multipath": MULTIPATH}
        else:
            entry |= {"from": ends[0], "to": ends[1]}
        entry |= congestion
        if flow.stop is not None:
            entry["stop"] = _seconds(flow.stop)
        if flow.class_:
            entry["dscp"] = flow.class_
        entries.append(entry)
    return entries


ENDS = {"fwd": ("n1", "n3"), "rev": ("n3", "n1")}
"""Sender and receiver of each way."""


def _known_host(s: Scenario, name: str) -> str:
    if name not in s.hosts:
        raise NotTranslated(f"flows: host `{name}` is not among `hosts`")
    return name


def _congestion(s: Scenario, flow: Flow | Transfer) -> dict[str, Any]:
    if flow.cc not in CONTROLS:
        raise NotTranslated(f"congestion control `{flow.cc}` has no counterpart in Haltere")
    control = {"kind": flow.cc} if s.on_linux else CONTROLS[flow.cc]
    return {"congestion": control, "ecn": _uses_ecn(s, flow)}


def _uses_ecn(s: Scenario, flow: Flow | Transfer) -> bool:
    """Both ends have the same `tcp_ecn`: 1 asks for ECN, 2 only accepts it, 0 does neither; DCTCP asks whatever it says.

    A flow's own `ecn` asks by its route; the other end must accept.
    """
    setting = int(s.sysctl.get("net.ipv4.tcp_ecn", s.ecn))
    return flow.cc in ALWAYS_ECN or setting == 1 or (bool(flow.ecn) and setting == 2)


def _transfers(s: Scenario) -> list[dict[str, Any]]:
    """Each short flow as an entry of its own, with the start and the size that it has on Linux."""
    entries = []
    for number, transfer in enumerate(expand_transfers(s)):
        sender, receiver = ENDS[transfer.dir]
        entry = {"kind": "bulk", "name": f"x{number}", "from": sender, "to": receiver}
        entry |= {"start": _seconds(transfer.start), "jitter": "0s", "bytes": nbytes(transfer.bytes)}
        entries.append(entry | _congestion(s, transfer))
    return entries


def _udp(s: Scenario) -> list[dict[str, Any]]:
    entries = []
    for number, udp in enumerate(s.udp):
        if udp.tos & 3 == 3:
            raise NotTranslated(f"udp: tos must not mark packets (its last two bits are 3), got {udp.tos}")
        sender, receiver = ENDS[udp.dir]
        entry: dict[str, Any] = {"kind": "cbr", "name": f"u{number}", "from": sender, "to": receiver, "jitter": "0s"}
        entry |= {"start": _seconds(udp.start), "rate": f"{round(udp.rate_mbit * 1e6)}bit"}
        entry |= {"packet": nbytes(udp.size), "ecn": udp.tos & 3 != 0} | (
            {"dscp": udp.tos >> 2} if udp.tos >> 2 else {}
        )
        entries.append(entry | ({"stop": _seconds(udp.stop)} if udp.stop is not None else {}))
    return entries


def _ping(s: Scenario) -> list[dict[str, Any]]:
    ping = s.ping
    if ping is None:
        return []
    ecn = ((2 if s.ecn == 1 else 0) if ping.tos is None else ping.tos) & 3
    entry = {"kind": "ping", "name": "ping", "from": "n1", "to": "n3", "jitter": "0s", "ecn": ecn in (1, 2)}
    entry |= {"start": _seconds(ping.start), "interval": _seconds(ping.interval)}
    return [entry | {"payload": nbytes(ping.size)}]


# ------------------------------------------------------------------ endpoints
@dataclass
class _Endpoints:
    """What the sysctls say of the endpoints; Linux's defaults."""

    rmem: tuple[int, int, int] = (4096, 131072, 6291456)
    adv_win_scale: int = 1
    autotune: bool = True
    tcp: dict[str, Any] = field(default_factory=dict)

    def window(self, buffer: int) -> str:
        """The window that a buffer of that size gives (`tcp_adv_win_scale`): the rest is for overhead."""
        scale = self.adv_win_scale
        return nbytes(buffer >> -scale if scale <= 0 else buffer - (buffer >> scale))

    def params(self, mtu: int) -> dict[str, Any]:
        """As the experiment file's `[tcp]`."""
        _, initial, largest = self.rmem
        if not self.autotune:
            self.tcp["recv_buffer"] = self.window(initial)
        elif (self.rmem, self.adv_win_scale) != (_Endpoints.rmem, _Endpoints.adv_win_scale):
            self.tcp["recv_buffer_initial"] = self.window(min(initial, largest))
            self.tcp["recv_buffer_max"] = self.window(largest)
        options = TIMESTAMPS if self.tcp.get("timestamps", True) else 0
        return self.tcp | {"mss": nbytes(mtu - IP_TCP - options)}


def _three(text: str) -> tuple[int, int, int]:
    words = [int(word) for word in text.split()]
    if len(words) != 3:
        raise ValueError("three numbers")
    return words[0], words[1], words[2]


def _attribute(name: str, value: Callable[[str], Any]) -> Callable[[_Endpoints, str], None]:
    return lambda ends, text: setattr(ends, name, value(text))


def _set(key: str, value: Callable[[str], Any]) -> Callable[[_Endpoints, str], None]:
    """Writes a key of `[tcp]`."""
    return lambda ends, text: ends.tcp.update({key: value(text)})


def _switch(key: str, bit: int = ~0) -> Callable[[_Endpoints, str], None]:
    return _set(key, lambda text: int(text) & bit != 0)


def _nothing(_ends: _Endpoints, _text: str) -> None:
    """A setting that has no effect on bulk transfers over this topology, or that is read elsewhere."""


SYSCTLS: dict[str, Callable[[_Endpoints, str], None]] = {
    "tcp_rmem": _attribute("rmem", _three),
    "tcp_wmem": _set("send_buffer_max", lambda text: nbytes(_three(text)[2])),
    "tcp_adv_win_scale": _attribute("adv_win_scale", int),
    "tcp_moderate_rcvbuf": _attribute("autotune", lambda text: int(text) != 0),
    "tcp_sack": _switch("sack"),
    "tcp_timestamps": _switch("timestamps"),
    "tcp_window_scaling": _switch("window_scaling"),
    "tcp_recovery": _switch("rack", bit=1),
    "tcp_early_retrans": _switch("tlp"),
    "tcp_frto": _switch("frto"),
    "tcp_slow_start_after_idle": _switch("slow_start_after_idle"),
    "tcp_reordering": _set("reordering", int),
    "tcp_syn_retries": _set("syn_retries", int),
    "tcp_retries2": _set("max_retries", int),
    "tcp_comp_sack_delay_ns": _set("sack_delay", lambda text: duration(int(text))),
    "tcp_comp_sack_nr": _set("sack_delay_segments", int),
} | dict.fromkeys(
    ("tcp_ecn", "tcp_no_metrics_save", "tcp_fastopen", "tcp_congestion_control", "tcp_keepalive_time", "tcp_fin_timeout", "tcp_mem",
     "tcp_tw_reuse", "tcp_syncookies", "tcp_autocorking", "tcp_tso_win_divisor", "tcp_min_tso_segs", "tcp_limit_output_bytes"),
    _nothing,
)  # fmt: skip
"""What each `net.ipv4.*` setting does to the endpoints. With one segment a packet the segmentation offloads' settings do nothing."""


def _tcp(s: Scenario) -> dict[str, Any]:
    ends = _Endpoints()
    for name, value in s.sysctl.items():
        short = name.removeprefix("net.ipv4.")
        if short not in SYSCTLS:
            raise NotTranslated(f"sysctl `{name}` is not supported")
        try:
            SYSCTLS[short](ends, str(value))
        except ValueError:
            raise NotTranslated(f"sysctl `{name}`: cannot read `{value}`") from None
    return ends.params(s.mtu)
