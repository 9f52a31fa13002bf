"""`haltere replay`: the flows of a capture as a file that a `replay` entry reads."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, count


def add(to: Commands) -> None:
    """Adds to the command line."""
    replay = to.add(
        "replay",
        _replay,
        'write the TCP flows of a capture as CSV, for traffic of `kind = "replay"`',
        "example:\n  haltere replay capture.pcapng --pairs 4 --out flows.csv\n\n"
        "Each direction of a connection that carries payload is a flow from `cN` to `sN` or back: the hosts of a dumbbell. The first "
        "client's address is the first pair, and so on; after the last pair comes the first.",
    )
    replay.add_argument("capture", type=Path, metavar="CAPTURE", help="a pcap or pcapng file")
    replay.add_argument("--pairs", type=count, default=1, metavar="N", help="pairs of hosts (default: 1)")
    replay.add_argument("--out", type=Path, metavar="FILE", help="the CSV file (default: standard output)")


def _replay(args: argparse.Namespace) -> int:
    from .. import captures

    if not args.capture.exists():
        raise InputError(f"{args.capture}: no such file")
    text = captures.flows_csv(args.capture, args.pairs)
    if args.out is None:
        print(text, end="")
    else:
        args.out.write_text(text)
        print(f"{text.count(chr(10)) - 1} flows: {args.out}")
    return 0
