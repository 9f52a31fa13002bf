"""How the study `rafle` reads the paper's router: what its queues hold, and the senders' first window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "CLASSIFIERS",
    "DEFAULT_READINGS",
    "DROP_TAIL",
    "FQ_CODEL",
    "LABELS",
    "PAPERS",
    "READINGS",
    "SERVICES",
    "queue",
]

DROP_TAIL, FQ_CODEL = "drop_tail", "fq_codel"
SERVICES = {"round_robin": "RR", "priority": "Prio"}
CLASSIFIERS = {"ideal": "Ideal", "rafle": "RAFLE", "run2c": "RuN2C", "las": "LAS"}
PAPERS = ("ideal", "rafle", "run2c")
LABELS = {
    DROP_TAIL: "Drop tail",
    **{f"{c}/{s}": f"{name} {short}" for s, short in SERVICES.items() for c, name in CLASSIFIERS.items()},
    FQ_CODEL: "FQ-CoDel",
}
ROOMY = "1000000p"
CLICKS = "1000p"
"""What Click's `Queue` holds by default."""


@dataclass(frozen=True)
class Reading:
    """One reading of the router: what its one queue holds, both classes together, and each class; and the senders' first window."""

    meaning: str
    single: str
    together: str
    each: str
    initial_window: int = 10


READINGS = {
    "a": Reading("a shaper over queues that never drop", ROOMY, ROOMY, ROOMY),
    "b": Reading("a bound of 1000 packets over both classes that drops before them", CLICKS, CLICKS, ROOMY),
    "c": Reading(
        "every queue holds 1000 packets, Click's default: one in drop tail, one in each class", CLICKS, ROOMY, CLICKS
    ),
    "c3": Reading(
        "as c, but senders start with three segments, as Linux did before 2.6.39 (2011)", CLICKS, ROOMY, CLICKS, 3
    ),
}
DEFAULT_READINGS = tuple(READINGS)


def queue(name: str, reading: str, n: int | None = None) -> dict[str, Any]:
    """The router's queue of that name, as an experiment file has it."""
    read = READINGS[reading]
    if name == DROP_TAIL:
        return {"kind": "drop_tail", "limit": read.single}
    if name == FQ_CODEL:
        return {"kind": "fq_codel", "limit": read.single if read.single != ROOMY else "10240p", "ecn": False}
    classifier, service = name.split("/")
    each = {"kind": "drop_tail", "limit": read.each}
    params: dict[str, Any] = {"kind": classifier} | ({"n": n} if n else {})
    return {
        "kind": "classed",
        "classifier": params,
        "service": {"kind": service},
        "short": each,
        "long": each,
        "limit": read.together,
    }
