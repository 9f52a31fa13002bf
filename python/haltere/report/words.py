"""The results of an experiment in plain sentences, and what to be careful about."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow.compute as pc

from .. import _core, kinds
from ..analysis import metrics, stats
from ..analysis.advice import of_sweep
from ..analysis.measures import Run
from ..analysis.metrics import METRICS, Metric
from ..analysis.stats import Mean
from ..analysis.workloads import entries
from ..experiment import Traffic, seconds_of
from ..runs.records import Point, short_keys
from ..runs.results import Results
from .picture import spelled

# So many points of a sweep are described one by one; of more, how many went which way.
MOST_TOLD = 6
# Of so many points or fewer the best is compared with the next.
MOST_RANKED = 12
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
    """The mean with its interval, to two significant digits of the interval if the mean has as many.

    >>> _told(Mean(637.04, 12.8, 9, 10)), _told(Mean(42.42, 0.3, 0.2, 10)), _told(Mean(100.0, 0.002, 0.001, 10))
    ('637 ± 13', '42.42 ± 0.30', '100.0 ± 0.0')
    """
    if math.isnan(value.half):
        return number(value.mean)
    own = max(0, 2 - math.floor(math.log10(abs(value.mean)))) if value.mean else 2
    digits = own + 1 if value.half == 0 else min(max(0, 1 - math.floor(math.log10(value.half))), own + 1)
    return value.format(digits)


def short(point: Point, points: Sequence[Point]) -> str:
    """A point's name; the value alone if only one thing was swept."""
    return point.name.partition("=")[2] if len(point.labels) == 1 and len(points) > 1 else point.name


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def sentences(results: Results, points: Pairs) -> list[str]:
    """The experiment in words: what was run, how the links were used, how long packets waited, who got how much."""
    if not points:
        return []
    out = [_what_was_run(results, points)]
    out += _utilisation(results, points)
    out += _delay(results, points)
    out += _fairness(results, points)
    out += _shares(results, points)
    out += _applications(results, points)
    for point, runs in points[:MOST_TOLD]:
        where = f"With {short(point, results.points)}, " if len(results.points) > 1 else ""
        out += [where + one for one in of_workloads(runs)]
    return out


def _what_was_run(results: Results, points: Pairs) -> str:
    experiment = points[0][0].experiment
    who = _who(points[0][1])
    axes = list(dict.fromkeys(key for point in results.points for key in point.labels))
    swept = ""
    if axes:
        each = []
        for key in axes:
            values = list(dict.fromkeys(Point(0, {key: p.words[key]}, {}).name.partition("=")[2] for p in results.points if key in p.words))  # fmt: skip
            each.append(f"{short_keys(axes)[key]} ({', '.join(values[:8])}{' …' if len(values) > 8 else ''})")
        swept = (
            f", for {len(results.points)} combinations of {_listed(each)}" if len(axes) > 1 else f", for each {each[0]}"
        )
        who += " in the first case" if len(results.points) > 1 and _changing(points) else ""
    fewest, most = min(len(runs) for _, runs in points), max(len(runs) for _, runs in points)
    many = f"{fewest} to {most} seeds" if fewest < most else f"{most} seed{'s' if most > 1 else ''}"
    scenario = experiment.values
    parts = [f"the first {spelled(scenario['warmup'])}"] if experiment.warmup_s > 0 else []
    parts += [f"the last {spelled(scenario['cooldown'])}"] if experiment.cooldown_s > 0 else []
    left = f" of which {_listed(parts)} are left out" if parts else ""
    return (
        f"{who} ran for {spelled(scenario['duration'])},{left + ',' if parts else ''} with {many}{swept}: {len(results.runs)} run{'s' if len(results.runs) > 1 else ''}. "
        + ("Figures are means over the seeds with 95 % Student-t intervals." if len(results.seeds) > 1 else "")
    ).rstrip()


def _who(runs: Sequence[Run]) -> str:
    """The flows, by control and kind. Of an entry whose flows come and go, those that arrived in a run on average, warm-up included."""
    counts: dict[str, float] = {}
    about: set[str] = set()
    named = {entry.name: kinds.label(entry.kind) for entry in runs[0].experiment.traffic}
    for row in runs[0].data_flows.select(["flow", "kind", "congestion", "group"]).to_pylist():
        kind = kinds.traffic(str(row["kind"]))
        called = named[str(row["group"])] if row["kind"] == kinds.OUTSIDE else row["kind"]
        what = " ".join(str(word) for word in (row["congestion"], called, kind.noun) if word)
        if kind.arrivals:
            came = [run.arrivals().get(str(row["group"]), 0) for run in runs]
            counts[what] = counts.get(what, 0) + float(np.mean(came))
            if min(came) != max(came):
                about.add(what)
        else:
            counts[what] = counts.get(what, 0) + 1
    each = [
        f"{'about ' if what in about else ''}{round(n)} {what}{'s' if round(n) != 1 else ''}"
        for what, n in counts.items()
    ]
    text = _listed(each) if each else "No flows"
    return text[0].upper() + text[1:]


def _changing(points: Pairs) -> bool:
    """The flows of one point are others than those of another."""

    def names(run: Run) -> str:
        columns = (run.flows[name].to_pylist() for name in ("flow", "congestion"))
        text = " ".join(map(str, [*zip(*columns, strict=True), *sorted(run.arrivals().items())]))
        return hashlib.sha256(text.encode()).hexdigest()

    return len({runs[0].fact("names of flows", partial(names, runs[0])) for _, runs in points}) > 1


def _value(run: Run, one: Metric, part: str | None = None) -> float:
    """A metric as people read it; NaN if the run has no such part."""
    if part is not None and part not in metrics.parts(run, one.part):
        return math.nan
    return one.printed[0] * one.value(run, part)


def _ends(
    results: Results, points: Pairs, one: Metric, part: str | None = None
) -> tuple[tuple[str, Mean], tuple[str, Mean]] | None:
    """The points where the metric is best and worst, with its mean there."""
    known: list[tuple[str, Mean]] = []
    for point, runs in points:
        values = [value for value in (_value(run, one, part) for run in runs) if not math.isnan(value)]
        if values:
            known.append((short(point, results.points), stats.mean(values)))
    if not known:
        return None
    best = one.best([value.mean for _, value in known])
    worst = one.best([-value.mean for _, value in known])
    return known[best], known[worst]


def _same(one: Mean, other: Mean) -> bool:
    return abs(one.mean - other.mean) <= 0.005 * max(abs(one.mean), abs(other.mean), 1e-12)


Ends = tuple[tuple[str, Mean], tuple[str, Mean]]


def _said(points: Pairs, found: Ends, same: str, differs: str, **words: str) -> str:
    """The sentence ``same`` if the value is about equal at all points; otherwise ``differs``, with the best point and the worst."""
    (best, high), (worst, low) = found
    text = same if len(points) == 1 or _same(low, high) else differs
    every = " in every case" if len(points) > 1 else ""
    return text.format(best=best, high=_told(high), worst=worst, low=_told(low), every=every, **words)


def _utilisation(results: Results, points: Pairs) -> list[str]:
    out: list[str] = []
    for link in points[0][1][0].watched():
        found = _ends(results, points, METRICS["utilisation"], link)
        if found is not None and found[0][1].mean >= 5:
            differs = "The link {link} was busiest with {best} ({high} %) and least busy with {worst} ({low} %)."
            out.append(_said(points, found, "The link {link} was {high} % busy{every}.", differs, link=link))
    return out[:3]


def _delay(results: Results, points: Pairs) -> list[str]:
    link = None
    if all(runs[0].has_pings() for _, runs in points):
        one, what = METRICS["ping_p95"], "95 % of the pings came back within"
    else:
        one = METRICS["wait"]
        link = next((k for k in points[0][1][0].watched() if points[0][1][0].utilisation(k) >= 0.05), None)
        if link is None:
            return []
        what = f"A packet waited at {link} for a mean of"
    found = _ends(results, points, one, link)
    if found is None:
        return []
    unit, least = one.printed[1], found[0][0]
    differs = "{what} {high} {unit} with {best}, the least, and {low} {unit} with {worst}, the most."
    out = [_said(points, found, "{what} {low} {unit}{every}.", differs, what=what, unit=unit)]
    same = len(points) == 1 or _same(found[0][1], found[1][1])
    return out if same else out + _lead(results, points, lambda run: _value(run, one, link), least, unit)


def of_workloads(runs: Sequence[Run]) -> list[str]:
    """A sentence for each traffic entry that is a workload, such as ``web1: 31 pages a run, median load time 1.20 ± 0.13 s``."""
    out = []
    for one in kinds.WORKLOADS:
        for group in entries(runs[0], one.kind):
            first = _measured(runs, one.first, group)
            says = re.sub(r"{(\w+)}", partial(_printed, runs, group), one.says)
            out.append(f"{group}: {says if first is not None and first.mean > 0 else one.nothing}.")
    return out


def _measured(runs: Sequence[Run], metric: str, group: str) -> Mean | None:
    values = [value for run in runs if not math.isnan(value := _value(run, METRICS[metric], group))]
    return stats.mean(values) if values else None


def _printed(runs: Sequence[Run], group: str, found: re.Match[str]) -> str:
    value, one = _measured(runs, found[1], group), METRICS[found[1]]
    if value is None:
        return "not known"
    told = _told(value) if value.half else f"{value.mean:.0f}" if not one.digits else number(value.mean)
    return f"{told} {one.printed[1]}".rstrip()


def _applications(results: Results, points: Pairs) -> list[str]:
    """Which point is best and which worst for each application, and for packets in a queue whose sojourn times were counted."""
    first = points[0][1][0]
    asked = [(METRICS[one.judged], one.called, group) for one in kinds.WORKLOADS for group in entries(first, one.kind)]
    used = [link for link in first.watched() if first.utilisation(link) >= 0.05]
    asked += [(METRICS["sojourn_p95"], "95th percentile of the sojourn times", link) for link in used]
    out = []
    for one, called, part in asked if len(points) > 1 else ():
        found = _ends(results, points, one, part)
        if found is None:
            continue
        (best, good), (worst, bad) = found
        what, unit = f"The {called} {'at' if one.part == 'link' else 'of'} {part}", one.printed[1]
        none = [
            short(point, results.points)
            for point, runs in points
            if all(math.isnan(_value(run, one, part)) for run in runs)
        ]
        rest = f"; with {_listed(none[:6])} there is none" if none else ""
        high, low = (f"{_told(value)} {unit}".rstrip() for value in (good, bad))
        if _same(good, bad):
            out.append(f"{what} is {high}{' in every case' if not none else ''}{rest}.")
            continue
        out.append(f"{what} is best with {best} ({high}) and worst with {worst} ({low}){rest}.")
        out += _lead(results, points, partial(_value, one=one, part=part), best, unit, one)
    return out


def _lead(
    results: Results, points: Pairs, measure: Callable[[Run], float], best: str, unit: str, of: Metric = METRICS["wait"]
) -> list[str]:
    """By how much the best point is ahead of the next, seed by seed."""
    if not 2 <= len(points) <= MOST_RANKED or len(results.seeds) < 2:
        return []
    measured = {short(p, results.points): {run.done.seed: measure(run) for run in runs} for p, runs in points}
    by_seed = {
        name: {seed: v for seed, v in of_seed.items() if not math.isnan(v)} for name, of_seed in measured.items()
    }
    sign = -1 if of.better == "higher" else 1
    ranked = sorted(
        (name for name in by_seed if by_seed[name]),
        key=lambda name: sign * float(np.mean(list(by_seed[name].values()))),
    )
    second = next((name for name in ranked if name != best), None)
    if second is None:
        return []
    seeds = sorted(set(by_seed[best]) & set(by_seed[second]))
    if len(seeds) < 2:
        return []
    gap = stats.paired_difference([sign * by_seed[second][s] for s in seeds], [sign * by_seed[best][s] for s in seeds])
    if not gap.mean and not gap.half:
        return [f"With {second} it is the same, seed by seed."]
    told = f"{_told(gap)} {unit}".rstrip()
    if gap.low > 0:
        return [f"Seed by seed that is {told} {'more' if sign < 0 else 'less'} than with {second}, which comes next."]
    return [f"Between {best} and {second}, which comes next, the seeds show no significant difference ({told})."]


def _fairness(results: Results, points: Pairs) -> list[str]:
    one = METRICS["jain"]
    found = _ends(results, points, one)
    if found is None:
        return []
    same = "{index} over all flows is {high} (1: all get the same){every}."
    differs = "Shares are most even with {best} ({index} {high}) and least even with {worst} ({low})."
    return [_said(points, found, same, differs, index=one.row)]


def _greedy(run: Run) -> set[str]:
    """The traffic entries whose flows always have something to send: what they get is what the others leave them."""
    return {one.name for one in run.experiment.traffic if one.behaviour.is_endless(one.values)}


def _by_control(run: Run) -> dict[frozenset[str], dict[str, float]]:
    """The mean goodput of a flow that always has something to send, by class. Only classes over the same watched links are compared."""
    told = run.fact(
        "by control", lambda: [[sorted(links), rates] for links, rates in _measured_by_control(run).items()]
    )
    return {frozenset(links): rates for links, rates in told}


def _measured_by_control(run: Run) -> dict[frozenset[str], dict[str, float]]:
    greedy, one = _greedy(run), METRICS["goodput_flow"]
    rows = {str(row["flow"]): row for row in run.flows.select(["flow", "group", "from", "to"]).to_pylist()}
    out: dict[frozenset[str], dict[str, float]] = {}
    for name, own in run.classes().items():
        over = {run.watched_on(rows[flow]["from"], rows[flow]["to"]) for flow in own}
        if rows[own[0]]["group"] in greedy and len(over) == 1:
            out.setdefault(over.pop(), {})[name] = one.value(run, name)
    return {links: by_class for links, by_class in out.items() if len(by_class) > 1}


def _shares(results: Results, points: Pairs) -> list[str]:
    """Who got the most, and whether the seeds agree."""
    lines: list[tuple[str, str]] = []
    for point, runs in points:
        each = [_by_control(run) for run in runs]
        for links in each[0]:
            if all(links in one for one in each):
                told = _winner(results, point, [one[links] for one in each], links if len(each[0]) > 1 else None)
                lines += [told] if told else []
    if len(lines) <= MOST_TOLD:
        return [text for _, text in lines]
    wins: dict[str, int] = {}
    for first, _ in lines:
        wins[first] = wins.get(first, 0) + 1
    unclear = wins.pop("", 0)
    most = sorted(wins.items(), key=lambda one: -one[1])
    who = f"The most of the rate went to {_listed([f'{name} in {n}' for name, n in most])} of {len(lines)} points" if wins else ""  # fmt: skip
    rest = f"in {unclear} of {len(lines)} points the seeds show no significant difference" if unclear else ""
    both = "; ".join(part for part in (who, rest) if part) + "."
    return [both[0].upper() + both[1:]]


def _winner(
    results: Results, point: Point, rates: Sequence[Mapping[str, float]], links: frozenset[str] | None
) -> tuple[str, str] | None:
    """The class that got the most over these links, and the sentence that says so."""
    names = [name for name in rates[0] if all(name in one for one in rates)]
    if len(names) < 2:
        return None
    ranked = sorted(names, key=lambda name: -float(np.mean([one[name] for one in rates])))
    first, last = ranked[0], ranked[-1]
    top, low = (stats.mean([one[name] for one in rates]) for name in (first, last))
    gap = stats.paired_difference([one[first] for one in rates], [one[ranked[1]] for one in rates])
    unit = METRICS["goodput_flow"].unit
    many = len(results.points) > 1
    over = f"over {_listed(sorted(links))}, " if links else ""
    where = (
        f"With {short(point, results.points)}, {over}"
        if many
        else over[:1].upper() + over[1:]
        if over
        else "Of all flows "
    )
    clear = math.isnan(gap.half) or gap.low > 0
    if not clear:
        return "", f"{where}{first} and {ranked[1]} show no significant difference ({_told(gap)} {unit} between them)."
    verb = "got the most in its one run" if math.isnan(gap.half) else "got the most"
    times = f", {number(top.mean / low.mean)} times what {last} got ({_told(low)})" if low.mean > 0 else ""
    return first, f"{where}{first} {verb}: {_told(top)} {unit} a flow{times}."


# -- to be careful about --------------------------------------------------------------------------------------------------


def cautions(results: Results, points: Pairs) -> list[str]:
    """What a careful reader would ask about these results."""
    out = []
    if not results.complete:
        out.append("Not all runs are done: run the same command again to go on.")
    if len(results.seeds) < 5:
        seeds = f"are only {len(results.seeds)} seeds" if len(results.seeds) > 1 else "is only 1 seed"
        out.append(f"There {seeds}: intervals are wide or missing. Ten seeds are a good choice.")
    found: dict[int, list[str]] = {}
    for point, runs in points:
        for place in runs[0].fact("cautions", partial(_cautions_of, runs[0])):
            found.setdefault(place, []).append(short(point, results.points))
    out += _advice(points)
    for place, names in sorted(found.items()):
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        every = len(points) > 1 and len(names) == len(points)
        out.append(_CAUTIONS[place][1].format("in every point" if every else ", ".join(names[:6]) + more))
    return out


def _cautions_of(run: Run) -> list[int]:
    """The places of the cautions that a run deserves."""
    return [place for place, (holds, _) in enumerate(_CAUTIONS) if holds(run)]


def _advice(points: Pairs) -> list[str]:
    """What the experiment asks for that its author may not mean."""
    some = points[:: max(1, len(points) // 16)]
    return of_sweep([_core.Scenario.from_json(json.dumps(point.scenario)) for point, _ in some])


def _window_limit(tcp: Mapping[str, Any], receiver: Mapping[str, Any]) -> float:
    """The most that the buffers let a flow have in flight, in bytes."""
    receive = receiver.get("recv_buffer") or receiver["recv_buffer_max"]
    send = tcp.get("send_buffer") or tcp["send_buffer_max"]
    return min(_core.parse_quantity("bytes", str(size)) for size in (receive, send))


def _buffer_limited(run: Run) -> bool:
    """The median window after the warm-up of a bulk flow fills nine tenths of what a buffer allows."""
    series = run.table("flow_series", ["at_ns", "flow", "in_flight_bytes"])
    series = series.filter(
        pc.and_(
            pc.greater(series["at_ns"], int(run.warmup_s * 1e9)), pc.less_equal(series["at_ns"], int(run.until_s * 1e9))
        )
    )
    if len(series) == 0:
        return False
    middle = series.group_by("flow", use_threads=False).aggregate([("in_flight_bytes", "approximate_median")])
    held = {str(row["flow"]): row["in_flight_bytes_approximate_median"] or 0 for row in middle.to_pylist()}
    groups = {str(row["flow"]): str(row["group"]) for row in run.flows.select(["flow", "group"]).to_pylist()}
    for entry in _bulk(run):
        tcp = {**run.experiment.tcp, **entry.values.get("tcp", {})}
        limit = _window_limit(tcp, {**tcp, **entry.values.get("receiver", {})})
        if any(groups.get(flow) == entry.name and value >= 0.9 * limit for flow, value in held.items()):
            return True
    return False


def _bulk(run: Run) -> list[Traffic]:
    return [one for one in run.experiment.traffic if one.behaviour.greedy and not one.behaviour.paths]


def _drifting(run: Run) -> bool:
    rate = run.total_rate_series()
    return rate is not None and stats.stationarity(rate).verdict == "drifting"


def _idle(run: Run) -> bool:
    """No watched link was busy, although bulk flows always have something to send."""
    used = [value for link in run.watched() if not math.isnan(value := run.utilisation(link))]
    return any(one.unlimited for one in _bulk(run)) and bool(used) and max(used) < 0.8


def _signals(run: Run) -> bool:
    """A watched link that bulk flows cross dropped or marked packets after the warm-up, or lost them."""
    rows = run.links.filter(run.links["watched"]).to_pylist()
    names = ("dropped_overlimit", "dropped_congestion", "marked", "lost")
    return any(row[f"{name}_after_warmup"] for row in rows for name in names)


def _has_outage(run: Run) -> bool:
    """A link's schedule has a step of 0 bit/s."""
    return any(_core.parse_quantity("rate", rate) == 0 for rate in run.experiment.topology.all("rate"))


def _overrun(run: Run) -> bool:
    """At a watched link with a discipline that drops by a law, more was dropped because it was full than by the law."""
    for row in run.links.filter(run.links["watched"]).to_pylist():
        full = row["dropped_overlimit_after_warmup"]
        by_law = row["dropped_congestion_after_warmup"] + row["marked_after_warmup"]
        if kinds.queue(row["queue"]).law and full > max(by_law, 20):
            return True
    return False


def _in_step(run: Run) -> bool:
    """Two bulk flows or more through a drop-tail queue, and no link that puts them out of step."""
    rows = run.links.filter(run.links["watched"]).select(["queue", "dropped_overlimit_after_warmup"]).to_pylist()
    tail = any(kinds.queue(row["queue"]).tail and row["dropped_overlimit_after_warmup"] for row in rows)
    each = [kinds.traffic(kind) for kind in run.data_flows["kind"].to_pylist()]
    if not tail or len(each) < 2 or not all(kind.greedy and not kind.paths for kind in each):
        return False
    topology = run.experiment.topology
    spread = _core.parse_quantity("probability", str(topology.values.get("rtt_spread", 0)))
    return spread == 0 and not any(map(seconds_of, topology.all("jitter")))


_NOT_BUSY = "No watched link was more than 80 % busy although bulk flows always have something to send"
#: What holds of a run that calls for caution, and the sentence, with the names of the points.
_CAUTIONS: tuple[tuple[Callable[[Run], bool], str], ...] = (
    (_drifting, "The total rate still drifts after the warm-up ({}): a longer warm-up or run may give another result."),
    (_buffer_limited, "Windows of bulk flows reach the buffer of an endpoint ({}): the buffer limits their rates, not the control. Raise `recv_buffer_max` and `send_buffer_max` in `[tcp]`."),
    (lambda run: _idle(run) and not _has_outage(run) and not _signals(run), _NOT_BUSY + ", and its queue neither dropped nor marked ({}): something else limits the flows."),
    (lambda run: _idle(run) and not _has_outage(run) and _signals(run), _NOT_BUSY + " ({}): its queue dropped or marked packets, so its discipline and its limit hold the flows back."),
    (lambda run: _idle(run) and _has_outage(run), _NOT_BUSY + " ({}): the link's rate falls to 0 for a time, and flows need some time to start again."),
    (_overrun, "Most drops of a discipline that manages its queue were because it was full ({}): its `limit` decides, not its law."),
    (_in_step, "No link has any jitter ({}): phase may decide which flow finds room in a full drop-tail queue (Floyd and Jacobson 1992). A `jitter` of the time of one packet at the bottleneck removes that effect."),
)  # fmt: skip
