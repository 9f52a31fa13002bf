"""Reads results of the kernel harness: files that carry a scenario and what was measured, and `summary.json`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .measures import of_linux, of_summary
from .scenario import Sample, Scenario, expand_flows, normal


class BadInput(ValueError):
    """The directory does not contain results of the harness."""


@dataclass
class Repetition:
    """One run on Linux: its seed, when its flows started, and what was measured."""

    seed: int
    starts: list[float]
    measures: dict[str, float | None]


@dataclass
class Case:
    """One scenario with all its repetitions."""

    name: str
    group: str
    scenario: Scenario
    repetitions: list[Repetition] = field(default_factory=list)
    error: str | None = None

    def setup_seed(self, seed: int) -> int:
        """The seed of the repetition whose start times and transfers our run with that seed has.

        Linux was measured with these and no others, so our further seeds have those of its repetitions in turn. If there is one
        repetition, they draw their own: a case without other randomness would be the same run ten times.
        """
        known = [repetition.seed for repetition in self.repetitions]
        return seed if seed in known or len(known) < 2 else known[(seed - 1) % len(known)]

    def starts(self, seed: int) -> list[float]:
        """When the flows start in our run with that seed: as on Linux, or drawn as the harness draws it."""
        setup = self.setup_seed(seed)
        drawn = [flow.start for flow in expand_flows(replace(self.scenario, seed=setup))]
        known = (one.starts for one in self.repetitions if one.seed == setup and len(one.starts) == len(drawn))
        return next(known, drawn)


def natural(text: str) -> list[Any]:
    """A sorting key that counts: `F2` before `F10`."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", text)]


def read_directory(directory: Path) -> list[Case]:
    """All cases under a directory, subdirectories included, in natural order."""
    if not directory.is_dir():
        raise BadInput(f"validate: {directory} is not a directory; give one that holds result files of the harness")
    cases: dict[tuple[str, str], Case] = {}
    for path in sorted(directory.rglob("*.json"), key=lambda p: natural(str(p))):
        if path.name == "summary.json" or path.name.startswith("."):
            continue
        for result in _results(path):
            _add(cases, directory, path, result)
    if not cases:
        raise BadInput(f"validate: {directory} holds no result file (JSON with `scenario` and `flows`)")
    for (folder, name), case in cases.items():
        _add_summary(case, directory / folder / "summary.json", name)
    return sorted(cases.values(), key=lambda c: (natural(c.group), natural(c.name)))


def _results(path: Path) -> list[dict[str, Any]]:
    try:
        data = json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"validate: {path} is not JSON: {error}") from error
    items = data if isinstance(data, list) else [data]
    return [item for item in items if isinstance(item, dict) and isinstance(item.get("scenario"), dict)]


def _add(cases: dict[tuple[str, str], Case], root: Path, path: Path, result: dict[str, Any]) -> None:
    scenario = normal(result["scenario"])
    name = re.sub(r"_r\d+$", "", str(scenario.name or path.stem))
    folder = str(path.parent.relative_to(root))
    group = scenario.set or (path.parent.name if folder == "." else folder)
    case = cases.get((folder, name))
    if case is not None and _essence(case.scenario) != _essence(scenario):
        name = f"{name} ({path.stem})"  # the same name for something else: a case of its own
        case = cases.get((folder, name))
    if case is None:
        case = cases[folder, name] = Case(name, str(group), scenario)
    if "error" in result or "flows" not in result:
        case.error = f"the harness reported: {result.get('error', 'no flows')}"
        return
    starts = [flow["start"] for flow in result["flows"]]
    case.repetitions.append(Repetition(int(scenario.seed), starts, of_linux(scenario, result)))


def _essence(scenario: Scenario) -> Scenario:
    return replace(scenario, name="", seed=0, sample=Sample(), store_cols=(), set="", post=None, pre=None)


def _add_summary(case: Case, path: Path, name: str) -> None:
    """Repetitions of which there is only the summary: number k has the seed k, as the harness numbers them."""
    if not path.is_file():
        return
    row = json.loads(path.read_text()).get(name)
    if not isinstance(row, dict) or not isinstance(row.get("reps"), int):
        return
    known = {repetition.seed for repetition in case.repetitions}
    for seed in range(1, row["reps"] + 1):
        if seed not in known:
            case.repetitions.append(Repetition(seed, [], of_summary(row, seed - 1)))
    case.repetitions.sort(key=lambda repetition: repetition.seed)
