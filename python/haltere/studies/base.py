"""What every study has: options, findings with verdicts, and the files of ``papers/STUDY``."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..analysis import stats
from ..analysis.stats import Mean
from ..data import folder
from ..report.document import Block, Bullets, Document, Heading, Table, Text
from ..worlds import DEFAULT, World
from ..worlds import world as world_of

if TYPE_CHECKING:
    from ..api import Scenario
    from ..runs.results import Results

#: ``held``: our intervals say what the paper says. ``direction only``: the sign holds, but the size is off by more than a factor of two.
#: ``not held``: an interval says the opposite, or excludes half of the paper's size. ``inconclusive``: our intervals contain both.
#: ``not testable``: the set-up that the paper describes cannot show it. `docs/verdicts.md` has the rules and how often they err.
Verdict = Literal["held", "direction only", "not held", "inconclusive", "not testable"]
#: From the weakest to the strongest: a finding of several parts has the verdict of its weakest part.
ORDER: Sequence[Verdict] = ("not testable", "not held", "inconclusive", "direction only", "held")
#: The output of a full run, from which the study's page is made, and that of the primary reading with Linux's TCP.
STORED, WITH_LINUX = "reproduced.json", "linux.json"
#: The error rate of a verdict, and of a whole table of verdicts.
LEVEL = 0.05


class Judged(NamedTuple):
    """A verdict, the figures that decided it, and the p-value of what it claims (``None`` if it claims nothing)."""

    verdict: Verdict
    text: str
    p: float | None = None


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    quick: bool = False
    seeds: int | None = None
    jobs: int | None = None
    out: Path = Path("results")
    quiet: bool = False
    world: str | World = DEFAULT

    @property
    def linux(self) -> bool:
        """The hosts have Linux's TCP: the primary reading alone is run."""
        return world_of(self.world).name != DEFAULT

    def run(
        self, scenarios: Sequence[Scenario], labels: Sequence[Mapping[str, Any]] | None = None, *, seeds: int | Sequence[int] | None = None,
        title: str = "", part: str = "",
    ) -> Results:  # fmt: skip
        """Runs these experiments into the directory asked for, or a part of it. ``seeds``: default as the first of them says."""
        from ..api import plan_runs, seeds_from

        ran = [with_linux_tcp(one) for one in scenarios] if self.linux else scenarios
        return plan_runs(
            ran, seeds_from(seeds, scenarios[0].seeds), self.out / part, jobs=self.jobs, quiet=self.quiet,
            title=title or scenarios[0].title, labels=labels, world=self.world,
        )  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """One finding of a paper, and what we say of it."""

    #: The finding in one line, as the paper means it.
    text: str
    verdict: Verdict
    #: What we measured, with its interval.
    ours: str
    #: What the paper printed.
    paper: str = ""
    #: Why the verdict is what it is, in one line.
    why: str = ""
    #: Under which other reading of the paper; empty for the primary reading.
    reading: str = ""
    #: The p-value of what the verdict claims, before Holm over the rows of the table; ``None`` if it claims nothing.
    p: float | None = None

    @classmethod
    def of(cls, text: str, judged: Judged, paper: str, why: str, ours: str | None = None, reading: str = "") -> Finding:
        """With this verdict; ``ours`` is by default what decided it."""
        return cls(text, judged.verdict, judged.text if ours is None else ours, paper, why, reading, judged.p)


class Claims:
    """The paper's findings of a study in words, by name: ``findings`` of its ``expected.toml``, each with text, paper and why."""

    def __init__(self, study: str) -> None:
        self._rows: dict[str, list[str]] = expected(study)["findings"]

    def __call__(self, name: str, judged: Judged, ours: str | None = None, **values: Any) -> Finding:
        """The finding of that name with this verdict; ``values`` fill what its words leave open."""
        text, paper, why = (part.format(**values) for part in self._rows[name])
        return Finding.of(text, judged, paper, why, ours)


@dataclass
class Outcome:
    """What a study came to."""

    study: str
    document: Document
    findings: list[Finding] = field(default_factory=list)
    left_out: str = ""

    def to_json(self) -> dict[str, Any]:
        """For programs: the findings, and every table as rows of printed cells."""
        return {
            "study": self.study,
            "left_out": self.left_out,
            "findings": [vars(one) | {"p": one.p if one.p is None else float(f"{one.p:.2g}")} for one in self.findings],
            "tables": [
                {
                    "name": table.name,
                    "columns": list(table.columns),
                    "rows": [list(row) for row in table.rows],
                    "note": table.note,
                }
                for table in self.document.tables()
            ],
        }


def opened(title: str, about: str, left_out: str = "", *blocks: Block) -> Document:
    """The beginning of a study's page; ``blocks`` come before the text."""
    texts = [about, *([f"Left out by --quick: {left_out}."] if left_out else [])]
    return Document(title, [*blocks, *map(Text, texts)])


def with_linux_tcp(scenario: Scenario) -> Scenario:
    """The experiment without what is a constant in Linux: the parameters of TCP and of its controls."""
    values = scenario.to_dict()
    values["tcp"] = {key: value for key, value in values.get("tcp", {}).items() if key in ("ecn", "ignore_returned")}
    for traffic in values["traffic"]:
        if isinstance(control := traffic.get("congestion"), dict):
            traffic["congestion"] = control["kind"]
    return type(scenario).from_dict(values, scenario.title)


def with_axes(scenario: Scenario, axes: Mapping[str, Any]) -> Scenario:
    """The experiment with these axes of its sweep in place of its own; the others stay."""
    return scenario.with_values({"sweep": {**scenario.experiment.sweep, **axes}})


def judge(differences: Iterable[tuple[str, Mean]], digits: int = 1) -> Judged:
    """Whether every one of these named differences is above zero.

    ``held``: all 95 % intervals lie above zero. ``not held``: one lies below, after Holm's correction for their number. Otherwise
    ``inconclusive``; also if one seed gives no interval. The text names the difference that decided.

    >>> judge([("a - b", Mean(2.0, 1.0, 1.4, 10)), ("a - c", Mean(1.5, 1.0, 1.4, 10))])[:2]
    ('held', 'least: a - c = 1.5 ± 1.0')
    >>> judge([("a - b", Mean(2.0, 1.0, 1.4, 10)), ("a - c", Mean(0.5, 1.0, 1.4, 10))])[:2]
    ('inconclusive', 'least: a - c = 0.5 ± 1.0')
    >>> judge([("a - b", Mean(-2.0, 1.0, 1.4, 10))])[:2]
    ('not held', 'least: a - b = -2.0 ± 1.0')
    """
    each = list(differences)
    if not each:
        return Judged("inconclusive", "not run")
    name, least = min(each, key=lambda one: one[1].mean if math.isnan(one[1].half) else one[1].low)
    text = f"least: {name} = {least.format(digits)}"
    p = [stats.p_value(one) for _, one in each]
    if any(math.isnan(value) for value in p):
        return Judged("inconclusive", text)
    if all(one.low > 0 for _, one in each):
        return Judged("held", text, max(p))
    against = stats.holm([value if one.mean < 0 else 1.0 for value, (_, one) in zip(p, each, strict=True)])
    if min(against) < LEVEL:
        name, least = each[against.index(min(against))]
        return Judged("not held", f"least: {name} = {least.format(digits)}", min(against))
    return Judged("inconclusive", text)


def judge_size(ours: Mean, paper: float, digits: int = 1) -> Judged:
    """Whether a difference has the sign and about the size that the paper gives (`paper`, not zero, in the unit of `ours`).

    ``held``: the interval lies on the paper's side of zero, and the mean within half to twice the paper's value. ``direction only``: it
    lies on that side, but the mean is outside half to twice. ``not held``: it contains zero or lies on the other side, and the whole of it
    lies below half the paper's value. Otherwise ``inconclusive``.

    >>> judge_size(Mean(2.0, 1.0, 1.4, 10), 3.0)[:2], judge_size(Mean(1.0, 0.99, 1.38, 10), 3.0)[:2]
    (('held', '2.0 ± 1.0'), ('direction only', '1.0 ± 1.0'))
    >>> judge_size(Mean(2.0, 1.0, 1.4, 10), -3.0)[:2], judge_size(Mean(0.5, 1.0, 1.4, 10), 3.0)[:2]
    (('not held', '2.0 ± 1.0'), ('inconclusive', '0.5 ± 1.0'))
    >>> judge_size(Mean(0.5, 0.9, 1.26, 10), 3.0)[:2]
    ('not held', '0.5 ± 0.9')
    """
    text = ours.format(digits)
    low, high = (ours.low, ours.high) if paper > 0 else (-ours.high, -ours.low)
    if low > 0:
        return Judged("held" if 0.5 <= ours.mean / paper <= 2 else "direction only", text, stats.p_value(ours))
    if high < abs(paper) / 2:
        return Judged("not held", text, stats.p_value(ours if high < 0 else replace(ours, mean=ours.mean - paper / 2)))
    return Judged("inconclusive", text)


def within(value: Mean, low: float, high: float, digits: int = 1) -> Judged:
    """Whether a value lies between two bounds: its whole interval must, and for `not held` its whole interval must not.

    >>> [within(Mean(mean, 1.0, 1.4, 10), -5, 5).verdict for mean in (3.0, 5.5, 9.0)]
    ['held', 'inconclusive', 'not held']
    """
    text = value.format(digits)
    sides = [replace(value, mean=value.mean - low), replace(value, mean=high - value.mean)]
    p = [stats.p_value(side) for side in sides]
    if all(side.low > 0 for side in sides):
        return Judged("held", text, max(p))
    if any(side.high < 0 for side in sides):
        return Judged("not held", text, min(p))
    return Judged("inconclusive", text)


def weakest(judged: Sequence[Judged], text: str = "") -> Judged:
    """The verdict of a finding of several parts, each judged apart: that of its weakest part, `not held` with Holm over the parts.

    >>> weakest([Judged("held", "", 0.01), Judged("not held", "", 0.03)]).verdict
    'inconclusive'
    """
    least = min(judged, key=lambda one: ORDER.index(one.verdict))
    p = [one.p for one in judged if one.p is not None]
    if least.verdict == "not held":
        worst = min(one.p or 0.0 for one in judged if one.verdict == "not held") * len(judged)
        return Judged("not held", text, worst) if worst < LEVEL else Judged("inconclusive", text)
    decided = least.verdict in ("held", "direction only") and p
    return Judged(least.verdict, text, max(p) if decided else None)


def over_rows(findings: Sequence[Finding]) -> list[Finding]:
    """The same findings after Holm's correction for the number of rows, a reading at a time: what does not pass is inconclusive."""
    out = list(findings)
    for reading in dict.fromkeys(one.reading for one in findings):
        # What is inconclusive already counts as a row; what needs no statistics does not.
        rows = [
            i
            for i, one in enumerate(out)
            if one.reading == reading and (one.p is not None or one.verdict == "inconclusive")
        ]
        adjusted = stats.holm([1.0 if (p := out[i].p) is None else p for i in rows])
        for i, p in zip(rows, adjusted, strict=True):
            if p >= LEVEL and out[i].p is not None:
                was = f"{out[i].verdict} alone, not over {len(rows)} rows (Holm: p = {p:.2g})"
                out[i] = replace(out[i], verdict="inconclusive", why=f"{was}; {out[i].why}".rstrip("; "), p=p)
    return out


def unfairness(index: Sequence[float]) -> NDArray[np.float64]:
    """log10 of 1 less Jain's index, a value a seed: the index crowds at 1, this does not. Indices are printed with four digits."""
    return np.log10(np.maximum(1 - np.asarray(index, dtype=np.float64), 1e-4))


def times(value: Mean, digits: int = 1) -> str:
    """A difference of base-10 logarithms as a factor with its interval.

    >>> times(Mean(1.0, 0.30103, 0.4, 10))
    '10.0 [5.0, 20.0] times'
    """
    low, middle, high = (f"{10**x:.{digits}f}" for x in (value.low, value.mean, value.high))
    return f"{middle} times" if math.isnan(value.half) else f"{middle} [{low}, {high}] times"


def weakened(outcome: Outcome) -> None:
    """Says at the beginning of a quick run's page which verdicts differ from those of the full run, as `papers/STUDY` keeps them."""
    path = data(outcome.study) / STORED
    if not path.is_file():
        return
    full = {
        one["text"]: one["verdict"]
        for one in json.loads(path.read_text(encoding="utf-8"))["findings"]
        if not one["reading"]
    }
    quick = {one.text: one.verdict for one in outcome.findings if not one.reading}
    other = [
        f"{text}: {full[text]}, here {quick.get(text, 'not run')}" for text in full if quick.get(text) != full[text]
    ]
    lines = [f"{len(full) - len(other)} of {len(full)} verdicts are those of the full run.", *other]
    first = next(i for i, block in enumerate(outcome.document.blocks) if not isinstance(block, Heading))
    outcome.document.blocks.insert(first, Bullets(lines))


def findings_table(findings: Sequence[Finding], study: str, seeds: int, others: int = 0) -> Table:
    """The findings under the primary reading: the table with which a study's page opens. If it was run, with Linux's TCP beside ours.

    ``seeds``: of the primary reading; ``others``: of other readings.
    """
    ran, primary = ran_with_linux(study), [one for one in findings if not one.reading]
    linux = {one["text"]: f"{one['verdict']}: {one['ours']}" for one in ran.get("findings", [])}
    middle = [[linux.get(one.text, "–")] if linux else [] for one in primary]
    rows = [[f.text, f.paper, f.ours, *more, f.verdict, f.why] for f, more in zip(primary, middle, strict=True)]
    columns = ["finding", "paper", "ours", *(["with Linux's TCP"] if linux else []), "verdict", "why"]
    note = f"Seeds: {seeds}" + (f"; {others} of other readings." if others else ".")
    if linux:
        note += f" With Linux's TCP: Linux {ran['linux']} in the kernel world, {ran['seeds']} seeds; – was not run."
    return Table("findings", "The paper's findings, in the primary reading", columns, rows, note, left=len(columns))


def ran_with_linux(study: str) -> dict[str, Any]:
    """What the primary reading gave with Linux's TCP, as stored beside the study's page; empty if it never ran."""
    path = data(study) / WITH_LINUX
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


#: What a study calls a control of Linux's TCP begins so, in the tables that have it beside others.
LINUX = "Linux:"


def beside_linux(
    columns: Sequence[str], rows: Sequence[Sequence[str]], linux: Mapping[str, Any] | None
) -> tuple[list[str], list[list[str]]]:
    """A table with what a stored run with Linux's TCP adds to it: its columns that begin with ``Linux:``, else its rows that do.

    >>> ours = ["queue", "tcp"], [["codel", "1"], ["red", "2"]]
    >>> beside_linux(*ours, {"columns": ["queue", "Linux:reno"], "rows": [["red", "3"]]})
    (['queue', 'tcp', 'Linux:reno'], [['codel', '1', '–'], ['red', '2', '3']])
    >>> beside_linux(*ours, {"columns": ["queue", "tcp"], "rows": [["Linux:reno", "3"]]})[1][-1]
    ['Linux:reno', '3']
    """
    kept = [n for n, name in enumerate(columns) if not name.startswith(LINUX)]
    columns = [columns[n] for n in kept]
    own = [[row[n] for n in kept] for row in rows if not row[0].startswith(LINUX)]
    if linux is None:
        return columns, own
    new = [name for name in linux["columns"] if name.startswith(LINUX)]
    if not new:
        same = list(linux["columns"]) == columns
        return columns, [*own, *(list(row) for row in linux["rows"] if same and row[0].startswith(LINUX))]
    keys = [name for name in columns if name in linux["columns"]]
    theirs = [dict(zip(linux["columns"], row, strict=True)) for row in linux["rows"]]
    found = {tuple(row[name] for name in keys): row for row in theirs}
    at = [columns.index(name) for name in keys]
    cells = [found.get(tuple(row[n] for n in at), {}) for row in own]
    return [*columns, *new], [
        [*row, *(one.get(name, "–") for name in new)] for row, one in zip(own, cells, strict=True)
    ]


def readings_table(findings: Sequence[Finding]) -> Table:
    """Verdicts under the other readings, a column each, of the findings that one of them changes; a part of "What if"."""
    readings = list(dict.fromkeys(one.reading for one in findings if one.reading))
    verdicts = {(one.text, one.reading): one.verdict for one in findings}
    rows = []
    for text in dict.fromkeys(one.text for one in findings):
        primary, *others = (verdicts.get((text, reading), "–") for reading in ("", *readings))
        if any(one not in (primary, "–") for one in others):
            rows.append([text, primary, *("" if one == primary else one for one in others)])
    note = "Empty: as in the primary reading. –: not run. Findings that no reading changes are left out."
    columns = ["finding", "primary", *readings]
    return Table("readings", "What if: verdicts under other readings", columns, rows, note, left=len(columns))


def data(study: str) -> Path:
    """The folder with a study's files: ``papers/STUDY`` of the source checkout or of the package."""
    return folder(f"papers/{study}")


def expected(study: str) -> dict[str, Any]:
    """What the paper printed: ``expected.toml`` of a study."""
    return tomllib.loads((data(study) / "expected.toml").read_text(encoding="utf-8"))
