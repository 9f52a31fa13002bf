"""The errors. ``haltere.RunsFailed`` belongs to the same tree."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ._core import HaltereError, InputError

__all__ = ["HaltereError", "InputError", "nearest", "unknown"]


#: The command line was called with `--traceback`: the error behind a run that failed is printed as Python prints it.
traced = False


def nearest(got: str, known: Iterable[str], most: int = 1) -> str:
    """The end of a message about a wrong name: the names like it, if there are any.

    >>> nearest("codell", ["codel", "pie"]), nearest("x", ["codel"])
    ('; did you mean `codel`?', '')
    """
    near = difflib.get_close_matches(got, list(known), most)
    return f"; did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""


def unknown(what: str, got: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not among those known.

    >>> str(unknown("study", "rafel", ["rafle", "iaas"]))
    'study must be one of `rafle`, `iaas`, got `rafel`; did you mean `rafle`?'
    """
    names = list(known)
    return InputError(
        f"{what} must be one of {', '.join(f'`{one}`' for one in names)}, got `{got}`{nearest(got, names)}"
    )
