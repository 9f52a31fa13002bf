"""`haltere attack`."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ._common import MECHANISMS, Commands, mechanism, names, print_json, seeds_and_jobs, world
from .search import budget, effort, judging, ranges, typed

if TYPE_CHECKING:
    from ..search.network import Scene

#: Seeds of a network that is not stopped early.
_SEEDS = 4


def add(to: Commands) -> None:
    """Adds to the command line."""
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
    one.add_argument(
        "target",
        metavar="CONTROL",
        help="a congestion control or a queue discipline: its name, `python:FILE:CLASS` or `wasm:FILE`, or a TOML table with `kind`",
    )
    one.add_argument("--harm", metavar="NAME", help="what to look for; docs/search.md lists them (default: starves with --beside, unfairness with --rtt-fairness, else low_utilisation)")  # fmt: skip
    one.add_argument("--beside", metavar="CONTROL", help="flows of this control share the bottleneck")
    one.add_argument(
        "--rtt-fairness", action="store_true", help="two flows of the target, one of which has a longer round-trip time"
    )
    one.add_argument("--reference", metavar="CONTROL", help="what the target is compared with (default: the control beside it, else cubic or reno; of queues codel or pie)")  # fmt: skip
    one.add_argument("--over", action="append", default=[], metavar="KEY=RANGE", help="another range of a value, or one value; its condition is always there; may be repeated")  # fmt: skip
    one.add_argument("--conditions", type=names, metavar="LIST", help="the conditions that a network may have, with commas between, or none (default: all)")  # fmt: skip
    one.add_argument(
        "--duration",
        metavar="TIME",
        help="length of a run (default: 20s; 5s for slow_startup, 60s for drift and regimes)",
    )
    one.add_argument("--keep", type=_part, default=0.8, metavar="PART", help="part of the harm that must remain when conditions are left out (default: 80%%)")  # fmt: skip
    one.add_argument("--dask", metavar="ADDRESS", help="on the workers of this Dask scheduler, which must see --out")
    world(one)
    effort(one, trials=200)
    seeds_and_jobs(one, "results/attack-CONTROL-HARM")


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
    from ..search import attack_report
    from ..search.attack import attack, kernel_refuses
    from ..search.network import Space

    scene = _scene(args)
    optional = None if args.conditions is None else [] if args.conditions == ["none"] else args.conditions
    space = Space.of(scene, ranges(args.over), optional)
    out = args.out or Path("results") / f"attack-{scene.name}-{scene.harm.name}"
    with judging(args, out) as judge:
        worst = attack(space, budget(args, args.seeds or _SEEDS), judge, keep=args.keep)
    document = attack_report.write(worst, out, typed())
    if args.json:
        print_json(attack_report.to_dict(worst, out))
        return 0
    print(document.text())
    if worst.values:
        where = "" if kernel_refuses(worst) else " --world kernel"
        print(f"\nExperiment: {out / 'worst.toml'}\nReplay:     haltere run {out / 'worst.toml'}{where}")
    print(f"Report:     {out / 'report.html'}")
    return 0
