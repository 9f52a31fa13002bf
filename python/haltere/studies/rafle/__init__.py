"""The study `rafle`: short flows first, without state: RAFLE, RuN2C, the ideal classifier and others under FTP uploads.

Source: S. S. Mussi, M. R. N. Ribeiro, "RAFLE: uma proposta para diferenciacao de fluxos sem manutencao de estados em roteadores",
SBRC 2013. `papers/rafle/README.md` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...api import Scenario
from ...report.document import Bullets, Heading
from ..base import Options, Outcome, data, expected, findings_table, opened, over_rows, readings_table
from . import beyond, figures, tables
from .findings import findings
from .router import (  # fmt: skip
    CHANGES,
    DROP_TAIL,
    FIT_LENGTHS,
    FIT_MB,
    LABELS,
    LENGTHS,
    PAPERS,
    PRIMARY,
    READINGS,
    SERVICES,
    STEADY_LENGTHS,
    Reading,
    of_length,
    queue,
    values,
)
from .study import Study
from .tasks import Cell, Tasks, equal_share, verdicts

__all__ = ["equal_share", "reproduce"]

ID = "rafle"
QUEUE = "topology.chain.links[1].queue"
MEMORIES = (10, 30, 40, 50, 60, 100)
#: Seeds of other readings, of changes and scans, and of what --quick runs.
OTHER_SEEDS, SCAN_SEEDS, QUICK_SEEDS = 5, 4, 5
QUICK_CHANGES, QUICK_LENGTHS = ("starts within 10 ms", "starts within 1 s"), (700,)


@dataclass(frozen=True)
class Extent:
    """What of the study is run."""

    names: list[str]
    """Queues of the primary reading; the others have the paper's seven."""
    readings: list[str]
    changes: list[str]
    lengths: tuple[int, ...]
    seeds: int | None
    others: int
    left_out: str = ""


def _extent(options: Options) -> Extent:
    if options.quick:
        seeds = QUICK_SEEDS if options.seeds is None else options.seeds
        left = f"LAS and FQ-CoDel; the reading fit; most changes and lengths of queues; all but {seeds} seeds"
        return Extent(_papers(), [PRIMARY, "a"], list(QUICK_CHANGES), QUICK_LENGTHS, seeds, seeds, left)
    others = min(options.seeds or OTHER_SEEDS, OTHER_SEEDS)
    if options.linux:
        return Extent(_papers(), [PRIMARY], [], (), options.seeds, others)
    return Extent(list(LABELS), list(READINGS), list(CHANGES), LENGTHS, options.seeds, others)


def _papers() -> list[str]:
    return [name for name in LABELS if name == DROP_TAIL or name.split("/")[0] in PAPERS]


def _run(file: str, queues: Mapping[str, dict[str, Any]], reading: Reading, options: Options, seeds: int | None, part: str) -> dict[str, Cell]:  # fmt: skip
    """Runs an experiment file with each of these queues; the cells by the queues' names."""
    scenario = Scenario.load(data(ID) / file).with_values({"sweep": {QUEUE: list(queues.values())}, **values(reading)})
    results = options.run([scenario], seeds=seeds, part=part)
    cells: dict[str, Cell] = {name: Cell() for name in queues}
    names = list(queues)
    for run in results.runs:
        cell = cells[names[run.point]]
        cell.tasks.append(Tasks.of(results, run))
        cell.verdicts.append(verdicts(results, run))
    return cells


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    extent = _extent(options)
    study = Study(options, extent.names, expected(ID), left_out=extent.left_out)
    for name in extent.readings:
        reading, primary = READINGS[name], name == PRIMARY
        queues = {one: queue(one, reading) for one in (extent.names if primary else _papers())}
        seeds = extent.seeds if primary else extent.others
        for file, cells in (("simultaneous", study.first), ("steady", study.second)):
            done = _run(f"{file}.toml", queues, reading, options, seeds, f"{file}-{name}")
            cells.update({(name, one): cell for one, cell in done.items()})
    if not options.linux:
        _memories(study, extent)
    for place, change in enumerate(extent.changes, 1):
        reading = CHANGES[change]
        queues = {one: queue(one, reading) for one in _papers()}
        study.changes[change] = _run(
            "simultaneous.toml", queues, reading, options, min(extent.others, SCAN_SEEDS), f"change-{place}"
        )
    _lengths(study, extent)
    return _outcome(study)


def _lengths(study: Study, extent: Extent) -> None:
    """The scans of what the paper does not state: the length of its queues, alone and together with the file base."""
    seeds, whole = min(extent.others, SCAN_SEEDS), len(extent.lengths) > 1

    def run(file: str, packets: int, names: Sequence[str], megabytes: float | None = None) -> dict[str, Cell]:
        reading, part = of_length(packets, megabytes), f"{file}-{packets}" + (f"-{megabytes}" if megabytes else "")
        return _run(f"{file}.toml", {one: queue(one, reading) for one in names}, reading, study.options, seeds, part)

    study.lengths = {packets: run("simultaneous", packets, _papers()) for packets in extent.lengths}
    if whole:
        study.steady = {packets: run("steady", packets, _papers()) for packets in STEADY_LENGTHS}
        rows = list(study.given["table2"]["mean"])
        study.fits = {(n, mb): run("simultaneous", n, rows, mb) for n in FIT_LENGTHS for mb in FIT_MB}


def _memories(study: Study, extent: Extent) -> None:
    """RAFLE with other memories: under priority, where the paper's table belongs, and under round robin."""
    reading, chosen = READINGS[PRIMARY], study.given["n"]
    for service in ("priority",) if study.options.quick else tuple(SERVICES):
        name = f"rafle/{service}"
        queues = {str(n): queue(name, reading, n) for n in MEMORIES if n != chosen}
        run = _run("simultaneous.toml", queues, reading, study.options, extent.others, f"memory-{service}")
        have = study.first[PRIMARY, name]
        same = Cell(have.tasks[: extent.others], have.verdicts[: extent.others])
        study.memories[service] = dict(sorted({chosen: same, **{int(n): cell for n, cell in run.items()}}.items()))


def _outcome(study: Study) -> Outcome:
    """The document: findings first, then figures and tables of the primary reading, then what the other readings would change."""
    found = over_rows(findings(study))
    first, second = (len(cells[PRIMARY, DROP_TAIL].tasks) for cells in (study.first, study.second))
    about = (
        f"Experiment 1: {first} seeds; experiment 2: {second}; means with 95 % intervals. Paper: means of three runs on Click and real FTP. "
        f"Primary reading: {READINGS[PRIMARY].meaning}; starts within 1 ms; sizes at the middles of their buckets."
    )
    document = opened("rafle: short flows first, without state", about, study.left_out)
    others = [len(cell.tasks) for (reading, _), cell in study.first.items() if reading != PRIMARY]
    document.add(findings_table(found, ID, first, min(others, default=0)))
    document.add(Heading("Figures"), *figures.of_all(study))
    document.add(Heading("Tables"), *tables.of_all(study))
    if len(study.readings) > 1 or study.changes:
        meanings = [f"({one}) {READINGS[one].meaning}" for one in study.readings]
        document.add(Heading("What if"), Bullets(meanings), readings_table(found))
        document.add(*tables.what_if(study))
        if study.changes:
            document.add(figures.changes(study), figures.lengths(study))
        if study.fits:
            document.add(Heading("Beyond the paper"), beyond.table(study.options, 2 * OTHER_SEEDS))
    return Outcome(ID, document, found, study.left_out)
