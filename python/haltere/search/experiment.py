"""Experiment files that are written: what differs from the original file, and nothing that has its default."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from ..api import Scenario
from ..errors import InputError
from ..toml import toml


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
    """The values with the folder of each mechanism from outside the tree: the new file may be in another folder."""
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
