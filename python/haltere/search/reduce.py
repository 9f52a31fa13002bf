"""Leaves out what is not needed: delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).

Of a set of pieces for which something holds, :func:`minimal` finds a subset for which it still holds and from which no single piece can be
left out. It first tries to leave out everything, then halves, then smaller parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeVar

from .ranges import Range

Piece = TypeVar("Piece", bound=Hashable)


def minimal(pieces: Sequence[Piece], holds: Callable[[list[Piece]], bool]) -> list[Piece]:
    """A subset of the pieces, in their order, for which ``holds`` and of which each piece is needed.

    ``holds`` is true for all of them, and is asked at most once of the same subset.

    >>> minimal("abcdefgh", lambda some: {"c", "f"} <= set(some))
    ['c', 'f']
    >>> minimal("abc", lambda some: True)
    []
    """
    asked: dict[tuple[Piece, ...], bool] = {tuple(pieces): True}

    def ask(some: list[Piece]) -> bool:
        key = tuple(some)
        if key not in asked:
            asked[key] = holds(some)
        return asked[key]

    kept = list(pieces)
    if not kept or ask([]):
        return []
    size = max(1, len(kept) // 2)
    while True:
        place = 0
        while place < len(kept):
            without = kept[:place] + kept[place + size :]
            if without and ask(without):
                kept = without
            else:
                place += size
        if size == 1:
            # A piece that was needed beside a later one may not be without it.
            if all(len(kept) == 1 or not ask(kept[:i] + kept[i + 1 :]) for i in range(len(kept))):
                return kept
            continue
        size = max(1, size // 2)


def shorter(
    values: Mapping[str, Any], ranges: Mapping[str, Range], holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The values with fewer digits, as long as it ``holds``: one significant digit if possible, else two."""
    kept = dict(values)
    for name in values:
        if name not in ranges:
            continue
        for text in ranges[name].fewer_digits(values[name]):
            if holds({**kept, name: text}):
                kept[name] = text
                break
    return kept
