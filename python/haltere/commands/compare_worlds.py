"""`haltere compare-worlds`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._common import Commands, print_json, seeds_and_jobs


def add(to: Commands) -> None:
    """Adds to the command line."""
    one = to.add(
        "compare-worlds",
        _compare,
        "run an experiment in the simulator and on the wire, and print the difference of each metric",
        "example:\n  haltere compare-worlds experiment.toml --seeds 3\n\nNeeds root or `unshare -Urn`.",
    )
    one.add_argument("file", type=Path, metavar="FILE", help="the experiment, a TOML file")
    one.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a value, by dotted key; may be repeated"
    )
    one.add_argument(
        "--quick", action="store_true", help="two seeds and at most 20 s of each run; says what it left out"
    )
    one.add_argument("--anyway", action="store_true", help="run although the calibration finds the machine unfit")
    one.add_argument("--json", action="store_true", help="print the comparison as JSON")
    seeds_and_jobs(one, "results/NAME-worlds of the file")


def _compare(args: argparse.Namespace) -> int:
    from ..analysis import parity
    from ..api import Scenario, parse_setting
    from ..report import overview

    scenario = Scenario.load(args.file).with_values(dict(parse_setting(text) for text in args.set))
    seeds, left_out = args.seeds, ""
    if args.quick:
        scenario, seeds, left_out = overview.quick(scenario, args.seeds)
    out = args.out or Path("results") / f"{args.file.stem}-worlds"
    done = parity.compare(scenario, seeds=seeds, jobs=args.jobs, out=out, anyway=args.anyway)
    paths = done.document().write(out)
    if args.json:
        print_json({**done.to_json(), "left_out": left_out})
        return 0
    print(done.document().text())
    if left_out:
        print(f"\nLeft out by --quick: {left_out}.")
    print(f"\nResults: {out / 'sim'} and {out / 'wire'}. Report: {paths[0]}")
    return 0
