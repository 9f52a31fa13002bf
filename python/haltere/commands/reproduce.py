"""`haltere reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, chosen_world, show


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("reproduce", _reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    from .. import studies
    from ..worlds import DEFAULT

    study, world = studies.study(args.study), chosen_world(args)
    if world.name != DEFAULT:
        from ..studies.in_world import in_world

        if args.variant:
            raise InputError(f"--variant must be left out {world.place}, got `{args.variant}`")
        study = in_world(args.study, world)
    suffix = (f"-{args.variant}" if args.variant else "") + world.suffix + ("-quick" if args.quick else "")
    options = studies.Options(
        quick=args.quick,
        seeds=args.seeds,
        jobs=args.jobs,
        out=args.out or Path("results") / f"{args.study}{suffix}",
        variant=args.variant,
    )
    outcome = study(options)
    show(outcome.document, options.out, outcome.to_json() if args.json else None)
    return 0
