"""The table of l4s-tests beside ours: runs each row of `l4s.csv` and writes `l4s-ours.csv`.

    python validation/published/l4s.py [SEEDS]

A row is two flows of unlike round-trip times for 180 s; the last 60 s count. A run takes a second or less.

How the measured systems were set up is known, and each line of `OF_2020` has its source. Nothing here is fitted to the table.
The published table has one run a row. Its spread is estimated from the set-ups that it repeats; `spreads` says how.
"""

from __future__ import annotations

import csv
import math
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import haltere

HERE = Path(__file__).absolute().parent
SEEDS = 5
POINTS = 0.05
"""Points of the link by which a figure may differ."""
LIMITS = {"50": "1000p", "10": "200p"}
"""Drop tail's limit by the link's rate in Mbit/s."""
FRAME_BITS = 1514 * 8
"""A full packet. The measured link was Linux's HTB on a veth pair, which adds no time of transmission to the delay of netem; ours does."""

OF_2020 = {
    # TCP Prague 0.5 (L4STeam/linux at b256daedc767, net/ipv4/tcp_prague.c): no scaling by the round-trip time by default, a window that moves by at
    # most one segment an acknowledgement, growth while its own pacing is the limit, pacing of payload at the rate of packets with headers (1500 / 1448).
    "prague": '{ kind = "prague", rtt_min = "0ms", gradual = true, grow_while_paced = true, pacing_gain = 1.036 }',
    # The same repository's net/sched/sch_dualpi2.c: no drop or mark by p' below two full packets, no step for a packet that found less than two.
    "dualpi2": '{ kind = "dualpi2", min_step_packets = 2, min_backlog = "3028B" }',
}
"""Prague and DualPI2 as the kernel of the measurements has them."""
TCP_OF_2020 = {
    # l4s-tests, `fl`: `net.ipv4.tcp_ecn=3` at both hosts, which asks for accurate ECN (ip-sysctl of that kernel). Linux's TCP hands over units of
    # several segments since 4.17, whatever the interface's offloads are; the interface, without offloads, cuts them into a burst. Prague's units are
    # what 1/4096 s of its rate carries: single segments below 49 Mbit/s.
    "cubic": '{ ecn = true, accurate_ecn = "option", offload = "burst" }',
    "prague": "{}",
}
"""TCP of a flow by its control."""

STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t for 95 %, two-sided, by degrees of freedom from 1."""


class Spread(NamedTuple):
    """The standard deviation of a figure of one published run, in Mbit/s, and the repeated set-ups it comes from."""

    sigma: float
    repeats: int

    def room(self) -> float:
        """How far one run may be from the true mean."""
        return STUDENT[self.repeats - 1] * self.sigma if self.repeats else 0.0


class Verdict(NamedTuple):
    """Whether our mean agrees with a published figure, by three rules."""

    points: bool
    """Within 5 points of the link."""
    seeds: bool
    """Or the published figure is within the range of our seeds."""
    spread: bool
    """Or the difference is within the spread of the published runs."""


Class = tuple[str, str, tuple[str, str]]


def rows() -> list[dict[str, str]]:
    """The published rows."""
    with (HERE / "l4s.csv").open() as file:
        return list(csv.DictReader(file))


def class_of(row: dict[str, str]) -> Class:
    """Rows of one class are taken to have one spread: rate, queue and the two controls in any order."""
    first, second = sorted((row["control_1"], row["control_2"]))
    return row["rate_mbit"], row["queue"], (first, second)


def published(row: dict[str, str]) -> tuple[float, float]:
    """Both published figures."""
    return float(row["published_1_mbit"]), float(row["published_2_mbit"])


def spreads(table: list[dict[str, str]]) -> dict[Class, Spread]:
    """The spread of one published run by class, from the set-ups with equal round-trip times.

    Unlike controls stand in the table in both orders: two runs of one set-up. With d the difference of a control's two figures, d^2 / 2 estimates the
    variance; the mean of both controls counts once, as their figures add up to the link. Two equal flows share one run: with d their
    difference and a constant sum, each is d / 2 from the mean, so d^2 / 4 estimates the variance. The estimates of a class are averaged.
    """
    squares: dict[Class, list[float]] = defaultdict(list)
    twins: dict[tuple[Class, str], tuple[float, float]] = {}
    for row in table:
        kind, figures = class_of(row), published(row)
        if row["rtt_1_ms"] != row["rtt_2_ms"]:
            squares[kind] += []
        elif row["control_1"] == row["control_2"]:
            squares[kind].append((figures[0] - figures[1]) ** 2 / 4)
        else:
            ordered = figures if row["control_1"] == kind[2][0] else (figures[1], figures[0])
            other = twins.setdefault((kind, row["rtt_1_ms"]), ordered)
            if other is not ordered:
                squares[kind].append(sum((a - b) ** 2 / 2 for a, b in zip(ordered, other, strict=True)) / 2)
    return {
        kind: Spread(math.sqrt(sum(found) / len(found)) if found else 0.0, len(found))
        for kind, found in squares.items()
    }


def scenario(row: dict[str, str], folder: Path) -> haltere.Scenario:
    """The experiment of a row."""
    transmission_us = FRAME_BITS / float(row["rate_mbit"])
    delays = ", ".join(f'"{(float(row[key]) * 1000 - transmission_us) / 4:.0f}us"' for key in ("rtt_1_ms", "rtt_2_ms"))
    limit = f', limit = "{LIMITS[row["rate_mbit"]]}"' if row["queue"] == "drop_tail" else ""
    queue = OF_2020.get(row["queue"], f'{{ kind = "{row["queue"]}"{limit} }}')
    controls = [row["control_1"], row["control_2"]]
    flows = "".join(
        f'[[traffic]]\nkind = "bulk"\nname = "flow{n}"\npairs = [{n}]\n'
        f"congestion = {OF_2020.get(control, chr(34) + control + chr(34))}\ntcp = {TCP_OF_2020[control]}\n"
        for n, control in enumerate(controls, 1)
    )
    path = folder / "row.toml"
    path.write_text(
        f"""
        duration = "180s"
        warmup = "120s"
        [topology.dumbbell]
        pairs = 2
        access = {{ rate = "1Gbit" }}
        access_delays = [{delays}]
        bottleneck = {{ rate = "{row["rate_mbit"]}Mbit", queue = {queue} }}
        {flows}
        """
    )
    return haltere.load(path)


def ours(row: dict[str, str], seeds: int) -> list[list[float]]:
    """Goodput of both flows in Mbit/s, by seed."""
    with tempfile.TemporaryDirectory() as folder:
        flows = scenario(row, Path(folder)).run(seeds=seeds).pandas("flows")
    found = flows.groupby(["group", "seed"], observed=True)["goodput_bps"].mean() / 1e6
    return [list(found[f"flow{n}"]) for n in (1, 2)]


def verdicts(row: dict[str, str], goodputs: list[list[float]], spread: Spread) -> list[Verdict]:
    """Of each flow."""
    room = POINTS * float(row["rate_mbit"])
    found = []
    for figure, values in zip(published(row), goodputs, strict=True):
        apart = abs(sum(values) / len(values) - figure)
        close = apart <= room
        in_range = min(values) <= figure <= max(values)
        found.append(Verdict(close, close or in_range, close or apart <= spread.room()))
    return found


def leaning(row: dict[str, str], goodputs: list[list[float]]) -> float | None:
    """Ours less the published figure in points of the link: of Prague beside CUBIC, else of the flow with the longer round-trip time."""
    if row["control_1"] != row["control_2"]:
        n = 0 if row["control_1"] == "prague" else 1
    elif row["rtt_1_ms"] != row["rtt_2_ms"]:
        n = 0
    else:
        return None
    mean = sum(goodputs[n]) / len(goodputs[n])
    return (mean - published(row)[n]) / float(row["rate_mbit"]) * 100


def write(results: list[dict[str, str]]) -> None:
    """The table of both."""
    with (HERE / "l4s-ours.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, results[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(results)


def tell(name: str, found: list[Verdict], lean: list[float]) -> None:
    """A line of the summary."""
    counts = [sum(column) for column in zip(*found, strict=True)]
    mean = f"{sum(lean) / len(lean):+.1f}" if lean else ""
    print(f"{name:<34} {len(found):>4} {counts[0]:>7} {counts[1]:>7} {counts[2]:>7} {mean:>8}")


def main() -> None:
    """Runs all rows and prints how many figures agree."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else SEEDS
    table = rows()
    with ThreadPoolExecutor(2) as pool:
        goodputs = list(pool.map(lambda row: ours(row, seeds), table))
    estimated, results = spreads(table), []
    by_class: dict[Class, tuple[list[Verdict], list[float]]] = defaultdict(lambda: ([], []))
    for row, values in zip(table, goodputs, strict=True):
        told: dict[str, str] = {}
        found = verdicts(row, values, estimated[class_of(row)])
        for n, (own, verdict) in enumerate(zip(values, found, strict=True), 1):
            told |= {f"ours_{n}_mbit": f"{sum(own) / len(own):.2f}", f"least_{n}_mbit": f"{min(own):.2f}"}
            told |= {f"most_{n}_mbit": f"{max(own):.2f}"}
            told |= {f"{rule}_{n}": "yes" if held else "no" for rule, held in verdict._asdict().items()}
        results.append(row | told)
        told_verdicts, leanings = by_class[class_of(row)]
        told_verdicts += found
        leanings += [lean for lean in [leaning(row, values)] if lean is not None]
    write(results)
    print(f"{'class':<34} {'of':>4} {'points':>7} {'seeds':>7} {'spread':>7} {'leaning':>8}")
    for (rate, queue, pair), (found, lean) in sorted(by_class.items()):
        tell(f"{rate} {queue} {'-'.join(pair)} ({estimated[rate, queue, pair].sigma:.2f})", found, lean)
    tell("all", [verdict for found, _ in by_class.values() for verdict in found], [])


if __name__ == "__main__":
    main()
