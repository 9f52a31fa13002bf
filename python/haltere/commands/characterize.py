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
        "run a queue discipline through the scenarios of RFC 7928, or a congestion control through the criteria of RFC 9743",
        "examples:\n"
        "  haltere characterize codel\n"
        "  haltere characterize pie --set target=5ms --set tupdate=10ms --quick\n"
        "  haltere characterize red --only heavy --only bursts --seeds 3\n"
        "  haltere characterize copa --quick\n"
        "  haltere characterize bbr3 --cases draft\n\n"
        "docs/characterize.md names the scenarios.",
    )
    one.add_argument("mechanism", metavar="NAME", help="a queue discipline or a congestion control; `haltere list queues` and `haltere list congestion` name them")  # fmt: skip
    one.add_argument("--of", choices=tuple(_KINDS), help="what NAME is, if it is both")
    one.add_argument("--cases", choices=("rfc", "draft"), default="rfc", help="`draft`: the test cases of BBR's draft, for bbr3 (default: the RFC's)")  # fmt: skip
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the mechanism; may be repeated")  # fmt: skip
    one.add_argument("--only", action="append", default=[], metavar="SCENARIO", help="this scenario, such as heavy; may be repeated")  # fmt: skip
    one.add_argument("--quick", action="store_true", help="a first look within a minute or two; says what it left out")
    one.add_argument("--json", action="store_true", help="print every table as JSON")
    seeds_and_jobs(one, "results/characterize-NAME")


#: What can be characterised, and the registry that names it.
_KINDS = {"queue": "queues", "congestion": "congestion"}


def _kind(name: str, of: str | None) -> str:
    """Whether the name is that of a discipline or of a control."""
    from .. import _core

    known = {kind: _core.names(registry) for kind, registry in _KINDS.items() if of in (None, kind)}
    found = [kind for kind, names in known.items() if name in names]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"name must be of one kind, got `{name}`, which is a queue discipline and a congestion control; say `--of queue` or `--of congestion`")  # fmt: skip
    import difflib

    every = [one for names in known.values() for one in names]
    near = difflib.get_close_matches(name, every, 1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    what = {
        "queue": "a queue discipline",
        "congestion": "a congestion control",
        None: "a queue discipline or a congestion control",
    }[of]
    raise InputError(f"name must be {what}, one of {', '.join(f'`{one}`' for one in every)}, got `{name}`{hint}")


def _characterize(args: argparse.Namespace) -> int:
    from ..api import parse_setting
    from ..characterize import characterize
    from ..characterize.controls import characterize_control
    from ..characterize.draft import characterize_draft
    from ..studies import Options

    kind = _kind(args.mechanism, args.of)
    settings = dict(parse_setting(one) for one in args.set)
    draft = args.cases == "draft"
    suffix = "".join(f"-{key}-{value}" for key, value in settings.items()) + (
        "-draft" if draft else "-quick" if args.quick else ""
    )
    out = args.out or Path("results") / f"characterize-{args.mechanism}{suffix}"
    options = Options(quick=args.quick, seeds=args.seeds, jobs=args.jobs, out=out)
    run = characterize_draft if draft else characterize if kind == "queue" else characterize_control
    outcome = run(args.mechanism, settings, options, args.only)
    paths = outcome.document.write(out)
    if args.json:
        print_json(outcome.to_json())
        return 0
    print(outcome.document.text())
    figures = "" if draft else f"Figures: {out / 'figures'} (PNG and PDF)\n"
    print(f"\n{figures}Report:  {paths[0]}")
    return 0
