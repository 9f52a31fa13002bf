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
    """The command: `args` as `commands/validate.py` describes them."""
    directory = Path(args.dir)
    if args.compact:
        print(f"{compact.compact_directory(directory, args.compact)} bytes written to {args.compact}")
        return 0
    outcome = Outcome(_rows_of(args.rows)) if args.rows else _run(directory, args)
    _write_files(outcome, directory, args)
    print(report.as_json(outcome) if args.json else "\n".join(report.text(outcome)), flush=True)
    return 0


def _run(directory: Path, args: argparse.Namespace) -> Outcome:
    try:
        cases = read_directory(directory)
    except BadInput as error:
        raise InputError(str(error)) from None
    cases = [case for case in cases if re.search(args.only or "", case.name)]
    if not cases:
        raise InputError(f"validate: --only must match a scenario in {directory}, got `{args.only}`")
    return validate(cases, args.seeds, args.jobs, quiet=False, world=args.where)


def _rows_of(path: Path) -> list[Row]:
    try:
        return read_csv(path)
    except (OSError, TypeError, KeyError, ValueError) as error:
        raise InputError(f"validate: --rows must be a file that --page wrote, got {path}: {error}") from None


def _write_files(outcome: Outcome, directory: Path, args: argparse.Namespace) -> None:
    if args.out:
        _write_out(outcome, directory, args.out)
    if args.beside:
        print(f"haltere: {beside.write(outcome.rows, directory, world_of(args.where).name)}", file=sys.stderr)
    if args.page:
        write_csv(outcome.rows, directory / ROWS)
        if (directory / blind.TRAINING).is_file() and not args.rows:
            blind.write_called(blind.confusion(directory), directory / blind.CALLED)
        rows = os.path.relpath(directory / ROWS, args.page.parent)
        _write_page(outcome, directory, args.page, "images/validation.png", rows)


def _write_page(outcome: Outcome, directory: Path, page: Path, figure: str, rows: str) -> None:
    findings = directory / FINDINGS
    parts = [findings.read_text().strip() if findings.is_file() else "", blind.section(directory)]
    drawn = report.figure(outcome, page.parent / figure)
    why, others = causes.load(directory), beside.load(directory)
    source, more = directory.as_posix().rstrip("/"), "\n\n".join(filter(None, parts))
    text = report.page(outcome, source, figure if drawn else None, more, rows, why, others)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text.rstrip() + "\n")
    (page.parent / rows).with_name("outside.md").write_text(report.outside_page(outcome, why, others))


def _write_out(outcome: Outcome, directory: Path, out: Path) -> None:
    """`rows.parquet`, `rows.csv`, `validation.json`, `validation.md` and the figure."""
    import pyarrow
    from pyarrow import parquet

    out.mkdir(parents=True, exist_ok=True)
    if outcome.rows:
        parquet.write_table(pyarrow.Table.from_pylist([row.as_dict() for row in outcome.rows]), out / "rows.parquet")
    write_csv(outcome.rows, out / ROWS)
    (out / "validation.json").write_text(report.as_json(outcome) + "\n")
    _write_page(outcome, directory, out / "validation.md", "validation.png", ROWS)
