"""The order of a drawing's columns: fewer crossings, never more."""

from __future__ import annotations

import random

import pytest

from haltere.report.crossings import crossings, ordered


def graph(columns: int, rows: int, links: int, seed: int) -> tuple[list[list[str]], dict[str, list[str]]]:
    """Columns whose places have links to the next column at random."""
    draw = random.Random(seed)
    stacks = [[f"{c}.{r}" for r in range(rows)] for c in range(columns)]
    beside: dict[str, list[str]] = {name: [] for stack in stacks for name in stack}
    for _ in range(links):
        c = draw.randrange(columns - 1)
        a, b = draw.choice(stacks[c]), draw.choice(stacks[c + 1])
        beside[a].append(b)
        beside[b].append(a)
    return stacks, beside


@pytest.mark.parametrize("seed", range(20))
def test_an_order_has_the_same_places_and_no_more_crossings(seed: int) -> None:
    stacks, beside = graph(5, 6, 24, seed)
    found = ordered(stacks, beside)
    assert [sorted(stack) for stack in found] == [sorted(stack) for stack in stacks]
    assert crossings(found, beside) <= crossings(stacks, beside)
    assert found == ordered(stacks, beside), "the same drawing each time"


def test_random_graphs_lose_most_of_their_crossings() -> None:
    before = after = 0
    for seed in range(20):
        stacks, beside = graph(5, 6, 24, seed)
        before += crossings(stacks, beside)
        after += crossings(ordered(stacks, beside), beside)
    assert after < before / 3, f"{before} crossings became {after}"


@pytest.mark.parametrize("seed", range(10))
def test_a_drawing_that_needs_no_crossing_has_none(seed: int) -> None:
    draw = random.Random(seed)
    stacks = [[f"{c}.{r}" for r in range(8)] for c in range(4)]
    beside = {f"{c}.{r}": [f"{o}.{r}" for o in (c - 1, c + 1) if 0 <= o < 4] for c in range(4) for r in range(8)}
    for stack in stacks:
        draw.shuffle(stack)
    assert crossings(stacks, beside) > 0
    assert crossings(ordered(stacks, beside), beside) == 0


def test_a_drawing_without_crossings_keeps_its_order() -> None:
    stacks = [["b", "a"], ["d", "c"]]
    assert ordered(stacks, {"a": ["c"], "b": ["d"], "c": ["a"], "d": ["b"]}) == stacks


def test_a_very_large_drawing_keeps_its_order() -> None:
    stacks, beside = graph(3, 200, 500, 1)
    assert ordered(stacks, beside) == stacks
