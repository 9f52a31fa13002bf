"""Experiment files that are written: what differs from the original file, and nothing that has its default."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from ..api import Scenario
from ..errors import InputError

__all__ = ["changed_file", "inline", "toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: A table that is longer than this gets a heading of its own.
_LINE = 118


def changed_file(original: Path, before: Scenario, after: Scenario, comment: str) -> str:
    """The text of the original file with the values of ``after``, below a comment. Loading it gives ``after``.

    Keys that the original does not write and that keep their value are not written.
    """
    wanted, given = after.to_dict(), tomllib.loads(original.read_text())

    def holds(values: Mapping[str, Any]) -> bool:
        try:
            return Scenario.from_toml(toml(values), str(original)).to_dict() == wanted
        except InputError:
            return False

    values = deepcopy(_changed(given, before.to_dict(), wanted))
    if not holds(values):
        values = deepcopy(wanted)
    _leave_out(values, given, lambda: holds(values))
    return f"{comment}\n{toml(values)}"


def _leave_out(values: Any, given: Any, holds: Callable[[], bool]) -> None:
    """Leaves out the keys that were not given and that have their default."""
    if isinstance(values, list):
        for i, one in enumerate(values):
            _leave_out(one, given[i] if isinstance(given, list) and i < len(given) else None, holds)
    if not isinstance(values, dict):
        return
    for key in list(values):
        if isinstance(given, Mapping) and key in given:
            _leave_out(values[key], given[key], holds)
            continue
        before = dict(values)
        del values[key]
        if not holds():
            values.clear()
            values.update(before)  # in their order
            _leave_out(values[key], None, holds)


def _changed(given: Any, before: Any, after: Any) -> Any:
    """What was given, with what differs between the full values before and after."""
    if before == after:
        return given
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return _changed_table(given, before, after)
    lists = [one for one in (given, before, after) if isinstance(one, list)]
    if len(lists) == 3 and len({len(one) for one in lists}) == 1:
        return [_changed(*one) for one in zip(given, before, after, strict=True)]
    return after


def _changed_table(given: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    # A mechanism may be given by its name alone.
    out = dict(given) if isinstance(given, Mapping) else {"kind": given} if isinstance(given, str) else {}
    for key in list(out):
        if key not in after:
            del out[key]
    for key, value in after.items():
        if key in before and before[key] != value:
            out[key] = _changed(out.get(key), before[key], value)
        elif key not in before:
            out[key] = value
    return out


def toml(values: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """The values as TOML. ``comments``: lines above a table, by its dotted name.

    >>> print(toml({"title": "T", "topology": {"dumbbell": {"pairs": 2, "access": {"rate": "1Gbit"}}}, "traffic": [{"kind": "bulk"}]}))
    title = "T"
    <BLANKLINE>
    [topology.dumbbell]
    pairs = 2
    access = { rate = "1Gbit" }
    <BLANKLINE>
    [[traffic]]
    kind = "bulk"
    <BLANKLINE>
    """
    return "\n".join(_lines("", values, comments or {})).lstrip("\n") + "\n"


def _is_tables(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(one, Mapping) for one in value)
    )


def _lines(path: str, table: Mapping[str, Any], comments: Mapping[str, str]) -> list[str]:
    """The lines of a table: values first, then tables below it with headings of their own."""
    plain, below = [], []
    for key, value in table.items():
        if value is None:
            continue
        name = f"{path}.{_key(key)}" if path else _key(key)
        line = f"{_key(key)} = {inline(value)}"
        depth = name.count(".")
        if isinstance(value, Mapping) and (depth < 2 or len(line) > _LINE) and not (depth and len(line) <= 40):
            below += _below(name, value, comments)
        elif _is_tables(value) and (depth == 0 or len(line) > _LINE):
            for one in value:
                below += ["", *_comment(name, comments, one), f"[[{name}]]", *_lines(name, one, comments)]
        else:
            plain += [*_comment(name, comments, value), line]
    return plain + below


def _below(name: str, table: Mapping[str, Any], comments: Mapping[str, str]) -> list[str]:
    inner = _lines(name, table, comments)
    # A table of tables alone needs no heading: theirs name it.
    heading = [] if table and all(isinstance(one, Mapping) for one in table.values()) and inner[:1] == [""] else ["", *_comment(name, comments, table), f"[{name}]"]  # fmt: skip
    return heading + inner


def _comment(name: str, comments: Mapping[str, str], value: Any) -> list[str]:
    """The comment of a table: by its path, or of an entry by its name."""
    own = (
        comments.get(f"{name}.{value['name']}")
        if isinstance(value, Mapping) and "name" in value
        else comments.get(name)
    )
    return [f"# {line}" for line in own.splitlines()] if own else []


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def inline(value: Any) -> str:
    """A value in one line of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {inline(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(inline, value))}]"
    return repr(value)
