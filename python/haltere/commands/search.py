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
from ._common import MECHANISMS, Commands, chosen_world, count, loaded, mechanism, names, print_json

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
    effort: dict[str, Any] = {
        "time": _time,
        "batch": {"type": count, "default": 4},
        "seed": {"type": count, "default": 1},
    }
    to.add(
        "search", _search, over={"action": "append", "required": True}, trials={"type": count, "default": 50}, **effort
    )
    to.add(
        "attack", _attack, over="many", conditions=names, keep={"type": _part, "default": 0.8}, trials={"type": count, "default": 200}, **effort,
    )  # fmt: skip


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
    from ..search import report
    from ..search.tune import Question, check, tune

    over = _ranges(args.over)
    for key, one in over.items():
        if len(str(one).split(",")) < 2 and ".." not in str(one):
            raise InputError(
                f"--over {key}: range must have at least two values, got `{one}`; `--set {key}={one}` sets one"
            )
    scenario, _, _ = loaded(args)
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
            f"--harm must be a harm of {MECHANISMS[kind,]}, got `{one.name}`, a harm of {MECHANISMS[one.targets[0],]}"
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
        raise InputError(f"--reference must differ from the target, got `{args.reference}`")
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
