"""How the study `rafle` reads the paper: what the router's queues hold, the senders' kernel, the starts and the file base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from . import file_base
from .file_base import Base

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
    """One reading of the paper. The defaults are the primary reading's."""

    meaning: str
    single: str = CLICKS
    """What drop tail's queue holds."""
    together: str = ROOMY
    """What both classes hold together."""
    each: str = CLICKS
    """What each class holds."""
    initial_window: int = 3
    initial_rto: str = "3s"
    starts: str = "1ms"
    """The tasks start within this time."""
    base: Base = file_base.AS_READ


PRIMARY = "c"
_C = Reading("every queue holds 1000 packets, Click's default: one in drop tail, one in each class; the kernel of 2009")

#: The primary reading, and the readings under which every finding is judged again. `fit` has queues at which drop tail has about the
#: paper's stragglers, and so is no test of them.
READINGS = {
    PRIMARY: _C,
    "fit": replace(_C, meaning="queues of 700 packets, where drop tail has about the paper's stragglers", single="700p", each="700p"),
    "a": replace(_C, meaning="queues that never drop", single=ROOMY, each=ROOMY),
    "b": replace(_C, meaning="one bound of 1000 packets over both classes, which drops before them", together=CLICKS, each=ROOMY),
}  # fmt: skip

#: Lengths of every queue, which the paper does not state, for experiment 1 and for table 4.
LENGTHS, STEADY_LENGTHS = (50, 200, 500, 600, 650, 700, 740, 780, 1000, 2000), (50, 150, 300, 500)
#: The scan of queue and file base together: megabytes in the files up to 100 KB at each length.
FIT_LENGTHS, FIT_MB = (600, 650, 700, 740), (9.0, 10.7, 12.5)

#: One change each to the primary reading, for experiment 1.
CHANGES = {
    "starts within 10 ms": replace(_C, starts="10ms"),
    "starts within 100 ms": replace(_C, starts="100ms"),
    "starts within 1 s": replace(_C, starts="1s"),
    "initial window 10": replace(_C, initial_window=10),
    "initial timeout 1 s": replace(_C, initial_rto="1s"),
    "250 files up to 16 KB": replace(_C, base=Base(tiny=250)),
    "320 files up to 16 KB": replace(_C, base=Base(tiny=320)),
    "upper edges, 15.6 MB": replace(_C, base=file_base.UPPER_EDGES),
}


def of_length(packets: int, megabytes: float | None = None) -> Reading:
    """The primary reading with queues of so many packets, and so much in the files up to 100 KB."""
    base = _C.base if megabytes is None else Base(first_bucket=round(megabytes * 1e6))
    return replace(_C, meaning=f"queues of {packets} packets", single=f"{packets}p", each=f"{packets}p", base=base)


def values(reading: Reading) -> dict[str, Any]:
    """What the reading sets in an experiment file, besides the queue."""
    out: dict[str, Any] = {
        "tcp.initial_window": reading.initial_window,
        "tcp.initial_rto": reading.initial_rto,
        "traffic[0].jitter": reading.starts,
    }
    if reading.base != file_base.AS_READ:
        out["traffic[0].files"] = [f"{size}B" for size in file_base.sizes(reading.base)]
    return out


def queue(name: str, reading: Reading, n: int | None = None) -> dict[str, Any]:
    """The router's queue of that name, as an experiment file has it."""
    if name == DROP_TAIL:
        return {"kind": "drop_tail", "limit": reading.single}
    if name == FQ_CODEL:
        return {"kind": "fq_codel", "limit": reading.single if reading.single != ROOMY else "10240p", "ecn": False}
    classifier, service = name.split("/")
    each = {"kind": "drop_tail", "limit": reading.each}
    params: dict[str, Any] = {"kind": classifier} | ({"n": n} if n else {})
    return {
        "kind": "classed",
        "classifier": params,
        "service": {"kind": service},
        "short": each,
        "long": each,
        "limit": reading.together,
    }
