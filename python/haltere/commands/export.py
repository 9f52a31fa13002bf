"""`haltere export`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands

#: The formats, by suffix.
_FORMATS = ("csv", "parquet", "json")


def add(to: Commands) -> None:
    """Adds to the command line."""
    export = to.add(
        "export",
        _export,
        "write tables of all runs into one file each, as CSV, Parquet or JSON",
        "examples:\n"
        "  haltere export results/sweep                          every table as CSV, into results/sweep/export\n"
        "  haltere export results/sweep --table flows points --format parquet --out tables\n\n"
        "Each row has the point and the seed of its run in front, and what was swept. `points` and `runs` are tables, too.",
    )
    export.add_argument("results", metavar="RESULTS", help="results directory or URL")
    export.add_argument("--table", nargs="+", metavar="NAME", help="only these tables (default: all)")
    export.add_argument("--format", choices=_FORMATS, default="csv", help="default: csv")
    export.add_argument(
        "--out", type=Path, metavar="DIR", help="where the files go (default: export in the results directory)"
    )


def _export(args: argparse.Namespace) -> int:
    from ..runs.results import Results

    results = Results(args.results)
    known = results.tables()
    names = args.table or known
    for name in names:
        if name not in known:
            raise InputError(f"{results.where}: --table must be one of {', '.join(known)}, got `{name}`")
    folder = args.out or results.directory / "export"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.{args.format}"
        results.write_table(name, path)
        print(path)
    return 0
