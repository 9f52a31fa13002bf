"""Runs on a Dask cluster: its client as an executor like any other.

Dask gives the work of a worker that dies to another; a run that kills three workers counts as failed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from ..errors import HaltereError, InputError
from .store import need

_TIMEOUT_S = 20


def _quiet() -> None:
    """Dask's client logs each lost connection, and what it then repairs by itself. What it cannot repair is an error, which is reported.

    The loggers stay quiet to the end of the process: connections are closed last. The scheduler and the workers log as ever.
    """
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def dask(address: str) -> Iterator[Executor]:
    """The executor of the Dask scheduler at ``address``, such as ``tcp://10.0.0.7:8786``; closed at the end."""
    if not re.fullmatch(r"(tcp|tls|ws|wss|ucx|inproc)://\S+", address):
        raise InputError(f"--dask must be the address of a scheduler such as tcp://10.0.0.7:8786, got `{address}`")
    distributed = need("distributed", "dask", "--dask")
    _quiet()
    try:
        client = distributed.Client(address, timeout=_TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise HaltereError(f"--dask: no scheduler answered at {address} within {_TIMEOUT_S} s: {why}") from None
    with client:
        # Equal arguments, equal results: Dask's own cache is not needed, the store is one.
        yield client.get_executor(pure=False)
