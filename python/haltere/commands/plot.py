"""`haltere plot` and `report`."""

from __future__ import annotations

import argparse
import re

from ..errors import InputError
from ._common import Commands, figure_look, figure_options

#: Kinds of figures over the axes of a sweep; :mod:`haltere.report.over` draws them.
_KINDS = ("line", "bar", "heat", "cdf", "box", "size", "ellipse")


def add(to: Commands) -> None:
    """Adds to the command line."""
    to.add("plot", _plot, kind=_KINDS, point=int, seed=int, beside="many", **figure_options())
    to.add("report", _report, **figure_options())


def _plot(args: argparse.Namespace) -> int:
    with figure_look(args):
        return _drawn(args)


def _drawn(args: argparse.Namespace) -> int:
    over = [f"--{name.replace('_', '-')}" for name in ("x", "by", "facet", "kind", "log_x", "log_y") if getattr(args, name)]  # fmt: skip
    if args.timeline:
        if args.y or over or len(args.results) > 1:
            raise InputError(f"plot: --timeline must go without {', '.join(over) or 'other results and --y'}")
        return _timeline(args)
    if args.point is not None or args.seed is not None or args.beside:
        raise InputError("plot: --point, --seed and --beside go with --timeline")
    if args.link is not None and (args.y or over or args.out or len(args.results) > 1):
        raise InputError("plot: --link must go with one results directory, and with --timeline or nothing else")
    if args.y:
        return _over(args)
    if over or args.out or len(args.results) > 1:
        over += ["--out"] if args.out else []
        raise InputError(
            f"plot: --y must say what is drawn, such as `--y ping_p95`, with {', '.join(over) or 'several results'}"
        )
    from ..report import figures
    from ..runs.results import Results

    for _, paths in figures.draw(Results(args.results[0]), svg=True, link=args.link):
        print("\n".join(map(str, paths)))
    return 0


def _timeline(args: argparse.Namespace) -> int:
    from ..report import explore
    from ..runs.results import Results

    caption, paths = explore.draw(Results(args.results[0]), args.point, args.seed, args.link, args.out, args.beside)
    print("\n".join([*map(str, paths), caption]))
    return 0


def _over(args: argparse.Namespace) -> int:
    from ..report import over
    from ..runs.results import Results

    many = [Results(one) for one in args.results]
    ask = over.Ask(args.y, args.x, args.by, args.facet, args.kind, args.log_x, args.log_y)
    axes = [f"{what}-{name}" for what in ("x", "by", "facet") if (name := getattr(args, what))]
    words = [args.kind or "", args.y, *axes]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", "-".join(word for word in words if word)).replace(".", "-")
    caption, paths = over.draw(over.Data(many), ask, args.out or many[0].directory / "figures" / name)
    for one in many:
        one.facts.save()
    print("\n".join([*map(str, paths), caption]))
    return 0


def _report(args: argparse.Namespace) -> int:
    from ..report import overview
    from ..runs.results import Results

    results = Results(args.results)
    with figure_look(args, "png"):
        document = overview.document(results, figures=True)
    print("\n".join(map(str, document.write(results.directory))))
    return 0
