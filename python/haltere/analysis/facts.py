"""Numbers that were read off runs before, so that a summary need not read the tables of every run again.

``measures.json`` lies beside the manifest. It holds, by run, what was asked of the run: metrics, names of traffic entries and links. A run
is known by its key and its digest, and the file by a hash of the code that measures and by its own checksum. What does not fit is measured
again. The file may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..runs.files import read_regular, write_atomically
from ..runs.records import with_checksum, without_checksum

_NAME = "measures.json"
#: The modules whose change makes old numbers worthless.
_SOURCES = (
    "delays.py", "facts.py", "measures.py", "metrics.py", "own.py", "stats.py", "summary.py", "workloads.py", "../experiment.py",
    "../kinds.py", "../report/words.py",
)  # fmt: skip


@cache
def _version() -> str:
    here, whole = Path(__file__).parent, hashlib.sha256()
    for name in _SOURCES:
        whole.update((here / name).read_bytes())
    return whole.hexdigest()[:16]


class Facts:
    """What is known of the runs of one results directory, without their tables."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / _NAME
        self._known: dict[str, dict[str, Any]] = {}
        self._changed = False
        #: What is wrong with the file; empty if nothing is, or none is there.
        self.damaged = ""
        if self._path is None or not os.path.lexists(self._path):
            return
        told = None
        with suppress(OSError):
            told = without_checksum(read_regular(self._path))
        if told is None:
            self.damaged, self._changed = f"{self._path}: its contents are not what was written", True
        elif told["version"] == _version():
            self._known = told["runs"]

    def ask(self, run: str, name: str, measure: Callable[[], Any]) -> Any:
        """What is known under that name of the run (its key and digest); measured if it is new. Values are what JSON can hold."""
        own = self._known.get(run)
        if own is None:
            own = self._known[run] = {}
        if name not in own:
            own[name] = measure()
            self._changed = True
        return own[name]

    def add(self, run: str, facts: Mapping[str, Any]) -> None:
        """Takes what was measured when the run was made."""
        self._known.setdefault(run, {}).update(facts)
        self._changed = True

    def of(self, run: str) -> dict[str, Any]:
        """All that is known of a run."""
        return dict(self._known.get(run, {}))

    def save(self) -> None:
        """Writes what is new. A directory that cannot be written keeps what it has."""
        if self._path is None or not self._changed:
            return
        try:
            told = {"version": _version(), "runs": self._known}
            write_atomically(self._path, with_checksum(json.dumps(told, separators=(",", ":"))))
            self._changed = False
        except OSError:
            pass
