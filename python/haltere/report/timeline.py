"""Single runs: which one is meant, the series of its flows, and the link whose queue is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..analysis import measures
from ..errors import InputError, nearest
from ..runs.records import Done
from ..runs.results import Results

Array = NDArray[np.float64]
# What is drawn: a name, and the places of its flows.
Lines = Sequence[tuple[str, list[int]]]
# Flows beyond which those of a class are drawn as one.
MOST_LINES = 14


def pick(results: Results, point: int | None, seed: int | None) -> Done:
    """The run of that point of the sweep and that seed; the first if none is given."""
    if not results.runs:
        raise InputError(f"{results.directory}: runs must be at least 1, got none")
    points, seeds = sorted({run.point for run in results.runs}), sorted({run.seed for run in results.runs})
    wanted = points[0] if point is None else point
    if wanted not in points:
        raise InputError(f"--point must be one of {_span(points)}, got {wanted}")
    own = sorted((run for run in results.runs if run.point == wanted), key=lambda run: run.seed)
    for run in own:
        if seed is None or run.seed == seed:
            return run
    raise InputError(f"--seed must be one of {_span(seeds)}, got {seed}")


def _span(values: Sequence[int]) -> str:
    whole = values == list(range(values[0], values[-1] + 1)) if len(values) > 2 else False
    return f"{values[0]} to {values[-1]}" if whole else ", ".join(map(str, values))


class Flows:
    """The series of the flows of a run, as arrays of shape (times, flows)."""

    def __init__(self, run: measures.Run) -> None:
        table = run.table("flow_series")
        if len(table) == 0:
            raise InputError('timeline: flows must be sampled; write `[measure] flows = "100ms"` in the experiment')
        rows = run.data_flows.select(["flow", "group", "congestion"]).to_pylist()
        self.names = [str(row["flow"]) for row in rows]
        self.labels = _labels(rows)
        self.classes = [_class(row) for row in rows]
        self._grid, self._table = measures.Grid(table, "flow", self.names), table
        self.at_s: Array = self._grid.at_s

    def column(self, name: str, scale: float) -> Array:
        """A column of the table; NaN if a flow has no sample."""
        return self._grid.of(self._table[name].to_numpy() * scale)

    def rates(self) -> Array:
        """Mbit/s of each flow from one time to the next, counted when bytes reach the receiver: shape (times - 1, flows)."""
        got = np.nan_to_num(self._grid.of(measures.arrived_bytes(self._table)[0] * 8e-6))
        return np.maximum(np.diff(got, axis=0) / np.diff(self.at_s)[:, None], 0.0)

    def lines(self) -> Lines:
        """What is drawn: each flow by itself, or of many each class as one, by name and places."""
        if len(self.names) <= MOST_LINES:
            return [(label, [i]) for i, label in enumerate(self.labels)]
        classes: dict[str, list[int]] = {}
        for i, name in enumerate(self.classes):
            classes.setdefault(name, []).append(i)
        return [(f"{name}, {len(own)} flows" if len(own) > 1 else name, own) for name, own in classes.items()]


def _class(row: dict[str, Any]) -> str:
    return f"{row['group']} {row['congestion']}" if row["congestion"] else str(row["group"])


def _labels(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the legend calls the flows: their traffic entry, their ends if the entry has several, and their control."""
    groups = [str(row["group"]) for row in rows]
    out = []
    for row, group in zip(rows, groups, strict=True):
        ends = str(row["flow"]).split(":", 1)[-1] if groups.count(group) > 1 else ""
        out.append(" ".join(part for part in (group, ends, str(row["congestion"] or "")) if part))
    return out if len(set(out)) == len(out) else [str(row["flow"]) for row in rows]


def spread_of(values: Array) -> tuple[Array, Array, Array]:
    """The median of each row, and its 10th and 90th percentile; NaN if no value is known."""
    import warnings

    with warnings.catch_warnings():  # a row of NaN only says so by NaN
        warnings.simplefilter("ignore", RuntimeWarning)
        low, middle, high = np.nanpercentile(values, [10, 50, 90], axis=1)
    return middle, low, high


def main_link(runs: measures.Run | Sequence[measures.Run], link: str | None = None) -> str | None:
    """The link of that name that all these runs watched; if none is named, of the busiest the one that carried most."""
    some = [runs] if isinstance(runs, measures.Run) else runs
    links = [one for one in some[0].watched() if all(one in run.watched() for run in some)]
    if link is not None:
        if link not in links:
            known = ", ".join(links) or "no watched link"
            raise InputError(f"--link must be one of {known}, got `{link}`{nearest(link, links)}")
        return link
    used = {one: float(np.nansum([run.utilisation(one) for run in some])) for one in links}
    busy = [one for one in links if used[one] >= 0.8 * max(used.values())]
    return (
        max(busy, key=lambda one: sum(int(run.link(one)["sent_bytes_after_warmup"]) for run in some)) if busy else None
    )
