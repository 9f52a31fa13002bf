"""Parameters of a mechanism: a class of annotated names, each with a default, a range and a meaning."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NewType

from .. import _core

#: A duration: ``"5ms"`` in a file, whole nanoseconds in the mechanism.
Duration = NewType("Duration", int)
#: A rate: ``"10Mbit"`` in a file, bit/s in the mechanism.
Rate = NewType("Rate", int)
#: An amount of data: ``"90kB"`` in a file, bytes in the mechanism.
Bytes = NewType("Bytes", int)
#: A probability: ``0.1`` or ``"10%"`` in a file, a number from 0 to 1 in the mechanism.
Probability = NewType("Probability", float)

#: The format of an annotation, by its name.
_FORMATS = {
    "float": "number", "int": "integer", "bool": "boolean", "str": "string", "Duration": "duration", "Rate": "rate", "Bytes": "bytes",
    "Probability": "probability",
}  # fmt: skip
#: Quantities: how many of the mechanism's units a base unit of the package has.
_SCALE = {"duration": 1e9, "rate": 1.0, "bytes": 1.0}
_META = "haltere"


class Refused(Exception):
    """What a user wrote cannot be taken: ``name`` must be ``rule``, got ``got``; ``hint``."""

    def __init__(self, name: str, rule: str, got: str, hint: str = "") -> None:
        super().__init__(f"{name} must be {rule}, got {got}" + (f"; {hint}" if hint else ""))
        self.name, self.rule, self.got, self.hint = name, rule, got, hint


def param(
    default: Any = dataclasses.MISSING,
    *,
    min: float | str | None = None,
    max: float | str | None = None,
    unit: str = "",
    values: Sequence[str] = (),
    doc: str = "",
) -> Any:
    """A parameter: its default, the least and the largest value, the unit of a plain number, the only values of a text, and its meaning.

    Quantities are written as in an experiment file, the limits too: ``target: Duration = param("5ms", min="1us", doc="...")``. Without a
    default the parameter must be given.
    """
    about = {"min": min, "max": max, "unit": unit, "values": tuple(values), "doc": doc}
    return dataclasses.field(default=default, metadata={_META: about}, kw_only=True)


def _fields(cls: type) -> Iterator[tuple[dataclasses.Field[Any], str, Mapping[str, Any]]]:
    """The parameters of a mechanism: field, format, and the arguments of :func:`param`."""
    made = _dataclass(cls)
    annotations: dict[str, Any] = {}
    for one in reversed(made.__mro__):
        annotations.update(inspect.get_annotations(one))
    for field in dataclasses.fields(made):
        kind = annotations[field.name]
        name = (kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))).rsplit(".", 1)[-1]
        if name not in _FORMATS:
            rule = f"annotated as one of `{'`, `'.join(_FORMATS)}`"
            raise Refused(f"`{cls.__name__}.Params.{field.name}`", rule, f"`{name}`")
        if field.name in ("kind", "source"):
            raise Refused(
                f"`{cls.__name__}.Params.{field.name}`", "another name than `kind` and `source`", f"`{field.name}`"
            )
        yield field, _FORMATS[name], field.metadata.get(_META, {})


def _dataclass(cls: type) -> Any:
    written = cls.Params  # type: ignore[attr-defined]
    if not dataclasses.is_dataclass(written) or "__dataclass_fields__" not in vars(written):
        for name, kind in inspect.get_annotations(written).items():
            del kind
            if name in vars(written) and not isinstance(vars(written)[name], dataclasses.Field):
                setattr(written, name, param(vars(written)[name]))
        written = dataclasses.dataclass(written)
        cls.Params = written  # type: ignore[attr-defined]
    return written


def described(cls: type) -> list[dict[str, Any]]:
    """The parameters of a mechanism, for the laboratory."""
    out = []
    for field, format, about in _fields(cls):
        entry: dict[str, Any] = {"name": field.name, "format": format, "meaning": _meaning(format, about)}
        if field.default is not dataclasses.MISSING:
            entry["default"] = field.default
        if about.get("values"):
            entry["values"] = list(about["values"])
        if format in ("number", "integer"):
            entry |= {key: about[key] for key in ("min", "max") if about.get(key) is not None}
        out.append(entry)
        if field.default is not dataclasses.MISSING:
            _value(cls, field.name, format, about, field.default)
    return out


def _meaning(format: str, about: Mapping[str, Any]) -> str:
    """The meaning, with the unit of a number and the range of a quantity."""
    limits = [
        f"{word} {about[key]}" for word, key in (("at least", "min"), ("at most", "max")) if about.get(key) is not None
    ]
    more = [about["unit"]] if about.get("unit") else []
    more += limits if format in _SCALE or format == "probability" else []
    text = str(about.get("doc", "")).strip()
    return f"{text} ({', '.join(more)})".strip() if more else text


def filled(cls: type, given: Mapping[str, Any]) -> Any:
    """``cls.Params`` with the values of an experiment, in the mechanism's units. Limits of quantities are checked here."""
    values = {
        field.name: _value(cls, field.name, format, about, given.get(field.name, field.default))
        for field, format, about in _fields(cls)
    }
    return _dataclass(cls)(**values)


def _value(cls: type, name: str, format: str, about: Mapping[str, Any], written: Any) -> Any:
    try:
        value = _read(format, written)
        least, most = (None if about.get(key) is None else _read(format, about[key]) for key in ("min", "max"))
    except (_core.InputError, TypeError, ValueError) as error:
        raise Refused(f"`{cls.__name__}.Params.{name}`", f"a {format}", f"`{written}`", str(error)) from None
    if least is not None and value < least:
        raise Refused(name, f"at least {about['min']}", f"{written}")
    if most is not None and value > most:
        raise Refused(name, f"at most {about['max']}", f"{written}")
    return value


def _read(format: str, written: Any) -> Any:
    if format in _SCALE:
        return round(_core.parse_quantity(format, str(written)) * _SCALE[format])
    if format == "probability":
        return _core.parse_quantity(format, str(written))
    wanted = {"number": (int, float), "integer": (int,), "boolean": (bool,), "string": (str,)}[format]
    if not isinstance(written, wanted) or (isinstance(written, bool) and format != "boolean"):
        raise TypeError(f"it is a {type(written).__name__}")
    return float(written) if format == "number" else written
