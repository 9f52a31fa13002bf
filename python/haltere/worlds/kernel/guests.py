"""Guest kernels: which are built, and which one a run takes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import data
from ...errors import InputError

__all__ = ["COST", "GuestKernel", "built", "cache", "find"]

#: What a build costs, for who has none.
COST = "once, about 5 minutes on two cores and 2 GB of disk"


@dataclass(frozen=True)
class GuestKernel:
    """A kernel that is built: its folder, and what was noted when it was."""

    folder: Path
    told: dict[str, Any]

    @property
    def release(self) -> str:
        """Its release, such as ``6.1.192-haltere``."""
        return str(self.told["release"])

    @property
    def hash(self) -> str:
        """Of source, configuration, patches, what was added, and compiler."""
        return str(self.told["hash"])

    @property
    def vmlinux(self) -> Path:
        """The program that is the kernel."""
        return self.folder / "vmlinux"

    @property
    def guest(self) -> Path:
        """The program that runs in it."""
        return self.folder / "haltere-guest"

    @property
    def controls(self) -> list[str]:
        """Its congestion controls."""
        return list(self.told["controls"])


def cache() -> Path:
    """The folder of kernels."""
    return data.cache("kernels")


def built() -> list[GuestKernel]:
    """The kernels that are built, the newest first."""
    found = []
    for note in cache().glob("*/kernel.json"):
        told = json.loads(note.read_text())
        found.append(GuestKernel(note.parent, told))
    return sorted(found, key=lambda one: (one.told["built"], one.hash), reverse=True)


def find(which: str = "") -> GuestKernel:
    """The kernel whose release or hash begins so; if nothing is asked for, the one built last."""
    every = built()
    command = "haltere kernel build" + (f" {which}" if which[:1].isdigit() and "." in which else "")
    if not every:
        raise InputError(f"a guest kernel must be built first, got none in {cache()}; run `{command}` ({COST})")
    for one in every:
        cut = which[-1:].isdigit() and one.release[len(which) :][:1].isdigit()  # 6.1 does not mean 6.12
        if (one.release.startswith(which) and not cut) or one.hash.startswith(which):
            return one
    have = ", ".join(f"{one.release} ({one.hash[:12]})" for one in every)
    raise InputError(f"kernel must be one that is built ({have}), got `{which}`; run `{command}` ({COST})")
