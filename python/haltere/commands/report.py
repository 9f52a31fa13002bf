"""`haltere report`."""

from __future__ import annotations

import argparse

from ._common import Commands, figure_look, figure_options


def add(to: Commands) -> None:
    """Adds to the command line."""
    report = to.add("report", _report, "write report.html (one file, no network needed), report.md and CSV tables")
    report.add_argument("results", metavar="RESULTS", help="results directory or URL")
    figure_options(report, "png; the page draws its figures by itself")


def _report(args: argparse.Namespace) -> int:
    from ..report import overview
    from ..runs.results import Results

    results = Results(args.results)
    with figure_look(args, "png"):
        document = overview.document(results, figures=True)
    print("\n".join(map(str, document.write(results.directory))))
    return 0
