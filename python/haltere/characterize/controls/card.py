"""The report card: what the figures say of each criterion, beside the controls of the standards in the same place."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Table
from ..files import Case
from ..named import cell, mean
from .cases import Criterion
from .measures import MEASURES

#: One value a seed, by scenario, control and measure.
Values = Mapping[tuple[str, str, str], Sequence[float]]
#: How the controls of the standards are called in the text.
TITLES = {"cubic": "CUBIC", "reno": "Reno"}


def called(name: str) -> str:
    """How a control is called in the text."""
    return TITLES.get(name, name)


def compare(mine: Sequence[float], theirs: Sequence[float], better: int) -> tuple[str, Mean | None]:
    """How one control compares with another in the same place, by the paired differences of the seeds, and that difference.

    ``better`` is 1 if more is better, -1 if less is, 0 if neither. Without an interval, from one seed, nothing is said but that two values are equal.

    >>> compare([1.0, 1.1], [2.0, 2.1], -1)[0]
    'better'
    >>> compare([1.0, 3.0], [2.0, 2.1], -1)[0]
    'same'
    >>> compare([1.0], [2.0], -1)[0]
    'inconclusive'
    """
    pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if not (math.isnan(a) or math.isnan(b))]
    if not pairs:
        return "inconclusive", None
    gap = stats.paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    if math.isnan(gap.half):
        return ("same" if gap.mean == 0 else "inconclusive"), gap
    if gap.low <= 0 <= gap.high:
        return "same", gap
    if better == 0:
        return ("more" if gap.mean > 0 else "less"), gap
    return ("better" if (gap.mean > 0) == (better > 0) else "worse"), gap


@dataclass(frozen=True)
class Card:
    """The figures of a control and of the references in its place, in the scenarios that ran."""

    name: str
    references: Sequence[str]
    known: Mapping[str, Case]
    values: Values

    def _cell(self, key: str, name: str, measure: str) -> str:
        return cell(mean(self.values[key, name, measure]), MEASURES[measure].digits)

    def _against(self, key: str, other: str, measure: str) -> tuple[str, Mean | None]:
        mine, theirs = self.values[key, self.name, measure], self.values[key, other, measure]
        return compare(mine, theirs, MEASURES[measure].better)

    def _verdict(self, key: str, other: str, measure: str) -> str:
        word, gap = self._against(key, other, measure)
        if gap is None or word in ("same", "inconclusive"):
            return word
        return f"{word} ({gap.mean:+.{MEASURES[measure].digits}f})".replace("-", "−")

    def _run(self, criterion: Criterion) -> list[tuple[str, str]]:
        """The scenarios of a criterion that ran, with each measure."""
        return [(key, measure) for key, measures in criterion.rows if key in self.known for measure in measures]

    def details(self, criterion: Criterion) -> Table | None:
        """Every figure of one criterion."""
        rows, before = [], ""
        for key, measure in self._run(criterion):
            what = MEASURES[measure]
            row = [
                self.known[key].title if key != before else "",
                f"{what.title} ({what.unit})" if what.unit else what.title,
            ]
            row += [self._cell(key, one, measure) for one in (self.name, *self.references)]
            rows.append(row + [self._verdict(key, one, measure) for one in self.references])
            before = key
        if not rows:
            return None
        titles = [called(one) for one in self.references]
        columns = ["scenario", "measure", self.name, *titles, *(f"against {title}" for title in titles)]
        return Table(f"criterion-{criterion.section.replace('.', '-')}", "What was measured", columns, rows, left=2)

    def statement(self, criterion: Criterion) -> str:
        """The criterion in one sentence with figures; of the first scenario that ran, if that of the headline did not."""
        run = self._run(criterion)
        if not run:
            return ""
        key, measure = criterion.headline if criterion.headline in run else run[0]
        what = MEASURES[measure]
        unit = f" {what.unit}" if what.unit else ""
        others = []
        for one in self.references:
            word, _ = self._against(key, one, measure)
            verdict = {"same": "no significant difference", "inconclusive": "no conclusion"}.get(
                word, f"{self.name} {'has' if word in ('more', 'less') else 'is'} {word}"
            )
            others.append(f"{called(one)} {self._cell(key, one, measure)}{unit} ({verdict})")
        title = self.known[key].title
        mine = f"{what.title} {self._cell(key, self.name, measure)}{unit}"
        return f"{title[0].upper()}{title[1:]}: {mine}; in its place {', '.join(others)}."

    def words(self, criteria: Sequence[Criterion]) -> list[str]:
        """One sentence with figures a criterion."""
        return [f"{heading(one)}. {text}" for one in criteria if (text := self.statement(one))]

    def summary(self, criteria: Sequence[Criterion]) -> Table:
        """One row a criterion: in how many measures the control is better than each reference, not different from it, and worse."""
        rows = []
        for criterion in criteria:
            run = self._run(criterion)
            words = [Counter(self._against(key, one, measure)[0] for key, measure in run) for one in self.references]
            if any(words):
                cells = [str(count[word]) for count in words for word in ("better", "same", "worse")]
                rows.append([criterion.section, criterion.title, *cells])
        columns = ["RFC 9743", "criterion", *(f"{called(one)} {sign}" for one in self.references for sign in "+=−")]
        note = (
            "In how many measures the control is better (+) or worse (−) than the reference in its place, with the same random draws: the 95 % interval of the difference, paired by seed, "
            "leaves out zero. =: it does not. A measure of which neither more nor less is better is not counted. The RFC has no thresholds: section 5.2 asks whether a "
            "control does more harm than those of the standards."
        )
        return Table("card", f"{self.name} by the criteria of RFC 9743", columns, rows, note, left=2)


def heading(criterion: Criterion) -> str:
    """The section and the title."""
    return f"{criterion.section} {criterion.title}" if criterion.section[0].isdigit() else criterion.title
