"""Metrics by name: one number a run, for the stopping rule and for comparisons.

A name alone means the whole run; with a dot behind it one traffic entry or one watched link: ``goodput.bulk1``,
``queue.left>right``.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from . import stats
from .measures import Run

__all__ = ["METRICS", "Metric", "check", "default", "every", "named"]

NAN = math.nan


@dataclass(frozen=True)
class Metric:
    """What a name stands for; ``part`` says what may follow its dot."""

    unit: str
    about: str
    of: Callable[[Run, str | None], float]
    part: str = ""


def _goodput(run: Run, group: str | None) -> float:
    rates = run.goodput_mbit(group)
    return float(rates.sum()) if len(rates) else NAN


def _jain(run: Run, group: str | None) -> float:
    rates = run.goodput_mbit(group)
    return stats.jain(rates) if len(rates) > 1 else NAN


def _ping(q: float) -> Callable[[Run, str | None], float]:
    def measure(run: Run, _: str | None) -> float:
        times = run.ping_ms()
        return stats.percentile(times, q) if len(times) else NAN

    return measure


def _link(measure: Callable[[Run, str], float]) -> Callable[[Run, str | None], float]:
    """Of one link; of the first watched one where none is named."""

    def of(run: Run, link: str | None) -> float:
        watched = run.watched()
        if link is None and not watched:
            return NAN
        return float(measure(run, link or watched[0]))

    return of


METRICS = {
    "goodput": Metric("Mbit/s", "payload delivered in order, all flows together", _goodput, "traffic"),
    "jain": Metric("", "Jain's index over the flows' goodput", _jain, "traffic"),
    "ping_p50": Metric("ms", "median ping round-trip time", _ping(50)),
    "ping_p95": Metric("ms", "95th percentile of the ping round-trip times", _ping(95)),
    "ping_p99": Metric("ms", "99th percentile of the ping round-trip times", _ping(99)),
    "utilisation": Metric("", "part of the link's rate that was used", _link(Run.utilisation), "link"),
    "queue": Metric("packets", "mean queue", _link(Run.mean_queue_packets), "link"),
    "drops": Metric("packets", "packets that the queue dropped", _link(Run.drops), "link"),
    "marks": Metric("packets", "packets that the queue marked", _link(Run.marks), "link"),
}


def check(names: list[str], where: str) -> None:
    """Refuses names that no run has; what follows a dot is checked against the first run."""
    for name in names:
        head, dot, _ = name.partition(".")
        if head not in METRICS:
            near = difflib.get_close_matches(head, METRICS, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            known = ", ".join(f"`{one}`" for one in METRICS)
            raise InputError(f"{where}: metric must be one of {known}, got `{head}`{hint}")
        if dot and not METRICS[head].part:
            raise InputError(f"{where}: metric must be `{head}` without a part, got `{name}`")


def parts(run: Run, kind: str) -> list[str]:
    """What may follow the dot of a metric of that kind."""
    return {"traffic": run.groups, "link": run.watched}[kind]() if kind else []


def named(run: Run, name: str) -> float:
    """The metric of that name; NaN where the run has none, such as a ping time without pings."""
    head, dot, part = name.partition(".")
    metric = METRICS[head]
    if dot and part not in parts(run, metric.part):
        known = ", ".join(f"`{head}.{one}`" for one in parts(run, metric.part)) or "none"
        raise InputError(f"metric must be `{head}` or one of {known}, got `{name}`")
    return metric.of(run, part if dot else None)


def default(run: Run) -> list[str]:
    """What a run is judged by when nobody says: its goodput, fairness and median delay, where it has them."""
    return [name for name in ("goodput", "jain", "ping_p50") if not math.isnan(named(run, name))]


def every(run: Run) -> dict[str, float]:
    """All metrics that the run has. Parts only where there is more than one to tell apart."""
    names = []
    for head, metric in METRICS.items():
        some = parts(run, metric.part)
        if metric.part != "link" or len(some) == 1:
            names.append(head)
        if len(some) > 1:
            names += [f"{head}.{one}" for one in some]
    values = {name: named(run, name) for name in names}
    return {name: value for name, value in values.items() if not np.isnan(value)}
