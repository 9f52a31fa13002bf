"""The command line. Thin: it reads arguments, calls the package, prints.

Exit status: 0 done, 2 the input is wrong (one line, nothing written), 130 interrupted, 1 anything else.
Progress goes to standard error, results to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from .errors import HaltereError, InputError

__all__ = ["main"]

_EPILOG = """\
A first experiment:
  haltere list                         what there is
  haltere explain codel                one mechanism, its parameters and its source
  haltere run experiment.toml          run it with every seed; results in results/experiment
  haltere report results/experiment    figures and one HTML file
  haltere reproduce aqm-lab --quick    a published study again, beside its own figures

Exit status: 0 done, 2 wrong input (nothing written), 130 interrupted (finished runs are kept), 1 anything else.
"""


class _Parser(argparse.ArgumentParser):
    """Tells a wrong argument in one line."""

    def error(self, message: str) -> NoReturn:
        where = self.prog.removeprefix("haltere").strip()
        raise InputError(f"{where}{': ' if where else ''}{message}; see `{self.prog} --help`")


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got `{text}`")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    from . import __version__

    top = _Parser(
        prog="haltere",
        description="A laboratory for how flows share a bottleneck.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"haltere {__version__}")
    commands = top.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )

    def command(
        name: str, does: Callable[[argparse.Namespace], int], help: str, more: str = ""
    ) -> argparse.ArgumentParser:
        one = commands.add_parser(
            name, help=help, description=f"{help[0].upper()}{help[1:]}.", epilog=more or None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        one.set_defaults(does=does)
        return one

    def running(one: argparse.ArgumentParser, out: str) -> None:
        one.add_argument(
            "--seeds", type=_count, metavar="N", help="how many seeds: 1, 2, ... N (default: what the experiment says)"
        )
        one.add_argument("--jobs", type=_count, metavar="N", help="runs at a time (default: one a core)")
        if out:
            one.add_argument("--out", type=Path, metavar="DIR", help=f"results directory (default: {out})")

    run = command(
        "run",
        _run,
        "run an experiment with every seed and print what came of it",
        "examples:\n"
        "  haltere run experiment.toml\n"
        "  haltere run experiment.toml --seeds 3 --set topology.dumbbell.pairs=8 --set traffic.0.congestion=bbr\n\n"
        "Runs that the results directory holds already are not run again.",
    )
    run.add_argument("file", type=Path, metavar="FILE", help="the experiment, a TOML file")
    run.add_argument("--world", choices=["sim"], default="sim", help="where it runs (default: sim, the simulator)")
    run.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a value, by dotted key; may be repeated"
    )
    run.add_argument(
        "--quick",
        action="store_true",
        help="a first look: two seeds and at most 20 s of each run; says what it left out",
    )
    run.add_argument("--json", action="store_true", help="print the summary as JSON")
    running(run, "results/NAME of the file")

    reproduce = command(
        "reproduce",
        _reproduce,
        "run a published study again and hold its findings up to ours",
        "`haltere list study` names the studies.",
    )
    reproduce.add_argument("study", metavar="STUDY", help="its name, such as aqm-lab")
    reproduce.add_argument(
        "--world", choices=["sim"], default="sim", help="where it runs (default: sim, the simulator)"
    )
    reproduce.add_argument(
        "--variant", metavar="NAME", help="a variant of the study, such as linux (default: the paper's own set-up)"
    )
    reproduce.add_argument(
        "--matrix",
        action="store_const",
        const="matrix",
        dest="variant",
        help="iaas: every control against every other instead (the same as --variant matrix)",
    )
    reproduce.add_argument("--quick", action="store_true", help="within a minute on two cores; says what it left out")
    reproduce.add_argument("--json", action="store_true", help="print findings and tables as JSON")
    running(reproduce, "results/STUDY")

    validate = command("validate", _validate, "hold the simulator against results measured on Linux")
    validate.add_argument("dir", type=Path, metavar="DIR", help="directory with scenarios and measured results")
    validate.add_argument("--json", action="store_true", help="print the comparison as JSON")
    validate.add_argument("--only", metavar="REGEX", help="only scenarios whose name matches")
    validate.add_argument(
        "--out", type=Path, metavar="DIR", help="also write the rows as Parquet, JSON, Markdown and a figure"
    )
    validate.add_argument(
        "--page", type=Path, metavar="FILE", help="also write the page with its figure, such as docs/validation.md"
    )
    validate.add_argument(
        "--compact", type=Path, metavar="DIR", help="compare nothing: copy the results there in compact form"
    )
    running(validate, "")

    listing = command("list", _list, "list the mechanisms, worlds and studies")
    listing.add_argument("kind", nargs="?", metavar="KIND", help="only this kind, such as queue or congestion")
    listing.add_argument("--json", action="store_true", help="print as JSON")

    explain = command("explain", _explain, "explain a mechanism: what it does, its parameters, its source")
    explain.add_argument("name", metavar="NAME", help="its name, such as codel")
    explain.add_argument("--json", action="store_true", help="print its part of the schema as JSON")

    command("schema", _schema, "print the JSON Schema of experiment files")

    plot = command("plot", _plot, "draw the figures of a results directory as PNG and PDF")
    plot.add_argument("results", type=Path, metavar="RESULTS", help="results directory")
    plot.add_argument(
        "--timeline",
        action="store_true",
        help="instead one run over time: throughput, windows, RTT, queue, drops and marks",
    )
    plot.add_argument("--point", type=int, metavar="N", help="with --timeline: which point of the sweep, from 0")
    plot.add_argument("--seed", type=int, metavar="N", help="with --timeline: which seed (default: the first)")

    report = command("report", _report, "write report.html (one file, no network needed), report.md and CSV tables")
    report.add_argument("results", type=Path, metavar="RESULTS", help="results directory")

    digest = command(
        "hash",
        _hash,
        "print the digest of each run and of all together",
        "Equal experiments on equal versions give equal digests, on however many threads.",
    )
    digest.add_argument("results", type=Path, metavar="RESULTS", help="results directory")
    digest.add_argument("--json", action="store_true", help="print as JSON")
    return top


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False))


def _run(args: argparse.Namespace) -> int:
    from . import overview
    from .experiment import Scenario, parse_setting

    scenario = Scenario.load(args.file).with_values(dict(parse_setting(one) for one in args.set))
    seeds, left_out = args.seeds, ""
    if args.quick:
        scenario, seeds, left_out = overview.quick(scenario, args.seeds)
    results = scenario.run(seeds=seeds, jobs=args.jobs, out=args.out or Path("results") / args.file.stem, quiet=False)
    if args.json:
        _print_json(
            {
                "directory": str(results.directory),
                "digest": results.digest(),
                "left_out": left_out,
                "summary": results.summary(),
            }
        )
        return 0
    print(overview.document(results, figures=False).text())
    if left_out:
        print(f"\nLeft out by --quick: {left_out}.")
    print(f"\nResults: {results.directory} ({len(results.runs)} runs). Figures: haltere report {results.directory}")
    return 0


def _reproduce(args: argparse.Namespace) -> int:
    from . import papers

    study = papers.study(args.study)
    options = papers.Options(
        quick=args.quick,
        seeds=args.seeds,
        jobs=args.jobs,
        out=args.out
        or Path("results")
        / (args.study + (f"-{args.variant}" if args.variant else "") + ("-quick" if args.quick else "")),
        variant=args.variant,
    )
    outcome = study(options)
    paths = outcome.document.write(options.out)
    if args.json:
        _print_json(outcome.to_json())
        return 0
    print(outcome.document.text())
    print(f"\nFigures: {options.out / 'figures'} (PNG and PDF)\nReport:  {paths[0]}")
    return 0


def _validate(args: argparse.Namespace) -> int:
    from . import validate

    return int(validate.main(args) or 0)


def _list(args: argparse.Namespace) -> int:
    from . import catalogue

    kinds = catalogue.kinds(args.kind)
    if args.json:
        _print_json({kind: [name for name, _ in entries] for kind, entries in kinds.items()})
        return 0
    width = max((len(name) for entries in kinds.values() for name, _ in entries), default=0)
    parts = [
        f"{kind}\n" + "\n".join(f"  {name:<{width}}  {about}".rstrip() for name, about in entries)
        for kind, entries in kinds.items()
    ]
    print("\n\n".join(parts))
    return 0


def _explain(args: argparse.Namespace) -> int:
    from . import catalogue

    if args.json:
        _print_json(catalogue.find(args.name).schema)
    else:
        print(catalogue.explain(args.name))
    return 0


def _schema(args: argparse.Namespace) -> int:
    from . import catalogue

    _print_json(catalogue.schema())
    return 0


def _plot(args: argparse.Namespace) -> int:
    from .results import Results

    if args.timeline:
        from . import timeline

        caption, paths = timeline.draw(Results(args.results), args.point, args.seed)
        print("\n".join([*map(str, paths), caption]))
        return 0
    if args.point is not None or args.seed is not None:
        raise InputError("plot: --point and --seed go with --timeline")
    from . import overview

    for _, paths in overview.figures(Results(args.results)):
        print("\n".join(map(str, paths)))
    return 0


def _report(args: argparse.Namespace) -> int:
    from . import overview
    from .results import Results

    results = Results(args.results)
    print("\n".join(map(str, overview.document(results, figures=True).write(results.directory))))
    return 0


def _hash(args: argparse.Namespace) -> int:
    from .results import Results

    results = Results(args.results)
    if args.json:
        runs = [{"point": run.point, "seed": run.seed, "digest": run.digest} for run in results.runs]
        _print_json({"digest": results.digest(), "runs": runs})
        return 0
    for run in results.runs:
        print(f"{run.digest}  {results.points[run.point].name} seed={run.seed}")
    print(f"{results.digest()}  all")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit status."""
    try:
        args = _parser().parse_args(argv)
        status: int = args.does(args)
        sys.stdout.flush()
        return status
    except InputError as error:
        print(f"haltere: {_one_line(error)}", file=sys.stderr)
        return 2
    except (HaltereError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output has gone, as in `haltere list | head -1`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        print(f"haltere: {_one_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("haltere: interrupted; finished runs are kept, the same command goes on from there", file=sys.stderr)
        return 130


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
