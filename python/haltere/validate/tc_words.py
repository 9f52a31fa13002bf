"""The words of a `tc qdisc` command: options, and quantities in tc's units.

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
FIRST_UPDATE = "500ms"
"""When PIE's first update is due: Linux sets its timer half a second ahead as it makes the queue, which is just before the run."""


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
    f"{unit}{end}": ns for unit, ns in (("m", 1e6), ("u", 1e3), ("n", 1.0), ("", 1e9)) for end in ("s", "sec", "secs")
}
_TIME[""] = 1e3
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

    def time_ns(self, option: str) -> int:
        """Nanoseconds."""
        return time_ns(self.next(option), f"{self.kind} {option}")

    def time(self, option: str) -> str:
        """A time, as an experiment file writes it."""
        return duration(self.time_ns(option))

    def rate(self, option: str) -> str:
        """A rate, as an experiment file writes it."""
        return f"{rate_bps(self.next(option), f'{self.kind} {option}')}bit"

    def probability(self, option: str) -> float:
        """A probability."""
        return probability(self.next(option), f"{self.kind} {option}")

    def size(self, option: str) -> int:
        """Bytes."""
        return size_bytes(self.next(option), f"{self.kind} {option}")

    def unknown(self, word: str) -> NotTranslated:
        """The error for an option that is not known."""
        return NotTranslated(f"{self.kind}: option `{word}` is not supported")


def packets(n: int) -> str:
    """The text of a number of packets."""
    return f"{n}p"


def nbytes(n: int) -> str:
    """The text of a number of bytes."""
    return f"{n}B"
