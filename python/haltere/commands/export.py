"""`haltere export`."""

from __future__ import annotations

import argparse
import sys

from ..errors import InputError, nearest
from ._common import Commands

#: The formats, by suffix, and how many times the bytes of the store a table of time series takes in each; measured.
_FORMATS = {"csv": 4.5, "parquet": 0.7, "json": 20.0}
#: More than this is announced before it is written.
_LARGE = 20e6


def add(to: Commands) -> None:
    """Adds to the command line."""
    from .. import formats

    others = "\n".join(f"{name}: {what}." for name, what in formats.WRITERS.items())
    to.add(
        "export",
        _export,
        fill={"others": others},
        format={"choices": (*_FORMATS, "latex", *formats.WRITERS), "default": "csv"},
    )


def _export(args: argparse.Namespace) -> int:
    from .. import formats
    from ..runs.results import Results

    results = Results(args.results)
    folder = args.out or results.directory / "export"
    if args.format in formats.WRITERS:
        if args.table:
            raise InputError(f"{results.where}: --table must be left out with --format {args.format}")
        for path in formats.write(args.format, results, folder):
            print(path)
        return 0
    if args.format == "latex":
        from ..report import latex, overview

        made = {one.name: one for one in overview.tables(results)}
        names = _chosen(args.table, list(made), results.where)
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            latex.write(made[name], folder / f"{name}.tex")
            print(folder / f"{name}.tex")
        return 0
    names = _chosen(args.table, results.tables(), results.where)
    size = _FORMATS[args.format] * sum(results.stored_bytes(name) for name in names)
    if size > _LARGE:
        hint = "; --table takes some tables alone" if args.table is None else ""
        print(f"haltere: writing {len(names)} tables, about {size / 1e6:.0f} MB, to {folder}{hint}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = folder / f"{name}.{args.format}"
        results.write_table(name, path)
        print(path)
    return 0


def _chosen(asked: list[str] | None, known: list[str], where: str) -> list[str]:
    for name in asked or ():
        if name not in known:
            raise InputError(f"{where}: --table must be one of {', '.join(known)}, got `{name}`{nearest(name, known)}")
    return asked or known
