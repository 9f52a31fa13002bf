"""`haltere new`: an experiment file or a mechanism to begin with."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ..errors import InputError
from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    # The parser leaves no optional argument for what comes after an option, so the option takes the folder, too.
    to.add("new", _new, lang={"metavar": ("LANGUAGE", "FOLDER")})


def _new(args: argparse.Namespace) -> int:
    from .. import starters, templates

    if args.name is None:
        print(_listed(templates.SECTIONS))
        return 0
    if args.name == "course":
        return _course(args.file or Path("course"))
    if args.name in starters.KINDS:
        return _mechanism(args.name, *_language(args))
    if args.lang is not None:
        raise InputError(
            f"--lang must be given for a mechanism alone ({', '.join(f'`{kind}`' for kind in starters.KINDS)}), got one for `{args.name}`"
        )
    template = templates.find(args.name)
    path = args.file or Path(template.path.name)
    # The commands in the file are those for the file as it is named here.
    text = template.text.replace(template.path.name, str(path)).replace(
        f"results/{template.name}", f"results/{path.stem}"
    )
    write_new(path, text)
    print(f"{path}: {template.title}\n")
    print("\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#   ")))
    return 0


def _course(folder: Path) -> int:
    """Writes the labs of a course."""
    from .. import course

    print(f"{folder}: {len(course.LABS)} labs\n")
    print("\n".join(f"  {path}" for path in course.write(folder) if path.name == "README.md"))
    return 0


def _language(args: argparse.Namespace) -> tuple[str | None, Path | None]:
    """The language and the folder of a mechanism: the folder may be before or after the option."""
    language, *behind = args.lang or [None]
    folders = [*([args.file] if args.file else []), *map(Path, behind)]
    if len(folders) > 1:
        raise InputError(f"folder must be one, got {len(folders)}: {', '.join(f'`{folder}`' for folder in folders)}")
    return language, folders[0] if folders else None


def _mechanism(kind: str, language: str | None, folder: Path | None) -> int:
    """Writes the folder of a mechanism."""
    from .. import starters

    starter = starters.find(kind, language)
    folder = folder or Path(f"my-{kind}")
    files = starters.begin(starter, folder)
    print(f"{folder}: {starters.KINDS[kind]} in {starter.language}\n")
    print("\n".join(f"  {file}" for file in files))
    print(f"\n`{folder}/README.md` says what each is; `make -C {folder} test` builds and tests it.")
    return 0


def _listed(sections: dict[str, tuple[str, ...]]) -> str:
    """All templates by subject, a line each."""
    from .. import starters, templates

    width = max(len(name) for names in sections.values() for name in names)
    parts = [
        "\n".join([subject, *(f"  {name:<{width}}  {templates.find(name).title}" for name in names)])
        for subject, names in sections.items()
    ]
    mechanisms = "\n".join(
        f"  {kind:<{width}}  {about.capitalize()} in {', '.join(starters.languages(kind))}"
        for kind, about in starters.KINDS.items()
    )
    return "\n\n".join(
        [
            *parts,
            f"Mechanisms of your own\n{mechanisms}",
            f"A course\n  {'course':<{width}}  Six labs of 45 minutes with questions and a check of the answers",
            "`haltere new NAME` writes NAME.toml. `haltere new control --lang python NAME` writes a folder.",
        ]
    )


def write_new(path: Path, text: str) -> None:
    """Writes a file that is not there yet."""
    where = os.fsencode(path).decode(errors="backslashreplace")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        what = "a directory" if path.is_dir() else "an existing one"
        raise InputError(f"{where}: file must be new, got {what}; `haltere new NAME FILE` writes another") from None
    except OSError as error:
        raise InputError(f"{where}: file must be writable, got `{error.strerror}`") from None
