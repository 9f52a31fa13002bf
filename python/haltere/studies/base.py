"""What every study has: options, findings with verdicts, and the files of ``papers/STUDY``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..analysis.stats import Mean
from ..report.document import Document, Table

__all__ = ["Finding", "Options", "Outcome", "Verdict", "data", "expected", "findings_table", "judge"]

Verdict = Literal["held", "not held", "cannot be told"]


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
    """One finding of a paper, what we say of it, and the figures that say so."""

    text: str
    verdict: Verdict
    figures: str


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


def findings_table(findings: Sequence[Finding]) -> Table:
    """The findings as a table; a study's document ends with it."""
    rows = [[finding.text, finding.verdict, finding.figures] for finding in findings]
    return Table("findings", "The paper's findings", ["finding", "verdict", "figures"], rows, left=3)


def data(study: str) -> Path:
    """The folder with a study's files: ``papers/STUDY`` of the source tree, or the copy in an installed package."""
    package = Path(__file__).resolve().parent
    for folder in (package.parents[2] / "papers" / study, package / "data" / study):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"papers/{study}: folder must be in the source tree or in the package, got neither")


def expected(study: str) -> dict[str, Any]:
    """What the paper printed: ``expected.toml`` of a study."""
    return tomllib.loads((data(study) / "expected.toml").read_text(encoding="utf-8"))
