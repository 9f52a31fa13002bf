"""What both parts of the study `iaas` share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api import Scenario

__all__ = ["CASES", "ID", "LABELS", "shorter"]

ID = "iaas"
LABELS = {"cubic": "Cubic", "reno": "Reno", "bbr": "BBR", "vegas": "Vegas", "dctcp": "DCTCP", "bbr3": "BBRv3"}
CASES = {
    "1bdp": "no ECN, drop tail of 1 BDP",
    "1000p": "no ECN, drop tail of 1000 packets",
    "red": "ECN, RED",
}


def shorter(scenario: Scenario, sweep: Mapping[str, Any]) -> Scenario:
    """The experiment of 10 s, with these axes of its sweep in place of its own."""
    full = scenario.to_dict()
    changed = scenario.with_values({"warmup": "2s", "duration": "10s"})
    return changed.with_values({"sweep": {**full["sweep"], **sweep}})
