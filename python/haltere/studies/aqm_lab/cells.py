"""What is measured in a cell (a number of pairs under a discipline), and what the paper and ns-3 have for it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...runs.records import Done, Point
from ...runs.results import Results
from ..base import data, expected

ID = "aqm-lab"
LABELS = {"pfifo_fast": "pfifo_fast", "ared": "ARED", "codel": "CoDel", "fq_codel": "FQ-CoDel", "pie": "PIE"}
WATCHED = "n2>n3"
_QUEUE = "topology.chain.links[1].queue"

Cells = dict[tuple[int, str], "Cell"]


@dataclass
class Cell:
    """One number of pairs under one discipline: one value a seed in each list."""

    median_rtt_ms: list[float] = field(default_factory=list)
    p95_rtt_ms: list[float] = field(default_factory=list)
    jain_up: list[float] = field(default_factory=list)
    jain_down: list[float] = field(default_factory=list)
    goodput_mbit: list[float] = field(default_factory=list)
    drops: list[float] = field(default_factory=list)
    queue_packets: list[float] = field(default_factory=list)

    def of(self, measure: str) -> list[float]:
        """The values of a measure."""
        values: list[float] = getattr(self, measure)
        return values

    def first(self, seeds: int) -> Cell:
        """Of so many seeds alone."""
        return Cell(**{name: values[:seeds] for name, values in vars(self).items()})


def pairs_of(point: Point) -> int:
    """The number of pairs of a point of the sweep."""
    return point.experiment.traffic[0].count


def discipline(point: Point) -> str:
    """The discipline of a point of the sweep, as the study calls it."""
    kind = str(point.labels[_QUEUE]["kind"])
    return "ared" if kind == "red" else kind


def _rates_mbit(run: measures.Run, sender: str) -> list[float]:
    """The rate of each flow from a node as the authors compute it: all that arrived, over the time of the last arrival.

    The time is that of the first sample (one a second) with all of the flow's bytes.
    """
    flows = run.data_flows.filter(pc.equal(run.data_flows["from"], sender))["flow"].to_pylist()
    series = run.table("flow_series").select(["at_ns", "flow", "received_bytes"])
    series = series.filter(pc.is_in(series["flow"].cast(pa.string()), value_set=pa.array(flows, pa.string())))
    names = np.asarray(series["flow"].to_pylist())
    at, received = series["at_ns"].to_numpy() * 1e-9, series["received_bytes"].to_numpy()
    rates = []
    for flow in flows:
        mine = names == flow
        most = received[mine].max()
        rates.append(float(most * 8e-6 / at[mine][received[mine] >= most][0]) if most else 0.0)
    return rates


def measure(results: Results, chosen: Iterable[Done], whole_ms: bool) -> Cells:
    """The cells of these runs. ``whole_ms``: round-trip times are cut to whole milliseconds, as the authors' program writes them."""
    cells: Cells = {}
    for done in chosen:
        point = results.points[done.point]
        cell = cells.setdefault((pairs_of(point), discipline(point)), Cell())
        run = measures.Run(results, done)
        cell.jain_up.append(stats.jain(_rates_mbit(run, "n1")))
        cell.jain_down.append(stats.jain(_rates_mbit(run, "n3")))
        cell.goodput_mbit.append(float(run.goodput_mbit().sum()))
        rtt = run.ping_ms()
        cell.median_rtt_ms.append(stats.percentile(np.floor(rtt) if whole_ms else rtt, 50))
        cell.p95_rtt_ms.append(stats.percentile(rtt, 95))
        cell.drops.append(float(sum(run.drops(link) for link in (WATCHED, "n3>n2"))))
        cell.queue_packets.append(run.mean_queue_packets(WATCHED))
    return cells


def runs_at(results: Results, chosen: Iterable[Done], pairs: int, name: str) -> list[measures.Run]:
    """The runs of one cell, by seed."""
    points = results.points
    return [
        measures.Run(results, done)
        for done in chosen
        if (pairs_of(points[done.point]), discipline(points[done.point])) == (pairs, name)
    ]


@dataclass(frozen=True)
class Given:
    """What others have for the cells: the paper, and ns-3 with the settings of one reading."""

    paper: Mapping[str, Any]
    ns3: Cells
    #: What ns-3 ran, in words.
    ns3_runs: str

    @classmethod
    def authors(cls) -> Given:
        """Beside the authors' set-up: `ns3.csv`, which `benches/aqm_lab.py` writes."""
        cells: Cells = {}
        with (data(ID) / "ns3.csv").open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                cell = cells.setdefault((int(row["pairs"]), row["queue"]), Cell())
                cell.median_rtt_ms.append(float(row["median_whole_ms"]))
                for name in ("p95_rtt_ms", "jain_up", "jain_down", "goodput_mbit", "drops", "queue_packets"):
                    cell.of(name).append(float(row[name]))
        runs = len(next(iter(cells.values())).drops)
        return cls(expected(ID)["paper"], cells, f"ns-3 3.37 with the same settings, {runs} runs")

    def of_paper(self, measure: str, pairs: int, name: str) -> float | None:
        """What the paper printed, if it did."""
        row = self.paper.get(measure, {}).get(str(pairs))
        return None if row is None else float(row[list(LABELS).index(name)])

    def of_ns3(self, measure: str, pairs: int, name: str) -> Mean | None:
        """What ns-3 gave, if it was run."""
        cell = self.ns3.get((pairs, name))
        values = cell.of(measure) if cell else []
        return stats.mean(values) if values else None
