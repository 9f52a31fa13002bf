"""`haltere characterize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, print_json, seeds_and_jobs


def add(to: Commands) -> None:
    """Adds to the command line."""
    one = to.add(
        "characterize",
        _characterize,
        "run a queue discipline through the scenarios of RFC 7928, beside drop tail, CoDel, PIE and FQ-CoDel",
        "examples:\n"
        "  haltere characterize codel\n"
        "  haltere characterize pie --set target=5ms --set tupdate=10ms --quick\n"
        "  haltere characterize red --only heavy --only bursts --seeds 3\n\n"
        "docs/characterize.md names the scenarios.",
    )
    one.add_argument("queue", metavar="QUEUE", help="a queue discipline; `haltere list queues` names them")
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the discipline; may be repeated")  # fmt: skip
    one.add_argument("--only", action="append", default=[], metavar="SCENARIO", help="this scenario, such as heavy; may be repeated")  # fmt: skip
    one.add_argument("--quick", action="store_true", help="a first look within a minute or two; says what it left out")
    one.add_argument("--json", action="store_true", help="print every table as JSON")
    seeds_and_jobs(one, "results/characterize-QUEUE")


def _characterize(args: argparse.Namespace) -> int:
    from .. import _core
    from ..api import parse_setting
    from ..characterize import characterize
    from ..studies import Options

    known = _core.names("queues")
    if args.queue not in known:
        import difflib

        near = difflib.get_close_matches(args.queue, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise InputError(f"queue must be one of {', '.join(f'`{name}`' for name in known)}, got `{args.queue}`{hint}")
    settings = dict(parse_setting(one) for one in args.set)
    suffix = "".join(f"-{key}-{value}" for key, value in settings.items()) + ("-quick" if args.quick else "")
    out = args.out or Path("results") / f"characterize-{args.queue}{suffix}"
    options = Options(quick=args.quick, seeds=args.seeds, jobs=args.jobs, out=out)
    outcome = characterize(args.queue, settings, options, args.only)
    paths = outcome.document.write(out)
    if args.json:
        print_json(outcome.to_json())
        return 0
    print(outcome.document.text())
    print(f"\nFigures: {out / 'figures'} (PNG and PDF)\nReport:  {paths[0]}")
    return 0
