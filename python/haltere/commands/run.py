"""`haltere run`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, print_json, seeds_and_jobs


def add(to: Commands) -> None:
    """Adds to the command line."""
    run = to.add(
        "run",
        _run,
        "run an experiment with every seed and print what came of it",
        "examples:\n"
        "  haltere run experiment.toml\n"
        "  haltere run experiment.toml --seeds 3 --set topology.dumbbell.pairs=8 --set traffic.0.congestion=bbr\n\n"
        "Runs that the results directory holds already are not run again.",
    )
    run.add_argument("file", type=Path, metavar="FILE", help="the experiment, a TOML file")
    run.add_argument("--world", choices=["sim"], default="sim", help="where it runs (default: sim, the simulator)")
    run.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a value, by dotted key; may be repeated"
    )
    run.add_argument(
        "--quick",
        action="store_true",
        help="a first look: two seeds and at most 20 s of each run; says what it left out",
    )
    run.add_argument("--json", action="store_true", help="print the summary as JSON")
    seeds_and_jobs(run, "results/NAME of the file")


def _run(args: argparse.Namespace) -> int:
    from .. import overview
    from ..experiment import Scenario, parse_setting

    scenario = Scenario.load(args.file).with_values(dict(parse_setting(one) for one in args.set))
    seeds, left_out = args.seeds, ""
    if args.quick:
        scenario, seeds, left_out = overview.quick(scenario, args.seeds)
    results = scenario.run(seeds=seeds, jobs=args.jobs, out=args.out or Path("results") / args.file.stem, quiet=False)
    if args.json:
        print_json(
            {
                "directory": str(results.directory),
                "digest": results.digest(),
                "left_out": left_out,
                "summary": results.summary(),
            }
        )
        return 0
    print(overview.document(results, figures=False).text())
    if left_out:
        print(f"\nLeft out by --quick: {left_out}.")
    print(f"\nResults: {results.directory} ({len(results.runs)} runs). Figures: haltere report {results.directory}")
    return 0
