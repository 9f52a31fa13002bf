"""Packs: folders of experiments with a table of what must hold in each. `haltere pack` runs one, `haltere check` compares two variants over it.

`pack.toml` has the title, the source, the licence, the figures that are compared, and a list of cases. A case names an experiment file of the
folder and what it changes there. The control or the stack under test takes the place of that of the traffic entries named in ``tested``.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .. import data, stacks
from ..analysis import metrics
from ..api import Scenario
from ..errors import InputError, nearest, unknown
from ..experiment import Experiment
from ..kinds import label
from ..limits import most
from ..runs.files import read_regular
from .condition import Condition

__all__ = ["Case", "Figure", "Pack", "Variant", "find", "names"]

Table = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """What is tested: a congestion control, a stack, both, or neither (the experiments as they are)."""

    name: str
    control: Any = None
    stack: str | None = None

    @classmethod
    def of(cls, control: Any, stack: str | None) -> Variant:
        """Named after its parts."""
        parts = [stacks.label(stack) if stack else "", label(control) if control is not None else ""]
        return cls(" ".join(filter(None, parts)) or "as written", control, stack)

    def into(self, entry: Table) -> Table:
        """The traffic entry with this variant."""
        control = {} if self.control is None else {"congestion": self.control}
        return {**entry, **control, **({} if self.stack is None else {"stack": self.stack})}


@dataclass(frozen=True)
class Figure:
    """A metric that is compared. It is worse if it is worse by more than ``margin`` of the baseline's mean and by more than ``least``."""

    of: str
    margin: float = 0.05
    least: float = 0.0


@dataclass(frozen=True)
class Case:
    """One experiment of a pack."""

    name: str
    values: Mapping[str, Any]
    tested: Sequence[str]
    about: str = ""
    must: Sequence[Condition] = ()
    needs: str = ""
    """What a build must have to read it; empty: every build reads it."""
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By metric and control: what its source measured."""

    def experiment(self, variant: Variant) -> Table:
        """The experiment with this variant under test."""
        values = copy.deepcopy(dict(self.values))
        values["traffic"] = [variant.into(one) if one.get("name") in self.tested else one for one in values["traffic"]]
        return values

    def scenario(self, variant: Variant) -> Scenario:
        """The same, checked."""
        return Scenario.from_dict(self.experiment(variant), self.name)


@dataclass(frozen=True)
class Pack:
    """A pack: its cases, and those that this build cannot read, each with the reason."""

    name: str
    folder: Path
    title: str
    source: str
    licence: str
    figures: Sequence[Figure]
    cases: Sequence[Case]
    left_out: Mapping[str, str]
    seeds: int = 10

    def only(self, wanted: Sequence[str]) -> Pack:
        """The pack with these cases alone."""
        known = {case.name: case for case in self.cases}
        for name in wanted:
            if name in self.left_out:
                raise InputError(f"--only {name}: {self.left_out[name]}")
            if name not in known:
                raise unknown("--only", name, known)
        return replace(self, cases=[known[name] for name in dict.fromkeys(wanted)], left_out={}) if wanted else self


def names() -> list[str]:
    """The packs that come with Haltere."""
    return sorted(path.parent.name for path in data.folder("packs").glob("*/pack.toml"))


def find(name: str) -> Pack:
    """A pack that comes with Haltere, by its name, or one of the user's, by its folder."""
    known = names()
    folder = data.folder("packs") / name if name in known else Path(name)
    if not (folder / "pack.toml").is_file():
        rule = f"one of {', '.join(f'`{one}`' for one in known)}, or a folder with a `pack.toml`"
        raise InputError(f"pack must be {rule}, got `{name}`{nearest(name, known)}")
    return _Reader(folder).pack(name if name in known else folder.resolve().name)


_KEYS = {"title", "source", "licence", "tested", "figures", "seeds", "keys", "file", "must", "case"}
_CASE = {"name", "about", "file", "set", "must", "needs", "published", "tested"}


class _Reader:
    """Reads the folder of a pack."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.where = folder, f"{folder.name}/pack.toml"
        self.files: dict[str, Table] = {}
        self.table = self._toml("pack.toml")
        self._known(self.table, _KEYS, self.where)

    def pack(self, name: str) -> Pack:
        table = self.table
        figures = [self._figure(one) for one in table.get("figures", [])]
        left_out: dict[str, str] = {}
        cases: list[Case] = []
        for one in table.get("case", []):
            case = self._case(one)
            if case.name in left_out or case.name in [other.name for other in cases]:
                raise InputError(f"{self.where}: case must have a name of its own, got `{case.name}` twice")
            try:
                self._checked(case, figures)
            except InputError as error:
                if not case.needs:
                    raise
                left_out[case.name] = f"needs {case.needs}, which this build lacks: {error}"
            else:
                cases.append(case)
        if not cases and not left_out:
            raise InputError(f"{self.where}: `case` must be given at least once")
        about = {key: self._text(table, key) for key in ("title", "source", "licence")}
        seeds = table.get("seeds", 10)
        if not isinstance(seeds, int) or seeds < 1:
            raise InputError(f"{self.where}: seeds must be a whole number of at least 1, got `{seeds}`")
        return Pack(name, self.folder, figures=figures, cases=cases, left_out=left_out, seeds=seeds, **about)

    def _case(self, one: Table) -> Case:
        name = str(one.get("name", ""))
        where = f"{self.where}: case {name}"
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
            raise InputError(f"{self.where}: name of a case must be of letters, digits, `-`, `_` and `.`, got `{name}`")
        self._known(one, _CASE, where)
        file = str(one.get("file", self.table.get("file", f"{name}.toml")))
        values = copy.deepcopy(self.files.setdefault(file, self._toml(file)))
        aliases = self.table.get("keys", {})
        for key, value in one.get("set", {}).items():
            _put(values, aliases.get(key, key), value, where)
        must = [Condition.of(str(text), where) for text in [*self.table.get("must", []), *one.get("must", [])]]
        tested: Sequence[str] = one.get("tested") or self.table.get("tested") or ["main"]
        values["title"] = f"{self.table.get('title')}: {name}"
        more = {key: one[key] for key in ("about", "needs", "published") if key in one}
        return Case(name, values, tested, must=must, **more)

    def _checked(self, case: Case, figures: Sequence[Figure]) -> None:
        where = f"{self.where}: case {case.name}"
        try:
            scenario = case.scenario(Variant("as written"))
        except InputError as error:
            raise InputError(f"{self.where}: case {error}") from None
        if len(scenario.points()) != 1:
            raise InputError(f"{where}: experiment must have no sweep")
        full = scenario.to_dict()
        entries = [one.name for one in Experiment(full).traffic]
        if missing := [one for one in case.tested if one not in entries]:
            raise InputError(f"{where}: tested must name traffic entries ({', '.join(entries)}), got `{missing[0]}`")
        metrics.check([name for one in case.must for name in one.names()], where, full)
        metrics.check([one.of for one in figures], self.where, full)

    def _figure(self, one: Table | str) -> Figure:
        table = {"of": one} if isinstance(one, str) else one
        self._known(table, {"of", "margin", "least"}, f"{self.where}: figures")
        return Figure(str(table["of"]), **{key: float(table[key]) for key in ("margin", "least") if key in table})

    def _text(self, table: Table, key: str) -> str:
        if not isinstance(table.get(key), str):
            raise InputError(f"{self.where}: `{key}` must be given")
        return str(table[key])

    def _known(self, table: Table, known: set[str], where: str) -> None:
        for key in table.keys() - known:
            raise InputError(
                f"{where}: key must be one of {', '.join(sorted(known))}, got `{key}`{nearest(key, known)}"
            )

    def _toml(self, name: str) -> Table:
        path = self.folder / name
        try:
            return tomllib.loads(read_regular(path, most("size of the file")).decode())
        except OSError as error:
            raise InputError(f"{path}: file must be readable, got `{error.strerror or error}`") from None
        except ValueError as error:
            raise InputError(f"{path}: file must be TOML, got `{error}`") from None


def _put(values: Any, key: str, value: Any, where: str) -> None:
    """Sets a value by its dotted key; a number counts in a list, and the first that is not there adds to it.

    >>> values = {"traffic": [{"kind": "bulk"}]}
    >>> _put(values, "traffic.0.bytes", "1MB", "")
    >>> values
    {'traffic': [{'kind': 'bulk', 'bytes': '1MB'}]}
    """
    *path, last = key.split(".")
    try:
        for part in path:
            values = values[int(part)] if isinstance(values, list) else values.setdefault(part, {})
        if isinstance(values, list) and int(last) == len(values):
            values.append(value)
        else:
            values[int(last) if isinstance(values, list) else last] = value
    except (ValueError, IndexError, AttributeError, TypeError):
        raise InputError(f"{where}: key must be one of the experiment or of `keys`, got `{key}`") from None
