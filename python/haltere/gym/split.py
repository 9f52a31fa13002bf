"""The networks of the gym: a published split into those for training and those held out.

``networks.csv`` is the table, one network a line. :func:`draw` made it, with the seeds in :data:`SPLIT`, and a test holds the table to it. The
held-out networks are of eight families. Only ``usual`` has the distributions of the training networks; the others are outside.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterator
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..api import Scenario
from ..errors import unknown

TABLE = Path(__file__).with_name("networks.csv")

#: Networks a split: its seed, and how many of each family.
SPLIT: dict[str, tuple[int, dict[str, int]]] = {
    "train": (1, {"usual": 48}),
    "held_out": (
        2,
        {"usual": 6, "fast": 4, "long": 4, "deep": 4, "shallow": 4, "lossy": 4, "aqm": 4, "varying": 4, "shared": 4},
    ),
}

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
        """The experiment. The traffic entry ``agent`` has the flow that decides, with ``control`` if nobody does."""
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


def draw(split: str, seed: int, families: dict[str, int]) -> list[Network]:
    """So many networks of each family. The seed and the families decide everything."""
    drawn = random.Random(seed)
    return [
        _special(_usual(drawn, f"{split}-{family}-{number}", split), family, number, drawn)
        for family, count in families.items()
        for number in range(1, count + 1)
    ]


def _log(drawn: random.Random, low: float, high: float) -> float:
    """Uniform on a logarithmic scale, with three digits."""
    return float(f"{math.exp(drawn.uniform(math.log(low), math.log(high))):.3g}")


def _pick(drawn: random.Random, shares: dict[str, float]) -> str:
    """One of the names, with these shares."""
    at = drawn.random() * sum(shares.values())
    for name, share in shares.items():
        at -= share
        if at < 0:
            return name
    return next(reversed(shares))


def _usual(drawn: random.Random, name: str, split: str) -> Network:
    return Network(
        name=name,
        split=split,
        family="usual",
        rate_mbps=_log(drawn, 2, 50),
        rtt_ms=_log(drawn, 10, 120),
        buffer_bdp=_log(drawn, 0.4, 4),
        loss=_log(drawn, 1e-4, 5e-3) if drawn.random() < 0.25 else 0.0,
        queue=_pick(drawn, {"drop_tail": 0.85, "red": 0.15}),
        cross=_pick(drawn, {"none": 0.6, "cbr": 0.15, "poisson": 0.1, "reno": 0.15}),
        varying=_pick(drawn, {"no": 0.8, "steps": 0.2}),
        duration_s=10.0,
    )


def _special(network: Network, family: str, number: int, drawn: random.Random) -> Network:
    """The network with what its family changes: values outside those of training."""
    network = replace(network, family=family)
    if family != "usual":
        network = replace(network, queue="drop_tail", cross="none", varying="no", loss=0.0)
    changes: dict[str, dict[str, Any]] = {
        "usual": {},
        "fast": {"rate_mbps": _log(drawn, 80, 300), "rtt_ms": _log(drawn, 10, 60)},
        "long": {"rtt_ms": _log(drawn, 180, 400), "rate_mbps": _log(drawn, 5, 40), "duration_s": 20.0},
        "deep": {"buffer_bdp": _log(drawn, 6, 12)},
        "shallow": {"buffer_bdp": _log(drawn, 0.08, 0.25)},
        "lossy": {"loss": _log(drawn, 0.01, 0.03)},
        "aqm": {"queue": ("codel", "fq_codel", "pie", "codel")[(number - 1) % 4]},
        "varying": {
            "varying": ("cellular", "steps", "cellular", "steps")[(number - 1) % 4],
            "buffer_bdp": _log(drawn, 2, 6),
        },
        "shared": {"cross": ("cubic", "bbr", "bbr3", "cubic")[(number - 1) % 4]},
    }
    return replace(network, **changes[family])


def write(path: Path = TABLE) -> None:
    """Writes the table of both splits."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([field.name for field in fields(Network)])
        for split, (seed, families) in SPLIT.items():
            table.writerows(astuple(network) for network in draw(split, seed, families))


@cache
def _read() -> tuple[Network, ...]:
    texts = {"name", "split", "family", "queue", "cross", "varying"}
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))

    def values(row: dict[str, str]) -> dict[str, Any]:
        return {key: value if key in texts else float(value) for key, value in row.items()}

    return tuple(Network(**values(row)) for row in rows)


def networks(split: str, family: str | None = None) -> list[Network]:
    """The networks of ``train`` or ``held_out``, or one family of them."""
    if split not in SPLIT:
        raise unknown("gym: split", split, SPLIT)
    families = SPLIT[split][1]
    if family is not None and family not in families:
        raise unknown("gym: family", family, families)
    return [one for one in _read() if one.split == split and family in (None, one.family)]


def table() -> list[dict[str, Any]]:
    """All networks as rows."""
    return [asdict(network) for network in _read()]
