"""Why rows are outside: `causes.toml` beside the results says it, and the page repeats it beside each row.

    [[cause]]
    name = "Three repetitions of a bistable system"
    scenarios = "B_pair_bbr_reno_4bdp"     # a regular expression for the whole name
    measures = "share .*|jain .*"          # the same for the measure; left out: all
    explained = true                       # false: what was found is not yet the cause
    text = "What happens, in a sentence or two."
    world = "NAME"                         # rows of that world; left out: the simulator's

The first entry that fits a row is its cause. A row that none fits is not explained.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from haltere.errors import InputError
from haltere.validate import Row
from haltere.worlds import DEFAULT

CAUSES = "causes.toml"
"""The file in the directory of results."""
NOT_EXPLAINED = "not explained"
"""The label of a row without a cause."""


@dataclass(frozen=True)
class Cause:
    """A reason for which rows are outside, and the rows that it is about."""

    name: str
    scenarios: str
    text: str
    measures: str = ".*"
    explained: bool = True
    world: str = DEFAULT

    def fits(self, row: Row) -> bool:
        """True if it is about that row."""
        fits = re.fullmatch(self.scenarios, row.case) and re.fullmatch(self.measures, row.measure)
        return fits is not None

    @property
    def label(self) -> str:
        """The label of a row."""
        return self.name if self.explained else f"{NOT_EXPLAINED}: {self.name}"


def load(directory: Path) -> list[Cause]:
    """The causes of a directory of results; none if it has no such file."""
    path = directory / CAUSES
    if not path.is_file():
        return []
    try:
        entries = tomllib.loads(path.read_text()).get("cause", [])
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"validate: {path}: {error}") from None
    return [_cause(path, number, entry) for number, entry in enumerate(entries, 1)]


def _cause(path: Path, number: int, entry: dict[str, Any]) -> Cause:
    where = f"validate: {path}: cause {number}"
    names = {one.name for one in fields(Cause)}
    for unknown in sorted(entry.keys() - names):
        raise InputError(f"{where}: `{unknown}` must be one of {', '.join(sorted(names))}")
    for needed in ("name", "scenarios", "text"):
        if needed not in entry:
            raise InputError(f"{where}: `{needed}` must be given")
    values: dict[str, Any] = {
        name: " ".join(value.split()) if isinstance(value, str) else value for name, value in entry.items()
    }
    cause = Cause(**values)
    for name, pattern in (("scenarios", cause.scenarios), ("measures", cause.measures)):
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(f"{where}: `{name}` must be a regular expression, got `{pattern}`: {error}") from None
    return cause


def of_world(causes: Iterable[Cause], world: str) -> list[Cause]:
    """Those about rows of that world."""
    return [cause for cause in causes if cause.world == world]


def cause_of(row: Row, causes: Iterable[Cause]) -> str:
    """The label of that row."""
    return next((cause.label for cause in causes if cause.fits(row)), NOT_EXPLAINED)


def markdown(outside: Sequence[Row], causes: Sequence[Cause]) -> list[str]:
    """The causes of the rows outside as a Markdown list, with their numbers of rows; at the end the rows without one."""
    left, lines = list(outside), []
    for cause in causes:
        mine = [row for row in left if cause_of(row, causes) == cause.label]
        left = [row for row in left if row not in mine]
        if mine:
            verdict = "" if cause.explained else f", {NOT_EXPLAINED}"
            lines.append(f"- **{cause.name}** ({_rows(len(mine))} in {_sets(mine)}{verdict}). {cause.text}")
    if left:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(row.case for row in left))
        lines.append(f"- **{NOT_EXPLAINED.capitalize()}** ({_rows(len(left))} in {_sets(left)}). {names}.")
    return lines


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _sets(rows: Sequence[Row]) -> str:
    sets = list(dict.fromkeys(row.group for row in rows))
    return f"set {sets[0]}" if len(sets) == 1 else f"sets {', '.join(sets[:-1])} and {sets[-1]}"
