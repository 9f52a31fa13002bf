"""`haltere results` and `hash`."""

from __future__ import annotations

import argparse
from typing import Any

from ..errors import InputError
from ._common import Commands, checked, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("results", _results)
    to.add("hash", _hash)


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
