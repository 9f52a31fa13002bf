"""The scenarios and the criteria of RFC 9743 (BCP 133), as `rfc9743.toml` has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ..files import Case, Table, made, read, replaced

_FILE = read(Path(__file__).with_name("rfc9743.toml"))
#: Scenarios of --quick, and what the RFC asks for that no scenario has.
QUICK, NOT_RUN = _FILE["quick"], _FILE["not_run"]


@dataclass(frozen=True)
class Criterion:
    """One criterion: its section, what it asks in our words, and where the figures come from."""

    section: str
    title: str
    asks: str
    rows: Sequence[tuple[str, Sequence[str]]]
    """Scenarios, and the measures read off each."""
    headline: tuple[str, str]
    """The scenario and the measure of the statement."""


@cache
def cases() -> dict[str, Case]:
    """Every scenario by its key."""
    return {case.key: case for case in made(_FILE, _path)}


def experiment(case: Case, control: Table) -> Table:
    """The experiment of a case with this control under test. Its ``stack`` is that of the entries under test."""
    start, end = case.window
    control = dict(control)
    stack = {"stack": control.pop("stack")} if "stack" in control else {}
    traffic = [{**entry, **stack} if entry.get("congestion") == "OWN" else entry for entry in case.traffic]
    return {
        "title": f"RFC 9743: {case.title}",
        "duration": f"{end:g}s",
        "topology": case.topology,
        "tcp": dict(case.tcp),
        "traffic": replaced(traffic, "OWN", control),
        # What happens at an event is seen in the series of the flows; other scenarios need the counters only.
        "measure": {"queues": "off", "flows": "200ms" if case.drawn else "off", "delays": True, "window": [f"{start:g}s", f"{end:g}s"]},
    }  # fmt: skip


def _path(
    pairs: int, rate: float = 20.0, rtt: float = 40.0, buffer: float | str = 1.0, queue: Table | None = None,
    access_delays: Sequence[str] = (), **more: Any,
) -> Table:  # fmt: skip
    """A dumbbell of so many Mbit/s and ms; ``more``: keys of its bottleneck. `buffer`: bandwidth-delay products, or a size.

    Access links jitter by a packet at the bottleneck, so that flows fall out of step.
    """
    access_ms, jitter_us = rtt / 40, min(12000 / rate, 50 * rtt)
    limit = f"{buffer:g}bdp" if isinstance(buffer, float) else buffer
    bottleneck = {
        "rate": f"{rate * 1e6:.0f}bit", "delay": f"{(rtt / 2 - access_ms) * 1000:g}us",
        "queue": queue or {"kind": "drop_tail", "limit": limit}, "watch": True, **more,
    }  # fmt: skip
    access = {
        "rate": f"{max(1000.0, 10 * rate):g}Mbit",
        "delay": f"{access_ms * 500:g}us",
        "jitter": f"{jitter_us:g}us",
    }
    unlike = {"access_delays": list(access_delays)} if access_delays else {}
    return {"dumbbell": {"pairs": pairs, "access": access, "bottleneck": bottleneck, **unlike}}


def _criterion(one: Table) -> Criterion:
    rows = [(key, measures) for pattern, measures in one.pop("rows") for key in cases() if fnmatchcase(key, pattern)]
    return Criterion(rows=rows, headline=tuple(one.pop("headline")), **one)


CRITERIA = [_criterion(dict(one)) for one in _FILE["criterion"]]
