"""`haltere compare`."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from ..errors import InputError
from ._common import Commands, print_json

if TYPE_CHECKING:
    from ..analysis.compare import Difference


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("compare", _compare, metrics={"default": ""}, confidence={"type": _confidence, "default": 0.95})


def _confidence(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must lie between 0 and 100%, got `{text}`")
    return value


def _compare(args: argparse.Namespace) -> int:
    from ..analysis import stats
    from ..analysis.compare import Side, compare
    from ..report.document import Document, Table
    from ..report.marks import MEANING, stars

    names = [name for name in args.metrics.split(",") if name]
    if args.metrics and not names:
        raise InputError("compare: --metrics must name at least one metric")
    a, b = Side.of(args.a), Side.of(args.b)
    found = compare(a, b, names, args.confidence)
    adjusted = stats.holm([one.p for one in found])
    if args.json:
        differences = [{**one.to_dict(), "p_holm": p} for one, p in zip(found, adjusted, strict=True)]
        print_json({"a": a.text, "b": b.text, "differences": differences})
        return 0
    several = len({one.point for one in found}) > 1
    rows = [
        [
            *([one.point] if several else []),
            f"{one.metric} ({one.unit})" if one.unit else one.metric,
            *_rounded(one),
            "–" if one.effect != one.effect else f"{one.effect:.2g}",
            stars(p),
        ]
        for one, p in zip(found, adjusted, strict=True)
    ]
    columns = ["metric", "A", "B", "B − A", f"{args.confidence:.4g} interval".replace("0.95", "95 %"), "effect", ""]
    table = Table("compare", "", [*(["point"] if several else []), *columns], rows, left=2 if several else 1)
    print(Document(f"A = {a.text}, B = {b.text}", [table]).text().replace("\n\n\n", "\n\n") + "\n")
    print("\n".join(one.sentence() for one in found))
    if any(row[-1] for row in rows):
        print(f"\n{MEANING}")
    if len(found) > 10:
        by_chance = len(found) * (1 - args.confidence)
        print(f"\nOf {len(found)} intervals about {by_chance:.1f} exclude 0 at random. The stars allow for that.")
    return 0


def _rounded(one: Difference) -> list[str]:
    """Both means, their difference and its interval, with two significant digits of half the interval."""
    from ..analysis import stats

    d = one.difference
    largest = max(abs(one.a.mean), abs(one.b.mean))
    digits = stats.decimals(d.half, max(0, 4 - math.floor(math.log10(largest))) if largest else 1)
    a, b, gap, low, high = (stats.rounded(v, digits) for v in (one.a.mean, one.b.mean, d.mean, d.low, d.high))
    return [a, b, gap, f"{low} .. {high}"]
