"""What is read off the tables of workloads: web pages, calls, video and voice. Functions for the metrics of :mod:`.metrics`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import stats
from .measures import Array, Run

#: Values of a traffic entry, and one number read off them.
Values = Callable[[Run, str], Array]
Measure = Callable[[Run, str], float]


def entries(run: Run, kind: str) -> list[str]:
    """The traffic entries of that kind, in the experiment's order."""
    return [one.name for one in run.experiment.traffic if one.kind == kind]


def of(kind: str, measure: Measure) -> Callable[[Run, str | None], float]:
    """A metric of the traffic entries of a kind: of the one that is named, or of the only one."""

    def metric(run: Run, group: str | None) -> float:
        known = entries(run, kind)
        if group is None and len(known) == 1:
            group = known[0]
        return measure(run, group) if group in known else math.nan

    return metric


def count(values: Values) -> Measure:
    """How many values there are."""
    return lambda run, group: float(len(values(run, group)))


def mean(values: Values) -> Measure:
    """Their mean; NaN of nothing."""
    return _some(values, lambda got: float(got.mean()))


def percentile(values: Values, q: float) -> Measure:
    """A percentile of them; NaN of nothing."""
    return _some(values, lambda got: stats.percentile(got, q))


def _some(values: Values, of: Callable[[Array], float]) -> Measure:
    return lambda run, group: of(got) if len(got := values(run, group)) else math.nan


def _of_group(run: Run, table: str, group: str) -> pa.Table:
    """The rows of a traffic entry that began in the measured part of the run."""
    rows = run.table(table, group=group)
    return rows.filter(run.measured_ns(rows["start_ns"].to_numpy()))


def _numbers(column: pa.ChunkedArray) -> Array:
    values: Array = pc.cast(column.drop_null(), pa.float64()).to_numpy()
    return values


def load_s(run: Run, group: str) -> Array:
    """The load times of the pages that are there, in seconds."""
    return _numbers(_of_group(run, "pages", group)["load_ns"]) * 1e-9


def response_ms(run: Run, group: str) -> Array:
    """The times from requests to the ends of their responses, in ms."""
    took = run.completion(group, "fct_ns") * 1e-6
    answered: Array = took[~np.isnan(took)]
    return answered


def bitrates_mbit(run: Run, group: str) -> Array:
    """The bitrates of the segments that came, in Mbit/s."""
    return _numbers(_segments(run, group)["bitrate_bps"]) * 1e-6


def scores(run: Run, group: str) -> Array:
    """The mean opinion scores of the calls."""
    return _numbers(_voices(run, group)["mos"])


def stall_share(run: Run, group: str) -> float:
    """Stall time over stall time and playing time of the segments that came."""
    every = _of_group(run, "segments", group)
    if not len(every):
        return math.nan
    stalled = float(_numbers(every["stall_ns"]).sum()) * 1e-9
    played = len(_segments(run, group)) * _segment_s(run, group)
    return stalled / (stalled + played) if stalled + played > 0 else math.nan


def switches(run: Run, group: str) -> float:
    """Changes of the bitrate in a minute of video."""
    rows = _segments(run, group)
    if not len(rows):
        return math.nan
    flow, rate = (
        pc.dictionary_encode(rows["flow"].cast(pa.string())).combine_chunks().indices.to_numpy(),
        rows["bitrate_bps"].to_numpy(),
    )
    changes = int(((np.diff(flow) == 0) & (np.diff(rate.astype(np.int64)) != 0)).sum())
    return changes * 60.0 / (len(rows) * _segment_s(run, group))


def startup_s(run: Run, group: str) -> float:
    """The mean time from the start of a player to its first segment, in seconds; warm-up included."""
    rows = run.table("segments", group=group)
    starts = dict(zip(run.flows["flow"].to_pylist(), run.flows["start_ns"].to_pylist(), strict=True))
    first: dict[str, int] = {}
    for row in rows.select(["flow", "start_ns", "fetch_ns"]).to_pylist():
        if row["fetch_ns"] is not None:
            first.setdefault(row["flow"], row["start_ns"] + row["fetch_ns"])
    waits = [(at - starts[flow]) * 1e-9 for flow, at in first.items()]
    return float(np.mean(waits)) if waits else math.nan


def _segments(run: Run, group: str) -> pa.Table:
    rows = _of_group(run, "segments", group)
    return rows.filter(pc.is_valid(rows["fetch_ns"]))


def _segment_s(run: Run, group: str) -> float:
    """The playing time of a segment: its bytes at its bitrate."""
    rows = run.table("segments", group=group)
    return float(rows["bytes"][0].as_py()) * 8 / float(rows["bitrate_bps"][0].as_py())


def voice(column: str, scale: float = 1.0) -> Measure:
    """The mean of a column of the table `voices` over the flows of an entry that sent something."""
    return mean(lambda run, group: _numbers(_voices(run, group)[column]) * scale)


def voice_loss(run: Run, group: str) -> float:
    """The part of the packets that was lost or late."""
    rows = _voices(run, group)
    sent, gone = (_numbers(rows["packets"]).sum(), (_numbers(rows["lost"]) + _numbers(rows["late"])).sum())
    return float(gone / sent) if sent > 0 else math.nan


def _voices(run: Run, group: str) -> pa.Table:
    rows = run.table("voices", group=group)
    return rows.filter(pc.greater(rows["packets"], 0))
