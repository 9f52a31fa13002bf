"""What programs in a guest see of the host's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["host_files"]

#: The system's programs with what they need, on Debian, NixOS and Guix.
SYSTEM = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/sbin", "/usr", "/nix/store", "/gnu/store")


def _files(program: Mapping[str, Any]) -> Iterator[str]:
    """What a program sees beside the system: the folder that it is installed in, and what its words and environment name."""
    for words in (program["client"], program.get("server", [])):
        for place, word in enumerate(words):
            path = Path(word)
            if path.is_absolute() and path.exists():
                yield from (str(one) for one in (path, path.resolve()))
                if place == 0 and path.parent.name == "bin" and path.parent.parent != Path("/"):
                    yield from (str(one.parent.parent) for one in (path, path.resolve()))
    for text in program.get("environment", {}).values():
        yield from (one for one in text.split(":") if Path(one).is_absolute() and Path(one).exists())


def _without_inner(files: set[str]) -> list[str]:
    """Those that lie in no other of them."""
    kept: list[str] = []
    for one in sorted(files, key=lambda file: Path(file).parts):
        if not any(Path(one).is_relative_to(outer) for outer in kept):
            kept.append(one)
    return kept


def host_files(programs: Sequence[Mapping[str, Any]], others: Sequence[str] = ()) -> list[str]:
    """Files and folders of the host that these programs see, and ``others``."""
    return _without_inner({*others, *SYSTEM, *(path for one in programs for path in _files(one))})
