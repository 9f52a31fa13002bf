"""The wire: real packets between Linux network namespaces, in real time."""

from __future__ import annotations

import json
import site
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _core
from .base import GSO, Live, Made, World, option, refuse_outside

__all__ = ["Wire", "ftp_files", "ftp_server"]

#: How the kernel runs the router's thread.
SCHEDULES = {
    "fifo": "before all ordinary ones (SCHED_FIFO)",
    "slice": "one of the ordinary ones, with a short slice (no CAP_SYS_NICE)",
    "shared": "one of the ordinary ones",
}

#: What the calibration allows a round trip to be longer than the plan's: this, or this share of it (``calibration.rs``).
_LATE_US, _LATE_SHARE = 300, 0.02


@dataclass(frozen=True)
class Wire(World):
    """Real packets. A calibration before each run refuses a machine whose rates or delays are out of bounds."""

    ignore_calibration: bool = option(
        False, "run although the calibration finds the machine unfit; report and manifest say so"
    )

    gso: bool = option(False, GSO)

    name = "wire"
    about = "Real packets and the kernel's TCP between Linux network namespaces, in real time; needs root or `unshare -Urn`."
    title = "wire"
    place = "on the wire"
    privileges = "Needs root or `unshare -Urn`."
    most_jobs = 1
    most_jobs_because = "runs at the same time would measure each other"
    elsewhere = False
    has_live = True
    errors_are_of_one_run = False
    beside_the_seed = (
        "On the wire the seed decides start times and random draws; the kernel's scheduling decides the rest."
    )

    def check(self, scenarios: Sequence[_core.Scenario]) -> None:
        """Refuses what the wire cannot run, and a process that may not make network namespaces."""
        refuse_outside(scenarios, self.place, ["python"])
        for scenario in scenarios:
            _core.wire_check(scenario)

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> _core.Run:
        """Makes one run in real time."""
        calibrate = "note" if self.ignore_calibration else "refuse"
        return _core.wire_run(scenario, seed, progress, calibrate, ftp_server(), self.gso)

    def live(self, scenario: _core.Scenario, outside: str | None) -> Live:
        """Network namespaces on this machine."""
        from .live import Namespaces

        return Namespaces(scenario, outside)

    @property
    def key_part(self) -> str:
        """A run with segmentation offload is another one than a run without."""
        return super().key_part + (" gso" if self.gso else "")

    def notes(self, made: Made) -> Mapping[str, Any]:
        """The calibration before the run and the router's counters."""
        notes = made.wire if isinstance(made, _core.Run) else None
        return {self.name: json.loads(notes)} if notes else {}

    def remarks(self, notes: Sequence[Mapping[str, Any]]) -> list[str]:
        """What the calibrations measured, what was out of bounds, and how late frames left."""
        runs = [one[self.name] for one in notes if self.name in one]
        calibrated = [one["calibration"] for one in runs if one.get("calibration")]
        return _remarks(runs, calibrated) if calibrated else []


def _remarks(runs: Sequence[Mapping[str, Any]], calibrated: Sequence[Mapping[str, Any]]) -> list[str]:
    cpu = [100 * one["router"]["cpu"] for one in runs]
    lost = sum(one["router"]["unaccounted"] for one in runs)
    outside = sum(port["overrun"] + port["refused"] for one in runs for port in one["router"]["ports"])
    threads = sorted({one["router"].get("schedule", "shared") for one in runs})
    lines = [
        f"Measured before each of {len(calibrated)} runs: {_measured(calibrated)}; "
        f"the router used {min(cpu):.0f} to {max(cpu):.0f} % of a core in the runs.",
        f"Packets that the router cannot account for: {lost}; lost before or behind its queues: {outside}.",
        _late(runs, max(one["planned_rtt_s"] for one in calibrated)),
        f"The router's thread: {', '.join(SCHEDULES[one] for one in threads)}.",
    ]
    out = [one["out_of_bounds"] for one in calibrated if one["out_of_bounds"]]
    if out:
        lines.append(f"Out of bounds in {len(out)} of {len(calibrated)} runs, run with --ignore-calibration: {out[0]}.")
    return lines


def _late(runs: Sequence[Mapping[str, Any]], rtt_s: float) -> str:
    """How late frames left, and what that means for the results."""
    mean, most, latest = (max(one["router"]["late_us"][of] for one in runs) for of in ("mean", "p99", "max"))
    bound = max(_LATE_US, _LATE_SHARE * rtt_s * 1e6)
    agent = max(one["agent"]["late_us"]["max"] for one in runs)
    if latest <= bound:
        means = "so delays are the plan's"
    elif most <= bound:
        means = "so means and percentiles up to the 99th hold, and the largest delays are the machine's"
    else:
        means = "so delays are too long by as much, and flows that wait for them are slower: repeat the runs with less other work on this machine"
    return (
        f"Frames left {_span(mean)} late on average, 99 of 100 at most {_span(most)}, the latest {_span(latest)}; hosts wrote and read at "
        f"most {_span(agent)} late. The calibration allows {_span(bound)}, {means}. Rates hold: a late frame is not lost, and the line "
        "makes up for it."
    )


def _span(us: float) -> str:
    """Microseconds in words."""
    return f"{us:.0f} us" if us < 1000 else f"{us / 1000:.3g} ms"


def _measured(calibrated: Sequence[Mapping[str, Any]]) -> str:
    rates = [one["link"]["measured_bps"] / one["link"]["planned_bps"] - 1 for one in calibrated if one.get("link")]
    above = [1e6 * (one["measured_rtt_s"] - one["planned_rtt_s"]) for one in calibrated]
    spread = (100 * min(rates, default=0.0), 100 * max(rates, default=0.0))
    slowest = "rate of the slowest link {:+.2f} to {:+.2f} % of the plan's; ".format(*spread) if rates else ""
    return (
        f"{slowest}idle round trip {min(above):.0f} to {max(above):.0f} us above the plan's, "
        f"its deviation up to {1e6 * max(one['jitter_s'] for one in calibrated):.0f} us"
    )


def ftp_server() -> list[str]:
    """The command that serves FTP in a namespace; it says itself what it lacks. `-P`: this package's modules are not top-level ones."""
    return [sys.executable, "-P", str(Path(__file__).with_name("ftp_server.py"))]


def ftp_files() -> list[str]:
    """The files and folders that this server reads: Python, installed packages, and the system's programs."""
    installed = {sys.prefix, sys.base_prefix, site.getusersitepackages(), *site.getsitepackages()}
    settings = f"/etc/python{sys.version_info.major}.{sys.version_info.minor}"
    return sorted({*installed, str(Path(__file__).parent), "/bin", "/usr", settings})
