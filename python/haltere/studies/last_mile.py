"""The study `last-mile`: eight congestion controls over ten access links, for web pages, a call and bulk; and Sprout's measure.

A study of ours: there is no paper with these links. What Sprout's paper says of cellular links (Winstein et al., NSDI 2013) is compared with
runs over drawn links, because the paper's traces are not here. `papers/last-mile/README.md` says how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..analysis import measures, metrics, stats
from ..analysis.measures import Array
from ..analysis.stats import Mean
from ..api import Scenario
from ..report import plot
from ..report.document import Figure, Heading, Table, Text
from ..runs.results import Results
from .base import (
    Claims,
    Finding,
    Judged,
    Options,
    Outcome,
    data,
    expected,
    findings_table,
    judge,
    judge_size,
    opened,
    over_rows,
    with_axes,
    within,
)

ID = "last-mile"
PATH = "topology.dumbbell.bottleneck.path"
QUEUE = "topology.dumbbell.bottleneck.queue"
#: What a user does: its experiment, its traffic entry, the metric that says how well it goes, its unit and decimals, and whether more is better.
USES = {
    "page": ("web", "web", "page_load_p50", "median load time (s)", 2, False),
    "call": ("bulk", "bulk", "mos", "MOS", 2, True),
    "bulk": ("bulk", "bulk", "goodput.bulk", "goodput (Mbit/s)", 1, True),
}
TITLES = {"page": "Web page", "call": "Call beside a download", "bulk": "Bulk"}
QUICK = {PATH: ["dsl-16/1", "lte-driving", "wifi-busy"]}
QUICK_SEEDS = 3
LEFT_OUT = f"seven of ten links; half of each run; all but {QUICK_SEEDS} of 10 seeds"

#: By link and control one value a seed.
Cells = dict[tuple[str, str], list[float]]


def reproduce(options: Options) -> Outcome:
    """Runs the study and says which control is best where."""
    seeds = options.seeds or (QUICK_SEEDS if options.quick else None)
    results = {}
    for name in ("bulk", "web", "cellular"):
        scenario = Scenario.load(data(ID) / f"{name}.toml")
        if options.quick:
            scenario = with_axes(scenario, {} if name == "cellular" else QUICK)
            scenario = scenario.with_values({"duration": f"{scenario.experiment.duration_s / 2:g}s"})
        results[name] = options.run([scenario], seeds=seeds, part=name)
    return report(results, LEFT_OUT if options.quick else "")


def report(results: Mapping[str, Results], left_out: str = "") -> Outcome:
    """What these runs show."""
    cells = {use: measured(results[name], of, metric) for use, (name, of, metric, *_) in USES.items()}
    cellular = {
        metric: measured(results["cellular"], "bulk", metric, QUEUE) for metric in ("self_inflicted", "utilisation")
    }
    found = over_rows(findings(cellular))
    seeds = len(results["bulk"].seeds)
    document = opened(
        f"{ID}: which control is best over which access link",
        f"Seeds: {seeds} for each link and control. Means over the seeds with 95 % intervals.",
        left_out,
    )
    folder = results["bulk"].directory.parent / "figures"
    document.add(best(cells), *(everything(use, one) for use, one in cells.items()), figure(cells, folder / "controls"))
    document.add(Heading("Sprout's measure"), Text(_COMPARED), findings_table(found, ID, seeds), sprout(cellular))
    return Outcome(ID, document, found, left_out)


_COMPARED = (
    "A comparison, not a reproduction: Sprout's paper has means over eight recorded links and Linux of 2012; these runs are over eight links with the "
    "mean rates of those, drawn from the model that the paper gives for them, with a buffer without bound."
)


def measured(results: Results, of: str, metric: str, axis: str = PATH) -> Cells:
    """A metric by link (or by another axis) and control, a value a seed; NaN if a run has none. Over what else is swept it is the mean."""
    points: dict[tuple[str, str], list[list[float]]] = {}
    for point, runs in measures.by_point(results):
        where = point.labels[axis]
        name = str(where.get("kind") if isinstance(where, Mapping) else where)
        key = name, str(point.labels[f"traffic.{of}.congestion"])
        points.setdefault(key, []).append([metrics.named(run, metric) for run in runs])
    return {key: [float(value) for value in np.mean(values, axis=0)] for key, values in points.items()}


def links(cells: Cells) -> list[str]:
    """The links, in the experiment's order."""
    return list(dict.fromkeys(link for link, _ in cells))


def controls(cells: Cells) -> list[str]:
    """The controls, in the experiment's order."""
    return list(dict.fromkeys(control for _, control in cells))


def mean(values: Sequence[float]) -> Mean | None:
    """The mean of those runs that have a value; ``None`` without any."""
    known = [value for value in values if np.isfinite(value)]
    return stats.mean(known) if known else None


def winners(cells: Cells, link: str, more: bool) -> list[str]:
    """The best control over a link, and those which paired differences cannot tell from it (95 %, Holm over the others)."""
    values = {control: np.array(cells[link, control]) for control in controls(cells) if mean(cells[link, control])}
    best = (max if more else min)(values, key=lambda control: float(np.nanmean(values[control])), default=None)
    if best is None:
        return []
    others = [control for control in values if control != best]
    p = []
    for control in others:
        both = np.isfinite(values[best]) & np.isfinite(values[control])
        difference = stats.paired_difference(values[best][both], values[control][both]) if both.sum() > 1 else None
        # Values that are the same in each run do not differ.
        p.append(1.0 if difference is None or difference.mean == 0 else stats.p_value(difference))
    return [best, *(control for control, value in zip(others, stats.holm(p), strict=True) if not value < 0.05)]


def best(cells: Mapping[str, Cells]) -> Table:
    """Which control is best where, and which are as good."""
    rows = []
    for link in links(cells["bulk"]):
        row = [link]
        for use, (*_, digits, more) in USES.items():
            first, *others = winners(cells[use], link, more) or ["–"]
            value = mean(cells[use].get((link, first), []))
            row.append(f"{first} {value.format(digits)}" if value else "–")
            row.append(", ".join(others) or "none")
        rows.append(row)
    columns = ["link"]
    for use, (*_, unit, _, _) in USES.items():
        columns += [f"{TITLES[use].lower()}: {unit}", "as good"]
    note = "As good: the paired differences do not tell them from the best (95 %, Holm over the seven others)."
    return Table("best", "The best control for each link and use", columns, rows, note, left=len(columns))


def everything(use: str, cells: Cells) -> Table:
    """One use: every link and control."""
    *_, unit, digits, _ = USES[use]
    rows = []
    for link in links(cells):
        values = [mean(cells[link, control]) for control in controls(cells)]
        rows.append([link, *(value.format(digits) if value else "–" for value in values)])
    return Table(use, f"{TITLES[use]}: {unit}", ["link", *controls(cells)], rows)


def figure(cells: Mapping[str, Cells], stem: Path) -> Figure:
    """Each use as a map of links and controls, each value over the best of its link."""
    fig, panels = plot.panels(len(cells), 1, height=0.4, row=0.9 + 0.26 * len(links(cells["bulk"])))
    with plot.style():
        for axes, (use, one) in zip(panels, cells.items(), strict=True):
            more = USES[use][-1]
            means = np.array(
                [
                    [value.mean if (value := mean(one[link, control])) else np.nan for control in controls(one)]
                    for link in links(one)
                ]
            )
            top = (np.nanmax if more else np.nanmin)(means, axis=1, keepdims=True)
            plot.heat(axes, means / top if more else top / means, links(one), controls(one), "of the best", 2)
            plot.title(axes, f"{TITLES[use]}: {USES[use][3]}, as a part of the best control's")
    return plot.saved(fig, stem, "Each value as a part of the best control's over that link: 1 is the best.")


# -- Sprout ---------------------------------------------------------------------------------------------------------------


def findings(cells: Mapping[str, Cells]) -> list[Finding]:
    """What Sprout's paper says of CUBIC and Vegas, compared with drawn links."""
    claims, printed = Claims(ID), expected(ID)["sprout"]

    def delay(queue: str, control: str) -> Array:
        return np.log10(np.array(cells["self_inflicted"][queue, control]) * 1e-3)

    def used(queue: str, control: str) -> Array:
        return np.array(cells["utilisation"][queue, control])

    ratio = float(np.log10(printed["cubic"]["delay_s"] / printed["cubic-codel"]["delay_s"]))
    deep = judge_size(stats.paired_difference(delay("drop_tail", "cubic"), delay("codel", "cubic")), ratio, 2)
    same = within(stats.paired_difference(used("drop_tail", "cubic"), used("codel", "cubic")).scaled(100), -10, 10)
    vegas = judge(
        [
            (
                "log10 of CUBIC over Vegas",
                stats.paired_difference(delay("drop_tail", "cubic"), delay("drop_tail", "vegas")),
            )
        ],
        2,
    )
    shown = f"{10 ** float(np.mean(delay('drop_tail', 'cubic'))):.3g} s and {10 ** float(np.mean(delay('codel', 'cubic'))):.3g} s"
    return [
        claims("codel_delay", Judged(deep.verdict, f"{shown}; log10 of the ratio {deep.text}", deep.p)),
        claims("codel_use", Judged(same.verdict, f"{same.text} points", same.p)),
        claims("vegas", vegas),
    ]


def sprout(cells: Mapping[str, Cells]) -> Table:
    """Self-inflicted delay and use of the link, beside the averages that Sprout's paper prints."""
    printed = expected(ID)["sprout"]
    rows = []
    for queue, control in cells["self_inflicted"]:
        delay, used = (mean(cells[metric][queue, control]) for metric in ("self_inflicted", "utilisation"))
        paper = printed.get(control if queue == "drop_tail" else f"{control}-{queue}", {})
        rows.append([
            control, "without bound" if queue == "drop_tail" else queue,
            delay.scaled(1e-3).format(3) if delay else "–", f"{paper['delay_s']:g}" if "delay_s" in paper else "–",
            used.scaled(100).format(0) if used else "–", f"{paper['used']:g}" if "used" in paper else "–",
        ])  # fmt: skip
    columns = ["control", "queue", "self-inflicted delay (s)", "Sprout's paper", "link used (%)", "Sprout's paper"]
    note = "Averages over eight links: here drawn, in Sprout's paper recorded, as far as public text gives them."
    return Table("sprout", "Self-inflicted delay over drawn cellular links", columns, rows, note, left=2)
