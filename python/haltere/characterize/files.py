"""The scenarios of the report cards: TOML files beside the modules, `rfc7928.toml` and `controls/rfc9743.toml`.

A file has a list of cases. Texts in them may have names of `each` in braces, which makes one case of every combination of its values. A
traffic entry is a name of `[entries]`, or a table whose `use` is such a name; `traffic` of the file is that of a case that has none.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..experiment import seconds_of

Table = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One scenario: its name, and its experiment without the mechanism."""

    key: str
    title: str
    topology: Table
    traffic: Sequence[Table]
    section: str = ""
    group: str = ""
    """The figure in which it is drawn."""
    remark: str = ""
    drawn: str = ""
    """The title of its panel over time; empty: it has none."""
    tcp: Mapping[str, Any] = field(default_factory=dict)
    ecn: bool = False
    """The discipline marks, if it can."""
    link: str = "left>right"
    """The link whose queue is measured."""
    duration_s: float = 60.0
    warmup_s: float = 10.0
    window: Sequence[float] = (15.0, 45.0)
    """The measured part of a run without warm-up, in seconds; the run ends with it."""
    of: Mapping[str, Any] = field(default_factory=dict)
    """The values of `each` for which it was made."""

    @cached_property
    def steps(self) -> tuple[float, list[tuple[float, float]]]:
        """After how many seconds the rates of the bottleneck begin again (0: never), and from when there is which, in Mbit/s."""
        link = self.topology.get("dumbbell", {}).get("bottleneck", {})
        steps = link.get("schedule") or [{"at": "0s", "rate": "10Mbit"}]
        rates = [(seconds_of(one["at"]), float(one["rate"].removesuffix("Mbit"))) for one in steps]
        return seconds_of(link.get("schedule_repeat", "0s")), rates

    def rate_mbit(self, at_s: float) -> float:
        """The rate of the bottleneck at that time."""
        repeat, rates = self.steps
        when = at_s % repeat if repeat else at_s
        return [rate for start, rate in rates if start <= when + 1e-9][-1]


def read(path: Path) -> Table:
    """What a file of scenarios holds."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def made(file: Table, path: Callable[..., Table], quick: bool = False) -> Iterator[Case]:
    """The cases of a file. ``path`` makes the topology of the values of a case's `path`."""
    for one in file["case"]:
        each = one.get("each_quick" if quick else "each", one.get("each", {}))
        for values in itertools.product(*each.values()):
            of = dict(zip(each, values, strict=True))
            table = _filled({key: value for key, value in one.items() if not key.startswith("each")}, of)
            if "path" in table:
                table["topology"] = path(**table.pop("path"))
            table["traffic"] = [entry(given, file["entries"]) for given in table.get("traffic", file["traffic"])]
            yield Case(of=of, **{**table, "key": table["key"].replace(".", "_")})


def entry(given: str | Table, entries: Mapping[str, Table]) -> Table:
    """A traffic entry of a case."""
    if isinstance(given, str):
        return dict(entries[given])
    base = entries[given["use"]] if "use" in given else {}
    return base | {key: value for key, value in given.items() if key != "use"}


def _filled(value: Any, of: Mapping[str, Any]) -> Any:
    """The texts with the values of ``of`` in place of their names in braces; a text that is such a name alone becomes the value."""
    if isinstance(value, str):
        whole = of.get(value[1:-1]) if value[:1] == "{" else None
        return (
            whole
            if whole is not None
            else value.format(**{name: f"{one:g}" if isinstance(one, float) else one for name, one in of.items()})
        )
    if isinstance(value, dict):
        return {key: _filled(one, of) for key, one in value.items()}
    return [_filled(one, of) for one in value] if isinstance(value, list) else value


def replaced(value: Any, text: str, by: Any) -> Any:
    """The value with another in the place of a text, however deep.

    >>> replaced({"a": ["QUEUE", "b"]}, "QUEUE", {"kind": "pie"})
    {'a': [{'kind': 'pie'}, 'b']}
    """
    if isinstance(value, dict):
        return {key: replaced(one, text, by) for key, one in value.items()}
    if isinstance(value, list):
        return [replaced(one, text, by) for one in value]
    return by if value == text else value
