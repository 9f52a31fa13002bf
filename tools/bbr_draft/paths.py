"""The experiments in which the draft's test cases are carried out: one flow of BBRv3 over a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haltere.characterize.files import Table

from .trace import Trace

RATE_MBIT, RTT_MS, MSS = 10.0, 40.0, 1448
#: When a path changes, and when one loses packets.
STEP_S, LOSS_AT_S = 8.3, 8.0
#: An application that writes faster than any path, so that it can end at a chosen byte.
_FAST_MBIT = 200.0


def payload(rate_mbit: float) -> float:
    """The payload of a full link: 1448 of the 1514 bytes of a frame."""
    return rate_mbit * MSS / 1514


def experiment(
    seconds: float = 30.0, bottleneck: Mapping[str, Any] = {}, flow: Mapping[str, Any] = {}, sample: str = "5ms"
) -> Table:
    """One flow over a path; ``bottleneck`` and ``flow``: what is different; ``sample``: how often it is looked at."""
    queue = {"kind": "drop_tail", "limit": "4bdp"}
    link = {"rate": f"{RATE_MBIT:g}Mbit", "delay": f"{RTT_MS / 2:g}ms", "queue": queue, "watch": True, **bottleneck}
    return {
        "duration": f"{seconds:g}s",
        "topology": {"dumbbell": {"pairs": 1, "access": {"rate": "10Gbit"}, "bottleneck": link}},
        "traffic": [{"name": "own", "kind": "bulk", "jitter": "0s", **flow, "pairs": [1], "congestion": "OWN"}],
        "measure": {"queues": "off", "flows": sample, "state": True},
    }


def derived(first: Trace) -> dict[str, Table]:
    """The experiments in which something happens when the flow of the plain one enters a phase."""

    def less(at_s: float, share: float) -> Table:
        slower = {"schedule": [{"at": f"{at_s:.3f}s", "rate": f"{share * RATE_MBIT:g}Mbit"}]}
        return experiment(bottleneck=slower, sample="1ms")

    drain, down, refill = first.first("drain"), first.first("down", after_s=5.0), first.first("refill")
    # What was written ends just after REFILL began; more comes a round trip later. The send buffer takes all of it at once.
    sent = first.column("acked_bytes")[refill.first] + first.column("in_flight_bytes")[refill.first] + 8 * MSS
    on, until = sent * 8e-6 / _FAST_MBIT, first.at[refill.first] + RTT_MS / 1e3
    writes = {
        "kind": "on_off",
        "rate": f"{_FAST_MBIT:g}Mbit",
        "on": f"{on * 1e3:.3f}ms",
        "off": f"{(until - on) * 1e3:.3f}ms",
    }
    return {
        # The draft takes a tenth from the rate. Then DRAIN's gain of 0.5 empties the queue within a round, and the time never matters.
        "less-in-drain": less(first.at[drain.first], 0.5),
        "less-in-down": less(first.at[down.first], 0.9),
        "pause-in-refill": experiment(until + 3, flow={**writes, "tcp": {"send_buffer": "64MB"}}),
    }
