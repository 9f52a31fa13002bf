"""Runs a translated case in the simulator and takes the same measures as from the harness's results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import dynamics
from .load import Case, expand_flows
from .measures import WAYS, Measures, goodputs, pings, queue
from .tc import NotTranslated
from .translate import LINK_OF, translate


def run(case: Case, seed: int) -> Measures:
    """One repetition of ours. Raises `NotTranslated` where the case cannot be run."""
    return of_tables(case, seed, tables_of(case, seed))


def tables_of(case: Case, seed: int) -> dict[str, Any]:
    """The tables of one run of the translated case."""
    from .. import _core
    from ..errors import InputError

    experiment = translate(case, seed)
    try:
        scenario = _core.Scenario.from_json(json.dumps(experiment))
    except InputError as error:
        raise NotTranslated(str(error)) from error
    import pyarrow

    return {name: pyarrow.table(data) for name, data in _core.run(scenario, seed, None).tables().items()}


def _column(table: Any, name: str) -> Any:
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False))
