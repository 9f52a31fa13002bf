"""The findings of the paper of the study `rafle`, and what our runs say of each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import LEVEL, Finding, Judged, judge, judge_size, weakest, within
from .router import DROP_TAIL, LABELS, PAPERS, PRIMARY, SERVICES
from .study import EARLY_FILES, EARLY_S, Study, deviation_above
from .tasks import bucket_mean, bucket_sd, chance_of_contrast, last_end

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
    cells = study.of(reading)
    ratios = {place: stats.mean(values) for place, values in study.table2(cells, key).items()}
    judged = judge([(LABELS[name], replace(r, mean=NEAR - abs(r.mean))) for (name, _), r in ratios.items()])
    near = sum(abs(one.mean) <= NEAR for one in ratios.values())
    (name, bucket), worst = max(ratios.items(), key=lambda one: abs(one[1].mean))
    what = {"mean": "means", "sd": "deviations"}[key]
    return Finding.of(
        f"Table 2: the 25 {what} (each within a quarter of the paper's)",
        judged,
        f"{min(min(row) for row in study.given['table2'][key].values()):.0f} to {max(max(row) for row in study.given['table2'][key].values()):.0f} s",
        f"farthest: {LABELS[name]}, {bucket * 100}-{bucket * 100 + 100} KB, {10**worst.mean:.2f} times; the length of the queues decides (What if)",
        f"{near} of {len(ratios)} within a quarter; on average by a factor of {study.factor(cells, key):.2f}",
    )


def _early(study: Study, reading: str) -> Finding:
    """Figure 5 over its first seconds: is there a time at which RAFLE has served twice as many files?"""
    cells = study.of(reading)
    over = [
        (at, stats.mean([value - 2 for value in values])) for at, values in study.done_early(cells, "rafle/priority")
    ]
    at, most = max(over, key=lambda one: one[1].mean)
    p = stats.holm([stats.p_value(one) if one.mean > 0 else 1.0 for _, one in over])
    judged = Judged("inconclusive", "")
    if most.n > 1 and min(p) < LEVEL:
        judged = Judged("held", "", min(p))
    elif most.n > 1 and all(one.high < 0 for _, one in over):
        judged = Judged("not held", "", max(stats.p_value(one) for _, one in over))
    ideal = max(float(np.mean(values)) for _, values in study.done_early(cells, "ideal/priority"))
    return Finding.of(
        "Figure 5: in the first seconds RAFLE under priority has served almost three times as many files as drop tail (at least twice at some time)",
        judged,
        "almost 3",
        f"RAFLE calls {np.mean(cells['rafle/priority'].rates()[1]):.0%} of the packets of long flows long, so at the start nearly all wait in one queue; "
        f"ideal under priority: up to {ideal:.1f} times",
        f"at most {replace(most, mean=most.mean + 2).format(2)} times until {EARLY_S[1]:g} s, at {at:g} s; from {over[0][0]:g} s, by which drop tail has served {EARLY_FILES} files",
    )


def _first(study: Study, reading: str) -> list[Finding]:
    cells, given = study.of(reading), study.given["table3"]
    mean = {name: cells[name].over(bucket_mean(0)) for name in (DROP_TAIL, *CLASSED)}
    gains = {name: study.gain(cells, name, bucket_mean(0)) for name in CLASSED}
    sds = {name: study.gain(cells, name, bucket_sd(0)) for name in CLASSED}
    less, part = study.rafle_less_ideal(cells)
    order = [("ideal/priority", "rafle/priority"), ("rafle/priority", "run2c/priority")]
    steps = [(f"{LABELS[b]} less {LABELS[a]}", stats.paired_difference(mean[b], mean[a])) for a, b in order]
    share = study.part_of_ideal(cells)
    last = {name: cells[name].over(last_end) for name in (DROP_TAIL, *CLASSED)}
    spare = [(LABELS[n], stats.mean(1.05 * np.array(last[DROP_TAIL]) - last[n])) for n in CLASSED]
    tightest = min(spare, key=lambda one: one[1].mean)
    wide = {s: cells[f"rafle/{s}"].over(deviation_above(1e6)) for s in SERVICES}
    wider = stats.paired_difference(wide["priority"], wide["round_robin"])
    away = [
        (c, *(study.away_from_equal_share(cells, f"{c}/{s}") for s in ("priority", "round_robin")))
        for c in ("rafle", "ideal")
    ]
    nearer = [(LABELS[f"{c}/priority"][:-5], stats.paired_difference(p, r)) for c, p, r in away]
    slowest = min(gains, key=lambda name: gains[name].mean)
    deviation = stats.mean(cells[DROP_TAIL].over(bucket_sd(0))).format(0)
    return [
        _table2(study, reading, "mean"),
        _table2(study, reading, "sd"),
        Finding.of(
            "Abstract: RAFLE under priority lowers the mean time of files up to 100 KB by 30 % (drop tail takes as much more)",
            judge_size(gains["rafle/priority"], given["mean"]["rafle/priority"]),
            f"{given['mean']['rafle/priority']:.1f} %",
            "by the paper's own two moments some 14 of 438 files make its drop tail slower (What if)",
            f"{gains['rafle/priority'].format(1)} %",
        ),
        Finding.of(
            "Table 3: under round robin RAFLE is as fast as ideal for files up to 100 KB (within 5 %)",
            within(part, -5, 5),
            "-0.5 s, -0.4 %",
            "depends on starts within 10 ms and on the number of files up to 16 KB (What if)",
            f"{less.format(1)} s, {part.format(1)} %",
        ),
        Finding.of(
            "Table 3: every classifier is faster than drop tail for files up to 100 KB",
            judge(list(gains.items())),
            _numbers(given["mean"]),
            f"{LABELS[slowest]} decides; with queues of 650 to 740 packets, at which drop tail has stragglers, all six gain (What if)",
            f"gains {_range(gains)}",
        ),
        Finding.of(
            "Table 3: under priority ideal is faster than RAFLE, and RAFLE faster than RuN2C",
            judge(steps),
            "16.4 and 29.0 s",
            "RuN2C serves files up to 16 KB first; whether it beats RAFLE depends on the initial window and on the queues (What if)",
            "; ".join(f"{name} {value.format(1)} s" for name, value in steps),
        ),
        Finding.of(
            "Table 3: under priority RAFLE has two thirds of ideal's gain (a half to five sixths)",
            within(share, 1 / 2, 5 / 6),
            "0.70",
            "ideal gains more here than in the paper, RAFLE about as much",
            f"{share.format(2)} of it",
        ),
        Finding.of(
            "Table 3: every classifier has less deviation than drop tail, by 180 % and more",
            weakest([judge_size(sds[name], given["sd"][name]) for name in CLASSED]),
            _numbers(given["sd"]),
            f"the paper's drop tail has a deviation of 305 s, ours of {deviation} s: its stragglers (What if)",
            f"gains {_range(sds, 0)}",
        ),
        Finding.of(
            "Figure 3: above 1 MB RAFLE deviates more under priority than under round robin",
            judge([("priority less round robin", wider)]),
            "longer bars",
            "buckets of one file have no deviation and are left out",
            f"{wider.format(1)} s more under priority, mean of the buckets",
        ),
        Finding.of(
            "Figure 4: all tasks are done about when drop tail's are (at most 5 % later)",
            judge(spare),
            "picture",
            f"the last file is through at {stats.mean(last[DROP_TAIL]).format(0)} s under drop tail, at {stats.mean(last['rafle/round_robin']).format(0)} s under RAFLE RR",
            f"least to spare: {tightest[1].format(1)} s, under {tightest[0]}",
        ),
        Finding.of(
            "Figure 4: round robin lies nearer to the equal share than priority (RAFLE, ideal; but from 225 to 410 s)",
            judge(nearer),
            "picture",
            "the paper's equal share puts every file at the middle of its bucket: 438 of 564 end at 225.6 s",
            "; ".join(f"{name} {value.format(1)} tasks nearer" for name, value in nearer),
        ),
        _early(study, reading),
    ]


def _second(study: Study, reading: str) -> list[Finding]:
    rafle = study.constancy(reading, "rafle/round_robin")
    others = [
        (LABELS[n], stats.paired_difference(study.constancy(reading, n), rafle))
        for n in (DROP_TAIL, *CLASSED)
        if n != "rafle/round_robin"
    ]
    above = {n: stats.mean(study.steady_gains(reading, n, slice(1, None))) for n in CLASSED}
    served = stats.mean(study.steady_gains(reading, "rafle/round_robin"))
    drifts = {n: study.drift(reading, n)[1] for n in (DROP_TAIL, *CLASSED)}
    return [
        Finding.of(
            "Abstract: RAFLE under round robin serves 14 % more files up to 100 KB in steady state",
            judge_size(served, study.given["table4"]["rafle/round_robin"]),
            f"{study.given['table4']['rafle/round_robin']:.1f} %",
            "within what random files alone give three runs; at every length of the queues RAFLE serves fewer (What if)",
            f"{served.format(1)} %",
        ),
        Finding.of(
            "Figure 6: RAFLE under round robin keeps the number of active tasks most constant",
            judge(others),
            "picture",
            "RuN2C keeps nearly all tasks transferring, because control connections are short to it",
            f"deviation over time of the others less RAFLE's: {judge(others).text} tasks",
        ),
        Finding.of(
            "Figure 7: above 100 KB all queues serve about the same number of files (within 10 %)",
            weakest([within(value, -10, 10) for value in above.values()]),
            "picture",
            "the link is busy under every queue; where fewer files are done, more are sent in part",
            f"more than drop tail: {_range(above)}",
        ),
        Finding.of(
            "Section 6: experiment 2 is stationary (as many small files in the last 1000 s as in the first, within 10 %)",
            weakest([within(drift, -10, 10) for drift in drifts.values()]),
            "assumed",
            "300 tasks share the link, so a file of 4 MB takes 9600 s at an equal share: large files pile up",
            f"last less first: {_range(drifts, 0)}",
        ),
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
    return Finding.of(
        "Table 4: in steady state round robin serves more small files than priority (three queues each)",
        judged,
        f"{paper:.1f} points",
        f"open: each gain of the paper is within random variation, all six together are not (P = {chance:.1g}); ours depends on what the queues hold",
        text,
    )


def _memory(study: Study) -> Finding:
    """Whether N = 40 is best by the paper's product, under priority."""
    products = {}
    for n, cell in study.memories["priority"].items():
        short, long = cell.rates()
        products[n] = [a * b for a, b in zip(short, long, strict=True)]
    chosen, paper = study.given["n"], study.given["table1"]
    rest = [
        (f"N = {chosen} less N = {n}", stats.paired_difference(products[chosen], values))
        for n, values in products.items()
        if n != chosen
    ]
    best = max(products, key=lambda n: float(np.mean(products[n])))
    theirs = [a * b for a, b in zip(paper["short"], paper["long"], strict=True)]
    return Finding.of(
        "Table 1: of all memories N = 40 has the best product of hit rates",
        judge(rest, 4),
        f"{theirs[paper['n'].index(chosen)]:.3f}; next: {sorted(theirs)[-2]:.3f}",
        "N = 40 is an outlier of the paper: without it the paper's rates fall up to N = 60; all of ours fall",
        f"{stats.mean(products[chosen]).format(3)}; best: N = {best} with {stats.mean(products[best]).format(3)}",
    )
