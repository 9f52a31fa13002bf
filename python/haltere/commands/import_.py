"""`haltere import`: an experiment from another tool's file or command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    from ..formats import READERS

    to.add("import", _import, fill={"formats": "\n".join(f"  {name:<9} {what}" for name, what in READERS.items())})


def _import(args: argparse.Namespace) -> int:
    from .. import formats
    from ..api import Scenario
    from ..toml import toml
    from .new import write_new

    found = formats.read(args.format, args.source)
    lines = [f"# From {args.format}: {' '.join(args.source)}"]
    if found.left_out:
        lines += ["#", "# Not in this file:", *(f"# - {one}" for one in found.left_out)]
    text = "\n".join(lines) + "\n\n" + toml(found.values)
    for one in found.left_out:
        print(f"haltere: not in this file: {one}", file=sys.stderr)
    # Files that a link names, such as traces, count from the folder of the experiment file.
    Scenario.from_toml(text, str(args.out or Path("imported.toml")))
    if args.out is None:
        sys.stdout.write(text)
    else:
        write_new(args.out, text)
        print(args.out)
    return 0
