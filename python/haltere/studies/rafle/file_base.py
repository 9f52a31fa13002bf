"""The file base of the study `rafle`: what the paper's text and tables say of it, and a law for the rest.

The paper prints its base as a picture. What follows from its text and tables (`papers/rafle/README.md` says how):
  564 files; 126, 105, 97 and 93 of them over 100, 200, 300 and 400 KB   the equal-share column of table 2, every file at its bucket's middle
  10.7 MB in the 438 files up to 100 KB                                  drop tail's times of table 2 (10.7 to 11.4 MB)
  3.95 MB in the files up to 16 KB                                       "about one file of the last bucket", whose middle is 3.95 MB
  237 MB in all                                                          the run passes 1900 s at 1 Mbit/s (figure 4)

Law, with u uniform in (0, 1) from Python's generator seeded with SEED:
  up to 16 KB       290 files, 16 KB * u^(1/5.7)                 stretched to 3.95 MB in all
  16 to 100 KB      148 files, 16 KB + 84 KB * u^1.84            stretched to the rest of 10.7 MB
  100 to 500 KB     21, 8, 4 and 5 files at the middles of their buckets; the 5 is ours
  above             88 files, 500 KB + 3.5 MB * u^p at quantiles of u, moved to the middles of their buckets; p by the total
Open: how many files have at most 16 KB (248 to about 360 can hold 3.95 MB), and how the sizes lie above 500 KB.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

SEED = 564
KB = 1000
BUCKET = 100 * KB
SMALL, TINY_BYTES = 438, 3_950 * KB
LARGE = 88
#: Files of the second to the fifth bucket, by bucket.
MIDDLE = {2: 21, 3: 8, 4: 4, 5: 5}


@dataclass(frozen=True)
class Base:
    """What the paper leaves open of the base, as the study reads it."""

    tiny: int = 290
    """Files of at most 16 KB."""
    first_bucket: int = 10_700 * KB
    """Bytes in the files up to 100 KB."""
    total: int = 237_000 * KB
    """Bytes in all files, to within a bucket's width."""
    upper_edges: bool = False
    """The second to the fifth bucket lie at their upper edges instead of their middles, the files above at random."""


#: The base of the primary reading.
AS_READ = Base()
#: Meets the equal-share times as sums of min(size, edge): files at upper edges, and 15.6 MB in the first bucket.
UPPER_EDGES = Base(first_bucket=15_600 * KB, upper_edges=True)


def sizes(base: Base = AS_READ) -> list[int]:
    """The sizes in bytes, in the order of the table."""
    draw = random.Random(SEED)
    tiny = _fitted([16 * KB * draw.random() ** (1 / 5.7) for _ in range(base.tiny)], 100, 16 * KB, TINY_BYTES)
    power = 1 / 2.9 if base.upper_edges else 1.84
    between = [16 * KB + 84 * KB * draw.random() ** power for _ in range(SMALL - base.tiny)]
    small = _fitted(between, 16 * KB + 1, 100 * KB, base.first_bucket - TINY_BYTES)
    back = 0 if base.upper_edges else BUCKET // 2
    middle = [bucket * BUCKET - back for bucket, files in MIDDLE.items() for _ in range(files)]
    if base.upper_edges:
        large = sorted(round(draw.uniform(500 * KB, 4000 * KB)) for _ in range(LARGE))
        large[-1] = 4000 * KB
    else:
        large = _large(base.total - base.first_bucket - sum(middle))
    out = [*tiny, *small, *middle, *large]
    draw.shuffle(out)
    return out


def _fitted(drawn: list[float], low: int, high: int, total: int) -> list[int]:
    """The sizes in whole bytes from `low` to `high`, stretched between the two until they sum to `total`."""
    less, more = -1.0, 1.0  # how far each size moves to `low` (-1) or to `high` (1)

    def moved(by: float) -> list[int]:
        return [round(s + by * ((high - s) if by > 0 else (s - low))) for s in drawn]

    for _ in range(60):
        middle = (less + more) / 2
        less, more = (middle, more) if sum(moved(middle)) < total else (less, middle)
    out = moved(less)
    for i in range(len(out)):  # what rounding leaves, byte by byte
        rest = total - sum(out)
        out[i] += max(low - out[i], min(high - out[i], (rest > 0) - (rest < 0)))
    if sum(out) != total:
        raise ValueError(f"file base: {len(drawn)} files of {low} to {high} bytes must be able to hold {total} bytes")
    return out


def _large(total: int) -> list[int]:
    """Files from 500 KB to 4 MB at the middles of their buckets, about `total` bytes in all."""
    less, more = 0.2, 5.0

    def at(power: float) -> list[int]:
        drawn = (500 * KB + 3500 * KB * ((i + 0.5) / LARGE) ** power for i in range(LARGE))
        return [int(size // BUCKET) * BUCKET + BUCKET // 2 for size in drawn]

    for _ in range(60):
        between = (less + more) / 2
        less, more = (between, more) if sum(at(between)) > total else (less, between)
    return at(more)
