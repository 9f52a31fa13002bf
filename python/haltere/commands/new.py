"""`haltere new`: an experiment file to begin with."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import InputError
from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    new = to.add(
        "new",
        _new,
        "write a commented experiment file to begin with, or list those that there are",
        "examples:\n"
        "  haltere new                       the list\n"
        "  haltere new rrul                  writes rrul.toml\n"
        "  haltere new rrul my-test.toml     writes my-test.toml\n\n"
        "A file that is there already is not overwritten.",
    )
    new.add_argument("name", nargs="?", metavar="NAME", help="which one (default: list them)")
    new.add_argument("file", nargs="?", type=Path, metavar="FILE", help="where (default: NAME.toml in this folder)")


def _new(args: argparse.Namespace) -> int:
    from .. import templates

    if args.name is None:
        print(_listed(templates.SECTIONS))
        return 0
    template = templates.find(args.name)
    path = args.file or Path(template.path.name)
    # The commands in the file are those for the file as it is named here.
    text = template.text.replace(template.path.name, str(path)).replace(
        f"results/{template.name}", f"results/{path.stem}"
    )
    _write(path, text)
    print(f"{path}: {template.title}\n")
    print("\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#   ")))
    return 0


def _listed(sections: dict[str, tuple[str, ...]]) -> str:
    """All templates by subject, a line each."""
    from .. import templates

    width = max(len(name) for names in sections.values() for name in names)
    parts = [
        "\n".join([subject, *(f"  {name:<{width}}  {templates.find(name).title}" for name in names)])
        for subject, names in sections.items()
    ]
    return "\n\n".join([*parts, "`haltere new NAME` writes NAME.toml."])


def _write(path: Path, text: str) -> None:
    """Writes a file that is not there yet."""
    where = os.fsencode(path).decode(errors="backslashreplace")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        what = "a directory" if path.is_dir() else "one that is there"
        raise InputError(
            f"{where}: file must be a new one, got {what}; `haltere new NAME FILE` writes another"
        ) from None
    except OSError as error:
        raise InputError(f"{where}: file must be writable, got `{error.strerror}`") from None
