"""`haltere validate DIR`: compares the simulator with results measured on Linux.

    result files ──load──> Case ──translate──> experiment ──ours──> measures ──compare──> Row ──report──> table, page
                             └──────────────measures (of Linux)──────────────────^

`load` reads the kernel harness's result files, `translate` makes an experiment of a scenario (with the harness's
artefacts), `ours` runs it and takes the same `measures` (and, for single flows, `dynamics`), `compare` compares both,
`report` shows the result.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from ..errors import InputError
from ..runs.progress import Bar
from ..worlds import DEFAULT, World
from . import ours, report
from .compare import Row, compare_case, write_csv
from .load import BadInput, Case, read_directory
from .measures import Measures
from .report import Outcome
from .tc_words import NotTranslated
from .translate import differences

__all__ = ["ROWS", "Case", "Outcome", "Row", "main", "read_directory", "validate"]

SEEDS = 10
"""Seeds of a case if the caller does not say how many."""
ROWS = "rows.csv"
"""The file of every row."""


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
    try:
        cases = read_directory(args.dir)
    except BadInput as error:
        raise InputError(str(error)) from None
    cases = [case for case in cases if re.search(args.only or "", case.name)]
    if not cases:
        raise InputError(f"validate: --only must match a scenario in {args.dir}, got `{args.only}`")
    outcome = validate(cases, args.seeds, args.jobs, quiet=False, world=args.where)
    if args.out:
        _write(outcome, args.out)
    print(report.as_json(outcome) if args.json else "\n".join(report.text(outcome)), flush=True)
    return 0


def _write(outcome: Outcome, out: Path) -> None:
    """`rows.parquet`, `rows.csv`, `validation.json`, and the report with its figure."""
    import pyarrow
    from pyarrow import parquet

    out.mkdir(parents=True, exist_ok=True)
    if outcome.rows:
        parquet.write_table(pyarrow.Table.from_pylist([row.as_dict() for row in outcome.rows]), out / "rows.parquet")
    write_csv(outcome.rows, out / ROWS)
    (out / "validation.json").write_text(report.as_json(outcome) + "\n")
    figure = out / "validation.png"
    report.document(outcome, figure if report.figure(outcome, figure) else None).write(out)
