"""The harness's scenarios: their keys and defaults, and the flows and transfers that the harness draws for a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any, TypeVar


@dataclass(frozen=True)
class Flow:
    """Bulk flows, `n` of them; of those that `expand_flows` gives, each is one flow with its own start."""

    dir: str = "fwd"
    cc: str = "cubic"
    n: int = 1
    start: float = 0.0
    spread: float = 0.0
    stop: float | None = None
    proto: str = "tcp"
    path: int = 0
    ecn: bool | None = None
    host: str | None = None
    class_: int | None = None


@dataclass(frozen=True)
class Transfers:
    """Short flows that arrive at random; `sizes` has the weight of each size."""

    per_second: float
    sizes: Mapping[str, float]
    dir: str = "fwd"
    cc: str = "cubic"
    start: float = 0.0
    stop: float | None = None
    ecn: bool | None = None


@dataclass(frozen=True)
class Transfer:
    """One short flow."""

    start: float
    bytes: int
    dir: str
    cc: str
    ecn: bool | None


@dataclass(frozen=True)
class Udp:
    """A flow of UDP."""

    rate_mbit: float
    dir: str = "fwd"
    size: int = 1000
    start: float = 0.0
    stop: float | None = None
    tos: int = 0


@dataclass(frozen=True)
class Step:
    """A change of the rate, or a command."""

    at: float
    rate_mbit: float = 0.0
    cmd: str | None = None


@dataclass(frozen=True)
class Host:
    """A host beside `n1`."""

    rtt_ms: float


@dataclass(frozen=True)
class Ping:
    """A ping from `n1` to `n3`."""

    interval: float = 0.1
    start: float = 0.05
    size: int = 56
    tos: int | None = None


@dataclass(frozen=True)
class Sample:
    """How often the harness looks, and how often it writes down what it saw."""

    tcp_ms: float = 50
    qdisc_ms: float = 10
    store_tcp_ms: float | None = None
    store_qdisc_ms: float | None = None


@dataclass(frozen=True)
class Path:
    """What one of several paths may say; what it leaves out is in :meth:`Scenario.each_path`."""

    rate_mbit: float
    rtt_ms: float
    qdisc: str
    both_ways: bool = False
    shaper: str = "htb"
    qdisc_rev: str | None = None
    txqueuelen: int = 1000
    access_mbit: float | None = None


@dataclass(frozen=True)
class Scenario:
    """A scenario, with what the harness takes if it says nothing."""

    topology: str = "chain"
    rate_mbit: float = 10
    both_ways: bool = False
    shaper: str = "htb"
    rtt_ms: float = 10.0
    access_mbit: float | None = None
    qdisc: str = "pfifo limit 1000"
    qdisc_rev: str | None = None
    ecn: int = 0
    sysctl: Mapping[str, Any] = field(default_factory=dict)
    txqueuelen: int = 1000
    flows: Sequence[Flow] = ()
    duration: float = 60.0
    warmup: float = 10.0
    ping: Ping | None = None
    seed: int = 1
    mtu: int = 1500
    paths: Sequence[Path] = ()
    sample: Sample = field(default_factory=Sample)
    transfers: Sequence[Transfers] = ()
    udp: Sequence[Udp] = ()
    steps: Sequence[Step] = ()
    hosts: Mapping[str, Host] = field(default_factory=dict)
    netem_fwd: str = ""
    netem_rev: str = ""
    name: str = ""
    set: str = ""
    mptcp: bool = False
    classes: Mapping[str, Any] | None = None
    """What `pre` makes."""
    store_cols: Sequence[str] = ()
    pre: Any = None
    post: Any = None
    """With `rx`: how the harness measures, not what it runs."""
    rx: Any = None
    on_linux: bool = False
    """Linux itself runs it, in the kernel world: the router has Linux's own discipline, and controls have no parameters."""
    unknown: tuple[str, ...] = ()
    """Keys that are not known: the rest alone would be another scenario."""

    def each_path(self) -> list[Scenario]:
        """Each path as a scenario of one path."""
        return [replace(self, **vars(path)) for path in self.paths] or [self]


T = TypeVar("T")
_LISTS: dict[str, Any] = {"flows": Flow, "transfers": Transfers, "udp": Udp, "steps": Step, "paths": Path}
_TABLES: dict[str, Any] = {"sample": Sample, "ping": Ping}


def normal(scenario: Mapping[str, Any]) -> Scenario:
    """The scenario as the harness reads it."""
    unknown: list[str] = []

    def read(kind: type[T], table: Mapping[str, Any], where: str = "", **base: Any) -> T:
        names = {one.name.rstrip("_"): one.name for one in fields(kind)}  # type: ignore[arg-type]
        unknown.extend(f"{where}{key}" for key in table if key not in names and f"{where}{key}" not in unknown)
        return kind(**base | {names[key]: one for key, one in table.items() if key in names})

    values = {key: one for key, one in scenario.items() if one is not None}
    for key, kind in _LISTS.items():
        base = {"rate_mbit": 10, "rtt_ms": 10.0, "qdisc": Scenario.qdisc} | values if key == "paths" else {}
        own = {name: base[name] for name in ("rate_mbit", "rtt_ms", "qdisc") if base}
        values[key] = [read(kind, one, f"{key}.", **own) for one in values.get(key, ())]
    for key, kind in _TABLES.items():
        if values.get(key):
            values[key] = read(kind, values[key], f"{key}.")
        else:
            values.pop(key, None)
    values["hosts"] = {name: read(Host, one, "hosts.") for name, one in values.get("hosts", {}).items()}
    found = read(Scenario, values)
    return replace(found, unknown=tuple(unknown))


def expand_flows(scenario: Scenario) -> list[Flow]:
    """One entry a flow, with the start that the harness draws for the scenario's seed."""
    draws = Random(f"jitter-{scenario.seed}")
    return [
        replace(group, n=1, spread=0.0, start=round(group.start + draws.uniform(0, group.spread), 6))
        for group in scenario.flows
        for _ in range(group.n)
    ]


def expand_transfers(scenario: Scenario) -> list[Transfer]:
    """One entry a transfer, which starts at the time and of the size that the harness draws for the scenario's seed."""
    transfers = []
    for number, group in enumerate(scenario.transfers):
        draws = Random(f"transfers-{scenario.seed}-{number}")
        sizes = sorted((int(size), weight) for size, weight in group.sizes.items())
        at = group.start + draws.expovariate(group.per_second)
        while at < (scenario.duration if group.stop is None else group.stop):
            size = draws.choices([size for size, _ in sizes], [weight for _, weight in sizes])[0]
            transfers.append(Transfer(round(at, 6), size, group.dir, group.cc, group.ecn))
            at += draws.expovariate(group.per_second)
    return transfers
