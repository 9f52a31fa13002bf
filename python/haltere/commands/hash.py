"""`haltere hash`."""

from __future__ import annotations

import argparse

from ._common import Commands, checked, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    digest = to.add(
        "hash",
        _hash,
        "print the digest of each run and of all together",
        "Equal experiments on equal versions give equal digests, on however many threads.",
    )
    digest.add_argument("results", metavar="RESULTS", help="results directory or URL")
    digest.add_argument(
        "--verify", action="store_true", help="compare every file with its checksum before, and fail if one differs"
    )
    digest.add_argument("--json", action="store_true", help="print as JSON")


def _hash(args: argparse.Namespace) -> int:
    from ..runs.results import Results

    results = Results(args.results)
    if args.verify:
        checked(results)
    if args.json:
        runs = [{"point": run.point, "seed": run.seed, "digest": run.digest} for run in results.runs]
        print_json({"digest": results.digest(), "runs": runs})
        return 0
    for run in results.runs:
        print(f"{run.digest}  {results.points[run.point].name} seed={run.seed}")
    print(f"{results.digest()}  all")
    return 0
