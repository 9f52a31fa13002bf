"""What goes wrong, and what is warned of. ``haltere.RunsFailed`` belongs to the same tree."""

from __future__ import annotations

from ._core import HaltereError, InputError

__all__ = ["DeprecatedKeyWarning", "HaltereError", "InputError"]


class DeprecatedKeyWarning(FutureWarning):
    """A key of an experiment has another name now. The old name works for one version."""
