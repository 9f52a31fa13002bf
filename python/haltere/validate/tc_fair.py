"""Reads the text of `tc qdisc` for the disciplines beside RED, CoDel and PIE: fair queues, CHOKe, SFB, CAKE and the shaper TBF."""

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
Options = dict[str, tuple[str, Option]]


def _packets(words: Words, option: str) -> str:
    return packets(words.count(option))


def _bytes(words: Words, option: str) -> str:
    return nbytes(words.size(option))


def _count(words: Words, option: str) -> int:
    return words.count(option)


def _time(words: Words, option: str) -> str:
    return words.time(option)


def _rate(words: Words, option: str) -> str:
    return f"{rate_bps(words.next(option), f'{words.kind} {option}')}bit"


def _probability(words: Words, option: str) -> float:
    return probability(words.next(option), f"{words.kind} {option}")


def _milliseconds(words: Words, option: str) -> str:
    return duration(words.count(option) * 1_000_000)


def _read(
    words: Words, options: Mapping[str, tuple[str, Option]], flags: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """The parameters that the words give: an option has a value, a flag has none."""
    params: dict[str, Any] = {}
    for word in words:
        if word in options:
            name, read = options[word]
            params[name] = read(words, word)
        elif word in flags:
            params |= flags[word]
        else:
            raise words.unknown(word)
    return params


ECN: dict[str, dict[str, Any]] = {"ecn": {"ecn": True}, "noecn": {"ecn": False}}


def _fq_pie(words: Words, _txqueuelen: int) -> Queue:
    """Its gains are sixteenths, and a kernel timer runs its update, as PIE's."""
    read = _read(
        words,
        {
            "limit": ("limit", _packets), "flows": ("flows", _count), "quantum": ("quantum", _bytes),
            "memory_limit": ("memory_limit", _bytes), "target": ("target", _time),
            "tupdate": ("tupdate", lambda w, o: duration(timer_period_ns(time_ns(w.next(o), "fq_pie tupdate")))),
            "alpha": ("alpha", lambda w, o: w.count(o) / 16), "beta": ("beta", lambda w, o: w.count(o) / 16),
            "ecn_prob": ("ecn_threshold", lambda w, o: w.count(o) / 100),
        },
        ECN | {"bytemode": {"bytemode": True}, "nobytemode": {"bytemode": False}},
    )  # fmt: skip
    usual = {"tupdate": duration(timer_period_ns(15_000_000)), "first_update": FIRST_UPDATE}
    return Queue("fq_pie", usual | read)


def _sfq(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"limit": ("limit", _packets), "depth": ("depth", _count), "divisor": ("flows", _count)}
    return Queue("sfq", _read(words, options | {"quantum": ("quantum", _bytes)}, {"headdrop": {"head_drop": True}}))


def _choke(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"limit": ("limit", _packets), "min": ("min", _packets), "max": ("max", _packets)}
    options |= {"burst": ("burst", _count), "bandwidth": ("bandwidth", _rate)}
    return Queue("choke", _read(words, options | {"probability": ("probability", _probability)}, ECN))


def _sfb(words: Words, txqueuelen: int) -> Queue:
    options: Options = {"limit": ("limit", _packets), "target": ("target", _count), "max": ("max", _count)}
    options |= {"rehash": ("rehash", _milliseconds), "db": ("warmup", _milliseconds)}
    options |= {"increment": ("increment", _step), "decrement": ("decrement", _step)}
    options |= {"penalty_rate": ("penalty_rate", _count), "penalty_burst": ("penalty_burst", _count)}
    return Queue("sfb", {"limit": packets(txqueuelen), "ecn": True} | _read(words, options, {}))


def _step(words: Words, option: str) -> float:
    """As `tc` passes it to SFB: in whole 65535ths, so that 0.00005 becomes 3 of them, 8 % less."""
    return round(_probability(words, option) * 65535) / 65535


def _tbf(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {"rate": ("rate", _rate), "peakrate": ("peakrate", _rate), "latency": ("latency", _time)}
    options |= dict.fromkeys(("burst", "buffer", "maxburst"), ("burst", _bytes))
    options |= {"limit": ("limit", _bytes), "mtu": ("mtu", _bytes), "minburst": ("mtu", _bytes)}
    return Queue("tbf", _read(words, options, {}))


def _fq(words: Words, _txqueuelen: int) -> Queue:
    options: Options = {
        "limit": ("limit", _packets),
        "flow_limit": ("flow_limit", _count),
        "maxrate": ("maxrate", _rate),
    }
    options |= {"quantum": ("quantum", _bytes), "initial_quantum": ("initial_quantum", _bytes)}
    options |= {"refill_delay": ("refill_delay", _time), "ce_threshold": ("ce_threshold", _time)}
    return Queue("fq", _read(words, options | {"orphan_mask": ("flows", lambda w, o: w.count(o) + 1)}, {}))


ISOLATIONS = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
FILTERS = {"ack-filter": "on", "ack-filter-aggressive": "aggressive", "no-ack-filter": "off"}


def _cake(words: Words, _txqueuelen: int) -> Queue:
    flags: dict[str, dict[str, Any]] = {"unlimited": {}, "nonat": {}, "nowash": {}, "split-gso": {}, "noatm": {}}
    flags |= {name: {"isolation": name} for name in ISOLATIONS}
    flags |= {name: {"diffserv": name} for name in ("besteffort", "diffserv3", "diffserv4")}
    flags |= {name: {"ack_filter": kind} for name, kind in FILTERS.items()}
    flags |= {name: {"framing": name} for name in ("atm", "ptm")}
    options: Options = {"bandwidth": ("bandwidth", _rate), "rtt": ("rtt", _time), "memlimit": ("limit", _bytes)}
    read = _read(words, options | {name: (name, _count) for name in ("overhead", "mpu")}, flags)
    if read.keys() & {"overhead", "mpu", "framing"}:
        read["overhead"] = read.get("overhead", 0) - ETHERNET
    return Queue("cake", read)


READERS: dict[str, Callable[[Words, int], Queue]] = {
    "fq_pie": _fq_pie, "sfq": _sfq, "choke": _choke, "sfb": _sfb, "tbf": _tbf, "fq": _fq, "cake": _cake,
}  # fmt: skip


def parse(kind: str, words: list[str], txqueuelen: int) -> Queue:
    """The discipline of that kind and those options."""
    if kind not in READERS:
        raise NotTranslated(f"queue discipline `{kind}` has no counterpart in Haltere")
    return READERS[kind](Words(kind, words), txqueuelen)
