"""Haltere: a laboratory for how flows share a bottleneck.

>>> import haltere
>>> scenario = haltere.load("experiment.toml")          # doctest: +SKIP
>>> results = scenario.run(seeds=10, out="results/mine") # doctest: +SKIP
>>> results.summary()                                    # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import version as __version__
from .errors import HaltereError, InputError

if TYPE_CHECKING:
    from .api import Results, RunsFailed, Scenario, load
    from .mechanisms import Classifier, CongestionControl, Queue, Scheduler, Source, param, register

__all__ = [
    "Classifier", "CongestionControl", "HaltereError", "InputError", "Queue", "Results", "RunsFailed", "Scenario", "Scheduler", "Source",
    "__version__", "load", "param", "register",
]  # fmt: skip
#: What is in `mechanisms`.
_OWN = ("Classifier", "CongestionControl", "Queue", "Scheduler", "Source", "param", "register")


def __getattr__(name: str) -> Any:
    """What takes its time to load is loaded when it is first used."""
    if name in _OWN:
        return getattr(importlib.import_module(".mechanisms", __name__), name)
    if name in __all__:
        return getattr(importlib.import_module(".api", __name__), name)
    raise AttributeError(f"module `{__name__}` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
