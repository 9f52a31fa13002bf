"""`haltere search` and `haltere attack`."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._common import (
    MECHANISMS,
    Commands,
    chosen_world,
    count,
    mechanism,
    names,
    print_json,
    seeds_and_jobs,
    takes,
    world,
)

if TYPE_CHECKING:
    from ..report.document import Document
    from ..search.climb import Budget
    from ..search.network import Scene
    from ..search.race import Judge
    from ..search.ranges import Range

#: Seeds of a network that is not stopped early.
_SEEDS = 4


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
    takes(one, "file FILE")
    goal = one.add_mutually_exclusive_group(required=True)
    takes(
        goal,
        "--maximise,--maximize METRIC  the metric that should be high\n--minimise,--minimize METRIC  the metric that should be low",
    )
    takes(
        one,
        """
        --over KEY=RANGE  what is searched; may be repeated
        --set KEY=VALUE   change a value for all candidates; may be repeated
        --dask ADDRESS
        """,
        over={"action": "append", "required": True},
    )
    _effort(one, trials=50, out="results/NAME-search")
    _add_attack(to)


def _add_attack(to: Commands) -> None:
    one = to.add(
        "attack",
        _attack,
        "search the worst network for a congestion control or a queue discipline",
        "examples:\n"
        "  haltere attack bbr --beside cubic --over buffer=1bdp           how bbr starves cubic\n"
        "  haltere attack vegas --beside reno --harm starved              how reno starves vegas\n"
        "  haltere attack reno --rtt-fairness                             unfairness between paths of different length\n"
        "  haltere attack cubic --harm slow_startup --conditions jitter   a slow start that ends early\n"
        "  haltere attack pie --harm drift --time 10min\n\n"
        "The score of a network is the harm with the target less the harm with the reference. Conditions that the harm does not\n"
        "need are left out at the end. docs/search.md lists harms and conditions.",
    )
    takes(
        one,
        """
        target CONTROL       a congestion control or a queue discipline: its name, `python:FILE:CLASS` or `wasm:FILE`, or a TOML table with `kind`
        --harm NAME          what to look for; docs/search.md lists them (default: starves with --beside, unfairness with --rtt-fairness, else
                             low_utilisation)
        --beside CONTROL     flows of this control share the bottleneck
        --rtt-fairness       two flows of the target, one of which has a longer round-trip time
        --reference CONTROL  what the target is compared with (default: the control beside it, else cubic or reno; of queues codel or pie)
        --over KEY=RANGE     another range of a value, or one value; its condition is always there; may be repeated
        --conditions LIST    the conditions that a network may have, with commas between, or none (default: all)
        --duration TIME      length of a run (default: 20s; 5s for slow_startup, 60s for drift and regimes)
        --keep PART          part of the harm that must remain when conditions are left out (default: 80%%)
        --dask ADDRESS
        """,
        over="many", conditions=names, keep={"type": _part, "default": 0.8},
    )  # fmt: skip
    _effort(one, trials=200, out="results/attack-CONTROL-HARM")


def _effort(one: argparse.ArgumentParser, trials: int, out: str) -> None:
    """Adds where a search runs, how long it may take, and where it writes."""
    world(one)
    takes(
        one,
        f"""
        --trials N   how many candidates (default: {trials})
        --time TIME  begin no more candidates after this time, such as 10min
        --batch N    candidates that are proposed together (default: 4; the results depend on it)
        --seed N     random seed of the proposals (default: 1)
        --json       print the result as JSON
        """,
        trials={"type": count, "default": trials}, time=_time, batch={"type": count, "default": 4}, seed={"type": count, "default": 1},
    )  # fmt: skip
    seeds_and_jobs(one, out)


def _time(text: str) -> float:
    from ..search.climb import seconds_of

    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be {error}") from None


def _budget(args: argparse.Namespace, seeds: int) -> Budget:
    from ..search.climb import Budget

    return Budget(args.trials, args.time, seeds, args.batch, args.seed)


def _ranges(given: Sequence[str]) -> dict[str, Range]:
    """The ranges of the `--over` arguments by key."""
    from ..search.ranges import parse_range

    out: dict[str, Range] = {}
    for one in given:
        key, equals, text = one.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--over must be KEY=RANGE, got `{one}`")
        if key.strip() in out:
            raise InputError(f"--over must name each key once, got `{key.strip()}` twice")
        out[key.strip()] = parse_range(text, f"--over {key.strip()}")
    return out


@contextmanager
def _judging(args: argparse.Namespace, out: Path) -> Iterator[Judge]:
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


def _typed() -> str:
    """The command as it was typed."""
    return shlex.join(["haltere", *sys.argv[1:]])


def _search(args: argparse.Namespace) -> int:
    from ..api import Scenario, parse_setting
    from ..search import report
    from ..search.tune import Question, check, tune

    over = _ranges(args.over)
    for key, one in over.items():
        if len(str(one).split(",")) < 2 and ".." not in str(one):
            raise InputError(
                f"--over {key}: range must have at least two values, got `{one}`; `--set {key}={one}` sets one"
            )
    scenario = Scenario.load(args.file).with_values(dict(parse_setting(one) for one in args.set))
    question = Question(args.file, scenario, args.maximise or args.minimise, args.maximise is not None, over)
    check(question)
    out = args.out or Path("results") / f"{args.file.stem}-search"
    with _judging(args, out) as judge:
        tuned = tune(question, _budget(args, args.seeds or scenario.seeds), judge, command=_typed())
    made = {"Experiment": str(out / "best.toml")}
    return _shown(args, out, report.write(tuned, out), report.to_dict(tuned, out), made)


def _shown(
    args: argparse.Namespace, out: Path, document: Document, values: dict[str, Any], made: dict[str, str]
) -> int:
    """Prints what was found, and where things are."""
    if args.json:
        print_json(values)
        return 0
    print(document.text() + "\n")
    for what, where in {**made, "Report": str(out / "report.html")}.items():
        print(f"{what + ':':<12}{where}")
    return 0


def _part(text: str) -> float:
    from .. import _core

    try:
        value = _core.parse_quantity("probability", text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("probability: ")) from None
    return value


def _scene(args: argparse.Namespace) -> Scene:
    """What the arguments ask for."""
    from .. import _core
    from ..search.harms import harm
    from ..search.network import Scene, default_reference, kind_of

    target, kind = mechanism(args.target, ("congestion", "queues"), "CONTROL")
    name = kind_of(target)
    beside = None if args.beside is None else mechanism(args.beside, ("congestion",), "--beside")[0]
    default = "starves" if beside is not None else "unfairness" if args.rtt_fairness else "low_utilisation"
    one = harm(args.harm or default)
    if kind not in one.targets:
        raise InputError(
            f"--harm must be one of {MECHANISMS[kind,]}, got `{one.name}`, which is one of {MECHANISMS[one.targets[0],]}"
        )
    if one.beside and beside is None:
        raise InputError(f"--beside must name a congestion control for the harm `{one.name}`, got none")
    if beside is not None and kind == "queues":
        raise InputError(f"--beside must be left out if a queue discipline is attacked, got `{args.beside}`")
    if args.rtt_fairness and (one.name != "unfairness" or beside is not None):
        raise InputError(f"--rtt-fairness must go with the harm `unfairness` and without --beside, got `{one.name}`")
    if args.reference is not None:
        reference = mechanism(args.reference, (kind,), "--reference")[0]
    else:
        reference = default_reference(name, kind, beside)
    if reference == target:
        raise InputError(f"--reference must be another than the target, got `{args.reference}`")
    if args.duration:
        seconds = _core.parse_quantity("duration", args.duration)
        one = dataclasses.replace(one, duration_s=seconds, warmup_s=seconds * one.warmup_s / one.duration_s)
    return Scene(target, kind == "queues", one, reference, beside, args.rtt_fairness)


def _attack(args: argparse.Namespace) -> int:
    from ..search import attack, report
    from ..search.network import Space

    scene = _scene(args)
    optional = None if args.conditions is None else [] if args.conditions == ["none"] else args.conditions
    space = Space.of(scene, _ranges(args.over), optional)
    out = args.out or Path("results") / f"attack-{scene.name}-{scene.harm.name}"
    with _judging(args, out) as judge:
        worst = attack.attack(space, _budget(args, args.seeds or _SEEDS), judge, keep=args.keep)
    made = {}
    if worst.values:
        where = "" if attack.kernel_refuses(worst) else " --world kernel"
        made = {"Experiment": str(out / "worst.toml"), "Replay": f"haltere run {out / 'worst.toml'}{where}"}
    return _shown(args, out, report.write_worst(worst, out, _typed()), report.worst_to_dict(worst, out), made)
