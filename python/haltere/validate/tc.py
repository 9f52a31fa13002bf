"""Reads the text of a `tc qdisc` command and says which discipline of Haltere it is.

Units follow tc(8): bare times are microseconds, bare sizes bytes, sizes' `k` and `m` are powers of two, bare
rates bit/s and rates' `k`, `m` powers of ten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

HZ = 250
"""Timer ticks a second of the kernels that the harness boots."""


class NotTranslated(ValueError):
    """A scenario says something that Haltere cannot run; the text is the reason shown to the user."""


@dataclass
class Queue:
    """A discipline of Haltere: `kind` and the parameters that differ from its defaults."""

    kind: str
    params: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As the experiment file writes it."""
        return {"kind": self.kind, **self.params}


# ------------------------------------------------------------------ quantities
_TIME = {
    "": 1e3,
    "s": 1e9,
    "sec": 1e9,
    "secs": 1e9,
    "ms": 1e6,
    "msec": 1e6,
    "msecs": 1e6,
    "us": 1e3,
    "usec": 1e3,
    "usecs": 1e3,
}
_TIME |= {"ns": 1.0, "nsec": 1.0, "nsecs": 1.0}
_SIZE = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_SIZE |= {"kbit": 128, "mbit": 131072, "gbit": 1 << 27}


def _split(text: str, what: str) -> tuple[float, str]:
    match = re.fullmatch(r"([0-9.]+(?:e[0-9]+)?)\s*([A-Za-z%]*)", text)
    if not match:
        raise NotTranslated(f"{what}: cannot read `{text}`")
    return float(match[1]), match[2].lower()


def time_ns(text: str, what: str = "time") -> int:
    """Nanoseconds of a time of tc."""
    value, unit = _split(text, what)
    if unit not in _TIME:
        raise NotTranslated(f"{what}: unknown unit of time in `{text}`")
    return round(value * _TIME[unit])


def size_bytes(text: str, what: str = "size") -> int:
    """Bytes of a size of tc."""
    value, unit = _split(text, what)
    if unit not in _SIZE:
        raise NotTranslated(f"{what}: unknown unit of size in `{text}`")
    return round(value * _SIZE[unit])


def rate_bps(text: str, what: str = "rate") -> int:
    """Bits a second of a rate of tc."""
    value, unit = _split(text, what)
    scale = 1.0
    if unit.endswith("bps"):
        scale, unit = 8.0, unit[:-3]
    elif unit.endswith("bit"):
        unit = unit[:-3]
    factors = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30}
    if unit not in factors:
        raise NotTranslated(f"{what}: unknown unit of rate in `{text}`")
    return round(value * factors[unit] * scale)


def probability(text: str, what: str = "probability") -> float:
    """A probability as tc reads it: 0 to 1, or percent with `%`."""
    value, unit = _split(text, what)
    return value / 100 if unit == "%" else value


def duration(ns: int) -> str:
    """The text of a duration for an experiment file."""
    for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns % scale == 0 and ns:
            return f"{ns // scale}{unit}"
    return f"{ns}ns"


def timer_period_ns(ns: int, hz: int = HZ) -> int:
    """How often a kernel timer runs that is set again for `ns` each time it fires.

    The time is rounded up to ticks; the timer wheel, which must never be early, then adds a part of a slot, which for a timer
    set in its own handler is a whole one: 15 ms become 4 ticks, and the timer fires every fifth, every 20 ms.
    """
    tick = 10**9 // hz
    ticks = -(-ns // tick)
    level = 0
    while ticks >= 63 << 3 * level:  # slots of 1, 8, 64, ... ticks
        level += 1
    return ((ticks >> 3 * level) + 1 << 3 * level) * tick


# ------------------------------------------------------------------ words
class Words:
    """The words after the discipline's name; each option takes what it needs, and what is left over is an error."""

    def __init__(self, kind: str, words: list[str]) -> None:
        self.kind = kind
        self._words = iter(words)

    def __iter__(self) -> Iterator[str]:
        return self._words

    def next(self, option: str) -> str:
        """The value of that option, as it is written."""
        word = next(self._words, None)
        if word is None:
            raise NotTranslated(f"{self.kind}: `{option}` lacks its value")
        return word

    def count(self, option: str) -> int:
        """A whole number."""
        word = self.next(option)
        try:
            return int(word, 0)
        except ValueError:
            raise NotTranslated(f"{self.kind}: {option} must be a whole number, got `{word}`") from None

    def time(self, option: str) -> str:
        """A time, as an experiment file writes it."""
        return duration(time_ns(self.next(option), f"{self.kind} {option}"))

    def size(self, option: str) -> int:
        """Bytes."""
        return size_bytes(self.next(option), f"{self.kind} {option}")

    def unknown(self, word: str) -> NotTranslated:
        """The error for an option that is not known."""
        return NotTranslated(f"{self.kind}: option `{word}` is not known here")


def packets(n: int) -> str:
    """The text of a number of packets."""
    return f"{n}p"


def nbytes(n: int) -> str:
    """The text of a number of bytes."""
    return f"{n}B"


def parse_qdisc(text: str, txqueuelen: int = 1000, frame: int = 1514) -> Queue:
    """The discipline that `tc qdisc add ... TEXT` makes on a device of that queue length and full frame."""
    words = text.split()
    if not words:
        raise NotTranslated("the text of the queue discipline is empty")
    kind, rest = words[0], Words(words[0], words[1:])
    readers = {"codel": _codel, "fq_codel": _fq_codel, "pie": _pie, "red": _red}
    if kind == "pfifo":
        return Queue("drop_tail", {"limit": packets(_limit(rest, txqueuelen, rest.count))})
    if kind == "bfifo":
        return Queue("drop_tail", {"limit": nbytes(_limit(rest, txqueuelen * frame, rest.size))})
    if kind == "pfifo_fast":
        for word in rest:
            raise rest.unknown(word)
        return Queue("pfifo_fast", {"limit": packets(txqueuelen), "release_batch": ring_batch(txqueuelen)})
    if kind in readers:
        return readers[kind](rest)
    from . import tc_fair  # it is made of this module

    return tc_fair.parse(kind, words[1:], txqueuelen)


def ring_batch(slots: int) -> int:
    """Slots that Linux's pointer ring frees at a time: two cache lines of pointers, unless the ring is too small."""
    return 16 if slots >= 32 else 1


def _limit(words: Words, default: int, read: Any) -> int:
    limit = default
    for word in words:
        if word != "limit":
            raise words.unknown(word)
        limit = read(word)
    return limit


def _codel(words: Words) -> Queue:
    params: dict[str, Any] = {"limit": packets(1000)}
    for word in words:
        if word == "limit":
            params["limit"] = packets(words.count(word))
        elif word in ("target", "interval", "ce_threshold"):
            params[word] = words.time(word)
        elif word in ("ecn", "noecn"):
            params["ecn"] = word == "ecn"
        else:
            raise words.unknown(word)
    return Queue("codel", params)


def _fq_codel(words: Words) -> Queue:
    params: dict[str, Any] = {"limit": packets(10240)}
    for word in words:
        if word == "limit":
            params["limit"] = packets(words.count(word))
        elif word in ("target", "interval", "ce_threshold"):
            params[word] = words.time(word)
        elif word in ("quantum", "memory_limit"):
            params[word] = nbytes(words.size(word))
        elif word in ("flows", "drop_batch"):
            params[word] = words.count(word)
        elif word in ("ecn", "noecn"):
            params["ecn"] = word == "ecn"
        else:
            raise words.unknown(word)
    return Queue("fq_codel", params)


def _pie(words: Words) -> Queue:
    # tc-pie(8): alpha and beta are sixteenths; the update runs by a kernel timer.
    params: dict[str, Any] = {"limit": packets(1000), "tupdate": duration(timer_period_ns(15_000_000))}
    for word in words:
        if word == "limit":
            params["limit"] = packets(words.count(word))
        elif word == "target":
            params["target"] = words.time(word)
        elif word == "tupdate":
            params["tupdate"] = duration(timer_period_ns(time_ns(words.next(word), "pie tupdate")))
        elif word in ("alpha", "beta"):
            params[word] = words.count(word) / 16
        elif word in ("ecn", "noecn"):
            params["ecn"] = word == "ecn"
        elif word in ("bytemode", "nobytemode"):
            params["bytemode"] = word == "bytemode"
        elif word in ("dq_rate_estimator", "no_dq_rate_estimator"):
            params["dq_rate_estimator"] = word == "dq_rate_estimator"
        else:
            raise words.unknown(word)
    return Queue("pie", params)


def _red(words: Words) -> Queue:
    """RED as Linux runs it if tc sets it up: `adaptative` changes nothing.

    tc passes RED's flags in an attribute of their own since iproute2 5.7. Linux 6.1 starts the timer of the adaptation only
    if the flag is in the old structure, so the probability never moves. The reference agrees: over 2 to 20 flows, `ared` and
    `red` of set A have the same queue within 1 % and the same loss within 0.1 points.
    """
    got: dict[str, Any] = {"probability": 0.02, "bandwidth": 10_000_000}
    for word in words:
        if word in ("limit", "min", "max", "avpkt"):
            got[word] = words.size(word)
        elif word == "burst":
            got[word] = words.count(word)
        elif word == "bandwidth":
            got[word] = rate_bps(words.next(word), "red bandwidth")
        elif word == "probability":
            got[word] = probability(words.next(word))
        elif word in ("adaptive", "adaptative"):
            continue  # the kernel stores the flag and never adapts: see below
        elif word in ("ecn", "harddrop", "nodrop"):
            got[word] = True
        else:
            raise words.unknown(word)
    return red_of(got)


def red_of(got: dict[str, Any]) -> Queue:
    """RED of tc's options. What tc derives if an option is absent (thresholds, burst, weight), Haltere's RED derives too."""
    for needed in ("limit", "avpkt"):
        if needed not in got:
            raise NotTranslated(f"red: `{needed}` is missing")
    params: dict[str, Any] = {name: nbytes(got[name]) for name in ("limit", "min", "max", "avpkt") if name in got}
    params |= {name: got[name] for name in ("burst", "probability") if name in got}
    params["bandwidth"] = f"{got['bandwidth']}bit"
    params |= {flag: True for flag in ("ecn", "harddrop", "nodrop") if got.get(flag)}
    return Queue("red", params)
