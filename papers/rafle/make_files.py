"""Makes the file base of the study: `files.csv`, and the lists of sizes in the experiment files.

    python papers/rafle/make_files.py
    python papers/rafle/make_files.py --tiny 250 --into other      # another base that meets the paper's figures, in a directory of its own

The paper prints no sizes, only what follows from them (README.md says how): 564 files of at most 4 MB; 126, 105, 97 and 93 of them
over 100, 200, 300 and 400 KB; 15.6 MB in the 438 up to 100 KB, of which those up to 16 KB hold about 4 MB. The equal share's times
T(s) = sum of min(size, s) over 1 Mbit/s, 225.6 to 562.4 s, then fix the files of the second to the fifth bucket at the upper
end of theirs.

Law, with u uniform in (0, 1) from Python's generator seeded with SEED:
  up to 16 KB       290 files, 16 KB * u^(1/5.7)                  scaled to 3.95 MB in all
  16 to 100 KB      148 files, 16 KB + 84 KB * u^(1/2.9)          scaled to 11.65 MB in all
  100 to 400 KB     21, 8 and 4 files of 200, 300 and 400 KB
  400 to 500 KB     5 files of 500 KB: table 2 has a row for them, their number is ours
  above             88 files, uniform from 500 KB to 4 MB, the largest set to 4 MB
The flat tail is what lets the whole base take about 1900 s at 1 Mbit/s, as the paper's figure 4 does.
"""

from __future__ import annotations

import argparse
import csv
import random
import re
from pathlib import Path

SEED = 564
KB = 1000
HERE = Path(__file__).resolve().parent


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


def base(tiny_files: int = 290) -> list[int]:
    """The sizes in bytes, in the order of the table; `tiny_files` of the 438 up to 100 KB have at most 16 KB."""
    draw = random.Random(SEED)
    tiny = fitted([16 * KB * draw.random() ** (1 / 5.7) for _ in range(tiny_files)], 100, 16 * KB, 3_950 * KB)
    small = fitted(
        [16 * KB + 84 * KB * draw.random() ** (1 / 2.9) for _ in range(438 - tiny_files)], 16_001, 100 * KB, 11_650 * KB
    )
    middle = [200 * KB] * 21 + [300 * KB] * 8 + [400 * KB] * 4 + [500 * KB] * 5
    large = sorted(round(draw.uniform(500 * KB, 4000 * KB)) for _ in range(88))
    large[-1] = 4000 * KB
    sizes = [*tiny, *small, *middle, *large]
    draw.shuffle(sizes)
    return sizes


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
        "--tiny", type=int, default=290, help="files of at most 16 KB, 248 to 320 (default: %(default)s)"
    )
    parser.add_argument("--into", type=Path, default=HERE, help="where to write (default: beside this script)")
    args = parser.parse_args()
    write(base(args.tiny), args.into)
