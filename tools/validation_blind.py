"""The blind test: a classifier that learned congestion controls from Linux's bytes in flight names ours.

Idea: Gong et al., "CCAnalyzer", and Mishra et al., "Nebby" (SIGCOMM 2024): a control shows in the curve of its bytes in
flight between back-offs. Model: the curve of one flow is cut into windows. A window becomes a few features without a unit,
so that rate and round-trip time do not matter, and the three nearest training windows decide.

    python tools/validation_blind.py REFERENCE validation/linux/blind.csv     writes the training features

DCTCP is not a class of its own: without marks it is Reno (RFC 8257 section 3.5).
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haltere.validate import Case, ours, read_directory

TRAINING = "blind.csv"
"""The training features in the directory of results."""
CALLED = "blind-called.csv"
"""What the classifier called our flows when the page was made, in the same directory."""
FEATURES = ("depth", "back-offs", "quarter", "half", "three_quarters", "variation", "dips", "ripple")
"""What a window of the curve becomes."""
SAME = {"dctcp": "reno"}
"""Controls that behave alike in these scenarios."""
SPAN = 250
"""Round-trip times of a window."""
BACK_OFF = 0.88
"""A back-off: the curve falls below this part of its maximum since the last one."""
NEIGHBOURS = 3
"""Training windows that decide."""


def features(curve: Sequence[float], per_rtt: float) -> list[float]:
    """The features of one window; `per_rtt`: samples in a round-trip time."""
    y = _smooth(np.asarray(curve, dtype=float), max(1, round(per_rtt)))
    top = float(np.percentile(y, 95)) or 1.0
    tops, troughs = _back_offs(y / top, max(2, round(6 * per_rtt)))
    depths = [y[low] / y[high] for high, low in zip(tops, troughs, strict=True)]
    shape = _shape(y, tops, troughs)
    slow = _smooth(y, max(3, round(10 * per_rtt)))
    return [
        float(np.median(depths)) if depths else 1.0,
        float(np.log2(1 + 1000 * len(tops) * per_rtt / len(y)) / 5),
        *shape,
        float(y.std() / y.mean()),
        float(np.sqrt((y < 0.2 * top).mean())),
        float((y - slow).std() / top),
    ]


def _smooth(y: Any, width: int) -> Any:
    """The median of so many samples around each."""
    half = width // 2
    padded = np.pad(y, half, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)


def _back_offs(y: Any, reach: int) -> tuple[list[int], list[int]]:
    """The value of the curve before each back-off, and its place of the least value within `reach` samples after it."""
    tops, troughs, top, i = [], [], 0, 1
    while i < len(y):
        if y[i] > y[top]:
            top = i
        elif y[i] < BACK_OFF * y[top]:
            low = i + int(np.argmin(y[i : i + reach]))
            tops.append(top)
            troughs.append(low)
            top, i = low, low
        i += 1
    return tops, troughs


def _shape(y: Any, tops: Sequence[int], troughs: Sequence[int]) -> list[float]:
    """How far the curve has risen at a quarter, half and three quarters of the time between back-offs; median."""
    parts = []
    for low, high in zip(troughs, tops[1:], strict=False):
        rise = y[high] - y[low]
        if high - low >= 8 and rise > 0:
            parts.append([(y[low + (high - low) * q // 4] - y[low]) / rise for q in (1, 2, 3)])
    return [float(part) for part in np.median(parts, axis=0)] if parts else [0.0, 0.0, 0.0]


def windows(curve: Sequence[float], per_rtt: float) -> list[list[float]]:
    """The features of every window of a curve; a window begins at half of the one before."""
    length = round(SPAN * per_rtt)
    starts = range(0, len(curve) - length + 1, length // 2)
    return [features(curve[start : start + length], per_rtt) for start in starts]


@dataclass
class Classifier:
    """Names the control of a window by the nearest training windows."""

    names: list[str]
    points: Any
    centre: Any
    scale: Any

    @staticmethod
    def train(rows: Iterable[tuple[str, Sequence[float]]]) -> Classifier:
        """From windows whose control is known."""
        named = list(rows)
        points = np.array([point for _, point in named])
        centre, scale = points.mean(axis=0), points.std(axis=0) + 1e-9
        return Classifier([name for name, _ in named], (points - centre) / scale, centre, scale)

    @staticmethod
    def read(path: Path) -> Classifier:
        """From the training features in a file."""
        with path.open(newline="") as file:
            lines = [line for line in file if not line.startswith("#")]
        return Classifier.train(
            (row["control"], [float(row[name]) for name in FEATURES]) for row in csv.DictReader(lines)
        )

    def name(self, point: Sequence[float]) -> str:
        """The control of a window."""
        distances = np.linalg.norm(self.points - (np.asarray(point) - self.centre) / self.scale, axis=1)
        nearest: list[str] = [self.names[i] for i in np.argsort(distances, kind="stable")[:NEIGHBOURS]]
        (name, _), *_ = Counter(nearest).most_common(1)
        return name

    def name_flow(self, curve: Sequence[float], per_rtt: float) -> str:
        """The control of a flow: that of most of its windows."""
        return Counter(self.name(point) for point in windows(curve, per_rtt)).most_common(1)[0][0]


def linux_curve(case: Case, result: dict[str, Any]) -> tuple[list[float], float]:
    """Packets in flight of a result's one flow after the warm-up, and samples in a round-trip time."""
    s, series = case.scenario, result["flows"][0]["series"]
    samples = zip(series["t"], series["unacked"], series["cwnd"], strict=True)
    curve = [float(min(unacked, cwnd)) for t, unacked, cwnd in samples if t >= s.warmup]
    return curve, s.rtt_ms / (s.sample.store_tcp_ms or s.sample.tcp_ms)


def our_curve(case: Case, seed: int) -> tuple[list[float], float]:
    """The same of a run of ours."""
    s, series = case.scenario, ours.tables_of(case, seed)["flow_series"]
    mss = ours.case_mss(case)
    columns = [np.asarray(series.column(name)) for name in ("flow", "at_ns", "in_flight_bytes", "cwnd_bytes")]
    flow, at, in_flight, cwnd = columns
    mine = (flow == "f0") & (at >= s.warmup * 1e9)
    curve = np.minimum(in_flight[mine], cwnd[mine]).astype(float) / mss
    step = float(np.median(np.diff(at[mine]))) * 1e-6
    return curve.tolist(), s.rtt_ms / step


LINKS = ((20, 40.0, 67), (10, 40.0, 34), (40, 30.0, 100))
"""Rate in Mbit/s, round-trip time in ms and queue in packets of the test: that of the training, and two that Linux never ran."""


def tests_of(case: Case) -> list[tuple[str, Case]]:
    """The scenario over every link of the test."""
    made = []
    for rate, rtt, limit in LINKS:
        scenario = replace(case.scenario, rate_mbit=rate, rtt_ms=rtt, qdisc=f"pfifo limit {limit}")
        made.append((f"{rate} Mbit/s, {rtt:g} ms", replace(case, scenario=scenario)))
    return made


def confusion(directory: Path, seeds: Sequence[int] = (1, 2, 3)) -> dict[str, Counter[str]]:
    """Of each control in set D: what the classifier calls our flows over every link of the test."""
    classifier = Classifier.read(directory / TRAINING)
    called: dict[str, Counter[str]] = {}
    for case in read_directory(directory):
        if case.group != "D":
            continue
        control = case.scenario.flows[0].cc
        for _, test in tests_of(case):
            for seed in seeds:
                called.setdefault(control, Counter())[classifier.name_flow(*our_curve(test, seed))] += 1
    return called


def is_right(control: str, name: str) -> bool:
    """True if the classifier's name is that control, or one that behaves alike."""
    return SAME.get(control, control) == name


def markdown(called: dict[str, Counter[str]]) -> list[str]:
    """The confusion matrix as a Markdown table: a line for each of our controls, a column for each name."""
    names = sorted({name for counts in called.values() for name in counts} | {SAME.get(one, one) for one in called})
    lines = ["| our control | " + " | ".join(f"called {name}" for name in names) + " |"]
    lines.append("|---|" + "--:|" * len(names))
    for control in sorted(called):
        lines.append(f"| {control} | " + " | ".join(str(called[control][name] or "") for name in names) + " |")
    return lines


def write_called(called: dict[str, Counter[str]], path: Path) -> None:
    """One line for each of our controls and each name that it was called."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["control", "called", "flows"])
        writer.writerows([one, name, counts[name]] for one, counts in sorted(called.items()) for name in sorted(counts))


def read_called(path: Path) -> dict[str, Counter[str]]:
    """What `write_called` wrote."""
    called: dict[str, Counter[str]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            called.setdefault(row["control"], Counter())[row["called"]] = int(row["flows"])
    return called


SECTION = """\
## Blind test

A classifier trained on Linux's bytes in flight (set D) names the controls of the simulator's flows: {right} of {flows} correctly. A cell counts flows.
The links are that of set D and two others: {links}. Without marks DCTCP is Reno. `tests/python/test_blind.py` repeats it.
"""


def section(directory: Path) -> str:
    """The page's section on the blind test; empty if it was never made."""
    if not (directory / CALLED).is_file():
        return ""
    called = read_called(directory / CALLED)
    right = sum(n for control, counts in called.items() for name, n in counts.items() if is_right(control, name))
    links = "; ".join(f"{rate} Mbit/s, {rtt:g} ms, {limit} packets" for rate, rtt, limit in LINKS[1:])
    introduction = SECTION.format(
        links=links, right=right, flows=sum(sum(counts.values()) for counts in called.values())
    )
    return "\n".join([introduction, *markdown(called)])


def _training(reference: Path) -> list[tuple[str, str, list[float]]]:
    rows: list[tuple[str, str, list[float]]] = []
    cases = {case.name: case for case in read_directory(reference / "D")}
    for path in sorted((reference / "D").glob("D_*_r*.json")):
        result = json.loads(path.read_text())
        case, control = cases[path.stem.rsplit("_r", 1)[0]], result["flows"][0]["cc"]
        rows += [(SAME.get(control, control), path.stem, point) for point in windows(*linux_curve(case, result))]
    return rows


def main(reference: Path, out: Path) -> None:
    """Writes the training features of a directory of results with the series `unacked`."""
    with out.open("w", newline="") as file:
        file.write("# Windows of bytes in flight on Linux 6.1 (set D), as features: see tools/validation_blind.py.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["control", "run", *FEATURES])
        for control, run, point in _training(reference):
            writer.writerow([control, run, *(f"{value:.4f}" for value in point)])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
