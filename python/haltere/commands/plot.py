"""`haltere plot`."""

from __future__ import annotations

import argparse

from ..errors import InputError
from ._common import Commands


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
    plot.add_argument("--link", metavar="NAME", help="with --timeline: whose queue (default: the link used most)")
    plot.add_argument("--seed", type=int, metavar="N", help="with --timeline: which seed (default: the first)")


def _plot(args: argparse.Namespace) -> int:
    from ..runs.results import Results

    if args.timeline:
        from ..report import timeline

        caption, paths = timeline.draw(Results(args.results), args.point, args.seed, args.link)
        print("\n".join([*map(str, paths), caption]))
        return 0
    if args.point is not None or args.seed is not None or args.link is not None:
        raise InputError("plot: --point, --seed and --link go with --timeline")
    from ..report import figures

    for _, paths in figures.draw(Results(args.results)):
        print("\n".join(map(str, paths)))
    return 0
