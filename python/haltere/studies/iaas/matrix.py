"""The study `iaas`, beyond the paper: every control against every other, as shares and as *harm*.

Source of harm: R. Ware et al., "Beyond Jain's Fairness Index: Setting the Bar For The Deployment of Congestion Control Algorithms",
HotNets 2019: (alone - with) / alone, for what is better when there is more of it. A flow that gets half beside another does that one a harm of 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis import measures, stats
from ...analysis.stats import Mean
from ...api import Scenario
from ...report import plot
from ...report.document import Figure, Heading, Table
from ...runs.results import Results
from ..base import Finding, Options, Outcome, data, findings_table, judge, opened
from .common import ID, LABELS, shorter

CONTROLS = ("cubic", "reno", "bbr", "vegas", "dctcp", "bbr3")
CASES = {
    "1bdp": "no ECN, drop tail of 1 BDP",
    "1000p": "no ECN, drop tail of 1000 packets",
    "red": "ECN, RED",
}
# As Linux has it, as in the study's own files.
CUBIC: Mapping[str, Any] = {"kind": "cubic", "reno_friendly": "linux", "hystart": "linux_6_13"}
ALONE = "alone"
RED: Mapping[str, Any] = {"kind": "red", "limit": "1000000B", "min": "90000B", "max": "90001B", "burst": 61, "probability": 1.0, "avpkt": "1500B", "ecn": True}  # fmt: skip

# (case, control, the other or ALONE) -> throughput of the control in Mbit/s, a value a seed.
Rates = dict[tuple[str, str, str], list[float]]


def reproduce(options: Options) -> Outcome:
    """Runs every pair of controls before every queue and writes the heat maps."""
    results, left_out = _run(options)
    rates = _measure(results)
    seconds = results.points[0].experiment.duration_s
    about = (
        f"Two pairs over one gigabit, RTT 1 ms, one control each; {len(results.seeds)} seeds of {seconds:.0f} s for each of {len(results.points)} "
        "cells. Share: what the control of the row has of the throughput of both, in percent. Harm: what the control of the row loses to that of the "
        "column, (alone - with) / alone (Ware 2019); 0.5 is what an equal share costs."
    )
    document = opened(f"iaas, the matrix: {results.title}", about, left_out)
    findings = _findings(rates)
    tables = [_table(rates, case) for case in CASES]
    folder = results.directory / "figures"
    figures = [
        _heat(rates, "share", folder / "matrix-share", "Share of the row beside the column (%)"),
        _heat(rates, "harm", folder / "matrix-harm", "Harm that the column does to the row"),
    ]
    document.add(Heading("Tables"), *tables, Heading("Figures"), *figures)
    table = replace(findings_table(findings), title="What is said of these controls")
    document.add(Heading("What it shows"), table)
    return Outcome(ID, document, findings, left_out)


def _run(options: Options) -> tuple[Results, str]:
    base = Scenario.load(data(ID) / "matrix.toml")
    seeds, left_out = options.seeds, ""
    if options.quick:
        base = shorter(base, {})
        left_out = "10 of 20 s"
        if seeds is None:
            seeds, left_out = 1, "10 of 20 s, 9 of 10 seeds: no intervals"
    each, labels = [], []
    for case in CASES:
        changed = base.with_values(_queue(case))
        for a in CONTROLS:
            alone = {"topology.dumbbell.pairs": 1, "traffic[0].congestion": [_control(a)]}
            each.append(changed.with_values(alone))
            labels.append({"case": case, "a": a, "b": ALONE})
        for a, b in combinations_with_replacement(CONTROLS, 2):
            each.append(changed.with_values({"traffic[0].congestion": [_control(a), _control(b)]}))
            labels.append({"case": case, "a": a, "b": b})
    return options.run(each, labels, seeds=seeds), left_out


def _control(name: str) -> Any:
    return dict(CUBIC) if name == "cubic" else name


def _queue(case: str) -> dict[str, Any]:
    place = "topology.dumbbell.bottleneck.queue"
    if case == "red":
        return {place: dict(RED), "topology.dumbbell.bottleneck.reverse": {"queue": {"kind": "drop_tail", "limit": "1000p"}}, "tcp.ecn": True}  # fmt: skip
    return {place: {"kind": "drop_tail", "limit": case}}


def _measure(results: Results) -> Rates:
    rates: Rates = {}
    for done in results.runs:
        labels = results.points[done.point].labels
        case, a, b = str(labels["case"]), str(labels["a"]), str(labels["b"])
        got = [float(rate) for rate in measures.Run(results, done).goodput_mbit()]
        rates.setdefault((case, a, b), []).append(got[0])
        if b != ALONE and a != b:
            rates.setdefault((case, b, a), []).append(got[1])
        elif a == b:  # the other flow of the same control, for the share
            rates.setdefault((case, a, f"{a} (other)"), []).append(got[1])
    return rates


def _share(rates: Rates, case: str, a: str, b: str) -> np.ndarray[Any, Any]:
    mine = np.array(rates[case, a, b])
    other = np.array(rates[case, b, a] if a != b else rates[case, a, f"{a} (other)"])
    share: np.ndarray[Any, Any] = 100.0 * mine / np.maximum(mine + other, 1e-9)
    return share


def _harm(rates: Rates, case: str, a: str, b: str) -> np.ndarray[Any, Any]:
    """What ``a`` loses to ``b``; of two flows of one control the mean of both."""
    alone, beside = np.array(rates[case, a, ALONE]), np.array(rates[case, a, b])
    if a == b:
        beside = (beside + np.array(rates[case, a, f"{a} (other)"])) / 2
    harm: np.ndarray[Any, Any] = (alone - beside) / np.maximum(alone, 1e-9)
    return harm


def _table(rates: Rates, case: str) -> Table:
    rows = []
    for a in CONTROLS:
        alone = stats.mean(rates[case, a, ALONE]).format(0)
        shares = [stats.mean(_share(rates, case, a, b)).format(0) for b in CONTROLS]
        harms = [stats.mean(_harm(rates, case, a, b)).format(2) for b in CONTROLS]
        rows += [[LABELS[a], alone, "share (%)", *shares], ["", "", "harm", *harms]]
    columns = ["control", "alone (Mbit/s)", "measure", *(f"beside {LABELS[b]}" for b in CONTROLS)]
    return Table(f"matrix-{case}", f"Shares and harm: {CASES[case]}", columns, rows, left=1)


def _heat(rates: Rates, measure: str, stem: Path, caption: str) -> Figure:
    fig, panels = plot.figure(1, len(CASES), width=11.0, height=4.1)
    names = [LABELS[c] for c in CONTROLS]
    for axes, (case, label) in zip(panels, CASES.items(), strict=True):
        of = _share if measure == "share" else _harm
        values = np.array([[float(np.mean(of(rates, case, a, b))) for b in CONTROLS] for a in CONTROLS])
        low, high = (0.0, 100.0) if measure == "share" else (0.0, 1.0)
        _cells(axes, values, names, low, high, 0 if measure == "share" else 2)
        plot.title(axes, label)
        axes.set_xlabel("beside")
    panels[0].set_ylabel("control")
    bar = fig.colorbar(panels[0].images[0], ax=panels, pad=0.01, shrink=0.85)
    bar.set_label("share (%)" if measure == "share" else "harm")
    bar.outline.set_visible(False)
    caption = f"{caption}, RTT 1 ms; means over the seeds."
    return plot.saved(fig, stem, caption)


def _cells(axes: Any, values: Any, names: Sequence[str], low: float, high: float, digits: int) -> None:
    axes.imshow(values, cmap="cividis", vmin=low, vmax=high, aspect="equal")
    axes.grid(False)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(values):
        text = f"{value:.{digits}f}".replace("-0.00", "0.00")
        ink = "white" if value < (low + high) / 2 else "black"
        axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=8)


def _findings(rates: Rates) -> list[Finding]:
    """Which claims about one control beside another hold before every queue."""

    def least(a: str, b: str) -> list[tuple[str, Mean]]:
        return [(f"{LABELS[a]}'s share less 50 %, {CASES[case]}", stats.mean(_share(rates, case, a, b) - 50)) for case in CASES]  # fmt: skip

    claims = [
        ("Cubic has at least Reno's share before every queue", least("cubic", "reno")),
        ("BBR has more than Cubic before every queue", least("bbr", "cubic")),
        ("BBRv3 has more than Cubic before every queue", least("bbr3", "cubic")),
        ("Cubic has more than Vegas before every queue", least("cubic", "vegas")),
        ("DCTCP has more than Cubic before every queue", least("dctcp", "cubic")),
    ]
    return [Finding(text, *_points(judge(differences, 1))) for text, differences in claims]


def _points(verdict: tuple[Any, str]) -> tuple[Any, str]:
    return verdict[0], f"{verdict[1]} points"
