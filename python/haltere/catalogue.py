"""What can be written in an experiment file: names, parameters, defaults, examples. All of it comes from the schema."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import _core
from .errors import InputError, nearest, unknown
from .toml import literal
from .worlds import WORLDS


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of experiment files."""
    parsed: dict[str, Any] = json.loads(_core.schema())
    return parsed


def first_sentence(text: str) -> str:
    """The first sentence. Neither the period of an abbreviation nor one between backticks ends it.

    >>> first_sentence("Sets `c1` .. `c3`, e.g. all. More."), first_sentence("Writes `a. b` twice")
    ('Sets `c1` .. `c3`, e.g. all.', 'Writes `a. b` twice.')
    """
    line = " ".join(text.split())
    plain = re.sub(r"`[^`]*`|\b(?:al|e\.g|i\.e)\.|\.\.", lambda found: "x" * len(found[0]), line)
    end = re.search(r"\.(?=\s|$)", plain)
    return f"{line[: end.start()] if end else line}." if line else ""


@dataclass(frozen=True)
class Parameter:
    """One key: what may be written, the default, and what it means. Of a choice: one of its values."""

    name: str
    takes: str
    default: str
    about: str


@dataclass(frozen=True)
class Entry:
    """A mechanism, table, choice or quantity of the experiment file."""

    kind: str
    name: str
    about: str
    schema: Mapping[str, Any]
    definition: str = ""

    @property
    def summary(self) -> str:
        """The first sentence of its description."""
        return first_sentence(self.about)

    @property
    def one(self) -> str:
        """What it is in words, such as "queue discipline": `red` is both a queue discipline and a path scheduler."""
        return _ones().get(self.kind) or {"quantities": "quantity", "paths": "access link"}.get(
            self.kind, self.kind.removesuffix("s")
        )

    @property
    def example(self) -> str:
        """How it is written in an experiment file, in TOML; empty if it has no example."""
        return str(self.schema.get("x-example", ""))

    def parameters(self) -> list[Parameter]:
        """Its keys without `kind`; of a choice its values, of a table that has several forms its forms."""
        if "properties" not in self.schema:
            return list(_forms(self.schema))
        needed = self.schema.get("required", ())
        out = []
        for name, one in self.schema["properties"].items():
            if name == "kind" or one.get("x-left-out"):
                continue
            default = "required" if name in needed else literal(one["default"]) if "default" in one else "–"
            out.append(Parameter(name, _takes(one), default, _line(one.get("description", ""))))
        return out

    def used_in(self) -> list[str]:
        """The keys under which it is written, such as ``off`` of ``on_off``."""
        if not self.definition:
            return []
        target = f"#/$defs/{self.definition}"
        return [
            f"`{key}` of `{entry.name}`"
            for entry in entries()
            if entry.definition != self.definition
            for key, one in entry.schema.get("properties", {}).items()
            if _refers(one, target)
        ]


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _forms(definition: Mapping[str, Any]) -> Iterator[Parameter]:
    """The options of a union: values of a choice, tables by their only key, or other forms."""
    for option in (*definition.get("oneOf", ()), *definition.get("anyOf", ())):
        about = _line(option.get("description", ""))
        properties = option.get("properties", {})
        if "const" in option:
            yield Parameter(str(option["const"]), "", "–", about)
        elif len(properties) == 1:
            ((name, inner),) = properties.items()
            yield Parameter(name, _takes(inner), "–", about)
        else:
            yield Parameter(_takes(option), "", "–", about)


def _refers(schema: Any, target: str) -> bool:
    """True if a schema refers to a definition, directly or in a union or list."""
    if isinstance(schema, Mapping):
        return schema.get("$ref") == target or any(
            _refers(schema[key], target) for key in ("anyOf", "oneOf", "items") if key in schema
        )
    return isinstance(schema, list) and any(_refers(one, target) for one in schema)


def _definition(one: Mapping[str, Any]) -> Mapping[str, Any]:
    target = one.get("$ref", "").removeprefix("#/$defs/")
    found: Mapping[str, Any] = schema()["$defs"][target] if target else one
    return found


_TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "object": "table",
}


def _takes(one: Mapping[str, Any]) -> str:
    if "$ref" in one:
        name = str(one["$ref"]).removeprefix("#/$defs/")
        target = _definition(one)
        named = _names_of(target)
        if named:
            return ", ".join(f"`{word}`" for word in named)
        if _is_quantity(target):
            return name
        return _takes(target) if "anyOf" in target else f"table `{_table_name(name)}`"
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return ", ".join(f"`{word}`" for word in one["enum"])
    for union in ("anyOf", "oneOf"):
        if union in one:
            return " or ".join(dict.fromkeys(_takes(option) for option in one[union]))
    if one.get("format") in ("duration", "rate", "bytes", "size", "probability"):
        return str(one["format"])
    if one.get("type") == "array":
        return f"list of {_takes(one.get('items', {}))}"
    kind = _TYPES.get(str(one.get("type")), "value")
    # A minimum of zero says only that the number is not negative.
    bounds = [f"{word} {one[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if one.get(key)]
    return " ".join([kind, *bounds])


def _names_of(definition: Mapping[str, Any]) -> list[str]:
    """The names of a definition that is one of several words or tagged tables."""
    if "enum" in definition:
        return [str(word) for word in definition["enum"]]
    words = [str(option["const"]) for option in definition.get("oneOf", ()) if "const" in option]
    for option in definition.get("anyOf", ()):
        if "enum" in option:
            words += [str(word) for word in option["enum"]]
    return words


def _variants(definition: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The tables of a union: those that differ by `kind`, and those that differ by their only key."""
    for option in (*definition.get("oneOf", ()), *definition.get("anyOf", ())):
        if "oneOf" in option:
            yield from _variants(option)
            continue
        properties = option.get("properties", {})
        if "const" in properties.get("kind", {}):
            yield str(properties["kind"]["const"]), option
        elif len(properties) == 1:
            ((name, inner),) = properties.items()
            table = _definition(inner)
            told = {key: option.get(key) or table.get(key, "") for key in ("description", "x-example")}
            yield name, {**table, **told}


def _is_quantity(definition: Mapping[str, Any]) -> bool:
    return "format" in definition and "properties" not in definition


def _is_choice(definition: Mapping[str, Any]) -> bool:
    options = definition.get("oneOf", ())
    return "enum" in definition or (bool(options) and all("const" in option for option in options))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _table_name(definition: str) -> str:
    """The name of a table in words of the experiment file.

    >>> _table_name("GraphLink"), _table_name("TcpParams"), _table_name("SizeTable")
    ('graph_link', 'tcp', 'size_table')
    """
    name = _snake(re.sub(r"(Params|Spec|Table)$", "", definition))
    return _snake(definition) if name in schema()["$defs"] else name


@cache
def _ones() -> dict[str, str]:
    marks = [one["x-kind"] for one in schema()["$defs"].values() if "x-kind" in one]
    return {str(mark["name"]): str(mark["one"]) for mark in marks}


@cache
def entries() -> tuple[Entry, ...]:
    """Everything that has a name, kind by kind. All of it follows from the schema and its definitions."""
    definitions = schema()["$defs"]
    unions = {one["x-kind"]["name"]: one for one in definitions.values() if "x-kind" in one}
    out, of_unions = [], set()
    for kind in _core.kinds():
        out += [Entry(kind, name, _about(name, table), table) for name, table in _variants(unions[kind])]
        options = unions[kind].get("oneOf", ())
        inner = [one for option in options for one in option.get("properties", {}).values()]
        of_unions |= {str(one["$ref"]).removeprefix("#/$defs/") for one in inner if "$ref" in one}
    names = {entry.name for entry in out}
    tables = [Entry("tables", "experiment", str(schema()["description"]), schema())]
    choices, quantities = [], []
    for name, one in definitions.items():
        about = str(one.get("description", ""))
        # Overrides are a table again with every key optional.
        part = {variant for variant, _ in _variants(one)}  # a union that has some entries of a kind
        if (
            {"x-kind", "x-paths"} & one.keys()
            or name in of_unions
            or name.endswith("Overrides")
            or (part and part <= names)
        ):
            continue
        if _is_quantity(one):
            quantities.append(Entry("quantities", name, f"{about[:1].upper()}{about[1:]}.", one, name))
        elif _is_choice(one):
            choices.append(Entry("choices", _table_name(name), about, one, name))
        else:
            tables.append(Entry("tables", _table_name(name), about, one, name))
    paths = [_path(name, one) for name, one in definitions["AccessPath"]["x-paths"].items()]
    return (*out, *paths, *tables, *choices, *quantities)


def _path(name: str, one: Mapping[str, Any]) -> Entry:
    """An access link, with the keys that its name means."""
    about = f"{one['about']}.\n\nSource: {one['source']}\n\nMeans: `{literal(one['link'])}`."
    return Entry("paths", name, about, {"description": about, "x-example": f'bottleneck = {{ path = "{name}" }}'})


def _about(name: str, table: Mapping[str, Any]) -> str:
    """What a table says of itself; its bare name says nothing."""
    text = str(table.get("description", ""))
    return "" if text == f"`{name}`" else text


def kinds(only: str | None = None) -> dict[str, list[tuple[str, str]]]:
    """Names and a sentence each, by kind; of one kind where asked for. What not every world has is left out."""
    from . import studies

    if only == "metrics":
        units = {name: f" ({one.printed[1]})" if one.printed[1] else "" for name, one in _metrics().items()}
        return {only: [(name, f"{one.about}{units[name]}.") for name, one in _metrics().items()]}
    out: dict[str, list[tuple[str, str]]] = {}
    for entry in entries():
        if not entry.schema.get("x-elsewhere"):
            out.setdefault(entry.kind, []).append((entry.name, entry.summary))
    out["worlds"] = [(name, world.about) for name, world in WORLDS.items()]
    out["studies"] = [(name, f"{about[0].upper()}{about[1:]}.") for name, about in studies.studies().items()]
    if only is None:
        return out
    if only not in out:
        raise unknown("kind", only, [*out, "metrics"])
    return {only: out[only]}


def media() -> set[str]:
    """The disciplines that are the line itself, such as `wifi`: a link with one of them has no rate."""
    return {name for name, table in _variants(schema()["$defs"]["QueueParams"]) if table.get("x-medium")}


def _metrics() -> Mapping[str, Any]:
    from .analysis.metrics import METRICS  # with NumPy, which takes its time to load

    return METRICS


def metric(name: str) -> dict[str, str] | None:
    """What `haltere explain NAME` says of a metric; ``None`` if none has that name."""
    one = {_plain(known): one for known, one in _metrics().items()}.get(_plain(name.partition(".")[0]))
    return None if one is None else {"name": one.name, "about": one.about, **one.described}


def _explained_metric(one: Mapping[str, str], width: int) -> str:
    parts = f"After a dot: {one['part']}, such as `{one['name']}.NAME`; without it the whole run."
    better = "" if one["better"] == "neither" else f" {one['better'].capitalize()} is better."
    text = f"{one['about'][0].upper()}{one['about'][1:]}{', in ' + one['unit'] if one['unit'] else ''}.{better}"
    source = f"Read off the table `{one['table']}` of each run{', ' + one['needs'] if one['needs'] else ''}. {parts if one['part'] else ''}"
    use = f"Example:\n\n    haltere plot RESULTS --y {one['name']}\n    haltere compare A B --metrics {one['name']}"
    return "\n\n".join([f"{one['name']} (metric)", _wrap(text, width), _wrap(source, width), use])


def find(name: str) -> Entry:
    """The entry of that name; the first if several kinds have it."""
    return found(name)[0]


def found(name: str, got: str = "") -> list[Entry]:
    """All entries of that name: `multipath` is a topology and a kind of traffic. Case, `-` and `_` do not count."""
    named = [_outside(name)] if ":" in name else _named(name)
    if not named:
        raise InputError(_unknown_name(got or name))
    return named


#: Where an experiment names a mechanism from outside the tree.
_PLACES = {
    "queues": "queue = {table}",
    "classifiers": 'queue = {{ kind = "classed", classifier = {table} }}',
    "congestion": "congestion = {table}",
    "schedulers": "multipath.scheduler = {table}",
    "stacks": "stack = {table}",
    "traffic": "[[traffic]]\n{keys}",
}


def _outside(name: str) -> Entry:
    """A mechanism from outside the tree, such as `python:my_module:MyControl`, as its language describes it."""
    described: dict[str, Any] = json.loads(_core.describe(name))
    given = [f"{one['name']} = {literal(one['default'])}" for one in described["parameters"] if "default" in one][:2]
    keys = [f'kind = "{name}"', *given]
    example = _PLACES[described["kind"]].format(table=f"{{ {', '.join(keys)} }}", keys="\n".join(keys))
    return Entry(described["kind"], name, described["summary"], {**described["schema"], "x-example": example})


def _plain(name: str) -> str:
    """A name without case, hyphens and underscores.

    >>> _plain("FQ-CoDel") == _plain("fq_codel")
    True
    """
    return re.sub(r"[\s_-]+", "", name).lower()


def _named(name: str) -> list[Entry]:
    wanted = _plain(name)
    exact = [entry for entry in entries() if _plain(entry.name) == wanted]
    return exact or [entry for entry in entries() if entry.definition and _plain(entry.definition) == wanted]


def _keys(name: str) -> list[tuple[Entry, Parameter]]:
    """The keys of that name and the entries that have them, each text once."""
    texts: dict[tuple[str, str], tuple[Entry, Parameter]] = {}
    for entry in entries():
        for parameter in entry.parameters() if "properties" in entry.schema else ():
            if _plain(parameter.name) == _plain(name):
                texts.setdefault((parameter.takes, parameter.about), (entry, parameter))
    return list(texts.values())


def _unknown_name(got: str) -> str:
    keys = (one.name for entry in entries() if "properties" in entry.schema for one in entry.parameters())
    # Mechanisms and metrics first: of names that are as near, they are the likelier ones.
    known = dict.fromkeys((*(entry.name for entry in entries()), *_metrics(), *keys))
    return f"name must be one that `haltere list` prints, got `{got}`{nearest(got, known, 3)}"


def explain(name: str, width: int = 96) -> str:
    """What has that name as text for the terminal: what it is, its source, an example and its parameters."""
    named = [_outside(name)] if ":" in name else _named(name)
    keys = [] if named else _keys(name)
    # No mechanism has the name of a metric, but a table has.
    measured = metric(name) if not named or named[0].kind == "tables" else None
    if not (named or keys or measured):
        named = found(name.removesuffix("s"), name)  # a plural is a name, too, if it is not a key
    parts = [_explained(entry, width) for entry in named]
    parts += [_explained_metric(measured, width)] if measured else []
    parts += [f"{one.name} (key of {entry.one} `{entry.name}`)\n\n{_described(one, width)}" for entry, one in keys]
    return "\n\n".join(parts)


def _explained(entry: Entry, width: int) -> str:
    parts = [f"{entry.name} ({entry.one})", *([_wrap(entry.about, width)] if entry.about else [])]
    used = entry.used_in()
    if used:
        more = f" and {len(used) - 6} more" if len(used) > 6 else ""
        parts.append(_wrap(f"Written under: {', '.join(used[:6])}{more}.", width))
    if entry.example:
        parts.append("Example:\n\n" + textwrap.indent(entry.example, "    "))
    return "\n\n".join([*parts, *(_described(parameter, width) for parameter in entry.parameters())])


def _described(parameter: Parameter, width: int) -> str:
    """One key with its default, its meaning and what it takes."""
    if parameter.default not in ("–", "required"):
        head = f"  {parameter.name} = {parameter.default}"
        if len(head) > width:
            head = "  " + textwrap.shorten(head, width - 2, placeholder=" ...")
    else:
        needed = "required" if parameter.default == "required" else "optional"
        head = f"  {parameter.name}" + (f"  ({needed})" if parameter.takes else "")
    text = f"{parameter.about} Takes: {parameter.takes}." if parameter.takes else parameter.about
    indent = " " * 6
    filled = textwrap.fill(text.strip(), width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
    return f"{head}\n{filled}"


def _wrap(text: str, width: int) -> str:
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return "\n\n".join(textwrap.fill(one, width, break_on_hyphens=False) for one in paragraphs)
