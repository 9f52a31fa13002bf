"""Envelopes of delay and throughput: whether two implementations of a control behave alike.

Source: A. Mishra and B. Leong, "Containing the Cambrian explosion in QUIC congestion control", IMC 2023, as computed by the authors' tool
QUICbench (one hull; the twentieth of the points that is farthest from the mean is left out).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["conformance", "hull", "kept"]

Array = NDArray[np.float64]
#: The part of the points that an envelope keeps.
PART = 0.95


def kept(points: Array) -> Array:
    """The points (one a row) that are nearest to their mean, in the units in which they are."""
    away = np.sum((points - points.mean(axis=0)) ** 2, axis=1)
    return points[np.argsort(away, kind="stable")[: int(PART * len(points))]]


def hull(points: Array) -> Array:
    """The corners of the convex hull, counterclockwise (Andrew's monotone chain)."""
    ordered = np.unique(points, axis=0)

    def half(some: Array) -> list[Array]:
        corners: list[Array] = []
        for point in some:
            while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= 0:
                corners.pop()
            corners.append(point)
        return corners[:-1]

    return np.array(half(ordered) + half(ordered[::-1])) if len(ordered) > 1 else ordered


def _turn(a: Array, b: Array, points: Array) -> Array:
    """Above 0 for points to the left of the way from a to b."""
    across: Array = (b[0] - a[0]) * (points[..., 1] - a[1]) - (b[1] - a[1]) * (points[..., 0] - a[0])
    return across


def _inside(points: Array, corners: Array) -> NDArray[np.bool_]:
    """Which points lie in the hull with these corners, its edge included."""
    if len(corners) < 3:
        return np.array([bool((corners == point).all(axis=1).any()) for point in points])
    edges = zip(corners, np.roll(corners, -1, axis=0), strict=True)
    inside: NDArray[np.bool_] = np.all([_turn(a, b, points) >= -1e-9 for a, b in edges], axis=0)
    return inside


def conformance(one: Array, other: Array) -> float:
    """The part of the points of both that lie in the envelope of the other: 1 for two alike, 0 for two apart."""
    first, second = kept(one), kept(other)
    both = np.concatenate((_inside(first, hull(second)), _inside(second, hull(first))))
    return float(both.mean())
