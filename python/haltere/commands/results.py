"""`haltere plot`, `report` and `hash`: what a results directory holds."""

from __future__ import annotations

import argparse

from ..errors import InputError
from ._common import Commands, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    plot = to.add("plot", _plot, "draw the figures of a results directory as PNG and PDF")
    plot.add_argument("results", metavar="RESULTS", help="results directory or URL")
    plot.add_argument(
        "--timeline",
        action="store_true",
        help="instead one run over time: throughput, windows, RTT, queue, drops and marks",
    )
    plot.add_argument("--point", type=int, metavar="N", help="with --timeline: which point of the sweep, from 0")
    plot.add_argument("--seed", type=int, metavar="N", help="with --timeline: which seed (default: the first)")

    report = to.add("report", _report, "write report.html (one file, no network needed), report.md and CSV tables")
    report.add_argument("results", metavar="RESULTS", help="results directory or URL")

    digest = to.add(
        "hash",
        _hash,
        "print the digest of each run and of all together",
        "Equal experiments on equal versions give equal digests, on however many threads.",
    )
    digest.add_argument("results", metavar="RESULTS", help="results directory or URL")
    digest.add_argument("--json", action="store_true", help="print as JSON")


def _plot(args: argparse.Namespace) -> int:
    from ..runs.results import Results

    if args.timeline:
        from ..report import timeline

        caption, paths = timeline.draw(Results(args.results), args.point, args.seed)
        print("\n".join([*map(str, paths), caption]))
        return 0
    if args.point is not None or args.seed is not None:
        raise InputError("plot: --point and --seed go with --timeline")
    from ..report import overview

    for _, paths in overview.figures(Results(args.results)):
        print("\n".join(map(str, paths)))
    return 0


def _report(args: argparse.Namespace) -> int:
    from ..report import overview
    from ..runs.results import Results

    results = Results(args.results)
    print("\n".join(map(str, overview.document(results, figures=True).write(results.directory))))
    return 0


def _hash(args: argparse.Namespace) -> int:
    from ..runs.results import Results

    results = Results(args.results)
    if args.json:
        runs = [{"point": run.point, "seed": run.seed, "digest": run.digest} for run in results.runs]
        print_json({"digest": results.digest(), "runs": runs})
        return 0
    for run in results.runs:
        print(f"{run.digest}  {results.points[run.point].name} seed={run.seed}")
    print(f"{results.digest()}  all")
    return 0
