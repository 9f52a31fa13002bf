"""What the commands share: how one is added, and the arguments that several have."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .. import worlds
from ..errors import InputError, nearest

__all__ = [
    "LINE", "MECHANISMS", "Commands", "Parser", "checked", "chosen_world", "count", "figure_look", "figure_options", "loaded", "mechanism", "names",
    "print_json", "seeds_and_jobs", "show",
]  # fmt: skip

if TYPE_CHECKING:
    from ..api import Scenario
    from ..report.document import Document
    from ..runs.results import Results

Does = Callable[[argparse.Namespace], int]


class Help(argparse.RawDescriptionHelpFormatter):
    """Help texts are plain texts: a per cent sign stands for itself."""

    def _expand_help(self, action: argparse.Action) -> str:
        return action.help or ""


class Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one line."""

    #: The argument that has what follows `--`.
    rest = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words: list[str] | None = None
        if self.rest and args and "--" in args:
            at = args.index("--")
            args, words = args[:at], args[at + 1 :]
        found, unknown = super().parse_known_args(args, namespace)
        if words is not None:
            setattr(found, self.rest, words)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            self.error(f"unknown argument `{unknown[0]}`{nearest(unknown[0], options)}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(one) for one in action.choices]
            rule = f"one of {', '.join(f'`{one}`' for one in known)}"
            raise argparse.ArgumentError(action, f"must be {rule}, got `{value}`{nearest(str(value), known)}")

    def error(self, message: str) -> NoReturn:
        where = self.prog.removeprefix("haltere").strip()
        raise InputError(f"{where}{': ' if where else ''}{message}; see `{self.prog} --help`")


@cache
def _texts() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))


class Commands:
    """The commands of one parser; each module of this package adds its own."""

    def __init__(self, parser: argparse.ArgumentParser, prefix: str = "") -> None:
        """``prefix``: what precedes the names of commands in `commands.toml`."""
        self.top, self._prefix = parser, prefix
        self._parsers = parser.add_subparsers(
            title="commands", dest="command", metavar="COMMAND", required=True, parser_class=Parser
        )

    def add(
        self, name: str, does: Does, help: str = "", more: str = "", fill: Mapping[str, Any] | None = None, **types: Any
    ) -> Parser:  # fmt: skip
        """Adds the command `name`, which calls `does` and exits with what that returns.

        `help` is its line in the list of commands; `more` is printed below its arguments. Both, and the arguments, are in `commands.toml`
        if they are not given. ``fill`` has what stands for names in braces there. ``types`` has by argument: what reads the value, a tuple
        of choices, ``"many"`` for an option that may be repeated, or a dictionary of other settings of ``add_argument``.
        """
        texts = {"help": help, "more": more, "arguments": ""} | _texts().get(self._prefix + name, {})
        for key, value in (fill or {}).items():
            texts = {what: text.replace(f"{{{key}}}", str(value)) for what, text in texts.items()}
        one: Parser = self._parsers.add_parser(
            name, help=texts["help"], description=f"{texts['help'][0].upper()}{texts['help'][1:]}.", epilog=texts["more"].strip("\n") or None,
            formatter_class=Help,
        )  # fmt: skip
        one.set_defaults(does=does)
        group: argparse._ActionsContainer | None = None
        for line in re.sub(r"\n +", " ", texts["arguments"].strip("\n")).splitlines():
            special, *words = line.split()
            if special == "@line":
                _line_options(one, *words)
            elif special.startswith("@"):
                (world if special == "@world" else world_options)(one)
            elif special.startswith("|"):
                group = group or one.add_mutually_exclusive_group(required=special.startswith("|!"))
                _argument(group, line.lstrip("|!"), types)
            else:
                _argument(one, line, types)
        return one


#: Types of arguments that mean the same in every command.
_TYPES: dict[str, Any] = {"set": "many", "file": Path, "out": Path}


def _argument(one: argparse._ActionsContainer, line: str, types: Mapping[str, Any]) -> None:
    """Adds the argument that this line of `commands.toml` describes."""
    head, _, help = line.partition("  ")
    first, _, metavar = head.partition(" ")
    names = first.rstrip("?+").split(",")
    name = names[0].removeprefix("--").replace("-", "_")
    settings: dict[str, Any] = {"help": help.strip() or _texts()["shared"][head.strip()]}
    if first[-1] in "?+":
        settings["nargs"] = first[-1]
    if metavar:
        settings["metavar"] = metavar
    elif names[0] != name and name not in types:
        settings["action"] = "store_true"
    how = types.get(name, count if head in ("--seeds N", "--jobs N") else _TYPES.get(name))
    if how == "many":
        settings |= {"action": "append", "default": []}
    elif how is not None:
        settings |= how if isinstance(how, dict) else {"choices" if isinstance(how, tuple) else "type": how}
    one.add_argument(*names, **settings)


#: Options of a line, as an experiment file names them; each may be given for one direction alone.
LINE = {
    "rate": ("RATE", "rate of the line, such as 10Mbit (default: none, packets take no time)"),
    "delay": ("SPAN", "propagation time, such as 10ms (default: 0s)"),
    "jitter": ("SPAN", "each packet takes longer by up to this; order is kept (default: 0s)"),
    "loss": ("P", "probability that a packet is lost on the line, such as 0.01 or 1% (default: 0)"),
    "queue": ("QUEUE", "discipline: its name, or with parameters '{ kind = \"rafle\", n = 40 }' (default: drop_tail)"),
}


def _line_options(one: argparse.ArgumentParser, *sides: str) -> None:
    for name, (what, about) in LINE.items():
        one.add_argument(f"--{name}", metavar=what, help=about)
        for side in sides:
            one.add_argument(f"--{name}-{side}", metavar=what, help=argparse.SUPPRESS)


def count(text: str) -> int:
    """An argument that counts something: a whole number of at least 1."""
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got `{text}`")
    return int(text)


def seeds_and_jobs(one: argparse.ArgumentParser, out: str) -> None:
    """Adds --seeds, --jobs and --out, whose default is ``out``."""
    for line in ("--seeds N", "--jobs N", f"--out DIR  results directory (default: {out})"):
        _argument(one, line, {})


def world(one: argparse.ArgumentParser) -> None:
    """Adds --world, and the options of the worlds."""
    listed = " ".join(
        f"{name}{' (default)' if name == worlds.DEFAULT else ''}: {kind.about[0].lower()}{kind.about[1:]}"
        for name, kind in worlds.WORLDS.items()
    )
    one.add_argument("--world", choices=list(worlds.WORLDS), default=worlds.DEFAULT, help=f"where it runs; {listed}")
    world_options(one)


def world_options(one: argparse.ArgumentParser) -> None:
    """Adds the options of the worlds: a flag for each of their fields. Fields of one name in two worlds are one option."""
    options: dict[str, tuple[dataclasses.Field[Any], list[str]]] = {}
    for kind in worlds.WORLDS.values():
        for field in dataclasses.fields(kind):
            options.setdefault(field.name, (field, []))[1].append(kind.place)
    for field, places in options.values():
        flag = f"--{field.name.replace('_', '-')}"
        about = f"{' and '.join(places)}: {field.metadata['help']}"
        if isinstance(field.default, bool):
            one.add_argument(flag, action="store_true", help=about)
        else:
            one.add_argument(flag, default=field.default, metavar="VALUE", help=about)


def loaded(args: argparse.Namespace) -> tuple[Scenario, int | None, str]:
    """The experiment with the values of --set, how many seeds were asked for, and what --quick leaves out, if it is given."""
    from ..api import Scenario, parse_setting
    from ..runs.quick import quick

    scenario = Scenario.load(args.file).with_values(dict(parse_setting(one) for one in args.set))
    return quick(scenario, args.seeds) if getattr(args, "quick", False) else (scenario, args.seeds, "")


def chosen_world(args: argparse.Namespace, name: str | None = None) -> worlds.World:
    """The world that the arguments name, or the one of this name, with those of its options that the command has."""
    kind, given = worlds.WORLDS[name or args.world], vars(args)
    return kind(**{one.name: given[one.name] for one in dataclasses.fields(kind) if given.get(one.name) is not None})


def checked(results: Results) -> int:
    """Compares every file of these results with its checksum; returns how many they are."""
    from ..runs.store import AGAIN, Damaged

    wrong = results.check()
    if wrong:
        for one in wrong[:-1]:
            print(f"haltere: {one}", file=sys.stderr)
        raise Damaged(f"{wrong[-1]}; {AGAIN}")
    return sum(map(len, results.batches().values()))


def show(document: Document, out: Path, json: Any = None) -> None:
    """Writes a document into ``out``, and prints it with the places of its report and figures, or ``json`` instead."""
    paths = document.write(out)
    if json is not None:
        print_json(json)
        return
    formats = sorted({path.suffix[1:].upper() for path in (out / "figures").glob("*.p*")})
    figures = f"Figures: {out / 'figures'} ({' and '.join(formats)})\n" if formats else ""
    print(f"{document.text()}\n\n{figures}Report:  {paths[0]}")


def print_json(value: Any) -> None:
    """Prints `value` as JSON."""
    print(json.dumps(value, indent=1, ensure_ascii=False))


def figure_options() -> dict[str, Any]:
    """Types of the options that say how figures look in print."""
    return {"format": {"dest": "formats", "type": names}, "style": ("paper", "slides")}


def figure_look(args: argparse.Namespace, *always: str) -> AbstractContextManager[None]:
    """Figures look as these arguments say; the formats in `always` are written in any case."""
    from ..report import look

    if wrong := [one for one in args.formats or () if one not in look.FORMATS]:
        rule = f"--format must be some of {', '.join(f'`{one}`' for one in look.FORMATS)}"
        raise InputError(f"{rule}, got `{wrong[0]}`{nearest(wrong[0], look.FORMATS)}")
    wanted = look.STYLES[args.style] if args.style else look.Look()
    return look.looking(
        dataclasses.replace(
            wanted,
            width=look.inches(args.width) if args.width else wanted.width,
            height=look.inches(args.height) if args.height else wanted.height,
            rc={**wanted.rc, **(look.font(args.font) if args.font else {})},
            x_label=getattr(args, "x_label", None),
            y_label=getattr(args, "y_label", None),
            formats=(*always, *args.formats) if args.formats else None,
        )
    )


def names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if not names:
        raise argparse.ArgumentTypeError("must name at least one")
    return list(dict.fromkeys(names))


#: What a mechanism of these kinds is called.
MECHANISMS = {
    ("congestion",): "a congestion control",
    ("queues",): "a queue discipline",
    ("congestion", "queues"): "a congestion control or a queue discipline",
}


def mechanism(text: str, kinds: tuple[str, ...], where: str) -> tuple[Any, str]:
    """A mechanism of one of these kinds, by its name or as a table; and its kind."""
    from .. import _core

    value: Any = text
    if text.lstrip().startswith("{"):
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{where} must be a name or a TOML table, got `{text}`; {error}") from None
    name = str(value.get("kind", "")) if isinstance(value, dict) else text
    if ":" in name:
        return _outside(value, name, kinds, where)
    every = {one: kind for kind in kinds for one in _core.names(kind)}
    if name not in every:
        hint = nearest(name, every) or "; `haltere list` names them"
        raise InputError(f"{where} must be {MECHANISMS[kinds]}, got `{name}`{hint}")
    return value, every[name]


def _outside(value: Any, name: str, kinds: tuple[str, ...], where: str) -> tuple[Any, str]:
    """The same of a mechanism from outside the tree, such as `python:my_module:MyControl`. Names of files count from this folder."""
    from .. import _core

    told = json.loads(_core.describe(name))
    if told["kind"] not in kinds:
        raise InputError(f"{where} must be {MECHANISMS[kinds]}, got `{name}`, one of {told['kind']}")
    table = value if isinstance(value, dict) else {"kind": name}
    return {**table, "source": {"folder": str(Path.cwd())}}, told["kind"]
