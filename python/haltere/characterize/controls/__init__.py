"""`haltere characterize CONTROL`: a congestion control through the criteria of RFC 9743 (BCP 133), beside others in its place.

The RFC gives criteria and no thresholds. Section 5.2 asks whether a control does more harm than those of the standards. So each scenario runs three times
with the same random draws: with the control, with CUBIC (RFC 9438) and with Reno (RFC 5681) in its place, if nothing else is named. Every verdict is a
paired difference of the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...report.document import Bullets, Document, Heading, Text
from ...studies import Options, Outcome
from ..named import Finished, counted, few_seeds, finished, lineup
from . import figures
from .card import Card, Values, called, heading
from .cases import CRITERIA, NOT_RUN, QUICK, cases, experiment
from .figures import Series
from .measures import MEASURES

#: The controls that replace the tested one for comparison: those of the standards.
REFERENCES = ("cubic", "reno")
SEEDS, QUICK_SEEDS = 10, 4


def characterize_control(
    kind: str, settings: Mapping[str, Any], options: Options, only: Sequence[str] = (), beside: Sequence[str] = (), stack: str | None = None
) -> Outcome:  # fmt: skip
    """Runs the scenarios (`only`: these) with the control `kind`, its parameters as in `settings`, and the references in its place.

    ``beside`` names the references; the default is those of the standards, `REFERENCES`. They run on TCP. ``stack`` is the stack of the control.
    """
    controls = lineup(kind, settings, beside, REFERENCES, stack)
    name, *references = controls
    every = list(cases().values())
    title = f"{name} by the criteria of RFC 9743"
    done = finished(title, "control", every, controls, experiment, options, only, QUICK, (QUICK_SEEDS, SEEDS))
    values, series = _read(done)
    left = ""
    if options.quick and not only:
        left = f"--quick: {len(done.cases)} of {len(every)} scenarios, {done.seeds} of {SEEDS} seeds."
    card = Card(name, references, {case.key: case for case in done.cases}, values)
    return Outcome("characterize", _document(title, card, series, options, done.seeds, left), left_out=left)


def _asked(key: str) -> list[str]:
    """The measures that any criterion reads off that scenario."""
    found = (measures for criterion in CRITERIA for one, measures in criterion.rows if one == key)
    return list(dict.fromkeys(measure for measures in found for measure in measures))


def _read(done: Finished) -> tuple[Values, Series]:
    values: dict[tuple[str, str, str], list[float]] = {}
    drawn: Series = {}
    for case, name, run in done.runs:
        for measure in _asked(case.key):
            values.setdefault((case.key, name, measure), []).append(MEASURES[measure].read(run, case))
        if case.drawn:
            at, rates = figures.series_of(run)
            drawn.setdefault((case.key, name), (at, []))[1].append(rates)
    return values, drawn


def _document(title: str, card: Card, series: Series, options: Options, seeds: int, left: str) -> Document:
    names = [card.name, *card.references]
    document = Document(title)
    beside = " and ".join(called(one) for one in card.references)
    document.add(
        Text(
            f"Each scenario runs with {card.name}, and with {beside} in its place: the same path, the same other traffic, the same random draws, {counted(seeds)}. "
            "Figures are means with 95 % Student-t intervals. If a scenario says nothing else, the bottleneck has 20 Mbit/s, the "
            "round-trip time is 40 ms without queues, and the buffer is drop tail of one bandwidth-delay product (BDP, 67 packets)."
        ),
        Heading("In words"),
        Bullets(card.words(CRITERIA)),
        Heading("The report card"),
        card.summary(CRITERIA),
    )
    if drawn := figures.draw(card.known, names, card.values, series, options.out / "figures"):
        document.add(Heading("Figures"), *drawn)
    document.add(Heading("Criteria"))
    for criterion in CRITERIA:
        if (table := card.details(criterion)) is not None:
            document.add(Heading(heading(criterion), 3), Text(criterion.asks), Text(card.statement(criterion)), table)
    care = [*few_seeds(seeds, SEEDS), *NOT_RUN, *([f"Not run: {left}"] if left else [])]
    document.add(Heading("To be careful about"), Bullets(care, care=True))
    return document
