"""The kernel world: real Linux in virtual time, as an ordinary user."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ... import _core
from ...errors import InputError
from ..base import GSO, Live, Made, World, option, refuse_outside
from ..wire import ftp_files, ftp_server
from . import guests
from .host_files import host_files

__all__ = ["Kernel"]

#: Where the links of an experiment may be.
ROUTERS = ("auto", "kernel", "user")

#: From so many seconds of processor time on, an estimate is shown before the runs.
LONG_S = 120.0


def own_discipline(tc: str) -> dict[str, str]:
    """A queue that is one of Linux's own disciplines, by the words of `tc`."""
    return {"kind": "kernel", "tc": tc}


@dataclass(frozen=True)
class Kernel(World):
    """A Linux kernel as an ordinary process, whose clock moves only when nothing is left to do. One boot a run."""

    kernel: str = option("", "which kernel: how its release or hash begins (default: the one built last)")
    router: str = option(
        "auto",
        "where the links are: in the guest's `kernel`, in `user` space, or `auto`: in the kernel if it can do the experiment",
    )
    gso: bool = option(False, GSO)

    control: str = option(
        "", "controls of the kernel instead of those in the file, such as reno=foo; several with commas between"
    )
    pcap: str = option(
        "", "folder for a capture of each new run: the head of every packet that leaves or reaches a host"
    )

    name = "kernel"
    about = "Real Linux TCP in virtual time: a kernel as an ordinary process, never late, the same bytes for the same seed; see `haltere kernel`."
    title = "kernel world"
    place = "in the kernel world"
    beside_the_seed = "In the kernel world a run is a function of scenario, seed and kernel."
    elsewhere = False
    has_live = True

    def __post_init__(self) -> None:
        if self.router not in ROUTERS:
            raise InputError(f"router must be one of {', '.join(f'`{one}`' for one in ROUTERS)}, got `{self.router}`")
        self._controls()

    @cached_property
    def built(self) -> guests.GuestKernel:
        """The kernel that runs are made in."""
        return guests.find(self.kernel)

    @property
    def key_part(self) -> str:
        """The kernel, its program and the options: a run is a function of them."""
        return (
            f" {self.name} {self.built.hash} {self.built.told['guest']} {json.dumps(self._options(), sort_keys=True)}"
        )

    def check(self, scenarios: Sequence[_core.Scenario]) -> None:
        """Refuses what the kernel cannot run, and runs without a kernel."""
        refuse_outside(scenarios, self.place)
        stand_ins = self._controls()
        for name in stand_ins.values():
            if name not in self.built.controls:
                has = ", ".join(self.built.controls)
                raise InputError(
                    f"control must be one that the kernel has ({has}), got `{name}`; `haltere kernel build --add tcp_{name}.c` adds one"
                )
        for scenario in scenarios:
            accurate_ecn = bool(self.built.told.get("accurate_ecn"))
            _core.kernel_check(scenario, [*self.built.controls, *stand_ins], accurate_ecn)

    def forecast(self, scenarios: Sequence[_core.Scenario]) -> str:
        """How much processor time the runs take, if it is much."""
        options = json.dumps(self._options())
        known: dict[int, float] = {}
        for one in scenarios:
            if id(one) not in known:
                known[id(one)] = _core.kernel_cost(one, options)
        seconds = sum(known[id(one)] for one in scenarios)
        if seconds < LONG_S:
            return ""
        much = f"{seconds / 3600:.1f} hours" if seconds >= 5400 else f"{seconds / 60:.0f} minutes"
        runs = "one run" if len(scenarios) == 1 else f"{len(scenarios)} runs"
        return f"{runs} in the kernel world: about {much} of processor time"

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> _core.Run:
        """Boots a kernel and makes one run in it."""
        from ...experiment import Experiment

        built = self.built
        told = self._options()
        traffic = Experiment(json.loads(scenario.to_json())).traffic
        if any(one.kind == "ftp" for one in traffic):
            told |= {"ftp_server": ftp_server(), "host_files": ftp_files()}
        programs = [one for one in traffic if one.kind == "program"]
        if programs:
            told |= {"host_files": host_files([one.values for one in programs], told.get("host_files", ()))}
        if self.pcap:
            folder = Path(self.pcap)
            folder.mkdir(parents=True, exist_ok=True)
            told |= {"pcap": str(folder.resolve() / f"{scenario.hash(seed)[:12]}-seed{seed}.pcap")}
        return _core.kernel_run(scenario, seed, str(built.vmlinux), str(built.guest), json.dumps(told), progress)

    def live(self, scenario: _core.Scenario, outside: str | None) -> Live:
        """A guest, which boots when a program is to run. All nodes are in it."""
        from .session import Session

        return Session(self.built, self.gso, scenario)

    def notes(self, made: Made) -> Mapping[str, Any]:
        """The kernel, and what its links counted."""
        counted = made.wire if isinstance(made, _core.Run) else None
        told = self.built.told
        about = {key: told[key] for key in ("release", "hash", "config", "added")} | {
            "patches": told.get("patches", {})
        }
        return {self.name: {**about, **(json.loads(counted) if counted else {})}}

    def remarks(self, notes: Sequence[Mapping[str, Any]]) -> list[str]:
        """Which kernel, where the links were, and how late packets left them."""
        runs = [one[self.name] for one in notes if self.name in one]
        if not runs:
            return []
        late = max(one["late_us"]["max"] for one in runs)
        places = " and ".join(sorted({one["fabric"] for one in runs}))
        which = " and ".join(sorted({f"{one['release']} ({one['hash'][:12]})" for one in runs}))
        changes = sorted({f"{name} ({hash[:12]})" for one in runs for name, hash in one["patches"].items()})
        changed = [f"This Linux was changed by {' and '.join(changes)}."] if changes else []
        return [
            f"Linux {which}; links in the guest's {places} space; the latest packet left {late:.2f} us late.",
            *changed,
        ]

    def _controls(self) -> dict[str, str]:
        pairs = [one.split("=") for one in self.control.split(",") if one]
        if not all(len(pair) == 2 and all(pair) for pair in pairs):
            raise InputError(f"control must be NAME=NAME, such as reno=foo, got `{self.control}`")
        return dict(pairs)

    def _options(self) -> dict[str, Any]:
        """What decides a run beside scenario, seed and kernel."""
        return {"router": self.router, "gso": self.gso, "controls": self._controls()}
