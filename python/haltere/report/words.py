"""What came of an experiment, in plain sentences, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..analysis import measures, stats
from ..analysis.measures import Run
from ..analysis.stats import Mean
from ..runs.results import Point, Results
from .picture import spelled

__all__ = ["cautions", "number", "sentences", "short"]

# So many points of a sweep are told one by one; of more, how many went which way.
MOST_TOLD = 6
Pairs = list[tuple[Point, list[Run]]]


def number(value: float) -> str:
    """Three significant digits, plainly.

    >>> number(12.345), number(0.98765), number(1234.5), number(0.0)
    ('12.3', '0.988', '1234', '0')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def _told(value: Mean) -> str:
    """The mean with its interval, to two significant digits of the interval where the mean has as many.

    >>> _told(Mean(637.04, 12.8, 9, 10)), _told(Mean(42.42, 0.3, 0.2, 10)), _told(Mean(100.0, 0.002, 0.001, 10))
    ('637 ± 13', '42.42 ± 0.30', '100.0 ± 0.0')
    """
    if math.isnan(value.half):
        return number(value.mean)
    own = max(0, 2 - math.floor(math.log10(abs(value.mean)))) if value.mean else 2
    digits = own + 1 if value.half == 0 else min(max(0, 1 - math.floor(math.log10(value.half))), own + 1)
    return value.format(digits)


def short(point: Point, points: Sequence[Point]) -> str:
    """A point's name; the value alone where only one thing was swept."""
    return point.name.partition("=")[2] if len(point.labels) == 1 and len(points) > 1 else point.name


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _mean(runs: Sequence[Run], measure: Callable[[Run], float]) -> Mean | None:
    values = [value for value in map(measure, runs) if not math.isnan(value)]
    return stats.mean(values) if values else None


def sentences(results: Results, points: Pairs) -> list[str]:
    """The experiment in words: what was run, how the links were used, how long packets waited, who got how much."""
    if not points:
        return []
    out = [_what_was_run(results, points)]
    out += _utilisation(results, points)
    out += _delay(results, points)
    out += _fairness(results, points)
    out += _shares(results, points)
    return out


def _what_was_run(results: Results, points: Pairs) -> str:
    scenario, flows = points[0][0].scenario, points[0][1][0].flows
    data = flows.filter(pc.not_equal(flows["kind"], "ping"))
    kinds: dict[str, int] = {}
    for row in data.select(["kind", "congestion"]).to_pylist():
        what = f"{row['congestion']} {row['kind']}" if row["congestion"] else str(row["kind"])
        kinds[what] = kinds.get(what, 0) + 1
    who = _listed([f"{n} {what} flow{'s' if n > 1 else ''}" for what, n in kinds.items()]) if kinds else "No flows"
    axes = list(dict.fromkeys(key for point in results.points for key in point.labels))
    swept = ""
    if axes:
        each = []
        for key in axes:
            values = list(dict.fromkeys(Point(0, {key: p.labels[key]}, {}).name.partition("=")[2] for p in results.points if key in p.labels))  # fmt: skip
            each.append(f"{key.rsplit('.', 1)[-1]} ({', '.join(values[:8])}{' …' if len(values) > 8 else ''})")
        swept = (
            f", for {len(results.points)} combinations of {_listed(each)}" if len(axes) > 1 else f", for each {each[0]}"
        )
        who += " in the first" if len(results.points) > 1 and _changing(points) else ""
    many = f"{len(results.seeds)} seed{'s' if len(results.seeds) > 1 else ''}"
    warmup = str(scenario.get("warmup", "0s"))
    left = f" of which the first {spelled(warmup)} are left out" if measures.seconds_of(warmup) > 0 else ""
    return (
        f"{who} ran for {spelled(scenario['duration'])},{left + ',' if left else ''} with {many}{swept}: {len(results.runs)} run{'s' if len(results.runs) > 1 else ''}. "
        + ("Figures are means over the seeds with 95 % Student-t intervals." if len(results.seeds) > 1 else "")
    ).rstrip()


def _changing(points: Pairs) -> bool:
    """The flows of one point are others than those of another."""
    return len({tuple(runs[0].flows["flow"].to_pylist()) for _, runs in points}) > 1


def _extremes(
    results: Results, points: Pairs, measure: Callable[[Run], float]
) -> tuple[tuple[str, Mean], tuple[str, Mean]] | None:
    """The points where the measure is least and most, with its mean there."""
    told = [(short(p, results.points), _mean(runs, measure)) for p, runs in points]
    known = [(name, value) for name, value in told if value is not None]
    if not known:
        return None
    return min(known, key=lambda one: one[1].mean), max(known, key=lambda one: one[1].mean)


def _same(low: Mean, high: Mean) -> bool:
    return abs(high.mean - low.mean) <= 0.005 * max(abs(high.mean), 1e-12)


def _utilisation(results: Results, points: Pairs) -> list[str]:
    out: list[str] = []
    for link in points[0][1][0].watched():

        def used(run: Run, link: str = link) -> float:
            return 100 * run.utilisation(link) if link in run.watched() else math.nan

        found = _extremes(results, points, used)
        if found is None or found[1][1].mean < 5:
            continue
        (least, low), (most, high) = found
        if len(points) == 1 or _same(low, high):
            out.append(f"The link {link} was {_told(high)} % busy{' in every case' if len(points) > 1 else ''}.")
        else:
            out.append(f"The link {link} was busiest with {most} ({_told(high)} %) and least busy with {least} ({_told(low)} %).")  # fmt: skip
    return out[:3]


def _delay(results: Results, points: Pairs) -> list[str]:
    pings = all(len(run.ping_ms()) for _, runs in points for run in runs[:1])
    if pings:
        what, measure = "95 % of the pings came back within", lambda run: stats.percentile(run.ping_ms(), 95)
    else:
        link = next((k for k in points[0][1][0].watched() if points[0][1][0].utilisation(k) >= 0.05), None)
        if link is None:
            return []
        what = f"A packet waited at {link} for a mean of"

        def measure(run: Run) -> float:
            waits = run.queue_delay_ms(link) if link in run.watched() else np.array([])
            return float(waits.mean()) if len(waits) else math.nan

    try:
        found = _extremes(results, points, measure)
    except ValueError:
        return []
    if found is None:
        return []
    (least, low), (most, high) = found
    if len(points) == 1 or _same(low, high):
        return [f"{what} {_told(high)} ms{' in every case' if len(points) > 1 else ''}."]
    out = [f"{what} {_told(low)} ms with {least}, the least, and {_told(high)} ms with {most}, the most."]
    return out + _lead(results, points, measure, least)


def _lead(results: Results, points: Pairs, measure: Callable[[Run], float], best: str) -> list[str]:
    """By how much the least delay is below the next, seed by seed."""
    if not 2 <= len(points) <= 12 or len(results.seeds) < 2:
        return []
    by_seed = {short(p, results.points): {run.done.seed: measure(run) for run in runs} for p, runs in points}
    ranked = sorted(by_seed, key=lambda name: float(np.mean(list(by_seed[name].values()))))
    second = next((name for name in ranked if name != best), None)
    if second is None:
        return []
    seeds = sorted(set(by_seed[best]) & set(by_seed[second]))
    if len(seeds) < 2:
        return []
    gap = stats.paired_difference([by_seed[second][s] for s in seeds], [by_seed[best][s] for s in seeds])
    if gap.low > 0:
        return [f"Seed by seed that is {_told(gap)} ms less than with {second}, which comes next."]
    return [f"Between {best} and {second}, which comes next, these seeds tell no difference ({_told(gap)} ms)."]


def _fairness(results: Results, points: Pairs) -> list[str]:
    def fair(run: Run) -> float:
        rates = run.goodput_mbit()
        return stats.jain(rates) if len(rates) > 1 else math.nan

    found = _extremes(results, points, fair)
    if found is None:
        return []
    (least, low), (most, high) = found
    if len(points) == 1 or _same(low, high):
        return [f"Jain's index over all flows is {_told(high)} (1: all get the same){' in every case' if len(points) > 1 else ''}."]  # fmt: skip
    return [
        f"Shares are most even with {most} (Jain's index {_told(high)}) and least even with {least} ({_told(low)})."
    ]


def _greedy(run: Run) -> set[str]:
    """The traffic entries whose flows always have something to send: what they get is what the others leave them."""
    out = set()
    for place, entry in enumerate(run.scenario.get("traffic", [])):
        if entry["kind"] in ("bulk", "multipath") and not entry.get("bytes") and not entry.get("rate"):
            out.add(str(entry.get("name") or f"{entry['kind']}{place + 1}"))
    return out


def _by_control(run: Run) -> dict[str, float]:
    """The mean goodput of a flow that always has something to send, by what it is; Mbit/s."""
    greedy = _greedy(run)
    groups = dict(zip(run.flows["flow"].to_pylist(), run.flows["group"].to_pylist(), strict=True))
    classes = {name: own for name, own in run.classes().items() if groups[own[0]] in greedy}
    return {name: float(run.goodput_of(own).mean()) for name, own in classes.items()}


def _shares(results: Results, points: Pairs) -> list[str]:
    """Who got the most, and whether the seeds agree."""
    told: list[tuple[str, str, str]] = []
    for point, runs in points:
        rates = [_by_control(run) for run in runs]
        names = [name for name in rates[0] if all(name in one for one in rates)]
        if len(names) < 2:
            continue
        ranked = sorted(names, key=lambda name: -float(np.mean([one[name] for one in rates])))
        first, last = ranked[0], ranked[-1]
        top = stats.mean([one[first] for one in rates])
        low = stats.mean([one[last] for one in rates])
        gap = stats.paired_difference([one[first] for one in rates], [one[ranked[1]] for one in rates])
        where = f"With {short(point, results.points)}, " if len(points) > 1 else "Of all flows "
        verb = "got the most in its one run" if math.isnan(gap.half) else "won"
        clear = math.isnan(gap.half) or gap.low > 0
        if clear:
            times = f", {number(top.mean / low.mean)} times what {last} got ({_told(low)})" if low.mean > 0 else ""
            text = f"{where}{first} {verb}: {_told(top)} Mbit/s a flow{times}."
        else:
            text = f"{where}{first} and {ranked[1]} got the same as far as the seeds tell ({_told(gap)} Mbit/s between them)."  # fmt: skip
        told.append((first if clear else "", text, where))
    if len(told) <= MOST_TOLD:
        return [text for _, text, _ in told]
    wins: dict[str, int] = {}
    for first, _, _ in told:
        wins[first] = wins.get(first, 0) + 1
    unclear = wins.pop("", 0)
    most = sorted(wins.items(), key=lambda one: -one[1])
    who = f"The most of the rate went to {_listed([f'{name} in {n}' for name, n in most])} of {len(told)} points" if wins else ""  # fmt: skip
    rest = f"in {unclear} of {len(told)} points the seeds tell no winner" if unclear else ""
    both = "; ".join(part for part in (who, rest) if part) + "."
    return [both[0].upper() + both[1:]]


# -- to be careful about --------------------------------------------------------------------------------------------------


def cautions(results: Results, points: Pairs) -> list[str]:
    """What a careful reader would ask about these results."""
    out = []
    if not results.complete:
        out.append("Not all runs are done: run the same command again to go on.")
    if len(results.seeds) < 5:
        seeds = f"{len(results.seeds)} seed{'s' if len(results.seeds) > 1 else ''}"
        out.append(f"Only {seeds}: intervals are wide or missing; ten is a good number.")
    drifting, limited, idle, full, phase = [], [], [], [], []
    for point, runs in points:
        name, run = short(point, results.points), runs[0]
        rate = run.total_rate_series()
        if rate is not None and stats.stationarity(rate).verdict == "drifting":
            drifting.append(name)
        if _buffer_limited(run):
            limited.append(name)
        if _idle(run):
            idle.append(name)
        if _overrun(run):
            full.append(name)
        if _in_step(run):
            phase.append(name)
    checks = (
        (drifting, "The total rate still drifts after the warm-up ({}): a longer warm-up or run may tell another story."),
        (limited, "Windows of bulk flows reach the buffer of an endpoint ({}): their rates are the buffer's, not the control's. Raise `recv_buffer_max` and `send_buffer_max` in `[tcp]`."),
        (idle, "No watched link was more than 80 % busy although bulk flows always have something to send ({}): the limit is elsewhere."),
        (full, "Most drops of a discipline that manages its queue were for want of room ({}): its `limit` decides, not its law."),
        (phase, "No link has any jitter ({}): which flow finds room in a full drop-tail queue may be decided by phase (Floyd and Jacobson 1992); `jitter` of the time of one packet at the bottleneck undoes that."),
    )  # fmt: skip
    for names, text in checks:
        if names:
            more = f" and {len(names) - 6} more" if len(names) > 6 else ""
            out.append(text.format("in every point" if len(points) > 1 and len(names) == len(points) else ", ".join(names[:6]) + more))  # fmt: skip
    return out


def _bytes(text: object) -> float:
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    for unit in sorted(scale, key=len, reverse=True):
        if str(text).endswith(unit):
            return float(str(text)[: -len(unit)]) * scale[unit]
    return math.inf


def _window_limit(tcp: Mapping[str, Any], receiver: Mapping[str, Any]) -> float:
    """The most that a flow may have under way for the buffers' sake, in bytes."""
    receive = receiver.get("recv_buffer") or receiver.get("recv_buffer_max", "")
    send = tcp.get("send_buffer") or tcp.get("send_buffer_max", "")
    return min(_bytes(receive), _bytes(send))


def _buffer_limited(run: Run) -> bool:
    """The median window after the warm-up of a bulk flow fills nine tenths of what a buffer allows."""
    try:
        series = run.table("flow_series").select(["at_ns", "flow", "in_flight_bytes"])
    except Exception:
        return False
    warmup = measures.seconds_of(run.scenario.get("warmup", "0s"))
    series = series.filter(pc.greater(series["at_ns"], int(warmup * 1e9)))
    if len(series) == 0:
        return False
    middle = series.group_by("flow").aggregate([("in_flight_bytes", "approximate_median")])
    held = {str(row["flow"]): row["in_flight_bytes_approximate_median"] or 0 for row in middle.to_pylist()}
    groups = {str(row["flow"]): str(row["group"]) for row in run.flows.select(["flow", "group"]).to_pylist()}
    for place, entry in enumerate(run.scenario.get("traffic", [])):
        if entry["kind"] != "bulk":
            continue
        name = entry.get("name") or f"bulk{place + 1}"
        tcp = {**run.scenario.get("tcp", {}), **entry.get("tcp", {})}
        limit = _window_limit(tcp, {**tcp, **entry.get("receiver", {})})
        if any(groups.get(flow) == name and value >= 0.9 * limit for flow, value in held.items()):
            return True
    return False


def _idle(run: Run) -> bool:
    endless = any(t["kind"] == "bulk" and not t.get("bytes") and not t.get("stop") for t in run.scenario.get("traffic", []))  # fmt: skip
    used = [run.utilisation(link) for link in run.watched()]
    used = [value for value in used if not math.isnan(value)]
    return endless and bool(used) and max(used) < 0.8


def _overrun(run: Run) -> bool:
    """At a watched link with a discipline that drops by a law, more was dropped for want of room than by the law."""
    for row in run.links.filter(run.links["watched"]).to_pylist():
        for_room, by_law = row["dropped_overlimit_after_warmup"], row["dropped_congestion_after_warmup"] + row["marked_after_warmup"]  # fmt: skip
        if row["queue"] not in ("drop_tail", "pfifo_fast", "threshold") and for_room > max(by_law, 20):
            return True
    return False


def _in_step(run: Run) -> bool:
    """Two bulk flows or more through a drop-tail queue, and no link that puts them out of step."""
    rows = run.links.filter(run.links["watched"]).select(["queue", "dropped_overlimit_after_warmup"]).to_pylist()
    tail = any(row["queue"] in ("drop_tail", "pfifo_fast") and row["dropped_overlimit_after_warmup"] for row in rows)
    kinds = run.flows["kind"].cast(pa.string()).to_pylist()
    if not tail or kinds.count("bulk") < 2 or set(kinds) - {"bulk", "ping"}:
        return False
    told = str(run.scenario["topology"])
    spread = next(iter(run.scenario["topology"].values())).get("rtt_spread", 0)
    jitters = [part.split("'")[0] for part in told.split("'jitter': '")[1:]]
    return all(j in ("0ns", "0s", "0") for j in jitters) and str(spread) in ("0", "0.0", "0%", "0.0%")
