"""The fields of observations and the actions, as the simulator's tables say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from .. import _core
from ..errors import InputError

Array = npt.NDArray[np.float64]


class Field(NamedTuple):
    """A field of an observation."""

    name: str
    group: str
    unit: str
    low: float
    high: float
    meaning: str


class Action(NamedTuple):
    """What is decided. ``choices`` is 0 if a value is a number, and else how many there are."""

    name: str
    width: int
    choices: int
    unit: str
    low: float
    high: float
    meaning: str

    def space(self) -> spaces.Space[Any]:
        """The space of one decision."""
        if self.choices:
            return spaces.Discrete(self.choices)
        return spaces.Box(self.low, self.high, (self.width,), np.float64)


SENDER_FIELDS = tuple(Field(*one) for one in _core.gym_fields(False))
QUEUE_FIELDS = tuple(Field(*one) for one in _core.gym_fields(True))
ACTIONS = {one[0]: Action(*one) for one in _core.gym_actions()}

#: Groups of which an observation may have fields: ``network`` is known to the simulator alone.
OBSERVED = ("window", "scaled", "tcp_info")


class Interval(Mapping[str, Array]):
    """The fields of one interval by name: arrays with a value for each environment (and for each that decides)."""

    def __init__(self, fields: Sequence[Field], rows: Array) -> None:
        self._columns = {field.name: number for number, field in enumerate(fields)}
        self._rows = rows

    def __getitem__(self, name: str) -> Array:
        column: Array = self._rows[..., self._columns[name]]
        return column

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def chosen(fields: Sequence[Field], observe: str | Sequence[str]) -> list[int]:
    """The columns that ``observe`` names: a group, or a list of fields."""
    groups = [name for name in OBSERVED if any(field.group == name for field in fields)]
    if isinstance(observe, str):
        if observe not in groups:
            raise InputError(
                f"gym: observe must be one of `{'`, `'.join(groups)}` or a list of fields, got `{observe}`"
            )
        return [number for number, field in enumerate(fields) if field.group == observe]
    names = [field.name if field.group in groups else "" for field in fields]
    for name in observe:
        if not name or name not in names:
            raise InputError(f"gym: observe must be fields of the groups `{'`, `'.join(groups)}`, got `{name}`")
    if not observe:
        raise InputError("gym: observe must be at least one field, got none")
    return [names.index(name) for name in observe]


def observation_space(fields: Sequence[Field], columns: Sequence[int]) -> spaces.Box:
    """The space of these columns."""
    low = np.array([fields[column].low for column in columns], np.float32)
    high = np.array([fields[column].high for column in columns], np.float32)
    return spaces.Box(low, high, dtype=np.float32)
