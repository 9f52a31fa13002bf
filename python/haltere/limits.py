"""What an input may hold at most. One table: the numbers are those that the code enforces."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import _core

#: What a page of the playground can show and this machine can run live.
PLAYGROUND = {"setups": 2, "pairs": 64, "entries": 64, "count": 500, "speed": 1000, "outage": 60, "state": 16}
#: Bytes of a message of the playground: an experiment takes a few thousand. Pages at a time: each may keep a core busy.
MOST_BYTES, MOST_PAGES = 256 * 1024, 4


@dataclass(frozen=True)
class Limit:
    """The most of one thing in an input."""

    input: str
    what: str
    most: int
    unit: str = ""

    def __str__(self) -> str:
        if self.unit == "bytes" and self.most % (1 << 10) == 0:
            return f"{self.most >> 20} MiB" if self.most % (1 << 20) == 0 else f"{self.most >> 10} KiB"
        return f"{self.most:,} {self.unit}".replace(",", " ").rstrip()


#: What experiments and other inputs of the core may hold.
CORE = tuple(Limit(**one) for one in json.loads(_core.limits()))


def most(what: str, of: str = "experiment") -> int:
    """The number of that row.

    >>> most("random seeds")
    1000000
    """
    return next(one.most for one in CORE if (one.input, one.what) == (of, what))
