"""The runs of the study `iaas`: which there are, and what is measured of them in a cell, by round-trip time, case and number of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis import measures, stats
from ...api import Scenario
from ...experiment import seconds_of
from ...runs.records import Point
from ...runs.results import Results
from ..base import Options, data, with_axes

Array = NDArray[np.float64]

ID = "iaas"
PAIRS, LIMIT = "topology.dumbbell.pairs", "topology.dumbbell.bottleneck.queue.limit"
DELAY, NEGOTIATED = "topology.dumbbell.bottleneck.delay", "tcp.ecn"
#: The round-trip time at which the paper is read, in milliseconds.
READ_AT_MS = 1.0
#: Payload of a full segment to what it takes on the line.
PAYLOAD = 1448 / 1514
STUDIED = ("cubic", "reno", "bbr", "vegas")
LABELS = {"cubic": "Cubic", "reno": "Reno", "bbr": "BBR", "vegas": "Vegas", "dctcp": "DCTCP", "bbr3": "BBRv3"}
#: The paper's two cases, and RED before hosts that do not negotiate ECN.
CASES = {"1000p": "no ECN, drop tail of 1000 packets", "red": "ECN, RED", "red_off": "RED, hosts do not negotiate ECN"}
SHORT = {"1000p": "1000 packets", "red": "ECN, RED", "red_off": "RED, no ECN"}
PAPERS = ("1000p", "red")
OURS = ("red_off",)
WATCHED = "left>right"
AT_1_MS: Mapping[str, Any] = {DELAY: ["500us"]}
#: Half of the other round-trip times; their runs are of 20 s, with at most so many seeds, and leave out 8 pairs.
OTHER_DELAYS = ("25us", "5ms")
OTHER_SEEDS = 2
#: Mininet's shaper passes units of up to 64 kB (segmentation offload), from htb with RED below it. A stand-in: segments of so many bytes.
OFFLOAD = {"1448 B": "1448B", "21,720 B": "21720B", "62,264 B": "62264B"}
EARLY_S = (1.0, 9.0)
QUICK_SEEDS = 5
LEFT_OUT = (
    f"round-trip times other than 1 ms; segments longer than 1448 bytes; 10 of 30 s; all but {QUICK_SEEDS} of 10 seeds"
)

Key = tuple[float, str, int]


@dataclass
class Cell:
    """One round-trip time, case and number of pairs: one value a seed in each list."""

    mbit: dict[str, list[float]] = field(default_factory=dict)
    """Mean throughput of a flow of each control after the warm-up."""
    early: dict[str, list[float]] = field(default_factory=dict)
    """The same from second 1 to second 9."""
    over_time: dict[str, list[Array]] = field(default_factory=dict)
    """The same in every second of the run."""
    jain: list[float] = field(default_factory=list)
    utilisation: list[float] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    marked: list[float] = field(default_factory=list)
    """Percent of the packets that the bottleneck sent."""


Cells = dict[Key, Cell]


def fair_mbit(pairs: int) -> float:
    """What every pair would have of one gigabit if all had the same, in Mbit/s of payload."""
    return 1000.0 * PAYLOAD / pairs


def relative(cell: Cell, control: str, pairs: int, early: bool = False) -> Array:
    """Throughput of a control over the fair share, a value a seed: after the warm-up, or from second 1 to 9."""
    return np.array((cell.early if early else cell.mbit)[control]) / fair_mbit(pairs)


def at(cells: Cells, case: str) -> dict[int, Cell]:
    """The cells of a case at the round-trip time of the study, by number of pairs."""
    return {pairs: cell for (rtt, name, pairs), cell in cells.items() if rtt == READ_AT_MS and name == case}


def shorter(scenario: Scenario, sweep: Mapping[str, Any], warmup: str = "2s", duration: str = "10s") -> Scenario:
    """A shorter experiment, with these axes of its sweep in place of its own."""
    return with_axes(scenario.with_values({"warmup": warmup, "duration": duration}), sweep)


def _files() -> list[Scenario]:
    """The experiment without ECN with Mininet's buffer, and the one with RED."""
    drop_tail, red = (Scenario.load(data(ID) / name) for name in ("drop_tail.toml", "red_ecn.toml"))
    return [with_axes(drop_tail, {LIMIT: ["1000p"]}), red]


def run(options: Options) -> Results:
    """The cells at 1 ms."""
    each = [with_axes(one, AT_1_MS) for one in _files()]
    seeds = options.seeds
    if options.quick or options.linux:
        each = [shorter(one, AT_1_MS, "10s", "20s") for one in _files()]
    if options.quick:
        seeds = QUICK_SEEDS if seeds is None else seeds
    return _results(each, options, seeds)


def other_round_trips(options: Options) -> Results:
    """The paper's cases and hosts that do not negotiate ECN at the other round-trip times."""
    sweep = {DELAY: list(OTHER_DELAYS), PAIRS: [4, 16]}
    each = [shorter(one, sweep, "10s", "20s") for one in _files()]
    seeds = min(options.seeds or OTHER_SEEDS, OTHER_SEEDS)
    return _results(each, replace(options, out=options.out / "round-trip-times"), seeds)


def offload(options: Options) -> Results:
    """RED below htb as Mininet sets it up, with long segments, RTT 0.2 ms, the 10 s of an iperf from its start."""
    red = _files()[1]
    place = "topology.dumbbell.bottleneck"
    inner = red.experiment.topology.values["bottleneck"]["queue"]
    each = []
    for size in OFFLOAD.values():
        shaped = {"kind": "htb", "rate": "1Gbit", "burst": "65kB", "classes": [{"name": "all", "rate": "1Gbit", "burst": "65kB", "cburst": "65kB", "queue": inner}]}  # fmt: skip
        changed = red.with_values(
            {
                f"{place}.rate": "40Gbit",
                f"{place}.queue": shaped,
                "tcp.mss": size,
                "topology.dumbbell.access.rate": "10Gbit",
            }
        )
        each.append(shorter(changed, {DELAY: ["100us"]}, "0s", "10s"))
    return options.run(each, [{"size": size} for size in OFFLOAD], seeds=options.seeds, part="offload")


def _results(each: list[Scenario], options: Options, seeds: int | None) -> Results:
    title = "Cubic, Reno, BBR and Vegas share one gigabit"
    return options.run(each, [{"red": False}, {"red": True}], seeds=seeds, title=title)


def _key(point: Point) -> Key:
    labels, dumbbell = point.labels, point.experiment.topology.values
    rtt = 2e3 * seconds_of(dumbbell["bottleneck"]["delay"])
    case = str(labels[LIMIT]) if not labels["red"] else "red" if labels[NEGOTIATED] else "red_off"
    return round(rtt, 6), case, int(labels[PAIRS])


def offload_shares(results: Results) -> dict[tuple[str, bool, int], list[dict[str, float]]]:
    """By length of a segment, whether ECN was negotiated and pairs: each control's part of the fair share, a run at a time."""
    found: dict[tuple[str, bool, int], list[dict[str, float]]] = {}
    for done in results.runs:
        labels = results.points[done.point].labels
        pairs = int(labels[PAIRS])
        rates = by_control(measures.Run(results, done))
        total = sum(map(sum, rates.values()))
        parts = {control: pairs * float(np.mean(values)) / total for control, values in rates.items()}
        found.setdefault((str(labels["size"]), bool(labels[NEGOTIATED]), pairs), []).append(parts)
    return found


def measure(results: Results) -> Cells:
    """The cells of these runs, in the order of round-trip time, case and pairs."""
    cells: Cells = {}
    for done in results.runs:
        point = results.points[done.point]
        key = _key(point)
        _add(cells.setdefault(key, Cell()), measures.Run(results, done))
    order = [*PAPERS, *OURS]
    assert set(order) == set(CASES)
    return dict(sorted(cells.items(), key=lambda one: (one[0][0], order.index(one[0][1]), one[0][2])))


def by_control(run: measures.Run) -> dict[str, list[float]]:
    """The throughput of every flow in Mbit/s, by control."""
    rates: dict[str, list[float]] = {}
    for control, rate in zip(run.flows["congestion"].to_pylist(), run.goodput_mbit(), strict=True):
        rates.setdefault(str(control), []).append(float(rate))
    return rates


def _by_second(run: measures.Run) -> dict[str, Array]:
    """The mean throughput of a flow of each control in every second, Mbit/s."""
    out = {}
    names, controls = run.flows["flow"].to_pylist(), run.flows["congestion"].to_pylist()
    for control in STUDIED:
        series = run.rate_of([str(name) for name, of in zip(names, controls, strict=True) if of == control])
        if series is None:
            continue
        at, rate = series
        second = np.ceil(np.round(at, 6)).astype(np.int64) - 1
        whole = np.bincount(second, weights=rate * np.diff(np.concatenate([[0.0], at])))
        out[control] = np.asarray(whole, dtype=np.float64)
    return out


def _add(cell: Cell, run: measures.Run) -> None:
    for control, values in by_control(run).items():
        cell.mbit.setdefault(control, []).append(float(np.mean(values)))
    for control, seconds in _by_second(run).items():
        cell.over_time.setdefault(control, []).append(seconds)
        cell.early.setdefault(control, []).append(float(seconds[int(EARLY_S[0]) : int(EARLY_S[1])].mean()))
    rates = run.goodput_mbit()
    cell.jain.append(stats.jain(rates))
    cell.utilisation.append(run.utilisation(WATCHED))
    cell.drops.append(float(run.drops(WATCHED)))
    cell.marked.append(100.0 * run.marks(WATCHED) / max(run.sent(WATCHED), 1))
