"""What goes wrong, and what is warned of. ``haltere.RunsFailed`` belongs to the same tree."""

from __future__ import annotations

from ._core import HaltereError, InputError

__all__ = ["DeprecatedKeyWarning", "HaltereError", "InputError"]


#: The command line was called with `--traceback`: the error behind a run that failed is printed as Python prints it.
traced = False


class DeprecatedKeyWarning(FutureWarning):
    """A key of an experiment has another name now. The old name works for one version."""
