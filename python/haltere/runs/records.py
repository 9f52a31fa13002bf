"""What is written down of points and runs: plain records, as the manifest and the seals hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Done", "Failed", "Point", "Seal", "swept"]

#: What the store says of a run: ``key``, ``seed``, ``digest``, ``wall_s``, ``build``, ``files`` and the notes of its world.
Seal = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One combination of a sweep: its place, what was swept with its value, and its full scenario."""

    index: int
    labels: Mapping[str, Any]
    scenario: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The labels in a few words, or ``all`` if nothing was swept.

        >>> Point(0, {"topology.dumbbell.pairs": 4, "queue": {"kind": "red"}}, {}).name
        'pairs=4 queue=red'
        """
        return " ".join(f"{key.rsplit('.', 1)[-1]}={_short(value)}" for key, value in self.labels.items()) or "all"


def _short(value: Any) -> str:
    if isinstance(value, Mapping) and "kind" in value:
        return str(value["kind"])
    return str(value) if not isinstance(value, Mapping | list) else json.dumps(value)


def swept(value: Any) -> str:
    """A swept value as the command line takes it: the kind of a table with one, else as JSON writes it.

    >>> swept({"kind": "codel", "target": "5ms"}), swept("10Mbit"), swept(4)
    ('codel', '10Mbit', '4')
    """
    if isinstance(value, Mapping) and "kind" in value:
        return str(value["kind"])
    return value if isinstance(value, str) else json.dumps(value)


#: The keys of a seal that are not notes of a world.
_OF_THE_STORE = ("build", "files")


@dataclass(frozen=True)
class Done:
    """One run that is done; ``digest`` is the SHA-256 of its tables, ``wall_s`` the seconds it took."""

    key: str
    point: int
    seed: int
    digest: str
    wall_s: float
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What its world says of it, by name: see :meth:`haltere.worlds.World.notes`."""

    @classmethod
    def of_seal(cls, seal: Seal, point: int) -> Done:
        """The run with that seal, as a run of ``point``."""
        return cls.of_dict({key: value for key, value in seal.items() if key not in _OF_THE_STORE} | {"point": point})

    @classmethod
    def of_dict(cls, entry: Mapping[str, Any]) -> Done:
        """The run of this entry of the manifest."""
        rest = dict(entry)
        key, point, seed = str(rest.pop("key")), int(rest.pop("point")), int(rest.pop("seed"))
        digest, wall_s = str(rest.pop("digest")), float(rest.pop("wall_s"))
        return cls(key, point, seed, digest, wall_s, rest)

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        own = {name: getattr(self, name) for name in ("key", "point", "seed", "digest", "wall_s")}
        return {**own, **self.notes}


@dataclass(frozen=True)
class Failed:
    """One run that came to no end, and why."""

    key: str
    point: int
    seed: int
    error: str

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return dict(vars(self))
