"""The mechanisms of a report card: the one that is characterised, and what is beside it. Each is of the tree or from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError

#: A mechanism as an experiment has it.
Entry = dict[str, Any]


def title(kind: str) -> str:
    """The name of a mechanism in figures and tables: of one from outside its class, or its file without the ending.

    >>> title("cubic"), title("python:mine/mine.py:Mine"), title("wasm:build/mine.wasm")
    ('cubic', 'Mine', 'mine')
    """
    if ":" not in kind:
        return kind
    language, source = kind.split(":", 1)
    return source.rsplit(":", 1)[-1] if language == "python" else Path(source).stem


def entry(kind: str, settings: Mapping[str, Any]) -> Entry:
    """The mechanism with these parameters. A file of one from outside is looked for from the current folder."""
    folder = {"source": {"folder": str(Path.cwd())}} if ":" in kind else {}
    return {"kind": kind, **folder, **settings}


def lineup(kind: str, settings: Mapping[str, Any], beside: Sequence[str], default: Sequence[str]) -> dict[str, Entry]:
    """The mechanism first, then those beside it, each under its name. Names that would be the same are written out in full."""
    others = [other for other in dict.fromkeys(beside or default) if settings or other != kind]
    if not others:
        raise InputError(f"--beside must be another mechanism than the one that is characterised, got `{kind}`")
    short = [title(one) for one in (kind, *others)]
    names = [one if short.count(title(one)) > 1 else title(one) for one in (kind, *others)]
    names[0] = ", ".join([names[0], *(f"{key}={value}" for key, value in settings.items())])
    return {
        names[0]: entry(kind, settings),
        **{name: entry(one, {}) for name, one in zip(names[1:], others, strict=True)},
    }
