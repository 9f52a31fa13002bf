"""Reads the text of a `tc qdisc` command and says which discipline of Haltere it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .tc_words import (
    FIRST_UPDATE,
    NotTranslated,
    Queue,
    Words,
    duration,
    nbytes,
    packets,
    probability,
    rate_bps,
    time_ns,
    timer_period_ns,
)

ETHERNET = 14
"""Bytes that CAKE no longer counts once an overhead is given: it then begins with the network layer's length."""

Option = Callable[[Words, str], Any]
Options = dict[str, Option | tuple[str, Option]]
"""How the value of each option is read, with the name of Haltere's parameter if it is another."""
Flags = Mapping[str, dict[str, Any]]


def parse_qdisc(text: str, txqueuelen: int = 1000, frame: int = 1514) -> Queue:
    """The discipline that `tc qdisc add ... TEXT` makes on a device of that queue length and full frame."""
    words = text.split()
    if not words:
        raise NotTranslated("the text of the queue discipline is empty")
    kind, rest = words[0], Words(words[0], words[1:])
    if kind == "pfifo":
        return Queue("drop_tail", {"limit": packets(txqueuelen)} | _read(rest, {"limit": _packets}))
    if kind == "bfifo":
        return Queue("drop_tail", {"limit": nbytes(txqueuelen * frame)} | _read(rest, {"limit": _bytes}))
    if kind == "pfifo_fast":
        _read(rest, {})
        return Queue("pfifo_fast", {"limit": packets(txqueuelen), "release_batch": ring_batch(txqueuelen)})
    if kind not in READERS:
        raise NotTranslated(f"queue discipline `{kind}` has no counterpart in Haltere")
    return READERS[kind](rest, txqueuelen)


def ring_batch(slots: int) -> int:
    """Slots that Linux's pointer ring frees at a time: two cache lines of pointers, unless the ring is too small."""
    return 16 if slots >= 32 else 1


# ------------------------------------------------------------------ values
def _packets(words: Words, option: str) -> str:
    return packets(words.count(option))


def _bytes(words: Words, option: str) -> str:
    return nbytes(words.size(option))


def _count(words: Words, option: str) -> int:
    return words.count(option)


def _time(words: Words, option: str) -> str:
    return words.time(option)


def _timer(words: Words, option: str) -> str:
    return duration(timer_period_ns(time_ns(words.next(option), f"{words.kind} {option}")))


def _part(of: int) -> Option:
    return lambda words, option: words.count(option) / of


def _rate(words: Words, option: str) -> str:
    return f"{rate_bps(words.next(option), f'{words.kind} {option}')}bit"


def _probability(words: Words, option: str) -> float:
    return probability(words.next(option), f"{words.kind} {option}")


def _milliseconds(words: Words, option: str) -> str:
    return duration(words.count(option) * 1_000_000)


def _step(words: Words, option: str) -> float:
    """As `tc` passes it to SFB: in whole 65535ths, so that 0.00005 becomes 3 of them, 8 % less."""
    return round(_probability(words, option) * 65535) / 65535


def _switch(*names: str) -> dict[str, dict[str, Any]]:
    """The flags NAME and its opposite."""
    on, off = names
    return {on: {on: True}, off: {on: False}}


def _read(words: Words, options: Options, flags: Flags | None = None) -> dict[str, Any]:
    """The parameters that the words give: an option has a value, a flag has none."""
    params: dict[str, Any] = {}
    for word in words:
        if word in options:
            given = options[word]
            name, read = given if isinstance(given, tuple) else (word, given)
            params[name] = read(words, word)
        elif flags and word in flags:
            params |= flags[word]
        else:
            raise words.unknown(word)
    return params


# ------------------------------------------------------------------ disciplines
ECN = _switch("ecn", "noecn")
BYTEMODE = _switch("bytemode", "nobytemode")
CODEL: Options = {"limit": _packets, "target": _time, "interval": _time, "ce_threshold": _time}
#: tc-pie(8): alpha and beta are sixteenths; a kernel timer runs the update.
PIE: Options = {"limit": _packets, "target": _time, "tupdate": _timer, "alpha": _part(16), "beta": _part(16)}
PIE_USUAL = {"tupdate": duration(timer_period_ns(15_000_000)), "first_update": FIRST_UPDATE}


def _codel(words: Words, _txqueuelen: int) -> Queue:
    return Queue("codel", {"limit": packets(1000)} | _read(words, CODEL, ECN))


def _fq_codel(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"quantum": _bytes, "memory_limit": _bytes, "flows": _count, "drop_batch": _count}
    return Queue("fq_codel", {"limit": packets(10240)} | _read(words, CODEL | options, ECN))


def _pie(words: Words, _txqueuelen: int) -> Queue:
    flags = ECN | BYTEMODE | _switch("dq_rate_estimator", "no_dq_rate_estimator")
    return Queue("pie", {"limit": packets(1000)} | PIE_USUAL | _read(words, PIE, flags))


def _fq_pie(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"flows": _count, "quantum": _bytes, "memory_limit": _bytes}
    options["ecn_prob"] = ("ecn_threshold", _part(100))
    return Queue("fq_pie", PIE_USUAL | _read(words, PIE | options, ECN | BYTEMODE))


def _red(words: Words, _txqueuelen: int) -> Queue:
    """RED as Linux runs it if tc sets it up: `adaptative` changes nothing.

    tc passes RED's flags in an attribute of their own since iproute2 5.7. Linux 6.1 starts the timer of the adaptation only
    if the flag is in the old structure, so the probability never moves. The reference agrees: over 2 to 20 flows, `ared` and
    `red` of set A have the same queue within 1 % and the same loss within 0.1 points. What tc derives if an option is absent
    (thresholds, burst, weight), Haltere's RED derives too.
    """
    options: Options = dict.fromkeys(("limit", "min", "max", "avpkt"), _bytes)
    options |= {"burst": _count, "bandwidth": _rate, "probability": _probability}
    flags = {name: {name: True} for name in ("ecn", "harddrop", "nodrop")} | {"adaptive": {}, "adaptative": {}}
    params = {"probability": 0.02, "bandwidth": "10000000bit"} | _read(words, options, flags)
    for needed in ("limit", "avpkt"):
        if needed not in params:
            raise NotTranslated(f"red: `{needed}` is missing")
    return Queue("red", params)


def _sfq(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"limit": _packets, "depth": _count, "divisor": ("flows", _count), "quantum": _bytes}
    params = _read(words, options | {"perturb": _count}, {"headdrop": {"head_drop": True}})
    params.pop("perturb", None)
    return Queue("sfq", params)


def _choke(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"limit": _packets, "min": _packets, "max": _packets, "burst": _count, "bandwidth": _rate}
    return Queue("choke", _read(words, options | {"probability": _probability}, ECN))


def _sfb(words: Words, txqueuelen: int) -> Queue:
    options: Options = {"limit": _packets, "target": _count, "max": _count, "rehash": _milliseconds}
    options |= {"db": ("warmup", _milliseconds), "increment": _step, "decrement": _step}
    options |= {"penalty_rate": _count, "penalty_burst": _count}
    return Queue("sfb", {"limit": packets(txqueuelen), "ecn": True} | _read(words, options))


def _tbf(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"rate": _rate, "peakrate": _rate, "latency": _time, "limit": _bytes, "mtu": _bytes}
    options |= dict.fromkeys(("burst", "buffer", "maxburst"), ("burst", _bytes))
    return Queue("tbf", _read(words, options | {"minburst": ("mtu", _bytes)}))


def _fq(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"limit": _packets, "flow_limit": _packets, "maxrate": _rate, "quantum": _bytes}
    options |= {"initial_quantum": _bytes, "refill_delay": _time, "ce_threshold": _time}
    return Queue("fq", _read(words, options | {"orphan_mask": ("flows", lambda w, o: w.count(o) + 1)}))


ISOLATIONS = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
FILTERS = {"ack-filter": "on", "ack-filter-aggressive": "aggressive", "no-ack-filter": "off"}


def _cake(words: Words, _txqueuelen: int) -> Queue:
    flags: dict[str, dict[str, Any]] = {"unlimited": {}, "nonat": {}, "nowash": {}, "split-gso": {}, "noatm": {}}
    flags |= {"ingress": {}, "egress": {}}
    flags |= {name: {"isolation": name} for name in ISOLATIONS}
    flags |= {name: {"diffserv": name} for name in ("besteffort", "diffserv3", "diffserv4")}
    flags |= {name: {"ack_filter": kind} for name, kind in FILTERS.items()}
    flags |= {name: {"framing": name} for name in ("atm", "ptm")}
    options: Options = {"bandwidth": _rate, "rtt": _time, "memlimit": ("limit", _bytes)}
    read = _read(words, options | {"overhead": _count, "mpu": _count}, flags)
    if read.keys() & {"overhead", "mpu", "framing"}:
        read["overhead"] = read.get("overhead", 0) - ETHERNET
    return Queue("cake", read)


READERS: dict[str, Callable[[Words, int], Queue]] = {
    "codel": _codel, "fq_codel": _fq_codel, "pie": _pie, "red": _red, "fq_pie": _fq_pie, "sfq": _sfq, "choke": _choke, "sfb": _sfb,
    "tbf": _tbf, "fq": _fq, "cake": _cake,
}  # fmt: skip
