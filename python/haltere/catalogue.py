"""What can be written in an experiment file: names, parameters, defaults. All of it comes from the schema; nothing stands here twice."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import _core
from .errors import InputError
from .worlds import WORLDS

__all__ = ["Entry", "Parameter", "entries", "explain", "find", "kinds", "schema"]


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of experiment files."""
    told = _core.schema()
    parsed: dict[str, Any] = json.loads(told) if isinstance(told, str) else told
    return parsed


@dataclass(frozen=True)
class Parameter:
    """One key: what may be written, what stands there when nothing is written, and what it means."""

    name: str
    takes: str
    default: str
    about: str


@dataclass(frozen=True)
class Entry:
    """A mechanism or table of the experiment file."""

    kind: str
    name: str
    about: str
    schema: Mapping[str, Any]

    @property
    def summary(self) -> str:
        """The first sentence of what it is."""
        text = " ".join(self.about.split())
        # The period of an abbreviation ends no sentence.
        return re.split(r"(?<!\bal)(?<!\be\.g)(?<!\bi\.e)\.(?:\s|$)", text)[0] + "." if text else ""

    def parameters(self) -> list[Parameter]:
        """Its keys, `kind` left out."""
        needed = self.schema.get("required", ())
        out = []
        for name, one in self.schema.get("properties", {}).items():
            if name == "kind":
                continue
            default = "required" if name in needed else _literal(one["default"]) if "default" in one else "–"
            out.append(Parameter(name, _takes(one), default, " ".join(str(one.get("description", "")).split())))
        return out


def _definition(one: Mapping[str, Any]) -> Mapping[str, Any]:
    target = one.get("$ref", "").removeprefix("#/$defs/")
    found: Mapping[str, Any] = schema()["$defs"][target] if target else one
    return found


def _literal(value: Any) -> str:
    """A default as it is written in TOML.

    >>> _literal("5ms"), _literal(True), _literal({"kind": "reno", "x": 1}), _literal({"a": None, "b": [1]})
    ('"5ms"', 'true', '{ kind = "reno", x = 1 }', '{ b = [1] }')
    """
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {_literal(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _takes(one: Mapping[str, Any]) -> str:
    """What may be written for a key, in a few words."""
    if "$ref" in one:
        name = str(one["$ref"]).removeprefix("#/$defs/")
        target = _definition(one)
        named = _names_of(target)
        if named:
            return ", ".join(f"`{word}`" for word in named)
        return name if target.get("type") in ("string", "number") or name[0].islower() else f"table ({name})"
    if "const" in one:
        return f"`{one['const']}`"
    if "enum" in one:
        return ", ".join(f"`{word}`" for word in one["enum"])
    for union in ("anyOf", "oneOf"):
        if union in one:
            return " or ".join(dict.fromkeys(_takes(option) for option in one[union]))
    if one.get("type") == "array":
        return f"list of {_takes(one.get('items', {}))}"
    kind = {
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "string": "text",
        "object": "table",
    }.get(str(one.get("type")), "value")
    bounds = [f"{word} {one[key]}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in one]
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
    """The tables of a union: those told apart by `kind`, and those told apart by their only key."""
    for option in (*definition.get("oneOf", ()), *definition.get("anyOf", ())):
        if "oneOf" in option:
            yield from _variants(option)
            continue
        properties = option.get("properties", {})
        if "const" in properties.get("kind", {}):
            yield str(properties["kind"]["const"]), option
        elif len(properties) == 1:
            ((name, inner),) = properties.items()
            yield (
                name,
                {
                    **_definition(inner),
                    "description": option.get("description") or _definition(inner).get("description", ""),
                },
            )


_UNIONS = {
    "queues": "QueueParams",
    "congestion": "CongestionParams",
    "topologies": "Topology",
    "traffic": "Traffic",
    "schedulers": "SchedulerParams",
    "correlators": "CorrelatorParams",
}
_TABLES = {
    "link": "Link",
    "step": "Step",
    "trace": "Trace",
    "processor": "Processor",
    "tcp": "TcpParams",
    "measure": "MeasureSpec",
    "sweep": "Sweep",
    "precision": "PrecisionTable",
}


@cache
def entries() -> tuple[Entry, ...]:
    """Everything that has a name, kind by kind."""
    definitions = schema()["$defs"]
    out = [Entry("tables", "experiment", str(schema()["description"]), schema())]
    for kind, union in _UNIONS.items():
        out += [Entry(kind, name, _about(name, table), table) for name, table in _variants(definitions[union])]
    out += [
        Entry("tables", name, str(definitions[key]["description"]), definitions[key]) for name, key in _TABLES.items()
    ]
    return tuple(out)


def _about(name: str, table: Mapping[str, Any]) -> str:
    """What a table says of itself; its bare name says nothing."""
    text = str(table.get("description", ""))
    return "" if text == f"`{name}`" else text


def kinds(only: str | None = None) -> dict[str, list[tuple[str, str]]]:
    """Names and a sentence each, by kind; of one kind where asked for."""
    from . import studies

    out: dict[str, list[tuple[str, str]]] = {}
    for entry in entries():
        out.setdefault(entry.kind, []).append((entry.name, entry.summary))
    out["worlds"] = [(name, world.about) for name, world in WORLDS.items()]
    out["studies"] = [(name, f"{about[0].upper()}{about[1:]}.") for name, about in studies.studies().items()]
    if only is None:
        return out
    if only not in out:
        raise InputError(_unknown("kind", only, list(out)))
    return {only: out[only]}


def find(name: str) -> Entry:
    """The entry of that name; the first where several kinds have it."""
    return found(name)[0]


def found(name: str) -> list[Entry]:
    """All entries of that name: `multipath` is a topology and a kind of traffic."""
    named = [entry for entry in entries() if entry.name == name]
    if not named:
        raise InputError(_unknown("name", name, [entry.name for entry in entries()]))
    return named


def _unknown(what: str, got: str, known: list[str]) -> str:
    near = difflib.get_close_matches(got, known, 1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"{what} must be one of {', '.join(f'`{word}`' for word in known)}, got `{got}`{hint}"


def explain(name: str, width: int = 96) -> str:
    """What has that name as text for the terminal: what it is, and its parameters."""
    return "\n\n".join(_explained(entry, width) for entry in found(name))


def _explained(entry: Entry, width: int) -> str:
    import textwrap

    parts = [f"{entry.name} ({entry.kind})", *([_wrap(entry.about, width)] if entry.about else [])]
    for parameter in entry.parameters():
        head = (
            f"  {parameter.name} = {parameter.default}"
            if parameter.default not in ("–", "required")
            else f"  {parameter.name}  ({'required' if parameter.default == 'required' else 'optional'})"
        )
        head = textwrap.shorten(head, width, placeholder=" ...") if len(head) > width else head
        body = textwrap.fill(
            f"{parameter.about} Takes: {parameter.takes}.", width, initial_indent="      ", subsequent_indent="      "
        )
        parts.append(("  " + head.lstrip()) + "\n" + body)
    return "\n\n".join(parts)


def _wrap(text: str, width: int) -> str:
    import textwrap

    return "\n\n".join(textwrap.fill(" ".join(paragraph.split()), width) for paragraph in text.split("\n\n"))
