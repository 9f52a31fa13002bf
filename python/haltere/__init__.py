"""Haltere: a laboratory for how flows share a bottleneck.

>>> import haltere
>>> scenario = haltere.load("experiment.toml")          # doctest: +SKIP
>>> results = scenario.run(seeds=10, out="results/mine") # doctest: +SKIP
>>> results.summary()                                    # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import version as __version__
    from .api import Results, RunsFailed, Scenario, load
    from .errors import HaltereError, InputError
    from .mechanisms import Classifier, CongestionControl, Queue, Scheduler, Source, param, register

__all__ = [
    "Classifier", "CongestionControl", "HaltereError", "InputError", "Queue", "Results", "RunsFailed", "Scenario", "Scheduler", "Source",
    "__version__", "load", "param", "register",
]  # fmt: skip
#: Where these names are; all others are in `api`.
_ELSEWHERE = {
    **dict.fromkeys(("Classifier", "CongestionControl", "Queue", "Scheduler", "Source", "param", "register"), ".mechanisms"),
    **dict.fromkeys(("HaltereError", "InputError"), ".errors"),
    "__version__": "._core",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Loads a module when it is used first, so that `haltere` handles interrupts while it loads."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    module = importlib.import_module(_ELSEWHERE.get(name, ".api"), __name__)
    return module.version if name == "__version__" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
