"""The scenarios of RFC 7928, as `rfc7928.toml` has them, as experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .files import Case, Table, made, read, replaced

BUFFER = "167p"
_FILE = read(Path(__file__).with_name("rfc7928.toml"))
#: Scenarios of --quick, and what the RFC asks for that no scenario has.
QUICK, NOT_RUN = _FILE["quick"], _FILE["not_run"]


def cases(quick: bool = False) -> list[Case]:
    """Every scenario, in the order of the file."""
    return list(made(_FILE, _path, quick))


def _path(pairs: int = 0, beside_rtt: float = 0.0, **more: Any) -> Table:
    """A dumbbell; ``more``: keys of its bottleneck. ``beside_rtt``: instead a path of that round-trip time (ms) beside one of 100 ms."""
    if not beside_rtt:
        bottleneck = {"rate": "10Mbit", "delay": "48ms", "queue": "QUEUE", **more}
        access = {"rate": "1Gbit", "delay": "1ms", "jitter": "1200us"}
        return {"dumbbell": {"pairs": pairs, "access": access, "bottleneck": bottleneck}}

    def hop(a: str, b: str, rtt: float) -> Table:
        # Both ends of a path have one such link, 1 ms of the rest is the bottleneck's.
        return {"from": a, "to": b, "rate": "1Gbit", "delay": f"{(rtt / 2 - 1) / 2 * 1000:g}us", "jitter": "1200us"}

    middle = {"from": "left", "to": "right", "rate": "10Mbit", "delay": "1ms", "queue": "QUEUE", "watch": True}
    ends = [("a1", "left", 100.0), ("b1", "left", beside_rtt), ("right", "a2", 100.0), ("right", "b2", beside_rtt)]
    links = [*(hop(*one) for one in ends[:2]), middle, *(hop(*one) for one in ends[2:])]
    return {"graph": {"nodes": ["a1", "b1", "left", "right", "a2", "b2"], "links": links}}


def experiment(case: Case, queue: Table, quick: bool) -> Table:
    """The experiment of a case with this discipline at its bottleneck; ``quick``: a third as long."""
    shorter = 3.0 if quick else 1.0

    def scaled(entry: Table) -> Table:
        times = {key: one for key, one in entry.items() if key in ("start", "jitter") and isinstance(one, float)}
        return entry | {key: f"{one / shorter:g}s" for key, one in times.items()}

    return {
        "title": f"RFC 7928, {case.section}: {case.title}",
        "duration": f"{case.duration_s / shorter:g}s",
        "warmup": f"{case.warmup_s / shorter:g}s",
        "topology": replaced(case.topology, "QUEUE", queue),
        "tcp": {**({"ecn": True} if case.ecn else {}), **case.tcp},
        "traffic": [scaled(entry) for entry in case.traffic],
        "measure": {"queues": "10ms", "flows": "100ms"},
    }
