"""The errors. ``haltere.RunsFailed`` belongs to the same tree."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ._core import HaltereError, InputError

__all__ = ["HaltereError", "InputError", "near", "nearest", "unknown"]


#: The command line was called with `--traceback`: the error behind a run that failed is printed as Python prints it.
traced = False


def near(got: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The names as near to `got` as any, if they are near at all; else those of which one contains the other.

    An inserted, missing, wrong or transposed letter counts one. Case, `-` and `_` do not count.

    >>> near("congestoin", ["counting", "congestion"]), near("page_load", ["mos", "page_load_p50", "page_load_p95"], 3)
    (['congestion'], ['page_load_p50', 'page_load_p95'])
    """
    wanted, names = _plain(got), {name: _plain(name) for name in known}
    if len(wanted) < 3:  # of one or two letters anything is near
        return []
    away = {name: _distance(wanted, plain) for name, plain in names.items()}
    close = [name for name, plain in names.items() if away[name] <= 1 + min(len(wanted), len(plain)) // 3]
    least = min((away[name] for name in close), default=0)
    found = [name for name in close if away[name] == least] or [
        name for name, plain in names.items() if len(plain) > 2 and (plain in wanted or wanted in plain)
    ]

    def begins(name: str) -> int:
        """How many letters both begin with: of names that are as near, a slip at the end is likelier."""
        pairs = zip(wanted, names[name], strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(wanted), len(names[name])))

    return sorted(found, key=begins, reverse=True)[:most]


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()[:64]


def _distance(a: str, b: str) -> int:
    """Edit distance with transpositions (optimal string alignment), as names in experiment files have it."""
    before, last = list(range(len(b) + 1)), list(range(len(b) + 1))
    for i, letter in enumerate(a):
        row = [i + 1]
        for j, other in enumerate(b):
            row.append(min(last[j + 1] + 1, row[j] + 1, last[j] + (letter != other)))
            if i and j and letter == b[j - 1] and a[i - 1] == other:
                row[-1] = min(row[-1], before[j - 1] + 1)
        before, last = last, row
    return last[-1]


def nearest(got: str, known: Iterable[str], most: int = 1) -> str:
    """The end of a message about a wrong name: the names like it, if there are any.

    >>> nearest("codell", ["codel", "pie"]), nearest("x", ["codel"])
    ('; did you mean `codel`?', '')
    """
    words = [f"`{one}`" for one in near(got, known, most)]
    listed = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    return f"; did you mean {listed}?" if words else ""


def unknown(what: str, got: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not among those known.

    >>> str(unknown("study", "rafel", ["rafle", "iaas"]))
    'study must be one of `rafle`, `iaas`, got `rafel`; did you mean `rafle`?'
    """
    names = list(known)
    return InputError(
        f"{what} must be one of {', '.join(f'`{one}`' for one in names)}, got `{got}`{nearest(got, names)}"
    )
