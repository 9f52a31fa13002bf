"""`haltere run` and `compare-worlds`."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from .. import worlds
from ..terminal import painted
from ._common import Commands, chosen_world, loaded, print_json

if TYPE_CHECKING:
    from ..api import Scenario
    from ..runs.results import Results


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("run", _run, out=str)
    both = [worlds.WORLDS[name] for name in worlds.COMPARED]
    fill = {
        "there": f"{both[0].place} and {both[1].place}",
        "privileges": " ".join(kind.privileges for kind in both if kind.privileges),
        "compared": ",".join(worlds.COMPARED),
        "worlds": ", ".join(worlds.WORLDS),
    }
    to.add("compare-worlds", _compare_worlds, fill=fill, worlds={"type": _worlds, "default": worlds.COMPARED})


def _run(args: argparse.Namespace) -> int:
    from ..runs.cluster import dask
    from ..runs.results import RunsFailed

    scenario, seeds, left_out = loaded(args)
    for line in _advice(scenario):
        print(f"{painted('warning:', 'yellow', sys.stderr)} {line}", file=sys.stderr)
    world = chosen_world(args)
    failed: RunsFailed | None = None
    with dask(args.dask) if args.dask else nullcontext() as executor:
        try:
            results = scenario.run(
                seeds=seeds, jobs=args.jobs, out=args.out or Path("results") / f"{args.file.stem}{world.suffix}", quiet=False,
                world=world, executor=executor, verify=args.verify or None,
            )  # fmt: skip
        except RunsFailed as error:
            results, failed = error.results, error
    _show(results, left_out, args.json)
    if failed is not None:
        raise failed
    return 0


#: Points of a sweep beyond which only some are looked at for warnings.
_MOST_LOOKED_AT = 64


def _advice(scenario: Scenario) -> list[str]:
    """What the experiment asks for that its author may not mean; of a large sweep, of points spread over it."""
    from ..analysis.advice import of_sweep

    points = [core for _, core in scenario.points()]
    return of_sweep(points[:: max(1, len(points) // _MOST_LOOKED_AT)])


def _show(results: Results, left_out: str, as_json: bool) -> None:
    from ..report import overview

    if as_json:
        told = {"directory": results.where, "digest": results.digest(), "left_out": left_out}
        print_json({**told, "summary": results.summary()})
        return
    print(overview.document(results, figures=False).text())
    if left_out:
        print(f"\nLeft out by --quick: {left_out}.")
    for line in _precision(results):
        print(f"\n{line}")
    print(f"\nResults: {results.where} ({len(results.runs)} runs). Figures: haltere report {results.where}")


def _precision(results: Results) -> list[str]:
    """How far the stopping rule got."""
    reached = results.manifest.get("precision", [])
    if not reached:
        return []
    rule = results.manifest["scenarios"][0]["precision"]
    seeds = [one["seeds"] for one in reached]
    span = str(seeds[0]) if min(seeds) == max(seeds) else f"{min(seeds)} to {max(seeds)}"
    missed = [one for one in reached if not one["reached"]]
    lines = [
        f"Precision {rule['within']:.3g} reached at {len(reached) - len(missed)} of {len(reached)} points, with {span} seeds each."
    ]
    for one in missed[:8]:
        wide = ", ".join(
            f"{name} ±{width:.1%}" if width is not None else f"{name} unknown"
            for name, width in one["widths"].items()
            if width is None or width > rule["within"]
        )
        lines.append(f"Not reached: {results.points[one['point']].name} after {one['seeds']} seeds: {wide}.")
    return lines


def _worlds(text: str) -> tuple[str, ...]:
    names = text.split(",")
    if len(names) < 2 or len(set(names)) < len(names) or not set(names) <= set(worlds.WORLDS):
        raise argparse.ArgumentTypeError(f"must be two or more of {', '.join(worlds.WORLDS)}, got `{text}`")
    return tuple(names)


def _compare_worlds(args: argparse.Namespace) -> int:
    from ..analysis import parity
    from ..report import side_by_side

    scenario, seeds, left_out = loaded(args)
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
