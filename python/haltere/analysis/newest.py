"""Self-inflicted delay: how old a flow's newest packet behind a link is, less how old it has to be.

Source: Winstein, Sivaraman and Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks", NSDI
2013, section 5.1. At each instant the delay is the time since the latest sending time of all packets that have arrived. Its 95th percentile
is taken over time, not over packets, so that silence counts as delay. An omniscient sender, whose packets come to the link just when it can
take them, has such a delay too: the gaps of the link. The difference is what the sender inflicts upon itself. Deviations: times are those at
which packets come to the link's queue and leave it. What comes before and behind is constant on most paths and cancels out.
"""

from __future__ import annotations

import math

import numpy as np

from .. import _core, kinds
from .measures import Array, Run

#: A full packet without its framing, bits.
_PACKET = 12_000.0
#: Resolution of the omniscient sender's packets, s: Mahimahi's.
_STEP = 1e-3


def self_inflicted_ms(run: Run, link: str) -> float:
    """The mean of it over the flows that are there throughout, ms; NaN without such flows or without a log of the link's packets."""
    if link not in (run.experiment.asked("packets") or ()):
        return math.nan
    log = run.table("packets", link=link, fate=("sent", "marked"))
    flow, at = log["flow"].cast("string").to_numpy(zero_copy_only=False), log["at_ns"].to_numpy() * 1e-9
    left = at + log["sojourn_ns"].to_numpy() * 1e-9
    ages = []
    for row in run.data_flows.select(["flow", "kind"]).to_pylist():
        kind, mine = kinds.traffic(str(row["kind"])), flow == row["flow"]
        if mine.any() and not (kind.arrivals or kind.request_response):
            ages.append(percentile(at[mine], left[mine], run.warmup_s, run.until_s))
    least = _omniscient(run, link)
    return (float(np.mean(ages)) - least) * 1e3 if ages else math.nan


def percentile(sent: Array, arrived: Array, start: float, end: float, q: float = 0.95) -> float:
    """A percentile, over the time from ``start`` to ``end``, of the time since the latest sending time of what has arrived.

    Sent at 0 and 4, each arrives a second later. From 1 to 9 the delay rises from 1 to 5, then again from 1 to 5; half of the time it is up to 3.

    >>> percentile(np.array([0.0, 4.0]), np.array([1.0, 5.0]), 0.0, 9.0, 0.5), percentile(np.array([0.0, 4.0]), np.array([1.0, 5.0]), 0.0, 9.0, 1.0)
    (3.0, 5.0)
    """
    order = np.argsort(arrived, kind="stable")
    newest, begins = np.maximum.accumulate(sent[order]), arrived[order]
    ends = np.append(begins[1:], max(end, begins[-1]))
    begins, ends = np.clip(begins, start, end), np.clip(ends, start, end)
    low, high = begins - newest, ends - newest
    # How long the delay is at most x: a line between the bounds of the pieces, in each of which it rises by a second a second.
    bounds = np.concatenate([low, high])
    order = np.argsort(bounds, kind="stable")
    rising = np.cumsum(np.concatenate([np.ones(len(low)), -np.ones(len(high))])[order])
    x = bounds[order]
    time = np.concatenate([[0.0], np.cumsum(rising[:-1] * np.diff(x))])
    return float(np.interp(q * time[-1], time, x)) if time[-1] > 0 else math.nan


def _omniscient(run: Run, link: str) -> float:
    """The same of the sender that knows when the link can take a packet, s."""
    edges = np.arange(0.0, run.experiment.duration_s + _STEP / 2, _STEP)
    bits = run.capacity(link, edges)
    if bits is None:
        return 0.0
    packet = _PACKET + 8.0 * _core.parse_quantity("bytes", str(run.scenario.get("framing", "0B")))
    count = np.floor(np.cumsum(bits) / packet + 1e-9)
    leaves = edges[1:][np.diff(count, prepend=0.0) > 0]
    return percentile(leaves, leaves, run.warmup_s, run.until_s) if len(leaves) else math.nan
