"""Worlds: where an experiment runs. One file and one line in ``WORLDS`` add one.

>>> from haltere.worlds import world
>>> world("wire", ignore_calibration=True).place
'on the wire'
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ..errors import InputError
from .base import Made, World, option
from .kernel import Kernel
from .sim import Sim
from .wire import Wire

__all__ = ["COMPARED", "DEFAULT", "WORLDS", "Kernel", "Made", "Sim", "Wire", "World", "option", "world"]

#: The worlds by name, in the order in which they are listed.
WORLDS: dict[str, type[World]] = {
    Sim.name: Sim,
    Wire.name: Wire,
    Kernel.name: Kernel,
}

#: The world of an experiment if none is named.
DEFAULT = Sim.name
#: The two that `haltere compare-worlds` takes if none are named: the baseline first.
COMPARED = (Sim.name, Wire.name)


def world(which: str | World = DEFAULT, **options: Any) -> World:
    """The world of that name with these options; a world is itself.

    Options that a world does not have are refused.
    """
    if isinstance(which, World):
        return which
    if which not in WORLDS:
        raise InputError(f"world must be one of {', '.join(f'`{name}`' for name in WORLDS)}, got `{which}`")
    kind = WORLDS[which]
    known = [one.name for one in dataclasses.fields(kind)]
    for name in options:
        if name not in known:
            has = ", ".join(f"`{one}`" for one in known) or "none"
            raise InputError(f"world `{which}`: option must be one that it has ({has}), got `{name}`")
    return kind(**options)
