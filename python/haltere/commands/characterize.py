"""`haltere characterize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, mechanism, seeds_and_jobs, show, takes


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
    takes(
        one,
        """
        mechanism NAME      a queue discipline or a congestion control: its name (`haltere list queues` and `haltere list congestion`),
                            `python:FILE:CLASS` or `wasm:FILE`
        --of                what NAME is, if it is both
        --cases             `draft`: the test cases of BBR's draft, for bbr3 (default: the RFC's)
        --set KEY=VALUE     a parameter of the mechanism; may be repeated
        --beside MECHANISM  what it is compared with, named as NAME is; may be repeated (default: cubic and reno; of queues drop_tail, codel,
                            pie and fq_codel)
        --only SCENARIO     this scenario, such as heavy; may be repeated
        --quick             a first look within a minute or two; says what it left out
        --json              print every table as JSON
        """,
        of=tuple(_KINDS), cases={"choices": ("rfc", "draft"), "default": "rfc"}, beside="many", only="many",
    )  # fmt: skip
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
    from ..studies import Options

    registry = _registry(args.mechanism, args.of)
    for other in args.beside:
        _named(other, (registry,), "--beside")
    settings = dict(parse_setting(one) for one in args.set)
    draft = args.cases == "draft"
    suffix = "".join(f"-{key}-{value}" for key, value in settings.items())
    suffix += "-draft" if draft else "-quick" if args.quick else ""
    out = args.out or Path("results") / f"characterize-{label(args.mechanism)}{suffix}"
    options = Options(quick=args.quick, seeds=args.seeds, jobs=args.jobs, out=out)
    if draft:
        if args.beside:
            raise InputError("--beside must be left out with --cases draft, whose cases compare nothing, got both")
        outcome = characterize_draft(args.mechanism, settings, options, args.only)
    else:
        run = characterize if registry == "queues" else characterize_control
        outcome = run(args.mechanism, settings, options, args.only, args.beside)
    show(outcome.document, out, outcome.to_json() if args.json else None)
    return 0
