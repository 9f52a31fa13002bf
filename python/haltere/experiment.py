"""Experiments: load them, change them, run them."""

from __future__ import annotations

import datetime
import json
import re
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _core
from .errors import InputError
from .results import Point, Results
from .runner import Done, Task, environment, execute

__all__ = ["Scenario", "load", "parse_setting", "plan_runs", "seeds_from"]


def load(path: str | Path) -> Scenario:
    """The experiment in a TOML file. Raises :class:`haltere.InputError` naming the file, the line and the rule."""
    return Scenario.load(path)


class Scenario:
    """An experiment, checked. It never changes: :meth:`with_values` gives another."""

    def __init__(self, core: _core.Scenario) -> None:
        self._core = core

    @classmethod
    def load(cls, path: str | Path) -> Scenario:
        """The experiment in a TOML file."""
        where = Path(path)
        try:
            text = where.read_text(encoding="utf-8")
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
        return cls.from_toml(text, str(where))

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """The experiment in a TOML text; ``name`` stands for it in messages."""
        return cls(_core.Scenario.from_toml(text, name))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], name: str = "scenario") -> Scenario:
        """The experiment in nested mappings, as TOML or JSON would give them."""
        return cls(_core.Scenario.from_json(json.dumps(values), name))

    def with_values(self, changes: Mapping[str, Any]) -> Scenario:
        """The experiment with other values, by dotted key; a number counts in a list: ``traffic[0].start``."""
        core = self._core
        for key, value in changes.items():
            try:
                core = core.set(key, json.dumps(value))
            except InputError as error:
                raise InputError(f"set {key}: {error}") from None
        return Scenario(core)

    def to_dict(self) -> dict[str, Any]:
        """The full experiment with every default filled in."""
        told: dict[str, Any] = json.loads(self._core.to_json())
        return told

    @property
    def title(self) -> str:
        """What it is about."""
        return self._core.title

    @property
    def seeds(self) -> int:
        """How many seeds the experiment asks for."""
        return self._core.seeds

    def points(self) -> list[tuple[dict[str, Any], _core.Scenario]]:
        """The combinations of the sweep: what was swept with its value, and the scenario without sweep."""
        return [(dict(labels), core) for labels, core in self._core.points()]

    def run(
        self,
        seeds: int | Iterable[int] | None = None,
        jobs: int | None = None,
        out: str | Path | None = None,
        quiet: bool = True,
    ) -> Results:
        """Runs every point of the sweep with every seed and returns the results.

        ``seeds``: how many (1, 2, ...) or which; default: as many as the experiment says. ``jobs``: runs at a time; default: one a core.
        ``out``: the results directory; what it holds already is not run again. Without it the results live as
        long as the returned object. ``quiet``: no progress bar.
        """
        folder: Path
        keep: tempfile.TemporaryDirectory[str] | None = None
        if out is None:
            keep = tempfile.TemporaryDirectory(prefix="haltere-")
            folder = Path(keep.name)
        else:
            folder = Path(out)
        results = plan_runs([self], seeds_from(seeds, self.seeds), folder, jobs=jobs, quiet=quiet, title=self.title)
        results._keep = keep
        return results

    def __repr__(self) -> str:
        return f"<haltere.Scenario {self.title!r}>"


def seeds_from(seeds: int | Iterable[int] | None, default: int) -> list[int]:
    """The seeds as a list.

    >>> seeds_from(None, 3), seeds_from(2, 3), seeds_from([7, 9], 3)
    ([1, 2, 3], [1, 2], [7, 9])
    """
    chosen = default if seeds is None else seeds
    numbers = list(range(1, chosen + 1)) if isinstance(chosen, int) else [int(seed) for seed in chosen]
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise InputError(f"seeds must be at least 1 and all different, got {seeds!r}")
    return numbers


def plan_runs(
    scenarios: Iterable[Scenario],
    seeds: list[int],
    folder: Path,
    *,
    jobs: int | None = None,
    quiet: bool = False,
    title: str = "",
    labels: Iterable[Mapping[str, Any]] | None = None,
) -> Results:
    """Runs scenarios, each with its sweep, into one results directory.

    ``labels[i]`` tells scenario ``i`` from the others, beside what its own sweep says.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    each = list(scenarios)
    extra = [dict(label) for label in labels] if labels is not None else [{} for _ in each]
    points: list[Point] = []
    cores: list[_core.Scenario] = []
    for scenario, label in zip(each, extra, strict=True):
        for swept, core in scenario.points():
            points.append(Point(len(points), {**label, **swept}, json.loads(core.to_json())))
            cores.append(core)
    tasks = [Task(core, seed, i) for i, core in enumerate(cores) for seed in seeds]
    _check_folder(folder)
    began = datetime.datetime.now(datetime.UTC)
    done: list[Done] = []

    def manifest(complete: bool) -> dict[str, Any]:
        return {
            "format": 1,
            "title": title,
            "complete": complete,
            "environment": environment(),
            "began": began.isoformat(timespec="seconds"),
            "wall_s": round((datetime.datetime.now(datetime.UTC) - began).total_seconds(), 3),
            "seeds": seeds,
            "scenarios": [scenario.to_dict() for scenario in each],
            "points": [{"labels": point.labels, "scenario": point.scenario} for point in points],
            "runs": [vars(one) for one in sorted(done, key=lambda one: (one.point, one.seed))],
        }

    try:
        execute(tasks, folder / "runs", jobs=jobs, quiet=quiet, on_done=done.append)
    except BaseException:
        Results.write_manifest(folder, manifest(complete=False))
        raise
    Results.write_manifest(folder, manifest(complete=True))
    return Results(folder)


def _check_folder(folder: Path) -> None:
    """A results directory is new, empty, or one of ours."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: results directory must be a directory, got a file")
    ours = (folder / "manifest.json").exists() or (folder / "runs").is_dir()
    if folder.is_dir() and not ours and any(folder.iterdir()):
        raise InputError(
            f"{folder}: results directory must be empty or hold results of haltere; choose another with --out"
        )


_KEY = re.compile(r"[A-Za-z0-9_.\[\]-]+")


def parse_setting(text: str) -> tuple[str, Any]:
    """``KEY=VALUE`` of the command line: a dotted key and a TOML value, or a bare word for a string.

    >>> parse_setting("topology.dumbbell.pairs=8")
    ('topology.dumbbell.pairs', 8)
    >>> parse_setting("traffic.0.congestion=cubic")
    ('traffic.0.congestion', 'cubic')
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not _KEY.fullmatch(key):
        raise InputError(f"--set must be KEY=VALUE, got `{text}`")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value.strip()
