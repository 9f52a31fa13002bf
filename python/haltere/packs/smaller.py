"""The smallest experiment that still shows a bad row: conditions are left out by delta debugging, then data and time are halved."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..analysis import stats
from ..analysis.measures import Run
from ..api import Scenario
from ..errors import InputError
from ..experiment import seconds_of
from ..runs.files import write_atomically
from ..runs.store import Store
from ..search.race import Candidate, Judge
from ..search.reduce import minimal
from ..toml import toml
from ..worlds import world
from . import Case, Figure, Variant
from .play import Row, beside

_SEEDS = range(1, 11)
#: What an experiment cannot do without, or what says nothing of the network.
_KEPT = {"title", "duration", "seeds", "topology", "traffic", "kind", "name", "pairs", "rate", "delay", "access", "bottleneck", "bytes",
         "congestion", "stack", "from", "to", "nodes", "links"}  # fmt: skip
_HALVINGS = 5


def smallest(
    case: Case, row: Row, base: Variant, new: Variant, figure: Figure | None, out: Path, jobs: int | None
) -> Path | None:
    """Writes `worse-CASE.toml` beside the results; ``None`` if ten seeds do not show the row. ``figure``: what is compared; else a condition."""
    judge = Judge(Store(out / "smaller"), world(), jobs)
    condition = next((one for one in case.must if one.text == row.what), None)

    def score(runs: Sequence[Run]) -> float:
        if figure is not None:
            found = beside(figure, runs[:1], runs[1:])
            return float("nan") if found is None else found[3].mean
        return condition.excess(runs[-1]) if condition else float("nan")

    def shows(values: dict[str, Any]) -> bool:
        one = replace(case, values=values)
        try:
            cores = [one.scenario(variant).points()[0][1] for variant in (base, new)]
        except InputError:
            return False
        (scores,) = judge.scores([Candidate(tuple(cores), score)], _SEEDS)
        if isinstance(scores, str):
            return False
        mean = stats.mean(scores)
        return mean.low > 0 or (mean.half == 0 and mean.mean > 0)

    values = copy.deepcopy(dict(case.values))
    try:
        if not shows(values):
            return None
        pieces = list(_pieces(values, case.tested))
        kept = minimal(pieces, lambda some: shows(_without(values, set(pieces) - set(some))))
        values = _halved(_without(values, set(pieces) - set(kept)), case.tested, shows)
    except InputError:  # a metric that the smaller experiment lacks
        return None
    return _written(replace(case, values=values), row, new, base, out / f"worse-{case.name}.toml")


def _pieces(value: Any, tested: Sequence[str], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of what may be left out: keys that have a default, and traffic that is not tested."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in _KEPT and path != ("topology",):
                yield (*path, key)
            else:
                yield from _pieces(one, tested, (*path, key))
    elif isinstance(value, list) and path == ("traffic",):
        for i, one in enumerate(value):
            if one.get("name") not in tested:
                yield (*path, i)
            else:
                yield from _pieces(one, tested, (*path, i))


def _without(values: dict[str, Any], paths: set[tuple[Any, ...]]) -> dict[str, Any]:
    out = copy.deepcopy(values)
    for path in sorted(paths, key=str, reverse=True):
        inner: Any = out
        for part in path[:-1]:
            inner = inner[part]
        del inner[path[-1]]
    return out


def _halved(values: dict[str, Any], tested: Sequence[str], shows: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The values with less data and less time, as long as the row shows."""
    for i, one in enumerate(values["traffic"]):
        for _ in range(_HALVINGS if one.get("name") in tested and "bytes" in one else 0):
            fewer = copy.deepcopy(values)
            fewer["traffic"][i]["bytes"] = f"{_bytes(values['traffic'][i]['bytes']) // 2:.0f}B"
            if not shows(fewer):
                break
            values = fewer
    for _ in range(_HALVINGS):
        fewer = {**values, "duration": f"{seconds_of(values['duration']) / 2:g}s"}
        if not shows(fewer):
            break
        values = fewer
    return values


def _bytes(text: str) -> float:
    from .. import _core

    return _core.parse_quantity("bytes", text)


def _written(case: Case, row: Row, new: Variant, base: Variant, path: Path) -> Path:
    was = f"{row.base.format(3)} {row.unit} with the baseline, {base.name}; " if row.base else ""
    about = f"{row.what} of case {case.name}: {was}{row.value.format(3)} {row.unit} with {new.name} in the whole case. This is what is left of the case."
    comment = [*textwrap.wrap(" ".join(about.split()), 110, break_on_hyphens=False), "", f"  haltere run {path}"]
    text = toml({**case.experiment(new), "seeds": len(_SEEDS)})
    Scenario.from_toml(text, path.name)
    write_atomically(path, "\n".join(f"# {line}".rstrip() for line in comment) + "\n\n" + text)
    return path
