"""Files of other tools: what ``haltere import`` reads and ``haltere export --format`` writes.

A new format is a module here and a line in :data:`READERS`, :data:`WRITERS` or :data:`CURVES`; the module is imported when it is used.
A reader gives an experiment and says what of the source it left out. It never guesses in silence.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from .found import Curve, Found

__all__ = ["CURVES", "READERS", "WRITERS", "Curve", "Found", "curves", "read", "write"]

#: Each format that becomes an experiment, and what a user gives.
READERS = {
    "mahimahi": "a command line such as 'mm-delay 20 mm-link up.trace down.trace -- CMD'",
    "mininet": "a Python script that builds a dumbbell of TCLinks",
    "interop": "a scenario of the QUIC interop runner, such as 'simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25'",
    "pico_sim": "a specification of picoquic's simulator",
    "htsim": "a connection matrix (.cm) of htsim, and its topology (.topo)",
}
#: Each format that results become, and what one file holds.
WRITERS = {
    "flent": "flent's data file (.flent.gz), one a run",
    "iperf3": "iperf3's JSON, one a TCP flow and run",
    "flowmonitor": "the XML of ns-3's FlowMonitor, one a run",
}
#: Each format whose curves can be drawn beside a run, by the ending of its files.
CURVES = {"flent": (".flent.gz", ".flent"), "iperf3": (".json",)}


def read(name: str, words: Sequence[str]) -> Found:
    """The experiment in a source of that format. ``words`` are a file's name, or the command line itself."""
    return _module(name, READERS).read(words)  # type: ignore[no-any-return]


def write(name: str, results: Any, folder: Path) -> list[Path]:
    """Writes results in that format, and says where."""
    folder.mkdir(parents=True, exist_ok=True)
    return _module(name, WRITERS).write(results, folder)  # type: ignore[no-any-return]


def curves(path: str | Path) -> list[Curve]:
    """The curves in a file of another tool."""
    for name, endings in CURVES.items():
        if str(path).endswith(endings):
            return _module(name, CURVES).curves(Path(path))  # type: ignore[no-any-return]
    known = ", ".join(f"`{endings[0]}` ({name})" for name, endings in CURVES.items())
    raise InputError(f"{path}: file must end in {known}")


def _module(name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise InputError(f"format must be one of {', '.join(f'`{one}`' for one in known)}, got `{name}`")
    return importlib.import_module(f".{name}", __package__)
