"""`haltere characterize CONTROL`: a congestion control through the criteria of RFC 9743 (BCP 133), beside others in its place.

The RFC gives criteria and no thresholds. Section 5.2 asks whether a control does more harm than those of the standards. So each scenario runs three times
with the same random draws: with the control, with CUBIC (RFC 9438) and with Reno (RFC 5681) in its place, if nothing else is named. Every verdict is a
paired difference of the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...analysis.measures import Run
from ...api import Scenario
from ...errors import InputError
from ...report.document import Bullets, Document, Heading, Text
from ...runs.results import Results
from ...studies import Options, Outcome
from ..named import lineup
from . import figures
from .card import Card, Values, called, heading
from .cases import EVENTS, Case, cases
from .criteria import CRITERIA, NOT_RUN, QUICK
from .figures import Series
from .measures import MEASURES

#: What stands in the control's place: the controls of the standards.
REFERENCES = ("cubic", "reno")
SEEDS, QUICK_SEEDS = 10, 4


def characterize_control(
    kind: str, settings: Mapping[str, Any], options: Options, only: Sequence[str] = (), beside: Sequence[str] = ()
) -> Outcome:
    """Runs the scenarios (`only`: these) with the control `kind`, its parameters as in `settings`, and the references in its place.

    ``beside`` names the references; the default is those of the standards, `REFERENCES`.
    """
    controls = lineup(kind, settings, beside, REFERENCES)
    name = next(iter(controls))
    known = _chosen(options.quick, only)
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    scenarios, labels = [], []
    for case in known.values():
        for one, control in controls.items():
            scenarios.append(Scenario.from_dict(case.experiment(control), case.key))
            labels.append({"scenario": case.key, "control": one})
    title = f"{name} by the criteria of RFC 9743"
    results = options.run(scenarios, labels, seeds=seeds, title=title)
    values, series = _read(results, known)
    left = ""
    if options.quick and not only:
        left = f"--quick: {len(known)} of {len(cases())} scenarios, {seeds} of {SEEDS} seeds."
    shown = Card(name, list(controls)[1:], known, values)
    document = _document(title, shown, series, options, seeds, left)
    return Outcome("characterize", document, left_out=left)


def _chosen(quick: bool, only: Sequence[str]) -> dict[str, Case]:
    every = cases()
    for key in only:
        if key not in every:
            raise InputError(f"--only must be one of {', '.join(every)}, got `{key}`")
    wanted = only or (QUICK if quick else every)
    return {key: case for key, case in every.items() if key in wanted}


def _asked(key: str) -> list[str]:
    """The measures that any criterion reads off that scenario."""
    found = (measures for criterion in CRITERIA for one, measures in criterion.rows if one == key)
    return list(dict.fromkeys(measure for measures in found for measure in measures))


def _read(results: Results, known: Mapping[str, Case]) -> tuple[Values, Series]:
    values: dict[tuple[str, str, str], list[float]] = {}
    drawn: Series = {}
    for done in results.runs:
        labels = results.points[done.point].labels
        key, name = labels["scenario"], labels["control"]
        run = Run(results, done)
        for measure in _asked(key):
            values.setdefault((key, name, measure), []).append(MEASURES[measure].read(run, known[key]))
        if key in EVENTS:
            at, rates = figures.series_of(run)
            drawn.setdefault((key, name), (at, []))[1].append(rates)
    return values, drawn


def _document(title: str, card: Card, series: Series, options: Options, seeds: int, left: str) -> Document:
    names = [card.name, *card.references]
    document = Document(title)
    beside = " and ".join(called(one) for one in card.references)
    document.add(
        Text(
            f"Each scenario runs with {card.name}, and with {beside} in its place: the same path, the same other traffic, the same random draws, {seeds} "
            f"seed{'s' if seeds > 1 else ''}. Figures are means with 95 % Student-t intervals. If a scenario says nothing else, the bottleneck has 20 Mbit/s, the "
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
    document.add(Heading("To be careful about"), Bullets(_care(seeds, left), care=True))
    return document


def _care(seeds: int, left: str) -> list[str]:
    notes = [*NOT_RUN, *([f"Not run: {left}"] if left else [])]
    if seeds < SEEDS:
        notes.insert(0, f"Only {seeds} seed{'s' if seeds > 1 else ''}: intervals are wide or missing.")
    return notes
