"""Courses of a link's rate: a built-in list, because a page may not name files.

A course is written as factors of the rate, so that one list serves every link. The numbers are made up, not measured: they
have the shape of such links, and are the same in each version.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Course:
    """Steps of a rate that repeat: from `at` seconds on the rate is `factor` times that of the link; 0 is an outage."""

    name: str
    title: str
    about: str
    repeat_s: float
    steps: list[tuple[float, float]] = field(default_factory=list)


def _walk(name: str, count: int, step_s: float, low: float, high: float, spread: float) -> list[tuple[float, float]]:
    """A random walk between two factors, drawn back to their middle; the same one each time."""
    numbers, middle, now, out = random.Random(name), (low + high) / 2, 1.0, []
    for i in range(count):
        now += 0.15 * (middle - now) + spread * (2 * numbers.random() - 1)
        now = min(high, max(low, now))
        out.append((round(i * step_s, 3), round(now, 2)))
    return out


def _satellite() -> list[tuple[float, float]]:
    """Every 15 s another satellite: 100 ms without a link, and then another rate."""
    factors = (1.0, 0.6, 1.3, 0.8)
    return [step for i, factor in enumerate(factors) for step in ((15.0 * i, 0.0), (15.0 * i + 0.1, factor))]


COURSES = (
    Course("halves", "Halves and doubles", "Half the rate for 10 s, then all of it for 10 s.", 20, [(0, 1), (10, 0.5)]),
    Course(
        "cellular", "Cellular", "A rate that changes every half second between a tenth and one and a half times the rate, as in "
        "a car. Made up, not measured.", 30, _walk("cellular", 60, 0.5, 0.1, 1.5, 0.5),
    ),
    Course(
        "wifi", "Wi-Fi", "A rate that changes every 100 ms between a third of the rate and all of it, as on a shared channel. "
        "Made up, not measured.", 10, _walk("wifi", 100, 0.1, 0.3, 1.0, 0.4),
    ),
    Course("satellite", "Satellite", "Every 15 s a hand-over: 100 ms without a link, then another rate.", 60, _satellite()),
    Course("tunnels", "Tunnels", "No link for 2 s in every 20 s.", 20, [(0, 1), (15, 0), (17, 1)]),
)  # fmt: skip


def listed() -> list[dict[str, Any]]:
    """The courses as the page is given them."""
    return [asdict(course) for course in COURSES]
