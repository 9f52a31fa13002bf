"""The simulator: virtual time, and the same bytes for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import _core
from .base import World


@dataclass(frozen=True)
class Sim(World):
    """The simulator. Its runs differ from those of other worlds by having no mark: not in keys and not in directories."""

    name = "sim"
    about = "The simulator: virtual time, the same bytes for the same seed."
    title = "simulator"
    place = "in the simulator"
    key_part = ""
    suffix = ""

    def check(self, scenarios: Sequence[_core.Scenario]) -> None:
        """Refuses queue disciplines of a kernel."""
        for scenario in scenarios:
            _core.sim_check(scenario)

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> _core.Run:
        """Makes one run in virtual time."""
        return _core.run(scenario, seed, progress)
