"""`haltere correlate`: which flows of recorded traffic share a bottleneck."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from .. import _core
from ..errors import InputError
from ._common import Commands, capture_outputs, count, names, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    defaults = json.loads(_core.capture_defaults())["correlate"]
    correlate = to.add(
        "correlate",
        _correlate,
        "find out from captures which flows share a bottleneck",
        "example:\n  haltere correlate a.pcapng b.pcapng --method red_cpi,mscm,sbd\n\n"
        "A capture before the bottleneck is judged by round-trip times, one behind it by one-way delays (TCP timestamps).\n"
        "UP.pcapng+DOWN.pcapng: the two directions of one capture. Clocks of all captures must agree.",
    )
    correlate.add_argument("captures", nargs="+", metavar="CAPTURE", help="pcap or pcapng files")
    correlate.add_argument(
        "--method",
        type=names,
        default=defaults["methods"],
        metavar="NAME,...",
        help=f"(default: {','.join(defaults['methods'])})",
    )
    correlate.add_argument(
        "--every", metavar="TIME",
        help=f"step at which red_cpi and mscm sample delays; 0s: each measurement (default: {defaults['every']})",
    )  # fmt: skip
    ours = "default: as `haltere explain NAME` says"
    correlate.add_argument(
        "--window", type=count, metavar="N", help=f"samples in a window of red_cpi and mscm ({ours})"
    )
    correlate.add_argument("--interval", metavar="TIME", help=f"between two of their coefficients ({ours})")
    correlate.add_argument("--phi", type=float, metavar="P", help=f"coefficient from which flows share ({ours})")
    correlate.add_argument(
        "--flows", type=count, metavar="N", help=f"at most so many, the largest (default: {defaults['flows']})"
    )
    correlate.add_argument(
        "--least", type=count, metavar="N", help=f"measurements that a flow must have (default: {defaults['least']})"
    )
    correlate.add_argument(
        "--source",
        choices=["auto", "round_trip", "one_way"],
        help="what is measured (default: auto, what varies more)",
    )
    capture_outputs(correlate, "results/correlate-NAME of the first file")


def _correlate(args: argparse.Namespace) -> int:
    from .. import captures

    for capture in args.captures:
        for part in [capture] if Path(capture).exists() else capture.split("+"):
            if not Path(part).exists():
                raise InputError(f"{part}: no such file")
    report = captures.correlate(
        args.captures, args.method, every=args.every, window=args.window, interval=args.interval, phi=args.phi,
        flows=args.flows, least=args.least, source=args.source, quiet=False,
    )  # fmt: skip
    out = args.out or Path("results") / f"correlate-{Path(args.captures[0].split('+')[0]).stem}"
    if args.json:
        if args.out:
            captures.correlate_document(report, out).write(out)
        print_json(report)
        return 0
    document = captures.correlate_document(report, out)
    paths = document.write(out)
    print(f"{document.text()}\n\nReport: {paths[0]}; figures: {out / 'figures'}")
    return 0
