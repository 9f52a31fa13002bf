"""`haltere list`, `explain` and `schema`: what there is."""

from __future__ import annotations

import argparse

from ..errors import InputError
from ._common import Commands, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("list", _list)
    to.add("explain", _explain)
    to.add("schema", _schema)


def _list(args: argparse.Namespace) -> int:
    from .. import catalogue

    kinds = catalogue.kinds(args.kind)
    if args.json:
        print_json({kind: [name for name, _ in entries] for kind, entries in kinds.items()})
        return 0
    width = max((len(name) for entries in kinds.values() for name, _ in entries), default=0)
    parts = [
        f"{kind}\n" + "\n".join(f"  {name:<{width}}  {about}".rstrip() for name, about in entries)
        for kind, entries in kinds.items()
    ]
    if args.kind is None:
        parts.append("metrics\n  `haltere list metrics` names them, with their units.")
    print("\n\n".join(parts))
    return 0


def _explain(args: argparse.Namespace) -> int:
    from .. import catalogue

    if args.json:
        try:
            shown = catalogue.find(args.name).schema
        except InputError:
            measured = catalogue.metric(args.name)
            if measured is None:
                raise
            shown = measured
        print_json(shown)
    else:
        print(catalogue.explain(args.name))
    return 0


def _schema(args: argparse.Namespace) -> int:
    from .. import catalogue

    print_json(catalogue.schema())
    return 0
