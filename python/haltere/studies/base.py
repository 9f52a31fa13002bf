"""What every study has: options, findings with verdicts, and the files of ``papers/STUDY``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..analysis.stats import Mean
from ..data import folder
from ..report.document import Document, Table

__all__ = [
    "Finding", "Options", "Outcome", "Verdict", "data", "expected", "findings_table", "judge", "judge_size", "readings_table",
]  # fmt: skip

#: ``held``: our interval says what the paper says. ``direction only``: the sign holds, but the size is off by more than a factor of two.
#: ``not held``: our interval says the opposite. ``cannot be told``: our interval contains both.
#: ``not testable``: the set-up that the paper describes cannot show it.
Verdict = Literal["held", "direction only", "not held", "cannot be told", "not testable"]


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    quick: bool = False
    seeds: int | None = None
    jobs: int | None = None
    out: Path = Path("results")
    variant: str | None = None
    quiet: bool = False


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


def judge(differences: Iterable[tuple[str, Mean]], digits: int = 1) -> tuple[Verdict, str]:
    """Whether every one of these named differences is above zero, by its interval.

    ``held``: all intervals lie above zero. ``not held``: at least one lies below. Otherwise it ``cannot be told``; also if one seed
    gives no interval. The second value names the difference that decided.

    >>> judge([("a - b", Mean(2.0, 1.0, 1.0, 10)), ("a - c", Mean(1.5, 1.0, 1.0, 10))])
    ('held', 'least: a - c = 1.5 ± 1.0')
    >>> judge([("a - b", Mean(2.0, 1.0, 1.0, 10)), ("a - c", Mean(0.5, 1.0, 1.0, 10))])
    ('cannot be told', 'least: a - c = 0.5 ± 1.0')
    >>> judge([("a - b", Mean(-2.0, 1.0, 1.0, 10))])
    ('not held', 'least: a - b = -2.0 ± 1.0')
    """
    each = list(differences)
    if not each:
        return "cannot be told", "not run"
    name, least = min(each, key=lambda one: one[1].mean if math.isnan(one[1].half) else one[1].low)
    text = f"least: {name} = {least.format(digits)}"
    if any(one.high < 0 for _, one in each):
        worst_name, worst = min(each, key=lambda one: one[1].high if not math.isnan(one[1].half) else math.inf)
        return "not held", f"least: {worst_name} = {worst.format(digits)}"
    if all(one.low > 0 for _, one in each):
        return "held", text
    return "cannot be told", text


def judge_size(ours: Mean, paper: float, digits: int = 1) -> tuple[Verdict, str]:
    """Whether a difference has the sign and about the size that the paper gives (`paper`, not zero, in the unit of `ours`).

    ``held``: the interval lies on the paper's side of zero and reaches into half to twice the paper's value. ``direction only``: it lies
    on that side, but wholly outside half to twice. ``not held``: it lies on the other side of zero. Otherwise it ``cannot be told``.

    >>> judge_size(Mean(2.0, 1.0, 1.0, 10), 3.0)
    ('held', '2.0 ± 1.0')
    >>> judge_size(Mean(2.0, 1.0, 1.0, 10), 30.0)
    ('direction only', '2.0 ± 1.0')
    >>> judge_size(Mean(2.0, 1.0, 1.0, 10), -3.0)
    ('not held', '2.0 ± 1.0')
    >>> judge_size(Mean(0.5, 1.0, 1.0, 10), 3.0)
    ('cannot be told', '0.5 ± 1.0')
    """
    text = ours.format(digits)
    low, high = (ours.low, ours.high) if paper > 0 else (-ours.high, -ours.low)
    if math.isnan(low) or low <= 0 <= high:
        return "cannot be told", text
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
    """Verdicts under the other readings, a column each; it stands under "What if"."""
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
