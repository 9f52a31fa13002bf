"""The experiments in which the draft's test cases are carried out: one flow of BBRv3 over a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .trace import Trace

RATE_MBIT, RTT_MS, MSS = 10.0, 40.0, 1448
#: The rate of an application that does not fill its path.
LIMITED_MBIT = 20.0
#: When a path changes, and when one loses packets.
STEP_S, LOSS_AT_S = 8.3, 8.0
#: An application that writes faster than any path, so that it can end at a chosen byte.
_FAST_MBIT = 200.0
Experiment = dict[str, Any]


def payload(rate_mbit: float) -> float:
    """The payload of a full link: 1448 of the 1514 bytes of a frame."""
    return rate_mbit * MSS / 1514


def _path(
    rate: float = RATE_MBIT,
    *,
    buffer: str = "4bdp",
    seconds: float = 30.0,
    traffic: Mapping[str, Any] | None = None,
    **more: Any,
) -> Experiment:
    """`more`: keys of the bottleneck."""
    bottleneck = {
        "rate": f"{rate * 1e6:.0f}bit",
        "delay": f"{RTT_MS / 2:g}ms",
        "queue": {"kind": "drop_tail", "limit": buffer},
        "watch": True,
        **more,
    }
    flow = {"name": "own", "kind": "bulk", "jitter": "0s", **(traffic or {}), "pairs": [1], "congestion": "OWN"}
    return {
        "duration": f"{seconds:g}s",
        "topology": {"dumbbell": {"pairs": 1, "access": {"rate": "10Gbit"}, "bottleneck": bottleneck}},
        "traffic": [flow],
        "measure": {"queues": "off", "flows": "5ms", "state": True},
    }


def _steps(*steps: Mapping[str, Any], repeat: str = "") -> Experiment:
    return {"schedule": [dict(step) for step in steps], **({"schedule_repeat": repeat} if repeat else {})}


def _writes(rate: float, on: str = "3600s", off: str = "1ms") -> Experiment:
    return {"kind": "on_off", "rate": f"{rate * 1e6:.0f}bit", "on": on, "off": off}


def plain() -> dict[str, Experiment]:
    """The experiments that need nothing of another one."""
    # Acknowledgements leave the other side in bursts, every 20 ms.
    bursts: dict[str, Any] = {
        "reverse": _steps({"at": "0s", "rate": "0bit"}, {"at": "18ms", "rate": "1Gbit"}, repeat="20ms")
    }
    early = _steps({"at": "1s", "loss": 0.2}, {"at": "1200ms", "loss": 0.0})
    longer = _steps({"at": "1s", "delay": "30ms"})
    grows = _steps(
        {"at": "4s", "rate": "50Mbit"},
        {"at": f"{LOSS_AT_S:g}s", "loss": 0.2},
        {"at": f"{LOSS_AT_S + 0.2:g}s", "loss": 0.0},
    )
    at = f"{STEP_S:g}s"
    return {
        "plain": _path(),
        "shallow": _path(buffer="17p"),
        "limited": _path(100.0, traffic=_writes(LIMITED_MBIT), seconds=20.0),
        "limited-loss": _path(100.0, traffic=_writes(LIMITED_MBIT), seconds=10.0, **early),
        "limited-later": _path(5.0, traffic=_writes(8.0), seconds=10.0, buffer="100p", **grows),
        "limited-longer": _path(100.0, traffic=_writes(LIMITED_MBIT), seconds=12.0, **longer),
        "idle": _path(traffic=_writes(30.0, on="2s", off="12s"), seconds=18.0),
        "aggregated": _path(**bursts),
        "tiny": _path(0.064, buffer="20p", seconds=60.0),
        "faster": _path(buffer="100p", **_steps({"at": at, "rate": "100Mbit"})),
        "slower": _path(100.0, buffer="100p", **_steps({"at": at, "rate": "10Mbit"})),
        "policed": _path(100.0, queue={"kind": "policer", "rate": "5Mbit", "burst": "50kB"}),
        "reordered": _path(reorder=0.001, reorder_by="80ms"),
        "late": _path(**_steps({"at": at, "delay": "420ms"}, {"at": f"{STEP_S + 1:g}s", "delay": "20ms"})),
    }  # fmt: skip


def derived(first: Trace) -> dict[str, Experiment]:
    """The experiments in which something happens when the flow of the plain one enters a phase."""
    drain, down = first.first("drain"), first.first("down", after_s=5.0)
    refill = first.first("refill")
    out = {
        "less-in-drain": _path(**_steps({"at": f"{first.at[drain.first]:.3f}s", "rate": f"{0.9 * RATE_MBIT:g}Mbit"})),
        "less-in-down": _path(**_steps({"at": f"{first.at[down.first]:.3f}s", "rate": f"{0.9 * RATE_MBIT:g}Mbit"})),
    }
    # What was written ends just after REFILL began; more comes a round trip later. The send buffer takes all of it at once.
    sent = first.column("acked_bytes")[refill.first] + first.column("in_flight_bytes")[refill.first] + 8 * MSS
    on, until = sent * 8e-6 / _FAST_MBIT, first.at[refill.first] + RTT_MS / 1e3
    writes = _writes(_FAST_MBIT, on=f"{on * 1e3:.3f}ms", off=f"{(until - on) * 1e3:.3f}ms")
    out["pause-in-refill"] = _path(traffic={**writes, "tcp": {"send_buffer": "64MB"}}, seconds=until + 3)
    return out
