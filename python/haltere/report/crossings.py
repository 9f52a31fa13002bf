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


class _Sides:
    """The neighbours of each place in the column before it and in the column after it."""

    def __init__(self, stacks: Sequence[Sequence[str]], beside: Mapping[str, Sequence[str]]) -> None:
        column = {name: i for i, stack in enumerate(stacks) for name in stack}
        self.before = {name: [o for o in beside[name] if column[o] == at - 1] for name, at in column.items()}
        self.after = {name: [o for o in beside[name] if column[o] == at + 1] for name, at in column.items()}


def crossings(stacks: Sequence[Sequence[str]], beside: Mapping[str, Sequence[str]]) -> int:
    """How many pairs of links cross.

    >>> beside = {"a": ["c"], "b": ["d"], "c": ["a"], "d": ["b"]}
    >>> crossings([["a", "b"], ["c", "d"]], beside), crossings([["a", "b"], ["d", "c"]], beside)
    (0, 1)
    """
    sides = _Sides(stacks, beside)
    at = _places(stacks)
    total = 0
    for stack in stacks:
        for upper, lower in itertools.combinations(stack, 2):
            total += _between(sides.after[upper], sides.after[lower], at)
    return total


def ordered(stacks: Sequence[Sequence[str]], beside: Mapping[str, Sequence[str]]) -> Stacks:
    """The columns in an order with fewer crossings, or as they are if none is found. ``beside`` has the neighbours of each place.

    >>> beside = {"a": ["c"], "b": ["d"], "c": ["a"], "d": ["b"]}
    >>> crossings(ordered([["a", "b"], ["d", "c"]], beside), beside)
    0
    """
    best: Stacks = [list(stack) for stack in stacks]
    if sum(map(len, best)) > _MOST or not (least := crossings(best, beside)):
        return best
    sides = _Sides(best, beside)
    for start in (best, [stack[::-1] for stack in best[:1]] + best[1:]):
        now = [list(stack) for stack in start]
        for sweep in range(_SWEEPS):
            _sweep(now, sides, rightwards=sweep % 2 == 0)
            _exchange(now, sides)
            if (found := crossings(now, beside)) < least:
                best, least = [list(stack) for stack in now], found
    return best


def _places(stacks: Sequence[Sequence[str]]) -> dict[str, int]:
    return {name: i for stack in stacks for i, name in enumerate(stack)}


def _between(upper: Sequence[str], lower: Sequence[str], at: Mapping[str, int]) -> int:
    """Crossings of the links of two places, one above the other, to one column."""
    return sum(at[a] > at[b] for a in upper for b in lower)


def _sweep(stacks: Stacks, sides: _Sides, *, rightwards: bool) -> None:
    """Sorts each column by the mean place of the neighbours in the column that was sorted before it."""
    near = sides.before if rightwards else sides.after
    at = _places(stacks)
    for stack in stacks if rightwards else stacks[::-1]:
        mean = {n: sum(at[o] for o in near[n]) / len(near[n]) if near[n] else at[n] for n in stack}
        stack.sort(key=lambda name, mean=mean: mean[name])  # type: ignore[misc]
        at.update((name, i) for i, name in enumerate(stack))


def _exchange(stacks: Stacks, sides: _Sides) -> None:
    """Exchanges two places, one above the other, as long as fewer links cross."""
    at = _places(stacks)

    def cost(upper: str, lower: str) -> int:
        each = (sides.before, sides.after)
        return sum(_between(side[upper], side[lower], at) for side in each)

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
