"""`dctcp-hysteresis`, the paper's own cases: which runs there are, and what each came to."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...analysis import measures, metrics, stats
from ...analysis.stats import Mean
from ...api import Scenario
from ...runs.results import Results
from ..base import data

CASES = "ABCDE"
RATES = (700, 900, 1000, 1300)
#: How the switch is built.
STRUCTURES = {"bmv2": "BMv2", "egress": "BMv2, slow egress", "processor": "one processor"}
#: How marking is done. The first two are tables 4 and 5 (A to C), all but `hysteresis` are tables 6 and 7 (D and E).
VARIANTS = {
    "one": "one threshold",
    "hysteresis": "hysteresis",
    "return": "return",
    "return-hysteresis": "return, hysteresis",
}
#: The link whose queue limits TCP, and the one whose queue is compared with the thresholds.
INPUT, EGRESS = "switch>switch.out", "switch.out>switch.egress2"
#: With `egress`, how much faster the ingress thread is, and how much slower each egress thread.
QUICK_INGRESS, SLOW_EGRESS = 10, 2


@dataclass(frozen=True)
class Setup:
    """How the study's open questions are answered: one reading of the paper."""

    structure: str = "bmv2"
    rate: int = 1000
    """Packets that a thread, or the processor, handles in a second."""
    counts: bool = False
    """The sender counts returned packets as marked; otherwise it ignores them."""

    @property
    def name(self) -> str:
        """For tables."""
        return f"{STRUCTURES[self.structure]}, {self.rate}/s" + (", counts" if self.counts else "")


#: Where the text is taken at its word: the switch is BMv2, the kernel is Linux's, and one machine ran all cases. The rate is that of
#: the four at which *one threshold* comes nearest to the paper over all cases; the other variants did not choose it.
PRIMARY = Setup()
#: The readings whose verdicts are shown beside the primary one.
Reading = Setup
READINGS = (
    *(Setup("processor", rate) for rate in RATES),
    Setup("processor", counts=True),
    Setup("egress"),
)


def variants(case: str) -> tuple[str, ...]:
    """Which of the variants the paper has in this case."""
    return ("one", "hysteresis") if case in "ABC" else ("one", "return", "return-hysteresis")


def hosts(case: str) -> tuple[str, ...]:
    """The hosts that send TCP in this case."""
    return ("H1",) if case in "ABC" else ("H1", "H3", "H5")


def _queue(variant: str, per_destination: bool) -> dict[str, Any]:
    queue: dict[str, Any] = {"kind": "threshold", "limit": "64p", "upper": "42p", "per_destination": per_destination}
    if "hysteresis" in variant:
        queue["lower_fraction"] = 0.15
    if "return" in variant:
        queue["return_to_sender"] = True
    return queue


def _scenario(case: Mapping[str, Any], setup: Setup, variant: str) -> Scenario:
    """The case file with this switch, sender and marking."""
    values: dict[str, Any] = copy.deepcopy({key: value for key, value in case.items() if key != "sweep"})
    switch = values["topology"]["switch"]
    if setup.structure == "processor":
        switch.pop("egress")
        switch["processor"] = {"packet_rate": setup.rate, "queue": _queue(variant, False)}
    else:
        switch["processor"]["packet_rate"] = setup.rate
        switch["egress"]["queue"] = _queue(variant, True)
    if setup.structure == "egress":
        switch["processor"]["packet_rate"] = QUICK_INGRESS * setup.rate
        switch["egress"]["packet_rate"] = setup.rate / SLOW_EGRESS
    if setup.counts:
        values["tcp"]["ignore_returned"] = False
    return Scenario.from_dict(values, "dctcp-hysteresis")


def scenarios(quick: bool) -> Iterator[tuple[Scenario, dict[str, Any]]]:
    """Every case in every reading, with the labels of its points. ``quick``: at the primary rate alone."""
    for case in CASES:
        values = Scenario.load(data("dctcp-hysteresis") / f"case-{case.lower()}.toml").to_dict()
        for structure in STRUCTURES:
            for rate in (PRIMARY.rate,) if quick else RATES:
                for counts in (False, True):
                    for variant in variants(case):
                        # Who counts matters only if something is returned.
                        if counts and "return" not in variant:
                            continue
                        setup = Setup(structure, rate, counts)
                        labels = {
                            "case": case,
                            "structure": structure,
                            "rate": rate,
                            "counts": counts,
                            "variant": variant,
                        }
                        yield _scenario(values, setup, variant), labels


@dataclass
class Cell:
    """One case in one reading with one variant: one value a seed in each list."""

    tcp: dict[str, list[float]] = field(default_factory=dict)
    """Goodput in Mbit/s by sending host."""
    udp: dict[str, list[float]] = field(default_factory=dict)
    waiting: list[float] = field(default_factory=list)
    """Packets that wait for the processor or the ingress thread on average."""
    depth: list[float] = field(default_factory=list)
    """95th percentile of the depth at dequeue of the queue that is compared with the thresholds: with egress threads that of H2's port."""
    signals: list[float] = field(default_factory=list)
    """Packets marked or returned."""
    drops: list[float] = field(default_factory=list)

    def total(self) -> list[float]:
        """TCP of all hosts together."""
        return [float(sum(each)) for each in zip(*self.tcp.values(), strict=True)]


class Cells:
    """What every run came to, and how readings compare."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, Setup, str], Cell] = {}

    def made(self, case: str, setup: Setup, variant: str) -> Cell:
        """This cell, made if there is none."""
        return self._cells.setdefault((case, setup, variant), Cell())

    def at(self, case: str, setup: Setup, variant: str) -> Cell:
        """This cell. Without returned packets it does not matter whether the sender would count them."""
        if "return" not in variant:
            setup = Setup(setup.structure, setup.rate)
        return self._cells[case, setup, variant]

    def all(self) -> list[tuple[str, Setup, str, Cell]]:
        """All, in the order of tables."""
        order = list(STRUCTURES)
        ranked = sorted(
            self._cells.items(),
            key=lambda one: (one[0][0], order.index(one[0][1].structure), one[0][1].rate, one[0][1].counts),
        )
        return [(*key, cell) for key, cell in ranked]

    def has(self, setup: Setup) -> bool:
        """True if cases were run in this reading."""
        return any(key[1] == setup for key in self._cells)

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


def measure(results: Results) -> Cells:
    """What every run came to."""
    cells = Cells()
    for done in results.runs:
        labels = results.points[done.point].labels
        setup = Setup(str(labels["structure"]), int(labels["rate"]), bool(labels["counts"]))
        cell = cells.made(str(labels["case"]), setup, str(labels["variant"]))
        run = measures.Run(results, done)
        for group in run.groups():
            kind, _, host = group.partition("-")
            goodput = cell.tcp if kind == "tcp" else cell.udp
            goodput.setdefault(host.upper(), []).append(metrics.named(run, f"goodput.{group}"))
        watched = [run.link(name) for name in run.watched()]
        cell.waiting.append(float(run.link(INPUT)["mean_queue_packets"]))
        depth = metrics.named(run, f"depth_p95.{EGRESS if setup.structure != 'processor' else INPUT}")
        cell.depth.append(0.0 if math.isnan(depth) else depth)
        cell.signals.append(float(sum(link["marked"] + link["returned"] for link in watched)))
        cell.drops.append(float(sum(link["dropped_overlimit"] for link in watched)))
    return cells


def runs_needed(difference: float, deviation: float, most: int = 10_000) -> int | None:
    """How many runs of each variant show a difference of this size, if one run has this standard deviation; ``None`` beyond ``most``.

    The 95 % interval of the difference of two means of so many independent runs then excludes 0.

    >>> runs_needed(1.0, 1.0), runs_needed(1.0, 0.01), runs_needed(0.0, 1.0)
    (9, 2, None)
    """
    for runs in range(2, most):
        if difference == 0:
            break
        if stats.student_t(0.95, 2 * runs - 2) * deviation * math.sqrt(2 / runs) < abs(difference):
            return runs
    return None


def percent(more: Sequence[float], less: Sequence[float]) -> Mean:
    """The difference seed by seed, in percent of the mean of ``less``."""
    return stats.mean(100 * (np.array(more) - np.array(less)) / np.mean(less))
