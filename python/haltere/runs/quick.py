"""A first look at an experiment: fewer seeds and less time."""

from __future__ import annotations

from typing import Any

from ..analysis import measures
from ..api import Scenario

__all__ = ["quick"]

QUICK_S, QUICK_SEEDS = 20.0, 2


def quick(scenario: Scenario, seeds: int | None) -> tuple[Scenario, int, str]:
    """The experiment cut down for a first look, its seeds, and what was left out."""
    left = []
    if seeds is None and scenario.seeds > QUICK_SEEDS:
        left.append(f"{scenario.seeds - QUICK_SEEDS} of {scenario.seeds} seeds")
    changes: dict[str, Any] = {}
    full = scenario.to_dict()
    if measures.seconds(full) > QUICK_S:
        left.append(f"what comes after {QUICK_S:g} s of {measures.seconds(full):g} s")
        changes["duration"] = f"{QUICK_S:g}s"
        if measures.warmup_s(full) > QUICK_S / 2:
            changes["warmup"] = f"{QUICK_S / 4:g}s"
            left.append(f"warm-up after {QUICK_S / 4:g} s of {full['warmup']}")
    return scenario.with_values(changes), seeds or min(QUICK_SEEDS, scenario.seeds), ", ".join(left)
