"""The report card: what the figures say of each criterion, beside the controls of the standards in the same place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Table
from .cases import Case
from .criteria import Criterion
from .measures import MEASURES, Measure

__all__ = ["Values", "compare", "details", "heading", "statement", "summary", "words"]

#: One value a seed, by scenario, control and measure.
Values = Mapping[tuple[str, str, str], Sequence[float]]
#: How the controls of the standards are called in the text.
TITLES = {"cubic": "CUBIC", "reno": "Reno"}


def compare(mine: Sequence[float], theirs: Sequence[float], better: int) -> tuple[str, Mean | None]:
    """How one control compares with another in the same place, by the paired differences of the seeds, and that difference.

    ``better`` is 1 if more is better, -1 if less is, 0 if neither. Without an interval, from one seed, nothing is said but that two values are equal.

    >>> compare([1.0, 1.1], [2.0, 2.1], -1)[0]
    'better'
    >>> compare([1.0, 3.0], [2.0, 2.1], -1)[0]
    'same'
    >>> compare([1.0], [2.0], -1)[0]
    'cannot be told'
    """
    pairs = [(a, b) for a, b in zip(mine, theirs, strict=True) if not (math.isnan(a) or math.isnan(b))]
    if not pairs:
        return "cannot be told", None
    gap = stats.paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    if math.isnan(gap.half):
        return ("same" if gap.mean == 0 else "cannot be told"), gap
    if gap.low <= 0 <= gap.high:
        return "same", gap
    if better == 0:
        return ("more" if gap.mean > 0 else "less"), gap
    return ("better" if (gap.mean > 0) == (better > 0) else "worse"), gap


def _mean(values: Sequence[float]) -> Mean | None:
    known = [value for value in values if not math.isnan(value)]
    return stats.mean(known) if known else None


def _cell(values: Sequence[float], measure: Measure) -> str:
    mean = _mean(values)
    return "–" if mean is None else mean.format(measure.digits)


def _verdict(values: Values, key: str, name: str, other: str, measure: str) -> str:
    what = MEASURES[measure]
    word, gap = compare(values[key, name, measure], values[key, other, measure], what.better)
    if gap is None or word in ("same", "cannot be told"):
        return word
    return f"{word} ({gap.mean:+.{what.digits}f})".replace("-", "−")


def details(
    criterion: Criterion, known: Mapping[str, Case], name: str, references: Sequence[str], values: Values
) -> Table | None:
    """Every figure of one criterion."""
    rows = []
    for key, measures in criterion.rows:
        if key not in known:
            continue
        for i, measure in enumerate(measures):
            what = MEASURES[measure]
            row = [known[key].title if i == 0 else "", f"{what.title} ({what.unit})" if what.unit else what.title]
            row += [_cell(values[key, one, measure], what) for one in (name, *references)]
            row += [_verdict(values, key, name, one, measure) for one in references]
            rows.append(row)
    if not rows:
        return None
    columns = [
        "scenario",
        "measure",
        name,
        *(TITLES[one] for one in references),
        *(f"against {TITLES[one]}" for one in references),
    ]
    return Table(f"criterion-{criterion.section.replace('.', '-')}", "What was measured", columns, rows, left=2)


def heading(criterion: Criterion) -> str:
    """The section and the title."""
    return _section(criterion) + criterion.title


def _section(criterion: Criterion) -> str:
    return f"{criterion.section} " if criterion.section[0].isdigit() else ""


def _counts(criterion: Criterion, known: Mapping[str, Case], name: str, other: str, values: Values) -> dict[str, int]:
    out: dict[str, int] = {}
    for key, measures in criterion.rows:
        for measure in measures if key in known else ():
            word, _ = compare(values[key, name, measure], values[key, other, measure], MEASURES[measure].better)
            out[word] = out.get(word, 0) + 1
    return out


def statement(
    criterion: Criterion, known: Mapping[str, Case], name: str, references: Sequence[str], values: Values
) -> str:
    """The criterion in one sentence with figures; of the first scenario that ran, if that of the headline did not."""
    run = [(key, measure) for key, measures in criterion.rows if key in known for measure in measures]
    if not run:
        return ""
    key, measure = criterion.headline if criterion.headline in run else run[0]
    what = MEASURES[measure]
    unit = f" {what.unit}" if what.unit else ""
    others = []
    for one in references:
        word, _ = compare(values[key, name, measure], values[key, one, measure], what.better)
        told = {"same": "no significant difference", "cannot be told": "cannot be told"}.get(word, word)
        others.append(f"{TITLES[one]} {_cell(values[key, one, measure], what)}{unit} ({told})")
    return f"{_capital(known[key].title)}: {what.title} {_cell(values[key, name, measure], what)}{unit}; in its place {', '.join(others)}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def words(
    criteria: Sequence[Criterion], known: Mapping[str, Case], name: str, references: Sequence[str], values: Values
) -> list[str]:
    """One sentence with figures a criterion."""
    said = [(one, statement(one, known, name, references, values)) for one in criteria]
    return [f"{heading(one)}. {text}" for one, text in said if text]


def summary(
    criteria: Sequence[Criterion], known: Mapping[str, Case], name: str, references: Sequence[str], values: Values
) -> Table:
    """One row a criterion: in how many measures the control is better than each reference, not different from it, and worse."""
    rows = []
    for criterion in criteria:
        counts = [_counts(criterion, known, name, one, values) for one in references]
        if any(counts):
            cells = [str(count.get(word, 0)) for count in counts for word in ("better", "same", "worse")]
            rows.append([criterion.section, criterion.title, *cells])
    columns = ["RFC 9743", "criterion", *(f"{TITLES[one]} {sign}" for one in references for sign in "+=−")]
    note = (
        "In how many measures the control is better (+) or worse (−) than the reference in its place, with the same random draws: the 95 % interval of the difference, paired by seed, "
        "leaves out zero. =: it does not. A measure of which neither more nor less is better is not counted. The RFC has no thresholds: section 5.2 asks whether a "
        "control does more harm than those of the standards."
    )
    return Table("card", f"{name} by the criteria of RFC 9743", columns, rows, note, left=2)
