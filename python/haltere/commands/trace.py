"""`haltere trace`: public traces of links, files of other tools, and what a trace says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ._common import Commands


def add(to: Commands) -> None:
    """Adds to the command line."""
    from ..traces import READ, WRITTEN

    formats = {"read": ", ".join(READ), "written": ", ".join(WRITTEN)}
    to.add(
        "trace",
        _trace,
        fill=formats,
        what=("list", "fetch", "convert", "show"),
        format=READ,
        to=WRITTEN,
        seed=int,
        length=float,
    )


def _trace(args: argparse.Namespace) -> int:
    from ..errors import InputError

    if (args.name is None) != (args.what == "list"):
        raise InputError(f"trace {args.what}: name must be {'left out' if args.name else 'given'}")
    return {"list": _list, "fetch": _fetch, "convert": _convert, "show": _show}[args.what](args)


def _list(args: argparse.Namespace) -> int:
    from ..report.document import Document, Table
    from ..traces import public

    rows = [
        [
            name,
            f"{one['bytes'] / 1e6:.1f} MB" if "bytes" in one else "–",
            f"{one['seconds']} s" if "seconds" in one else "–",
            f"{one['mbit']:g} Mbit/s" if "mbit" in one else "–",
            one["licence"],
            one["about"],
        ]
        for name, one in public.sources().items()
    ]
    rows += [[name, *["–"] * 4, "drawn with a random seed; `haltere explain` says how"] for name in public.paths()]
    columns = ["name", "size", "length", "mean rate", "licence", "what it is"]
    print(Document("Traces", [Table("traces", "", columns, rows, left=len(columns))]).text())
    return 0


def _fetch(args: argparse.Namespace) -> int:
    from ..traces import public

    known = public.sources().get(args.name, {"path": args.name, "licence": ""})
    file = args.out or Path(known["path"])
    digest = public.fetch(args.name, file, args.mirror)
    print(f"{file}: {known['licence']}; SHA-256 {digest}")
    return 0


def _loaded(args: argparse.Namespace) -> Any:
    from ..traces import public

    return public.load(args.name, args.format, args.seed or 1, args.length or 60.0, args.upload)


def _convert(args: argparse.Namespace) -> int:
    from ..traces.files import WRITERS
    from .new import write_new

    endings = {".csv": "csv", ".txt": "theaterq"}
    kind = args.to or endings.get(args.out.suffix if args.out else "", "mahimahi")
    text = WRITERS[kind](_loaded(args))
    if args.out is None:
        print(text, end="")
    else:
        write_new(args.out, text)
        print(f"{args.out}: {kind}")
    return 0


def _show(args: argparse.Namespace) -> int:
    trace = _loaded(args)
    width = max(len(name) for name, _ in trace.summary())
    print("\n".join(f"{name:<{width}}  {value}" for name, value in trace.summary()))
    if args.out is not None:
        from ..report import links

        print("\n".join(map(str, links.draw(trace, Path(args.name).name, args.out))))
    return 0
