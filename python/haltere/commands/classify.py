"""`haltere classify`: flow classifiers on recorded traffic."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from .. import _core
from ..errors import InputError
from ._common import Commands, capture_outputs, count, names, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    defaults = json.loads(_core.capture_defaults())["classify"]
    known = ", ".join(defaults["classifiers"])
    classify = to.add(
        "classify",
        _classify,
        "run flow classifiers on a capture: hit rates for your own traffic, and RAFLE's best memory",
        "example:\n  haltere classify capture.pcapng --classifier rafle,las --n 10,30,40,50,60,100 --short 16kB\n\n"
        "Reads pcap and pcapng; `tcpdump -s 96` keeps enough. The bytes of a whole flow decide whether it was short.",
    )
    classify.add_argument("capture", type=Path, metavar="CAPTURE", help="a pcap or pcapng file")
    classify.add_argument(
        "--classifier",
        type=names,
        default=["rafle"],
        metavar="NAME,...",
        help=f"of {known} (default: rafle)",
    )
    classify.add_argument(
        "--n", type=_counts, metavar="N,...", help="memories of RAFLE (default: those of the study's table 1)",
    )  # fmt: skip
    classify.add_argument(
        "--short", metavar="SIZE", help=f"a flow of at most so many IP bytes is short (default: {defaults['short']})"
    )
    classify.add_argument(
        "--draws",
        type=count,
        metavar="N",
        help=f"replays of RAFLE with other random draws (default: {defaults['draws']})",
    )
    classify.add_argument(
        "--seed", type=int, metavar="N", help=f"random seed of these draws (default: {defaults['seed']})"
    )
    capture_outputs(classify, "results/classify-NAME of the file")


def _counts(text: str) -> list[int]:
    return list(dict.fromkeys(count(one) for one in text.split(",")))


def _classify(args: argparse.Namespace) -> int:
    from .. import captures

    if not args.capture.exists():
        raise InputError(f"{args.capture}: no such file")
    report = captures.classify(
        args.capture, args.classifier, n=args.n, short=args.short, draws=args.draws, seed=args.seed, quiet=False
    )
    out = args.out or Path("results") / f"classify-{args.capture.stem}"
    if args.json:
        if args.out:
            captures.classify_document(report, args.capture, args.short, out).write(out)
        print_json(report)
        return 0
    document = captures.classify_document(report, args.capture, args.short, out)
    paths = document.write(out)
    print(f"{document.text()}\n\nReport: {paths[0]}; figures: {out / 'figures'}")
    return 0
