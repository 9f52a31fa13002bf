"""The study `aqm-lab`: pfifo_fast, ARED, CoDel, FQ-CoDel and PIE under 2, 5, 10 and 20 pairs of two-way TCP.

Source: P. H. Dornelas Almeida, "Laboratorio Casa 02", Universidade de Brasilia, and its author's program. `papers/aqm-lab/README.md` says
what they fix, what they leave open and how it is read here.
"""

from __future__ import annotations

from typing import Any

from ...analysis import measures
from ...api import Scenario
from ...report.document import Document, Figure, Heading, Text
from ...runs.results import Results
from ..base import Finding, Options, Outcome, data, findings_table, opened, over_rows, readings_table
from . import figures, tables
from .cells import ID, LABELS, Cells, Given, measure, pairs_of, runs_at
from .findings import findings, three_bands, under

_COUNTS = ("traffic[0].count", "traffic[1].count")
_QUEUE = "topology.chain.links[1].queue"
_QUICK_PAIRS = [1, 2, 10, 20]
#: Seeds of the other readings, and of --quick.
OTHER_SEEDS, QUICK_SEEDS = 10, 5
# The other readings: what each is called, and what it is.
_READINGS = {
    "always on": "sources that are always on, 1000-byte segments: ns-3's benchmark example",
    "CUBIC": "CUBIC instead of NewReno: ns-3's default since 3.34",
    "normal downloads": "downloads on and off as uploads, as the program seems to mean",
    "no shared sub-queues": "FQ-CoDel with 65,536 sub-queues, so that hardly two flows share one",
    "PIE, 30 ms": "PIE as the text has it: an update every 30 ms, a delay from an estimate of the departure rate",
}
# Drop tail in pfifo_fast's place, for one finding.
_NO_BANDS = "no bands"


def reproduce(options: Options) -> Outcome:
    """Runs the study and checks its findings."""
    results, other, left_out = _run(options)
    given = Given.authors()
    primary = list(results.runs)
    cells = measure(results, primary, whole_ms=True)
    bandless = measure(other, _of(other, _NO_BANDS), whole_ms=True)
    found = [*findings(cells, given), three_bands(cells[20, "pfifo_fast"], bandless[20, "drop_tail"])]
    others: dict[str, Cells] = {}
    for reading in _READINGS:
        if chosen := _of(other, reading):
            # A reading that changes one discipline has the primary reading's cells for the others.
            others[reading] = measure(other, chosen, whole_ms=reading != "always on")
            ran = {pair for pair, _ in others[reading]}
            beside = {key: cell.first(OTHER_SEEDS) for key, cell in cells.items() if key[0] in ran}
            found += under(reading, {**beside, **others[reading]}, given)
    found = over_rows(found)
    document = opened(
        f"aqm-lab: {results.title}",
        _said(results, cells, given),
        left_out,
        findings_table(found, ID, len(results.seeds), len(other.seeds)),
    )
    _body(document, results, primary, cells, given)
    if others:
        _what_if(document, cells, others, found, given)
    return Outcome(ID, document, found, left_out)


def _sweep(scenario: Scenario, pairs: list[int] | None = None, queues: list[Any] | None = None) -> Scenario:
    sweep = scenario.experiment.sweep
    if pairs is not None:
        if "zip" in sweep:
            sweep["zip"] = dict.fromkeys(_COUNTS, pairs)
        else:
            sweep[_COUNTS[0]] = pairs
    if queues is not None:
        sweep[_QUEUE] = queues
    return scenario.with_values({"sweep": sweep})


def _only(scenario: Scenario, kind: str, change: dict[str, Any]) -> Scenario:
    queues = [{**one, **change} for one in scenario.experiment.sweep[_QUEUE] if one["kind"] == kind]
    return _sweep(scenario, queues=queues)


def _readings(authors: Scenario) -> dict[str, Scenario]:
    few, upload = _sweep(authors, [2, 20]), authors.experiment.traffic[0].values
    cubic = {"kind": "cubic", "reno_friendly": "linux", "hystart": "linux_6_13"}
    made = (
        Scenario.load(data(ID) / "benchmark.toml"),
        few.with_values({"traffic[0].congestion": cubic, "traffic[1].congestion": cubic}),
        few.with_values({"traffic[1].on": upload["on"], "traffic[1].off": upload["off"]}),
        _only(_sweep(authors, [10, 20]), "fq_codel", {"flows": 65536}),
        _only(few, "pie", {"tupdate": "30ms", "dq_rate_estimator": True}),
    )
    return dict(zip(_READINGS, made, strict=True))


def _run(options: Options) -> tuple[Results, Results, str]:
    """The authors' set-up, then the other readings with fewer seeds."""
    authors, left_out = Scenario.load(data(ID) / "authors.toml"), ""
    seeds = options.seeds or (QUICK_SEEDS if options.quick else None)
    others = {_NO_BANDS: _sweep(authors, [20], [{"kind": "drop_tail", "limit": "1000p"}])}
    if options.quick:
        authors = _sweep(authors, _QUICK_PAIRS)
        left_out = "5 pairs; the other readings" + (
            "" if options.seeds else f"; all but {seeds} of {authors.seeds} seeds"
        )
    elif not options.linux:
        others |= _readings(authors)
    results = options.run([authors], seeds=seeds)  # first: a part lies in its directory
    least = min(seeds or OTHER_SEEDS, OTHER_SEEDS)
    other = options.run(list(others.values()), [{"reading": name} for name in others], seeds=least, part="readings")
    return results, other, left_out


def _of(results: Results, reading: str) -> list[Any]:
    return [done for done in results.runs if results.points[done.point].labels["reading"] == reading]


def _said(results: Results, cells: Cells, given: Given) -> str:
    seconds = results.points[0].experiment.duration_s
    distance = tables.distance_part(cells, given)
    return (
        f"Ours: mean over {len(results.seeds)} seeds of {seconds:g} s with its 95 % interval; differences are seed by seed. Paper: one run. "
        f"ns-3: {given.ns3_runs}. Our medians lie {distance:.1%} from the paper's on average. "
        "Jain's index is compared by 1 less the index, on a logarithmic scale, since it crowds at 1."
    )


def _body(document: Document, results: Results, primary: list[Any], cells: Cells, given: Given) -> None:
    pairs = sorted({pair for pair, _ in cells if pair > 1})
    document.add(Heading("Figures"), *_figures(results, primary, cells, pairs, given))
    document.add(Heading("Tables"), tables.medians(cells, pairs, given), *tables.fairness(cells, pairs, given))
    document.add(tables.distances({key: cell for key, cell in cells.items() if key[0] > 1}, given))
    document.add(tables.more(cells, sorted({pair for pair, _ in cells}), given))


def _figures(results: Results, primary: list[Any], cells: Cells, pairs: list[int], given: Given) -> list[Figure]:
    folder = results.directory / "figures"
    least = min(pairs_of(results.points[done.point]) for done in primary)

    def at(pair: int) -> dict[str, list[measures.Run]]:
        return {name: runs_at(results, primary, pair, name) for name in LABELS}

    return [
        figures.medians(cells, pairs, given, folder / "rtt-median"),
        figures.fairness(cells, pairs, given, folder / "jain"),
        figures.queues(at(least), least, folder / "queues"),
        figures.codel_start(at(least)["codel"][0], least, folder / "codel-start"),
        *(figures.rtt(at(pair), pair, given, folder / f"rtt-{pair}-pairs") for pair in pairs),
    ]


def _what_if(document: Document, cells: Cells, others: dict[str, Cells], found: list[Finding], given: Given) -> None:
    pairs = sorted({pair for pair, _ in cells if pair > 1})
    document.add(Heading("What if"), Text("; ".join(f"{name}: {_READINGS[name]}" for name in others) + "."))
    document.add(readings_table(found), tables.other_medians({"": cells, **others}, pairs, given))
