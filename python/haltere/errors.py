"""What goes wrong, in one tree."""

from __future__ import annotations

from ._core import HaltereError, InputError

__all__ = ["HaltereError", "InputError"]
