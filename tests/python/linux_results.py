"""Results as the harness on Linux writes them, for tests of `haltere validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from haltere.validate import load
from haltere.validate.scenario import normal

LINUX = Path(__file__).parents[2] / "validation" / "linux"
"""The results that the page is made of."""


def result(**scenario: Any) -> dict[str, Any]:
    """A result of the harness with two flows one way."""
    base = {
        "name": "X_r1",
        "rate_mbit": 10,
        "rtt_ms": 20,
        "qdisc": "pfifo limit 50",
        "duration": 20,
        "warmup": 5,
        "seed": 1,
    }
    base["flows"] = [{"dir": "fwd", "cc": "cubic", "n": 1, "start": 0.05}, {"dir": "fwd", "cc": "bbr", "n": 1}]
    flows = [
        {"id": 0, "dir": "fwd", "cc": "cubic", "start": 0.05, "stop": None, "goodput_mbit": 6.0},
        {"id": 1, "dir": "fwd", "cc": "bbr", "start": 0.0, "stop": None, "goodput_mbit": 3.0},
    ]
    queues = {"fwd": {"kind": "pfifo", "qlen_mean": 12.5, "drops": 10, "packets": 990, "marked": 99, "rate_mbit": 9.5}}
    ping = {"median_ms": 30.0, "p95_ms": 40.0, "n": 10, "lost": 0}
    return {"scenario": base | scenario, "flows": flows, "queues": queues, "ping": ping}


def write(folder: Path, name: str, value: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(value))


def case(**scenario: Any) -> load.Case:
    return load.Case("x", "set", normal(result(**scenario)["scenario"]))


# ------------------------------------------------------------------ tc
