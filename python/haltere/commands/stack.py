"""`haltere stack`."""

from __future__ import annotations

import argparse

from .. import stacks
from ._common import Commands, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    one = to.add(
        "stack", _list, "build the transport stacks that flows run on beside TCP, and list them",
        "examples:\n"
        "  haltere stack build noq\n"
        "  haltere stack build noq --version 1.0.0\n"
        "  haltere stack list\n",
    )  # fmt: skip
    parts = one.add_subparsers(title="what to do", metavar="ACTION", required=True)
    build = parts.add_parser(
        "build",
        help="build a stack",
        description="Builds a stack and keeps it under the cache folder (cargo; two minutes).",
    )
    build.add_argument("name", metavar="NAME", help="which one: `haltere stack list` has the names")
    build.add_argument(
        "--version", metavar="VERSION", help="of the stack (default: the one that its adapter is tested with)"
    )
    build.add_argument("--json", action="store_true", help="print what was built as JSON")
    build.set_defaults(does=_build)
    listing = parts.add_parser("list", help="list the stacks that can be built and those that are")
    listing.add_argument("--json", action="store_true", help="print as JSON")
    listing.set_defaults(does=_list)


def _told(one: stacks.Stack) -> dict[str, str]:
    return {"name": one.name, "version": one.version, "file": str(one.file)}


def _build(args: argparse.Namespace) -> int:
    done = stacks.build(args.name, args.version)
    if args.json:
        print_json(_told(done))
    else:
        print(f"{done.name} {done.version}\n{done.file}")
    return 0


def _list(args: argparse.Namespace) -> int:
    every = stacks.built()
    if args.json:
        print_json([_told(one) for one in every])
        return 0
    for one in every:
        print(f"{one.name:8} {one.version:10} {one.file}")
    for name, version in stacks.known().items():
        if not any(one.name == name for one in every):
            print(f"{name:8} {version:10} not built; `haltere stack build {name}`")
    return 0
