"""`haltere compare-worlds`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import worlds
from ._common import Commands, chosen_world, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    both = [worlds.WORLDS[name] for name in worlds.COMPARED]
    fill = {
        "there": f"{both[0].place} and {both[1].place}",
        "privileges": " ".join(kind.privileges for kind in both if kind.privileges),
        "compared": ",".join(worlds.COMPARED),
        "worlds": ", ".join(worlds.WORLDS),
    }
    to.add("compare-worlds", _compare, fill=fill, worlds={"type": _worlds, "default": worlds.COMPARED})


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
