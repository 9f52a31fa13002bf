"""`haltere run`."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ..terminal import painted
from ._common import Commands, chosen_world, print_json

if TYPE_CHECKING:
    from ..api import Scenario
    from ..runs.results import Results


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("run", _run, out=str)


def _run(args: argparse.Namespace) -> int:
    from ..api import Scenario, parse_setting
    from ..runs.cluster import dask
    from ..runs.quick import quick
    from ..runs.results import RunsFailed

    scenario = Scenario.load(args.file).with_values(dict(parse_setting(one) for one in args.set))
    seeds, left_out = args.seeds, ""
    if args.quick:
        scenario, seeds, left_out = quick(scenario, args.seeds)
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
