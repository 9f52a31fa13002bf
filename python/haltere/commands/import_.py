"""`haltere import`: an experiment from another tool's file or command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    from ..formats import READERS

    command = to.add(
        "import",
        _import,
        "write an experiment file from another tool's file or command line",
        "formats:\n" + "".join(f"  {name:<9} {what}\n" for name, what in READERS.items()) + "\nexamples:\n"
        "  haltere import mahimahi 'mm-delay 20 mm-link up.trace down.trace --uplink-queue=droptail --uplink-queue-args=packets=100'\n"
        "  haltere import mininet dumbbell.py --out dumbbell.toml\n"
        "  haltere import interop 'drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=2'\n"
        "  haltere import htsim perm_128.cm leaf_spine.topo\n\n"
        "The experiment goes to standard output, or to --out. What of the source it lacks is listed in its first lines and on standard error.",
    )
    command.add_argument("format", metavar="FORMAT", help=", ".join(READERS))
    command.add_argument("source", nargs="+", metavar="SOURCE", help="a file, two files, or a command line in quotes")
    command.add_argument("--out", type=Path, metavar="FILE", help="where (default: standard output)")


def _import(args: argparse.Namespace) -> int:
    from .. import formats
    from ..api import Scenario
    from ..search.experiment import toml
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
