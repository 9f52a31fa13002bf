"""What an experiment asks for that its author may not mean: said before it runs, and again in its report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core, kinds
from ..experiment import Experiment

#: A buffer of so many bandwidth-delay products or more is worth a warning.
MOST_BDP = 25.0
#: Bytes of a full frame: what a limit in packets comes to.
_FRAME = 1514.0
#: Congestion controls that rely on ECN marks.
_NEEDS_MARKS = frozenset({"dctcp", "prague"})


def advice(core: _core.Scenario) -> list[str]:
    """One sentence for each thing worth a warning in a scenario without sweep."""
    experiment, links = Experiment(json.loads(core.to_json())), json.loads(core.links())
    return [*_unmarked(experiment, links), *_bloated(links), *_static_routes(experiment, core)]


def of_sweep(points: Sequence[_core.Scenario]) -> list[str]:
    """The same of all points of a sweep; a sentence that is true of some points only says of how many."""
    found: dict[str, int] = {}
    for core in points:
        for line in advice(core):
            found[line] = found.get(line, 0) + 1
    return [
        line if count == len(points) else f"{line.rstrip('.')} (in {count} of {len(points)} points)."
        for line, count in found.items()
    ]


# -- marks --------------------------------------------------------------------------------------------------------------------


def _marks(queue: Any) -> bool:
    """Whether this discipline, or one inside it, can mark packets."""
    if not isinstance(queue, Mapping):
        return False
    if queue.get("exceed") == "mark":
        return True
    inner = [_marks(one) for one in queue.values() if isinstance(one, Mapping) and "kind" in one]
    if inner:
        return any(inner)
    return bool(queue.get("ecn", not kinds.queue(str(queue.get("kind"))).tail))


def _unmarked(experiment: Experiment, links: Sequence[Mapping[str, Any]]) -> list[str]:
    """Traffic that wants marks, and no queue that marks."""
    watched = [one for one in links if one["watched"]] or links
    if any(_marks(one["queue"]) for one in watched):
        return []
    out = []
    for entry in experiment.traffic:
        needs = sorted({kinds.label(one) for one in entry.congestion} & _NEEDS_MARKS)
        asked = entry.values.get("ecn", experiment.tcp.get("ecn", False)) and entry.behaviour.tcp
        if needs or asked:
            who = f"{entry.name} uses {needs[0] if needs else 'ECN'}"
            out.append(
                f"{who}, but no queue at a bottleneck marks: it sees losses only. Set `ecn = true` at the queue, or choose a discipline that marks."
            )
    return out


# -- buffers ------------------------------------------------------------------------------------------------------------------


def _bloated(links: Sequence[Mapping[str, Any]]) -> list[str]:
    """Buffers of watched links that drop by no law and hold many bandwidth-delay products."""
    out = []
    for one in links:
        queue, rate, rtt = one["queue"], one["rate_bps"], one["rtt_s"]
        if not one["watched"] or not rate or not rtt or one["varies"] or not kinds.queue(str(queue["kind"])).tail:
            continue
        held = _bytes(queue.get("limit"))
        if held is not None and held >= MOST_BDP * rate / 8 * rtt:
            out.append(
                f"The buffer of {one['name']} ({queue['limit']}) holds {held * 8 / rate / rtt:.0f} bandwidth-delay products: "
                f"a packet may wait {_time(held * 8 / rate)} in it."
            )
    return out


def _time(seconds: float) -> str:
    """A time with three digits.

    >>> _time(0.0123), _time(2.4224)
    ('12.3 ms', '2.42 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _bytes(limit: Any) -> float | None:
    """A limit in bytes; packets count as full frames."""
    text = str(limit)
    try:
        return float(text[:-1]) * _FRAME if text.endswith("p") else float(_core.parse_quantity("bytes", text))
    except ValueError:
        return None


# -- routes -------------------------------------------------------------------------------------------------------------------


def _static_routes(experiment: Experiment, core: _core.Scenario) -> list[str]:
    """A link that falls to 0 bit/s or fails although there is another path, and no change of the routes."""
    tables = list(experiment.topology.tables())
    silent = any(_is_silent(one) for one in tables)
    if not silent and not any("fail" in one and "reroute" not in one for one in tables):
        return []
    drawing = json.loads(core.drawing())
    links, nodes = (sum(one["count"] for one in drawing[what]) for what in ("links", "nodes"))
    if links < nodes or all(one.behaviour.paths for one in experiment.traffic):
        return []
    if not silent:
        return [
            "A link fails, and there is another path: without `reroute` routes are static, so packets are lost and take no other path."
        ]
    return [
        "A link falls to 0 bit/s, and there is another path: routes are static, so packets wait for that link and take no other path."
    ]


def _is_silent(table: Mapping[str, Any]) -> bool:
    steps = table.get("schedule") or ()
    rates = [step.get("rate") for step in steps if isinstance(step, Mapping)]
    return any(rate is not None and _core.parse_quantity("rate", str(rate)) == 0 for rate in rates)
