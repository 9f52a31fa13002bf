"""Experiments: load them, change them, run them. This module is what a user imports; ``haltere`` gives all of it."""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from . import _core
from .errors import HaltereError, InputError
from .experiment import Experiment
from .limits import most
from .runs.files import NotAFile, TooLarge, read_regular
from .runs.plan import plan_runs, seeds_from
from .runs.precision import Precision
from .runs.results import Drawn, Results, RunsFailed
from .worlds import DEFAULT, World

__all__ = [
    "HaltereError", "InputError", "Results", "RunsFailed", "Scenario", "load", "parse_setting", "plan_runs", "seeds_from",
]  # fmt: skip


class _Shown:
    """Draws results with the report, which takes its time to load."""

    def plot(self, results: Results, ask: Mapping[str, Any], stem: Path) -> Drawn:
        """A figure over the axes of the sweep."""
        from .report import over

        caption, paths = over.draw(over.Data([results]), over.Ask(**ask), stem)
        results.facts.save()
        return Drawn(caption, paths)

    def html(self, results: Results) -> str:
        """The tables of the report."""
        from .report import overview, page

        return page.fragment(overview.document(results, figures=False))

    def scenario(self, scenario: Scenario) -> str:
        """The drawing of an experiment's network under its title."""
        import html

        from .report import picture

        drawn = [found for _, core in scenario.points() if (found := picture.network(json.loads(core.to_json())))]
        style = "<style>.haltere svg { max-width: 100%; background: white }</style>"
        drawing = picture.svg(drawn) if drawn else ""
        return f'<div class="haltere">{style}<h3>{html.escape(scenario.title)}</h3>{drawing}</div>'


Results.shows = _Shown()


def load(path: str | Path) -> Scenario:
    """The experiment in a TOML file. Raises :class:`haltere.InputError` naming the file, the line and the rule."""
    return Scenario.load(path)


_MOST_BYTES = most("size of the file")


class Scenario:
    """An experiment, checked. It never changes: :meth:`with_values` gives another."""

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """The experiment in a TOML file."""
        where = Path(path)
        try:
            text = read_regular(where, _MOST_BYTES).decode()
        except NotAFile:
            raise InputError(f"{where}: must be a regular file, got a device or a pipe") from None
        except TooLarge:
            raise InputError(f"{where}: file must be at most {_MOST_BYTES >> 20} MiB, got more") from None
        except FileNotFoundError:
            raise InputError(f"{where}: file must exist; `haltere run FILE` takes an experiment file") from None
        except IsADirectoryError:
            raise InputError(f"{where}: must be a file, got a directory") from None
        except UnicodeDecodeError as error:
            raise InputError(
                f"{where}: file must be UTF-8 text, got byte {error.object[error.start]:#04x} at offset {error.start}"
            ) from None
        except OSError as error:
            raise InputError(f"{where}: file must be readable, got `{error.strerror}`") from None
        return cls.from_toml(text, os.fsencode(where).decode(errors="backslashreplace"))

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """The experiment in a TOML text; ``name`` stands for it in messages."""
        return cls(_core.Scenario.from_toml(text, name))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], name: str = "scenario") -> Scenario:
        """The experiment in nested mappings, as TOML or JSON would give them."""
        return cls(_core.Scenario.from_json(json.dumps(values), name))

    def with_values(self, changes: Mapping[str, Any]) -> Scenario:
        """The experiment with other values, by dotted key; a number counts in a list: ``traffic[0].start``.

        All are set before they are checked, so their order does not matter. A key that the sweep sets is refused.
        """
        if not changes:
            return self
        try:
            core = self._core.set_all([(key, json.dumps(value)) for key, value in changes.items()])
        except InputError as error:
            raise InputError(f"set {', '.join(changes)}: {error}") from None
        return Scenario(core)

    def to_dict(self) -> dict[str, Any]:
        """The full experiment with every default filled in."""
        full: dict[str, Any] = json.loads(self._core.to_json())
        return full

    @property
    def experiment(self) -> Experiment:
        """The same under typed names."""
        return Experiment(self.to_dict())

    @property
    def title(self) -> str:
        """What it is about."""
        return self._core.title

    @property
    def seeds(self) -> int:
        """How many seeds the experiment asks for."""
        return self._core.seeds

    @property
    def warnings(self) -> list[str]:
        """What it asks for that its author may not mean, one sentence each: ECN where no queue marks, a buffer of 25 bandwidth-delay
        products or more, and an outage on one of several paths.
        """
        from .analysis.advice import of_sweep

        return of_sweep([core for _, core in self.points()])

    def points(self) -> list[tuple[dict[str, Any], _core.Scenario]]:
        """The combinations of the sweep: what was swept with its value, and the scenario without sweep."""
        return [(dict(labels), core) for labels, core in self._core.points()]

    def sweep(
        self,
        axes: Mapping[str, Any] | None = None,
        *,
        zip: Sequence[Mapping[str, Iterable[Any]]] = (),
        skip: Sequence[Mapping[str, Any]] = (),
    ) -> Scenario:
        """The experiment with this sweep, instead of one that it may have.

        ``axes``: dotted keys, each with its values (or ``{"values": ..., "when": ...}`` for some combinations only). ``zip``: tables of
        axes that change together. ``skip``: combinations that are left out, each as keys with a value or a list of values.
        """
        table: dict[str, Any] = {
            key: dict(one) if isinstance(one, Mapping) else list(one) for key, one in (axes or {}).items()
        }
        if zip:
            table["zip"] = [{key: list(values) for key, values in one.items()} for one in zip]
        if skip:
            table["skip"] = [{"when": dict(one)} for one in skip]
        return self.with_values({"sweep": table})

    def run(
        self,
        seeds: int | Iterable[int] | None = None,
        jobs: int | None = None,
        out: str | Path | None = None,
        quiet: bool = True,
        world: str | World = DEFAULT,
        executor: Executor | None = None,
        verify: bool | None = None,
    ) -> Results:
        """Runs every point of the sweep with every seed and returns the results.

        ``seeds``: how many (1, 2, ...) or which; default: as many as the experiment says, or as its ``precision`` needs. ``jobs``: runs at
        a time; default: one a core. ``out``: the results directory, or a URL that fsspec knows; what it holds already is not run
        again. Without it the results live as long as the returned object. ``quiet``: no progress bar. ``world``: where it runs, by
        name or as an object with options, such as ``haltere.worlds.Wire(ignore_calibration=True)`` for real packets.
        ``executor``: any :class:`concurrent.futures.Executor` whose workers see ``out``, such as that of a Dask client. ``verify``: at
        a URL, fetch what is there and check it against its checksums.

        Raises :class:`haltere.RunsFailed` when some runs failed and all others are done.
        """
        keep: tempfile.TemporaryDirectory[str] | None = None
        if out is None:
            keep = tempfile.TemporaryDirectory(prefix="haltere-")
            out = keep.name
        rule = Precision.of_scenario(self.to_dict()) if seeds is None else None
        results = plan_runs(
            [self], seeds_from(seeds, self.seeds), out, jobs=jobs, quiet=quiet, title=self.title, world=world,
            precision=rule, executor=executor, verify=verify,
        )  # fmt: skip
        results._keep = keep
        return results

    def _repr_html_(self) -> str:
        """A notebook shows the network."""
        return _Shown().scenario(self)

    def __repr__(self) -> str:
        return f"<haltere.Scenario {self.title!r}>"


_KEY = re.compile(r"[A-Za-z0-9_.\[\]-]+")


def parse_setting(text: str) -> tuple[str, Any]:
    """``KEY=VALUE`` of the command line: a dotted key and a TOML value, or a bare word for a string.

    >>> parse_setting("topology.dumbbell.pairs=8")
    ('topology.dumbbell.pairs', 8)
    >>> parse_setting("traffic.0.congestion=cubic")
    ('traffic.0.congestion', 'cubic')
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"--set must be UTF-8 text, got `{text}`") from None
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not _KEY.fullmatch(key):
        raise InputError(f"--set must be KEY=VALUE, got `{text}`")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value.strip()
    try:
        json.dumps(parsed, allow_nan=False)
    except (TypeError, ValueError):  # TOML has dates, infinity and `nan`, experiments do not
        rule = "of numbers, texts, true or false, in lists and tables if need be"
        raise InputError(f"--set must be {rule}, got `{value.strip()}` for `{key}`; in quotes it is a text") from None
    return key, parsed
