"""`haltere compare-worlds`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import worlds
from ._common import Commands, chosen_world, print_json, seeds_and_jobs, takes, world_options


def add(to: Commands) -> None:
    """Adds to the command line."""
    both = [worlds.WORLDS[name] for name in worlds.COMPARED]
    one = to.add(
        "compare-worlds",
        _compare,
        f"run an experiment {both[0].place} and {both[1].place}, and print the difference of each metric",
        "example:\n  haltere compare-worlds experiment.toml --seeds 3\n\n"
        + " ".join(kind.privileges for kind in both if kind.privileges),
    )
    takes(
        one,
        f"""
        file FILE
        --worlds NAME,NAME,...  which two or more, the baseline first (default: {",".join(worlds.COMPARED)}; there are {", ".join(worlds.WORLDS)})
        --set KEY=VALUE
        --quick                 two seeds and at most 20 s of each run; says what it left out
        """,
        worlds={"type": _worlds, "default": worlds.COMPARED},
    )
    world_options(one)
    takes(one, "--json  print the comparison as JSON")
    seeds_and_jobs(one, "results/NAME-worlds of the file")


def _worlds(text: str) -> tuple[str, ...]:
    names = text.split(",")
    if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(worlds.WORLDS):
        raise argparse.ArgumentTypeError(f"must be two or more of {', '.join(worlds.WORLDS)}, got `{text}`")
    return tuple(names)


def _compare(args: argparse.Namespace) -> int:
    from ..analysis import parity
    from ..api import Scenario, parse_setting
    from ..report import side_by_side
    from ..runs.quick import quick

    scenario = Scenario.load(args.file).with_values(dict(parse_setting(text) for text in args.set))
    seeds, left_out = args.seeds, ""
    if args.quick:
        scenario, seeds, left_out = quick(scenario, args.seeds)
    out = args.out or Path("results") / f"{args.file.stem}-worlds"
    every = [chosen_world(args, name) for name in args.worlds]
    done = parity.compare(scenario, worlds=every, seeds=seeds, jobs=args.jobs, out=out)
    paths = done.document().write(out)
    drawn = side_by_side.draw(done, out / "worlds")
    if args.json:
        print_json({**done.to_json(), "left_out": left_out})
        return 0
    print(done.document().text())
    if left_out:
        print(f"\nLeft out by --quick: {left_out}.")
    print(f"\nResults: {' and '.join(str(out / one.name) for one in every)}. Report: {paths[0]}")
    for path in drawn:
        print(path)
    return 0
