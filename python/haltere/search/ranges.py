"""Ranges on the command line: ``1ms..100ms``, ``2..64``, ``log:1ms..8ms``, ``cubic,bbr,bbr3``.

A range of numbers has two ends with units of one kind, and ``..`` between them. Whole ends without unit, and packets, give whole numbers.
The scale is logarithmic if the upper end is more than ten times the lower one and the lower one is above 0; ``log:`` or ``linear:`` in front
says otherwise. A list of values with commas between gives one of them. A drawn number has three significant digits: nobody means more.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import InputError

#: Units by kind, each with its factor. The last of a kind is the largest in which values are written.
_UNITS: dict[str, dict[str, float]] = {
    "duration": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0},
    "rate": {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12},
    "bytes": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    "packets": {"p": 1.0},
    "bandwidth-delay products": {"bdp": 1.0},
    "per cent": {"%": 1.0},
    "number": {"": 1.0},
}
_OF_UNIT = {unit: (kind, factor) for kind, units in _UNITS.items() for unit, factor in units.items()}
_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z%]*)\s*")
#: Kinds of which only whole numbers are meant.
_WHOLE = ("packets",)


class Draw(Protocol):
    """Who proposes values, by name. Methods are those of a trial of Optuna."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float: ...
    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int: ...
    def suggest_categorical(self, name: str, choices: list[Any]) -> Any: ...


@dataclass(frozen=True)
class Span:
    """Numbers from ``low`` to ``high``, in the base unit of ``kind``."""

    low: float
    high: float
    kind: str
    log: bool
    whole: bool

    def draw(self, name: str, by: Draw) -> Any:
        """A proposed value, as an experiment file writes it."""
        if self.whole:
            return self.spell(by.suggest_int(name, int(self.low), int(self.high), log=self.log))
        return self.spell(rounded(by.suggest_float(name, self.low, self.high, log=self.log), 3))

    @property
    def middle(self) -> Any:
        """A value between the ends."""
        value = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        return self.spell(round(value) if self.whole else rounded(value, 3))

    def spell(self, value: float) -> Any:
        """A number of this kind as an experiment file writes it; the ends are not left."""
        value = min(max(value, self.low), self.high)
        if self.kind == "number":
            return int(value) if self.whole else float(f"{value:.12g}")
        units = _UNITS[self.kind]
        unit = next((one for one in reversed(units) if abs(value) >= units[one] * 0.9999), next(iter(units)))
        return f"{value / units[unit]:.12g}{unit}"

    def number(self, value: Any) -> float:
        """The number that :meth:`spell` wrote."""
        return number_of(value)

    def fewer_digits(self, value: Any) -> list[Any]:
        """The same value with one significant digit and with two, if they are others and within the range."""
        if self.whole and self.kind == "number":
            return []
        exact = self.number(value)
        texts = [
            self.spell(rounded(exact, digits)) for digits in (1, 2) if self.low <= rounded(exact, digits) <= self.high
        ]
        return [text for text in dict.fromkeys(texts) if text != value]

    def __str__(self) -> str:
        return f"{self.spell(self.low)}..{self.spell(self.high)}"


@dataclass(frozen=True)
class Choice:
    """One of these values."""

    values: tuple[Any, ...]

    def draw(self, name: str, by: Draw) -> Any:
        """A proposed value, as an experiment file writes it."""
        if len(self.values) == 1:
            return self.values[0]
        return self.values[by.suggest_categorical(name, list(range(len(self.values))))]

    @property
    def middle(self) -> Any:
        """One of them."""
        return self.values[0]

    def fewer_digits(self, value: Any) -> list[Any]:
        """Values of a list stay as they were written."""
        return []

    def __str__(self) -> str:
        return ",".join(str(one) for one in self.values)


Range = Span | Choice


def rounded(value: float, digits: int) -> float:
    """The value with so many significant digits.

    >>> rounded(0.0123456, 3), rounded(98765, 1), rounded(0, 2)
    (0.0123, 100000.0, 0.0)
    """
    return float(f"{value:.{digits - 1}e}")


def _number(text: str) -> tuple[float, str, bool]:
    """The number in its base unit, the kind of the unit, and whether it was written as a whole number."""
    found = _NUMBER.fullmatch(text)
    if found is None or found[2] not in _OF_UNIT:
        units = ", ".join(f"`{unit}`" for unit in _OF_UNIT if unit)
        raise ValueError(f"a number with one of the units {units}, or without")
    kind, factor = _OF_UNIT[found[2]]
    return float(f"{float(found[1]) * factor:.12g}"), kind, re.fullmatch(r"[+-]?\d+", found[1]) is not None


def number_of(value: Any) -> float:
    """A number with its unit, in the base unit of its kind.

    >>> number_of("20ms"), number_of("1.5bdp"), number_of(3)
    (0.02, 1.5, 3.0)
    """
    return _number(str(value))[0]


def _value(text: str) -> Any:
    """A value of a list, as TOML reads it; else a bare word."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


def parse_range(text: str, where: str) -> Range:
    """The range in this text; ``where`` stands for it in errors.

    >>> parse_range("1ms..100ms", "--over")
    Span(low=0.001, high=0.1, kind='duration', log=True, whole=False)
    >>> parse_range("linear:2..64", "--over").whole, str(parse_range("cubic, bbr", "--over"))
    (True, 'cubic,bbr')
    """
    scale, colon, ends = text.partition(":")
    if not colon or scale not in ("log", "linear"):
        scale, ends = "", text
    if ".." not in ends:
        if scale:
            raise InputError(f"{where}: range must be LOW..HIGH behind `{scale}:`, got `{text}`")
        values = _split(ends)
        if not values or any(value == "" for value in values):
            raise InputError(f"{where}: range must be LOW..HIGH or values with commas between, got `{text}`")
        return Choice(tuple(values))
    low_text, _, high_text = ends.partition("..")
    read: Callable[[str], tuple[float, str, bool]] = _number
    try:
        (low, kind, first), (high, other, last) = read(low_text), read(high_text)
    except ValueError as error:
        raise InputError(f"{where}: both ends must be {error}, got `{text}`") from None
    if kind != other:
        raise InputError(f"{where}: both ends must have units of one kind, got a {kind} and a {other} in `{text}`")
    if not low < high:
        raise InputError(f"{where}: lower end must be below the upper one, got `{text}`")
    if scale == "log" and low <= 0:
        raise InputError(f"{where}: lower end must be > 0 on a logarithmic scale, got `{text}`; write `linear:`")
    log = scale == "log" or (scale == "" and low > 0 and high > 10 * low)
    whole = first and last and (kind == "number" or kind in _WHOLE)
    return Span(low, high, kind, log, whole)


def _split(text: str) -> list[Any]:
    """The values of a list: commas within brackets, braces and quotes do not part them."""
    parts, depth, quoted, part = [], 0, "", ""
    for one in text:
        if quoted:
            quoted = "" if one == quoted else quoted
        elif one in "\"'":
            quoted = one
        depth += (one in "[{") - (one in "]}") if not quoted else 0
        if one == "," and depth == 0 and not quoted:
            parts.append(part)
            part = ""
        else:
            part += one
    return [_value(one) for one in (*parts, part)]
