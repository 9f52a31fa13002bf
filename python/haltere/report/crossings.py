"""Fewer crossings in a drawing of columns: sweeps by one neighbouring column at a time, and exchanges of neighbours.

Source: Gansner, Koutsofios, North and Vo, "A technique for drawing directed graphs", IEEE Transactions on Software Engineering 19(3), 1993, section 3.
Deviations: the mean place of the neighbours instead of their weighted median.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

#: Sweeps over all columns, to the right and to the left in turn.
_SWEEPS = 24
#: Drawings of more places keep their order: a pass looks at every pair of links between two columns.
_MOST = 400

Stacks = list[list[str]]


Near = Mapping[str, Sequence[str]]


def _sides(stacks: Sequence[Sequence[str]], beside: Near) -> tuple[Near, Near]:
    """The neighbours of each place in the column before it, and in the column after it."""
    column = {name: i for i, stack in enumerate(stacks) for name in stack}
    before, after = (
        {n: [o for o in beside[n] if column[o] == at + way] for n, at in column.items()} for way in (-1, 1)
    )
    return before, after


def crossings(stacks: Sequence[Sequence[str]], beside: Mapping[str, Sequence[str]]) -> int:
    """How many pairs of links cross.

    >>> beside = {"a": ["c"], "b": ["d"], "c": ["a"], "d": ["b"]}
    >>> crossings([["a", "b"], ["c", "d"]], beside), crossings([["a", "b"], ["d", "c"]], beside)
    (0, 1)
    """
    (_, after), at = _sides(stacks, beside), _places(stacks)
    pairs = (pair for stack in stacks for pair in itertools.combinations(stack, 2))
    return sum(_between(after[upper], after[lower], at) for upper, lower in pairs)


def ordered(stacks: Sequence[Sequence[str]], beside: Mapping[str, Sequence[str]]) -> Stacks:
    """The columns in an order with fewer crossings, or as they are if none is found. ``beside`` has the neighbours of each place.

    >>> beside = {"a": ["c"], "b": ["d"], "c": ["a"], "d": ["b"]}
    >>> crossings(ordered([["a", "b"], ["d", "c"]], beside), beside)
    0
    """
    best: Stacks = [list(stack) for stack in stacks]
    if sum(map(len, best)) > _MOST or not (least := crossings(best, beside)):
        return best
    sides = _sides(best, beside)
    for start in (best, [stack[::-1] for stack in best[:1]] + best[1:]):
        now = [list(stack) for stack in start]
        for sweep in range(_SWEEPS):
            _sweep(now, sides[sweep % 2], 1 if sweep % 2 == 0 else -1)
            _exchange(now, sides)
            if (found := crossings(now, beside)) < least:
                best, least = [list(stack) for stack in now], found
    return best


def _places(stacks: Sequence[Sequence[str]]) -> dict[str, int]:
    return {name: i for stack in stacks for i, name in enumerate(stack)}


def _between(upper: Sequence[str], lower: Sequence[str], at: Mapping[str, int]) -> int:
    """Crossings of the links of two places, one above the other, to one column."""
    return sum(at[a] > at[b] for a in upper for b in lower)


def _sweep(stacks: Stacks, near: Near, way: int) -> None:
    """Sorts each column by the mean place of the neighbours in the column that was sorted before it."""
    at = _places(stacks)
    for stack in stacks[::way]:
        mean = {n: sum(at[o] for o in near[n]) / len(near[n]) if near[n] else at[n] for n in stack}
        stack.sort(key=mean.__getitem__)
        at.update((name, i) for i, name in enumerate(stack))


def _exchange(stacks: Stacks, sides: tuple[Near, Near]) -> None:
    """Exchanges two places, one above the other, as long as fewer links cross."""
    at = _places(stacks)

    def cost(upper: str, lower: str) -> int:
        return sum(_between(side[upper], side[lower], at) for side in sides)

    better = True
    while better:
        better = False
        for stack in stacks:
            for i in range(len(stack) - 1):
                upper, lower = stack[i], stack[i + 1]
                if cost(upper, lower) > cost(lower, upper):
                    stack[i], stack[i + 1] = lower, upper
                    at[lower], at[upper] = i, i + 1
                    better = True
