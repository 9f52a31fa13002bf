"""The worlds in which an experiment runs: the simulator, and the wire (real packets between Linux network namespaces)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _core
from ..errors import InputError

__all__ = ["SIM", "WORLDS", "World"]

#: Name and what it is.
WORLDS = {
    "sim": "The simulator: virtual time, the same bytes for the same seed.",
    "wire": "Real packets and the kernel's TCP between Linux network namespaces, in real time; needs root or `unshare -Urn`.",
}


@dataclass(frozen=True)
class World:
    """Where runs are made. ``anyway``: on the wire, run although the calibration finds the machine unfit, and say so."""

    name: str = "sim"
    anyway: bool = False

    def check(self, scenarios: Sequence[_core.Scenario], jobs: int | None) -> int | None:
        """Refuses before the first run what this world cannot do; returns how many runs there may be at a time."""
        if self.name not in WORLDS:
            raise InputError(f"world must be one of {', '.join(f'`{name}`' for name in WORLDS)}, got `{self.name}`")
        if self.name == "sim":
            return jobs
        if jobs not in (None, 1):
            raise InputError(f"jobs must be 1 on the wire, got {jobs}; runs at the same time would measure each other")
        for scenario in scenarios:
            _core.wire_check(scenario)
        return 1

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> _core.Run:
        """One run."""
        if self.name == "sim":
            return _core.run(scenario, seed, progress)
        calibrate = "note" if self.anyway else "refuse"
        return _core.wire_run(scenario, seed, progress, calibrate, _ftp_server())


#: The simulator.
SIM = World()


def _ftp_server() -> list[str]:
    """The command that serves FTP in a namespace; it says itself what it lacks. `-P`: this package's modules are not top-level ones."""
    return [sys.executable, "-P", str(Path(__file__).with_name("ftp_server.py"))]
