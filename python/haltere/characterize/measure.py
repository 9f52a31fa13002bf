"""What is read off one run of a scenario of RFC 7928 (its section 2), and the ellipses of delay and goodput."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .. import kinds
from ..analysis import stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from .files import Case
from .named import mean

Array = NDArray[np.float64]
#: The least delay on a logarithmic axis.
LEAST_MS = 0.1
_WINDOW_S = 1.0


@dataclass
class Cell:
    """One discipline in one scenario: one value a seed in each list, and one point a window of a second of all seeds."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    shares: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Mbit/s by traffic entry."""
    points: list[tuple[Array, Array]] = field(default_factory=list)

    def add(self, **values: float) -> None:
        """What a seed gave."""
        for name, value in values.items():
            self.values[name].append(value)

    def mean(self, name: str) -> Mean | None:
        """The mean over the seeds of that list; ``None`` if no seed has a value."""
        return mean(self.values[name])


def read(cell: Cell, case: Case, run: Run) -> None:
    """Adds what one run shows to its cell."""
    warmup = run.warmup_s
    at, delay = _delay(case, run)
    after = at >= warmup
    ping = run.ping_ms()
    cell.add(
        delay_ms=float(delay[after].mean()),
        delay_p95_ms=stats.percentile(delay[after], 95),
        ping_p95_ms=stats.percentile(ping, 95) if len(ping) else math.nan,
        # RFC 3393's variation of delay: the mean step from one ping to the next.
        jitter_ms=float(np.abs(np.diff(ping)).mean()) if len(ping) > 1 else math.nan,
    )
    arrived = max(run.link(case.link)["arrived_after_warmup"], 1)
    cell.add(lost_percent=100.0 * run.drops(case.link) / arrived, marked_percent=100.0 * run.marks(case.link) / arrived)
    _flows(cell, run)
    ends, rates = _goodput(run, warmup)
    cell.add(goodput_mbit=float(rates.mean()) if len(rates) else math.nan)
    middles = [delay[(at >= end - _WINDOW_S) & (at < end)] for end in ends]
    pairs = [(float(d.mean()), r) for d, r in zip(middles, rates, strict=True) if len(d)]
    cell.points.append((np.array([d for d, _ in pairs]), np.array([r for _, r in pairs])))


def _delay(case: Case, run: Run) -> tuple[Array, Array]:
    """The backlog of the bottleneck divided by its rate at that time: times (s) and ms."""
    series = run.table("queue_series", link=case.link)
    at = series["at_ns"].to_numpy() * 1e-9
    return at, series["bytes"].to_numpy() * 8e-3 / np.array([case.rate_mbit(t) for t in at])


def _goodput(run: Run, warmup_s: float) -> tuple[Array, Array]:
    """The goodput of all flows in each second: ends of the seconds and Mbit/s."""
    series = run.table("flow_series", ["at_ns", "flow", "received_bytes"])
    flow = series["flow"].combine_chunks()
    codes = flow.dictionary_encode().indices.to_numpy() if not pa.types.is_dictionary(flow.type) else flow.indices.to_numpy()  # fmt: skip
    at, got = series["at_ns"].to_numpy() * 1e-9, series["received_bytes"].to_numpy().astype(np.float64)
    order = np.lexsort((at, codes))
    codes, at, got = codes[order], at[order], got[order]
    gained = np.diff(got, prepend=0.0)
    first = np.diff(codes, prepend=-1) != 0
    gained[first] = got[first]
    end = float(at.max()) if len(at) else 0.0
    edges = np.arange(warmup_s, end + 1e-6, _WINDOW_S)
    if len(edges) < 2:
        return np.array([]), np.array([])
    # A sample has the bytes since the one before it.
    bits, _ = np.histogram(at - 1e-9, bins=edges, weights=gained * 8e-6)
    return edges[1:], bits / _WINDOW_S


def _flows(cell: Cell, run: Run) -> None:
    rows = run.flows.select(["group", "kind", "goodput_bps", "start_ns", "completed_ns"]).to_pylist()
    limited = {one.values.get("name") for one in run.experiment.traffic if one.values.get("bytes")}
    rates, groups = [], defaultdict[str, float](float)
    for row in rows:
        kind, rate = kinds.traffic(row["kind"]), (row["goodput_bps"] or 0.0) * 1e-6
        if row["group"] not in limited:
            rates += [rate] if kind.greedy else []
            groups[row["group"]] += rate if kind.goodput else 0.0
    cell.add(jain=stats.jain(rates) if len(rates) > 1 else math.nan)
    for name, rate in groups.items():
        cell.shares[name].append(rate)
    if limited:
        ended = [row for row in rows if row["group"] in limited and row["completed_ns"]]
        spans = [(row["completed_ns"] - row["start_ns"]) * 1e-9 for row in ended]
        cell.add(completion_s=float(np.mean(spans)) if spans else math.nan)


def ellipse(cell: Cell, corners: int = 72) -> tuple[Array, Array, tuple[float, float]] | None:
    """The contour of one standard deviation of the Gaussian that fits the points best, in logarithm of delay and goodput, and its middle.

    As Winstein and Balakrishnan draw it (SIGCOMM 2013), and RFC 7928 section 2.7 asks for; the points are windows of a second of all seeds.
    """
    delay = np.log10(np.maximum(np.concatenate([d for d, _ in cell.points]), LEAST_MS))
    rate = np.concatenate([r for _, r in cell.points])
    if len(delay) < 3:
        return None
    spread = np.cov(np.stack([delay, rate]), bias=True)
    values, axes = np.linalg.eigh(spread)
    round_ = np.linspace(0, 2 * np.pi, corners)
    shape = axes @ (np.sqrt(np.maximum(values, 0))[:, None] * np.stack([np.cos(round_), np.sin(round_)]))
    middle = float(delay.mean()), float(rate.mean())
    return 10 ** (middle[0] + shape[0]), middle[1] + shape[1], (10 ** middle[0], middle[1])
