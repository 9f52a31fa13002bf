"""Makes the file base of the study: `files.csv`, and the lists of sizes in the experiment files.

    python papers/rafle/make_files.py
    python papers/rafle/make_files.py --tiny 250 --into other      # another base, in a directory of its own

The paper prints its base as a picture. What follows from its text and tables (README.md says how):
  564 files; 126, 105, 97 and 93 of them over 100, 200, 300 and 400 KB    the equal-share column of table 2, every file at the middle of its bucket
  10.7 MB in the 438 files up to 100 KB                                   drop tail's times of table 2 (10.7 to 11.4 MB)
  3.95 MB in the files up to 16 KB                                        "about one file of the last bucket", whose middle is 3.95 MB
  237 MB in all                                                           the run passes 1900 s at 1 Mbit/s (figure 4)

Law:
  up to 16 KB       290 files, 16 KB * u^(1/5.7)                  stretched to 3.95 MB in all
  16 to 100 KB      148 files, 16 KB + 84 KB * u^1.84             stretched to the rest of 10.7 MB
  100 to 500 KB     21, 8, 4 and 5 files at the middles of their buckets; the 5 is ours
  above             88 files, from 500 KB to 4 MB, at the middles of their buckets
u is uniform in (0, 1), from Python's generator seeded with SEED. Open: how many files have at most 16 KB (248 to about 360 can hold
3.95 MB), and how the sizes lie above 500 KB. `Base` has a field for each value that the study varies.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from dataclasses import dataclass
from pathlib import Path

SEED = 564
KB = 1000
BUCKET = 100 * KB
SMALL, TINY_BYTES = 438, 3_950 * KB
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Base:
    """What the paper leaves open of the base, as the study reads it."""

    #: Files of at most 16 KB.
    tiny: int = 290
    #: Bytes in the files up to 100 KB.
    first_bucket: int = 10_700 * KB
    #: Bytes in all files, to within a bucket's width.
    total: int = 237_000 * KB
    #: The files of the second to the fifth bucket lie at its upper edge instead of its middle, those above at random.
    upper_edges: bool = False


def fitted(sizes: list[float], low: int, high: int, total: int) -> list[int]:
    """The sizes in whole bytes from `low` to `high`, stretched between the two until they sum to `total`."""
    less, more = -1.0, 1.0  # how far each size moves to `low` (-1) or to `high` (1)

    def moved(by: float) -> list[int]:
        return [round(s + by * ((high - s) if by > 0 else (s - low))) for s in sizes]

    for _ in range(60):
        middle = (less + more) / 2
        less, more = (middle, more) if sum(moved(middle)) < total else (less, middle)
    out = moved(less)
    for i in range(len(out)):  # what rounding leaves, byte by byte
        rest = total - sum(out)
        out[i] += max(low - out[i], min(high - out[i], (rest > 0) - (rest < 0)))
    assert sum(out) == total, (sum(out), total)
    return out


def middle(size: float) -> int:
    """The middle of the bucket of that size."""
    return int(size // BUCKET) * BUCKET + BUCKET // 2


def large(total: int, files: int = 88) -> list[int]:
    """Files from 500 KB to 4 MB at the middles of their buckets: quantiles of 500 KB + 3.5 MB * u^p, with p by the total."""
    less, more = 0.2, 5.0

    def at(power: float) -> list[int]:
        return [middle(500 * KB + 3500 * KB * ((i + 0.5) / files) ** power) for i in range(files)]

    for _ in range(60):
        between = (less + more) / 2
        less, more = (between, more) if sum(at(between)) > total else (less, between)
    return at(more)


def base(of: Base = Base()) -> list[int]:  # noqa: B008 (frozen)
    """The sizes in bytes, in the order of the table."""
    draw = random.Random(SEED)
    tiny = fitted([16 * KB * draw.random() ** (1 / 5.7) for _ in range(of.tiny)], 100, 16 * KB, TINY_BYTES)
    power = 1 / 2.9 if of.upper_edges else 1.84
    between = [16 * KB + 84 * KB * draw.random() ** power for _ in range(SMALL - of.tiny)]
    small = fitted(between, 16 * KB + 1, 100 * KB, of.first_bucket - TINY_BYTES)
    edge = 0 if of.upper_edges else -BUCKET // 2
    middles = [size * KB + edge for size, files in ((200, 21), (300, 8), (400, 4), (500, 5)) for _ in range(files)]
    if of.upper_edges:
        rest = sorted(round(draw.uniform(500 * KB, 4000 * KB)) for _ in range(88))
        rest[-1] = 4000 * KB
    else:
        rest = large(of.total - of.first_bucket - sum(middles))
    sizes = [*tiny, *small, *middles, *rest]
    draw.shuffle(sizes)
    return sizes


#: The base that puts the second to the fifth bucket at their upper edges: it meets the equal-share times as sums of min(size, edge).
UPPER_EDGES = Base(first_bucket=15_600 * KB, upper_edges=True)


def write(sizes: list[int], into: Path = HERE) -> None:
    """Writes the table, and the list into each experiment file between its brackets."""
    into.mkdir(parents=True, exist_ok=True)
    with (into / "files.csv").open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["file", "bytes"])
        rows.writerows((f"file{i:04d}", size) for i, size in enumerate(sizes, 1))
    lines = [", ".join(f'"{size}B"' for size in sizes[i : i + 10]) for i in range(0, len(sizes), 10)]
    text = "files = [  # files.csv, by make_files.py\n" + "".join(f"    {line},\n" for line in lines) + "]\n"
    for name in ("simultaneous.toml", "steady.toml"):
        old = (HERE / name).read_text(encoding="utf-8")
        (into / name).write_text(re.sub(r"^files = \[.*?^\]\n", text, old, flags=re.M | re.S), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Makes the file base of the study rafle.")
    parser.add_argument(
        "--tiny", type=int, default=Base.tiny, help="files of at most 16 KB, 248 to 360 (default: %(default)s)"
    )
    parser.add_argument(
        "--first-bucket",
        type=int,
        default=Base.first_bucket // KB,
        metavar="KB",
        help="KB in the files up to 100 KB (default: %(default)s)",
    )
    parser.add_argument("--into", type=Path, default=HERE, help="where to write (default: beside this script)")
    args = parser.parse_args()
    write(base(Base(tiny=args.tiny, first_bucket=args.first_bucket * KB)), args.into)
