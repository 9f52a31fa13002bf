"""The findings of the paper of the study `rafle`, and what our runs say of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...analysis import stats
from ...analysis.stats import Mean
from ..base import Finding, Verdict, judge, judge_size
from .router import DROP_TAIL, LABELS, PAPERS, PRIMARY, SERVICES
from .study import EARLY_S, Study, deviation_above
from .tasks import bucket_mean, bucket_sd, chance_of_contrast, last_end

CLASSED = [f"{c}/{s}" for s in SERVICES for c in PAPERS]
#: Verdicts from the weakest to the strongest: a finding of several parts has that of its weakest part.
ORDER: Sequence[Verdict] = ("not held", "inconclusive", "direction only", "held")


def findings(study: Study) -> list[Finding]:
    """The findings in the primary reading, then the same under the other readings."""
    found = []
    for reading in study.readings:
        label = "" if reading == PRIMARY else f"({reading})"
        here = _first(study, reading)
        if any(one == reading for one, _ in study.second):
            here += _second(study, reading)
        found += [replace(one, reading=label) for one in here]
    if study.memories:
        found.append(_memory(study))
    return found


def within(value: Mean, low: float, high: float) -> Verdict:
    """Whether a value lies between two bounds, by its interval.

    >>> within(Mean(3.0, 1.0, 1.0, 10), -5, 5), within(Mean(5.5, 1.0, 1.0, 10), -5, 5), within(Mean(9.0, 1.0, 1.0, 10), -5, 5)
    ('held', 'inconclusive', 'not held')
    """
    if math.isnan(value.half):
        return "inconclusive"
    if low < value.low and value.high < high:
        return "held"
    return "not held" if value.high < low or value.low > high else "inconclusive"


def _range(values: dict[str, Mean], digits: int = 1) -> str:
    low, high = (pick(values, key=lambda name: values[name].mean) for pick in (min, max))
    return f"from {values[low].format(digits)} % ({LABELS[low]}) to {values[high].format(digits)} % ({LABELS[high]})"


def _numbers(given: dict[str, float]) -> str:
    return f"from {min(given.values()):.0f} to {max(given.values()):.0f} %"


def _first(study: Study, reading: str) -> list[Finding]:
    cells, given = study.of(reading), study.given["table3"]
    mean = {name: cells[name].over(bucket_mean(0)) for name in (DROP_TAIL, *CLASSED)}
    gains = {name: study.gain(cells, name, bucket_mean(0)) for name in CLASSED}
    sds = {name: study.gain(cells, name, bucket_sd(0)) for name in CLASSED}
    less, part = study.rafle_less_ideal(cells)
    order = [("ideal/priority", "rafle/priority"), ("rafle/priority", "run2c/priority")]
    steps = [(f"{LABELS[b]} less {LABELS[a]}", stats.paired_difference(mean[b], mean[a])) for a, b in order]
    share = study.part_of_ideal(cells)
    worst = min((judge_size(sds[name], given["sd"][name])[0] for name in CLASSED), key=ORDER.index)
    last = {name: cells[name].over(last_end) for name in (DROP_TAIL, *CLASSED)}
    spare = [
        (LABELS[n], stats.mean([1.05 * b - o for o, b in zip(last[n], last[DROP_TAIL], strict=True)])) for n in CLASSED
    ]
    tightest = min(spare, key=lambda one: one[1].mean)
    wide = {s: cells[f"rafle/{s}"].over(deviation_above(1e6)) for s in SERVICES}
    wider = stats.paired_difference(wide["priority"], wide["round_robin"])
    away = [
        (c, study.away_from_equal_share(cells, f"{c}/priority"), study.away_from_equal_share(cells, f"{c}/round_robin"))
        for c in ("rafle", "ideal")
    ]
    nearer = [(LABELS[f"{c}/priority"][:-5], stats.paired_difference(p, r)) for c, p, r in away]
    early = stats.mean(study.done_early(cells, "rafle/priority"))
    return [
        Finding(
            "Table 3: under round robin RAFLE is as fast as ideal for files up to 100 KB (within 5 %)",
            within(part, -5, 5),
            f"{less.format(1)} s, {part.format(1)} %",
            "-0.5 s, -0.4 %",
            "depends on starts within 10 ms and on the number of files up to 16 KB (What if)",
        ),
        Finding(
            "Table 3: every classifier is faster than drop tail for files up to 100 KB",
            judge(list(gains.items()))[0],
            f"gains {_range(gains)}",
            _numbers(given["mean"]),
            "RuN2C under round robin decides: at the start every flow is short, and all tasks share half of the link until they pass 16 KB",
        ),
        Finding(
            "Table 3: under priority ideal is faster than RAFLE, and RAFLE faster than RuN2C",
            judge(steps)[0],
            "; ".join(f"{name} {value.format(1)} s" for name, value in steps),
            "16.4 and 29.0 s",
            "RuN2C serves files up to 16 KB first; whether it beats RAFLE depends on the initial window and on the queues (What if)",
        ),
        Finding(
            "Table 3: under priority RAFLE has two thirds of ideal's gain (a half to five sixths)",
            within(share, 1 / 2, 5 / 6),
            f"{share.format(2)} of it",
            "0.70",
            "ideal gains more here than in the paper, RAFLE about as much",
        ),
        Finding(
            "Table 3: every classifier has less deviation than drop tail, by 180 % and more",
            worst,
            f"gains {_range(sds, 0)}",
            _numbers(given["sd"]),
            "the paper's drop tail has a deviation of 305 s, ours of "
            f"{stats.mean(cells[DROP_TAIL].over(bucket_sd(0))).format(0)} s: 2.5 to 4.5 % of files at 1,500 to 2,000 s would make the difference",
        ),
        Finding(
            "Figure 3: above 1 MB RAFLE deviates more under priority than under round robin",
            judge([("priority less round robin", wider)])[0],
            f"{wider.format(1)} s more under priority, mean of the buckets",
            "longer bars",
            "buckets of one file have no deviation and are left out",
        ),
        Finding(
            "Figure 4: all tasks are done about when drop tail's are (at most 5 % later)",
            judge(spare)[0],
            f"least to spare: {tightest[1].format(1)} s, under {tightest[0]}",
            "picture",
            f"the last file is through at {stats.mean(last[DROP_TAIL]).format(0)} s under drop tail, at {stats.mean(last['rafle/round_robin']).format(0)} s under RAFLE RR",
        ),
        Finding(
            "Figure 4: round robin lies nearer to the equal share than priority (RAFLE, ideal; but from 225 to 410 s)",
            judge(nearer)[0],
            "; ".join(f"{name} {value.format(1)} tasks nearer" for name, value in nearer),
            "picture",
            "the paper's equal share puts every file at the middle of its bucket: 438 of 564 end at 225.6 s",
        ),
        Finding(
            "Figure 5: in the first seconds RAFLE under priority has served almost three times as many files as drop tail (at least twice)",
            judge([("ratio - 2", Mean(early.mean - 2, early.half, early.sd, early.n))])[0],
            f"{early.format(2)} times after {EARLY_S:g} s",
            "almost 3",
            f"RAFLE calls {np.mean(cells['rafle/priority'].rates()[1]):.0%} of the packets of long flows long, so at the start nearly all wait in one queue; "
            f"ideal under priority: {stats.mean(study.done_early(cells, 'ideal/priority')).format(1)} times",
        ),
    ]


def _second(study: Study, reading: str) -> list[Finding]:
    rafle = study.constancy(reading, "rafle/round_robin")
    others = [
        (LABELS[n], stats.paired_difference(study.constancy(reading, n), rafle))
        for n in (DROP_TAIL, *CLASSED)
        if n != "rafle/round_robin"
    ]
    above = {n: stats.mean(study.steady_gains(reading, n, slice(1, None))) for n in CLASSED}
    same = min((within(value, -10, 10) for value in above.values()), key=ORDER.index)
    drifts = {n: study.drift(reading, n)[1] for n in (DROP_TAIL, *CLASSED)}
    steady = min((within(drift, -10, 10) for drift in drifts.values()), key=ORDER.index)
    return [
        Finding(
            "Figure 6: RAFLE under round robin keeps the number of active tasks most constant",
            judge(others)[0],
            f"deviation over time of the others less RAFLE's: {judge(others)[1]} tasks",
            "picture",
            "RuN2C keeps nearly all tasks transferring, because control connections are short to it",
        ),
        Finding(
            "Figure 7: above 100 KB all queues serve about the same number of files (within 10 %)",
            same,
            f"more than drop tail: {_range(above)}",
            "picture",
            "the link is busy under every queue; where fewer files are done, more are sent in part",
        ),
        Finding(
            "Section 6: experiment 2 is stationary (as many small files in the last 1000 s as in the first, within 10 %)",
            steady,
            f"last less first: {_range(drifts, 0)}",
            "assumed",
            "300 tasks share the link, so a file of 4 MB takes 9600 s at an equal share: large files pile up",
        ),
        _table_4(study, reading),
    ]


def _table_4(study: Study, reading: str) -> Finding:
    """Table 4 as a whole. It is judged over the readings of the queue: the text supports more than one, and they differ."""
    given = study.given["table4"]
    paper = float(np.mean([given[f"{c}/round_robin"] - given[f"{c}/priority"] for c in PAPERS]))
    ours = study.contrast(reading)
    chance = chance_of_contrast(study.sizes, 3000.0 * study.rate_bps / 8, 3, paper)
    verdict, text = judge_size(ours, paper)[0], f"{ours.format(1)} points"
    if reading == PRIMARY:
        others = {one: study.contrast(one) for one in study.readings if (one, DROP_TAIL) in study.second}
        signs = {judge_size(value, paper)[0] for value in others.values()}
        verdict = verdict if len(signs) == 1 else "inconclusive"
        apart = [f"{value.format(1)} in ({one})" for one, value in others.items() if one != reading]
        text += f"; {', '.join(apart)}" if apart else ""
    return Finding(
        "Table 4: in steady state round robin serves more small files than priority (three queues each)",
        verdict,
        text,
        f"{paper:.1f} points",
        f"open: each gain of the paper is within random variation, all six together do not (P = {chance:.1g}); ours depends on what the queues hold",
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
    return Finding(
        "Table 1: of all memories N = 40 has the best product of hit rates",
        judge(rest, 4)[0],
        f"{stats.mean(products[chosen]).format(3)}; best: N = {best} with {stats.mean(products[best]).format(3)}",
        f"{theirs[paper['n'].index(chosen)]:.3f}; next: {sorted(theirs)[-2]:.3f}",
        "N = 40 is an outlier of the paper: without it the paper's rates fall up to N = 60; all of ours fall",
    )
