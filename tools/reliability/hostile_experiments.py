"""Parts of the attack that read and run: experiments that are right but for values at the edges, and what their runs touch.

Two generators. The first takes examples of the schema, which every mechanism has, combines them, and replaces some values by edges of
their form. The second knows no example: it draws a whole experiment from the schema. Both count which names of the registries were in
an experiment whose links carried packets. A part falls if one of them was in none.
"""

from __future__ import annotations

import copy
import json
import random
import re
import threading
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from trial import Score, part

Json = Any
#: Virtual time of a run, and the processor time after which it is ended: at most some hundred thousand events.
DURATION, ENDED_AFTER_S = "200ms", 0.25

WHOLE = [
    0,
    1,
    2,
    3,
    7,
    16,
    63,
    64,
    255,
    256,
    1000,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**53,
    2**63 - 1,
    2**64 - 1,
    -1,
]
REAL = [0.0, 1e-300, 1e-9, 0.01, 0.5, 0.999999999, 1.0, 1.0000001, 1.5, 2.0, 50.0, 1e9, 1e18, 1e300, -1.0]
YEAR = 365 * 86_400
#: Edges of each form in which a value is written. Many are within the range of most keys, so that most mutants run.
EDGES: dict[str, list[Json]] = {
    "duration": ["0s", "1ns", "1us", "10us", "1ms", "7ms", "50ms", "199ms", "200ms", "1s", "60s", "86400s", f"{YEAR}s", f"{YEAR + 1}s",
                 "9223372036854775808ns", "18446744073709551615ns"],
    "rate": ["0bit", "1bit", "8bit", "1kbit", "64kbit", "1Mbit", "9999999bit", "10Gbit", "1000Gbit", "9223372036854775808bit",
             "18446744073709551615bit"],
    "bytes": ["0B", "1B", "40B", "63B", "64B", "536B", "1448B", "1500B", "9000B", "65535B", "65536B", "1MB", "4294967295B", "4294967296B",
              "1GB", "9223372036854775808B", "18446744073709551615B"],
    "size": ["0p", "1p", "2p", "3p", "10p", "4294967295p", "4294967296p", "18446744073709551615p", "1B", "1500B", "18446744073709551615B",
             "0.001bdp", "0.1bdp", "1bdp", "18446744073709551.615bdp"],
    "probability": ["0%", "100%", "0.0000001%", "50%", "99.999999%", 0, 1, 0.5, 1e-300, 0.999999999],
    "level": ["0s", "1ns", "1ms", "18446744073709551615ns", "0p", "1p", "4294967296p", "1B", "18446744073709551615B"],
    "selector": ["0x1/0x3", "0x0/0x0", "0xff/0xff", "255/255", "0x4/0x3", "256/256"],
    "integer": WHOLE,
    "number": REAL,
    "boolean": [True, False],
    "text": ["", "a", "\x1b[2J", "ü", "codel", "left", "c1", "s1", "left>right", "all", "off", "both", "*", "x" * 3000],
}  # fmt: skip
FORMS = {
    "duration": r"\d*\.?\d+(ns|us|ms|s)", "rate": r"\d*\.?\d+[kMGT]?bit", "bytes": r"\d*\.?\d+([kMG]|[KMG]i)?B", "size": r"\d*\.?\d+(p|bdp)",
    "probability": r"\d*\.?\d+%", "selector": r"0x[0-9a-f]+/0x[0-9a-f]+",
}  # fmt: skip


def form(value: Json) -> str:
    """The form in which a value is written."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return next((name for name, pattern in FORMS.items() if re.fullmatch(pattern, str(value))), "text")


# -- what there is ------------------------------------------------------------------------------------------------------


@cache
def schema() -> Json:
    """The schema of experiment files."""
    from haltere import _core

    return json.loads(_core.schema())


@cache
def registries() -> dict[str, tuple[str, ...]]:
    """The names of each registry that an experiment may name."""
    from haltere import _core

    return {kind: tuple(_core.names(kind)) for kind in _core.kinds()}


def resolved(node: Json) -> Json:
    """A node of the schema with what its `$ref` names."""
    while "$ref" in node:
        node = {
            **schema()["$defs"][node["$ref"].rsplit("/", 1)[1]],
            **{key: one for key, one in node.items() if key != "$ref"},
        }
    return node


def nodes(node: Json) -> Iterator[Json]:
    """All tables and lists of a JSON value."""
    if isinstance(node, dict | list):
        yield node
        for one in node.values() if isinstance(node, dict) else node:
            yield from nodes(one)


@cache
def examples() -> tuple[Json, ...]:
    """The examples of the schema: each mechanism and each table has one."""
    texts = dict.fromkeys(
        node["x-example"] for node in nodes(schema()) if isinstance(node, dict) and "x-example" in node
    )
    return tuple(tomllib.loads(text) for text in texts)


BASE = tomllib.loads(f"""
duration = "{DURATION}"
seeds = 1
[topology.dumbbell]
pairs = 4
access = {{ rate = "1Gbit", delay = "1ms" }}
bottleneck = {{ rate = "10Mbit", delay = "2ms" }}
[[traffic]]
kind = "bulk"
jitter = "1ms"
""")


def merged(whole: Json, part: Json) -> Json:
    """`whole` with the keys of `part`; of two topologies that of `part`."""
    out = copy.deepcopy(whole)
    for key, value in part.items():
        if isinstance(value, dict) and isinstance(out.get(key), dict):
            there = {} if key == "topology" and not value.keys() <= out[key].keys() else out[key]
            out[key] = merged(there, value)
        else:
            out[key] = copy.deepcopy(value)
    return out


# -- the first generator ------------------------------------------------------------------------------------------------


def combined(draw: random.Random, first: Json) -> Json:
    """An example as a whole experiment; often with keys and traffic of others."""
    whole = merged(BASE, first)
    for other in draw.sample(examples(), draw.choice([0, 0, 1, 2])):
        topology = other.get("topology", whole["topology"])
        if topology.keys() == whole["topology"].keys():
            entries = [*whole["traffic"], *copy.deepcopy(other.get("traffic", []))]
            whole = merged(whole, other) | {"traffic": entries}
    whole.pop("sweep", None)
    return whole | {"duration": DURATION, "warmup": draw.choice(["0s", "50ms"])}


def places(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all keys and entries."""
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(one, (*path, key))


def changed(draw: random.Random, whole: Json) -> str:
    """Changes one place of an experiment, and says what."""
    path = draw.choice([path for path in places(whole) if path[0] not in ("title", "seeds")])
    table = whole
    for key in path[:-1]:
        table = table[key]
    old, key = table[path[-1]], path[-1]
    written = ".".join(map(str, path))
    match draw.randrange(12):
        case 0 if isinstance(key, str):
            del table[key]
            return f"without {written}"
        case 1:
            table[key] = (
                [copy.deepcopy(old)] * draw.randrange(3) if not isinstance(old, list) else old[0] if old else "0s"
            )
        case 2 if isinstance(old, list) and old:
            table[key] = [*old, copy.deepcopy(draw.choice(old))] * draw.choice([1, 1, 40])
        case 3:
            table[key] = copy.deepcopy(draw.choice([one for one in nodes(whole)]))
        case 4 if not isinstance(old, dict | list):
            values = [old, *draw.sample(EDGES[form(old)], 2)]
            whole["sweep"] = {written: values}
            return f"sweep of {written} = {values}"
        case 5 if isinstance(old, dict) and "kind" in old:
            names = draw.choice([names for names in registries().values() if old["kind"] in names] or [("x",)])
            old["kind"] = draw.choice(names)
        case _ if isinstance(old, dict | list):
            return changed(draw, whole)
        case _ if key == "kind":
            table[key] = draw.choice(draw.choice(list(registries().values())))
        case _:
            table[key] = draw.choice(EDGES[form(old)])
    return f"{written} = {json.dumps(table[key])[:200]}"


# -- the second generator -----------------------------------------------------------------------------------------------


def drawn(draw: random.Random, node: Json, depth: int = 0) -> Json:
    """A value that the schema allows, mostly near the edges of its range."""
    node = resolved(node)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return draw.choice(node["enum"])
    if node.get("format") in EDGES:
        return draw.choice(EDGES[node["format"]][:-3] or EDGES[node["format"]])
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        return drawn(draw, draw.choice(options), depth)
    kind = node.get("type")
    if kind == "object":
        needed = node.get("required", ())
        given = [key for key in node.get("properties", {}) if key in needed or draw.random() < 0.35 / (1 + depth)]
        table = {key: drawn(draw, node["properties"][key], depth + 1) for key in given}
        return table
    if kind == "array":
        count = draw.randint(node.get("minItems", 0), min(node.get("maxItems", 3), 3))
        return [drawn(draw, node.get("items", {}), depth + 1) for _ in range(count)]
    if kind in ("integer", "number"):
        least, most = node.get("minimum", 0), node.get("maximum", 2**32 - 1)
        within = [x for x in (WHOLE if kind == "integer" else REAL) if least <= x <= most]
        return draw.choice([*within[:8], least, most] if kind == "number" or most < 70_000 else [*within[:6], least])
    return (
        draw.choice([True, False])
        if kind == "boolean"
        else draw.choice(["c1", "s1", "h1", "h2", "n1", "n2", "left", "all"])
    )


def whole_from_schema(draw: random.Random) -> Json:
    """An experiment drawn from the schema, small enough to run, with nodes that there are."""

    def table(union: str) -> Json:
        found = [
            option for option in nodes(schema()["$defs"][union]) if isinstance(option, dict) and "properties" in option
        ]
        return draw.choice(found)

    topology = draw.choice([BASE["topology"], drawn(draw, table("Topology"))])
    for sizes in topology.values():
        for key in ("pairs", "hosts", "leaves", "spines", "k"):
            if isinstance(sizes, dict) and key in sizes:
                sizes[key] = draw.choice([2, 2, 4])
    entries = [
        drawn(draw, draw.choice([table("Traffic"), {"const": BASE["traffic"][0]}]))
        for _ in range(draw.choice([1, 1, 2]))
    ]
    for entry in entries:
        if isinstance(entry, dict):
            for key in ("from", "to", "pairs", "start", "stop", "stagger") if draw.random() < 0.8 else ():
                entry.pop(key, None)
            entry["count"] = draw.choice([1, 1, 3])
            if "count" in schema_keys_left_out(entry.get("kind", "")):
                del entry["count"]
    whole = {"duration": DURATION, "seeds": 1, "topology": topology, "traffic": entries}
    for key in ("tcp", "measure", "framing"):
        if draw.random() < 0.3:
            whole[key] = drawn(draw, schema()["properties"][key])
    queue = drawn(draw, schema()["$defs"]["LinkQueue"])
    if "dumbbell" in topology and draw.random() < 0.7:
        topology["dumbbell"] = {
            **topology["dumbbell"],
            "bottleneck": {"rate": "10Mbit", "delay": "2ms", "queue": queue},
        }
    return whole


@cache
def schema_keys_left_out(kind: str) -> frozenset[str]:
    """The keys that have no place in entries of that kind."""
    tables = [one for one in nodes(schema()["$defs"]["Traffic"]) if isinstance(one, dict) and "properties" in one]
    mine = [one["properties"] for one in tables if one["properties"].get("kind", {}).get("const") == kind]
    return frozenset(key for properties in mine for key, one in properties.items() if one.get("x-left-out"))


# -- both ---------------------------------------------------------------------------------------------------------------


def named(filled: Json) -> Iterator[str]:
    """The names of registries that an experiment names, as `queues codel`."""
    keys = {
        "queue": "queues", "classifier": "classifiers", "service": "services", "congestion": "congestion",
        "scheduler": "schedulers", "correlators": "correlators", "traffic": "traffic",
    }  # fmt: skip
    yield f"topologies {next(iter(filled['topology']))}"

    def below(value: Json, registry: str) -> Iterator[str]:
        if isinstance(value, dict):
            if registry and "kind" in value:
                yield f"{registry} {value['kind']}"
            for key, one in value.items():
                yield from below(one, keys.get(key, ""))
        elif isinstance(value, list):
            for one in value:
                yield from below(one, registry)

    yield from below(filled, "")


def without(whole: Json, error: str) -> bool:
    """Leaves out the key that an error complains of. False: there is none, or it was left out before."""
    found = re.match(r"x: (?:(?P<path>[\w.\[\]]+): )?(?P<name>[\w\[\]]+) must be", error)
    steps = re.findall(r"\w+", f"{found['path'] or ''}.{found['name']}") if found else [""]
    table = whole
    for step in steps[:-1]:
        place = int(step) if isinstance(table, list) else step
        if not ((isinstance(table, dict) and place in table) or (isinstance(table, list) and place < len(table))):
            return False
        table = table[place]
    if isinstance(table, list) and steps[-1].isdigit() and int(steps[-1]) < len(table):
        return table.pop(int(steps[-1])) is not None
    return isinstance(table, dict) and table.pop(steps[-1], None) is not None


def tried(score: Score, whole: Json, draw: random.Random, repairs: int) -> None:
    """Reads an experiment and whatever can be asked of it, and runs up to two points of it for a short time.

    So many times a key that is refused is left out, and the rest is tried again.
    """
    from haltere import _core
    from haltere.errors import HaltereError, InputError

    try:
        read = _core.Scenario.from_json(json.dumps(whole), "x")
    except InputError as error:
        score.reached["refused"] += 1
        if repairs and without(whole, str(error)):
            return tried(score, whole, draw, repairs - 1)
        raise
    score.reached["parsed"] += 1
    again = _core.Scenario.from_json(read.to_json(), "again")
    assert again.hash(1) == read.hash(1), "what was filled in is another experiment"
    read.drawing()
    read.links()
    points = [scenario for _, scenario in read.points()]
    for scenario in draw.sample(points, min(len(points), 2)):
        filled = json.loads(scenario.to_json())
        progress = _core.Progress()
        timer = threading.Timer(ENDED_AFTER_S, progress.cancel)
        timer.start()
        try:
            if draw.random() < 0.75:
                run = _core.run(scenario, draw.randrange(5), progress)
            else:
                live = _core.Live(scenario, draw.randrange(5))
                try:
                    live.advance(0.05, progress)
                    live.samples(range(len(live.flows)))
                    live.change(scenario)
                    live.advance(1.0, progress)
                except HaltereError as error:
                    assert progress.cancelled, error
                run = live.finish()
        except InputError:
            raise
        except HaltereError as error:
            assert progress.cancelled, error
            score.reached["ended"] += 1
            continue
        finally:
            timer.cancel()
        score.reached["ran"] += 1
        run.digest()
        tables = run.tables()
        if packets(tables["links"]):
            score.reached.update(set(named(filled)))


def packets(links: Any) -> int:
    """Packets that all links of a run carried."""
    import pyarrow

    return int(sum(pyarrow.table(links)["sent"].to_pylist()))


def all_names(score: Score) -> None:
    """The part falls if it does not reach every name of every registry."""
    score.needed.update(
        f"{registry} {name}"
        for registry, names in registries().items()
        for name in names
        if name not in ("program", "tcp")
    )  # the simulator runs no program, and `tcp` is the stack of an entry without `stack`


def attack(
    score: Score, draw: random.Random, least: int, repairs: int, make: Callable[[int], tuple[str, Json]]
) -> None:
    """Tries experiments: so many at least, whatever the time."""
    from haltere.errors import InputError

    for i in score.tries(3000, least):
        what, whole = make(i)
        with score.one(f"experiment {i}: {what}", InputError):
            score.trying(json.dumps(whole))
            tried(score, whole, draw, repairs)


@part(
    "experiments of the schema's examples, combined, with values at the edges: read, and run for 200 ms",
    share=4,
    seeds=3,
)
def experiments(score: Score, draw: random.Random, folder: Path) -> None:
    """Every example once as it is, then changed."""
    all_names(score)

    def make(i: int) -> tuple[str, Json]:
        first = examples()[i % len(examples())]
        whole = combined(draw, first) if i >= len(examples()) else merged(BASE, first) | {"duration": DURATION}
        changes = [] if i < len(examples()) else [changed(draw, whole) for _ in range(draw.choice([1, 1, 2, 3]))]
        return f"{json.dumps(first)[:100]}; {'; '.join(changes)}", whole

    attack(score, draw, len(examples()), 1, make)


@part("experiments drawn from the schema alone: read, and run for 200 ms", share=3, seeds=3)
def grammar(score: Score, draw: random.Random, folder: Path) -> None:
    """No example: every key with a value that the schema allows."""
    score.needed.add("ran")

    def make(i: int) -> tuple[str, Json]:
        whole = whole_from_schema(draw)
        return json.dumps(whole)[:1500], whole

    attack(score, draw, 100, 20, make)
