"""What is read off the tables of workloads: web pages, calls, video and voice. One function for each metric of :mod:`.metrics`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .. import kinds
from . import stats

if TYPE_CHECKING:
    from .measures import Run

__all__ = ["TABLES", "entries", "load_s", "of", "pages", "response_ms", "responses"]

Array = NDArray[np.float64]
#: The table of the report for each kind of workload: its name, its title, and the kind.
TABLES = {
    "pages": ("Web pages", "web"),
    "calls": ("Calls", "rpc"),
}


def entries(run: Run, kind: str) -> list[str]:
    """The traffic entries of that kind."""
    rows = run.flows.filter(pc.equal(run.flows["kind"].cast(pa.string()), kind))
    return [str(group) for group in pc.unique(rows["group"]).to_pylist()]


def of(kind: str, measure: Callable[[Run, str], float]) -> Callable[[Run, str | None], float]:
    """A metric of the traffic entries of a kind: of the one that is named, or of the only one."""

    def metric(run: Run, group: str | None) -> float:
        known = entries(run, kind)
        if group is None and len(known) == 1:
            group = known[0]
        return measure(run, group) if group in known else math.nan

    return metric


def _of_group(run: Run, table: str, group: str) -> pa.Table:
    """The rows of a traffic entry that began in the measured part of the run."""
    rows = run.table(table)
    rows = rows.filter(pc.equal(rows["group"].cast(pa.string()), group))
    return rows.filter(pa.array(run.is_measured(rows["start_ns"].to_numpy() * 1e-9)))


def _numbers(column: pa.ChunkedArray) -> Array:
    """The values that are there."""
    values: Array = pc.cast(column.drop_null(), pa.float64()).to_numpy()
    return values


def load_s(run: Run, group: str) -> Array:
    """The load times of the pages that are there, in seconds."""
    return _numbers(_of_group(run, "pages", group)["load_ns"]) * 1e-9


def pages(run: Run, group: str) -> float:
    """How many pages were loaded."""
    return float(len(load_s(run, group)))


def response_ms(run: Run, group: str) -> Array:
    """The times from requests to the ends of their responses, in ms."""
    took = run.completion(group, "fct_ns") * 1e-6
    answered: Array = took[~np.isnan(took)]
    return answered


def responses(run: Run, group: str) -> float:
    """How many requests were answered."""
    return float(len(response_ms(run, group)))


def percentile(values: Callable[[Run, str], Array], q: float) -> Callable[[Run, str], float]:
    """A percentile of what ``values`` gives; NaN of nothing."""

    def measure(run: Run, group: str) -> float:
        got = values(run, group)
        return stats.percentile(got, q) if len(got) else math.nan

    return measure


def is_workload(kind: str) -> bool:
    """Whether what users see of this traffic kind is more than a rate: its flows have no fair share."""
    return any(kind == one for _, one in TABLES.values()) or kinds.traffic(kind).arrivals
