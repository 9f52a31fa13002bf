"""`haltere sweep status`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    sweep = to.add("sweep", lambda _: 2)
    Commands(sweep).add("status", _status, out=str)


def _status(args: argparse.Namespace) -> int:
    from ..api import parse_setting
    from ..report.document import Document, Table
    from ..runs.status import of_file, of_results

    if args.what.endswith(".toml"):
        path = Path(args.what)
        changes = dict(parse_setting(one) for one in args.set)
        status = of_file(path, args.out or Path("results") / path.stem, changes, args.seeds)
    else:
        status = of_results(args.what)
    if args.json:
        print_json(status.to_dict())
        return 0
    columns = ("planned", "done", "to_do", "failed", "damaged")
    if len(status.points) > 1:
        rows = [[one["point"], *(str(one[what]) for what in columns)] for one in status.points]
        table = Table("status", "Runs by point", ["point", *(what.replace("_", " ") for what in columns)], rows)
        print(Document(status.where, [table]).text() + "\n")
    print(f"{status.where}: {status.count('done')} of {status.count('planned')} runs done", end="")
    for what in columns[2:]:
        if status.count(what):
            print(f", {status.count(what)} {what.replace('_', ' ')}", end="")
    left = status.core_s_left
    print(f"; about {left:.0f} s of one core left" if left else "")
    return 0
