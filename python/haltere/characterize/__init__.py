"""`haltere characterize QUEUE`: a discipline through the scenarios of RFC 7928, beside drop tail, CoDel, PIE and FQ-CoDel.

Every discipline gets the same random draws in the same scenario and seed, so differences are taken seed by seed. The document ends with the
report card: what the discipline did to goodput and delay in each scenario, and how it compares with the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis import stats
from ..api import Scenario
from ..errors import InputError
from ..report.document import Block, Bullets, Document, Heading, Table, Text
from ..studies import Options, Outcome
from . import figures
from .files import Case
from .measure import Cell, read
from .named import Entry, Finished, cell, counted, few_seeds, finished, lineup
from .scenarios import BUFFER, NOT_RUN, QUICK, cases, experiment

#: The disciplines for comparison: the most common one, and those of RFC 8289, 8033 and 8290.
PEERS = ("drop_tail", "codel", "pie", "fq_codel")
SEEDS, QUICK_SEEDS = 10, 2

Cells = dict[tuple[str, str], Cell]


def characterize(
    kind: str, settings: Mapping[str, Any], options: Options, only: Sequence[str] = (), beside: Sequence[str] = ()
) -> Outcome:
    """Runs the scenarios (`only`: these) with the discipline `kind`, its parameters as in `settings`, and those beside it (default: `PEERS`)."""
    queues = {one: _queue(queue) for one, queue in lineup(kind, settings, beside, PEERS).items()}
    title = f"{next(iter(queues))} through the scenarios of RFC 7928"
    done = finished(
        title, "queue", cases(options.quick), queues, lambda case, queue: experiment(case, _with(queue, ecn=case.ecn), options.quick),
        options, only, QUICK, (QUICK_SEEDS, SEEDS),
    )  # fmt: skip
    cells: Cells = {}
    for case, one, run in done.runs:
        read(cells.setdefault((case.key, one), Cell()), case, run)
    left = ""
    if options.quick and not only:
        many = len(cases())
        left = f"--quick: {many - len(done.cases)} of {many} scenarios, two thirds of the time, {SEEDS - done.seeds} of {SEEDS} seeds."
    return Outcome("characterize", _document(title, done, list(queues), cells, left, options), left_out=left)


def _queue(plain: Entry) -> Entry:
    """A discipline with its own settings, and with the common buffer if it has a limit."""
    _try(plain)
    return plain if "limit" in plain else _with(plain, limit=BUFFER)


def _with(queue: Entry, **more: Any) -> Entry:
    """The discipline with these parameters, if it has them: with ECN, those that can mark do."""
    try:
        _try({**queue, **more})
    except InputError:
        return queue
    return {**queue, **more}


def _try(queue: Entry) -> None:
    """An error in the discipline's parameters is reported before anything runs."""
    Scenario.from_dict(experiment(cases()[0], queue, False), "characterize")


# -- the document ---------------------------------------------------------------------------------------------------------


def _document(
    title: str, done: Finished, names: Sequence[str], cells: Cells, left: str, options: Options
) -> Document:  # fmt: skip
    name, runnable, folder = names[0], done.cases, options.out / "figures"
    document = Document(title)
    document.add(
        Text(
            f"One bottleneck of 10 Mbit/s, a round trip of 100 ms without queues, a buffer of {BUFFER[:-1]} packets (two bandwidth-delay products) for every "
            f"discipline, {counted(done.seeds)}. Means over the seeds with 95 % Student-t intervals; all disciplines have the same random draws. Delay is the "
            "backlog of the bottleneck over its rate; ping is the round trip of a flow that sends little."
        ),
        Heading("In words"),
        Bullets(_words(name, runnable, names, cells)),
        Heading("The report card"),
        _card(name, runnable, names, cells),
    )
    drawn: list[Block] = list(figures.ellipses(runnable, names, cells, folder))
    shares = figures.round_trips(runnable, names, cells, folder)
    document.add(Heading("Delay and goodput"), *drawn, *([shares] if shares else []))
    document.add(Heading("All disciplines"), *_matrices(runnable, names, cells))
    document.add(Heading("To be careful about"), Bullets(_care(runnable, left, done.seeds), care=True))
    return document


def _rank(name: str, names: Sequence[str], values: Mapping[str, Sequence[float]], least: bool) -> str:
    """The place among the disciplines, and from how many of them it shows no significant difference.

    >>> _rank("a", ["a", "b"], {"a": [1.0, 1.1], "b": [2.0, 2.1]}, True)
    '1 of 2'
    >>> _rank("a", ["a", "b"], {"a": [1.0, 3.0], "b": [2.0, 2.1]}, True)
    '1–2 of 2'
    """
    better = same = 0
    for other in names:
        gap = stats.paired_difference(values[name], values[other])
        if other != name and gap.low <= 0 <= gap.high:
            same += 1
        elif gap.mean:
            better += (gap.mean > 0) == least
    first = better + 1
    return f"{first} of {len(names)}" if same == 0 else f"{first}–{first + same} of {len(names)}"


#: The columns of the card: each a measure and its decimals, or a place by a measure of which the least or the most is first.
_CARD: dict[str, tuple[str, int | str]] = {
    "goodput (Mbit/s)": ("goodput_mbit", 2), "place by goodput": ("goodput_mbit", "most"),
    "delay (ms)": ("delay_ms", 1), "place by delay": ("delay_ms", "least"), "delay p95 (ms)": ("delay_p95_ms", 1),
    "ping p95 (ms)": ("ping_p95_ms", 1), "ping step (ms)": ("jitter_ms", 1), "lost (%)": ("lost_percent", 2),
    "marked (%)": ("marked_percent", 2), "Jain's index": ("jain", 3), "pages (s)": ("completion_s", 2),
}  # fmt: skip
#: The tables of all disciplines: the measure, its decimals, and the title.
_MATRICES = {
    "delay": ("delay_ms", 1, "Mean queueing delay (ms)"),
    "delay-p95": ("delay_p95_ms", 1, "95th percentile of queueing delay (ms)"),
    "ping-p95": ("ping_p95_ms", 1, "95th percentile of ping round-trip times (ms)"),
    "goodput": ("goodput_mbit", 2, "Goodput of all flows (Mbit/s)"),
    "lost": ("lost_percent", 2, "Packets lost at the bottleneck (%)"),
    "jain": ("jain", 3, "Jain's index over lasting TCP flows"),
    "pages": ("completion_s", 2, "Mean time of a transfer of 100 kB (s)"),
}


def _card(name: str, runnable: Sequence[Case], names: Sequence[str], cells: Cells) -> Table:
    def shown(case: Case, measure: str, how: int | str) -> str:
        if isinstance(how, int):
            # Only a scenario with ECN has marks.
            return cell(cells[case.key, name].mean(measure) if case.ecn or measure != "marked_percent" else None, how)
        return _rank(name, names, {one: cells[case.key, one].values[measure] for one in names}, how == "least")

    rows = [[case.section, case.title, *(shown(case, *one) for one in _CARD.values())] for case in runnable]
    note = (
        "place: among all disciplines, 1 is the most goodput or the least delay; `2–4` if the seeds show no significant difference. Jain's index over the lasting TCP flows; "
        "ping step: mean difference of one ping to the next; pages: mean time of a transfer of 100 kB."
    )
    return Table("card", f"{name} in each scenario", ["RFC 7928", "scenario", *_CARD], rows, note, left=2)


def _matrices(runnable: Sequence[Case], names: Sequence[str], cells: Cells) -> list[Table]:
    out = []
    for key, (measure, digits, title) in _MATRICES.items():
        means = [(case, [cells[case.key, one].mean(measure) for one in names]) for case in runnable]
        rows = [[case.section, case.title, *(cell(one, digits) for one in row)] for case, row in means if any(row)]
        if rows:
            out.append(Table(key, title, ["RFC 7928", "scenario", *names], rows, left=2))
    return out


def _words(name: str, runnable: Sequence[Case], names: Sequence[str], cells: Cells) -> list[str]:
    def mean(case: Case, one: str, measure: str) -> float:
        return stats.mean(cells[case.key, one].values[measure]).mean

    def beside_tail(what: str, measure: str) -> str:
        def part(case: Case) -> float:
            return 100 * mean(case, name, measure) / max(mean(case, "drop_tail", measure), 1e-9)

        low, high = min(runnable, key=part), max(runnable, key=part)
        return f"{what} is {part(low):.0f} % of drop tail's at the least ({low.title}) and {part(high):.0f} % at the most ({high.title})."

    def is_first(case: Case) -> bool:
        return _rank(name, names, {one: cells[case.key, one].values["delay_ms"] for one in names}, True).startswith("1")

    out = []
    if name != "drop_tail" and "drop_tail" in names:
        out += [beside_tail("Delay", "delay_ms"), beside_tail("Goodput", "goodput_mbit")]
    first = [case.title for case in runnable if is_first(case)]
    listed = f" ({', '.join(first)})" if 0 < len(first) <= 4 else ""
    out.append(
        f"None of the {len(names)} has less delay, as far as the seeds tell, in {len(first)} of {len(runnable)} scenarios{listed}."
    )
    worst = max(runnable, key=lambda case: mean(case, name, "delay_p95_ms"))
    p95 = stats.mean(cells[worst.key, name].values["delay_p95_ms"])
    return [*out, f"It is slowest in `{worst.title}`: 5 % of the time a packet waits for more than {p95.format(1)} ms."]


def _care(runnable: Sequence[Case], left: str, seeds: int) -> list[str]:
    remarks = "; ".join(f"{case.section} {case.remark}" for case in runnable if case.remark and case.group != "rtt")
    not_run = [*NOT_RUN, *([f"Not run: {left}"] if left else [])]
    return [*few_seeds(seeds, 5, "; ten is a good number"), *not_run, f"Remarks: {remarks}."]
