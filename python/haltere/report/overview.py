"""The document of any experiment: tables of what came of it, figures, and what to be careful about."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis import measures, stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..api import Scenario
from ..runs.results import Point, Results
from . import explore, picture, plot, words
from .document import Block, Bullets, Document, Figure, Heading, Picture, Table, Text

__all__ = ["document", "figures", "quick", "summary"]

QUICK_S, QUICK_SEEDS = 20.0, 2
# Panels of one figure, and lines of one panel, beyond which nobody can read it.
MOST_PANELS, MOST_LINES, MOST_BARS = 6, 8, 12


def quick(scenario: Scenario, seeds: int | None) -> tuple[Scenario, int, str]:
    """The experiment cut down for a first look, its seeds, and what was left out."""
    left = []
    if seeds is None and scenario.seeds > QUICK_SEEDS:
        left.append(f"{scenario.seeds - QUICK_SEEDS} of {scenario.seeds} seeds")
    changes: dict[str, Any] = {}
    told = scenario.to_dict()
    if measures.seconds(told) > QUICK_S:
        left.append(f"what comes after {QUICK_S:g} s of {measures.seconds(told):g} s")
        changes["duration"] = f"{QUICK_S:g}s"
        if measures.seconds(told) - measures.span_s(told) > QUICK_S / 2:
            changes["warmup"] = f"{QUICK_S / 4:g}s"
            left.append(f"warm-up after {QUICK_S / 4:g} s of {told['warmup']}")
    return scenario.with_values(changes), seeds or min(QUICK_SEEDS, scenario.seeds), ", ".join(left)


# -- numbers --------------------------------------------------------------------------------------------------------------


def _mean(runs: Sequence[Run], measure: Callable[..., float], *arguments: object) -> Mean | None:
    """The mean over runs of ``measure(run, *arguments)``, of those that have one."""
    values = [value for value in (measure(run, *arguments) for run in runs) if not math.isnan(value)]
    return stats.mean(values) if values else None


def _told(value: Mean | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"mean": value.mean, "half": None if math.isnan(value.half) else value.half, "n": value.n}


def by_point(results: Results) -> list[tuple[Point, list[Run]]]:
    """The points of the sweep that have runs, each with its runs."""
    runs: dict[int, list[Run]] = {}
    for done in results.runs:
        runs.setdefault(done.point, []).append(Run(results, done))
    return [(results.points[i], each) for i, each in sorted(runs.items())]


def _percentile(values: Any, q: float) -> float:
    return stats.percentile(values, q) if len(values) else math.nan


def summary(results: Results) -> list[dict[str, Any]]:
    """What came of each point of the sweep, for programs: a mean, half its 95 % interval and the number of seeds each.

    Goodput in Mbit/s of all flows of a traffic entry together, Jain's index over its flows, ping round-trip times in ms, mean
    queue in packets, utilisation of a link from 0 to 1, drops in packets.
    """
    out = []
    for point, runs in by_point(results):
        groups = {}
        for group in runs[0].groups():
            groups[group] = {
                "flows": len(runs[0].goodput_mbit(group)),
                "goodput_mbit": _told(_mean(runs, lambda run, g: float(run.goodput_mbit(g).sum()), group)),
                "jain": _told(_mean(runs, lambda run, g: stats.jain(run.goodput_mbit(g)), group)),
            }
        links = {}
        for link in runs[0].watched():
            links[link] = {
                "utilisation": _told(_mean(runs, lambda run, k: run.utilisation(k), link)),
                "mean_queue_packets": _told(_mean(runs, lambda run, k: run.mean_queue_packets(k), link)),
                "drops": _told(_mean(runs, lambda run, k: float(run.drops(k)), link)),
                "marks": _told(_mean(runs, lambda run, k: float(run.marks(k)), link)),
            }
        one: dict[str, Any] = {"point": point.index, "labels": dict(point.labels), "traffic": groups, "links": links}
        if len(runs[0].ping_ms()):
            one["ping_ms"] = {
                name: _told(_mean(runs, lambda run, q=q: _percentile(run.ping_ms(), q)))
                for name, q in (("p50", 50), ("p95", 95), ("p99", 99))
            }
        completed = {group: _completions(runs, group) for group in groups}
        if any(completed.values()):
            one["completions"] = {group: of for group, of in completed.items() if of}
        out.append(one)
    return out


# Sizes by which flow completion times are told, in bytes: over the first and up to the second.
SIZES = {
    "all": (0.0, math.inf),
    "up to 100 kB": (0.0, 1e5),
    "100 kB to 10 MB": (1e5, 1e7),
    "over 10 MB": (1e7, math.inf),
}


def _completions(runs: Sequence[Run], group: str) -> dict[str, dict[str, Any]]:
    """By size of the flows: their number and those that did not end, times in ms and slowdown as percentiles."""
    out: dict[str, dict[str, Any]] = {}
    for name, sizes in SIZES.items():
        slow = [run.completion(group, "slowdown", sizes) for run in runs]
        if not any(len(values) for values in slow):
            continue

        def percentile(run: Run, column: str, q: float, scale: float, sizes: tuple[float, float] = sizes) -> float:
            values = run.completion(group, column, sizes)
            return _percentile(values[~np.isnan(values)] * scale, q)

        out[name] = {
            "flows": round(float(np.mean([len(values) for values in slow]))),
            "unfinished": int(sum(np.isnan(values).sum() for values in slow)),
            **{f"fct_ms_p{q:g}": _told(_mean(runs, percentile, "fct_ns", q, 1e-6)) for q in (50, 95, 99)},
            **{f"slowdown_p{q:g}": _told(_mean(runs, percentile, "slowdown", q, 1.0)) for q in (50, 99)},
        }
    return out


def _cell(told: dict[str, Any] | None, digits: int) -> str:
    if told is None:
        return "–"
    half = math.nan if told["half"] is None else told["half"]
    return Mean(told["mean"], half, math.nan, told["n"]).format(digits)


def _tables(results: Results) -> list[Table]:
    told = summary(results)
    named = len(results.points) > 1
    traffic, links = [], []
    pings = any("ping_ms" in one for one in told)
    ping_rows = []
    for one in told:
        name = [results.points[one["point"]].name] if named else []
        for group, of in one["traffic"].items():
            traffic.append([*name, group, str(of["flows"]), _cell(of["goodput_mbit"], 2), _cell(of["jain"], 4)])
        for link, of in one["links"].items():
            row = [
                _cell(of["utilisation"], 3),
                _cell(of["mean_queue_packets"], 1),
                _cell(of["drops"], 0),
                _cell(of["marks"], 0),
            ]
            links.append([*name, link, *row])
        if pings:
            ping_rows.append(
                [*(name or ["all"]), *(_cell(one.get("ping_ms", {}).get(q), 1) for q in ("p50", "p95", "p99"))]
            )
    first = ["point"] if named else []
    tables = [
        Table(
            "traffic",
            "Traffic",
            [*first, "traffic", "flows", "goodput (Mbit/s)", "Jain's index"],
            traffic,
            left=len(first) + 1,
        ),
        Table(
            "links",
            "Watched links",
            [*first, "link", "utilisation", "mean queue (packets)", "drops", "marks"],
            links,
            left=len(first) + 1,
        ),
    ]
    tables.insert(1, _classes(results, first))
    completed = [
        [*([results.points[one["point"]].name] if named else []), group, size, str(of["flows"]), str(of["unfinished"]),
         *(_cell(of[f"fct_ms_p{q}"], 3) for q in (50, 95, 99)), *(_cell(of[f"slowdown_p{q}"], 2) for q in (50, 99))]
        for one in told
        for group, sizes in one.get("completions", {}).items()
        for size, of in sizes.items()
    ]  # fmt: skip
    columns = [*first, "traffic", "size", "flows", "unfinished", "FCT p50 (ms)", "p95", "p99", "slowdown p50", "p99"]
    tables.append(Table("completions", "Flow completion times", columns, completed, left=len(first) + 2))
    if ping_rows:
        tables.append(Table("ping", "Ping round-trip time (ms)", ["point", "p50", "p95", "p99"], ping_rows))
    return [table for table in tables if table.rows]


def _classes(results: Results, first: list[str]) -> Table:
    """What a flow got by control, where a traffic entry deals out several."""
    rows = []
    for point, runs in by_point(results):
        classes = runs[0].classes()
        if set(classes) <= set(runs[0].groups()):
            continue
        for name, own in classes.items():
            rate = _mean(runs, lambda run, f=own: float(run.goodput_of(f).mean()))
            share = _mean(
                runs, lambda run, f=own: 100 * float(run.goodput_of(f).sum() / max(run.goodput_mbit().sum(), 1e-9))
            )
            cells = [name, str(len(own)), _cell(_told(rate), 2), _cell(_told(share), 1)]
            rows.append([*([point.name] if first else []), *cells])
    columns = [*first, "flows of", "flows", "goodput of a flow (Mbit/s)", "share of all (%)"]
    return Table("classes", "Traffic by control", columns, rows, left=len(first) + 1)


# -- figures --------------------------------------------------------------------------------------------------------------


def figures(results: Results) -> list[tuple[str, list[Path]]]:
    """Draws every figure that the results allow into ``figures/``: caption and the files (PNG, PDF) of each."""
    points = by_point(results)
    if not points:
        return []
    folder = results.directory / "figures"
    makers: list[tuple[str, Callable[[list[tuple[Point, list[Run]]], Path], str]]] = [
        ("goodput", _goodput_figure),
        ("rates", _rates_figure),
        ("queue", _queue_figure),
        ("rtt-cdf", _rtt_figure),
        ("heat", _heat_figure),
    ]
    out = []
    for name, make in makers:
        caption = make(points, folder / name)
        if caption:
            out.append((caption, [folder / f"{name}.png", folder / f"{name}.pdf"]))
    return out


def _panels(count: int, height: float = 2.0) -> tuple[Any, list[Any]]:
    columns = 1 if count < 4 else 2
    rows = math.ceil(count / columns)
    fig, panels = plot.figure(rows, columns, height=max(2.8, height * rows + 0.5), share=True)
    for spare in panels[count:]:
        spare.set_visible(False)
    for axes in panels[max(0, count - columns) : count]:
        axes.set_xlabel("time (s)")
        axes.tick_params(labelbottom=True)
    return fig, panels[:count]


def _more(points: Sequence[Any], most: int) -> str:
    return f" The first {most} of {len(points)} points." if len(points) > most else ""


def _goodput_figure(points: list[tuple[Point, list[Run]]], stem: Path) -> str:
    shown = points[:MOST_BARS]
    classes = list(dict.fromkeys(name for _, runs in shown for name in runs[0].classes()))
    if len(shown) * len(classes) < 2:
        return ""
    series = {}
    for name in classes:
        per_flow: list[Mean | None] = []
        for _, runs in shown:
            own = runs[0].classes().get(name)
            per_flow.append(_mean(runs, lambda run, f=own: float(run.goodput_of(f).mean())) if own else None)
        series[name] = per_flow
    fig, (axes,) = plot.figure(height=3.2 if len(shown) > 3 else 2.8)
    every = [point for point, _ in points]
    plot.bars(axes, [words.short(point, every) if len(points) > 1 else "" for point, _ in shown], series)
    if len(shown) > 3:
        axes.tick_params(axis="x", labelrotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
    axes.set_ylabel("goodput of a flow (Mbit/s)")
    plot.legend(fig, axes)
    plot.save(fig, stem)
    return "Mean goodput of a flow, with 95 % intervals over the seeds." + _more(points, MOST_BARS)


def _rates_figure(points: list[tuple[Point, list[Run]]], stem: Path) -> str:
    shown = [(point, runs) for point, runs in points[:MOST_PANELS] if runs[0].rate_series(None) is not None]
    if not shown:
        return ""
    classes = list(dict.fromkeys(name for _, runs in shown for name in runs[0].classes()))
    shades = plot.colours(classes)
    fig, panels = _panels(len(shown))
    every = [point for point, _ in points]
    for axes, (point, runs) in zip(panels, shown, strict=True):
        for name, own in runs[0].classes().items():
            series = [run.rate_of(own) for run in runs]
            usable = [one for one in series if one is not None]
            if usable:
                plot.band(axes, usable[0][0], [rate for _, rate in usable], name, shades[name])
        if len(points) > 1:
            plot.title(axes, words.short(point, every))
        axes.margins(x=0.01)
        axes.set_ylabel("Mbit/s a flow")
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    plot.legend(fig, panels[0])
    plot.save(fig, stem)
    return "Goodput of a flow over time: mean over flows and seeds, band from the lowest seed to the highest." + _more(
        points, MOST_PANELS
    )


def _queue_figure(points: list[tuple[Point, list[Run]]], stem: Path) -> str:
    shown = [(p, runs) for p, runs in points[:MOST_PANELS] if runs[0].watched() and len(runs[0].table("queue_series"))]
    if not shown:
        return ""
    fig, panels = _panels(len(shown))
    for axes, (point, runs) in zip(panels, shown, strict=True):
        link = runs[0].watched()[0]
        series = [run.queue(link) for run in runs]
        length = min(len(one.at_s) for one in series)
        plot.band(
            axes,
            series[0].at_s[:length],
            [(one.packets + one.ring_packets)[:length] for one in series],
            link,
            plot.PALETTE[0],
        )
        plot.title(axes, f"{words.short(point, [p for p, _ in points])}: {link}" if len(points) > 1 else link)
        axes.margins(x=0.01)
        axes.set_ylabel("packets")
    panels[0].set_ylim(bottom=0)  # shared: set once, when all is drawn
    plot.save(fig, stem)
    return "Packets waiting at the first watched link: mean over the seeds, band from lowest to highest." + _more(
        points, MOST_PANELS
    )


def _rtt_figure(points: list[tuple[Point, list[Run]]], stem: Path) -> str:
    shown = [(point, np.concatenate([run.ping_ms() for run in runs])) for point, runs in points]
    shown = [(point, rtt) for point, rtt in shown if len(rtt)]
    if not shown:
        return ""
    fig, (axes,) = plot.figure()
    for (point, rtt), colour in zip(shown[:MOST_LINES], plot.PALETTE, strict=False):
        plot.cdf(axes, rtt, words.short(point, [p for p, _ in points]), colour)
    axes.set_xlabel("ping round-trip time (ms)")
    axes.set_ylabel("part of the pings")
    if len(shown) > 1:
        plot.legend(fig, axes, 3)
    plot.save(fig, stem)
    return "Distribution of ping round-trip times over all seeds." + _more(shown, MOST_LINES)


def _heat_figure(points: list[tuple[Point, list[Run]]], stem: Path) -> str:
    keys = list(dict.fromkeys(key for point, _ in points for key in point.labels))
    if len(keys) != 2:
        return ""
    names = [list(dict.fromkeys(_value(point, key) for point, _ in points)) for key in keys]
    if min(map(len, names)) < 2:
        return ""
    pings = all(len(runs[0].ping_ms()) for _, runs in points)
    matrix = np.full((len(names[0]), len(names[1])), math.nan)
    for point, runs in points:
        value = _mean(
            runs,
            (lambda run: _percentile(run.ping_ms(), 95)) if pings else (lambda run: float(run.goodput_mbit().sum())),
        )
        if value is not None:
            matrix[names[0].index(_value(point, keys[0])), names[1].index(_value(point, keys[1]))] = value.mean
    fig, (axes,) = plot.figure(height=1.2 + 0.5 * len(names[0]))
    what, unit = ("95th percentile of ping RTT", "ms") if pings else ("goodput of all flows", "Mbit/s")
    plot.heat(axes, matrix, names[0], names[1], unit)
    plot.title(axes, f"{what} ({unit})")
    axes.set_ylabel(_axis(keys[0]))
    axes.set_xlabel(_axis(keys[1]))
    plot.save(fig, stem)
    return f"{what[0].upper()}{what[1:]} ({unit}) over the sweep, mean over the seeds."


def _value(point: Point, key: str) -> str:
    value = point.labels.get(key)
    return (
        str(value["kind"])
        if isinstance(value, dict) and "kind" in value
        else value
        if isinstance(value, str)
        else json.dumps(value)
    )


def _axis(key: str) -> str:
    return key.rsplit(".", 1)[-1]


def document(results: Results, *, figures: bool) -> Document:
    """The document of an experiment: what came of it in words, tables and cautions; where asked for with the network, figures and single runs."""
    out = Document(results.title or "Experiment")
    points = by_point(results)
    if points:
        out.add(Heading("In words"), Bullets(words.sentences(results, points)))
    if points and figures:
        out.add(*_picture(results))
    told = words.cautions(results, points)
    care: list[Block] = [Heading("To be careful about"), Bullets(told, care=True)] if told else []
    if not figures:
        return _added(out, [*_tables(results), *care])
    _added(out, care)
    tables = _tables(results)
    _added(out, [Heading("Tables"), *tables] if tables else [])
    drawn, single = _draw(results), explore.runs(results)
    _added(out, [Heading("Figures"), *drawn] if drawn else [])
    _added(out, [Heading("Single runs"), single] if single else [])
    return _added(out, [Heading("How this was made"), Text(_made(results))])


def _added(out: Document, blocks: Sequence[Block]) -> Document:
    out.add(*blocks)
    return out


def _picture(results: Results) -> list[Block]:
    rows = {point.index: runs[0].links.to_pylist() for point, runs in by_point(results)}
    drawn = [picture.network(point.scenario, rows.get(point.index, ())) for point in results.points]
    known = [one for one in drawn if one is not None]
    if not known:
        return []
    many = " What differs between the points of the sweep shows its values." if len(known) > 1 else ""
    caption = f"The network: rate and delay of each link, in blue the queues (→ in front of the link, ← of its other direction); thick: watched.{many}"
    return [Heading("The network"), Picture("network", picture.svg(known), caption)]


def _draw(results: Results) -> list[Figure]:
    return [Figure(paths[0], caption) for caption, paths in figures(results)]


def _made(results: Results) -> str:
    made = results.manifest["environment"]
    return (
        f"haltere {made['haltere']} (build {made['build']}, source {made['git'] or 'installed'}), Python {made['python']}, {made['platform']}; "
        f"digest of all runs {results.digest()}. manifest.json holds the experiment with every default."
    )
