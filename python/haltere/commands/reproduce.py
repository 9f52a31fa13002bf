"""`haltere reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, chosen_world, print_json, seeds_and_jobs, world


def add(to: Commands) -> None:
    """Adds to the command line."""
    reproduce = to.add(
        "reproduce",
        _reproduce,
        "run a published study again and check its findings",
        "`haltere list studies` names the studies.",
    )
    reproduce.add_argument("study", metavar="STUDY", help="its name, such as aqm-lab")
    world(reproduce)
    reproduce.add_argument("--quick", action="store_true", help="within a minute on two cores; says what it left out")
    reproduce.add_argument("--json", action="store_true", help="print findings and tables as JSON")
    seeds_and_jobs(reproduce, "results/STUDY")


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
    paths = outcome.document.write(options.out)
    if args.json:
        print_json(outcome.to_json())
        return 0
    print(outcome.document.text())
    figures = f"Figures: {options.out / 'figures'} (PNG and PDF)\n" if (options.out / "figures").is_dir() else ""
    print(f"\n{figures}Report:  {paths[0]}")
    return 0
