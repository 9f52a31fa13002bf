"""`haltere validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, chosen_world, takes, world


def add(to: Commands) -> None:
    """Adds to the command line."""
    validate = to.add("validate", _validate, "compare the simulator with results measured on Linux")
    takes(
        validate,
        """
        dir? DIR      directory with scenarios and measured results (default: those that come with Haltere)
        --json        print the comparison as JSON
        --only REGEX  only scenarios whose name matches
        --out DIR     also write the rows as Parquet, CSV and JSON, the report and a figure
        """,
        dir=Path, out=Path,
    )  # fmt: skip
    world(validate)
    takes(validate, "--seeds N  how many seeds: 1, 2, ... N (default: ten)\n--jobs N")


def _validate(args: argparse.Namespace) -> int:
    from .. import data, validate

    args.dir = args.dir or data.references()
    args.where = chosen_world(args)
    args.jobs = args.where.jobs(args.jobs)
    return int(validate.main(args) or 0)
