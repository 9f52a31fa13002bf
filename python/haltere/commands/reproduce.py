"""`haltere reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, chosen_world, show


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("reproduce", _reproduce)


def _reproduce(args: argparse.Namespace) -> int:
    from .. import studies
    from ..worlds import DEFAULT, Kernel

    study, world = studies.study(args.study), chosen_world(args)
    if world.name not in (DEFAULT, Kernel.name):
        from ..studies.in_world import in_world

        study = in_world(args.study, world)
    suffix = world.suffix + ("-quick" if args.quick else "")
    options = studies.Options(
        quick=args.quick,
        seeds=args.seeds,
        jobs=args.jobs,
        out=args.out or Path("results") / f"{args.study}{suffix}",
        world=world,
    )
    outcome = study(options)
    show(outcome.document, options.out, outcome.to_json() if args.json else None)
    return 0
