"""`haltere characterize`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._common import Commands, mechanism, show


def add(to: Commands) -> None:
    """Adds to the command line."""
    types: dict[str, Any] = {
        "of": tuple(_KINDS),
        "cases": {"choices": ("rfc", "draft"), "default": "rfc"},
        "beside": "many",
        "only": "many",
        "out": Path,
    }
    to.add("characterize", _characterize, **types)


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
