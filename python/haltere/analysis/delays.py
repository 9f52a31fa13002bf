"""Delays and convergence of one run: percentiles of sojourn times, round-trip times and one-way delays, jitter, loss; when rates are fair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import _core
from ..experiment import seconds_of
from .measures import Array, Grid, Run

Kind = Literal["sojourn", "rtt", "one_way"]


def percentile_ms(run: Run, kind: Kind, names: Sequence[str], q: float) -> float:
    """A percentile over all samples of these links or flows, ms; NaN without any. It is within 0.4 % of the nearest rank: bins are that narrow."""
    return float(_quantiles_ms(run, kind, names, np.array([q / 100]))[0])


def sojourn_ms(run: Run, link: str) -> Array:
    """A thousand quantiles of the sojourn times in a watched queue, ms: a distribution of samples that were counted in bins."""
    found = _quantiles_ms(run, "sojourn", [link], np.linspace(0.0005, 0.9995, 1000))
    return found[~np.isnan(found)]


def _quantiles_ms(run: Run, kind: Kind, names: Sequence[str], parts: Array) -> Array:
    if not names or not run.experiment.asked("delays"):
        return np.full(len(parts), math.nan)
    bins = run.table("delay_bins", measure=kind, name=names)
    if len(bins) == 0:
        return np.full(len(parts), math.nan)
    low, high = bins["low_ns"].to_numpy().astype(np.float64), bins["high_ns"].to_numpy().astype(np.float64)
    samples = bins["samples"].to_numpy()
    order = np.argsort(low, kind="stable")
    ranks = np.cumsum(samples[order])
    at = order[np.searchsorted(ranks, np.maximum(1, np.ceil(parts * ranks[-1])))]
    # A bin holds whole nanoseconds from `low` up to `high`, that one excluded.
    middle: Array = (low[at] + (high[at] - low[at]) // 2) * 1e-6
    return middle


def _streams(run: Run, flows: Sequence[str]) -> pa.Table | None:
    """What is known of the packets of these UDP flows; ``None`` if delays were not measured."""
    if not run.experiment.asked("delays"):
        return None
    return run.table("delay_summary", measure="one_way", name=flows)


def jitter_ms(run: Run, flows: Sequence[str]) -> float:
    """The mean over these flows of their interarrival jitter (RFC 3550 section 6.4.1), ms; NaN without any."""
    rows = _streams(run, flows)
    mean = None if rows is None else pc.mean(rows["jitter_ns"]).as_py()
    return math.nan if mean is None else mean * 1e-6


def loss(run: Run, flows: Sequence[str]) -> float:
    """The part of the packets of these flows that did not arrive (RFC 3550 appendix A.3); NaN without any."""
    rows = _streams(run, flows)
    if rows is None:
        return math.nan
    expected = pc.sum(rows["expected"]).as_py() or 0
    return (pc.sum(rows["lost"]).as_py() or 0) / expected if expected else math.nan


def rates_over(run: Run, flows: Sequence[str]) -> tuple[Array, Array] | None:
    """Times (s) and Mbit/s of these flows from sample to sample: shape (times, flows). ``None`` if they were not sampled."""
    series = run.table("flow_series", ["at_ns", "flow", "received_bytes"])
    grid = Grid(series, "flow", flows)
    if len(grid.at_s) < 2 or not grid.known:
        return None
    got = np.nan_to_num(grid.of(series["received_bytes"].to_numpy()))
    return grid.at_s[1:], np.diff(got, axis=0) * 8e-6 / np.diff(grid.at_s)[:, None]


def settled(at: Array, rates: Array, within: float, hold: float, average: float) -> float:
    """The first time from which each rate stays within that part of the mean of all, for ``hold`` seconds at least; NaN if there is none.

    ``at``: the ends of the intervals; ``rates``: shape (intervals, flows), averaged here over ``average`` seconds.

    >>> at, one = np.arange(1.0, 9.0), np.array([9.0, 9, 9, 5, 5, 5, 5, 5])
    >>> settled(at, np.stack([one, 10 - one], axis=1), 0.2, 2.0, 1.0)
    3.0
    """
    step = float(np.median(np.diff(at))) if len(at) > 1 else average
    width = max(1, round(average / step))
    if len(at) < width:
        return math.nan
    total = np.cumsum(np.vstack([np.zeros(rates.shape[1]), rates]), axis=0)
    smooth = (total[width:] - total[:-width]) / width
    ends, begins = at[width - 1 :], at[: len(at) - width + 1] - step
    fair = smooth.mean(axis=1, keepdims=True)
    good = ((np.abs(smooth - fair) <= within * fair) & (fair > 0)).all(axis=1)
    start = None
    for i, is_good in enumerate(good):
        start = (i if start is None else start) if is_good else None
        if start is not None and ends[i] - begins[start] >= hold - 1e-9:
            return float(begins[start])
    return math.nan


#: What `[measure] convergence` says if a scenario of an earlier build has none.
_USUAL = {"within": 0.2, "hold": "2s", "average": "500ms"}


def convergence_s(run: Run, group: str | None) -> float:
    """Seconds from the start of the last of the flows until their rates are fair and stay so; NaN if they never are, or are no equals."""
    rows = run.data_flows
    if group is not None:
        rows = rows.filter(pc.equal(rows["group"], group))
    flows = [str(name) for name in rows["flow"].to_pylist()]
    if len(flows) < 2 or not run.is_alike(group):
        return math.nan
    found = rates_over(run, flows)
    if found is None:
        return math.nan
    settings = {**_USUAL, **(run.experiment.asked("convergence") or {})}
    start = max(rows["start_ns"].to_pylist()) * 1e-9
    at, rates = found
    after = at > start
    within = _core.parse_quantity("probability", str(settings["within"]))
    when = settled(at[after], rates[after], within, seconds_of(settings["hold"]), seconds_of(settings["average"]))
    return max(0.0, when - start) if math.isfinite(when) else math.nan
