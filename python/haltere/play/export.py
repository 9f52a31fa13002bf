"""A set-up as an experiment file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from ..toml import bare, literal


def toml(experiment: Mapping[str, Any], changes: Iterable[tuple[float, str]] = (), head: str = "") -> str:
    """The file that `haltere run` takes. It holds the set-up as it is now; what was changed on the way is above it as
    comments."""
    lines = [head or f"# From haltere play, Haltere {_core.version}. Run it with: haltere run FILE"]
    log = [f"#   {at:.2f} s  {what}" for at, what in changes]
    if log:
        lines += ["# Below is the set-up as it was at the end. It became that while it ran:", *log]
    lines.append("")
    tables = [(key, value) for key, value in experiment.items() if isinstance(value, Mapping) and key != "topology"]
    for key, value in experiment.items():
        if not isinstance(value, Mapping) and key != "traffic":
            lines.append(f"{bare(key)} = {literal(value)}")
    for kind, inside in experiment.get("topology", {}).items():
        lines += ["", f"[topology.{bare(kind)}]", *(f"{bare(key)} = {literal(one)}" for key, one in inside.items())]
    for entry in experiment.get("traffic", ()):
        lines += ["", "[[traffic]]", *(f"{bare(key)} = {literal(one)}" for key, one in entry.items())]
    for key, value in tables:
        lines += ["", f"[{bare(key)}]", *(f"{bare(name)} = {literal(one)}" for name, one in value.items())]
    return "\n".join(lines) + "\n"


def changed_keys(old: Any, new: Any, path: str = "") -> list[str]:
    """What differs, as assignments.

    >>> changed_keys({"a": {"rate": "1Mbit", "x": 1}}, {"a": {"rate": "2Mbit", "x": 1}})
    ['a.rate = "2Mbit"']
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping) and old.get("kind") == new.get("kind"):
        out = []
        for key in [*old, *(key for key in new if key not in old)]:
            inner = f"{path}.{key}" if path else key
            if key not in new:
                out.append(f"{inner} as by default")
            else:
                out += changed_keys(old.get(key), new[key], inner)
        return out
    if isinstance(old, list) and isinstance(new, list) and len(old) <= len(new) and path:
        changed = [
            one for i, (a, b) in enumerate(zip(old, new, strict=False)) for one in changed_keys(a, b, f"{path}[{i}]")
        ]
        return changed + [f"{path}[{i}] = {literal(new[i])}" for i in range(len(old), len(new))]
    return [] if old == new else [f"{path} = {literal(new)}"]
