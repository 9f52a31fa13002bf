"""`haltere results`, `hash` and `export`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .. import formats
from ..errors import InputError, nearest
from ._common import Commands, checked, print_json

#: The formats, by suffix, and how many times the bytes of the store a table of time series takes in each; measured.
_FORMATS = {"csv": 4.5, "parquet": 0.7, "json": 20.0}
#: More than this is announced before it is written.
_LARGE = 20e6


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("results", _results)
    to.add("hash", _hash)
    others = "\n".join(f"{name}: {what}." for name, what in formats.WRITERS.items())
    known = (*_FORMATS, "latex", *formats.WRITERS)
    to.add("export", _export, fill={"others": others}, format={"choices": known, "default": "csv"})


def _results(args: argparse.Namespace) -> int:
    from ..report.document import Document, Table
    from ..runs.cells import csv
    from ..runs.query import columns, query
    from ..runs.results import Results

    results = Results(args.results)
    if args.check:
        files = checked(results)
        if args.query is None:
            print(f"{results.where}: {len(results.runs)} runs, {files} files, all as they were written")
            return 0
    if args.files:
        return _files(results.files(), args.json)
    if args.query is None:
        tables = columns(results)
        if args.json:
            print_json(tables)
        elif args.csv:
            raise InputError("results: --csv goes with --query")
        else:
            for name, some in tables.items():
                print(f"{name}: {', '.join(some)}")
        return 0
    table = query(results, args.query)
    rows = table.to_pylist()
    if args.json:
        print_json([{key: _plain(value) for key, value in row.items()} for row in rows])
    elif args.csv:
        print(csv([table.column_names, *(row.values() for row in rows)]), end="")
    else:
        cells = [[_cell(value) for value in row.values()] for row in rows]
        shown = Table("query", f"{len(rows)} row{'' if len(rows) == 1 else 's'}", table.column_names, cells)
        print(Document("", [shown]).text().strip())
    return 0


def _files(files: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        print_json(files)
    for one in [] if as_json else files:
        print(f"point {one['point']}, seed {one['seed']}: {one['path']} ({one['bytes']} bytes)")
    return 0


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | list | dict | None) else str(value)


def _hash(args: argparse.Namespace) -> int:
    from ..runs.results import Results

    results = Results(args.results)
    if args.verify:
        checked(results)
    if args.json:
        runs = [{"point": run.point, "seed": run.seed, "digest": run.digest} for run in results.runs]
        print_json({"digest": results.digest(), "runs": runs})
        return 0
    for run in results.runs:
        print(f"{run.digest}  {results.points[run.point].name} seed={run.seed}")
    print(f"{results.digest()}  all")
    return 0


def _export(args: argparse.Namespace) -> int:
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
