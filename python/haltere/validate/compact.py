"""Makes the compact form of a directory of results: the same JSON without what the comparison does not read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from . import dynamics
from .measures import counts_all_marks
from .scenario import normal

_SERIES = ("t", "cwnd", "ca_state", "pacing_Bps", "srtt_us")
_RATE = (
    "kind",
    "bytes",
    "packets",
    "drops",
    "drops_total",
    "rate_mbit",
    "qlen_mean",
    "qlen_p95",
    "qlen_max",
    "marked",
    "ecn_mark",
)
_FLOW = (
    "id",
    "dir",
    "cc",
    "start",
    "stop",
    "proto",
    "path",
    "goodput_mbit",
    "ecn",
    "host",
    "retrans_after_warmup",
    "cwnd_mean",
    "srtt_ms_median",
)
_PING = ("n", "lost", "median_ms", "p95_ms", "mean_ms", "min_ms")
_TOP = ("scenario", "error", "vm")


def compact(result: dict[str, Any]) -> dict[str, Any]:
    """One result, made small. Reading it gives the same measures as reading the whole."""
    small: dict[str, Any] = {key: result[key] for key in _TOP if key in result}
    if "flows" not in result:
        return small
    scenario = normal(result["scenario"])
    keep_series = dynamics.wanted(scenario, len(result["flows"]))
    small["flows"] = []
    for flow in result["flows"]:
        kept = {key: flow[key] for key in _FLOW if key in flow}
        if not counts_all_marks(scenario):
            kept |= {key: flow[key] for key in ("delivered_pkts", "delivered_ce") if key in flow}
        if keep_series and "series" in flow:
            kept["series"] = {key: flow["series"][key] for key in _SERIES if key in flow["series"]}
        small["flows"].append(kept)
    small["queues"] = {}
    for label, queue in result["queues"].items():
        if label.startswith(("fwd", "rev")) or result["scenario"].get("shaper") == "netem":
            small["queues"][label] = {key: queue[key] for key in _RATE if key in queue}
    if result.get("transfers"):
        small["transfers"] = [one["fct"] for one in result["transfers"]]
    if result.get("udp"):
        small["udp"] = result["udp"]
    if result.get("ping"):
        small["ping"] = {key: result["ping"][key] for key in _PING if key in result["ping"]}
    return small


def compact_directory(source: Path, target: Path) -> int:
    """Writes the compact form of all results under `source` to the same places under `target`; returns the bytes written."""
    written = 0
    for path in sorted(source.rglob("*.json")):
        data = json.loads(path.read_text())
        if path.name == "summary.json":
            text = json.dumps(data, separators=(",", ":"))
        elif isinstance(data, list):
            text = json.dumps(
                [compact(one) for one in data if isinstance(one, dict) and "scenario" in one], separators=(",", ":")
            )
        elif isinstance(data, dict) and "scenario" in data:
            text = json.dumps(compact(data), separators=(",", ":"))
        else:
            continue
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")
        written += len(text) + 1
    return written
