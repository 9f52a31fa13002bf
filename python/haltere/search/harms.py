"""What an attack looks for: each harm is one number that is read off a run, and more of it is worse. This is the only list of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..analysis import metrics, stats
from ..analysis.measures import Run
from ..errors import unknown

#: The traffic entries and the link of the networks of :mod:`haltere.search.network`.
ATTACKED, BESIDE, LINK = "attacked", "beside", "left>right"
#: What may be attacked.
Target = Literal["congestion", "queues"]
#: Parts of the measured time whose means `drift` compares.
_PARTS = 5
#: PIE has other gains below this drop probability (RFC 8033, section 4.2).
_PIE_GAINS = 0.01


@dataclass(frozen=True)
class Harm:
    """One harm. It is the higher the worse."""

    name: str
    about: str
    unit: str
    digits: int
    of: Callable[[Run], float]
    """Computes it from one run; NaN if the run has none."""
    least: float
    """A smaller difference from the reference is not called a finding."""
    targets: tuple[Target, ...] = ("congestion", "queues")
    beside: bool = False
    """It needs flows of another control beside those under attack."""
    flows: int = 1
    """The least number of flows under attack."""
    ping: bool = False
    """It is measured by pings."""
    state: bool = False
    """It needs inner variables of the queue discipline, which the simulator alone records."""
    duration_s: float = 20.0
    warmup_s: float = 5.0


def _unused(run: Run) -> float:
    return 100 * (1 - metrics.named(run, f"utilisation.{LINK}"))


def _lost(run: Run) -> float:
    return 100 * metrics.named(run, f"drop_rate.{LINK}")


def _delay(run: Run) -> float:
    times = run.ping_ms()
    return float(np.percentile(times, 95)) / (run.link(LINK)["rtt_ns"] * 1e-6) - 1 if len(times) else math.nan


def _missing_share(of: str, beside: str) -> Callable[[Run], float]:
    """The part of its equal share that one entry does not get beside the other."""

    def measure(run: Run) -> float:
        own, other = run.goodput_mbit(of), run.goodput_mbit(beside)
        if not len(own) or not len(other):
            return math.nan
        equal = float(own.sum() + other.sum()) * len(own) / (len(own) + len(other))
        return 100 * max(0.0, 1 - float(own.sum()) / equal) if equal > 0 else 100.0

    return measure


def _unfairness(run: Run) -> float:
    rates = run.goodput_mbit(ATTACKED)
    return 100 * (1 - stats.jain(rates)) if len(rates) > 1 and rates.sum() > 0 else math.nan


def _drift(run: Run) -> float:
    waits = run.queue_delay_ms(LINK)
    means = [float(part.mean()) for part in np.array_split(waits, _PARTS) if len(part)]
    return max(means) - min(means) if len(means) == _PARTS else math.nan


def _regimes(run: Run) -> float:
    rows = run.table("queue_state", link=LINK, variable="drop_prob")
    above = rows["value"].to_numpy()[run.measured_ns(rows["at_ns"].to_numpy())] >= _PIE_GAINS
    return 100 * float(min(above.mean(), 1 - above.mean())) if len(above) else 0.0


_ALL = (
    Harm("low_utilisation", "part of the bottleneck's rate that is not used", "%", 1, _unused, 5),
    Harm("slow_startup", "part of the bottleneck's rate that is not used in the first 5 s of a flow", "%", 1, _unused, 5,
         ("congestion",), duration_s=5.0, warmup_s=0.0),
    Harm("delay", "95th percentile of the round-trip times of a ping, less the one without queue, in units of it", "RTT", 2, _delay, 0.25, ping=True),
    Harm("loss", "part of the packets that the bottleneck's queue drops", "%", 2, _lost, 1),
    Harm("starves", "part of its equal share that the traffic beside it does not get", "%", 1, _missing_share(BESIDE, ATTACKED), 5,
         ("congestion",), beside=True),
    Harm("starved", "part of its equal share that it does not get itself", "%", 1, _missing_share(ATTACKED, BESIDE), 5,
         ("congestion",), beside=True),
    Harm("unfairness", "100 % less Jain's index over its own flows", "%", 1, _unfairness, 5, flows=2),
    Harm("drift", "largest less smallest mean queueing delay of the fifths of a run", "ms", 2, _drift, 5, duration_s=60.0, warmup_s=10.0),
    Harm("regimes", "part of the time in the rarer of two ranges of the drop probability, below 1 % and above, between which PIE changes its gains",
         "%", 1, _regimes, 10, ("queues",), state=True, duration_s=60.0, warmup_s=10.0),
)  # fmt: skip

HARMS: dict[str, Harm] = {one.name: one for one in _ALL}


def harm(name: str) -> Harm:
    """The harm of that name."""
    if name not in HARMS:
        raise unknown("--harm", name, HARMS)
    return HARMS[name]
