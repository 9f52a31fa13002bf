"""Tables of a large sweep: a row for each value of an axis instead of one for each point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..runs.records import short_keys, swept

#: Points beyond which tables are over the axes of the sweep.
MOST_POINTS = 24
#: Values of an axis that have a row; of more, some spread over them.
MOST_VALUES = 12


def over_axes(points: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """For each value of each axis the mean over the points that have it, as a summary with a ``name``; and how many values have no row.

    ``points``: summaries, each with what was swept as people read it (``words``).
    """
    keys = list(dict.fromkeys(key for point in points for key in point["labels"]))
    short, out, left = short_keys(keys), [], 0
    words = [point["words"] for point in points]
    for key in keys:
        groups: dict[str, list[Mapping[str, Any]]] = {}
        for point, named in zip(points, words, strict=True):
            if key in named:
                groups.setdefault(swept(named[key]), []).append(point)
        if len(groups) < 2:
            continue
        shown = _spread(list(groups), MOST_VALUES)
        left += len(groups) - len(shown)
        for value in shown:
            own = groups[value]
            measured = [
                {k: v for k, v in point.items() if k not in ("point", "labels", "words", "name")} for point in own
            ]
            out.append({"name": f"{short[key]}={value} ({len(own)} points)", **_mean(measured)})
    return out, left


def _spread(values: Sequence[str], most: int) -> list[str]:
    """At most so many of them, the first and the last included."""
    if len(values) <= most:
        return list(values)
    return [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]


def _mean(some: Sequence[Any]) -> Any:
    """The mean of summaries of one shape. An interval over seeds says nothing of a mean over points, so there is none.

    >>> _mean([{"a": {"mean": 1.0, "half": 0.1, "n": 3}, "flows": 2}, {"a": {"mean": 3.0, "half": 0.2, "n": 3}, "flows": 2}])
    {'a': {'mean': 2.0, 'half': None, 'n': 6}, 'flows': 2}
    """
    known = [one for one in some if one is not None]
    if not known:
        return None
    if isinstance(known[0], Mapping):
        if "mean" in known[0]:
            mean = math.fsum(one["mean"] for one in known) / len(known)
            return {"mean": mean, "half": None, "n": sum(one["n"] for one in known)}
        keys = dict.fromkeys(key for one in known for key in one)
        return {key: _mean([one.get(key) for one in known]) for key in keys}
    return round(sum(known) / len(known)) if isinstance(known[0], int) else known[0]
