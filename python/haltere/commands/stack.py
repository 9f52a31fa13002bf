"""`haltere stack`."""

from __future__ import annotations

import argparse
from pathlib import Path

from .. import stacks
from ._common import Commands, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    inner = Commands(to.add("stack", _list), "stack ")
    inner.add("build", _build, source={"type": Path})
    inner.add("list", _list)


def _told(one: stacks.Stack) -> dict[str, str]:
    return {"name": one.name, "version": one.version, "file": str(one.file)}


def _build(args: argparse.Namespace) -> int:
    done = stacks.build(args.name, args.version, args.source)
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
