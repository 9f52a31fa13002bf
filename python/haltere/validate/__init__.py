"""`haltere validate DIR`: compares the simulator with results measured on Linux.

    result files ──load──> Case ──translate──> experiment ──ours──> measures ──compare──> Row ──report──> table, page
                             └──────────────measures (of Linux)──────────────────^

`load` reads the kernel harness's result files, `translate` makes an experiment of a scenario (with the harness's
artefacts), `ours` runs it and takes the same `measures` (and, for single flows, `dynamics`), `compare` sets both side by
side, `report` shows them.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from ..errors import InputError
from ..runs.progress import Bar
from ..worlds import DEFAULT, World
from ..worlds import world as world_of
from . import beside, blind, causes, compact, ours, report
from .compare import Row, compare_case, read_csv, write_csv
from .load import BadInput, Case, read_directory
from .measures import Measures
from .report import Outcome
from .tc_words import NotTranslated
from .translate import differences

__all__ = ["Case", "Outcome", "Row", "main", "read_directory", "validate"]

SEEDS = 10
"""Seeds of a case if the caller does not say how many."""
FINDINGS = "findings.md"
"""In the directory of results: a part of the page, written by hand."""
ROWS = "rows.csv"
"""Every row of the page; it is beside the results."""


def validate(
    cases: Iterable[Case], seeds: int | None = None, jobs: int | None = None, quiet: bool = True,
    world: str | World = DEFAULT,
) -> Outcome:  # fmt: skip
    """Runs every case, by default with ten seeds, and compares."""
    todo = [(case, _seeds(case, seeds)) for case in cases]
    outcome = Outcome()
    with (
        ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool,
        Bar(sum(len(numbers) for _, numbers in todo), "validate", quiet=quiet) as bar,
    ):
        futures = [(case, [pool.submit(ours.run, case, seed, world) for seed in numbers]) for case, numbers in todo]
        done = 0
        try:
            for case, runs in futures:
                _take(outcome, case, runs)
                done += len(runs)
                bar.update(done)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return outcome


def _seeds(case: Case, seeds: int | None) -> list[int]:
    """The seeds of a case: 1 to `seeds`, or those of its repetitions and the next ones up to ten.

    In each the flows start when they did in one of the repetitions. Ten, so that our own interval is narrow.
    """
    if case.error or not case.repetitions:
        return []
    if seeds is not None:
        return list(range(1, seeds + 1))
    known = list(dict.fromkeys(repetition.seed for repetition in case.repetitions))
    further = (seed for seed in range(1, len(known) + SEEDS + 1) if seed not in known)
    return known + list(islice(further, max(0, SEEDS - len(known))))


def _take(outcome: Outcome, case: Case, runs: list[Future[Measures]]) -> None:
    if not runs:
        outcome.skipped.append((case.name, case.error or "no results"))
        return
    try:
        ours_each = [run.result() for run in runs]
    except NotTranslated as reason:
        outcome.skipped.append((case.name, str(reason)))
        return
    outcome.differing += [(case.name, reason) for reason in differences(case.scenario)]
    outcome.rows += compare_case(
        case.group, case.name, [repetition.measures for repetition in case.repetitions], ours_each
    )


def main(args: argparse.Namespace) -> int:
    """The command. Needs `dir`; takes `json`, `seeds`, `jobs`, `only`, `out`, `page`, `rows`, `compact` and `where`, a world."""
    directory = Path(args.dir)
    if getattr(args, "compact", None):
        written = compact.compact_directory(directory, Path(args.compact))
        print(f"{written} bytes written to {args.compact}")
        return 0
    rows = getattr(args, "rows", None)
    outcome = Outcome(_rows_of(Path(rows))) if rows else _run(directory, args)
    _write_files(outcome, directory, args)
    print(report.as_json(outcome) if getattr(args, "json", False) else "\n".join(report.text(outcome)))
    sys.stdout.flush()
    return 0


def _run(directory: Path, args: argparse.Namespace) -> Outcome:
    try:
        cases = read_directory(directory)
    except BadInput as error:
        raise InputError(str(error)) from None
    if getattr(args, "only", None):
        cases = [case for case in cases if re.search(args.only, case.name)]
        if not cases:
            raise InputError(f"validate: --only must match a scenario in {directory}, got `{args.only}`")
    return validate(
        cases,
        getattr(args, "seeds", None),
        getattr(args, "jobs", None),
        quiet=False,
        world=getattr(args, "where", DEFAULT),
    )


def _rows_of(path: Path) -> list[Row]:
    try:
        return read_csv(path)
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise InputError(f"validate: --rows must be a file that --page wrote, got {path}: {error}") from None


def _write_files(outcome: Outcome, directory: Path, args: argparse.Namespace) -> None:
    if getattr(args, "out", None):
        _write_out(outcome, directory, Path(args.out))
    if getattr(args, "beside", False):
        print(f"haltere: {beside.write(outcome.rows, directory, world_of(args.where).name)}", file=sys.stderr)
    if getattr(args, "page", None):
        page = Path(args.page)
        write_csv(outcome.rows, directory / ROWS)
        if (directory / blind.TRAINING).is_file() and not getattr(args, "rows", None):
            blind.write_called(blind.confusion(directory), directory / blind.CALLED)
        drawn = report.figure(outcome, page.parent / "images" / "validation.png")
        rows = os.path.relpath(directory / ROWS, page.parent)
        _write_page(outcome, directory, page, "images/validation.png" if drawn else None, rows)


def _write_page(outcome: Outcome, directory: Path, page: Path, figure: str | None, rows: str) -> None:
    findings = directory / FINDINGS
    parts = [findings.read_text().strip() if findings.is_file() else "", blind.section(directory)]
    text = report.page(
        outcome,
        directory.as_posix().rstrip("/"),
        figure,
        "\n\n".join(part for part in parts if part),
        rows,
        causes.load(directory),
        beside.load(directory),
    )
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text.rstrip() + "\n")
    outside = report.outside_page(outcome, causes.load(directory), beside.load(directory))
    (page.parent / rows).with_name("outside.md").write_text(outside)


def _write_out(outcome: Outcome, directory: Path, out: Path) -> None:
    """`rows.parquet`, `rows.csv`, `validation.json`, `validation.md` and the figure."""
    import pyarrow
    from pyarrow import parquet

    out.mkdir(parents=True, exist_ok=True)
    if outcome.rows:
        parquet.write_table(pyarrow.Table.from_pylist([row.as_dict() for row in outcome.rows]), out / "rows.parquet")
    write_csv(outcome.rows, out / ROWS)
    (out / "validation.json").write_text(report.as_json(outcome) + "\n")
    drawn = report.figure(outcome, out / "validation.png")
    _write_page(outcome, directory, out / "validation.md", "validation.png" if drawn else None, ROWS)
