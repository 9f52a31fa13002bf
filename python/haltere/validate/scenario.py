"""The harness's scenarios: the defaults, and the flows and transfers that it draws for a seed."""

from __future__ import annotations

from random import Random
from typing import Any

DEFAULTS: dict[str, Any] = {
    "topology": "chain", "rate_mbit": 10, "both_ways": False, "shaper": "htb", "rtt_ms": 10.0, "access_mbit": None,
    "qdisc": "pfifo limit 1000", "qdisc_rev": None, "ecn": 0, "sysctl": {}, "txqueuelen": 1000, "flows": [],
    "duration": 60.0, "warmup": 10.0, "ping": None, "seed": 1, "mtu": 1500, "paths": None, "sample": {},
    "transfers": [], "udp": [], "steps": [], "hosts": {}, "netem_fwd": "", "netem_rev": "",
}  # fmt: skip
"""What the harness takes if a scenario says nothing."""
SAMPLE = {"tcp_ms": 50, "qdisc_ms": 10, "store_tcp_ms": None, "store_qdisc_ms": None}


def normal(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario with the harness's defaults filled in."""
    full = DEFAULTS | scenario
    full["sample"] = SAMPLE | (scenario.get("sample") or {})
    return full


def expand_flows(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry a flow, with the start that the harness draws for the scenario's seed."""
    draws = Random(f"jitter-{scenario['seed']}")
    flows = []
    for group in scenario["flows"]:
        for _ in range(group.get("n", 1)):
            start = round(group.get("start", 0.0) + draws.uniform(0, group.get("spread", 0.0)), 6)
            rest = {"cc": group.get("cc", "cubic"), "stop": group.get("stop"), "proto": group.get("proto", "tcp")}
            rest |= {key: group[key] for key in ("ecn", "host", "class") if key in group}
            flows.append({"dir": group.get("dir", "fwd"), "start": start, "path": group.get("path", 0), **rest})
    return flows


def expand_transfers(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry a transfer, which starts at the time and of the size that the harness draws for the scenario's seed."""
    transfers = []
    for number, group in enumerate(scenario["transfers"]):
        draws = Random(f"transfers-{scenario['seed']}-{number}")
        sizes = sorted((int(size), weight) for size, weight in group["sizes"].items())
        rest = {"dir": group.get("dir", "fwd"), "cc": group.get("cc", "cubic")}
        rest |= {"ecn": group["ecn"]} if "ecn" in group else {}
        at = group.get("start", 0.0) + draws.expovariate(group["per_second"])
        while at < group.get("stop", scenario["duration"]):
            size = draws.choices([size for size, _ in sizes], [weight for _, weight in sizes])[0]
            transfers.append({"start": round(at, 6), "bytes": size, **rest})
            at += draws.expovariate(group["per_second"])
    return transfers
