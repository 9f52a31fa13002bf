"""Files of the repository that the installed package needs: packs, studies, references, and the sources of the guest kernel.

In a source checkout the entries of this folder are symbolic links to the folders of the repository. In a wheel they are the files themselves
(`include` in `pyproject.toml`). So a path below this folder is the same in both.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CHECKOUT", "cache", "folder", "references", "root"]

_HERE = Path(__file__).resolve().parent


def root() -> Path:
    """The folder that has ``crates``, ``kernel`` and the rest: the source checkout, or this folder of an installed package."""
    return (_HERE / "Cargo.toml").resolve().parent


#: True in a source checkout.
CHECKOUT = (_HERE / "Cargo.toml").is_symlink()


def folder(name: str) -> Path:
    """A folder of the repository, such as ``papers/aqm-lab``. Raises :class:`FileNotFoundError` if it is absent.

    >>> (folder("papers/aqm-lab") / "expected.toml").is_file()
    True
    """
    found = root() / name
    if not found.is_dir():
        raise FileNotFoundError(f"{name}: folder must be in the source checkout or in the package, got neither")
    return found


def references() -> Path:
    """The results measured on Linux, which ``haltere validate`` compares with if it gets no directory."""
    return folder("validation/linux")


def cache(name: str) -> Path:
    """The user's folder for what is built once: below ``XDG_CACHE_HOME``, by default ``~/.cache``."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "haltere" / name
