"""What the commands share: how one is added, and the arguments that several have."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from ..errors import InputError

__all__ = ["Commands", "Parser", "count", "print_json", "seeds_and_jobs", "world"]

Does = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """Tells a wrong argument in one line."""

    def error(self, message: str) -> NoReturn:
        where = self.prog.removeprefix("haltere").strip()
        raise InputError(f"{where}{': ' if where else ''}{message}; see `{self.prog} --help`")


class Commands:
    """The commands of one parser; each module of this package adds its own."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(
            title="commands", dest="command", metavar="COMMAND", required=True, parser_class=Parser
        )

    def add(self, name: str, does: Does, help: str, more: str = "") -> argparse.ArgumentParser:
        """Adds the command `name`, which calls `does` and exits with what that returns.

        `help` is its line in the list of commands; `more` stands below its arguments.
        """
        one: argparse.ArgumentParser = self._parsers.add_parser(
            name, help=help, description=f"{help[0].upper()}{help[1:]}.", epilog=more or None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        one.set_defaults(does=does)
        return one


def count(text: str) -> int:
    """An argument that counts something: a whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got `{text}`")
    return int(text)


def seeds_and_jobs(one: argparse.ArgumentParser, out: str) -> None:
    """Adds --seeds and --jobs, and --out where `out` names its default."""
    one.add_argument(
        "--seeds", type=count, metavar="N", help="how many seeds: 1, 2, ... N (default: what the experiment says)"
    )
    one.add_argument("--jobs", type=count, metavar="N", help="runs at a time (default: one a core)")
    if out:
        one.add_argument("--out", type=Path, metavar="DIR", help=f"results directory (default: {out})")


def world(one: argparse.ArgumentParser) -> None:
    """Adds --world and --anyway."""
    from ..worlds import WORLDS

    one.add_argument(
        "--world", choices=list(WORLDS), default="sim",
        help="where it runs: sim, the simulator (default), or wire, real packets between network namespaces",
    )  # fmt: skip
    one.add_argument(
        "--anyway", action="store_true", help="on the wire: run although the calibration finds the machine unfit"
    )


def print_json(value: Any) -> None:
    """Prints `value` as JSON."""
    print(json.dumps(value, indent=1, ensure_ascii=False))
