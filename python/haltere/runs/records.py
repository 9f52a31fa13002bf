"""What is written down of points and runs: plain records, as the manifest and the checksum files hold them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import kinds

__all__ = ["Done", "Failed", "Point", "Seal", "seal_of", "sealed", "short_keys", "swept", "wrong_in_manifest"]

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
        names = short_keys(self.labels)
        return " ".join(f"{names[key]}={_short(value)}" for key, value in self.labels.items()) or "all"


def short_keys(keys: Iterable[str]) -> dict[str, str]:
    """Each dotted key by its last word; by as many words more as keys need that end alike.

    >>> short_keys(["topology.dumbbell.pairs", "traffic.0.tcp.mss"])
    {'topology.dumbbell.pairs': 'pairs', 'traffic.0.tcp.mss': 'mss'}
    >>> list(short_keys(["topology.dumbbell.access.rate", "topology.dumbbell.bottleneck.rate"]).values())
    ['access.rate', 'bottleneck.rate']
    """
    words = {key: key.split(".") for key in keys}
    out = {}
    for key, own in words.items():
        others = [one for other, one in words.items() if other != key]
        many = next((n for n in range(1, len(own)) if all(one[-n:] != own[-n:] for one in others)), len(own))
        out[key] = ".".join(own[-many:])
    return out


def _short(value: Any) -> str:
    if isinstance(value, Mapping) and "kind" in value:
        return kinds.label(value)
    return kinds.label(value) if isinstance(value, str) else json.dumps(value)


def swept(value: Any) -> str:
    """A swept value as the command line takes it: the kind of a table with one, else as JSON writes it.

    >>> swept({"kind": "codel", "target": "5ms"}), swept("10Mbit"), swept(4)
    ('codel', '10Mbit', '4')
    """
    if isinstance(value, Mapping) and "kind" in value:
        return str(value["kind"])
    return value if isinstance(value, str) else json.dumps(value)


#: The keys of a checksum file that are not notes of a world.
_OF_THE_STORE = ("build", "files", "sha256")


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
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What a summary reads off it, if it was measured when the run was made; not in the manifest."""

    @classmethod
    def of_seal(cls, seal: Seal, point: int) -> Done:
        """The run with that checksum file, as a run of ``point``."""
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


_DIGEST = re.compile(r"[0-9a-f]{64}")
#: Tables, captures and qlog.
_FILE = re.compile(r"[a-z][a-z0-9_]*\.parquet|[A-Za-z0-9_][A-Za-z0-9_.-]*\.(pcapng|qlog)")


def sealed(seal: Seal) -> Seal:
    """A checksum file with its own checksum: one wrong bit in its digest would otherwise look like another result."""
    rest = {key: value for key, value in seal.items() if key != "sha256"}
    return {**rest, "sha256": hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()}


def seal_of(data: bytes | None, key: str) -> Seal | None:
    """The checksum file of the run ``key`` in this file. ``None``: there is none, or it is malformed."""
    try:
        seal = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(seal, dict) or seal.get("key") != key or not _is_done(seal):
        return None
    files = seal.get("files")
    if not isinstance(files, dict) or not files or not all(map(_is_file, files.items())):
        return None
    # Stores of earlier builds have none.
    return seal if "sha256" not in seal or sealed(seal) == seal else None


def _is_file(named: tuple[str, Any]) -> bool:
    name, one = named
    return bool(
        _FILE.fullmatch(name)
        and isinstance(one, dict)
        and _is_count(one.get("bytes"))
        and _is_digest(one.get("sha256"))
    )


def _is_done(one: Any) -> bool:
    """What a checksum file and the manifest say of a run."""
    if not isinstance(one, dict) or not isinstance(one.get("key"), str) or not _is_count(one.get("seed")):
        return False
    wall = one.get("wall_s")
    is_time = isinstance(wall, int | float) and not isinstance(wall, bool) and math.isfinite(wall) and wall >= 0
    return is_time and _is_digest(one.get("digest"))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def wrong_in_manifest(manifest: Mapping[str, Any]) -> str:
    """Which part of a manifest is malformed; empty if none is."""
    kinds = {"title": str, "complete": bool, "seeds": list, "scenarios": list, "points": list, "runs": list}
    for name, kind in kinds.items():
        if not isinstance(manifest.get(name), kind):
            return f"`{name}`"
    points = manifest["points"]

    def is_point(value: Any) -> bool:
        return _is_count(value) and value < len(points)

    def is_planned(one: Any) -> bool:
        return isinstance(one, list) and len(one) == 3 and isinstance(one[0], str) and is_point(one[1]) and _is_count(one[2])  # fmt: skip

    def is_failed(one: Any) -> bool:
        return (
            isinstance(one, dict) and set(one) == {"key", "point", "seed", "error"} and is_point(one["point"])
            and isinstance(one["key"], str) and _is_count(one["seed"]) and isinstance(one["error"], str)
        )  # fmt: skip

    def is_reached(one: Any) -> bool:
        return isinstance(one, dict) and is_point(one.get("point")) and _is_count(one.get("seeds")) and isinstance(one.get("widths"), dict) and isinstance(one.get("reached"), bool)  # fmt: skip

    elements: dict[str, Any] = {
        "seeds": _is_count,
        "scenarios": lambda one: isinstance(one, dict),
        "points": lambda one: (
            isinstance(one, dict) and all(isinstance(one.get(k), dict) for k in ("labels", "scenario"))
        ),
        "runs": lambda one: _is_done(one) and is_point(one.get("point")),
        "planned": is_planned,
        "failed": is_failed,
        "precision": is_reached,
    }
    for name, fits in elements.items():
        some = manifest.get(name, [])
        if not isinstance(some, list):
            return f"`{name}`"
        for i, one in enumerate(some):
            if not fits(one):
                return f"`{name}[{i}]`"
    made = manifest.get("environment")
    if not isinstance(made, dict) or not {"haltere", "build", "git", "python", "platform"} <= set(made):
        return "`environment`"
    return ""
