"""`haltere characterize CONTROL`: a congestion control through the criteria of RFC 9743 (BCP 133), beside CUBIC and Reno in its place.

The RFC gives criteria and no thresholds. Section 5.2 asks whether a control does more harm than those of the standards. So each scenario runs three times
with the same random draws: with the control, with CUBIC (RFC 9438) and with Reno (RFC 5681) in its place. Every verdict is a paired difference of the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...analysis.measures import Run
from ...api import Scenario, plan_runs, seeds_from
from ...errors import InputError
from ...report.document import Bullets, Document, Heading, Text
from ...runs.results import Results
from ...studies import Options, Outcome
from . import card, figures
from .card import Values
from .cases import EVENTS, Case, cases
from .criteria import CRITERIA, NOT_RUN, QUICK, Criterion
from .figures import Series
from .measures import MEASURES

__all__ = ["characterize_control"]

#: What stands in the control's place: the controls of the standards.
REFERENCES = ("cubic", "reno")
SEEDS, QUICK_SEEDS = 10, 4


def characterize_control(kind: str, settings: Mapping[str, Any], options: Options, only: Sequence[str] = ()) -> Outcome:
    """Runs the scenarios (`only`: these) with the control `kind`, its parameters as in `settings`, and the references in its place."""
    name = ", ".join([kind, *(f"{key}={value}" for key, value in settings.items())])
    controls = {name: {"kind": kind, **settings}, **{other: {"kind": other} for other in REFERENCES if other != name}}
    known = _chosen(options.quick, only)
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    scenarios, labels = [], []
    for case in known.values():
        for one, control in controls.items():
            scenarios.append(Scenario.from_dict(case.experiment(control), case.key))
            labels.append({"scenario": case.key, "control": one})
    title = f"{name} by the criteria of RFC 9743"
    results = plan_runs(scenarios, seeds_from(seeds, seeds), options.out, jobs=options.jobs, quiet=options.quiet, title=title, labels=labels)  # fmt: skip
    values, series = _read(results, known)
    left = ""
    if options.quick and not only:
        left = f"--quick: {len(known)} of {len(cases())} scenarios, {seeds} of {SEEDS} seeds."
    document = _document(
        title, name, [one for one in controls if one != name], known, values, series, options, seeds, left
    )
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


def _document(
    title: str, name: str, references: Sequence[str], known: Mapping[str, Case], values: Values, series: Series,
    options: Options, seeds: int, left: str,
) -> Document:  # fmt: skip
    document = Document(title)
    told = " and ".join(card.TITLES[one] for one in references)
    document.add(
        Text(
            f"Each scenario runs with {name}, and with {told} in its place: the same path, the same other traffic, the same random draws, {seeds} "
            f"seed{'s' if seeds > 1 else ''}. Figures are means with 95 % Student-t intervals. If a scenario says nothing else, the bottleneck has 20 Mbit/s, the "
            "round-trip time is 40 ms without queues, and the buffer is drop tail of one bandwidth-delay product (BDP, 67 packets)."
        ),
        Heading("In words"),
        Bullets(card.words(CRITERIA, known, name, references, values)),
        Heading("The report card"),
        card.summary(CRITERIA, known, name, references, values),
        Heading("Figures"),
        *figures.draw(known, [name, *references], values, series, options.out / "figures"),
        Heading("Criteria"),
    )
    for criterion in CRITERIA:
        _criterion(document, criterion, known, name, references, values)
    document.add(Heading("To be careful about"), Bullets(_care(seeds, left), care=True))
    return document


def _criterion(
    document: Document,
    criterion: Criterion,
    known: Mapping[str, Case],
    name: str,
    references: Sequence[str],
    values: Values,
) -> None:
    table = card.details(criterion, known, name, references, values)
    if table is not None:
        said = card.statement(criterion, known, name, references, values)
        document.add(Heading(card.heading(criterion), 3), Text(f"{criterion.asks} {said}"), table)


def _care(seeds: int, left: str) -> list[str]:
    notes = [*NOT_RUN, *([f"Not run: {left}"] if left else [])]
    if seeds < SEEDS:
        notes.insert(0, f"Only {seeds} seed{'s' if seeds > 1 else ''}: intervals are wide or missing.")
    return notes
