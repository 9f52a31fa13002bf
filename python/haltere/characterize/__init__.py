"""`haltere characterize QUEUE`: a discipline through the scenarios of RFC 7928, beside drop tail, CoDel, PIE and FQ-CoDel.

Every discipline gets the same random draws in the same scenario and seed, so differences are taken seed by seed. The document ends with the
report card: what the discipline did to goodput and delay in each scenario, and how it compares with the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis import stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..api import Scenario
from ..errors import InputError
from ..report.document import Block, Bullets, Document, Heading, Table, Text
from ..runs.results import Results
from ..studies import Options, Outcome
from . import figures
from .measure import Cell, read
from .named import Entry, lineup
from .scenarios import BUFFER, NOT_RUN, Case, cases

#: The disciplines that stand beside: what most queues are, and those of RFC 8289, 8033 and 8290.
PEERS = ("drop_tail", "codel", "pie", "fq_codel")
SEEDS, QUICK_SEEDS = 10, 2
# Scenarios of --quick: one TCP-friendly, one with an unresponsive sender, one under load, one of bursts.
QUICK = ("friendly", "unresponsive-friendly", "medium", "bursts")

Cells = dict[tuple[str, str], Cell]


def characterize(
    kind: str, settings: Mapping[str, Any], options: Options, only: Sequence[str] = (), beside: Sequence[str] = ()
) -> Outcome:
    """Runs the scenarios (`only`: these) with the discipline `kind`, its parameters as in `settings`, and those beside it (default: `PEERS`)."""
    queues = {one: _queue(queue) for one, queue in lineup(kind, settings, beside, PEERS).items()}
    name = next(iter(queues))
    chosen = _chosen(options.quick, only)
    runnable, left = _runnable(chosen, queues[name], options.quick)
    seeds = options.seeds or (QUICK_SEEDS if options.quick else SEEDS)
    scenarios, labels = [], []
    for case in runnable:
        for one, queue in queues.items():
            scenarios.append(Scenario.from_dict(case.experiment(_marking(queue, case), options.quick), case.key))
            labels.append({"scenario": case.key, "queue": one})
    title = f"{name} through the scenarios of RFC 7928"
    results = options.run(scenarios, labels, seeds=seeds, title=title)
    cells = _measure(results, {case.key: case for case in runnable})
    if options.quick and not only:
        left = [f"--quick: {len(cases(False)) - len(chosen)} of {len(cases(False))} scenarios, two thirds of the time, {SEEDS - seeds} of {SEEDS} seeds.", *left]  # fmt: skip
    document = _document(title, name, runnable, list(queues), cells, left, options, seeds)
    return Outcome("characterize", document, left_out=" ".join(left))


def _queue(plain: Entry) -> Entry:
    """A discipline with its own settings, and with the common buffer if it has a limit."""
    _tried(plain)
    if "limit" in plain:
        return plain
    sized = {**plain, "limit": BUFFER}
    try:
        _tried(sized)
    except InputError:
        return plain
    return sized


def _tried(queue: Entry) -> None:
    """An error in the discipline's parameters is reported before anything runs."""
    probe = cases()[0].experiment(queue, False)
    Scenario.from_dict(probe, "characterize")


def _marking(queue: Entry, case: Case) -> Entry:
    """The discipline with ECN in a scenario with ECN, where it has it; without elsewhere, so that all drop alike."""
    wanted = {**queue, "ecn": case.ecn}
    try:
        _tried(wanted)
    except InputError:
        return queue
    return wanted


def _chosen(quick: bool, only: Sequence[str]) -> list[Case]:
    known = cases(quick)
    for key in only:
        if key not in [case.key for case in known]:
            raise InputError(f"--only must be one of {', '.join(case.key for case in known)}, got `{key}`")
    if only:
        return [case for case in known if case.key in only]
    return [case for case in known if case.key in QUICK] if quick else known


def _runnable(chosen: Sequence[Case], queue: Entry, quick: bool) -> tuple[list[Case], list[str]]:
    """The scenarios that this build can run, and what is left out."""
    out, left = [], []
    for case in chosen:
        try:
            Scenario.from_dict(case.experiment(queue, quick), case.key)
        except InputError as error:
            if "schedule" not in str(error):
                raise
            left.append(f"{case.section}, {case.title}: this build knows no link whose rate changes while it runs.")
        else:
            out.append(case)
    return out, left


def _measure(results: Results, by_key: Mapping[str, Case]) -> Cells:
    cells: Cells = {}
    for done in results.runs:
        labels = results.points[done.point].labels
        cell = cells.setdefault((labels["scenario"], labels["queue"]), Cell())
        read(cell, by_key[labels["scenario"]], Run(results, done))
    return cells


# -- the document ---------------------------------------------------------------------------------------------------------


def _document(
    title: str, name: str, runnable: Sequence[Case], names: Sequence[str], cells: Cells, left: Sequence[str],
    options: Options, seeds: int,
) -> Document:  # fmt: skip
    document = Document(title)
    document.add(
        Text(
            f"One bottleneck of 10 Mbit/s, a round trip of 100 ms without queues, a buffer of {BUFFER[:-1]} packets (two bandwidth-delay products) for every "
            f"discipline, {seeds} seed{'s' if seeds > 1 else ''}. Means over the seeds with 95 % Student-t intervals; all disciplines have the same random draws. Delay is the "
            "backlog of the bottleneck over its rate; ping is the round trip of a flow that sends little."
        ),
        Heading("In words"),
        Bullets(_words(name, runnable, names, cells)),
        Heading("The report card"),
        _card(name, runnable, names, cells),
    )
    drawn: list[Block] = list(figures.ellipses(runnable, names, cells, options.out / "figures"))
    shares = figures.round_trips(runnable, names, cells, options.out / "figures")
    document.add(Heading("Delay and goodput"), *drawn, *([shares] if shares else []))
    document.add(Heading("All disciplines"), *_matrices(runnable, names, cells))
    document.add(Heading("To be careful about"), Bullets(_care(runnable, left, seeds), care=True))
    return document


def _cell(value: Mean | None, digits: int = 1) -> str:
    return "–" if value is None else value.format(digits)


def _rank(name: str, names: Sequence[str], values: Mapping[str, Sequence[float]], least: bool) -> str:
    """The place among the disciplines, and from how many of them it shows no significant difference.

    >>> _rank("a", ["a", "b"], {"a": [1.0, 1.1], "b": [2.0, 2.1]}, True)
    '1 of 2'
    >>> _rank("a", ["a", "b"], {"a": [1.0, 3.0], "b": [2.0, 2.1]}, True)
    '1–2 of 2'
    """
    better = same = 0
    for other in names:
        if other == name:
            continue
        gap = stats.paired_difference(values[name], values[other])
        if math.isnan(gap.half):
            better += (gap.mean > 0) == least and gap.mean != 0
        elif gap.low <= 0 <= gap.high:
            same += 1
        else:
            better += (gap.mean > 0) == least
    first = better + 1
    return f"{first} of {len(names)}" if same == 0 else f"{first}–{first + same} of {len(names)}"


def _card(name: str, runnable: Sequence[Case], names: Sequence[str], cells: Cells) -> Table:
    rows = []
    for case in runnable:
        cell = cells[case.key, name]
        delay = {one: cells[case.key, one].delay_ms for one in names}
        rate = {one: cells[case.key, one].goodput_mbit for one in names}
        rows.append(
            [
                case.section,
                case.title,
                _cell(cell.mean("goodput_mbit"), 2),
                _rank(name, names, rate, least=False),
                _cell(cell.mean("delay_ms")),
                _rank(name, names, delay, least=True),
                _cell(cell.mean("delay_p95_ms")),
                _cell(cell.mean("ping_p95_ms")),
                _cell(cell.mean("jitter_ms")),
                _cell(cell.mean("lost_percent"), 2),
                _cell(cell.mean("marked_percent"), 2) if case.ecn else "–",
                _cell(cell.mean("jain"), 3),
                _cell(cell.mean("completion_s"), 2),
            ]
        )
    columns = [
        "RFC 7928", "scenario", "goodput (Mbit/s)", "place by goodput", "delay (ms)", "place by delay", "delay p95 (ms)", "ping p95 (ms)", "ping step (ms)", "lost (%)", "marked (%)", "Jain's index", "pages (s)",
    ]  # fmt: skip
    note = (
        "place: among all disciplines, 1 is the most goodput or the least delay; `2–4` if the seeds show no significant difference. Jain's index over the lasting TCP flows; "
        "ping step: mean difference of one ping to the next; pages: mean time of a transfer of 100 kB."
    )
    return Table("card", f"{name} in each scenario", columns, rows, note, left=2)


def _matrices(runnable: Sequence[Case], names: Sequence[str], cells: Cells) -> list[Table]:
    wanted = (
        ("delay", "Mean queueing delay (ms)", "delay_ms", 1),
        ("delay-p95", "95th percentile of queueing delay (ms)", "delay_p95_ms", 1),
        ("ping-p95", "95th percentile of ping round-trip times (ms)", "ping_p95_ms", 1),
        ("goodput", "Goodput of all flows (Mbit/s)", "goodput_mbit", 2),
        ("lost", "Packets lost at the bottleneck (%)", "lost_percent", 2),
        ("jain", "Jain's index over lasting TCP flows", "jain", 3),
        ("pages", "Mean time of a transfer of 100 kB (s)", "completion_s", 2),
    )
    out = []
    for key, title, measure, digits in wanted:
        rows = [
            [case.section, case.title, *(_cell(cells[case.key, one].mean(measure), digits) for one in names)]
            for case in runnable
            if any(cells[case.key, one].mean(measure) is not None for one in names)
        ]
        if rows:
            out.append(Table(key, title, ["RFC 7928", "scenario", *names], rows, left=2))
    return out


def _words(name: str, runnable: Sequence[Case], names: Sequence[str], cells: Cells) -> list[str]:
    out = []
    base = "drop_tail"
    if name != base and base in names:
        less, cost = [], []
        for case in runnable:
            mine, tail = cells[case.key, name], cells[case.key, base]
            less.append((_ratio(mine.delay_ms, tail.delay_ms), case))
            cost.append((_ratio(mine.goodput_mbit, tail.goodput_mbit), case))
        low, high = min(less, key=lambda one: one[0]), max(less, key=lambda one: one[0])
        out.append(f"Delay is {100 * low[0]:.0f} % of drop tail's at the least ({low[1].title}) and {100 * high[0]:.0f} % at the most ({high[1].title}).")  # fmt: skip
        low, high = min(cost, key=lambda one: one[0]), max(cost, key=lambda one: one[0])
        out.append(f"Goodput is {100 * low[0]:.0f} % of drop tail's at the least ({low[1].title}) and {100 * high[0]:.0f} % at the most ({high[1].title}).")  # fmt: skip
    first = [case for case in runnable if _rank(name, names, {n: cells[case.key, n].delay_ms for n in names}, True).startswith("1")]  # fmt: skip
    out.append(f"None of the {len(names)} has less delay, as far as the seeds tell, in {len(first)} of {len(runnable)} scenarios{_titles(first)}.")  # fmt: skip
    worst = max(runnable, key=lambda case: stats.mean(cells[case.key, name].delay_p95_ms).mean)
    p95 = stats.mean(cells[worst.key, name].delay_p95_ms)
    out.append(f"It is slowest in `{worst.title}`: 5 % of the time a packet waits for more than {p95.format(1)} ms.")
    return out


def _titles(chosen: Sequence[Case]) -> str:
    return f" ({', '.join(case.title for case in chosen)})" if 0 < len(chosen) <= 4 else ""


def _ratio(a: Sequence[float], b: Sequence[float]) -> float:
    return stats.mean(a).mean / max(stats.mean(b).mean, 1e-9)


def _care(runnable: Sequence[Case], left: Sequence[str], seeds: int) -> list[str]:
    notes = [*NOT_RUN, *(f"Not run: {one}" for one in left)]
    notes.append("Remarks: " + "; ".join(f"{case.section} {case.remark}" for case in runnable if case.remark and case.group != "rtt") + ".")  # fmt: skip
    if seeds < 5:
        notes.insert(
            0, f"Only {seeds} seed{'s' if seeds > 1 else ''}: intervals are wide or missing; ten is a good number."
        )
    return notes
