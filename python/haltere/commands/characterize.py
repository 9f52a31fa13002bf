"""`haltere characterize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, mechanism, print_json, seeds_and_jobs


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
        "  haltere characterize python:mine.py:Mine --beside cubic --beside bbr3 --quick\n"
        "  haltere characterize bbr3 --cases draft\n\n"
        "docs/characterize.md names the scenarios.",
    )
    one.add_argument("mechanism", metavar="NAME", help="a queue discipline or a congestion control: its name (`haltere list queues` and `haltere list congestion`), `python:FILE:CLASS` or `wasm:FILE`")  # fmt: skip
    one.add_argument("--of", choices=tuple(_KINDS), help="what NAME is, if it is both")
    one.add_argument("--cases", choices=("rfc", "draft"), default="rfc", help="`draft`: the test cases of BBR's draft, for bbr3 (default: the RFC's)")  # fmt: skip
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a parameter of the mechanism; may be repeated")  # fmt: skip
    one.add_argument("--beside", action="append", default=[], metavar="MECHANISM", help="what it is compared with, named as NAME is; may be repeated (default: cubic and reno; of queues drop_tail, codel, pie and fq_codel)")  # fmt: skip
    one.add_argument("--only", action="append", default=[], metavar="SCENARIO", help="this scenario, such as heavy; may be repeated")  # fmt: skip
    one.add_argument("--quick", action="store_true", help="a first look within a minute or two; says what it left out")
    one.add_argument("--json", action="store_true", help="print every table as JSON")
    seeds_and_jobs(one, "results/characterize-NAME")


#: What can be characterised, and the registry that names it.
_KINDS = {"congestion": "congestion", "queue": "queues"}


def _registry(name: str, of: str | None) -> str:
    """The registry of the mechanism: `queues` or `congestion`."""
    from .. import _core

    kinds = tuple(registry for kind, registry in _KINDS.items() if of in (None, kind))
    if sum(name in _core.names(registry) for registry in kinds) > 1:
        raise InputError(f"NAME must be of one kind, got `{name}`, which is a queue discipline and a congestion control; say `--of queue` or `--of congestion`")  # fmt: skip
    return _named(name, kinds, "NAME")


def _named(name: str, registries: tuple[str, ...], where: str) -> str:
    """The registry of the mechanism that is named so. Parameters are given by --set, not as a table."""
    value, registry = mechanism(name, registries, where)
    if isinstance(value, dict) and name.lstrip().startswith("{"):
        raise InputError(f"{where} must be a name, got the table `{name}`; --set gives NAME its parameters")
    return registry


def _characterize(args: argparse.Namespace) -> int:
    from ..api import parse_setting
    from ..characterize import characterize
    from ..characterize.controls import characterize_control
    from ..characterize.draft import characterize_draft
    from ..kinds import label
    from ..report.document import Figure
    from ..studies import Options

    registry = _registry(args.mechanism, args.of)
    for other in args.beside:
        _named(other, (registry,), "--beside")
    settings = dict(parse_setting(one) for one in args.set)
    draft = args.cases == "draft"
    suffix = "".join(f"-{key}-{value}" for key, value in settings.items()) + (
        "-draft" if draft else "-quick" if args.quick else ""
    )
    out = args.out or Path("results") / f"characterize-{label(args.mechanism)}{suffix}"
    options = Options(quick=args.quick, seeds=args.seeds, jobs=args.jobs, out=out)
    if draft:
        if args.beside:
            raise InputError("--beside must be left out with --cases draft, whose cases compare nothing, got both")
        outcome = characterize_draft(args.mechanism, settings, options, args.only)
    else:
        run = characterize if registry == "queues" else characterize_control
        outcome = run(args.mechanism, settings, options, args.only, args.beside)
    paths = outcome.document.write(out)
    if args.json:
        print_json(outcome.to_json())
        return 0
    print(outcome.document.text())
    has_figures = any(isinstance(block, Figure) for block in outcome.document.blocks)
    figures = f"Figures: {out / 'figures'} (PNG and PDF)\n" if has_figures else ""
    print(f"\n{figures}Report:  {paths[0]}")
    return 0
