"""Two path schedulers in Python: the same choices as `round_robin` and `lowest_rtt` of the tree."""

from __future__ import annotations

import haltere
from haltere import param


class RoundRobin(haltere.Scheduler):
    """The paths in turn, among those whose window has room."""

    class Params:
        segments: int = param(1, min=1, unit="segments", doc="What a path takes in its turn.")

    def __init__(self) -> None:
        self.current = 0
        self.left = self.params.segments

    def pick(self, now, paths, seg):
        for step in range(len(paths) + 1):
            path = paths[(self.current + step) % len(paths)]
            if path.is_open and (step > 0 or self.left > 0):
                self.left = (self.params.segments if step > 0 else self.left) - 1
                self.current = path.path
                return path
        return None


class LowestRtt(haltere.Scheduler):
    """Of the paths whose window has room, the one of the least smoothed round-trip time."""

    def pick(self, now, paths, seg):
        return min((path for path in paths if path.is_open), key=lambda path: path.srtt, default=None)
