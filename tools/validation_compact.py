"""Makes the compact form of a directory of results: the same JSON without what the comparison does not read.

python tools/validation_compact.py FROM TO
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from haltere.validate import dynamics
from haltere.validate.measures import counts_all_marks
from haltere.validate.scenario import normal

#: What is kept: of a result, and of its flows, their series, its queues and its pings.
_TOP = ("scenario", "error", "vm")
_FLOW = (
    "id", "dir", "cc", "start", "stop", "proto", "path", "goodput_mbit", "ecn", "host", "retrans_after_warmup", "cwnd_mean",
    "srtt_ms_median",
)  # fmt: skip
_SERIES = ("t", "cwnd", "ca_state", "pacing_Bps", "srtt_us")
_QUEUE = (
    "kind", "bytes", "packets", "drops", "drops_total", "rate_mbit", "qlen_mean", "qlen_p95", "qlen_max", "marked", "ecn_mark",
)  # fmt: skip
_PING = ("n", "lost", "median_ms", "p95_ms", "mean_ms", "min_ms")


def _some(values: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: values[key] for key in keys if key in values}


def compact(result: dict[str, Any]) -> dict[str, Any]:
    """One result, made small. Reading it gives the same measures as reading the whole."""
    small = _some(result, _TOP)
    if "flows" not in result:
        return small
    scenario = normal(result["scenario"])
    acknowledged = () if counts_all_marks(scenario) else ("delivered_pkts", "delivered_ce")
    small["flows"] = [_some(flow, [*_FLOW, *acknowledged]) for flow in result["flows"]]
    if dynamics.wanted(scenario, len(result["flows"])):
        for kept, flow in zip(small["flows"], result["flows"], strict=True):
            kept |= {"series": _some(flow["series"], _SERIES)} if "series" in flow else {}
    netem = result["scenario"].get("shaper") == "netem"
    queues = result["queues"].items()
    small["queues"] = {name: _some(one, _QUEUE) for name, one in queues if netem or name.startswith(("fwd", "rev"))}
    if result.get("transfers"):
        small["transfers"] = [one["fct"] for one in result["transfers"]]
    if result.get("udp"):
        small["udp"] = result["udp"]
    if result.get("ping"):
        small["ping"] = _some(result["ping"], _PING)
    return small


def compact_directory(source: Path, target: Path) -> int:
    """Writes the compact form of all results under `source` to the same places under `target`; returns the bytes written."""
    written = 0
    for path in sorted(source.rglob("*.json")):
        data = json.loads(path.read_text())
        if isinstance(data, list):
            data = [compact(one) for one in data if isinstance(one, dict) and "scenario" in one]
        elif path.name != "summary.json":
            if "scenario" not in data:
                continue
            data = compact(data)
        text = json.dumps(data, separators=(",", ":"))
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text + "\n")
        written += len(text) + 1
    return written


if __name__ == "__main__":
    print(f"{compact_directory(Path(sys.argv[1]), Path(sys.argv[2]))} bytes")
