"""What every study has: options, findings with verdicts, and the files of ``papers/STUDY``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..analysis.stats import Mean
from ..data import folder
from ..errors import unknown
from ..report.document import Block, Document, Table, Text

if TYPE_CHECKING:
    from ..api import Scenario
    from ..runs.results import Results

#: ``held``: our interval says what the paper says. ``direction only``: the sign holds, but the size is off by more than a factor of two.
#: ``not held``: our interval says the opposite. ``inconclusive``: our interval contains both.
#: ``not testable``: the set-up that the paper describes cannot show it.
Verdict = Literal["held", "direction only", "not held", "inconclusive", "not testable"]


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    quick: bool = False
    seeds: int | None = None
    jobs: int | None = None
    out: Path = Path("results")
    variant: str | None = None
    quiet: bool = False

    def variant_of(self, *known: str) -> str:
        """The variant that was asked for, by default the first of those known."""
        variant = self.variant or known[0]
        if variant not in known:
            raise unknown("variant", variant, known)
        return variant

    def run(
        self, scenarios: Sequence[Scenario], labels: Sequence[Mapping[str, Any]] | None = None, *, seeds: int | Sequence[int] | None = None,
        title: str = "", part: str = "",
    ) -> Results:  # fmt: skip
        """Runs these experiments into the directory asked for, or a part of it. ``seeds``: default as the first of them says."""
        from ..api import plan_runs, seeds_from

        return plan_runs(
            scenarios, seeds_from(seeds, scenarios[0].seeds), self.out / part, jobs=self.jobs, quiet=self.quiet,
            title=title or scenarios[0].title, labels=labels,
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
            "findings": [vars(finding) for finding in self.findings],
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


def with_axes(scenario: Scenario, axes: Mapping[str, Any]) -> Scenario:
    """The experiment with these axes of its sweep in place of its own; the others stay."""
    return scenario.with_values({"sweep": {**scenario.experiment.sweep, **axes}})


def judge(differences: Iterable[tuple[str, Mean]], digits: int = 1) -> tuple[Verdict, str]:
    """Whether every one of these named differences is above zero, by its interval.

    ``held``: all intervals lie above zero. ``not held``: at least one lies below. Otherwise ``inconclusive``; also if one seed
    gives no interval. The second value names the difference that decided.

    >>> judge([("a - b", Mean(2.0, 1.0, 1.0, 10)), ("a - c", Mean(1.5, 1.0, 1.0, 10))])
    ('held', 'least: a - c = 1.5 ± 1.0')
    >>> judge([("a - b", Mean(2.0, 1.0, 1.0, 10)), ("a - c", Mean(0.5, 1.0, 1.0, 10))])
    ('inconclusive', 'least: a - c = 0.5 ± 1.0')
    >>> judge([("a - b", Mean(-2.0, 1.0, 1.0, 10))])
    ('not held', 'least: a - b = -2.0 ± 1.0')
    """
    each = list(differences)
    if not each:
        return "inconclusive", "not run"
    name, least = min(each, key=lambda one: one[1].mean if math.isnan(one[1].half) else one[1].low)
    text = f"least: {name} = {least.format(digits)}"
    if any(one.high < 0 for _, one in each):
        worst_name, worst = min(each, key=lambda one: one[1].high if not math.isnan(one[1].half) else math.inf)
        return "not held", f"least: {worst_name} = {worst.format(digits)}"
    if all(one.low > 0 for _, one in each):
        return "held", text
    return "inconclusive", text


def judge_size(ours: Mean, paper: float, digits: int = 1) -> tuple[Verdict, str]:
    """Whether a difference has the sign and about the size that the paper gives (`paper`, not zero, in the unit of `ours`).

    ``held``: the interval lies on the paper's side of zero and reaches into half to twice the paper's value. ``direction only``: it lies
    on that side, but wholly outside half to twice. ``not held``: it lies on the other side of zero. Otherwise ``inconclusive``.

    >>> judge_size(Mean(2.0, 1.0, 1.0, 10), 3.0)
    ('held', '2.0 ± 1.0')
    >>> judge_size(Mean(2.0, 1.0, 1.0, 10), 30.0)
    ('direction only', '2.0 ± 1.0')
    >>> judge_size(Mean(2.0, 1.0, 1.0, 10), -3.0)
    ('not held', '2.0 ± 1.0')
    >>> judge_size(Mean(0.5, 1.0, 1.0, 10), 3.0)
    ('inconclusive', '0.5 ± 1.0')
    """
    text = ours.format(digits)
    low, high = (ours.low, ours.high) if paper > 0 else (-ours.high, -ours.low)
    if math.isnan(low) or low <= 0 <= high:
        return "inconclusive", text
    if high < 0:
        return "not held", text
    size = abs(paper)
    return ("held" if low <= 2 * size and high >= size / 2 else "direction only"), text


def findings_table(findings: Sequence[Finding]) -> Table:
    """The findings under the primary reading: the table with which a study's page opens."""
    rows = [[one.text, one.paper, one.ours, one.verdict, one.why] for one in findings if not one.reading]
    columns = ["finding", "paper", "ours", "verdict", "why"]
    return Table("findings", "The paper's findings, in the primary reading", columns, rows, left=5)


def readings_table(findings: Sequence[Finding]) -> Table:
    """Verdicts under the other readings, a column each; a part of "What if"."""
    readings = list(dict.fromkeys(one.reading for one in findings if one.reading))
    texts = list(dict.fromkeys(one.text for one in findings))
    verdicts = {(one.text, one.reading): one.verdict for one in findings}
    rows = [[text, *(verdicts.get((text, reading), "–") for reading in ["", *readings])] for text in texts]
    return Table(
        "readings",
        "What if: verdicts under other readings",
        ["finding", "primary", *readings],
        rows,
        left=len(readings) + 2,
    )


def data(study: str) -> Path:
    """The folder with a study's files: ``papers/STUDY`` of the source checkout or of the package."""
    return folder(f"papers/{study}")


def expected(study: str) -> dict[str, Any]:
    """What the paper printed: ``expected.toml`` of a study."""
    return tomllib.loads((data(study) / "expected.toml").read_text(encoding="utf-8"))
