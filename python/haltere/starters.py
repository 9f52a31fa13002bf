"""Folders to begin a mechanism of one's own with: source, build recipe, experiment, README and tests.

A starter of a kind, such as a congestion control, in a language is the folder ``starters/KIND/LANGUAGE``, with what all kinds
have from ``starters/both/LANGUAGE``. In its files and
their names, ``@name@`` stands for the mechanism's name, ``@Name@`` for the same as a type, ``@crate@`` as a Rust crate or Python module,
``@about@`` for its kind in words, ``@kind@`` for what an experiment writes, and ``@haltere@`` for Haltere's sources. The
ending ``.in`` of a file is left out: it hides a file from the tools that look after this package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError

FOLDER = Path(__file__).parent / "starters"

#: What `haltere new` makes a folder for.
KINDS: dict[str, str] = {
    "control": "a congestion control",
    "queue": "a queue discipline",
    "scheduler": "a path scheduler",
    "classifier": "a flow classifier",
    "source": "a traffic source",
}

#: The place of the interface file of a language.
_INTERFACE = {"rust": "src/haltere.rs", "c": "haltere.h", "assemblyscript": "assembly/haltere.ts"}
#: What an experiment writes for a mechanism in a language; the others are WebAssembly.
_WRITTEN = {"rust-crate": "rust:@name@", "python": "python:@crate@:@Name@"}

#: Haltere's sources: those of a checkout, or where its user puts them.
_CHECKOUT = Path(__file__).resolve().parents[2]
_SOURCES = str(_CHECKOUT) if (_CHECKOUT / "crates").is_dir() else "../haltere"

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Starter:
    """One of the folders."""

    kind: str
    language: str

    def files(self, name: str) -> Iterator[tuple[str, str]]:
        """The files for a mechanism of that name: the path of each in its folder, and its text."""
        written = _WRITTEN.get(self.language, "wasm:@name@.wasm")
        for folder in (FOLDER / self.kind / self.language, FOLDER / "both" / self.language):
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                yield (
                    _filled(str(path.relative_to(folder)).removesuffix(".in"), name),
                    _filled(path.read_text(encoding="utf-8").replace("@about@", KINDS[self.kind]), name),
                )
        experiment = (FOLDER / self.kind / "experiment.toml").read_text(encoding="utf-8")
        yield "experiment.toml", _filled(experiment.replace("@kind@", written), name)
        if to := _INTERFACE.get(self.language):
            yield to, (FOLDER / "interface" / Path(to).name).read_text(encoding="utf-8")


def _filled(text: str, name: str) -> str:
    parts = re.split("[_-]", name)
    camel = "".join(part.capitalize() for part in parts)
    return (
        text.replace("@name@", name)
        .replace("@Name@", camel)
        .replace("@crate@", "_".join(parts))
        .replace("@haltere@", _SOURCES)
    )


def languages(kind: str) -> list[str]:
    """The languages of that kind."""
    return sorted(path.name for path in (FOLDER / kind).iterdir() if path.is_dir())


def find(kind: str, language: str | None) -> Starter:
    """The starter of a kind in a language."""
    known = languages(kind)
    if language not in known:
        got = "none" if language is None else f"`{language}`"
        raise InputError(f"--lang must be one of {', '.join(f'`{one}`' for one in known)}, got {got}")
    return Starter(kind, language)


def begin(starter: Starter, folder: Path) -> list[str]:
    """Writes a folder that is not there yet; its name is that of the mechanism. Returns its files."""
    name = folder.name
    if not _NAME.fullmatch(name):
        raise InputError(
            f"name must be lower-case letters, digits, `-` and `_` that begin with a letter, got `{name}`; it is the name of the folder, too"
        )
    where = os.fsencode(folder).decode(errors="backslashreplace")
    try:
        folder.mkdir(parents=True)
        for file, text in starter.files(name):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise InputError(f"{where}: folder must be new, got an existing one") from None
    except OSError as error:
        raise InputError(f"{where}: folder must be writable, got `{error.strerror}`") from None
    return sorted(file for file, _ in starter.files(name))
