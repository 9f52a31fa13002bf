"""`haltere plot` and `report`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ..errors import InputError
from ._common import Commands, figure_look, figure_options, takes

#: Kinds of figures over the axes of a sweep; :mod:`haltere.report.over` draws them.
_KINDS = ("line", "bar", "heat", "cdf", "box", "size")


def add(to: Commands) -> None:
    """Adds to the command line."""
    plot = to.add(
        "plot",
        _plot,
        "draw the figures of a results directory as PNG, PDF, SVG or PGF",
        "examples:\n"
        "  haltere plot results/sweep                                             the figures of the report\n"
        "  haltere plot results/sweep --x rate --y ping_p95 --by queue --facet delay --log-x\n"
        "  haltere plot results/sweep --kind heat --x rate --by limit --y goodput\n"
        "  haltere plot results/a results/b --kind cdf --y pings                  lines: results\n"
        "  haltere plot results/sweep --y goodput_flow --x limit --by traffic          a line for each traffic entry\n"
        "  haltere plot results/web --kind size --y slowdown --by queue\n"
        "  haltere plot results/web --kind cdf --y fct.web\n"
        "  haltere plot results/sweep --link all                                  the queue of each watched link\n"
        "  haltere plot results/sweep --timeline --point 3 --link 'right>left'\n"
        "  haltere plot results/sweep --y ping_p95 --style paper --format pdf,pgf --x-label 'Rate (Mbit/s)'\n\n"
        "--y takes a metric (`haltere list metrics` names them), single values (pings, fct, slowdown, flow, page_load, call_mos), of one\n"
        "traffic entry or of one kind after a dot (fct.web), or TABLE.COLUMN (`haltere results RESULTS` lists them; the mean of a run). Axes go by their last word, and `traffic`,\n"
        "`class` and `link` are axes, too. What is not named is taken from the sweep. Kinds: line, bar, heat (--x and --by), cdf, box, size (flow completion time by size).",
    )
    takes(
        plot,
        """
        results+ RESULTS  results directories or URLs; several in one figure need --y
        --y VALUE         what is drawn: a metric, or TABLE.COLUMN
        --x AXIS          along the figure: an axis of the sweep
        --by AXIS         a line or box for each of its values; rows of a heat map
        --facet AXIS      a panel for each of its values
        --kind            default: line, or cdf of single values
        --log-x           a logarithmic x axis
        --log-y           a logarithmic y axis
        --out FILE        where, without suffix (default: figures/NAME of the first results)
        --timeline        instead one run over time: throughput, windows, RTT, queue, drops and marks
        --point N         with --timeline: which point of the sweep, from 0
        --link NAME       whose queue (default: the link used most); without --timeline that figure alone, of each link with `all`
        --seed N          with --timeline: which seed (default: the first)
        """,
        kind=_KINDS, out=Path, point=int, seed=int,
    )  # fmt: skip
    figure_options(plot, "png,pdf,svg")
    takes(
        plot, "--x-label TEXT  of the x axes, instead of their own\n--y-label TEXT  of the y axes, instead of their own"
    )
    report = to.add("report", _report, "write report.html (one file, no network needed), report.md and CSV tables")
    takes(report, "results RESULTS")
    figure_options(report, "png; the page draws its figures by itself")


def _plot(args: argparse.Namespace) -> int:
    with figure_look(args):
        return _drawn(args)


def _drawn(args: argparse.Namespace) -> int:
    over = [f"--{name.replace('_', '-')}" for name in ("x", "by", "facet", "kind", "log_x", "log_y") if getattr(args, name)]  # fmt: skip
    if args.timeline:
        if args.y or over or len(args.results) > 1:
            raise InputError(f"plot: --timeline must go without {', '.join(over) or 'other results and --y'}")
        return _timeline(args)
    if args.point is not None or args.seed is not None:
        raise InputError("plot: --point and --seed go with --timeline")
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

    caption, paths = explore.draw(Results(args.results[0]), args.point, args.seed, args.link, args.out)
    print("\n".join([*map(str, paths), caption]))
    return 0


def _over(args: argparse.Namespace) -> int:
    from ..report import over
    from ..runs.results import Results

    many = [Results(one) for one in args.results]
    ask = over.Ask(args.y, args.x, args.by, args.facet, args.kind, args.log_x, args.log_y)
    words = [
        args.kind or "",
        args.y,
        *(f"{what}-{name}" for what in ("x", "by", "facet") if (name := getattr(args, what))),
    ]
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
