"""Modules under the names that they had one version ago: ``haltere.stats`` is ``haltere.analysis.stats``. Each import warns once."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["MOVED", "install"]

_PACKAGE = __name__.rpartition(".")[0]

_MACHINERY = (_PACKAGE, "importlib", "_frozen_importlib", "_frozen_importlib_external")

#: Old name and new name, below the package.
MOVED = {
    "compare": "analysis.compare",
    "experiment": "api",
    "measures": "analysis.measures",
    "metrics": "analysis.metrics",
    "parity": "analysis.parity",
    "results": "runs.results",
    "stats": "analysis.stats",
    "papers": "studies",
    "papers.aqm_lab": "studies.aqm_lab",
    "papers.dctcp_hysteresis": "studies.dctcp_hysteresis",
    "papers.dctcp_hysteresis_fast": "studies.dctcp_hysteresis.fast",
    "papers.dctcp_hysteresis_paper": "studies.dctcp_hysteresis.paper",
    "papers.iaas": "studies.iaas",
    "papers.iaas_matrix": "studies.iaas.matrix",
    "papers.mptcp_red": "studies.mptcp_red",
    "papers.mptcp_red_readings": "studies.mptcp_red.readings",
    "papers.rafle": "studies.rafle",
    "papers.rafle_figures": "studies.rafle.figures",
    "papers.rafle_router": "studies.rafle.router",
    "papers.rafle_tasks": "studies.rafle.tasks",
}


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, old = fullname.partition(".")
        if package != _PACKAGE or old not in MOVED:
            return None
        return ModuleSpec(fullname, _Alias(f"{_PACKAGE}.{MOVED[old]}"))


class _Alias(Loader):
    """Loads nothing: it gives the module of the new name."""

    def __init__(self, new: str) -> None:
        self.new = new
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of the new name, with a warning."""
        _warn(f"`{spec.name}` is now `{self.new}`; the old name goes with the next version")
        module = importlib.import_module(self.new)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has been carried out; the import has given it the spec of the old name."""
        module.__spec__ = self.spec


def _warn(text: str) -> None:
    """A warning at the line of whoever imports, beyond the machinery of imports."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _MACHINERY:
        frame = frame.f_back
    warnings.warn_explicit(
        text, DeprecationWarning, frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )  # fmt: skip


def install() -> None:
    """Makes the old names importable."""
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.append(_Finder())
