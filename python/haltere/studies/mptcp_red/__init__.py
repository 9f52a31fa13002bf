"""The study `mptcp-red`: redundant scheduling over uncorrelated paths.

Source: B. Felix, I. Steuck, A. Santos, M. Nogueira, "Escalonador de Pacotes para Transmissao por Multi-caminhos Nao-Correlacionados em
Redes Heterogeneas sem Fio". `papers/mptcp-red/README.md` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...api import Scenario
from ...report.document import Document, Heading
from ..base import Finding, Options, Outcome, data, expected, findings_table, opened
from . import figures, readings, tables
from .detectors import Detector, detectors
from .findings import detector_findings, findings
from .sides import Side, sides

ID = "mptcp-red"
QUICK_SEEDS, QUICK_READING_SEEDS = 10, 5


@dataclass
class Primary:
    """The runs of the primary reading, and where figures go."""

    sides: dict[str, Side]
    detectors: list[Detector]
    folder: Path


def _what_if(
    scenario: Scenario, options: Options, document: Document, primary: Sequence[Finding], ours: Primary
) -> list[Finding]:
    most = QUICK_READING_SEEDS if options.quick else readings.SEEDS
    seeds = options.seeds if options.seeds is not None else most
    groups: readings.Groups = readings.READINGS
    if options.quick:
        name, each = next(iter(groups.items()))
        groups = {name: each}
    found = readings.find(scenario, groups, seeds, options)
    bounded = {name: of for name, of in found.sides.items() if name in readings.CROSS}
    jitters = {name: of for name, of in found.detectors.items() if name in readings.JITTERS}
    document.add(Heading("What if"))
    document.add(readings.cross_table(ours.sides, bounded, seeds))
    document.add(figures.cross(ours.folder / "cross", ours.sides, bounded))
    document.add(tables.variant_table(ours.detectors, jitters))
    document.add(*readings.verdict_tables(primary, found.findings, seeds))
    return [one for each in found.findings.values() for one in each]


def _stream(options: Options, document: Document) -> None:
    """A real-time stream under every scheduler. Not in the paper."""
    each = [
        options.run([Scenario.load(data(ID) / f"{name}.toml")], seeds=options.seeds, part=name)
        for name in ("realtime", "cut")
    ]
    document.add(tables.stream_table(*(sides(results) for results in each)))


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    scenario = Scenario.load(data(ID) / "main.toml")
    left_out = ""
    seeds = int(expected(ID)["runs"])
    if options.quick:
        seeds = QUICK_SEEDS
        left_out = "25 of 35 seeds; all readings without a bounded cross connection; the stream under each scheduler"
    seeds = options.seeds if options.seeds is not None else seeds
    results = options.run([scenario], seeds=seeds)
    ours = Primary(sides(results), detectors(results), results.directory / "figures")
    primary = [*detector_findings(ours.detectors), *findings(ours.sides)]
    about = (
        f"{len(results.seeds)} seeds of {results.points[0].experiment.duration_s:.0f} s for each scheduler. Intervals are at 95 % over "
        "the seeds, and every verdict follows from one. A difference with a sign is RED less redundant, or RED-CPI less MSCM. The paper "
        "prints no numbers with its figures."
    )
    document = opened(f"mptcp-red: {results.title}", about, left_out, findings_table(primary))
    document.add(Heading("Figures"), *figures.figures(ours.folder, ours.sides, ours.detectors))
    document.add(Heading("Tables"), tables.detector_table(ours.detectors), tables.path_table(ours.sides))
    other = _what_if(scenario, options, document, primary, ours)
    if not options.quick:
        _stream(options, document)
    return Outcome(ID, document, [*primary, *other], left_out)
