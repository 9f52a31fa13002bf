"""Haltere: a laboratory for how flows share a bottleneck.

>>> import haltere
>>> scenario = haltere.load("experiment.toml")          # doctest: +SKIP
>>> results = scenario.run(seeds=10, out="results/mine") # doctest: +SKIP
>>> results.summary()                                    # doctest: +SKIP
"""

from ._core import version as __version__
from .api import Scenario, load
from .errors import HaltereError, InputError, RunsFailed
from .runs.results import Results

__all__ = ["HaltereError", "InputError", "Results", "RunsFailed", "Scenario", "__version__", "load"]
