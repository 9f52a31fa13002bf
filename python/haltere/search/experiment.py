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

_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: A table that is longer than this gets a heading of its own.
_LINE = 118
#: And a table of a table at the top, such as `[topology.dumbbell]`, that is longer than this.
_SHORT = 40


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
    return f"{comment}\n{toml(_with_folders(values, wanted))}"


def _with_folders(values: Any, filled: Any) -> Any:
    """The values with the folder of each mechanism from outside the tree: the new file need not lie beside the code."""
    if isinstance(values, list) and isinstance(filled, list):
        return [_with_folders(*one) for one in zip(values, filled, strict=True)]
    if not isinstance(filled, Mapping):
        return values
    if "folder" in filled.get("source", {}):
        table = values if isinstance(values, Mapping) else {"kind": values}
        values = {**table, "source": {"folder": filled["source"]["folder"]}}
    if not isinstance(values, Mapping):
        return values
    return {key: _with_folders(one, filled.get(key)) for key, one in values.items()}


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
        name = f"{path}.{_key(key)}" if path else _key(key)
        line = f"{_key(key)} = {inline(value)}"
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
