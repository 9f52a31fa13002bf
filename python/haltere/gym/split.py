"""The networks of the gym: a published split into those for training and those held out.

``networks.csv`` is the table, one network a line; ``tools/gym_networks.py`` drew it. The held-out networks are of nine families. Only
``usual`` has the distributions of the training networks; the others are outside.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ..api import Scenario
from ..errors import unknown

TABLE = Path(__file__).with_name("networks.csv")

#: The trace of the example ``cellular.toml``, as gaps between opportunities to send.
CELLULAR = "1x1500 2x500 8x60 1x800 4x200 2x400 1x1200 12x40 250 2x300 1x1000 3x300 1x610"


@dataclass(frozen=True)
class Network:
    """A dumbbell with the agent's flow, and what else is there."""

    #: Name, such as ``held_out-fast-2``.
    name: str
    #: ``train`` or ``held_out``.
    split: str
    #: What is special about it.
    family: str
    #: Rate of the bottleneck, in Mbit/s. With a trace, the trace's.
    rate_mbps: float
    #: Round-trip time through empty queues, in ms.
    rtt_ms: float
    #: Limit of the queue, in bandwidth-delay products.
    buffer_bdp: float
    #: Probability that the bottleneck loses a packet.
    loss: float
    #: Queue discipline of the bottleneck.
    queue: str
    #: What shares the bottleneck: ``none``, ``cbr`` (30 % of the rate), ``poisson`` (short flows, 20 %), or a long flow's congestion control.
    cross: str
    #: How the rate changes: ``no``, ``steps`` (every 2 s, to between half and all of the rate), ``cellular`` (a trace).
    varying: str
    #: Length of a run, in seconds.
    duration_s: float

    def scenario(self, control: str = "cubic") -> Scenario:
        """The experiment. The traffic entry ``agent`` has the flow that decides, or uses ``control`` otherwise."""
        return Scenario.from_dict(self.to_dict(control), self.name)

    def to_dict(self, control: str = "cubic") -> dict[str, Any]:
        """The experiment as nested mappings."""
        access_ms = 0.5
        one_way_ms = round(max(self.rtt_ms / 2 - 2 * access_ms, 0.1), 4)
        packets = max(round(self.buffer_bdp * self.rate_mbps * self.rtt_ms * 1e3 / 8 / 1514), 4)
        queue: dict[str, Any] = {"kind": self.queue}
        if self.queue == "drop_tail":
            queue["limit"] = f"{packets}p"
        bottleneck: dict[str, Any] = {"delay": f"{one_way_ms}ms", "queue": queue}
        if self.loss:
            bottleneck["loss"] = self.loss
        if self.varying == "cellular":
            bottleneck["trace"] = {"gaps": CELLULAR}
            bottleneck["reverse"] = {"rate": "20Mbit", "loss": 0.0}
        else:
            bottleneck["rate"] = f"{self.rate_mbps}Mbit"
            if self.varying == "steps":
                bottleneck["schedule"] = list(self._steps())
        access = {"rate": f"{round(max(10 * self.rate_mbps, 100), 3)}Mbit", "delay": f"{access_ms}ms"}
        agent = {"name": "agent", "kind": "bulk", "pairs": [1], "congestion": control, "jitter": "0ms"}
        return {
            "title": f"Gym: {self.name}",
            "duration": f"{self.duration_s}s",
            "seeds": 1,
            "topology": {"dumbbell": {"pairs": 2, "access": access, "bottleneck": bottleneck}},
            "traffic": [agent, *self._cross()],
        }

    def _steps(self) -> Iterator[dict[str, str]]:
        """Changes of the rate, drawn with the network's name."""
        drawn = random.Random(self.name)
        for at in range(2, math.ceil(self.duration_s), 2):
            yield {"at": f"{at}s", "rate": f"{round(self.rate_mbps * drawn.uniform(0.5, 1.0), 3)}Mbit"}

    def _cross(self) -> list[dict[str, Any]]:
        entry: dict[str, Any] = {"name": "cross", "pairs": [2]}
        if self.cross == "none":
            return []
        if self.cross == "cbr":
            return [{**entry, "kind": "cbr", "rate": f"{round(0.3 * self.rate_mbps, 3)}Mbit"}]
        if self.cross == "poisson":
            return [{**entry, "kind": "poisson", "sizes": "30kB", "load": 0.2}]
        return [{**entry, "kind": "bulk", "congestion": self.cross}]


@cache
def _read() -> tuple[Network, ...]:
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = {one.name for one in fields(Network) if one.type == "float"}
    return tuple(
        Network(**{key: float(value) if key in numbers else value for key, value in row.items()})  # type: ignore[arg-type]
        for row in rows
    )


def networks(split: str, family: str | None = None) -> list[Network]:
    """The networks of ``train`` or ``held_out``, or one family of them."""
    of_split = [one for one in _read() if one.split == split]
    if not of_split:
        raise unknown("gym: split", split, dict.fromkeys(one.split for one in _read()))
    families = dict.fromkeys(one.family for one in of_split)
    if family is not None and family not in families:
        raise unknown("gym: family", family, families)
    return [one for one in of_split if family in (None, one.family)]
