"""What the page may ask: messages are JSON objects whose ``do`` names the request. What is wrong is said with the place where."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from .. import _core
from ..errors import InputError
from ..limits import PLAYGROUND as MOST

#: What ``do`` may be, and the keys that go with it.
REQUESTS: dict[str, frozenset[str]] = {
    "check": frozenset({"experiment", "setup"}),
    "open": frozenset({"setups"}),
    "start": frozenset({"setups", "speed", "seed"}),
    "change": frozenset({"experiment", "setup"}),
    "join": frozenset({"traffic", "setup", "delay"}),
    "leave": frozenset({"entry", "setup"}),
    "outage": frozenset({"seconds", "setup"}),
    "speed": frozenset({"speed"}),
    "pause": frozenset(),
    "resume": frozenset(),
    "stop": frozenset(),
    "export": frozenset({"experiment", "setup"}),
}
#: The kinds of flows that a page can add, each entry between a pair of hosts of its own. Others need a file, or more hosts than a pair.
FLOWS = ("bulk", "web", "rpc", "video", "voip")


class Refused(Exception):
    """A request that cannot be carried out: why, and the dotted key of the experiment that is to blame, if there is one."""

    def __init__(self, text: str, at: str = "", setup: int | None = None) -> None:
        super().__init__(text)
        self.text, self.at, self.setup = text, at, setup


def read(message: str | bytes) -> tuple[str, dict[str, Any]]:
    """What a message asks, and its other keys.

    >>> read('{"do": "speed", "speed": 5}')
    ('speed', {'speed': 5})
    """
    try:
        value = json.loads(message, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"a message must be JSON, got text that is not: {error}") from None
    if not isinstance(value, dict):
        raise Refused(f"a message must be a JSON object, got {_named(value)}")
    do = value.pop("do", None)
    if not isinstance(do, str) or do not in REQUESTS:
        raise Refused(f"do must be one of {', '.join(f'`{name}`' for name in REQUESTS)}, got {_named(do)}")
    unknown = sorted(set(value) - REQUESTS[do])
    if unknown:
        known = ", ".join(f"`{key}`" for key in sorted(REQUESTS[do])) or "nothing"
        raise Refused(f"{do}: keys must be {known}, got `{unknown[0]}`")
    missing = sorted(REQUESTS[do] - set(value))
    if missing:
        raise Refused(f"{do}: {missing[0]} must be given, got nothing")
    return do, value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is no JSON")


def _named(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value[:40]}`"
    names = {bool: "true or false", type(None): "nothing", dict: "an object", list: "a list"}
    return names.get(type(value)) or (str(value)[:40] if isinstance(value, int | float) else "something else")


def number_of(value: Any, name: str, low: float, high: float, *, whole: bool = False, rule: str = "") -> float:
    """A number within bounds.

    >>> number_of(2, "outage: seconds", 0.01, 600)
    2.0
    """
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
        rule = rule or f"a {'whole ' if whole else ''}number from {low} to {high}"
        raise Refused(f"{name} must be {rule}, got {_named(value)}")
    return float(value)


def setup_of(value: Any, count: int = MOST["setups"]) -> int:
    """Which set-up a request means."""
    return int(number_of(value, "setup", 0, count - 1, whole=True))


def entry_of(value: Any, experiment: Mapping[str, Any]) -> int:
    """Which traffic entry a request means."""
    return int(number_of(value, "entry", 0, len(experiment["traffic"]) - 1, whole=True))


def seconds_of(value: Any) -> float:
    """How long an outage lasts."""
    return number_of(value, "outage: seconds", 0.01, MOST["outage"])


def speed_of(value: Any) -> float | None:
    """Simulated seconds per second; ``None`` for as fast as it goes.

    >>> speed_of("max"), speed_of(5)
    (None, 5.0)
    """
    bounds = (0.01, MOST["speed"])
    rule = f"`max` or a number from {bounds[0]} to {bounds[1]}"
    return None if value == "max" else number_of(value, "speed", *bounds, rule=rule)


def experiment_of(value: Any, allowed: Collection[str] = ()) -> tuple[dict[str, Any], _core.Scenario]:
    """An experiment as the page wrote it, and read. The playground runs dumbbells, and only as many flows as can be shown.

    ``allowed``: the mechanisms from outside the tree that whoever started the server named. A page cannot name others.
    """
    if not isinstance(value, dict):
        raise Refused(f"experiment must be an object, got {_named(value)}")
    _within_bounds(value)
    try:
        _checked(value, allowed)
    except RecursionError:
        raise Refused("experiment must be nested less deeply") from None
    try:
        scenario = _core.Scenario.from_json(json.dumps(value))
    except InputError as error:
        raise refused(error) from None
    # A kind may stand for its table.
    return {**value, "traffic": [{"kind": one} if isinstance(one, str) else one for one in value["traffic"]]}, scenario


def opened(value: Any, allowed: Collection[str] = ()) -> dict[str, Any]:
    """An experiment of a link. The page can only show those that it could have made: flows of `FLOWS`, each entry with a pair of its own,
    and a ping."""
    experiment, _ = experiment_of(value, allowed)
    dumbbell = experiment["topology"]["dumbbell"]
    for key in ("access", "bottleneck"):
        _is_table(dumbbell.get(key), f"topology.dumbbell.{key}")
    _is_table(dumbbell["bottleneck"].get("queue"), "topology.dumbbell.bottleneck.queue")
    delays = dumbbell.get("access_delays") or []
    if delays and len(delays) != dumbbell["pairs"]:
        rule = "access_delays must be one for each pair in the playground"
        raise Refused(f"topology.dumbbell: {rule}, got {len(delays)}", "topology.dumbbell.access_delays")
    seen: set[Any] = set()
    for i, entry in enumerate(experiment["traffic"]):
        if entry["kind"] not in (*FLOWS, "ping"):
            rule = f"kind must be one of {', '.join(f'`{kind}`' for kind in (*FLOWS, 'ping'))} in the playground"
            raise Refused(f"traffic[{i}]: {rule}, got {_named(entry['kind'])}", f"traffic[{i}]")
        pairs = entry.get("pairs")
        if not isinstance(pairs, list) or len(pairs) != 1 or (entry["kind"] != "ping" and pairs[0] in seen):
            raise Refused(f"traffic[{i}]: pairs must be one pair of its own in the playground", f"traffic[{i}]")
        if entry["kind"] != "ping":
            seen.add(pairs[0])
        if isinstance(entry.get("congestion"), list):
            raise Refused(
                f"traffic[{i}]: congestion must be one control in the playground, got a list", f"traffic[{i}]"
            )
    if seen != set(range(1, dumbbell["pairs"] + 1)):
        raise Refused("traffic: pairs must be one for each entry but the ping in the playground", "traffic")
    return experiment


def _is_table(value: Any, at: str) -> None:
    if not isinstance(value, dict):
        raise Refused(f"{at} must be a table in the playground, got {_named(value)}", at)


def _within_bounds(value: Mapping[str, Any]) -> None:
    topology, traffic = value.get("topology"), value.get("traffic")
    dumbbell = topology.get("dumbbell") if isinstance(topology, dict) else None
    if not isinstance(dumbbell, dict):
        raise Refused("topology must be a dumbbell in the playground, got another; `haltere run` takes any", "topology")
    _at_most("topology.dumbbell", "pairs", dumbbell.get("pairs"), "pairs")
    if isinstance(traffic, list):
        _at_most("", "traffic", len(traffic), "entries")
        for i, entry in enumerate(traffic):
            _at_most(f"traffic[{i}]", "count", entry.get("count") if isinstance(entry, dict) else None, "count")


#: What begins like the name of a mechanism from outside the tree: a language and a colon.
_LANGUAGE = re.compile(r"\s*[^\s:]+:")
#: Keys of an experiment whose values are words for people.
_WORDS = ("title",)


def _checked(value: Any, allowed: Collection[str], path: str = "") -> None:
    """A page may not have this machine read files, whose first lines errors would show, nor code: it names no mechanism from outside the
    tree but those that are allowed, nor their folder."""
    if isinstance(value, list):
        for i, one in enumerate(value):
            _checked(one, allowed, f"{path}[{i}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            below = f"{path}.{key}" if path else str(key)
            if key == "file" or (key == "trace" and isinstance(one, str)):
                rule = "left out in the playground, which reads no files; `haltere run` does"
                raise Refused(f"{below} must be {rule}", below)
            # A sweep names keys with dots, among them those of files and folders.
            if key in ("source", "sweep"):
                raise Refused(f"{below} must be left out in the playground", below)
            if below not in _WORDS:
                _checked(one, allowed, below)
    elif isinstance(value, str) and _LANGUAGE.match(value) and value not in allowed:
        rule = "a mechanism of the tree" + "".join(f" or `{one}`" for one in allowed)
        hint = "`haltere play --allow` adds one"
        raise Refused(f"{path} must be {rule} in the playground, got {_named(value)}; {hint}", path)


def _at_most(path: str, name: str, value: Any, what: str) -> None:
    if isinstance(value, int | float) and value > MOST[what]:
        where = f"{path}: " if path else ""
        at = f"{path}.{name}" if path else name
        raise Refused(f"{where}{name} must be at most {MOST[what]} in the playground, got {value}", at)


_WHERE = re.compile(r"(?:(?P<path>[A-Za-z0-9_.\[\]]+): )?(?P<name>[^\s:]+) must be ")


def refused(error: Exception) -> Refused:
    """The program's own words, with the key that they are about.

    >>> refused(ValueError("topology.dumbbell.bottleneck: rate must be above zero, got 0bit")).at
    'topology.dumbbell.bottleneck.rate'
    """
    text = str(error)
    found = _WHERE.match(text)
    if found is None:
        return Refused(text)
    path, name = found["path"] or "", found["name"].strip("`")
    dot = "." if path and not name.startswith("[") else ""
    return Refused(text, f"{path}{dot}{name}")
