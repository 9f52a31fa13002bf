"""Sentences about workloads: what the users of web pages, calls, video and voice saw."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from .. import kinds
from ..analysis.measures import Run
from ..analysis.metrics import METRICS
from ..analysis.workloads import entries

__all__ = ["sentence"]

#: A mean of a metric of an entry over the runs, printed.
Read = Callable[[str], str]


def sentence(runs: Sequence[Run]) -> list[str]:
    """A sentence for each traffic entry that is a workload, such as ``web1: 312 pages, median load time 1.2 s``."""
    out = []
    for one in kinds.WORKLOADS:
        for group in entries(runs[0], one.kind):
            says = _filled(one.says, _reader(runs, group))
            told = says if _mean(runs, group, one.first) > 0 else one.nothing
            out.append(f"{group}: {told}.")
    return out


def _filled(text: str, read: Read) -> str:
    """The text with a value for each metric in braces."""
    return re.sub(r"{(\w+)}", lambda found: read(found[1]), text)


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
