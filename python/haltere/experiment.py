"""An experiment as Python reads it: typed views of the nested mappings that TOML, JSON and a manifest hold.

A view holds no values of its own. The keys that it reads are keys of the schema; ``tests/python/test_experiment.py`` compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import _core, kinds


def seconds_of(text: str) -> float:
    """A duration of an experiment file, in seconds.

    >>> seconds_of("100.1s"), seconds_of("20ms")
    (100.1, 0.02)
    """
    return _core.parse_quantity("duration", text)


@dataclass(frozen=True)
class Traffic:
    """One traffic entry: ``values`` as written, ``place`` in the file from 0."""

    place: int
    values: Mapping[str, Any]

    @property
    def kind(self) -> str:
        """The traffic kind."""
        return str(self.values["kind"])

    @property
    def name(self) -> str:
        """The name of the entry in results."""
        return str(self.values.get("name") or _core.traffic_name(kinds.label(self.kind), self.place))

    @property
    def behaviour(self) -> kinds.Traffic:
        """How flows of its kind behave."""
        return kinds.traffic(self.kind)

    @property
    def congestion(self) -> list[Mapping[str, Any] | str]:
        """Its congestion controls."""
        given = self.values.get("congestion") or []
        return given if isinstance(given, list) else [given]

    @property
    def count(self) -> int:
        """How many flows each pair has."""
        return int(self.values.get("count", 1))

    @property
    def unlimited(self) -> bool:
        """Its flows have no end of their own: the entry gives neither a size nor a stop."""
        return not self.values.get("bytes") and not self.values.get("stop")


@dataclass(frozen=True)
class Topology:
    """The topology: its kind and the values of its table."""

    kind: str
    values: Mapping[str, Any]

    def tables(self) -> Iterator[Mapping[str, Any]]:
        """Every table in it, however deep."""
        return _tables(self.values)

    def all(self, key: str) -> list[str]:
        """Every value of that key, however deep."""
        return [str(table[key]) for table in self.tables() if key in table]


def _tables(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from _tables(one)


@dataclass(frozen=True)
class Experiment:
    """An experiment with every default filled in, such as :meth:`haltere.Scenario.to_dict` gives it."""

    values: Mapping[str, Any]

    def asked(self, key: str) -> Any:
        """The value of a key of `[measure]`; ``None`` without one."""
        return self.values.get("measure", {}).get(key)

    @cached_property
    def duration_s(self) -> float:
        """The length of a run, in seconds."""
        return seconds_of(self.values["duration"])

    @cached_property
    def warmup_s(self) -> float:
        """The end of the warm-up: the start of the measured window if there is one, in seconds."""
        window = self.asked("window")
        return seconds_of(window[0] if window else self.values["warmup"])

    @cached_property
    def cooldown_s(self) -> float:
        """The length of the cool-down, in seconds."""
        return seconds_of(self.values.get("cooldown", "0s"))

    @cached_property
    def until_s(self) -> float:
        """The end of the measured part of a run: of its window, before its cool-down, or of the run, in seconds."""
        window = self.asked("window")
        return seconds_of(window[1]) if window else self.duration_s - self.cooldown_s

    @property
    def span_s(self) -> float:
        """The length of the measured part of a run, in seconds."""
        return self.until_s - self.warmup_s

    @cached_property
    def traffic(self) -> list[Traffic]:
        """The traffic entries."""
        return [Traffic(place, one) for place, one in enumerate(self.values.get("traffic", ()))]

    @property
    def tcp(self) -> Mapping[str, Any]:
        """The table `[tcp]`, which holds for every flow."""
        table: Mapping[str, Any] = self.values["tcp"]
        return table

    @property
    def topology(self) -> Topology:
        """The topology."""
        return Topology(*next(iter(self.values["topology"].items())))

    @property
    def sweep(self) -> dict[str, Any]:
        """The axes of the sweep."""
        return dict(self.values.get("sweep", {}))
