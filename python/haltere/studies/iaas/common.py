"""What the parts of the study `iaas` share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...api import Scenario
from ..base import with_axes

Array = NDArray[np.float64]

ID = "iaas"
PAIRS, LIMIT = "topology.dumbbell.pairs", "topology.dumbbell.bottleneck.queue.limit"
DELAY, NEGOTIATED = "topology.dumbbell.bottleneck.delay", "tcp.ecn"
#: The round-trip time at which the paper is read, in milliseconds.
READ_AT_MS = 1.0
#: Payload of a full segment to what it takes on the line.
PAYLOAD = 1448 / 1514
STUDIED = ("cubic", "reno", "bbr", "vegas")
LABELS = {"cubic": "Cubic", "reno": "Reno", "bbr": "BBR", "vegas": "Vegas", "dctcp": "DCTCP", "bbr3": "BBRv3"}
#: The paper's two cases, and RED before hosts that do not negotiate ECN.
CASES = {"1000p": "no ECN, drop tail of 1000 packets", "red": "ECN, RED", "red_off": "RED, hosts do not negotiate ECN"}
SHORT = {"1000p": "1000 packets", "red": "ECN, RED", "red_off": "RED, no ECN"}
PAPERS = ("1000p", "red")
OURS = ("red_off",)

Key = tuple[float, str, int]


@dataclass
class Cell:
    """One round-trip time, case and number of pairs: one value a seed in each list."""

    mbit: dict[str, list[float]] = field(default_factory=dict)
    """Mean throughput of a flow of each control after the warm-up."""
    early: dict[str, list[float]] = field(default_factory=dict)
    """The same from second 1 to second 9."""
    over_time: dict[str, list[Array]] = field(default_factory=dict)
    """The same in every second of the run."""
    jain: list[float] = field(default_factory=list)
    utilisation: list[float] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    marked: list[float] = field(default_factory=list)
    """Percent of the packets that the bottleneck sent."""


Cells = dict[Key, Cell]


def fair_mbit(pairs: int) -> float:
    """What every pair would have of one gigabit if all had the same, in Mbit/s of payload."""
    return 1000.0 * PAYLOAD / pairs


def relative(cell: Cell, control: str, pairs: int, early: bool = False) -> Array:
    """Throughput of a control over the fair share, a value a seed: after the warm-up, or from second 1 to 9."""
    return np.array((cell.early if early else cell.mbit)[control]) / fair_mbit(pairs)


def at(cells: Cells, case: str) -> dict[int, Cell]:
    """The cells of a case at the round-trip time of the study, by number of pairs."""
    return {pairs: cell for (rtt, name, pairs), cell in cells.items() if rtt == READ_AT_MS and name == case}


def shorter(scenario: Scenario, sweep: Mapping[str, Any], warmup: str = "2s", duration: str = "10s") -> Scenario:
    """A shorter experiment, with these axes of its sweep in place of its own."""
    return with_axes(scenario.with_values({"warmup": warmup, "duration": duration}), sweep)
