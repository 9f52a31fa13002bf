"""A study in another world: what of it that world can run, beside the default world."""

from __future__ import annotations

from collections.abc import Callable

from ..analysis import parity
from ..api import Scenario
from ..data import folder
from ..errors import InputError
from ..report.document import Text
from ..worlds import DEFAULT, World
from .base import Options, Outcome, data


def in_world(name: str, world: World) -> Callable[[Options], Outcome]:
    """The part of a study that another world can run, in that world and in the default one: ``WORLD.toml`` of the study."""
    file = f"{world.name}.toml"
    path = data(name) / file
    if not path.is_file():
        have = ", ".join(f"`{one.parent.name}`" for one in sorted(folder("papers").glob(f"*/{file}"))) or "none"
        raise InputError(f"study must be one of {have} {world.place}, got `{name}`")

    def reproduce(options: Options) -> Outcome:
        scenario, seeds, left_out = Scenario.load(path), options.seeds, ""
        if options.quick:
            scenario, seeds, left_out = _quick(scenario, seeds)
        compared = parity.compare(
            scenario, worlds=(DEFAULT, world), seeds=seeds, jobs=options.jobs, out=options.out, quiet=options.quiet
        )
        document = compared.document()
        if left_out:
            document.add(Text(f"Left out by --quick: {left_out}."))
        return Outcome(name, document, left_out=left_out)

    return reproduce


def _quick(scenario: Scenario, seeds: int | None) -> tuple[Scenario, int, str]:
    """A shorter run, its seeds, and what was left out. Uploads take longer to settle."""
    full = scenario.experiment
    uploads = any(entry.behaviour.table == "tasks" for entry in full.traffic)
    changes = {"duration": "20s", "warmup": "5s"} if uploads else {"duration": "8s", "warmup": "3s"}
    chosen = seeds or 2
    left_out = f"what comes after {changes['duration']} of {full.values['duration']}, all but {chosen} of {scenario.seeds} seeds"
    return scenario.with_values(changes), chosen, left_out
