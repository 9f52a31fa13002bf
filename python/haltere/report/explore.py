"""Single runs over time: rate, window, round-trip time, queue, drops and marks, for the page every run, for print one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ..analysis.measures import Run
from ..errors import InputError
from ..runs.results import Results
from . import inner, plot
from .charts import MOST_POINTS, Series, series, thin
from .document import Choice
from .timeline import MOST_LINES, Flows, main_link, pick, spread_of
from .words import short

Array = NDArray[np.float64]
Panel = dict[str, Any]
# Lines of flows in one panel: of more flows those of a class are one.
MOST_FLOWS = MOST_LINES
# Queues that never held more than this, and more queues than that, are left out.
MOST_IDLE, MOST_LINKS = 2, 6
# Curves of another tool in one panel: of more the mean or the sum alone.
MOST_BESIDE = 3
# Runs in one page, and numbers of all together: so that the page opens at once.
MOST_RUNS, MOST_OF_MANY, MOST_NUMBERS = 60, 20, 1_200_000


def runs(results: Results) -> Choice | None:
    """Every run over time (of many: the first seeds of each point), to choose from."""
    most_runs = MOST_RUNS if len(results.runs) <= MOST_RUNS else MOST_OF_MANY
    chosen = sorted(results.runs, key=lambda run: (run.seed, run.point))[:most_runs]
    if not chosen:
        return None
    most = int(np.clip(MOST_NUMBERS / (len(chosen) * (3 * MOST_FLOWS + 4) * 2), 100, 500))
    options: list[tuple[Mapping[str, str], Mapping[str, Any]]] = []
    each = [Run(results, done) for done in sorted(chosen, key=lambda run: (run.point, run.seed))]
    link = main_link(each)
    for run in each:
        done, panels = run.done, _panels(run, link or main_link(run), most)
        if panels:
            labels = {"point": short(results.points[done.point], results.points)} if len(results.points) > 1 else {}
            labels["seed"] = str(done.seed)
            options.append((labels, {"columns": 1, "shared": True, "height": 165, "panels": panels}))
    if not options:
        return None
    left = len(results.runs) - len(chosen)
    caption = (
        "One run over time, warm-up included. Choose another above; drag to zoom in, double click to zoom out, click a name to hide it. "
        f"A line is drawn with at most {most} points; its peaks are kept."
        + (f" {left} more runs are in the results directory (`haltere plot --timeline`)." if left > 0 else "")
    )
    return Choice("run", caption, options)


def draw(
    results: Results,
    point: int | None = None,
    seed: int | None = None,
    link: str | None = None,
    stem: Path | None = None,
    beside: Sequence[str | Path] = (),
) -> tuple[str, list[Path]]:
    """Draws one run as ``figures/timeline-POINT-SEED``, or at ``stem``; returns its caption and files. ``link``: whose queue; default: the
    one used most. ``beside``: files of flent or iperf3, whose curves are drawn dashed."""
    done = pick(results, point, seed)
    run = Run(results, done)
    flows, chosen = Flows(run), main_link(run, link)
    panels = _panels(run, chosen, 2 * MOST_POINTS, [chosen] if chosen else [])
    for path in beside:
        _add_beside(panels, Path(path))
    fig, every = plot.figure(len(panels), 1, width=7.6, height=0.7 + 1.75 * len(panels))
    named: dict[str, Artist] = {}
    for axes, panel in zip(every, panels, strict=True):
        named |= _drawn(axes, panel)
        axes.set_xlim(0, run.experiment.duration_s)
        axes.tick_params(labelbottom=panel is panels[-1])
        for start, end in ((0.0, run.warmup_s), (run.until_s, run.experiment.duration_s)):
            if end > start:
                axes.axvspan(start, end, color="#000000", alpha=0.05, linewidth=0)
    fig.align_ylabels(every)
    with plot.style():
        handles, names = list(named.values()), list(named)
        fig.legend(handles, names, loc="outside upper center", ncols=plot.fitting(fig, names, 4))
    suffix = "" if link is None else "-" + "".join(c if c.isalnum() else "-" for c in link)
    paths = plot.save(fig, stem or results.directory / "figures" / f"timeline-{done.point}-{done.seed}{suffix}")
    parts = [f"One run over time: {results.points[done.point].name}, seed {done.seed}"]
    if chosen:
        parts.append(f"queue, drops and marks are of {chosen}")
    if any(len(own) > 1 for _, own in flows.lines()):
        parts.append(
            "of many flows the sum of their throughput, else the median, with a band from the 10th to the 90th percentile"
        )
    return "; ".join([*parts, *(["grey: warm-up and cooldown"] if run.warmup_s > 0 else [])]) + ".", paths


#: The panel in which curves of another tool are drawn, by their unit.
_BESIDE = {"Mbit/s": "Throughput", "ms": "Round-trip time"}
#: What the names of series end with that flent computes from the others of a file; of each unit the one drawn instead of many.
_COMPUTED = {"Mbit/s": " sum", "ms": " avg", "": " totals"}


def _add_beside(panels: list[Panel], path: Path) -> None:
    """Adds the curves of another tool's file, dashed. Of many the sums, or the mean, are drawn alone."""
    from .. import formats

    found = formats.curves(path)
    used = {one["colour"] for panel in panels for one in panel["series"]}
    free = [one for one in reversed(plot.SHADES) if one.lower() not in used] or list(plot.SHADES)
    drawn = 0
    for unit, title in _BESIDE.items():
        panel = next((one for one in panels if one["title"].startswith(title)), None)
        if panel is None:
            continue
        some = [one for one in found if one.unit == unit and one.times]
        single = [one for one in some if not one.name.endswith(tuple(_COMPUTED.values()))]
        if len(single) > MOST_BESIDE:
            single = [one for one in some if one.name.endswith(_COMPUTED[unit])] or single
        for curve in single:
            x, y = np.array(curve.times), np.array(curve.values)
            name = curve.name if curve.name.startswith(path.name) else f"{path.name}: {curve.name}"
            line = {**_line(name, free[drawn % len(free)], x, y, 2 * MOST_POINTS), "dash": True}
            panel["series"].append(line)
            panel["y"]["max"] = max(panel["y"]["max"], 1.06 * float(y.max()))
            drawn += 1
    if not drawn:
        raise InputError(f"{path}: file must have a curve in {' or '.join(_BESIDE)} for a panel of this run, got none")


def _drawn(axes: Axes, panel: Panel) -> dict[str, Artist]:
    """Draws a panel for print; returns its names with their signs in the legend."""
    for one in panel["series"]:
        columns = {key: np.array(one[key], dtype=np.float64) for key in ("x", "y", "lo", "hi") if key in one}
        look: Any = {"color": one["colour"], "label": one["name"] or None}
        if one["kind"] == "area":
            axes.fill_between(
                columns["x"],
                columns["lo"],
                columns["hi"],
                color=one["colour"],
                alpha=one.get("alpha", 0.18),
                linewidth=0,
            )
        elif one["kind"] == "points":
            axes.plot(columns["x"], columns["y"], ".", markersize=2.2, **look)
        else:
            steps = "steps-post" if one["kind"] == "step" else "default"
            dash = "--" if one.get("dash") else "-"
            axes.plot(columns["x"], columns["y"], linewidth=0.9, linestyle=dash, drawstyle=steps, **look)
    plot.title(axes, panel["title"])
    axes.set_ylabel(panel["y"]["label"])
    axes.set_xlabel(panel["x"]["label"])
    axes.set_ylim(0, panel["y"]["max"])
    return {one["name"]: _sign(one) for one in panel["series"] if one["name"]}


def _sign(one: Series) -> Artist:
    if one["kind"] == "line" and one.get("dash"):
        return Line2D([], [], color=one["colour"], linestyle="--")
    return Patch(color=one["colour"])


class _Shades(dict[str, str]):
    """A colour a name, the same in every panel of a run; black and grey are the link's and the pings'."""

    def __missing__(self, name: str) -> str:
        own = [one for one in plot.SHADES if one != "#000000"]
        self[name] = own[len(self) % len(own)]
        return self[name]


def _panels(run: Run, link: str | None, most: int, queues: Sequence[str] | None = None) -> list[Panel]:
    """The panels of a run. ``queues``: those of these links alone."""
    end, shades = run.experiment.duration_s, _Shades()
    panels: list[Panel] = []
    try:
        flows: Flows | None = Flows(run)
    except (InputError, KeyError):
        flows = None
    if flows is not None and flows.names and len(flows.at_s) > 1:
        panels += _flow_panels(run, flows, link, end, most, shades)
    panels += _completion_panels(run, end, most, shades)
    links = run.watched() if queues is None else queues
    if links:
        panels += _queue_panels(run, links, end, most, shades)
    panels += _inner_panels(run, flows, link, end, most, shades)
    for panel in panels:
        panel["x"]["label"] = "time (s)" if panel is panels[-1] else ""
    ends = [at for at in (run.warmup_s, run.until_s) if 0 < at < end]
    for panel in panels:
        panel["rules"] += [{"axis": "x", "at": at, "name": "", "colour": "#8a929c"} for at in ends]
    return panels


def _inner_panels(
    run: Run, flows: Flows | None, link: str | None, end: float, most: int, shades: Mapping[str, str]
) -> list[Panel]:
    """Inner variables of the queue of the main link and of the senders, if they were recorded."""
    out = []
    for one in inner.of_queue(run, link) if link else []:
        factor, (title, label) = inner.scale(one)[0], _titled(one, f"the queue of {link}")
        out.append(_panel(title, label, end, [_line("", plot.PALETTE[0], one.at_s, one.values[:, 0] * factor, most)]))
    lines = flows.lines() if flows is not None else []
    for one in inner.of_flows(run, flows.names) if flows is not None else []:
        factor, (title, label) = inner.scale(one)[0], _titled(one, "the senders")
        drawn = [(name, one.values[:, own] * factor) for name, own in lines]
        known = [(name, some) for name, some in drawn if np.isfinite(some).any()]
        bands = [part for name, some in known for part in _band(name, shades[name], one.at_s, some, most)]
        out.append(_panel(title, label, end, bands))
    return [panel for panel in out if panel]


def _titled(one: inner.Inner, of: str) -> tuple[str, str]:
    """The title of a panel, of a state with what its numbers mean, and the label of its axis."""
    states = ", ".join(f"{i} {name}" for i, name in enumerate(one.states))
    return f"{one.name} of {of}{': ' if states else ''}{states}", inner.scale(one)[1].replace("\n", " ")


def _panel(title: str, label: str, end: float, drawn: Sequence[Series]) -> Panel | None:
    """A panel, if there is anything in it; the caller labels the time."""
    tops = [v for one in drawn for v in one.get("hi") or one.get("y") or () if v is not None]
    if not tops:
        return None
    axis = {"label": "", "log": False, "min": 0, "reversed": False}
    y = {**axis, "label": label, "max": max(tops) * 1.06 or 1.0}
    return {"title": title, "x": {**axis, "max": end}, "y": y, "series": list(drawn), "rules": [], "texts": []}


def _line(name: str, colour: str, x: Array, y: Array, most: int) -> Series:
    at, values = thin(x, y, most=most)
    return series("line", name, colour, at, y=values, width=1.2)


def _band(name: str, colour: str, x: Array, values: Array, most: int) -> list[Series]:
    """The line of one flow; of several the median, and a band from the 10th to the 90th percentile."""
    if values.shape[1] == 1:
        return [_line(name, colour, x, values[:, 0], most)]
    at, middle, low, high = thin(x, *spread_of(values), most=most)
    return [series("area", name, colour, at, lo=low, hi=high), series("line", name, colour, at, y=middle, width=1.2)]


def _summed(rates: Array, lines: Sequence[tuple[str, list[int]]]) -> Array:
    """The rates, of which those of a class that is drawn as one are all the sum of the class: a median says little of a link's use."""
    out = rates.copy()
    for _, own in lines:
        if len(own) > 1:
            out[:, own] = rates[:, own].sum(axis=1)[:, None]
    return out


def _carried(run: Run, link: str | None) -> list[Series]:
    """What the link carried, in front of what it could have carried: a line, or an area if that changes."""
    carried = run.throughput(link) if link else None
    if link is None or carried is None:
        return []
    edges, rate, could = carried
    own = series("step", f"all of {link}", "#000000", edges, y=[*rate, rate[-1]], width=1.0)
    if could is None:
        return [own]
    name = f"capacity of {link}"
    if not run.varies(link):
        return [series("step", name, "#9aa2ab", edges, y=[*could, could[-1]], width=1.0, dash=True), own]
    hi = np.repeat(could, 2)
    return [series("area", name, "#9aa2ab", np.repeat(edges, 2)[1:-1], lo=np.zeros(len(hi)), hi=hi, alpha=0.35), own]


def _flow_panels(
    run: Run, flows: Flows, link: str | None, end: float, most: int, shades: Mapping[str, str]
) -> list[Panel]:
    lines = flows.lines()
    window, rtt = flows.column("cwnd_bytes", 1e-3), flows.column("srtt_ns", 1e-6)
    window, rtt = np.where(window > 0, window, np.nan), np.where(rtt > 0, rtt, np.nan)
    at, ping = run.ping_series()
    pings = [_line("pings", "#777777", at, ping, most)] if len(at) > 1 else []
    out = []
    for title, label, x, values, more in (
        ("Throughput", "Mbit/s", flows.at_s[1:], flows.rates(), _carried(run, link)),
        ("Congestion window", "kB", flows.at_s, window, []),
        ("Round-trip time: smoothed of TCP, and pings", "ms", flows.at_s, rtt, pings),
    ):
        if title == "Throughput":
            values = _summed(values, lines)
        bands = [one for name, own in lines for one in _band(name, shades[name], x, values[:, own], most)]
        known = [one for one in [*more, *bands] if any(v for v in one.get("y", one.get("hi", ())))]
        out.append(_panel(title, label, end, known))
    return [panel for panel in out if panel]


def _completion_panels(run: Run, end: float, most: int, shades: Mapping[str, str]) -> list[Panel]:
    """Of flows that come and go and of responses: how long each took, at the time of its start."""
    entries = run.completing()
    if not entries:
        return []
    dots = []
    for name in entries:
        rows = run.table("completions", ["flow", "start_ns", "fct_ns"], flow=run.flows_of(name))
        at = rows["start_ns"].to_numpy() * 1e-9
        took = pc.cast(rows["fct_ns"], pa.float64()).to_numpy(zero_copy_only=False) * 1e-6
        known = np.isfinite(took)
        if known.any():
            x, y = thin(at[known], took[known], most=most)
            named = f"{name}: completion"
            dots.append(series("points", named, shades[named], x, y=y, sign="o"))
    panel = _panel("Flow completion time, at the start of the flow", "ms", end, dots)
    return [panel] if panel else []


def _queue_panels(run: Run, links: Sequence[str], end: float, most: int, shades: Mapping[str, str]) -> list[Panel]:
    """Queues, and what they dropped and marked."""
    waiting: list[Panel] = []
    events: list[Panel] = []
    for link in sorted(links, key=run.sent, reverse=True):
        part = run.table("queue_series", ["at_ns", "link", "packets", "ring_packets", "dropped", "marked"], link=link)
        at = part["at_ns"].to_numpy() * 1e-9
        packets = part["packets"].to_numpy().astype(np.float64) + part["ring_packets"].to_numpy()
        if len(at) < 2 or packets.max() <= MOST_IDLE or len(waiting) == MOST_LINKS:
            continue
        waiting.append(_line(f"queue {link}", shades[f"queue {link}"], at, packets, most))
        for what, dash in (("dropped", False), ("marked", True)):
            total = part[what].to_numpy().astype(np.float64)
            if total[-1] > 0:
                edges = np.linspace(0, at[-1], min(200, len(at)))
                per_s = np.diff(np.interp(edges, at, total)) / np.diff(edges)
                named = f"{what} at {link}"
                events.append(series("step", named, shades[named], edges[:-1], y=per_s, width=1.2, dash=dash))
    out = [
        _panel("Queue" if len(links) > 1 else f"Queue of {links[0]}", "packets", end, waiting),
        _panel("Drops, and marks (dashed)", "packets/s", end, events),
    ]
    return [panel for panel in out if panel]
