"""`haltere classify`, `correlate` and `replay`: recorded traffic."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import InputError
from ._common import Commands, count, names, print_json, show

if TYPE_CHECKING:
    from ..report.document import Document


def add(to: Commands) -> None:
    """Adds to the command line."""
    defaults = json.loads(_core.capture_defaults())
    listed = {
        "classifiers": ", ".join(defaults["classify"]["classifiers"]),
        "methods": ",".join(defaults["correlate"]["methods"]),
    }
    to.add(
        "classify", _classify, fill=defaults["classify"] | listed, classifier={"type": names, "default": ["rafle"]}, n=_counts, draws=count,
        seed=int,
    )  # fmt: skip
    to.add(
        "correlate", _correlate, fill=defaults["correlate"] | listed, method={"type": names, "default": defaults["correlate"]["methods"]},
        window=count, phi=float, flows=count, least=count, source=("auto", "round_trip", "one_way"),
    )  # fmt: skip
    to.add("replay", _replay, pairs={"type": count, "default": 1})


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
