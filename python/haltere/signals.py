"""Handlers of signals for a while."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def handled(handler: Any, *numbers: int) -> Iterator[None]:
    """These signals have that handler, as long as it lasts."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, other in before.items():
            signal.signal(number, other)
