"""`haltere sweep status`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, count, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    sweep = to.add("sweep", lambda _: 2, "say how far a sweep is")
    inner = Commands(sweep)
    status = inner.add(
        "status",
        _status,
        "say how many runs of a sweep are done, to do, failed or damaged",
        "examples:\n"
        "  haltere sweep status results/experiment\n"
        "  haltere sweep status experiment.toml --seeds 100\n"
        "  haltere sweep status s3://bucket/experiment --json\n\n"
        "Every file is held against its checksum. `haltere run` makes what is missing or damaged.",
    )
    status.add_argument("what", metavar="DIR-or-FILE", help="results directory, URL, or experiment file (.toml)")
    status.add_argument("--out", metavar="DIR", help="of a file: its results (default: results/NAME of the file)")
    status.add_argument("--seeds", type=count, metavar="N", help="of a file: how many seeds")
    status.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of a file: change a value")
    status.add_argument("--json", action="store_true", help="print as JSON")


def _status(args: argparse.Namespace) -> int:
    from ..api import parse_setting
    from ..report.document import Document, Table
    from ..runs.status import of_file, of_results

    if args.what.endswith(".toml"):
        path = Path(args.what)
        changes = dict(parse_setting(one) for one in args.set)
        told = of_file(path, args.out or Path("results") / path.stem, changes, args.seeds)
    else:
        told = of_results(args.what)
    if args.json:
        print_json(told.told())
        return 0
    columns = ("planned", "done", "to_do", "failed", "damaged")
    if len(told.points) > 1:
        rows = [[one["point"], *(str(one[what]) for what in columns)] for one in told.points]
        table = Table("status", "Runs by point", ["point", *(what.replace("_", " ") for what in columns)], rows)
        print(Document(told.where, [table]).text() + "\n")
    print(f"{told.where}: {told.count('done')} of {told.count('planned')} runs done", end="")
    for what in columns[2:]:
        if told.count(what):
            print(f", {told.count(what)} {what.replace('_', ' ')}", end="")
    left = told.core_s_left
    print(f"; about {left:.0f} s of one core left" if left else "")
    return 0
