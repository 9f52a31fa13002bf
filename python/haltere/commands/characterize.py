"""`haltere characterize`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import stacks
from ..errors import InputError
from ._common import Commands, mechanism, show


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("characterize", _characterize, of=tuple(_KINDS), beside="many", only="many")


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
    from ..kinds import label
    from ..studies import Options

    registry = _registry(args.mechanism, args.of)
    for other in args.beside:
        _named(other, (registry,), "--beside")
    if args.stack and registry == "queues":
        raise InputError(f"--stack must be left out for a queue discipline, got `{args.stack}`")
    settings = dict(parse_setting(one) for one in args.set)
    suffix = "".join(f"-{key}-{value}" for key, value in settings.items()) + ("-quick" if args.quick else "")
    stack = args.stack and stacks.named(args.stack)
    on = f"-{stacks.label(stack)}" if stack else ""
    out = args.out or Path("results") / f"characterize{on}-{label(args.mechanism)}{suffix}"
    options = Options(quick=args.quick, seeds=args.seeds, jobs=args.jobs, out=out)
    if registry == "queues":
        outcome = characterize(args.mechanism, settings, options, args.only, args.beside)
    else:
        outcome = characterize_control(args.mechanism, settings, options, args.only, args.beside, stack)
    show(outcome.document, out, outcome.to_json() if args.json else None)
    return 0
