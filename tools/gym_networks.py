"""Draws the networks of the gym, python/haltere/gym/networks.csv. The seeds and the families decide everything.

python tools/gym_networks.py
"""

from __future__ import annotations

import csv
import math
import random
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import Any

from haltere.gym.split import TABLE, Network

#: Networks a split: its seed, and how many of each family.
SPLIT: dict[str, tuple[int, dict[str, int]]] = {
    "train": (1, {"usual": 48}),
    "held_out": (
        2,
        {"usual": 6, "fast": 4, "long": 4, "deep": 4, "shallow": 4, "lossy": 4, "aqm": 4, "varying": 4, "shared": 4},
    ),
}


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


if __name__ == "__main__":
    write()
