"""`haltere kernel`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from ...commands._common import Commands, count, names, print_json, seeds_and_jobs
from ...terminal import below, visible
from . import Kernel, guests


def add(to: Commands) -> None:
    """Adds to the command line."""
    one = to.add(
        Kernel.name,
        _list,
        "build the Linux kernels of the kernel world, and list them",
        "examples:\n"
        "  haltere kernel build\n"
        "  haltere kernel build 6.12 --add tcp_foo.c\n"
        "  haltere kernel build 6.12 --patch bbr3.patch\n"
        "  haltere kernel matrix experiment.toml --kernels 6.1,6.12,7.2\n"
        "  haltere kernel list\n",
    )
    parts = one.add_subparsers(title="what to do", metavar="ACTION", required=True)
    build = parts.add_parser(
        "build",
        help="build a kernel, or find it built",
        description=f"Builds a kernel and keeps it under the cache folder ({guests.COST}). No root is needed.",
    )
    build.add_argument(
        "version", nargs="?", default="6.1", help="Debian's package linux-source-VERSION: 6.1 (default), 6.12 or 7.2"
    )
    build.add_argument("--source", type=Path, metavar="DIR", help="a tree of Linux instead")
    build.add_argument(
        "--patch", type=Path, action="append", default=[], metavar="FILE",
        help="change the tree by this patch first; may be repeated, in their order",
    )  # fmt: skip
    build.add_argument(
        "--add", type=Path, action="append", default=[], metavar="FILE",
        help="compile in tcp_NAME.c, a congestion control, sch_NAME.c, a queue discipline, or mptcp_NAME.c, a scheduler; may be repeated",
    )  # fmt: skip
    build.add_argument("--jobs", type=count, metavar="N", help="compilers at a time (default: one a core)")
    build.add_argument("--force", action="store_true", help="build although it is there")
    build.add_argument("--json", action="store_true", help="print what was built as JSON")
    build.set_defaults(does=_build)
    listing = parts.add_parser("list", help="list the kernels that are built")
    listing.add_argument("--json", action="store_true", help="print as JSON")
    listing.set_defaults(does=_list)
    over = parts.add_parser(
        "matrix", help="run one experiment in the simulator and over several kernels, and print what differs"
    )
    over.add_argument("file", type=Path, metavar="FILE", help="the experiment, a TOML file")
    over.add_argument(
        "--kernels",
        type=names,
        metavar="X,Y",
        help="how their releases or hashes begin (default: every kernel that is built)",
    )
    over.add_argument("--json", action="store_true", help="print the matrix as JSON")
    seeds_and_jobs(over, "results/NAME-kernels of the file")
    over.set_defaults(does=_matrix)


def _build(args: argparse.Namespace) -> int:
    from .build import build

    began = time.monotonic()
    live = sys.stderr.isatty()

    def say(what: str) -> None:
        line = f"{time.monotonic() - began:5.0f} s  {what}"
        if live:
            print(f"\r\x1b[K{visible(line)}", end="", file=below(sys.stderr), flush=True)
        elif "files of" not in what:
            print(line, file=sys.stderr, flush=True)

    try:
        done = build(
            args.version,
            source=args.source,
            patches=args.patch,
            add=args.add,
            jobs=args.jobs,
            force=args.force,
            say=say,
        )
    finally:
        if live:
            print("\r\x1b[K", end="", file=below(sys.stderr))
    if args.json:
        print_json(done.told)
        return 0
    print(f"{_line(done)}\n{done.folder}")
    return 0


def _list(args: argparse.Namespace) -> int:
    every = guests.built()
    if args.json:
        print_json([one.told for one in every])
        return 0
    for one in every:
        print(_line(one))
    if not every:
        print(f"none; `haltere kernel build` builds one ({guests.COST})")
    return 0


def _matrix(args: argparse.Namespace) -> int:
    from ...api import Scenario
    from .matrix import matrix

    scenario = Scenario.load(args.file)
    chosen = args.kernels or [one.hash for one in guests.built()] or [""]
    out = args.out or Path("results") / f"{args.file.stem}-kernels"
    done = matrix(scenario, chosen, out=out, seeds=args.seeds, jobs=args.jobs)
    if args.json:
        print_json(done.to_json())
        return 0
    print(done.document().text())
    return 0


def _line(one: guests.GuestKernel) -> str:
    told = one.told
    theirs = [*told.get("patches", ()), *told["added"]]
    added = f", with {', '.join(theirs)}" if theirs else ""
    return f"{one.release}  {one.hash[:12]}  built {told['built']} in {told['seconds']:.0f} s, {told['bytes'] / 1e6:.1f} MB{added}"
