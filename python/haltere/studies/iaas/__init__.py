"""The study `iaas`: Cubic, Reno, BBR and Vegas share one gigabit, 4, 8 and 16 pairs, without ECN and with ECN and RED.

Source: G. Xavier, A. Schuelter, G. Koslovski, "Analise do Controle de Congestionamento TCP em Data Centers de Nuvens IaaS", UDESC.
`papers/iaas/README.md` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

from pathlib import Path

from ...report.document import Block, Figure, Heading, Text
from ...runs.results import Results
from ..base import Options, Outcome, findings_table, opened, over_rows, readings_table
from . import cells as runs
from . import figures, tables
from .cells import CASES, ID, LABELS, OURS, PAPERS, READ_AT_MS, STUDIED, Cells, at
from .findings import findings

__all__ = ["LABELS", "report", "reproduce"]


def reproduce(options: Options) -> Outcome:
    """Runs the study and writes its figures."""
    results = runs.run(options)
    if options.quick or options.linux:
        return report(results, left_out=runs.LEFT_OUT if options.quick else "")
    return report(results, runs.other_round_trips(options), runs.offload(options))


def report(
    results: Results, others: Results | None = None, offload: Results | None = None, left_out: str = ""
) -> Outcome:
    """What these runs show: verdicts, figures and tables; `others` has other round-trip times, `offload` long segments."""
    cells = runs.measure(results)
    found = over_rows(findings(cells))
    seconds = results.points[0].experiment.duration_s
    about = (
        f"Seeds: {len(results.seeds)}, of {seconds:.0f} s each, for each of {len(results.points)} cells, {len(STUDIED)} controls in equal shares, RTT {READ_AT_MS:g} ms; the first "
        f"{results.points[0].experiment.warmup_s:.0f} s are left out. Means over the seeds with 95 % intervals. The paper's figures have no numbers."
    )
    document = opened(f"iaas: {results.title}", about, left_out)
    folder = results.directory / "figures"
    document.add(findings_table(found, ID, len(results.seeds)), Text(_open()))
    document.add(Heading("Figures"), *_figures(cells, folder))
    document.add(Heading("Tables"), tables.shares(cells, PAPERS), tables.by_length(cells, seconds))
    document.add(Heading("What if"), readings_table(found), *_what_if(cells, others, folder))
    if offload is not None:
        document.add(tables.by_segment(runs.offload_shares(offload)))
    return Outcome(ID, document, found, left_out)


def _open() -> str:
    return (
        "Open: the paper says 4, 8 and 16 virtual machines; that these are pairs is a reading (two pairs could not hold four controls). The round-trip time, "
        "the buffer without ECN and the length of a run are not given."
    )


def _figures(cells: Cells, folder: Path) -> list[Figure]:
    return [
        figures.bars(cells, ["1000p"], folder / "figure1", "Throughput without ECN (figure 1 of the paper)"),
        figures.bars(cells, ["red"], folder / "figure2", "Throughput with ECN and RED (figure 2 of the paper)"),
        figures.over_time(cells, "1000p", folder / "over-time"),
    ]


def _what_if(cells: Cells, others: Results | None, folder: Path) -> list[Block]:
    ours = [case for case in OURS if at(cells, case)]
    made: list[Block] = [tables.shares(cells, ours, "shares-ours")]
    if ours:
        what = "; ".join(CASES[case] for case in ours)
        made.append(figures.bars(cells, ours, folder / "ours", f"Throughput in the cases that the paper does not name ({what})"))  # fmt: skip
    if others is not None:
        every = {**cells, **runs.measure(others)}
        made += [tables.by_round_trip(every), figures.round_trips(every, folder / "round-trip-times")]
    return made
