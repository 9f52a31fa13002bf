"""`haltere validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, chosen_world


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("validate", _validate, dir=Path)


def _validate(args: argparse.Namespace) -> int:
    from .. import data, validate

    args.dir = args.dir or data.references()
    args.where = chosen_world(args)
    args.jobs = args.where.jobs(args.jobs)
    return int(validate.main(args) or 0)
