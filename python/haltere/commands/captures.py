"""`haltere classify` and `correlate`: recorded traffic."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import InputError
from ._common import Commands, count, print_json


def add(to: Commands) -> None:
    """Adds to the command line."""
    classify = to.add(
        "classify",
        _classify,
        "hold flow classifiers against a capture: hit rates for your own traffic, and RAFLE's best memory",
        "example:\n  haltere classify capture.pcapng --classifier rafle,las --n 10,30,40,50,60,100 --short 16kB\n\n"
        "Reads pcap and pcapng; `tcpdump -s 96` keeps enough. What a flow was is told by its bytes when it is over.",
    )
    classify.add_argument("capture", type=Path, metavar="CAPTURE", help="a pcap or pcapng file")
    classify.add_argument(
        "--classifier",
        type=_names,
        default=["rafle"],
        metavar="NAME,...",
        help="of rafle, run2c, las, ideal (default: rafle)",
    )
    classify.add_argument(
        "--n", type=_counts, default=[10, 30, 40, 50, 60, 100], metavar="N,...",
        help="memories of RAFLE (default: 10,30,40,50,60,100)",
    )  # fmt: skip
    classify.add_argument(
        "--short", default="16kB", metavar="SIZE", help="a flow of at most so many IP bytes is short (default: 16kB)"
    )
    classify.add_argument(
        "--draws", type=count, default=10, metavar="N", help="replays of RAFLE with other chance (default: 10)"
    )
    classify.add_argument("--seed", type=int, default=1, metavar="N", help="of that chance (default: 1)")
    _outputs(classify, "results/classify-NAME of the file")

    correlate = to.add(
        "correlate",
        _correlate,
        "tell from captures which flows share a bottleneck",
        "example:\n  haltere correlate a.pcapng b.pcapng --method red_cpi,mscm,sbd\n\n"
        "A capture before the bottleneck tells by round-trip times, one behind it by one-way delays (TCP timestamps).\n"
        "UP.pcapng+DOWN.pcapng: the two directions of one capture. Clocks of all captures must agree.",
    )
    correlate.add_argument("captures", nargs="+", metavar="CAPTURE", help="pcap or pcapng files")
    correlate.add_argument(
        "--method",
        type=_names,
        default=["red_cpi", "mscm", "sbd"],
        metavar="NAME,...",
        help="(default: red_cpi,mscm,sbd)",
    )
    correlate.add_argument(
        "--every", default="100ms", metavar="TIME",
        help="step at which red_cpi and mscm sample delays; 0s: each measurement (default: 100ms)",
    )  # fmt: skip
    correlate.add_argument(
        "--window", type=count, metavar="N", help="samples in a window of red_cpi and mscm (default: 50)"
    )
    correlate.add_argument("--interval", metavar="TIME", help="between two of their coefficients (default: 2s)")
    correlate.add_argument("--phi", type=float, metavar="P", help="coefficient from which flows share (default: 0.8)")
    correlate.add_argument(
        "--flows", type=count, default=8, metavar="N", help="at most so many, the largest (default: 8)"
    )
    correlate.add_argument(
        "--least", type=count, default=200, metavar="N", help="measurements that a flow must have (default: 200)"
    )
    correlate.add_argument(
        "--source",
        choices=["auto", "round_trip", "one_way"],
        default="auto",
        help="what is measured (default: what varies more)",
    )
    _outputs(correlate, "results/correlate-NAME of the first file")


def _outputs(one: argparse.ArgumentParser, out: str) -> None:
    one.add_argument("--json", action="store_true", help="print as JSON; nothing is written unless --out is given")
    one.add_argument("--out", type=Path, metavar="DIR", help=f"where figure, tables and report go (default: {out})")


def _names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if not names:
        raise argparse.ArgumentTypeError("must name at least one")
    return list(dict.fromkeys(names))


def _counts(text: str) -> list[int]:
    return list(dict.fromkeys(count(one) for one in text.split(",")))


def _classify(args: argparse.Namespace) -> int:
    from .. import captures

    if not args.capture.is_file():
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


def _correlate(args: argparse.Namespace) -> int:
    from .. import captures

    for capture in args.captures:
        for part in [capture] if Path(capture).exists() else capture.split("+"):
            if not Path(part).is_file():
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
