"""What one flow of BBRv3 did over time: its phases and its variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from haltere.analysis.measures import Run

Array = NDArray[np.float64]
_STATES = ("startup", "drain", "down", "cruise", "refill", "up", "probe_rtt")


class NotReached(Exception):
    """The run never came to a state."""


@dataclass(frozen=True)
class Phase:
    """A time in one state: the first and the last sample in it."""

    state: str
    first: int
    last: int


class Trace:
    """The samples of the only TCP flow of a run."""

    def __init__(self, run: Run) -> None:
        self._series, self._state = run.table("flow_series"), run.table("flow_state")
        self.at: Array = self._series["at_ns"].to_numpy() * 1e-9
        self._names = self._state["variable"].cast(pa.string())
        codes = self.variable("state").astype(int)
        self.states = [_STATES[code] for code in codes]
        self.at = self.at[-len(codes) :]

    def variable(self, name: str) -> Array:
        """An inner variable at each sample."""
        chosen = self._state.filter(pc.equal(self._names, name))
        values: Array = chosen["value"].to_numpy().astype(np.float64)
        return values

    def column(self, name: str) -> Array:
        """A column of `flow_series` at each sample."""
        values: Array = pc.cast(self._series[name], pa.float64()).to_numpy(zero_copy_only=False)
        return values[-len(self.at) :]

    def phases(self, *wanted: str, after_s: float = 0.0) -> list[Phase]:
        """The times in these states, or in any, that begin after that time."""
        return [one for one in self._phases() if (not wanted or one.state in wanted) and self.at[one.first] >= after_s]

    def ended(self, *wanted: str, after_s: float = 0.0) -> list[Phase]:
        """The same, of those that ended before the run did; at least one."""
        found = [one for one in self.phases(*wanted, after_s=after_s) if self.follows(one)]
        if not found:
            raise NotReached(f"no {' or '.join(wanted)} that ended after {after_s:g} s")
        return found

    def first(self, state: str, after_s: float = 0.0) -> Phase:
        """The first time in this state that begins after that time and ended before the run did."""
        return self.ended(state, after_s=after_s)[0]

    def _phases(self) -> Iterator[Phase]:
        first = 0
        for i in range(1, len(self.states) + 1):
            if i == len(self.states) or self.states[i] != self.states[first]:
                yield Phase(self.states[first], first, i - 1)
                first = i

    def follows(self, phase: Phase) -> str:
        """The state after it; empty at the end of the run."""
        return self.states[phase.last + 1] if phase.last + 1 < len(self.states) else ""

    def seconds(self, phase: Phase) -> float:
        """How long it lasted, as far as the samples tell."""
        return float(self.at[phase.last] - self.at[phase.first])

    def end(self, phase: Phase) -> int:
        """The first sample after it, or the last one."""
        return min(phase.last + 1, len(self.at) - 1)

    def grown(self, column: str, first: int, last: int = -1) -> float:
        """By how much a counter of `flow_series` grew between two samples."""
        values = self.column(column)
        return float(values[last] - values[first])

    def rate(self, first: int, last: int = -1) -> float:
        """Bit/s that were acknowledged between two samples."""
        return self.grown("acked_bytes", first, last) * 8 / max(float(self.at[last] - self.at[first]), 1e-9)

    def since(self, at_s: float) -> int:
        """The first sample at or after that time."""
        return min(int(np.searchsorted(self.at, at_s)), len(self.at) - 1)
