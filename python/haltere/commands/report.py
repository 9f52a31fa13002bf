"""`haltere report`."""

from __future__ import annotations

import argparse

from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    report = to.add("report", _report, "write report.html (one file, no network needed), report.md and CSV tables")
    report.add_argument("results", metavar="RESULTS", help="results directory or URL")


def _report(args: argparse.Namespace) -> int:
    from ..report import overview
    from ..runs.results import Results

    results = Results(args.results)
    print("\n".join(map(str, overview.document(results, figures=True).write(results.directory))))
    return 0
