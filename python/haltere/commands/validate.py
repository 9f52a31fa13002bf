"""`haltere validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ..worlds import DEFAULT
from ._common import Commands, chosen_world, count, world


def add(to: Commands) -> None:
    """Adds to the command line."""
    validate = to.add("validate", _validate, "compare the simulator with results measured on Linux")
    validate.add_argument(
        "dir",
        type=Path,
        metavar="DIR",
        nargs="?",
        help="directory with scenarios and measured results (default: those that come with Haltere)",
    )
    validate.add_argument("--json", action="store_true", help="print the comparison as JSON")
    validate.add_argument("--only", metavar="REGEX", help="only scenarios whose name matches")
    validate.add_argument(
        "--out", type=Path, metavar="DIR", help="also write the rows as Parquet, JSON, Markdown and a figure"
    )
    validate.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="also write the page with its figure, such as docs/validation.md, and DIR/rows.csv",
    )
    validate.add_argument(
        "--beside",
        action="store_true",
        help="also write DIR/WORLD.csv, which the page shows beside the simulator's rows; with --world",
    )
    validate.add_argument(
        "--rows", type=Path, metavar="FILE", help="run nothing: make the page of the rows.csv of an earlier run"
    )
    validate.add_argument(
        "--compact", type=Path, metavar="DIR", help="compare nothing: copy the results there in compact form"
    )
    world(validate)
    validate.add_argument("--seeds", type=count, metavar="N", help="how many seeds: 1, 2, ... N (default: ten)")
    validate.add_argument("--jobs", type=count, metavar="N", help="runs at a time (default: one a core)")


def _validate(args: argparse.Namespace) -> int:
    from .. import data, validate

    if args.dir is None and (args.page or args.compact):
        raise InputError(
            "validate: DIR must be given with --page and --compact, got none; in a source checkout: validation/linux"
        )
    args.dir = args.dir or data.references()
    args.where = chosen_world(args)
    if args.beside and args.where.name == DEFAULT:
        raise InputError("validate: --beside must be given with --world NAME, got the default world")
    if args.beside and args.page:
        raise InputError("validate: --beside must be left out with --page, got both")
    args.jobs = args.where.jobs(args.jobs)
    return int(validate.main(args) or 0)
