"""A first look at an experiment: fewer seeds and less time."""

from __future__ import annotations

from typing import Any

from ..api import Scenario

QUICK_S, QUICK_SEEDS = 20.0, 2


def quick(scenario: Scenario, seeds: int | None) -> tuple[Scenario, int, str]:
    """The experiment cut down for a first look, its seeds, and what was left out."""
    left = []
    if seeds is None and scenario.seeds > QUICK_SEEDS:
        left.append(f"{scenario.seeds - QUICK_SEEDS} of {scenario.seeds} seeds")
    changes: dict[str, Any] = {}
    full = scenario.experiment
    if full.duration_s > QUICK_S:
        left.append(f"the time after {QUICK_S:g} s (of {full.duration_s:g} s)")
        changes["duration"] = f"{QUICK_S:g}s"
        if full.warmup_s > QUICK_S / 2:
            changes["warmup"] = f"{QUICK_S / 4:g}s"
            left.append(f"warm-up after {QUICK_S / 4:g} s of {full.values['warmup']}")
    return scenario.with_values(changes), seeds or min(QUICK_SEEDS, scenario.seeds), ", ".join(left)
