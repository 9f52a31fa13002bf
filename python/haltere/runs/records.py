"""What is written down of points and runs: plain records, as the manifest and the checksum files hold them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import kinds
from ..experiment import Experiment

if TYPE_CHECKING:
    import pyarrow as pa

#: What the store says of a run: ``key``, ``seed``, ``digest``, ``wall_s``, ``build`` and the notes of its world; its ``batch`` with the
#: ``files`` of that, and by table in which ``rows`` of them it is: the first, and how many.
Seal = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One combination of a sweep: its place, what was swept with its value, and its full scenario."""

    index: int
    labels: Mapping[str, Any]
    scenario: Mapping[str, Any]
    words: Mapping[str, Any] = field(default_factory=dict)
    """The labels as people read them, which depends on what else was swept: see :func:`in_words`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", self.words or in_words([self.labels])[0])

    @cached_property
    def experiment(self) -> Experiment:
        """Its scenario under typed names."""
        return Experiment(self.scenario)

    @property
    def name(self) -> str:
        """The labels in a few words, or ``all`` if nothing was swept.

        >>> Point(0, {"topology.dumbbell.pairs": 4, "queue": {"kind": "red"}}, {}).name
        'pairs=4 queue=red'
        """
        names = short_keys(self.words)
        return " ".join(f"{names[key]}={_text(value)}" for key, value in self.words.items()) or "all"


def points_of(
    many: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]], scenarios: Iterable[Mapping[str, Any]] = ()
) -> list[Point]:
    """The points with these labels and scenarios. ``scenarios`` have the sweeps, which may name the values of an axis."""
    pairs = list(many)
    words = in_words([labels for labels, _ in pairs], scenarios)
    return [
        Point(i, labels, scenario, word) for i, ((labels, scenario), word) in enumerate(zip(pairs, words, strict=True))
    ]


def in_words(many: Sequence[Mapping[str, Any]], scenarios: Iterable[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """The labels of points as people read them: a list or a table by a short name, which has only what differs from the others of its kind.

    A value that the sweep of one of the ``scenarios`` names goes by that name.

    >>> queues = [{"kind": "codel", "target": "5ms"}, {"kind": "codel", "target": "20ms"}, {"kind": "red", "limit": "9p"}]
    >>> [one["queue"] for one in in_words([{"queue": queue} for queue in queues])]
    ['codel target=5ms', 'codel target=20ms', 'red']
    >>> flows = [[{"kind": "bulk", "congestion": one, "count": 2}] for one in ("cubic", "reno")]
    >>> in_words([{"traffic": one, "rate": "1Mbit"} for one in flows])
    [{'traffic': 'cubic', 'rate': '1Mbit'}, {'traffic': 'reno', 'rate': '1Mbit'}]
    >>> in_words([{"limit": "9p"}], [{"sweep": {"limit": {"values": ["9p"], "labels": ["shallow"]}}}])
    [{'limit': 'shallow'}]
    """
    given = _given(scenarios)
    found: dict[str, dict[str, Any]] = {}
    for labels in many:
        for key, value in labels.items():
            if isinstance(value, list | dict):
                found.setdefault(key, {})[json.dumps(value)] = value
    names = {key: _names(values) for key, values in found.items()}

    def word(key: str, value: Any) -> Any:
        plain = names[key][json.dumps(value)] if isinstance(value, list | dict) else value
        return given.get((key, json.dumps(value)), plain)

    return [{key: word(key, value) for key, value in labels.items()} for labels in many]


def _given(scenarios: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """The label of each value that the author of a sweep named."""
    axes = (item for scenario in scenarios for item in (scenario.get("sweep") or {}).items())
    return {
        (key, json.dumps(value)): str(label)
        for key, axis in axes
        if isinstance(axis, Mapping) and "values" in axis
        for value, label in zip(axis["values"], axis.get("labels") or (), strict=False)
    }


#: Characters of a name beyond which it is cut.
_LONG = 56


def _names(values: Mapping[str, Any]) -> dict[str, str]:
    """A name for each of these lists and tables."""
    leaves = {key: dict(_leaves(value)) for key, value in values.items()}
    kinds_of = {
        key: kinds.label(value) if isinstance(value, Mapping) and "kind" in value else ""
        for key, value in values.items()
    }
    out: dict[str, str] = {}
    for key, own in leaves.items():
        others = [leaves[other] for other, kind in kinds_of.items() if kind == kinds_of[key]]
        differ = {path: leaf for path, leaf in own.items() if any(other.get(path) != leaf for other in others)}
        parts = [
            *([kinds_of[key]] if kinds_of[key] else []),
            *(_part(*one) for one in differ.items() if one[0] != ("kind",)),
        ]
        name = " ".join(parts) or " ".join(_part(*one) for one in own.items()) or "none"
        name = name if len(name) <= _LONG else f"{name[: _LONG - 1]}…"
        same = list(out.values())
        out[key] = next(
            one for n in range(1, len(values) + 1) if (one := name if n == 1 else f"{name} ({n})") not in same
        )
    return out


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value in a list or a table that is neither, with its place."""
    if isinstance(value, list | dict):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(one, (*path, key))
    else:
        yield path, value


def _part(path: Sequence[str | int], leaf: Any) -> str:
    """A value with the last word of its place, unless that says no more than the value."""
    key = next((word for word in reversed(path) if isinstance(word, str)), "")
    return _text(leaf) if key in ("", "kind", "congestion", "queue") else f"{key}={_text(leaf)}"


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


def _text(value: Any) -> str:
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
_OF_THE_STORE = ("build", "batch", "files", "rows")


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
    """One failed run, and why."""

    key: str
    point: int
    seed: int
    error: str

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return dict(vars(self))


#: Tables, captures and qlog.
_FILE = re.compile(r"[a-z][a-z0-9_]*\.parquet|[A-Za-z0-9_][A-Za-z0-9_.-]*\.(pcapng|qlog|sqlog)")
#: What a file with a checksum begins with; 64 hexadecimal digits follow, and then all that they are the SHA-256 of.
_HEAD = b'{"sha256": "'


def with_checksum(text: str) -> bytes:
    """The JSON text of an object, with the SHA-256 of all that follows it as its first entry."""
    rest = b'", ' + text[1:].encode()
    return _HEAD + hashlib.sha256(rest).hexdigest().encode() + rest


def without_checksum(data: bytes | None) -> dict[str, Any] | None:
    """The object in such a file. ``None``: there is no file, or one of its bytes is not the one that was written."""
    given, rest = (data or b"")[len(_HEAD) : len(_HEAD) + 64], (data or b"")[len(_HEAD) + 64 :]
    if data is None or not data.startswith(_HEAD) or hashlib.sha256(rest).hexdigest().encode() != given:
        return None
    try:
        whole: dict[str, Any] = json.loads(data)
    except (ValueError, RecursionError):
        return None
    del whole["sha256"]
    return whole


@dataclass(frozen=True)
class Kept:
    """A run for the store: its tables, what is said about it, and its other files."""

    key: str
    tables: Mapping[str, pa.Table]
    about: Mapping[str, Any]
    others: Mapping[str, bytes] = field(default_factory=dict)


#: What the name of a batch of several runs begins with. No key does: it is hexadecimal.
_SEVERAL = "many-"


def batch_name(keys: Sequence[str]) -> str:
    """The name of the batch of these runs: equal runs, equal name."""
    return keys[0] if len(keys) == 1 else _SEVERAL + hashlib.sha256("\n".join(keys).encode()).hexdigest()[:32]


def is_alone(batch: str) -> bool:
    """Whether a batch of this name holds one run, whose key is the name."""
    return not batch.startswith(_SEVERAL)


def seals_of(data: bytes | None, batch: str) -> list[Seal]:
    """The runs in the checksum file of that batch. None: there is no file, or it is not as it was written."""
    told = without_checksum(data)
    if told is None or "runs" not in told or batch_name([one["key"] for one in told["runs"]]) != batch:
        return []
    files, ends = told["files"], dict[str, int]()
    if not all(map(_FILE.fullmatch, files)):
        return []
    out = []
    for one in told["runs"]:
        rows = {name: (ends.get(name, 0), count) for name, count in one["rows"].items()}
        ends = {name: first + count for name, (first, count) in rows.items()}
        out.append({**one, "rows": rows, "batch": batch, "files": files})
    return out
