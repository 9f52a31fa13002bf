"""`haltere reproduce`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, print_json, seeds_and_jobs, world


def add(to: Commands) -> None:
    """Adds to the command line."""
    reproduce = to.add(
        "reproduce",
        _reproduce,
        "run a published study again and hold its findings up to ours",
        "`haltere list studies` names the studies.",
    )
    reproduce.add_argument("study", metavar="STUDY", help="its name, such as aqm-lab")
    world(reproduce)
    reproduce.add_argument(
        "--variant", metavar="NAME", help="a variant of the study, such as linux (default: the paper's own set-up)"
    )
    reproduce.add_argument(
        "--matrix",
        action="store_const",
        const="matrix",
        dest="variant",
        help="iaas: every control against every other instead (the same as --variant matrix)",
    )
    reproduce.add_argument("--quick", action="store_true", help="within a minute on two cores; says what it left out")
    reproduce.add_argument("--json", action="store_true", help="print findings and tables as JSON")
    seeds_and_jobs(reproduce, "results/STUDY")


def _reproduce(args: argparse.Namespace) -> int:
    from .. import studies as papers

    study = papers.study(args.study)
    if args.world == "wire":
        if args.variant:
            raise InputError(f"--variant must be left out on the wire, got `{args.variant}`")
        study = papers.on_wire(args.study, args.anyway)
    options = papers.Options(
        quick=args.quick,
        seeds=args.seeds,
        jobs=args.jobs,
        out=args.out
        or Path("results")
        / (
            args.study
            + (f"-{args.variant}" if args.variant else "")
            + ("-wire" if args.world == "wire" else "")
            + ("-quick" if args.quick else "")
        ),
        variant=args.variant,
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
