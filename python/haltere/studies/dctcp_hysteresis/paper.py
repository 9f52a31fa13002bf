"""`dctcp-hysteresis`, the paper's own cases: the findings, and whether the paper's runs could tell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Bullets, Document, Heading, Table, Text
from ...runs.results import Results
from ..base import Finding, Verdict, expected, findings_table, judge_size, readings_table
from . import figures
from .cases import PRIMARY, RATES, READINGS, Cell, Cells, Setup, hosts, measure, percent, runs_needed

#: TCP goodput of a cell, one value a seed.
Of = Callable[[Cell], Sequence[float]]


@dataclass(frozen=True)
class Claim:
    """One finding of the paper: a difference between two cells, in Mbit/s of `of`, as the paper prints it."""

    text: str
    more: tuple[str, str]
    """Case and variant that is said to have more."""
    less: tuple[str, str]
    of: str
    """``H1``, ``H3``, ``H5``, ``TCP`` (of all hosts) or ``UDP`` (of H1)."""

    def values(self, cell: Cell) -> list[float]:
        """One value a seed."""
        if self.of == "TCP":
            return cell.total()
        return cell.udp["H1"] if self.of == "UDP" else cell.tcp[self.of]

    def cells(self, cells: Cells, setup: Setup) -> tuple[Cell, Cell]:
        """Those with more and with less."""
        return cells.at(self.more[0], setup, self.more[1]), cells.at(self.less[0], setup, self.less[1])

    def paper(self, given: Mapping[str, Any]) -> tuple[float, float, float] | None:
        """What the paper prints: more, less, and the deviation of one run (the two deviations' root mean square); ``None`` if only in words."""
        if self.of == "UDP":
            return None
        rows = [given[case][variant] for case, variant in (self.more, self.less)]
        place = [hosts(case) for case, _ in (self.more, self.less)]
        if self.of == "TCP":
            means = [sum(row["mean"]) for row in rows]
            spreads = [np.sqrt(np.sum(np.square(row["sd"]))) for row in rows]
        else:
            means = [row["mean"][names.index(self.of)] for row, names in zip(rows, place, strict=True)]
            spreads = [row["sd"][names.index(self.of)] for row, names in zip(rows, place, strict=True)]
        return means[0], means[1], float(np.sqrt(np.mean(np.square(spreads))))


def _hysteresis(case: str) -> Claim:
    return Claim(f"{case}: hysteresis raises H1", (case, "hysteresis"), (case, "one"), "H1")


def _over_one(case: str, variant: str, of: str, text: str) -> Claim:
    return Claim(text, (case, variant), (case, "one"), of)


CLAIMS = (
    *(_hysteresis(case) for case in "ABC"),
    Claim("B: hysteresis lowers H1's UDP", ("B", "one"), ("B", "hysteresis"), "UDP"),
    _over_one("D", "return", "H5", "D: returned packets raise H5"),
    _over_one("E", "return", "H3", "E: returned packets raise H3"),
    _over_one("E", "return", "H5", "E: returned packets raise H5"),
    _over_one("D", "return-hysteresis", "H1", "D: returned packets with hysteresis raise H1"),
    _over_one("E", "return-hysteresis", "H3", "E: returned packets with hysteresis raise H3"),
    _over_one("D", "return", "TCP", "D: returned packets cost all hosts together little"),
    Claim("one threshold: H1 gets more in B than in C", ("B", "one"), ("C", "one"), "H1"),
    Claim("one threshold: TCP gets far more in D than in E", ("D", "one"), ("E", "one"), "TCP"),
)
LARGEST = "hysteresis gains most in B"


def show(results: Results, document: Document) -> list[Finding]:
    """Adds the findings, the figures with the paper's values, and the other readings; returns the findings."""
    cells, given = measure(results), expected("dctcp-hysteresis")
    findings = [
        finding for setup in (PRIMARY, *READINGS) if cells.has(setup) for finding in _findings(cells, setup, given)
    ]
    primary = [finding for finding in findings if not finding.reading]
    document.add(
        _with_runs(findings_table(findings), primary, cells, given),
        Bullets(_about_primary(cells, given, len(results.seeds))),
        Heading("Figures"),
        *figures.primary(results, cells, given),
        Heading("What if"),
        readings_table(findings),
        Text(
            "Sender counts: DCTCP counts a returned packet as marked. Slow egress: the ingress thread is ten times as fast as the rate, and "
            "each egress thread half as fast."
        ),
        *figures.others(results, cells, given),
    )
    return findings


def _about_primary(cells: Cells, given: Mapping[str, Any], seeds: int) -> list[str]:
    near = cells.distance(PRIMARY, given)
    signals = sum(sum(cell.signals) for _, setup, _, cell in cells.all() if setup.structure == "bmv2")
    rates = "at any of the four rates" if cells.has(Setup("bmv2", RATES[0])) else f"at {PRIMARY.rate} packets/s"
    marks = "no packet is marked or returned" if signals == 0 else f"only {signals:.0f} packets are marked or returned"
    return [
        f"{seeds} seeds of 50 s; mean and 95 % interval of differences seed by seed.",
        f"Primary reading: the switch is built as BMv2 is, each of its threads handles {PRIMARY.rate} packets/s in every case, and the kernel ignores "
        "returned packets.",
        f"One threshold is then within a factor of {near:.1f} of the paper on average over the five cases.",
        "Packets wait in the input buffer, whose length the switch program cannot see. The egress threads are as fast as the ingress thread, and their "
        f"queues stay empty: {marks} {rates}.",
    ]


# -- findings -------------------------------------------------------------------------------------------------------------


def _same(cells: Sequence[tuple[Cell, Cell]]) -> str:
    """Why these cells do not differ at all; empty if they do."""
    if any(more.tcp != less.tcp or more.udp != less.udp for more, less in cells):
        return ""
    signals = sum(sum(cell.signals) for pair in cells for cell in pair)
    if signals == 0:
        return "no packet meets a threshold"
    return "the same packets are marked"


def _findings(cells: Cells, setup: Setup, given: Mapping[str, Any]) -> list[Finding]:
    found = [_finding(claim, cells, setup, given) for claim in CLAIMS]
    found.insert(3, _largest(cells, setup, given))
    reading = "" if setup == PRIMARY else setup.name
    return [replace(finding, reading=reading) for finding in found]


def _finding(claim: Claim, cells: Cells, setup: Setup, given: Mapping[str, Any]) -> Finding:
    more, less = claim.cells(cells, setup)
    values, against, printed = claim.values(more), claim.values(less), claim.paper(given)
    same = _same([(more, less)]) if claim.more[0] == claim.less[0] else ""
    if printed is None:
        gain = stats.paired_difference(values, against)
        verdict, ours = judge_size(gain, 1.0, 4)
        verdict = "held" if verdict == "direction only" else verdict
        paper, ours, why = "in words only", f"{(-gain.mean) + 0.0:+.4f} ± {gain.half:.4f}", _why(verdict, gain, 0.0)
    else:
        paper_gain = 100 * (printed[0] / printed[1] - 1)
        gain = percent(values, against)
        verdict, _ = judge_size(gain, paper_gain)
        paper = f"{_pair(claim, printed[0], printed[1], 4)} ({paper_gain:+.1f} %)"
        pair = _pair(claim, float(np.mean(values)), float(np.mean(against)), 3)
        ours = f"{pair} ({gain.mean + 0.0:+.1f} ± {gain.half:.1f} %)"
        why = _why(verdict, gain, paper_gain)
    if same:
        verdict, why, ours = "not testable", same, f"{np.mean(values):.3g} in both"
    return Finding(claim.text, verdict, ours, paper, why)


def _pair(claim: Claim, more: float, less: float, digits: int) -> str:
    """Both goodputs; with their cases if these differ."""
    if claim.more[0] == claim.less[0]:
        return f"{less:.{digits}g} to {more:.{digits}g}"
    return f"{claim.more[0]} {more:.{digits}g}, {claim.less[0]} {less:.{digits}g}"


def _why(verdict: Verdict, gain: Mean, paper: float) -> str:
    if verdict == "direction only":
        return "size off by more than two"
    if verdict == "not held":
        return "the sign is the other"
    if verdict == "held":
        return "sign and size agree"
    outside = not gain.low <= paper <= gain.high
    return "interval contains 0" + (", not the paper's value" if outside else " and the paper's value")


def _largest(cells: Cells, setup: Setup, given: Mapping[str, Any]) -> Finding:
    """B's gain less that of A and of C, in points of percent."""
    pairs = {case: _hysteresis(case).cells(cells, setup) for case in "ABC"}
    gains = {case: _percents(more.tcp["H1"], less.tcp["H1"]) for case, (more, less) in pairs.items()}
    paper = {case: 100 * (given[case]["hysteresis"]["mean"][0] / given[case]["one"]["mean"][0] - 1) for case in "ABC"}
    other = min("AC", key=lambda case: stats.paired_difference(gains["B"], gains[case]).low)
    ahead = stats.paired_difference(gains["B"], gains[other])
    verdict, ours = judge_size(ahead, paper["B"] - paper[other])
    same = _same(list(pairs.values()))
    if same:
        verdict = "not testable"
    printed = ", ".join(f"{case} {paper[case]:+.1f} %" for case in "ABC")
    text = "no gain in any" if same else f"B's less {other}'s: {ours} points"
    return Finding(LARGEST, verdict, text, printed, same or _why(verdict, ahead, paper["B"] - paper[other]))


def _percents(more: Sequence[float], less: Sequence[float]) -> list[float]:
    return [float(value) for value in 100 * (np.array(more) - np.array(less)) / np.mean(less)]


# -- could the paper tell? ------------------------------------------------------------------------------------------------


def _with_runs(table: Table, primary: Sequence[Finding], cells: Cells, given: Mapping[str, Any]) -> Table:
    """The same table with a column: how many runs of each variant would show the difference that the paper prints."""
    claims = {claim.text: claim for claim in CLAIMS}
    rows = [
        [*row, _runs(claims[finding.text], cells, given) if finding.text in claims else "–"]
        for row, finding in zip(table.rows, primary, strict=True)
    ]
    note = (
        "TCP goodput in Mbit/s. Could the paper tell? How many runs of each variant show a difference as large as the paper's (its 95 % interval excludes 0), first by "
        "the paper's own deviations, then by our deviation from seed to seed. The paper does not say how many runs it made."
    )
    return replace(table, columns=[*table.columns, "could the paper tell?"], rows=rows, note=note, left=6)


def _runs(claim: Claim, cells: Cells, given: Mapping[str, Any]) -> str:
    printed = claim.paper(given)
    if printed is None:
        return "–"
    deviation = (
        float(np.sqrt(np.mean([np.var(claim.values(cell), ddof=1) for cell in claim.cells(cells, PRIMARY)])))
        if _seeds(cells, claim) > 1
        else float("nan")
    )
    own = runs_needed(printed[0] - printed[1], printed[2])
    ours = None if np.isnan(deviation) else runs_needed(printed[0] - printed[1], deviation)
    texts = ["never" if runs is None else str(runs) for runs in (own, ours)]
    return f"{texts[0]}; {texts[1]} by ours" if not np.isnan(deviation) else texts[0]


def _seeds(cells: Cells, claim: Claim) -> int:
    return len(claim.values(claim.cells(cells, PRIMARY)[0]))
