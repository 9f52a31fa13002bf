"""The scenarios: an experiment file each, what is set in it, and where ns-3 takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCENARIOS = Path(__file__).parent / "scenarios"

GROWTH = (4, 16, 64, 256, 1024, 4096, 10_000)
"""Numbers of flows of the growth curve."""
GROWTH_NS3 = 4096
"""The most with which ns-3 takes part; with 10,000 flows it would take some 4.6 GB of memory."""
SHARED = (64, 1024, 10_000)
"""Numbers of flows between the same hosts."""
MILLION = 1_000_000


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
    dumbbell: tuple[str, ...] = ()
    """Arguments of Haltere's program whose flows have the round-trip times of the bare loop's."""
    traced: bool = False
    """Haltere runs it once more with a record: the queue each millisecond, every flow each 10 ms."""
    tuned: bool = False
    """The build that learned from runs (`make tuned`) takes part, where it can be made."""
    usual: bool = True
    """Part of a run of the whole suite; the others take `--all`, or `--only` with their name."""

    @property
    def group(self) -> str:
        return self.id.split("-")[0]


def _growth(flows: int) -> Case:
    return Case(
        f"d-{flows}",
        f"growth: {flows:,} DCTCP flows, 10 Gbit/s, 1 ms",
        "growth.toml",
        {"topology.dumbbell.pairs": flows},
        ns3=flows <= GROWTH_NS3,
        repeats=3 if flows <= 256 else 2,
    )


def _shared(flows: int) -> Case:
    """As many flows between the same hosts: what is left is the flow's own memory."""
    return Case(
        f"m-{flows}",
        f"{flows:,} DCTCP flows between the same 16 pairs of hosts",
        "growth.toml",
        {"traffic[0].count": flows // 16, "topology.dumbbell.bottleneck.queue.limit": "2000p"},
        ns3=flows <= GROWTH_NS3 // 4,
        repeats=2,
    )


def set_key(table: Any, path: str, value: object) -> None:
    """Sets the key at a dotted path such as `traffic[0].congestion`."""
    *parents, last = path.replace("[", ".").replace("]", "").split(".")
    for name in parents:
        table = table[int(name)] if isinstance(table, list) else table.setdefault(name, {})
    table[int(last) if isinstance(table, list) else last] = value


INCAST: Mapping[str, object] = {
    "duration": "100ms",
    "warmup": "1ms",
    "traffic[0]": {"kind": "incast", "senders": 64, "bytes": "32kB", "interval": "2ms", "congestion": "dctcp"},
}


def _short(flows: int, *, ns3: bool = False, usual: bool = True) -> Case:
    """Flows that are born as a Poisson process and end."""
    return Case(
        f"g-{flows}",
        f"{flows:,} flows of web-search sizes over leaf and spine, 144 hosts, load 60 %",
        "websearch.toml",
        {"traffic[0].flows": flows},
        ns3=ns3,
        repeats=2 if ns3 else 1,
        usual=usual,
    )


def _long(flows: int, gbit: int, rtt_ms: int, seconds: float, name: str = "") -> Case:
    """CUBIC flows over a queue of one bandwidth-delay product beside the bare loop; no ns-3."""
    rtt, rate = f"{rtt_ms}ms", f"{gbit}Gbit"
    return Case(
        name or f"h-{flows}",
        f"{flows:,} CUBIC flows, {gbit} Gbit/s, {rtt_ms} ms ± 30 %",
        "dumbbell.toml",
        {
            "duration": f"{seconds}s",
            "warmup": f"{seconds / 5}s",
            "topology.dumbbell.pairs": flows,
            "topology.dumbbell.access.rate": f"{10 * gbit}Gbit",
            "topology.dumbbell.access.delay": f"{rtt_ms / 10}ms",
            "topology.dumbbell.bottleneck.rate": rate,
            "topology.dumbbell.bottleneck.delay": f"{3 * rtt_ms / 10}ms",
            "topology.dumbbell.bottleneck.queue.limit": f"{gbit * rtt_ms * 10**6 // 12_000}p",
        },
        ns3=False,
        repeats=5,
        bare=(str(flows), str(1000 * gbit), str(1000 * rtt_ms), str(seconds), "30"),
        dumbbell=(str(flows), rate, rtt, "30%", str(seconds), "cubic"),
        tuned=True,
    )


LONG_10000 = _long(10_000, 10, 100, 4)

CASES: tuple[Case, ...] = (
    Case("a", "AQM laboratory, 20 CUBIC pairs both ways, FQ-CoDel, 100 s", "aqm.toml", tuned=True),
    Case("b", "16 CUBIC flows, 1 Gbit/s, 10 ms, drop tail of 1 BDP, 10 s", "dumbbell.toml", tuned=True),
    Case("c", "16 DCTCP flows, 1 Gbit/s, 1 ms, step threshold, 10 s", "dctcp.toml", tuned=True),
    *(_growth(flows) for flows in GROWTH),
    *(_shared(flows) for flows in SHARED),
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
    Case("f-leaf", "leaf and spine, 128 hosts, permutation, 4 ms", "leaf_spine.toml", repeats=2),
    Case("f-leaf-incast", "leaf and spine, incast of 64 x 32 kB, 50 rounds", "leaf_spine.toml", INCAST, repeats=2),
    Case("f-tree", "fat tree k = 8, 128 hosts, permutation, 4 ms", "fat_tree.toml", repeats=2),
    Case("f-tree-incast", "fat tree k = 8, incast of 64 x 32 kB, 50 rounds", "fat_tree.toml", INCAST, repeats=2),
    _short(300, ns3=True),
    _short(20_000),
    _short(MILLION, usual=False),
    _long(16, 1, 10, 10),
    _long(256, 10, 10, 1),
    LONG_10000,
    _long(10_000, 10, 10, 1, name="h-10000-10ms"),
    Case(
        "t",
        "16 CUBIC flows, 1 Gbit/s, 10 ms ± 30 %, 4 s, with a record and without",
        "dumbbell.toml",
        {"duration": "4s"},
        ns3=False,
        repeats=7,
        traced=True,
    ),
)
