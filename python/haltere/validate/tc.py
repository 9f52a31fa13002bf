"""Reads the text of a `tc qdisc` command and says which discipline of Haltere it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .tc_words import FIRST_UPDATE, NotTranslated, Queue, Words, duration, nbytes, packets, timer_period_ns

ETHERNET = 14
"""Bytes that CAKE no longer counts once an overhead is given: it then begins with the network layer's length."""

Option = Callable[[Words, str], Any]
Options = Mapping[str, Option | tuple[str, Option]]
"""How the value of each option is read, with the name of Haltere's parameter if it is another."""
Flags = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Discipline:
    """How the words after a discipline's name become its parameters."""

    options: Options
    flags: Flags = field(default_factory=dict)
    usual: dict[str, Any] = field(default_factory=dict)
    """Defaults of Linux that are not those of Haltere."""
    kind: str = ""
    """The discipline of Haltere; empty: of the same name."""


def parse_qdisc(text: str, txqueuelen: int = 1000, frame: int = 1514) -> Queue:
    """The discipline that `tc qdisc add ... TEXT` makes on a device of that queue length and full frame."""
    kind, *rest = text.split() or [""]
    if not kind:
        raise NotTranslated("the text of the queue discipline is empty")
    if kind not in DISCIPLINES:
        raise NotTranslated(f"queue discipline `{kind}` has no counterpart in Haltere")
    one = DISCIPLINES[kind]
    params = _of_device(kind, txqueuelen, frame) | one.usual | _read(Words(kind, rest), one)
    for needed in ("limit", "avpkt") if kind == "red" else ():
        if needed not in params:
            raise NotTranslated(f"red: `{needed}` is missing")
    if kind == "cake" and params.keys() & {"overhead", "mpu", "framing"}:
        params["overhead"] = params.get("overhead", 0) - ETHERNET
    return Queue(one.kind or kind, params)


def _of_device(kind: str, txqueuelen: int, frame: int) -> dict[str, Any]:
    """What follows from the device's queue length if the words say nothing."""
    if kind == "bfifo":
        return {"limit": nbytes(txqueuelen * frame)}
    if kind == "pfifo_fast":
        return {"limit": packets(txqueuelen), "release_batch": ring_batch(txqueuelen)}
    return {"limit": packets(txqueuelen)} if kind in ("pfifo", "sfb") else {}


def ring_batch(slots: int) -> int:
    """Slots that Linux's pointer ring frees at a time: two cache lines of pointers, unless the ring is too small."""
    return 16 if slots >= 32 else 1


# ------------------------------------------------------------------ values
_count, _time, _rate, _probability = Words.count, Words.time, Words.rate, Words.probability


def _packets(words: Words, option: str) -> str:
    return packets(words.count(option))


def _bytes(words: Words, option: str) -> str:
    return nbytes(words.size(option))


def _timer(words: Words, option: str) -> str:
    return duration(timer_period_ns(words.time_ns(option)))


def _period(words: Words, option: str) -> str | None:
    """Of a kernel timer, in whole seconds; none for 0."""
    seconds = words.count(option)
    return duration(timer_period_ns(seconds * 10**9)) if seconds else None


def _part(of: int) -> Option:
    return lambda words, option: words.count(option) / of


def _milliseconds(words: Words, option: str) -> str:
    return duration(words.count(option) * 1_000_000)


def _step(words: Words, option: str) -> float:
    """As `tc` passes it to SFB: in whole 65535ths, so that 0.00005 becomes 3 of them, 8 % less."""
    return round(words.probability(option) * 65535) / 65535


def _switch(on: str, off: str) -> dict[str, dict[str, Any]]:
    """The flags NAME and its opposite."""
    return {on: {on: True}, off: {on: False}}


def _values(key: str, *names: str) -> dict[str, dict[str, Any]]:
    """Flags of which each is a value of one parameter."""
    return {name: {key: name} for name in names}


def _read(words: Words, of: Discipline) -> dict[str, Any]:
    """The parameters that the words give: an option has a value, a flag has none."""
    params: dict[str, Any] = {}
    for word in words:
        if word in of.options:
            given = of.options[word]
            name, read = given if isinstance(given, tuple) else (word, given)
            value = read(words, word)
            if value is not None:
                params[name] = value
        elif word in of.flags:
            params |= of.flags[word]
        else:
            raise words.unknown(word)
    return params


# ------------------------------------------------------------------ disciplines
ECN = _switch("ecn", "noecn")
BYTEMODE = _switch("bytemode", "nobytemode")
LIMIT: dict[str, Any] = {"limit": _packets}
CODEL: dict[str, Any] = LIMIT | {"target": _time, "interval": _time, "ce_threshold": _time}
#: tc-pie(8): alpha and beta are sixteenths; a kernel timer runs the update. The probability is a counter of 64 bits, in which 1 is 2^56.
PIE: dict[str, Any] = LIMIT | {"target": _time, "tupdate": _timer, "alpha": _part(16), "beta": _part(16)}
PIE_USUAL = {"tupdate": duration(timer_period_ns(15_000_000)), "first_update": FIRST_UPDATE, "max_probability": 256}
FLOWS: dict[str, Any] = {"quantum": _bytes, "memory_limit": _bytes, "flows": _count}

DISCIPLINES = {
    "pfifo": Discipline(LIMIT, kind="drop_tail"),
    "bfifo": Discipline({"limit": _bytes}, kind="drop_tail"),
    "pfifo_fast": Discipline({}),
    "codel": Discipline(CODEL, ECN, {"limit": "1000p"}),
    "fq_codel": Discipline(CODEL | FLOWS | {"drop_batch": _count}, ECN, {"limit": "10240p"}),
    "pie": Discipline(PIE, ECN | BYTEMODE | _switch("dq_rate_estimator", "no_dq_rate_estimator"), {"limit": "1000p"} | PIE_USUAL),
    "fq_pie": Discipline(PIE | FLOWS | {"ecn_prob": ("ecn_threshold", _part(100))}, ECN | BYTEMODE, PIE_USUAL),
    # `adaptative` changes nothing: tc passes RED's flags in an attribute of their own since iproute2 5.7, and Linux 6.1 starts the
    # timer of the adaptation only if the flag is in the old structure. The reference agrees: over 2 to 20 flows, `ared` and `red` of
    # set A have the same queue within 1 % and the same loss within 0.1 points. What tc derives if an option is absent (thresholds,
    # burst, weight), Haltere's RED derives too.
    "red": Discipline(
        {"limit": _bytes, "min": _bytes, "max": _bytes, "avpkt": _bytes, "burst": _count, "bandwidth": _rate, "probability": _probability},
        {name: {name: True} for name in ("ecn", "harddrop", "nodrop")} | {"adaptive": {}, "adaptative": {}},
        {"probability": 0.02, "bandwidth": "10000000bit"},
    ),
    "sfq": Discipline(LIMIT | {"depth": _count, "divisor": ("flows", _count), "quantum": _bytes, "perturb": _period}, {"headdrop": {"head_drop": True}}),
    "choke": Discipline(
        LIMIT | {"min": _packets, "max": _packets, "burst": _count, "bandwidth": _rate, "probability": _probability}, ECN,
    ),
    "sfb": Discipline(
        LIMIT | {"target": _count, "max": _count, "rehash": _milliseconds, "db": ("warmup", _milliseconds), "increment": _step,
                 "decrement": _step, "penalty_rate": _count, "penalty_burst": _count},
        usual={"ecn": True},
    ),
    "tbf": Discipline(
        {"rate": _rate, "peakrate": _rate, "latency": _time, "limit": _bytes, "mtu": _bytes, "minburst": ("mtu", _bytes), "burst": _bytes,
         "buffer": ("burst", _bytes), "maxburst": ("burst", _bytes)},
    ),
    "fq": Discipline(
        LIMIT | {"flow_limit": _count, "maxrate": _rate, "quantum": _bytes, "initial_quantum": _bytes, "refill_delay": _time,
                 "ce_threshold": _time, "orphan_mask": ("flows", lambda words, option: words.count(option) + 1)},
    ),
    "cake": Discipline(
        {"bandwidth": _rate, "rtt": _time, "memlimit": ("limit", _bytes), "overhead": _count, "mpu": _count},
        {name: {} for name in ("unlimited", "nonat", "nowash", "split-gso", "noatm")}
        | {"ingress": {"ingress": True}, "egress": {"ingress": False}}
        | _values("isolation", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
        | _values("diffserv", "besteffort", "diffserv3", "diffserv4")
        | _values("framing", "atm", "ptm")
        | {"ack-filter": {"ack_filter": "on"}, "ack-filter-aggressive": {"ack_filter": "aggressive"}, "no-ack-filter": {"ack_filter": "off"}},
    ),
}  # fmt: skip


# ------------------------------------------------------------------ classes
FRAME = 1514
CLASS_LIMIT = 40
"""Packets of a class (`validation/sets.py`)."""


def queue_of_classes(tree: Mapping[str, Any], rate_mbit: float) -> dict[str, Any]:
    """HTB, whose root has the whole rate, or DRR, with the classes of the key `classes` of a scenario.

    The harness classifies flows by port. Here each has the DSCP of its class number; pings have none, and belong to the first.
    """
    kind, classes = tree["kind"], []
    if kind not in ("htb", "drr"):
        raise NotTranslated(f"classes: kind must be `htb` or `drr`, got `{kind}`")
    for number, one in enumerate(tree["classes"], 1):
        found: dict[str, Any] = {
            "match": {"dscp": [0, 1] if number == 1 else [number]},
            "quantum": nbytes(one.get("quantum", FRAME)),
            "queue": {"kind": "drop_tail", "limit": packets(CLASS_LIMIT)},
        }
        if kind == "htb":
            found |= {"name": f"c{number}", "rate": f"{one['rate']}Mbit", "ceil": f"{one.get('ceil', rate_mbit)}Mbit"}
            found |= {"priority": one.get("prio", 0)}
        classes.append(found)
    return {"kind": kind, "classes": classes} | ({"rate": f"{rate_mbit}Mbit"} if kind == "htb" else {})
