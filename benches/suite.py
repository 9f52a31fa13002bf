"""The scenarios: an experiment file each, what is set in it, and where ns-3 takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SCENARIOS = Path(__file__).parent / "scenarios"

GROWTH = (4, 16, 64, 256, 1024, 4096)
"""Numbers of flows of the growth curve; Haltere goes on to `GROWTH_FURTHER`."""
GROWTH_FURTHER = (10_000,)


@dataclass(frozen=True)
class Case:
    """One scenario of the suite."""

    id: str
    title: str
    file: str
    settings: Mapping[str, object] = field(default_factory=dict)
    """Keys of the file that are set otherwise, by dotted path."""
    ns3: bool = True
    """ns-3 runs it, too."""
    repeats: int = 3
    bare: tuple[str, ...] = ()
    """Arguments of the bare loop of the same size."""
    traced: bool = False
    """Haltere runs it once more with a record: every queue that is watched each millisecond, every flow each 10 ms."""
    usual: bool = True
    """Part of a run of the whole suite; others run where they are named."""

    @property
    def group(self) -> str:
        return self.id.split("-")[0]


def _growth(flows: int) -> Case:
    return Case(
        f"d-{flows}",
        f"growth: {flows} DCTCP flows, 10 Gbit/s, 1 ms",
        "growth.toml",
        {"topology.dumbbell.pairs": flows},
        ns3=flows <= GROWTH[-1],
        repeats=3 if flows <= 256 else 2,
    )


def _long(flows: int, rate: str, delay_us: int, seconds: float, limit: int) -> Case:
    """CUBIC beside the bare loop; no ns-3."""
    mbit = 1000 if rate == "1Gbit" else 10_000
    return Case(
        f"h-{flows}",
        f"{flows} CUBIC flows, {rate[:-4]} Gbit/s, {delay_us * 10 / 1000:g} ms",
        "dumbbell.toml",
        {
            "duration": f"{seconds}s",
            "warmup": f"{seconds / 5}s",
            "topology.dumbbell.pairs": flows,
            "topology.dumbbell.access.rate": "10Gbit" if rate == "1Gbit" else "100Gbit",
            "topology.dumbbell.access.delay": f"{delay_us}us",
            "topology.dumbbell.bottleneck.rate": rate,
            "topology.dumbbell.bottleneck.delay": f"{3 * delay_us}us",
            "topology.dumbbell.bottleneck.queue.limit": f"{limit}p",
        },
        ns3=False,
        repeats=5,
        bare=(str(flows), str(mbit), str(delay_us * 10), str(seconds), "30"),
        traced=flows == 16,
    )


CASES: tuple[Case, ...] = (
    Case("a", "AQM laboratory, 20 CUBIC pairs both ways, FQ-CoDel, 100 s", "aqm.toml"),
    Case("b", "16 CUBIC flows, 1 Gbit/s, 10 ms, drop tail of 1 BDP, 10 s", "dumbbell.toml"),
    Case("c", "16 DCTCP flows, 1 Gbit/s, 1 ms, step threshold, 10 s", "dctcp.toml"),
    *(_growth(flows) for flows in (*GROWTH, *GROWTH_FURTHER)),
    Case("e-10", "16 CUBIC flows, 10 Gbit/s, 1 ms, drop tail of 1 BDP", "fast.toml"),
    Case(
        "e-100",
        "16 DCTCP flows, 100 Gbit/s, 100 us, step threshold",
        "fast.toml",
        {
            "duration": "30ms",
            "warmup": "3ms",
            "topology.dumbbell.access.rate": "1000Gbit",
            "topology.dumbbell.access.delay": "10us",
            "topology.dumbbell.bottleneck.rate": "100Gbit",
            "topology.dumbbell.bottleneck.delay": "30us",
            "topology.dumbbell.bottleneck.queue": {"kind": "threshold", "limit": "2000p", "upper": "142p"},
            "traffic[0].congestion": "dctcp",
            "traffic[0].jitter": "1ms",
        },
    ),
    _long(16, "1Gbit", 1000, 10, 833),
    _long(256, "10Gbit", 1000, 1, 8333),
    _long(10_000, "10Gbit", 10_000, 1, 83333),
)
