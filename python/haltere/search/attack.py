"""`haltere attack`: the network in which a congestion control or a queue discipline does most harm, compared with a reference.

The score of a network is the harm with the target less the harm with the reference in its place, seed by seed. A network that is bad for
every control has a score near 0, so the worst network says something of the target.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..analysis import stats
from ..analysis.stats import Mean
from ..api import Scenario
from ..errors import InputError
from ..toml import literal, toml
from .climb import FRESH, Budget, Cost, Found, Search
from .network import KEYS, Scene, Space, experiment
from .race import Candidate, Judge
from .reduce import minimal, shorter


@dataclass
class Worst:
    """What an attack found."""

    scene: Scene
    space: Space
    budget: Budget
    found: Found
    values: dict[str, Any]
    """The worst network, after what the harm does not need was left out. Empty: no network was worse for the target than for the reference."""
    removed: list[str]
    """Conditions of the worst candidate that were left out."""
    harm: Mean
    reference: Mean
    difference: Mean
    """Harm with the target less harm with the reference, seed by seed."""
    cost: Cost

    @property
    def is_found(self) -> bool:
        """The difference is significant, and not small."""
        return bool(self.values) and self.difference.low > 0 and self.difference.mean >= self.scene.harm.least

    @property
    def left_out(self) -> str:
        """A sentence on what was left out; empty if nothing was."""
        named = ", ".join(self.removed)
        return f"Left out, or with its plain value, since the harm does not need it: {named}." if named else ""

    def printed(self, value: Mean) -> str:
        """A value of the harm with its unit."""
        return f"{value.format(self.scene.harm.digits)} {self.scene.harm.unit}"


def _candidate(values: Mapping[str, Any], scene: Scene) -> Candidate:
    """A network as a candidate, whose score is the harm with the target less that with the reference."""
    cores = tuple(core(values, scene, target) for target in (scene.target, scene.reference))
    return Candidate(cores, lambda runs: scene.harm.of(runs[0]) - scene.harm.of(runs[1]))


def core(values: Mapping[str, Any], scene: Scene, target: Any) -> _core.Scenario:
    """The scenario of a network with this target."""
    ((_, one),) = Scenario.from_dict(experiment(values, scene, target), "network").points()
    return one


def attack(space: Space, budget: Budget, judge: Judge, *, keep: float = 0.8, quiet: bool = False) -> Worst:
    """Searches the worst network, leaves out what the harm does not need, and measures it with fresh seeds.

    ``keep``: the part of the score that must remain when conditions are left out or values rounded.
    """
    began, scene, harm = time.process_time(), space.scene, space.scene.harm
    search = Search(f"attack {scene.name}", "network", "harm", judge, budget, lambda values: _candidate(values, scene))
    beside = f"more than with {named(scene.reference)}"
    found = search.climb(space.draw, lambda score: f"{harm.name} {score:.{harm.digits}f} {harm.unit} {beside}", quiet)
    score = found.best.outcome.merit() if found.best else 0.0
    values: dict[str, Any] = {}
    removed: list[str] = []
    if found.best is not None and score > 0:
        values, removed = _reduced(space, search, dict(found.best.values), keep * score)
    measured = _measured(scene, judge, search.fresh()[:FRESH], values) if values else (stats.mean([0.0]),) * 3
    return Worst(scene, space, budget, found, values, removed, *measured, Cost.of(judge, began))


def _reduced(space: Space, search: Search, worst: dict[str, Any], least: float) -> tuple[dict[str, Any], list[str]]:
    """The network without the conditions that the harm does not need, with few flows and few digits; and what was left out."""

    def holds(values: Mapping[str, Any]) -> bool:
        return search.holds(values, least)

    pieces = space.removable(worst)
    kept = minimal(pieces, lambda some: holds(space.without(worst, set(pieces) - set(some))))
    removed = [one for one in pieces if one not in kept]
    values = space.without(worst, removed)
    for key in ("flows", "beside_flows"):
        if key in kept:
            fewer = range(space.scene.neutral(key) + 1, values[key])
            values[key] = next((many for many in fewer if holds({**values, key: many})), values[key])
    free = {key: one for key, one in space.ranges.items() if key.partition(".")[0] not in space.always}
    return shorter(values, free, holds), removed


def _measured(scene: Scene, judge: Judge, seeds: range, values: Mapping[str, Any]) -> tuple[Mean, Mean, Mean]:
    """The harm with the target and with the reference, and the difference, with seeds that the search did not use."""
    both = (scene.target, scene.reference)
    sides = [Candidate((core(values, scene, one),), lambda runs: scene.harm.of(runs[0])) for one in both]
    scores = judge.scores(sides, seeds)
    for one in scores:
        if isinstance(one, str):
            raise InputError(f"attack: every run of the worst network must have the harm, got `{one}`")
    return stats.mean(scores[0]), stats.mean(scores[1]), stats.paired_difference(scores[0], scores[1])


def spelt(mechanism: Any) -> str:
    """A mechanism as `--set` takes it."""
    return mechanism if isinstance(mechanism, str) else literal(mechanism)


def named(mechanism: Any) -> str:
    """A mechanism as a sentence names it: one from outside the tree without its folder."""
    if not isinstance(mechanism, Mapping) or "source" not in mechanism:
        return spelt(mechanism)
    table = {key: value for key, value in mechanism.items() if key != "source"}
    return str(table["kind"]) if len(table) == 1 else spelt(table)


def verdict(worst: Worst) -> str:
    """What the attack found, in a sentence."""
    scene = worst.scene
    if not worst.values:
        return f"No network of {len(worst.found.trials)} was worse for {scene.name} than for {named(scene.reference)}."
    figures = (
        f"{scene.harm.name} is {worst.printed(worst.harm)} with {named(scene.target)}, and {worst.printed(worst.reference)} with "
        f"{named(scene.reference)} in the same network"
    )
    beside = f", beside {named(scene.beside)}" if scene.beside is not None else ""
    seeds = f"{worst.difference.n} seeds that the search did not use"
    text = f"{figures}{beside} (difference {worst.printed(worst.difference)}, {seeds})."
    small = f"below {scene.harm.least:g} {scene.harm.unit}"
    return (
        text if worst.is_found else f"{text} This is no finding: the difference is {small}, or its interval contains 0."
    )


def text(worst: Worst, command: str) -> str:
    """The worst network as a commented experiment file."""
    scene = worst.scene
    other = scene.reference
    if scene.is_queue:  # another discipline would begin with its own limit
        other = {**({"kind": other} if isinstance(other, str) else other), "limit": worst.values["buffer"]}
    key = "topology.dumbbell.bottleneck.queue" if scene.is_queue else "traffic.attacked.congestion"
    about = [
        f"{scene.harm.name} of {scene.name}: {scene.harm.about}.",
        "",
        verdict(worst),
        "Found by:",
        "",
        f"  {command}",
        "",
        "The network:",
        *(f"  {key} = {value}{f': {KEYS[key][1]}' if KEYS[key][1] else ''}" for key, value in worst.values.items()),
        *([worst.left_out] if worst.left_out else []),
        "",
        "  haltere run worst.toml",
        f"  haltere run worst.toml --set '{key}={spelt(other)}' --out results/worst-reference",
        *([] if kernel_refuses(worst) else ["  haltere run worst.toml --world kernel"]),
    ]
    values = experiment(worst.values, scene, scene.target)
    head = {key: values.pop(key) for key in ("title", "duration", "warmup")} | {"seeds": FRESH}
    lines = [part for line in about for part in _wrapped(line)]
    return "\n".join(f"# {line}".rstrip() for line in lines) + "\n\n" + toml(head | values)


def _wrapped(line: str) -> list[str]:
    """A sentence in lines of a file; what is indented, a command, stays one line."""
    return [line] if line.startswith(" ") or not line else textwrap.wrap(line, 110, break_on_hyphens=False)


def kernel_refuses(worst: Worst) -> str:
    """Why the kernel world cannot run the worst network; empty if it can. Whether a kernel has the controls, it says itself."""
    try:
        _core.kernel_check(core(worst.values, worst.scene, worst.scene.target), _core.names("congestion"))
    except InputError as error:
        return str(error)
    return ""
