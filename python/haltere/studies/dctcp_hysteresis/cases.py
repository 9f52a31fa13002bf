"""`dctcp-hysteresis`, the paper's own cases: which runs there are, and what each came to."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis import measures, metrics, stats
from ...analysis.stats import Mean
from ...api import Scenario
from ...runs.results import Results
from ..base import data

CASES = "ABCDE"
#: How marking is done. The first two are tables 4 and 5 (A to C), all but `hysteresis` are tables 6 and 7 (D and E).
VARIANTS = {
    "one": "one threshold",
    "hysteresis": "hysteresis",
    "return": "return",
    "return-hysteresis": "return, hysteresis",
}
#: Which stage of the switch is the slowest, so that packets wait before it.
STAGES = {
    "transmit": "transmit thread",
    "egress": "egress threads",
    "ingress": "ingress thread",
    "processor": "one processor",
}
#: The link before which the ingress thread's packets wait, the transmit thread, and the egress thread of H2 and H6 if there are four.
INPUT, TRANSMIT, EGRESS = "switch>switch.out", "switch.out>switch.egress0", "switch.out>switch.egress2"


@dataclass(frozen=True)
class Setup:
    """How the study's open questions are answered: one reading of the paper."""

    stage: str = "transmit"
    rate: int = 1000
    """Packets that the slowest stage handles in a second."""
    ingress: int = 1200
    """Packets that the ingress thread handles in a second."""
    marks: bool = True
    """The original of a returned packet is marked, too."""
    counts: bool = False
    """The sender counts returned packets as marked; otherwise it ignores them."""
    buffer: int = 0
    """Packets that can wait between the queues and the transmit thread."""
    shared: bool = False
    """All ports share one state between the thresholds."""

    @property
    def name(self) -> str:
        """For tables."""
        words = [
            STAGES[self.stage],
            f"{self.ingress}/{self.rate}" if self.stage in ("transmit", "egress") else f"{self.rate}",
        ]
        words += ["copy alone"] * (not self.marks) + ["sender counts"] * self.counts
        words += [f"buffer of {self.buffer}"] * (self.buffer > 0) + ["one state"] * self.shared
        return ", ".join(words)

    def of(self, variant: str) -> Setup:
        """Without what cannot matter to this variant."""
        one = self if "return" in variant else replace(self, marks=True, counts=False)
        return one if "hysteresis" in variant else replace(one, shared=False)


#: The switch is BMv2, the kernel is Linux's, and one machine ran all cases. Of the rates below those at which *one threshold* comes nearest
#: to the paper over all cases; the other variants did not choose them.
PRIMARY = Setup()
#: The rates of the transmit thread, each behind an ingress thread that is a little and that is much faster.
SCAN = tuple(
    Setup(rate=rate, ingress=ingress) for rate in (700, 900, 1000, 1300) for ingress in (12 * rate // 10, 10 * rate)
)
#: Other slowest stages.
OTHERS = (Setup("egress", ingress=1100), Setup("egress"), Setup("ingress", ingress=1000), Setup("processor"))
#: The readings whose verdicts are shown beside the primary one.
READINGS = (
    Setup(ingress=10_000),
    *(Setup("egress", ingress=1100), Setup("ingress", ingress=1000), Setup("processor")),
    Setup(marks=False),
    Setup(marks=False, counts=True),
    Setup(buffer=128),
    Setup(shared=True),
)
QUICK = (PRIMARY, Setup(ingress=10_000), Setup(marks=False))


def variants(case: str) -> tuple[str, ...]:
    """Which of the variants the paper has in this case."""
    return ("one", "hysteresis") if case in "ABC" else ("one", "return", "return-hysteresis")


def hosts(case: str) -> tuple[str, ...]:
    """The hosts that send TCP in this case."""
    return ("H1",) if case in "ABC" else ("H1", "H3", "H5")


def _queue(setup: Setup, variant: str) -> dict[str, Any]:
    queue: dict[str, Any] = {
        "kind": "threshold",
        "limit": "64p",
        "upper": "42p",
        "per_destination": setup.stage != "processor",
    }
    if "hysteresis" in variant:
        queue["lower_fraction"] = 0.15
    # Left out where they are the default, so that the case files say no more than they need.
    queue |= {"output_buffer": setup.buffer} if setup.buffer else {}
    queue |= {"shared_state": True} if setup.shared else {}
    if "return" in variant:
        queue |= {"return_to_sender": True, "mark": setup.marks}
    return queue


def scenario(case: Mapping[str, Any], setup: Setup, variant: str) -> Scenario:
    """The case file with this switch, sender and marking."""
    values: dict[str, Any] = copy.deepcopy({key: value for key, value in case.items() if key != "sweep"})
    switch, queue = values["topology"]["switch"], _queue(setup, variant)
    switch["processor"]["packet_rate"] = setup.ingress
    switch["egress"] |= {"packet_rate": setup.rate, "queue": queue}
    if setup.stage == "processor":
        switch.pop("egress")
        switch["processor"] = {"packet_rate": setup.rate, "queue": queue}
    elif setup.stage != "transmit":
        switch["egress"]["threads"] = 4
    if setup.counts:
        values["tcp"]["ignore_returned"] = False
    return Scenario.from_dict(values, "dctcp-hysteresis")


def scenarios(setups: Sequence[Setup], returned: bool = True) -> Iterator[tuple[Scenario, dict[str, Any]]]:
    """Every case in each of these readings, with the labels of its points; ``returned``: with returned packets, too."""
    files = {case: Scenario.load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml").to_dict() for case in CASES}
    for case, values in files.items():
        for variant in variants(case):
            if "return" in variant and not returned:
                continue
            for setup in dict.fromkeys(setup.of(variant) for setup in setups):
                yield scenario(values, setup, variant), {"case": case, "variant": variant, **vars(setup)}


@dataclass
class Cell:
    """One case in one reading with one variant: one value a seed in each list."""

    tcp: dict[str, list[float]] = field(default_factory=dict)
    """Goodput in Mbit/s by sending host."""
    udp: dict[str, list[float]] = field(default_factory=dict)
    depth: dict[int, list[float]] = field(default_factory=dict)
    """Percentiles over time of the packets that wait where thresholds see them, at all ports of a thread together."""
    signals: list[float] = field(default_factory=list)
    """Packets marked or returned."""

    def total(self) -> list[float]:
        """TCP of all hosts together."""
        return [float(sum(each)) for each in zip(*self.tcp.values(), strict=True)]


class Cells(dict[tuple[str, Setup, str], Cell]):
    """What every run came to by case, reading and variant, and how readings compare."""

    def at(self, case: str, setup: Setup, variant: str) -> Cell:
        """This cell, which other readings share if the variant does not know them apart."""
        return self[case, setup.of(variant), variant]

    def has(self, setup: Setup, returned: bool = True) -> bool:
        """True if all cases were run in this reading, or those without returned packets."""
        wanted = [
            (case, variant) for case in CASES for variant in variants(case) if returned or "return" not in variant
        ]
        return all((case, setup.of(variant), variant) in self for case, variant in wanted)

    def distance(self, setup: Setup, given: Mapping[str, Any]) -> float:
        """How far *one threshold* is from the paper over all cases: the root mean square of the logarithm, as a factor."""
        errors = []
        for case in CASES:
            cell = self.at(case, setup, "one")
            pairs = zip(hosts(case), given[case]["one"]["mean"], strict=True)
            errors.append(
                np.mean([math.log(max(float(np.mean(cell.tcp[host])), 1e-6) / paper) ** 2 for host, paper in pairs])
            )
        return math.exp(math.sqrt(float(np.mean(errors))))


def measure(*several: Results) -> Cells:
    """What every run came to. A cell is that of the first results that have it."""
    cells = Cells()
    for results in several:
        seen = set(cells)
        for done in results.runs:
            labels = dict(results.points[done.point].labels)
            case, variant = str(labels.pop("case")), str(labels.pop("variant"))
            setup = Setup(**labels)
            if (key := (case, setup.of(variant), variant)) not in seen:
                _add(cells.setdefault(key, Cell()), measures.Run(results, done), setup)
    return cells


def _add(cell: Cell, run: measures.Run, setup: Setup) -> None:
    for group in run.groups():
        kind, _, host = group.partition("-")
        goodput = cell.tcp if kind == "tcp" else cell.udp
        goodput.setdefault(host.upper(), []).append(metrics.named(run, f"goodput.{group}"))
    watched = [run.link(name) for name in run.watched()]
    link = {"transmit": TRANSMIT, "processor": INPUT}.get(setup.stage, EGRESS)
    packets = np.maximum(run.queue(link).packets - setup.buffer, 0)
    for q in (50, 95, 100):
        cell.depth.setdefault(q, []).append(float(np.percentile(packets, q)))
    cell.signals.append(float(sum(link["marked"] + link["returned"] for link in watched)))


def percents(more: Sequence[float], less: Sequence[float]) -> NDArray[np.float64]:
    """The differences seed by seed, in percent of the mean of ``less``, over the seeds that both have: readings have fewer."""
    n = min(len(more), len(less))
    differences: NDArray[np.float64] = 100 * (np.array(more[:n]) - np.array(less[:n])) / np.mean(less[:n])
    return differences


def percent(more: Sequence[float], less: Sequence[float]) -> Mean:
    """Their mean with its interval."""
    return stats.mean(percents(more, less))


# -- how many runs the paper made -----------------------------------------------------------------------------------------


def means_that_fit(means: Sequence[float], runs: int, last: float = 1e-4, value: float = 1e-3) -> int:
    """How many of these printed means, to units of ``last``, are means of so many values that are multiples of ``value``.

    >>> [means_that_fit([0.3848, 0.5220, 0.1324], runs) for runs in (3, 4, 5)]
    [1, 1, 3]
    """
    sums = [mean * runs / value for mean in means]
    slack = 0.5 * last * runs / value
    return sum(math.floor(total + slack - 1e-9) >= math.ceil(total - slack + 1e-9) for total in sums)


def deviations_that_fit(pairs: Sequence[tuple[float, str]], runs: int, value: float = 0.01) -> int:
    """How many of these pairs of printed mean and deviation so many values, multiples of ``value``, can have.

    All sums of deviations from the mean and of their squares are formed, value by value.

    >>> deviations_that_fit([(1.68, "0.01527")], 3), deviations_that_fit([(1.68, "0.01527")], 5)
    (1, 0)
    """
    return sum(_fits(mean, printed, runs, value) for mean, printed in pairs)


def _fits(mean: float, printed: str, runs: int, value: float) -> bool:
    digits = len(printed.partition(".")[2])
    deviation = float(printed) / value
    # The paper cuts some digits and rounds others.
    low, high = (max(deviation + part * 10.0**-digits / value, 0.0) for part in (-0.5, 1.0))
    most = int(high**2 * (runs - 1) + runs) + 1
    reach = math.isqrt(most)
    # found[s + offset, q]: some values have this sum and this sum of squares.
    offset = reach * runs
    found = np.zeros((2 * offset + 1, most + 1), dtype=bool)
    found[offset, 0] = True
    for _ in range(runs):
        new = np.zeros_like(found)
        for step in range(-reach, reach + 1):
            square = step * step
            moved = np.roll(found, step, axis=0)
            new[:, square:] |= moved[:, : most + 1 - square]
        found = new
    sums, squares = np.nonzero(found)
    sums = sums - offset
    variance = (squares - sums**2 / runs) / (runs - 1)
    near = np.abs(sums) <= runs / 2 + 1e-9  # of the mean's own rounding
    return bool(np.any(near & (variance >= low**2 - 1e-9) & (variance <= high**2 + 1e-9)))


def paper_tests(given: Mapping[str, Any]) -> list[tuple[str, str, str, Mean, Mean, float]]:
    """The paper's fifteen differences: case, variant, host, with it, with one threshold, and Welch's p-value."""
    out = []
    for case in CASES:
        runs = int(given["runs"][case])
        for variant in variants(case)[1:]:
            for place, host in enumerate(hosts(case)):
                more, less = (
                    Mean(given[case][v]["mean"][place], math.nan, given[case][v]["sd"][place], runs)
                    for v in (variant, "one")
                )
                out.append((case, variant, host, more, less, stats.welch(more, less)))
    return out
