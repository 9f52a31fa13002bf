"""`haltere classify`, `correlate` and `replay`: recorded traffic."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import InputError
from ._common import Commands, count, names, print_json, show, takes

if TYPE_CHECKING:
    from ..report.document import Document


def add(to: Commands) -> None:
    """Adds to the command line."""
    defaults = json.loads(_core.capture_defaults())
    _add_classify(to, defaults["classify"])
    _add_correlate(to, defaults["correlate"])
    replay = to.add(
        "replay",
        _replay,
        'write the TCP flows of a capture as CSV, for traffic of `kind = "replay"`',
        "example:\n  haltere replay capture.pcapng --pairs 4 --out flows.csv\n\n"
        "Each direction of a connection that carries payload is a flow from `cN` to `sN` or back: the hosts of a dumbbell. The first "
        "client's address is the first pair, and so on; after the last pair comes the first.",
    )
    takes(
        replay,
        """
        capture CAPTURE  a pcap or pcapng file
        --pairs N        pairs of hosts (default: 1)
        --out FILE       the CSV file (default: standard output)
        """,
        pairs={"type": count, "default": 1}, out=Path,
    )  # fmt: skip


def _add_classify(to: Commands, defaults: dict[str, Any]) -> None:
    one = to.add(
        "classify",
        _classify,
        "run flow classifiers on a capture: hit rates for your own traffic, and RAFLE's best memory",
        "example:\n  haltere classify capture.pcapng --classifier rafle,las --n 10,30,40,50,60,100 --short 16kB\n\n"
        "Reads pcap and pcapng; `tcpdump -s 96` keeps enough. The bytes of a whole flow decide whether it was short.",
    )
    takes(
        one,
        f"""
        capture CAPTURE        a pcap or pcapng file
        --classifier NAME,...  of {", ".join(defaults["classifiers"])} (default: rafle)
        --n N,...              memories of RAFLE (default: those of the study's table 1)
        --short SIZE           a flow of at most so many IP bytes is short (default: {defaults["short"]})
        --draws N              replays of RAFLE with other random draws (default: {defaults["draws"]})
        --seed N               random seed of these draws (default: {defaults["seed"]})
        """,
        classifier={"type": names, "default": ["rafle"]}, n=_counts, draws=count, seed=int,
    )  # fmt: skip
    _outputs(one, "classify-NAME of the file")


def _add_correlate(to: Commands, defaults: dict[str, Any]) -> None:
    one = to.add(
        "correlate",
        _correlate,
        "find out from captures which flows share a bottleneck",
        "example:\n  haltere correlate a.pcapng b.pcapng --method red_cpi,mscm,sbd\n\n"
        "A capture before the bottleneck is judged by round-trip times, one behind it by one-way delays (TCP timestamps).\n"
        "UP.pcapng+DOWN.pcapng: the two directions of one capture. Clocks of all captures must agree.",
    )
    ours = "default: as `haltere explain NAME` says"
    takes(
        one,
        f"""
        captures+ CAPTURE  pcap or pcapng files
        --method NAME,...  (default: {",".join(defaults["methods"])})
        --every TIME       step at which red_cpi and mscm sample delays; 0s: each measurement (default: {defaults["every"]})
        --window N         samples in a window of red_cpi and mscm ({ours})
        --interval TIME    between two of their coefficients ({ours})
        --phi P            coefficient from which flows share ({ours})
        --flows N          at most so many, the largest (default: {defaults["flows"]})
        --least N          measurements that a flow must have (default: {defaults["least"]})
        --source           what is measured (default: auto, what varies more)
        """,
        method={"type": names, "default": defaults["methods"]}, window=count, phi=float, flows=count, least=count,
        source=("auto", "round_trip", "one_way"),
    )  # fmt: skip
    _outputs(one, "correlate-NAME of the first file")


def _outputs(one: argparse.ArgumentParser, name: str) -> None:
    takes(
        one,
        f"""
        --json     print as JSON; nothing is written unless --out is given
        --out DIR  where figure, tables and report go (default: results/{name})
        """,
        out=Path,
    )


def _counts(text: str) -> list[int]:
    return list(dict.fromkeys(count(one) for one in text.split(",")))


def _check(*files: str | Path) -> None:
    for file in files:
        if not Path(file).exists():
            raise InputError(f"{file}: no such file")


def _shown(args: argparse.Namespace, report: dict[str, Any], name: str, document: Callable[[Path], Document]) -> int:
    """Prints a report as JSON, or as the document of which figures are drawn into the folder that it is given."""
    out = args.out or Path("results") / name
    if not args.json:
        show(document(out), out)
        return 0
    if args.out:
        document(out).write(out)
    print_json(report)
    return 0


def _classify(args: argparse.Namespace) -> int:
    from .. import captures

    _check(args.capture)
    report = captures.classify(
        args.capture, args.classifier, n=args.n, short=args.short, draws=args.draws, seed=args.seed, quiet=False
    )
    name = f"classify-{Path(args.capture).stem}"
    return _shown(args, report, name, lambda out: captures.classify_document(report, args.capture, args.short, out))


def _correlate(args: argparse.Namespace) -> int:
    from .. import captures

    for capture in args.captures:
        _check(*([capture] if Path(capture).exists() else capture.split("+")))
    report = captures.correlate(
        args.captures, args.method, every=args.every, window=args.window, interval=args.interval, phi=args.phi,
        flows=args.flows, least=args.least, source=args.source, quiet=False,
    )  # fmt: skip
    name = f"correlate-{Path(args.captures[0].split('+')[0]).stem}"
    return _shown(args, report, name, lambda out: captures.correlate_document(report, out))


def _replay(args: argparse.Namespace) -> int:
    from .. import captures

    _check(args.capture)
    text = captures.flows_csv(args.capture, args.pairs)
    if args.out is None:
        print(text, end="")
    else:
        args.out.write_text(text)
        print(f"{text.count(chr(10)) - 1} flows: {args.out}")
    return 0
