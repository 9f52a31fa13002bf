"""What goes wrong. ``haltere.RunsFailed`` belongs to the same tree."""

from __future__ import annotations

from ._core import HaltereError, InputError

__all__ = ["HaltereError", "InputError"]
