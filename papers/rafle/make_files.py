"""Writes the file base of the study: `files.csv`, and the lists of sizes in the experiment files.

    python papers/rafle/make_files.py
    python papers/rafle/make_files.py --tiny 250 --into other      # another base, in a directory of its own

`haltere.studies.rafle.file_base` says what the paper gives of the base, what it leaves open, and the law.
"""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path

from haltere.studies.rafle.file_base import AS_READ, KB, Base, sizes

HERE = Path(__file__).resolve().parent


def write(files: list[int], into: Path = HERE) -> None:
    """Writes the table, and the list into each experiment file between its brackets."""
    into.mkdir(parents=True, exist_ok=True)
    with (into / "files.csv").open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(["file", "bytes"])
        rows.writerows((f"file{i:04d}", size) for i, size in enumerate(files, 1))
    lines = [", ".join(f'"{size}B"' for size in files[i : i + 10]) for i in range(0, len(files), 10)]
    text = "files = [  # files.csv, by make_files.py\n" + "".join(f"    {line},\n" for line in lines) + "]\n"
    for name in ("simultaneous.toml", "steady.toml"):
        old = (HERE / name).read_text(encoding="utf-8")
        (into / name).write_text(re.sub(r"^files = \[.*?^\]\n", text, old, flags=re.M | re.S), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the file base of the study rafle.")
    parser.add_argument(
        "--tiny", type=int, default=AS_READ.tiny, help="files of at most 16 KB, 248 to 360 (default: %(default)s)"
    )
    parser.add_argument(
        "--first-bucket",
        type=int,
        default=AS_READ.first_bucket // KB,
        metavar="KB",
        help="KB in the files up to 100 KB (default: %(default)s)",
    )
    parser.add_argument("--into", type=Path, default=HERE, help="where to write (default: beside this script)")
    args = parser.parse_args()
    write(sizes(Base(tiny=args.tiny, first_bucket=args.first_bucket * KB)), args.into)
