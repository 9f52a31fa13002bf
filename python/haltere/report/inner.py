"""Inner variables of queues and senders over time: panels of the timeline, if the experiment asked for `[measure] state`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..analysis.measures import Grid, Run

Array = NDArray[np.float64]
#: Variables that are instants, which grow with time: no panel shows them.
_INSTANTS = ("drop_next",)
#: Panels of a queue, and of senders.
OF_QUEUE, OF_SENDERS = 5, 8


@dataclass(frozen=True)
class Inner:
    """An inner variable: its name and unit, the times, and a value for each time and series; NaN if there is none."""

    name: str
    unit: str
    at_s: Array
    values: Array
    """Shape (times, series)."""

    @property
    def states(self) -> list[str]:
        """The names of its values from 0 on, if it is a state."""
        return self.unit.split("|") if "|" in self.unit else []


def of_queue(run: Run, link: str) -> list[Inner]:
    """The variables of the queue of a link, those that change first."""
    return _variables(run, "queue_state", "link", [link])[:OF_QUEUE]


def of_flows(run: Run, flows: Sequence[str]) -> list[Inner]:
    """The variables of the senders of these flows, one series a flow, those that change first."""
    return _variables(run, "flow_state", "flow", flows)[:OF_SENDERS]


def _variables(run: Run, table: str, column: str, series: Sequence[str]) -> list[Inner]:
    if not run.experiment.asked("state"):
        return []
    rows = run.table(table, **{column: series})
    text = {name: rows[name].cast(pa.string()) for name in (column, "variable", "unit")}
    kinds = dict.fromkeys(zip(text["variable"].to_pylist(), text["unit"].to_pylist(), strict=True))
    out = []
    for name, unit in (kind for kind in kinds if kind[0] not in _INSTANTS):
        some = rows.filter(pc.and_(pc.equal(text["variable"], name), pc.equal(text["unit"], unit)))
        grid = Grid(some, column, series)
        out.append(Inner(str(name), str(unit), grid.at_s, grid.of(some["value"].to_numpy())))
    return sorted(out, key=lambda one: not _changes(one.values))


def _changes(values: Array) -> bool:
    known = values[np.isfinite(values)]
    return bool(known.size) and float(known.max()) > float(known.min())


#: Units that are printed in another: the factor and the unit.
_PRINTED = {"s": (1e3, "ms"), "B": (1e-3, "kB"), "bit/s": (1e-6, "Mbit/s")}


def scale(inner: Inner) -> tuple[float, str]:
    """The factor and the label with which a variable is drawn."""
    factor, unit = _PRINTED.get(inner.unit, (1.0, inner.unit))
    shown = "" if inner.states or not unit else f"\n({unit})"
    return factor, f"{inner.name}{shown}"
