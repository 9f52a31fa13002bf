"""Experiments as TOML that a person would write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: A table that is longer than this gets a heading of its own.
_LINE = 118
#: And a table of a table at the top, such as `[topology.dumbbell]`, that is longer than this.
_SHORT = 40


def toml(values: Mapping[str, Any]) -> str:
    """The values as TOML, as a person would lay out an experiment.

    >>> print(toml({"title": "T", "topology": {"dumbbell": {"pairs": 2, "access": {"rate": "1Gbit", "delay": "1ms"}}}, "traffic": [{"kind": "bulk"}]}))
    title = "T"
    <BLANKLINE>
    [topology.dumbbell]
    pairs = 2
    access = { rate = "1Gbit", delay = "1ms" }
    <BLANKLINE>
    [[traffic]]
    kind = "bulk"
    <BLANKLINE>
    """
    return "\n".join(_lines("", values)).lstrip("\n") + "\n"


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _lines(path: str, table: Mapping[str, Any], is_entry: bool = False) -> list[str]:
    """The lines of a table, which may be an entry of a list: values first, then tables below it with headings of their own."""
    plain, below = [], []
    for key, value in table.items():
        if value is None:
            continue
        name = f"{path}.{bare(key)}" if path else bare(key)
        line = f"{bare(key)} = {literal(value)}"
        is_long = len(line) > (_LINE if is_entry or "." in path else _SHORT)
        if isinstance(value, Mapping) and (not path or is_long):
            below += _below(name, value)
        elif _is_tables(value) and (not path or len(line) > _LINE):
            for one in value:
                below += ["", f"[[{name}]]", *_lines(name, one, is_entry=True)]
        else:
            plain.append(line)
    return plain + below


def _below(name: str, table: Mapping[str, Any]) -> list[str]:
    inner = _lines(name, table)
    # A table of tables alone needs no heading: theirs name it.
    return inner if inner[:1] == [""] else ["", f"[{name}]", *inner]


def bare(key: str) -> str:
    """A key: as it is, or in quotes if it must be."""
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # TOML allows all of JSON's escapes, and no DEL as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def literal(value: Any) -> str:
    """A value in one line of TOML.

    >>> literal("5ms"), literal(True), literal({"kind": "reno", "x": 1}), literal({"a": None, "b": [1]})
    ('"5ms"', 'true', '{ kind = "reno", x = 1 }', '{ b = [1] }')
    >>> print(literal("a\\x7fb"))
    "a\\u007fb"
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{bare(key)} = {literal(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)
