"""Beyond the paper: RAFLE with the traffic and the networks that the paper names as future work, a sweep file each."""

from __future__ import annotations

import numpy as np

from ...analysis import measures, metrics, stats
from ...api import Scenario
from ...report.document import Table
from ..base import Options, data

#: File, network, and what stands at its points.
NETWORKS = (
    ("web", "web pages beside two downloads, 10 Mbit/s", ("drop tail", "RAFLE RR", "RAFLE Prio", "RuN2C Prio", "FQ-CoDel")),
    ("leaf-spine", "32 hosts, leaf-spine, web search", ("drop tail", "RAFLE RR", "RAFLE Prio", "RuN2C Prio")),
    ("two-bottlenecks", "two bottlenecks of 10 Mbit/s", ("drop tail", "RAFLE Prio at the first", "RAFLE Prio at both")),
)  # fmt: skip


def table(options: Options, seeds: int) -> Table:
    """Flow completion times in each network by queue."""
    rows = []
    for file, network, queues in NETWORKS:
        scenario = Scenario.load(data("rafle") / f"beyond-{file}.toml")
        results = options.run([scenario], seeds=seeds, part=f"beyond-{file}")
        of: list[dict[str, list[float]]] = [{"fct_p50": [], "fct_p95": []} for _ in queues]
        for done in results.runs:
            run = measures.Run(results, done)
            for name, values in of[done.point].items():
                values.append(metrics.named(run, name))
        base = np.array(of[0]["fct_p50"])
        for place, (queue, cell) in enumerate(zip(queues, of, strict=True)):
            less = stats.mean(100 * (1 - np.array(cell["fct_p50"]) / base))
            shown = [stats.mean(values).format(1) for values in cell.values()]
            rows.append(["" if place else network, queue, *shown, less.format(0) if place else "–"])
    columns = ["network", "queue", "median (ms)", "95th percentile (ms)", "median less than drop tail's (%)"]
    return Table("beyond", f"Beyond the paper: flow completion times, {seeds} seeds", columns, rows, left=2)
