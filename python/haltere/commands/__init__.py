"""The commands. A new one is a file and a line in ``COMMANDS``. A module is imported when one of its commands is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InputError

__all__ = ["COMMANDS", "check", "modules"]

#: Each command and its module, in the order in which `haltere --help` lists them. A module's ``add(to)`` adds its commands.
COMMANDS = {
    "new": ".new",
    "import": ".import_",
    "trace": ".trace",
    "course": ".course",
    "run": ".run",
    "compare-worlds": ".run",
    "sweep": ".sweep",
    "search": ".search",
    "attack": ".search",
    "reproduce": ".reproduce",
    "router": ".router",
    "shell": ".shell",
    "exec": ".shell",
    "link": ".shell",
    "network": ".shell",
    "kernel": "..worlds.kernel.command",
    "stack": ".stack",
    "validate": ".validate",
    "list": ".mechanisms",
    "explain": ".mechanisms",
    "schema": ".mechanisms",
    "classify": ".captures",
    "correlate": ".captures",
    "replay": ".captures",
    "plot": ".plot",
    "report": ".plot",
    "results": ".results",
    "hash": ".results",
    "export": ".results",
    "compare": ".compare",
    "characterize": ".characterize",
    "pack": ".packs",
    "check": ".packs",
    "play": ".play",
    "completion": ".completion",
}

#: A command that must know all others.
_WHOLE = "completion"

#: Commands that draw figures, which need the extra ``report``.
DRAWS = {
    "attack", "characterize", "check", "classify", "compare-worlds", "correlate", "plot", "report", "reproduce", "search",
}  # fmt: skip

#: Commands that need Linux's network or its kernel.
LINUX = {"router", "shell", "exec", "link", "network", "kernel"}


def modules(words: Sequence[str]) -> Iterator[Any]:
    """The modules of a command line: that of the command which it names, or all of them."""
    command = _command(words)
    alone = command in COMMANDS and command != _WHOLE
    names = [COMMANDS[command]] if alone else dict.fromkeys(COMMANDS.values())
    return (importlib.import_module(name, __package__) for name in names)


def check(words: Sequence[str]) -> None:
    """Refuses a command whose extra is not installed, or that needs another system, before it writes anything."""
    from ..runs.store import need

    if _command(words) in LINUX and sys.platform != "linux":
        raise InputError(
            f"{_command(words)}: system must be Linux, got {sys.platform}; the simulator, reports and the playground run here"
        )
    if (command := _command(words)) in DRAWS:
        need("matplotlib", "report", command)


def _command(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-")), "")
