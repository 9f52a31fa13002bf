"""Public traces by name, and traces that are drawn with a random seed."""

from __future__ import annotations

import hashlib
import json
import tomllib
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np

from .. import _core, catalogue
from ..errors import InputError, unknown
from ..runs.files import write_atomically
from . import files
from .trace import Trace


@cache
def sources() -> dict[str, dict[str, Any]]:
    """The public traces by name: what `sources.toml` says of the file and of its source."""
    listed = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
    return {name: {**listed["sources"][one["source"]], **one} for name, one in listed["files"].items()}


def paths() -> list[str]:
    """The access links whose rate changes: their traces are drawn with a random seed."""
    listed = catalogue.schema()["$defs"]["AccessPath"]["x-paths"]
    return [name for name, one in listed.items() if "trace" in one["link"]]


def drawn(name: str, seed: int, duration: float, reverse: bool = False) -> Trace:
    """The trace of an access link with that random seed: the download, or the upload."""
    values = {
        "duration": f"{duration:g}s",
        "framing": "0B",
        "topology": {"dumbbell": {"pairs": 1, "access": {}, "bottleneck": {"path": name}}},
        "traffic": [{"kind": "bulk"}],
    }
    scenario = _core.Scenario.from_json(json.dumps(values), name)
    varying = json.loads(scenario.varying("right>left" if reverse else "left>right", seed) or "{}")
    capacity = varying["capacity"]
    if "Trace" in capacity:
        instants = np.array([_core.parse_quantity("duration", at) for at in capacity["Trace"]["instants"]])
        return Trace.of_instants(np.ceil(instants[instants <= duration] * 1e3 - 1e-6) / 1e3)
    changes = {
        name: [("0s", steps["first"]), *steps["steps"]]
        for name, steps in {"rate": capacity["Schedule"], **varying}.items()
        if name in _QUANTITIES and steps is not None
    }
    return Trace.of_steps(
        duration,
        {
            name: [(_core.parse_quantity("duration", at), _quantity(name, value)) for at, value in steps]
            for name, steps in changes.items()
        },
    )


#: What changes in a drawn trace, and what its values are.
_QUANTITIES = {"rate": "rate", "delay": "duration", "loss": "probability"}


def _quantity(name: str, value: str | float) -> float:
    return _core.parse_quantity(_QUANTITIES[name], value) if isinstance(value, str) else value


def fetch(name: str, file: Path, mirror: str | None = None) -> str:
    """Downloads a public trace, checks its size and its checksum, and returns the SHA-256 of what is there."""
    if name not in sources():
        raise unknown("trace", name, sources())
    one = sources()[name]
    url = (mirror.rstrip("/") + "/" if mirror else one["url"]) + one["path"]
    most = one.get("bytes", 1 << 28)
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            data: bytes = answer.read(most + 1)
    except (URLError, OSError, ValueError) as error:
        raise InputError(
            f"{url}: address must answer, got `{getattr(error, 'reason', error)}`; `--mirror URL` names another folder"
        ) from None
    if len(data) != one.get("bytes", len(data)):
        raise InputError(f"{url}: file must have {most} bytes, got {len(data) if len(data) <= most else 'more'}")
    digest = hashlib.sha256(data).hexdigest()
    if digest != one.get("sha256", digest):
        raise InputError(f"{url}: file must have the SHA-256 {one['sha256']}, got {digest}")
    if file.exists():
        raise InputError(f"{file}: file must be new, got an existing one; `--out FILE` names another")
    write_atomically(file, data)
    return digest


def load(source: str, kind: str | None, seed: int, duration: float, reverse: bool) -> Trace:
    """The trace of a file, or of an access link by name."""
    if source in paths() and not Path(source).exists():
        return drawn(source, seed, duration, reverse)
    if not Path(source).exists():
        hint = f"; `haltere trace fetch {source}` downloads it" if source in sources() else ""
        raise InputError(
            f"{source}: trace must be a file or one of {', '.join(f'`{one}`' for one in paths())}, got neither{hint}"
        )
    return files.read(source, kind)
