"""The study `mptcp-red`: redundant scheduling over uncorrelated paths.

Source: B. Felix, I. Steuck, A. Santos, M. Nogueira, "Escalonador de Pacotes para Transmissao por Multi-caminhos Nao-Correlacionados em
Redes Heterogeneas sem Fio". `papers/mptcp-red/README.md` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

from ...api import Scenario
from ...report.document import Heading
from ..base import Options, Outcome, data, expected, findings_table, opened, over_rows
from . import figures, linux, readings, tables
from .detectors import detectors
from .findings import detector_findings, findings, open_if_readings_differ
from .sides import sides

ID = "mptcp-red"
QUICK_SEEDS, QUICK_READING_SEEDS, LINUX_SEEDS = 10, 5, 10


def _readings(scenario: Scenario, options: Options) -> tuple[readings.Found, int]:
    """The runs under the other readings, and how many seeds each has."""
    most = QUICK_READING_SEEDS if options.quick else readings.SEEDS
    seeds = min(options.seeds or most, most)
    groups = dict(list(readings.READINGS.items())[:1]) if options.quick else readings.READINGS
    return readings.find(scenario, groups, seeds, options), seeds


def _with_linux(scenario: Scenario, options: Options) -> Outcome:
    """Figures 8 to 10 with Linux's MPTCP."""
    seeds = options.seeds or LINUX_SEEDS
    told = over_rows(linux.linux_findings(scenario, options, seeds))
    document = opened(f"mptcp-red: {scenario.title}", f"{seeds} seeds of {scenario.experiment.duration_s:.0f} s.")
    document.add(findings_table(told, ID, seeds))
    return Outcome(ID, document, told)


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    scenario = Scenario.load(data(ID) / "main.toml")
    if options.linux:
        return _with_linux(scenario, options)
    left_out = ""
    seeds = int(expected(ID)["runs"])
    if options.quick:
        seeds = QUICK_SEEDS
        left_out = "25 of 35 seeds; all readings without a bounded cross connection"
    seeds = options.seeds if options.seeds is not None else seeds
    results = options.run([scenario], seeds=seeds)
    ours, folder = sides(results), results.directory / "figures"
    detected = detectors(results)
    other, their_seeds = _readings(scenario, options)
    bounded = {name: of for name, of in other.sides.items() if name in readings.CROSS}
    jitters = {name: of for name, of in other.detectors.items() if name in readings.JITTERS}
    groups = {group: over_rows(found) for group, found in other.findings.items()}
    apart = [one for found in groups.values() for one in found]
    primary = over_rows([*detector_findings(detected), *findings(ours)])
    primary = open_if_readings_differ(primary, [one for one in apart if one.reading in bounded])
    about = (
        f"{len(results.seeds)} seeds of {results.points[0].experiment.duration_s:.0f} s for each scheduler. Intervals are at 95 % over "
        "the seeds, and every verdict follows from one. A difference with a sign is RED less redundant, or RED-CPI less MSCM. The paper "
        "prints no numbers with its figures."
    )
    document = opened(
        f"mptcp-red: {results.title}", about, left_out, findings_table(primary, ID, len(results.seeds), their_seeds)
    )
    document.add(Heading("Figures"), *figures.figures(folder, ours, detected))
    document.add(Heading("Tables"), tables.detector_table(detected), tables.path_table(ours), Heading("What if"))
    document.add(readings.cross_table(ours, bounded, their_seeds), figures.cross(folder / "cross", ours, bounded))
    document.add(tables.variant_table(detected, jitters), *readings.verdict_tables(primary, groups, their_seeds))
    return Outcome(ID, document, [*primary, *apart], left_out)
