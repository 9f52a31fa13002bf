"""What every world has in common.

A world is a frozen dataclass. Its class says what it can do; its fields are its options, and each becomes a flag of the command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from .. import _core
from ..errors import InputError

#: What the option `gso` of the worlds with Linux's TCP does.
GSO = "hosts hand buffers of up to 64 kB to their link, and queues hold them as one packet"


class Made(Protocol):
    """A run that a world has made."""

    def tables(self) -> Mapping[str, Any]:
        """Its tables by name; ``pyarrow.table`` can read each."""

    def digest(self) -> str:
        """SHA-256 over all tables."""


def refuse_outside(scenarios: Sequence[_core.Scenario], place: str, languages: Sequence[str] = ()) -> None:
    """Refuses mechanisms from outside the tree that a world cannot run: those of these languages, or of any language."""
    for scenario in scenarios:
        for path, kind in _outside(json.loads(scenario.to_json()), ""):
            if not languages or kind.split(":")[0] in languages:
                hint = "the simulator runs it"
                raise InputError(f"{path}: kind must be a mechanism of the tree {place}, got `{kind}`; {hint}")


def _outside(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The tables of a scenario that are mechanisms from outside the tree: where, and their kind."""
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield from _outside(one, f"{path}[{i}]")
    elif isinstance(value, dict):
        if ":" in str(value.get("kind", "")):
            yield path, value["kind"]
        for key, one in value.items():
            yield from _outside(one, f"{path}.{key}" if path else key)


def option(default: Any, help: str) -> Any:
    """A field of a world that is a flag of the command line."""
    return field(default=default, metadata={"help": help})


#: Programs beside a person's, by host.
Servers = Mapping[str, Sequence[Sequence[str]]]
#: Makes the experiment with these changes, in the order in which they were asked for, and has them carried out. A refused one is forgotten.
Change = Callable[[Sequence[str], Callable[[_core.Scenario], None]], None]
#: The text for the counters of links: before, now, and the seconds in between.
Show = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], float], str]


class Live(Protocol):
    """The network of an experiment, without its traffic, for programs that a person starts."""

    #: The names of its hosts.
    hosts: list[str]

    def run(self, host: str, command: Sequence[str], servers: Servers, change: Change, show: Show) -> int:
        """Runs the servers, and the command (without one, a shell) with this process's terminal; takes the network down.

        Returns the command's exit status, or 128 and the signal that ended it. What ``haltere network`` asks for in between is done by
        ``change``, and printed by ``show`` if programs of the network cannot print it.
        """


@dataclass(frozen=True)
class World:
    """Makes runs. A subclass gives the attributes below, :meth:`run`, and what else differs."""

    #: Its name on the command line and in manifests.
    name: ClassVar[str]
    #: What it is, in one line.
    about: ClassVar[str]
    #: Its name in a sentence: "the simulator".
    title: ClassVar[str]
    #: Where its runs take place, in a sentence: "in the simulator".
    place: ClassVar[str]
    #: What the process must be allowed to do, in a sentence; empty if nothing is needed.
    privileges: ClassVar[str] = ""
    #: How many runs it makes at a time; ``None``: as many as asked for.
    most_jobs: ClassVar[int | None] = None
    #: Why it makes no more.
    most_jobs_because: ClassVar[str] = ""
    #: Other processes and machines may make its runs.
    elsewhere: ClassVar[bool] = True
    #: It has :meth:`live` networks.
    has_live: ClassVar[bool] = False
    #: Wrong input in the middle of a sweep concerns one run alone. Otherwise it is this machine that is unfit, and the sweep ends.
    errors_are_of_one_run: ClassVar[bool] = True
    #: What else than the seed decides a result, as a sentence.
    beside_the_seed: ClassVar[str] = ""

    def check(self, scenarios: Sequence[_core.Scenario]) -> None:
        """Raises :class:`haltere.InputError` if this world cannot run one of the scenarios. Called before the first run."""

    def forecast(self, scenarios: Sequence[_core.Scenario]) -> str:
        """What to say before one run of each of these, as a sentence; empty: nothing."""
        return ""

    def jobs(self, asked: int | None) -> int | None:
        """How many runs there may be at a time. Raises :class:`haltere.InputError` if more are asked for."""
        most = self.most_jobs
        if most is None:
            return asked
        if asked is not None and asked > most:
            rule = str(most) if most == 1 else f"at most {most}"
            raise InputError(f"jobs must be {rule} {self.place}, got {asked}; {self.most_jobs_because}")
        return asked or most

    def run(self, scenario: _core.Scenario, seed: int, progress: _core.Progress) -> Made:
        """Makes one run. Other threads go on meanwhile."""
        raise NotImplementedError

    def live(self, scenario: _core.Scenario, outside: str | None) -> Live:
        """Starts the network of the scenario. ``outside``: the node that is the caller's machine, if the world has it."""
        raise NotImplementedError

    @property
    def key_part(self) -> str:
        """What it adds to the key of a run, so that runs of two worlds have different keys."""
        return f" {self.name}"

    @property
    def suffix(self) -> str:
        """What the name of a results directory ends with, so that a directory holds runs of one world."""
        return f"-{self.name}"

    def notes(self, made: Made) -> Mapping[str, Any]:
        """What it adds to the manifest's entry of a run: JSON values by name. No name is one of ``haltere.runs.records.Done``."""
        return {}

    def remarks(self, notes: Sequence[Mapping[str, Any]]) -> list[str]:
        """What the :meth:`notes` of several runs come to, as sentences for a report."""
        return []
