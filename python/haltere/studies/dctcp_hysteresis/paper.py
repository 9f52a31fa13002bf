"""`dctcp-hysteresis`, the paper's own cases: the findings, and what the paper's own runs can tell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ...report.document import Document, Heading, Table, Text
from ...runs.results import Results
from ..base import Finding, Judged, data, expected, findings_table, judge, judge_size, over_rows, readings_table
from . import figures
from .cases import (  # fmt: skip
    PRIMARY,
    READINGS,
    VARIANTS,
    Cell,
    Cells,
    Setup,
    deviations_that_fit,
    hosts,
    means_that_fit,
    measure,
    paper_tests,
    percent,
    percents,
)

#: What `p4/cases.py` writes after a run on BMv2 itself; there is none so far.
BMV2 = "bmv2.json"


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

    def paper(self, given: Mapping[str, Any]) -> tuple[float, float] | None:
        """What the paper prints, more and less; ``None`` if only in words."""
        if self.of == "UDP":
            return None
        means = [
            dict(zip(hosts(case), given[case][variant]["mean"], strict=True))
            for case, variant in (self.more, self.less)
        ]
        more, less = (sum(mean.values()) if self.of == "TCP" else mean[self.of] for mean in means)
        return more, less


def _claim(text: str, more: str, less: str, of: str) -> Claim:
    (more_case, more_variant), (less_case, less_variant) = more.split(), less.split()
    return Claim(text, (more_case, more_variant), (less_case, less_variant), of)


CLAIMS = [_claim(*row) for row in expected("dctcp-hysteresis")["claims"]]
LARGEST = "hysteresis gains most in B"


def show(results: Sequence[Results], document: Document) -> list[Finding]:
    """Adds the findings, the figures with the paper's values, and the other readings; returns the findings."""
    cells, given = measure(*results), expected("dctcp-hysteresis")
    found = over_rows(
        [one for setup in (PRIMARY, *READINGS) if cells.has(setup) for one in findings(cells, setup, given)]
    )
    scan = figures.scan(cells, given)
    others = len(results[1].seeds) if len(results) > 1 else 0
    document.add(
        _beside(findings_table(found, "dctcp-hysteresis", len(results[0].seeds), others), given),
        Text(_about(cells, given, len(results[0].seeds))),
        *_paper_runs(given),
        Heading("Figures"),
        *figures.primary(results[0], cells, given),
        Heading("What if"),
        readings_table(found),
        Text(_names()),
        scan,
        returned(cells, given),
    )
    return found


def _about(cells: Cells, given: Mapping[str, Any], seeds: int) -> str:
    return (
        f"{seeds} seeds of 50 s; mean and 95 % interval of differences seed by seed. Primary reading: the switch is built as BMv2 is, the ingress thread handles "
        f"{PRIMARY.ingress} and the transmit thread {PRIMARY.rate} packets/s, the original of a returned packet is marked, too, and the kernel ignores returned packets. "
        f"One threshold is then within a factor of {cells.distance(PRIMARY, given):.1f} of the paper over the five cases. The rates were chosen by that."
    )


def _names() -> str:
    return (
        "Names: the slowest stage, packets/s of the ingress thread and of that stage. Copy alone: the original of a returned packet goes on unmarked. Sender counts: "
        "DCTCP counts a returned packet as marked. Buffer of 128: packets can wait between the ports' queues and the transmit thread. One state: of all ports together."
    )


# -- findings -------------------------------------------------------------------------------------------------------------


def _same(cells: Sequence[tuple[Cell, Cell]]) -> str:
    """Why these cells do not differ at all; empty if they do."""
    if any(not np.allclose(percents(more.total(), less.total()), 0.0, atol=0.0) for more, less in cells):
        return ""
    signals = sum(sum(cell.signals) for pair in cells for cell in pair)
    return "the same packets are marked" if signals else "no packet meets a threshold"


def findings(cells: Cells, setup: Setup, given: Mapping[str, Any]) -> list[Finding]:
    """The paper's findings in one reading."""
    found = [_finding(claim, cells, setup, given) for claim in CLAIMS]
    found.insert(3, _largest(cells, setup, given))
    return [replace(one, reading="" if setup == PRIMARY else setup.name) for one in found]


def _finding(claim: Claim, cells: Cells, setup: Setup, given: Mapping[str, Any]) -> Finding:
    more, less = claim.cells(cells, setup)
    values, against, printed = claim.values(more), claim.values(less), claim.paper(given)
    seeds = min(len(values), len(against))  # readings have fewer
    values, against = values[:seeds], against[:seeds]
    same = _same([(more, less)]) if claim.more[0] == claim.less[0] else ""
    if same:
        paper = "in words only" if printed is None else _pair(claim, *printed, 4)
        return Finding(claim.text, "not testable", f"{np.mean(values):.3g} in both", paper, same)
    if printed is None:
        gain = stats.paired_difference(values, against)
        ours = f"{0.0 - gain.mean:+.4f} ± {gain.half:.4f}"
        why = f"the paper gives no number; a fall of more than {gain.high:.2g} Mbit/s is excluded"
        return Finding.of(claim.text, judge([("", gain)]), "in words only", why, ours)
    expects, gain = 100 * (printed[0] / printed[1] - 1), percent(values, against)
    judged = judge_size(gain, expects)
    ours = f"{_pair(claim, float(np.mean(values)), float(np.mean(against)), 3)} ({gain.mean + 0.0:+.1f} ± {gain.half:.1f} %)"
    return Finding.of(
        claim.text, judged, f"{_pair(claim, *printed, 4)} ({expects:+.1f} %)", _why(judged, gain, expects), ours
    )


def _pair(claim: Claim, more: float, less: float, digits: int) -> str:
    """Both goodputs; with their cases if these differ."""
    if claim.more[0] == claim.less[0]:
        return f"{less:.{digits}g} to {more:.{digits}g}"
    return f"{claim.more[0]} {more:.{digits}g}, {claim.less[0]} {less:.{digits}g}"


def _why(judged: Judged, gain: Mean, paper: float) -> str:
    if judged.verdict == "direction only":
        return f"the sign holds; the size is {paper / gain.mean:.2g} times as large in the paper"
    if judged.verdict == "not held":
        return (
            "the sign is the other"
            if gain.mean * paper < 0 and not gain.low <= 0 <= gain.high
            else "half of the paper's size is excluded"
        )
    inside = "and" if gain.low <= paper <= gain.high else "but not"
    return "sign and size agree" if judged.verdict == "held" else f"interval contains 0, {inside} the paper's value"


def _largest(cells: Cells, setup: Setup, given: Mapping[str, Any]) -> Finding:
    """B's gain less that of A and of C, in points of percent."""
    pairs = {case: CLAIMS[place].cells(cells, setup) for place, case in enumerate("ABC")}
    paper = {case: 100 * (given[case]["hysteresis"]["mean"][0] / given[case]["one"]["mean"][0] - 1) for case in pairs}
    printed = ", ".join(f"{case} {paper[case]:+.1f} %" for case in pairs)
    if same := _same(list(pairs.values())):
        return Finding(LARGEST, "not testable", "no gain in any", printed, same)
    gains = {case: percents(a.tcp["H1"], b.tcp["H1"]) for case, (a, b) in pairs.items()}
    other = min("AC", key=lambda case: stats.paired_difference(gains["B"], gains[case]).low)
    ahead = stats.paired_difference(gains["B"], gains[other])
    expects = paper["B"] - paper[other]
    judged = judge_size(ahead, expects)
    ours = f"B's less {other}'s: {judged.text} points"
    return Finding.of(LARGEST, judged, printed, _why(judged, ahead, expects), ours)


# -- what the paper's own runs can tell -----------------------------------------------------------------------------------


def _beside(table: Table, given: Mapping[str, Any]) -> Table:
    """The same table with what BMv2 itself gave, if it was run, and the paper's own p-values."""
    path = data("dctcp-hysteresis") / BMV2
    ran = json.loads(path.read_text(encoding="utf-8"))["goodput"] if path.is_file() else {}
    tests = paper_tests(given)
    adjusted = dict(zip([one[:3] for one in tests], stats.holm([one[5] for one in tests]), strict=True))
    claims = {claim.text: claim for claim in CLAIMS}
    rows = []
    for row in table.rows:
        claim = claims.get(row[0])
        p = adjusted.get((*claim.more, claim.of)) if claim and claim.less[1] == "one" else None
        rows.append([*row, _on_bmv2(claim, ran), "–" if p is None else f"{p:.2g}"])
    note = (
        "TCP goodput in Mbit/s. BMv2: what the driver p4/cases.py measured on the switch itself; – until somebody has run it. Last column: the p-value of the "
        "paper's own difference after Holm over its fifteen."
    )
    return replace(table, columns=[*table.columns, "BMv2", "paper's p"], rows=rows, note=f"{table.note} {note}")


def _on_bmv2(claim: Claim | None, ran: Mapping[str, Any]) -> str:
    if claim is None or claim.of == "UDP" or not ran:
        return "–"
    values = []
    for case, variant in (claim.more, claim.less):
        names = hosts(case) if claim.of == "TCP" else (claim.of,)
        values.append(np.sum([ran[case][variant][host] for host in names], axis=0))
    gain = stats.difference(100 * values[0] / values[1].mean(), 100 * values[1] / values[1].mean())
    return f"{gain.format(1)} %"


def _paper_runs(given: Mapping[str, Any]) -> list[Table]:
    """How many runs the printed digits allow, and Welch's test of every difference."""
    means = [mean for case in "BCE" for row in given[case].values() for mean in row["mean"] if mean >= 0.1]
    texts = given["deviations_of_D"]
    pairs = [
        (mean, sd)
        for row, sds in zip(given["D"].values(), texts, strict=True)
        for mean, sd in zip(row["mean"], sds, strict=True)
    ]
    rows = []
    for runs in range(2, 8):
        by_chance = means_that_fit([0.3 + 1e-4 * i for i in range(1000)], runs) / 1000
        fit, deviations = means_that_fit(means, runs), deviations_that_fit(pairs, runs)
        rows.append([f"{runs}", f"{fit} of {len(means)}", f"{by_chance:.2f}", f"{deviations} of {len(pairs)}"])
    note = (
        "iperf prints three digits: a run is a whole number of kbit/s from 100 on, and of hundredths of Mbit/s from 1 Mbit/s on. 101.9 kbit/s does not fit five, since some "
        "of its runs lie below 100 kbit/s. So five runs in B, C and E, and three in D."
    )
    columns = ["runs", "means of B, C, E that fit", "a random mean fits", "deviations of D that fit"]
    counts = Table("paper-runs", "How many runs the paper made, by its digits", columns, rows, note, left=1)
    tests = paper_tests(given)
    rows = []
    for (case, variant, host, more, less, p), after in zip(tests, stats.holm([one[5] for one in tests]), strict=True):
        printed = (f"{one.mean:g} ({one.sd:g})" for one in (less, more))
        rows.append([case, VARIANTS[variant], host, f"{more.n}", *printed, f"{p:.3f}", f"{after:.2f}"])
    note = "Welch's t test from the printed means and deviations; in A, whose runs the digits leave open, five are taken. None of the fifteen passes 0.05 after Holm."
    columns = ["case", "marking", "host", "runs", "one threshold", "with it", "p", "p, Holm"]
    return [counts, Table("paper-tests", "Could the paper's runs tell its differences?", columns, rows, note, left=3)]


def returned(cells: Cells, given: Mapping[str, Any]) -> Table:
    """What returned packets do to all TCP together, by reading of the original."""
    rows = []
    for variant in ("return", "return-hysteresis"):
        paper = [100 * (sum(given[case][variant]["mean"]) / sum(given[case]["one"]["mean"]) - 1) for case in "DE"]
        rows.append([VARIANTS[variant], "paper", *(f"{one:+.1f}" for one in paper)])
        for name, setup in (
            ("original marked, too", PRIMARY),
            ("copy alone", Setup(marks=False)),
            ("copy alone, sender counts", Setup(marks=False, counts=True)),
        ):
            if cells.has(setup):
                gains = [
                    percent(cells.at(case, setup, variant).total(), cells.at(case, PRIMARY, "one").total()).format(1)
                    for case in "DE"
                ]
                rows.append(["", name, *gains])
    return Table(
        "returned",
        "Returned packets: TCP of all hosts over one threshold's (%)",
        ["marking", "reading", "D", "E"],
        rows,
        left=2,
    )
