"""`haltere search`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ._common import Commands, chosen_world, count, print_json, seeds_and_jobs, world

if TYPE_CHECKING:
    from ..search.climb import Budget
    from ..search.race import Judge
    from ..search.ranges import Range


def add(to: Commands) -> None:
    """Adds to the command line."""
    one = to.add(
        "search",
        _search,
        "search the values of some keys of an experiment for which a metric is best",
        "examples:\n"
        "  haltere search experiment.toml --minimise ping_p95 --over topology.dumbbell.bottleneck.queue.target=1ms..50ms\n"
        "  haltere search experiment.toml --maximise goodput.video --over traffic.0.congestion=cubic,bbr,bbr3 --over topology.dumbbell.pairs=2..16\n"
        "  haltere search experiment.toml --maximise jain --over traffic.0.tcp.initial_window=log:2..64 --trials 200 --time 30min\n\n"
        "A range is LOW..HIGH with units, or values with commas between. It is logarithmic if it spans more than a factor of ten;\n"
        "`log:` or `linear:` in front says otherwise. Keys are those of `haltere run --set`. Metrics are those that\n"
        "`haltere list metrics` names, with parts, and the experiment's own. docs/search.md says how it works.",
    )
    one.add_argument("file", type=Path, metavar="FILE", help="the experiment, a TOML file")
    goal = one.add_mutually_exclusive_group(required=True)
    goal.add_argument("--maximise", "--maximize", metavar="METRIC", help="the metric that should be high")
    goal.add_argument("--minimise", "--minimize", metavar="METRIC", help="the metric that should be low")
    one.add_argument(
        "--over", action="append", required=True, metavar="KEY=RANGE", help="what is searched; may be repeated"
    )
    one.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a value for all candidates; may be repeated")  # fmt: skip
    one.add_argument("--dask", metavar="ADDRESS", help="on the workers of this Dask scheduler, which must see --out")
    world(one)
    effort(one, trials=50)
    seeds_and_jobs(one, "results/NAME-search")


def effort(one: argparse.ArgumentParser, trials: int) -> None:
    """Adds how long a search may take."""
    one.add_argument(
        "--trials", type=count, default=trials, metavar="N", help=f"how many candidates (default: {trials})"
    )
    one.add_argument(
        "--time", type=_time, metavar="TIME", help="begin no more candidates after this time, such as 10min"
    )
    one.add_argument("--batch", type=count, default=4, metavar="N", help="candidates that are proposed together (default: 4; the results depend on it)")  # fmt: skip
    one.add_argument("--seed", type=count, default=1, metavar="N", help="random seed of the proposals (default: 1)")
    one.add_argument("--json", action="store_true", help="print the result as JSON")


def _time(text: str) -> float:
    from ..search.climb import seconds_of

    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be {error}") from None


def budget(args: argparse.Namespace, seeds: int) -> Budget:
    """The budget that the arguments name."""
    from ..search.climb import Budget

    return Budget(args.trials, args.time, seeds, args.batch, args.seed)


def ranges(told: Sequence[str]) -> dict[str, Range]:
    """The ranges of the `--over` arguments by key."""
    from ..search.ranges import parse_range

    out: dict[str, Range] = {}
    for one in told:
        key, equals, text = one.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--over must be KEY=RANGE, got `{one}`")
        if key.strip() in out:
            raise InputError(f"--over must name each key once, got `{key.strip()}` twice")
        out[key.strip()] = parse_range(text, f"--over {key.strip()}")
    return out


@contextmanager
def judging(args: argparse.Namespace, out: Path) -> Iterator[Judge]:
    """The place in which candidates run."""
    from ..runs.cluster import dask
    from ..runs.store import Store, need
    from ..search.race import Judge

    need("optuna", "search", args.command)  # before anything is written
    store = Store(out)
    if (out / "manifest.json").exists():
        raise InputError(
            f"{out}: results directory must be new or one of a search, got results of `haltere run`; choose another with --out"
        )
    store.check_place()
    world = chosen_world(args)
    with dask(args.dask) if args.dask else nullcontext() as executor:
        if executor is not None and not world.elsewhere:
            raise InputError(f"--dask must be left out in world `{world.name}`: its runs are made here")
        yield Judge(store, world, world.jobs(args.jobs), executor)


def typed() -> str:
    """The command as it was typed."""
    return shlex.join(["haltere", *sys.argv[1:]])


def _search(args: argparse.Namespace) -> int:
    from ..api import Scenario, parse_setting
    from ..search import report
    from ..search.tune import Question, check, tune

    over = ranges(args.over)
    for key, one in over.items():
        if len(str(one).split(",")) < 2 and ".." not in str(one):
            raise InputError(
                f"--over {key}: range must have at least two values, got `{one}`; `--set {key}={one}` sets one"
            )
    scenario = Scenario.load(args.file).with_values(dict(parse_setting(one) for one in args.set))
    question = Question(args.file, scenario, args.maximise or args.minimise, args.maximise is not None, over)
    check(question)
    out = args.out or Path("results") / f"{args.file.stem}-search"
    with judging(args, out) as judge:
        tuned = tune(question, budget(args, args.seeds or scenario.seeds), judge, command=typed())
    document = report.write(tuned, out)
    if args.json:
        print_json(report.to_dict(tuned, out))
        return 0
    print(document.text())
    print(f"\nExperiment: {out / 'best.toml'}\nReport:     {out / 'report.html'}")
    return 0
