"""Published studies, run again: `haltere reproduce STUDY`.

A study is a function of :class:`Options` that returns an :class:`Outcome`: a document with tables and figures,
and the paper's findings, each ``held``, ``not held`` or ``cannot be told`` with the figures that say so. One line in ``_STUDIES``
makes a study known to the command line. Its experiment files, the paper's printed numbers and a README with what
the paper leaves open stand in ``papers/STUDY/`` of the repository.
"""

from __future__ import annotations

import importlib
import math
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..analysis.stats import Mean
from ..errors import InputError
from ..report.document import Document, Table, Text

__all__ = ["Finding", "Options", "Outcome", "Verdict", "data", "findings_table", "judge", "on_wire", "studies", "study"]

Verdict = Literal["held", "not held", "cannot be told"]

# Name on the command line, module with `reproduce(options) -> Outcome`, one line on what it is about.
_STUDIES = {
    "aqm-lab": ("haltere.papers.aqm_lab", "five queue disciplines under two-way TCP: queue, fairness, round-trip time"),
    "rafle": ("haltere.papers.rafle", "short flows first, without state: RAFLE against drop tail, RuN2C and ideal"),
    "iaas": ("haltere.papers.iaas", "four congestion controls share one gigabit, without ECN and with ECN and RED"),
    "mptcp-red": (
        "haltere.papers.mptcp_red",
        "redundant multipath scheduling over paths that share no bottleneck: RED, RED-CPI",
    ),
    "dctcp-hysteresis": ("haltere.papers.dctcp_hysteresis", "DCTCP with two marking thresholds and returned packets"),
}


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

    ``held``: all intervals lie above zero. ``not held``: at least one lies below. Otherwise, also where one seed gives no interval, it
    ``cannot be told``. The second value names the difference that decided.

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
    told = f"least: {name} = {least.format(digits)}"
    if any(one.high < 0 for _, one in each):
        worst_name, worst = min(each, key=lambda one: one[1].high if not math.isnan(one[1].half) else math.inf)
        return "not held", f"least: {worst_name} = {worst.format(digits)}"
    if all(one.low > 0 for _, one in each):
        return "held", told
    return "cannot be told", told


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


def studies() -> dict[str, str]:
    """The studies: name and what each is about."""
    return {name: about for name, (_, about) in _STUDIES.items()}


def study(name: str) -> Callable[[Options], Outcome]:
    """The study of that name."""
    if name not in _STUDIES:
        import difflib

        near = difflib.get_close_matches(name, _STUDIES, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise InputError(f"study must be one of {', '.join(f'`{known}`' for known in _STUDIES)}, got `{name}`{hint}")
    reproduce: Callable[[Options], Outcome] = importlib.import_module(_STUDIES[name][0]).reproduce
    return reproduce


def on_wire(name: str, anyway: bool = False) -> Callable[[Options], Outcome]:
    """The part of a study that can be held up to real packets: its ``wire.toml`` in both worlds."""
    from ..analysis import parity
    from ..api import Scenario

    path = data(name) / "wire.toml"
    if not path.is_file():
        have = ", ".join(f"`{known}`" for known in _STUDIES if (data(known) / "wire.toml").is_file())
        raise InputError(f"study must be one of {have} on the wire, got `{name}`")

    def reproduce(options: Options) -> Outcome:
        scenario, seeds, left_out = Scenario.load(path), options.seeds, ""
        if options.quick:
            uploads = any(entry["kind"] == "ftp" for entry in scenario.to_dict()["traffic"])
            changes = {"duration": "20s", "warmup": "5s"} if uploads else {"duration": "8s", "warmup": "3s"}
            seeds = seeds or 2
            left_out = f"what comes after {changes['duration']} of {scenario.to_dict()['duration']}, all but {seeds} of {scenario.seeds} seeds"
            scenario = scenario.with_values(changes)
        compared = parity.compare(
            scenario, seeds=seeds, jobs=options.jobs, out=options.out, quiet=options.quiet, anyway=anyway
        )
        document = compared.document()
        if left_out:
            document.add(Text(f"Left out by --quick: {left_out}."))
        return Outcome(name, document, left_out=left_out)

    return reproduce
