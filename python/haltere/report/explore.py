"""Single runs over time, for the page: rate, window, round-trip time, queue, drops and marks of every run, one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..analysis import measures
from ..analysis.measures import Run
from ..errors import InputError
from ..runs.results import Results
from . import plot
from .charts import numbers, thin
from .document import Choice
from .timeline import Flows
from .words import short

__all__ = ["runs"]

Array = NDArray[np.float64]
Panel = dict[str, Any]
# Of more flows than this the means by control are shown.
MOST_FLOWS = 16
# Queues that never held more than this, and more queues than that, are left out.
MOST_IDLE, MOST_LINKS = 2, 6
# Runs in one page, and numbers of all together: so that the page opens at once.
MOST_RUNS, MOST_NUMBERS = 60, 1_200_000


def runs(results: Results) -> Choice | None:
    """Every run over time (of many: the first seeds of each point), to choose from."""
    chosen = sorted(results.runs, key=lambda run: (run.seed, run.point))[:MOST_RUNS]
    if not chosen:
        return None
    most = int(np.clip(MOST_NUMBERS / (len(chosen) * (3 * MOST_FLOWS + 4) * 2), 100, 500))
    options: list[tuple[Mapping[str, str], Mapping[str, Any]]] = []
    for done in sorted(chosen, key=lambda run: (run.point, run.seed)):
        panels = _panels(Run(results, done), most)
        if panels:
            labels = {"point": short(results.points[done.point], results.points)} if len(results.points) > 1 else {}
            labels["seed"] = str(done.seed)
            options.append((labels, {"columns": 1, "shared": True, "height": 165, "panels": panels}))
    if not options:
        return None
    left = len(results.runs) - len(chosen)
    caption = (
        "One run over time, warm-up included. Choose another above; drag to zoom in, double click to zoom out, click a name to hide it. "
        f"Peaks are kept, else at most {most} places of a line are drawn."
        + (f" {left} more runs are in the results directory (`haltere plot --timeline`)." if left > 0 else "")
    )
    return Choice("run", caption, options)


def _panels(run: Run, most: int) -> list[Panel]:
    end = measures.seconds(run.scenario)
    warmup = run.warmup_s
    panels: list[Panel] = []
    try:
        flows: Flows | None = Flows(run)
    except (InputError, KeyError):
        flows = None
    if flows is not None and flows.names and len(flows.at_s) > 1:
        panels += _flow_panels(flows, end, most)
    links = run.watched()
    if links:
        taken = len(_folded(flows.labels)[0]) if flows is not None else 0
        panels += _queue_panels(run, links, end, most, taken)
    for panel in panels if warmup > 0 else []:
        panel["rules"].append({"axis": "x", "at": warmup, "name": "", "colour": "#8a929c"})
    return panels


def _panel(title: str, label: str, end: float, series: Sequence[Mapping[str, Any]], last: bool = False) -> Panel | None:
    tops = [v for one in series for v in one.get("hi", one.get("y", [])) if v is not None]
    if not tops:
        return None
    high = max(tops) * 1.06 or 1.0
    return {
        "title": title,
        "x": {"label": "time (s)" if last else "", "log": False, "min": 0, "max": end, "reversed": False},
        "y": {"label": label, "log": False, "min": 0, "max": high, "reversed": False},
        "series": list(series),
        "rules": [],
        "texts": [],
    }


def _line(name: str, colour: str, x: Array, y: Array, most: int) -> dict[str, Any]:
    at, values = thin(x, y, most=most)
    return {"kind": "line", "name": name, "colour": colour, "x": numbers(at), "y": numbers(values), "width": 1.2}


def _flow_panels(flows: Flows, end: float, most: int) -> list[Panel]:
    names, fold = _folded(flows.labels)
    shades = plot.colours(names)
    got = np.nan_to_num(flows.column("received_bytes", 8e-6))
    rate = np.diff(got, axis=0) / np.diff(flows.at_s)[:, None]
    window, rtt = flows.column("cwnd_bytes", 1e-3), flows.column("srtt_ns", 1e-6)
    window, rtt = np.where(window > 0, window, np.nan), np.where(rtt > 0, rtt, np.nan)
    out = []
    for title, label, at, values in (
        ("Goodput", "Mbit/s", flows.at_s[1:], rate),
        ("Congestion window", "kB", flows.at_s, window),
        ("Smoothed round-trip time", "ms", flows.at_s, rtt),
    ):
        series = [_line(name, shades[name], at, _mean(values[:, fold[name]]), most) for name in names]
        series = [one for one in series if any(v is not None for v in one["y"])]
        out.append(_panel(title, label, end, series))
    return [panel for panel in out if panel]


def _mean(values: Array) -> Array:
    """The mean of each row, of the numbers in it."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    return np.where(count > 0, np.where(known, values, 0).sum(axis=1) / np.maximum(count, 1), np.nan)


def _folded(labels: Sequence[str]) -> tuple[list[str], dict[str, list[int]]]:
    """The flows by name, or by control if they are many.

    >>> _folded(["a cubic", "b reno"])[0]
    ['a cubic', 'b reno']
    >>> _folded([f"f{i} cubic" for i in range(20)])[0]
    ['mean of 20 flows cubic']
    """
    if len(labels) <= MOST_FLOWS:
        return list(labels), {label: [i] for i, label in enumerate(labels)}
    kinds: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        kinds.setdefault(label.rsplit(" ", 1)[-1] if " " in label else "", []).append(i)
    groups = {f"mean of {len(places)} flows {kind}".strip(): places for kind, places in kinds.items()}
    return list(groups), groups


def _queue_panels(run: Run, links: Sequence[str], end: float, most: int, taken: int) -> list[Panel]:
    """Queues, and what they dropped and marked; their colours come after the ``taken`` ones of the flows."""
    table = run.table("queue_series")
    name = table["link"].cast(pa.string())
    waiting: list[Panel] = []
    events: list[Panel] = []
    for link in sorted(links, key=run.sent, reverse=True):
        part = table.filter(pc.equal(name, link))
        at = part["at_ns"].to_numpy() * 1e-9
        packets = part["packets"].to_numpy().astype(np.float64) + part["ring_packets"].to_numpy()
        if len(at) < 2 or packets.max() <= MOST_IDLE or len(waiting) == MOST_LINKS:
            continue
        colour = plot.PALETTE[(taken + len(waiting)) % len(plot.PALETTE)]
        waiting.append(_line(f"queue {link}", colour, at, packets, most))
        for what, dash in (("dropped", False), ("marked", True)):
            total = part[what].to_numpy().astype(np.float64)
            if total[-1] > 0:
                edges = np.linspace(0, at[-1], min(200, len(at)))
                per_s = np.diff(np.interp(edges, at, total)) / np.diff(edges)
                step = {"kind": "step", "name": f"{what} at {link}", "colour": colour, "width": 1.2, "dash": dash}
                events.append({**step, "x": numbers(edges[:-1]), "y": numbers(per_s)})
    out = [
        _panel("Queue", "packets", end, waiting, last=not events),
        _panel("Drops, and marks (dashed)", "packets/s", end, events, last=True),
    ]
    return [panel for panel in out if panel]
