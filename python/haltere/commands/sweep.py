"""`haltere sweep status`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, print_json, takes


def add(to: Commands) -> None:
    """Adds to the command line."""
    sweep = to.add("sweep", lambda _: 2, "say how far a sweep has come")
    inner = Commands(sweep)
    status = inner.add(
        "status",
        _status,
        "say how many runs of a sweep are done, to do, failed or damaged",
        "examples:\n"
        "  haltere sweep status results/experiment\n"
        "  haltere sweep status experiment.toml --seeds 100\n"
        "  haltere sweep status s3://bucket/experiment --json\n\n"
        "Every file is checked against its checksum. `haltere run` makes what is missing or damaged.",
    )
    takes(
        status,
        """
        what DIR-or-FILE  results directory, URL, or experiment file (.toml)
        --out DIR         of a file: its results (default: results/NAME of the file)
        --seeds N         of a file: how many seeds
        --set KEY=VALUE   of a file: change a value
        --json
        """,
    )


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
