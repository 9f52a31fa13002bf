"""The findings of the paper of the study `rafle`, and what our runs say of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import LEVEL, Claims, Finding, Judged, judge, judge_size, weakest, within
from .router import DROP_TAIL, LABELS, PAPERS, PRIMARY, SERVICES
from .study import EARLY_FILES, EARLY_S, Study, deviation_above
from .tasks import bucket_mean, bucket_sd, chance_of_contrast, last_end

_found = Claims("rafle")
CLASSED = [f"{c}/{s}" for s in SERVICES for c in PAPERS]
#: Table 2 is met where ours is within a quarter of the paper's.
NEAR = float(np.log10(1.25))


def findings(study: Study) -> list[Finding]:
    """The findings in the primary reading, then the same under the other readings."""
    found = []
    for reading in study.readings:
        here = _first(study, reading)
        if any(one == reading for one, _ in study.second):
            here += _second(study, reading)
        found += [replace(one, reading="" if reading == PRIMARY else f"({reading})") for one in here]
    return found + ([_memory(study)] if study.memories else [])


def _range(values: dict[str, Mean], digits: int = 1) -> str:
    low, high = (pick(values, key=lambda name: values[name].mean) for pick in (min, max))
    return f"from {values[low].format(digits)} % ({LABELS[low]}) to {values[high].format(digits)} % ({LABELS[high]})"


def _numbers(given: dict[str, float]) -> str:
    return f"from {min(given.values()):.0f} to {max(given.values()):.0f} %"


def _table2(study: Study, reading: str, key: str) -> Finding:
    """All 25 means, or all 25 deviations, of table 2."""
    cells, paper = study.of(reading), np.array(list(study.given["table2"][key].values()))
    ratios = {place: stats.mean(values) for place, values in study.table2(cells, key).items()}
    judged = judge([(LABELS[name], replace(r, mean=NEAR - abs(r.mean))) for (name, _), r in ratios.items()])
    near = sum(abs(one.mean) <= NEAR for one in ratios.values())
    (name, bucket), worst = max(ratios.items(), key=lambda one: abs(one[1].mean))
    values = {"what": {"mean": "means", "sd": "deviations"}[key], "low": paper.min(), "high": paper.max()}
    values |= {"queue": LABELS[name], "bucket": f"{100 * bucket}-{100 * bucket + 100}", "times": 10**worst.mean}
    ours = f"{near} of {len(ratios)} within a quarter; on average by a factor of {study.factor(cells, key):.2f}"
    return _found("table2", judged, ours, **values)


def _early(study: Study, reading: str) -> Finding:
    """Figure 5 over its first seconds: is there a time at which RAFLE has served twice as many files?"""
    cells = study.of(reading)
    early = study.done_early(cells, "rafle/priority")
    over = [(at, stats.mean([value - 2 for value in values])) for at, values in early]
    at, most = max(over, key=lambda one: one[1].mean)
    p = stats.holm([stats.p_value(one) if one.mean > 0 else 1.0 for _, one in over])
    judged = Judged("inconclusive", "")
    if most.n > 1 and min(p) < LEVEL:
        judged = Judged("held", "", min(p))
    elif most.n > 1 and all(one.high < 0 for _, one in over):
        judged = Judged("not held", "", max(stats.p_value(one) for _, one in over))
    ideal = max(float(np.mean(values)) for _, values in study.done_early(cells, "ideal/priority"))
    ours = (
        f"at most {replace(most, mean=most.mean + 2).format(2)} times until {EARLY_S[1]:g} s, at {at:g} s; from {over[0][0]:g} s, "
        f"by which drop tail has served {EARLY_FILES} files"
    )
    return _found("early", judged, ours, long=np.mean(cells["rafle/priority"].rates()[1]), ideal=ideal)


def _first(study: Study, reading: str) -> list[Finding]:
    """Experiment 1."""
    both = [_table2(study, reading, key) for key in ("mean", "sd")]
    return [*both, *_table_3(study, reading), *_figures_3_and_4(study, reading), _early(study, reading)]


def _table_3(study: Study, reading: str) -> list[Finding]:
    cells, given = study.of(reading), study.given["table3"]
    mean = {name: cells[name].over(bucket_mean(0)) for name in (DROP_TAIL, *CLASSED)}
    gains, sds = ({n: study.gain(cells, n, of(0)) for n in CLASSED} for of in (bucket_mean, bucket_sd))
    less, part = study.rafle_less_ideal(cells)
    pairs = [("ideal/priority", "rafle/priority"), ("rafle/priority", "run2c/priority")]
    steps = [(f"{LABELS[b]} less {LABELS[a]}", stats.paired_difference(mean[b], mean[a])) for a, b in pairs]
    share, paper = study.part_of_ideal(cells), given["mean"]["rafle/priority"]
    own = stats.mean(cells[DROP_TAIL].over(bucket_sd(0))).format(0)
    wide = weakest([judge_size(sds[name], given["sd"][name]) for name in CLASSED])
    slowest = LABELS[min(gains, key=lambda name: gains[name].mean)]
    shown = "; ".join(f"{name} {value.format(1)} s" for name, value in steps)
    size = judge_size(gains["rafle/priority"], paper)
    return [
        _found("abstract_mean", size, f"{gains['rafle/priority'].format(1)} %", paper=paper),
        _found("as_ideal", within(part, -5, 5), f"{less.format(1)} s, {part.format(1)} %"),
        _found("all_faster", judge(list(gains.items())), f"gains {_range(gains)}", paper=_numbers(given["mean"]), slowest=slowest),
        _found("order", judge(steps), shown),
        _found("two_thirds", within(share, 1 / 2, 5 / 6), f"{share.format(2)} of it"),
        _found("deviation", wide, f"gains {_range(sds, 0)}", paper=_numbers(given["sd"]), own=own),
    ]  # fmt: skip


def _figures_3_and_4(study: Study, reading: str) -> list[Finding]:
    cells = study.of(reading)
    wide = {s: cells[f"rafle/{s}"].over(deviation_above(1e6)) for s in SERVICES}
    wider = stats.paired_difference(wide["priority"], wide["round_robin"])
    last = {name: cells[name].over(last_end) for name in (DROP_TAIL, *CLASSED)}
    spare = [(LABELS[n], stats.mean(1.05 * np.array(last[DROP_TAIL]) - last[n])) for n in CLASSED]
    tightest = min(spare, key=lambda one: one[1].mean)
    ends = {n.split("/")[0]: stats.mean(last[n]).format(0) for n in (DROP_TAIL, "rafle/round_robin")}
    nearer = []
    for c, label in (("rafle", "RAFLE"), ("ideal", "Ideal")):
        p, r = (study.away_from_equal_share(cells, f"{c}/{s}") for s in ("priority", "round_robin"))
        nearer.append((label, stats.paired_difference(p, r)))
    shown = "; ".join(f"{name} {value.format(1)} tasks nearer" for name, value in nearer)
    more = f"{wider.format(1)} s more under priority, mean of the buckets"
    return [
        _found("wider", judge([("priority less round robin", wider)]), more),
        _found("all_done", judge(spare), f"least to spare: {tightest[1].format(1)} s, under {tightest[0]}", **ends),
        _found("nearer", judge(nearer), shown),
    ]


def _second(study: Study, reading: str) -> list[Finding]:
    """Experiment 2."""
    rafle = "rafle/round_robin"
    every, own = (DROP_TAIL, *CLASSED), study.constancy(reading, rafle)
    others = [(LABELS[n], stats.paired_difference(study.constancy(reading, n), own)) for n in every if n != rafle]
    above = {n: stats.mean(study.steady_gains(reading, n, slice(1, None))) for n in CLASSED}
    served, paper = stats.mean(study.steady_gains(reading, rafle)), study.given["table4"][rafle]
    drifts = {n: study.drift(reading, n)[1] for n in every}
    constant = judge(others)
    alike, steady = (weakest([within(one, -10, 10) for one in of.values()]) for of in (above, drifts))
    return [
        _found("abstract_served", judge_size(served, paper), f"{served.format(1)} %", paper=paper),
        _found("constant", constant, f"deviation over time of the others less RAFLE's: {constant.text} tasks"),
        _found("large", alike, f"more than drop tail: {_range(above)}"),
        _found("stationary", steady, f"last less first: {_range(drifts, 0)}"),
        _table_4(study, reading),
    ]


def _table_4(study: Study, reading: str) -> Finding:
    """Table 4 as a whole. It is judged over the readings of the queue: the text supports more than one, and they differ."""
    given = study.given["table4"]
    paper = float(np.mean([given[f"{c}/round_robin"] - given[f"{c}/priority"] for c in PAPERS]))
    judged = judge_size(study.contrast(reading), paper)
    chance = chance_of_contrast(study.sizes, 3000.0 * study.rate_bps / 8, 3, paper)
    text = f"{judged.text} points"
    if reading == PRIMARY:
        others = {one: study.contrast(one) for one in study.readings if (one, DROP_TAIL) in study.second}
        apart = [f"{value.format(1)} in ({one})" for one, value in others.items() if one != reading]
        text += f"; {', '.join(apart)}" if apart else ""
        if len({judge_size(value, paper).verdict for value in others.values()}) > 1:
            judged = Judged("inconclusive", "")
    return _found("table4", judged, text, paper=paper, chance=chance)


def _memory(study: Study) -> Finding:
    """Whether N = 40 is best by the paper's product, under priority."""
    products = {}
    for n, cell in study.memories["priority"].items():
        products[n] = [a * b for a, b in zip(*cell.rates(), strict=True)]
    chosen, paper = study.given["n"], study.given["table1"]
    mine = products[chosen]
    rest = [
        (f"N = {chosen} less N = {n}", stats.paired_difference(mine, v)) for n, v in products.items() if n != chosen
    ]
    best = max(products, key=lambda n: float(np.mean(products[n])))
    theirs = [a * b for a, b in zip(paper["short"], paper["long"], strict=True)]
    ours = f"{stats.mean(mine).format(3)}; best: N = {best} with {stats.mean(products[best]).format(3)}"
    return _found("memory", judge(rest, 4), ours, theirs=theirs[paper["n"].index(chosen)], next=sorted(theirs)[-2])
