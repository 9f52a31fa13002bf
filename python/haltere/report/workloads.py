"""Sentences about workloads: what the users of web pages, calls, video and voice saw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..analysis.measures import Run
from ..analysis.metrics import METRICS
from ..analysis.workloads import TABLES, entries

__all__ = ["sentence"]

#: A mean of a metric of an entry over the runs, printed.
Read = Callable[[str], str]


def sentence(runs: Sequence[Run]) -> list[str]:
    """A sentence for each traffic entry that is a workload, such as ``web1: 312 pages, median load time 1.2 s``."""
    out = []
    for kind in (kind for _, kind in TABLES.values()):
        for group in entries(runs[0], kind):
            known = _mean(runs, group, _FIRST[kind])
            out.append(f"{group}: {_SAYS[kind](_reader(runs, group))}." if known > 0 else f"{group}: {_NOTHING[kind]}.")
    return out


def _mean(runs: Sequence[Run], group: str, metric: str) -> float:
    values = [METRICS[metric].value(run, group) for run in runs]
    values = [value for value in values if not math.isnan(value)]
    return float(np.mean(values)) if values else math.nan


def _reader(runs: Sequence[Run], group: str) -> Read:
    def read(metric: str) -> str:
        value, (factor, unit) = _mean(runs, group, metric) * METRICS[metric].printed[0], METRICS[metric].printed
        digits = (
            0
            if METRICS[metric].digits == 0 or value == 0
            else max(0, 2 - math.floor(math.log10(max(abs(value), 1e-9))) - 1)
        )
        return f"{value:.{min(digits, 4)}f} {unit}".rstrip() if factor else ""

    return read


def _web(read: Read) -> str:
    return f"{read('pages')} pages a run, median load time {read('page_load_p50')}, 95th percentile {read('page_load_p95')}"


def _rpc(read: Read) -> str:
    return f"{read('calls')} calls a run, median time {read('rpc_p50')}, 99th percentile {read('rpc_p99')}"


def _video(read: Read) -> str:
    return (
        f"mean bitrate {read('video_bitrate')}, stalled {read('rebuffer_ratio')} of the time, "
        f"{read('video_switches')} changes of the bitrate a minute"
    )


def _voip(read: Read) -> str:
    return f"mean opinion score {read('mos')}, {read('voip_loss')} of the packets lost or late, {read('voip_delay')} from mouth to ear"


#: What a sentence says of each kind, the metric that must be above 0 for it, and what it says otherwise.
_SAYS: dict[str, Callable[[Read], str]] = {"web": _web, "rpc": _rpc, "video": _video, "voip": _voip}
_FIRST = {"web": "pages", "rpc": "calls", "video": "video_bitrate", "voip": "mos"}
_NOTHING = {
    "web": "no page was loaded after the warm-up",
    "rpc": "no call was answered after the warm-up",
    "video": "no segment came after the warm-up",
    "voip": "no packet was sent after the warm-up",
}
