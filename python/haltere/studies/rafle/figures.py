"""The figures of the study `rafle`: 3 to 7 of the paper and its tables, in the primary reading, and what single changes do."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis import stats
from ...report import plot
from ...report.document import Figure
from .router import CLASSIFIERS, DROP_TAIL, FQ_CODEL, LABELS, PAPERS, PRIMARY, SERVICES
from .study import EARLY_S, STEADY_S, Study
from .tasks import BUCKET, LAST_BUCKETS, Tasks, bucket_mean, bucket_sd, paper_s_share

Array = NDArray[np.float64]

SHOWN = {DROP_TAIL: "Drop tail", **CLASSIFIERS, FQ_CODEL: "FQ-CoDel"}
SHADES = plot.colours(SHOWN)
WIDTH, HEIGHT = 7.6, 3.8
# Upper edges of the classes of size in figure 7, in buckets of 100 KB. Single buckets hold a handful of files.
CLASSES = (1, 5, 10, 20, LAST_BUCKETS)
WINDOWS_S = ((1000.0, 2000.0), (2000.0, 3000.0), (3000.0, 4000.0))


def of_all(study: Study) -> list[Figure]:
    """Draws the figures of the primary reading."""
    made = [_buckets(study), _active(study), _normalised(study)]
    return [*made, _steady(study), _served(study)] if study.second else made


def _stem(study: Study, name: str) -> Path:
    return study.options.out / "figures" / name


def _of_service(names: Sequence[str], service: str) -> list[str]:
    """Those to be shown beside a service: drop tail, its classifiers, FQ-CoDel."""
    return [name for name in names if "/" not in name or name.endswith(f"/{service}")]


def _saved(fig: Any, panels: Sequence[Any], stem: Path, caption: str) -> Figure:
    for axes, service in zip(panels, SERVICES, strict=True):
        plot.title(axes, service.replace("_", " ").capitalize())
    return plot.saved(fig, stem, caption, panels[0], 4)


def _bands(values: Callable[[str], list[Array]], grid: Array, names: Sequence[str]) -> tuple[Any, list[Any]]:
    """Two panels, one a service, with a band a queue over time."""
    fig, panels = plot.figure(1, 2, width=WIDTH, height=HEIGHT, share=True)
    for axes, service in zip(panels, SERVICES, strict=True):
        for name in _of_service(names, service):
            kind = name.split("/")[0]
            plot.band(axes, grid, values(name), SHOWN[kind], SHADES[kind])
        axes.set_xlabel("time (s)")
        axes.margins(x=0.01)
    return fig, panels


def _active(study: Study) -> Figure:
    """Figure 4: tasks not done over time, beside the equal share."""
    last = max(float(np.nanmax(t.end)) for name in study.names for t in study.first[PRIMARY, name].tasks)
    start = max(float(t.start.max()) for name in study.names for t in study.first[PRIMARY, name].tasks)
    # From when the last task has begun: before it the number rises.
    grid = np.concatenate([[start], np.arange(10.0 * np.ceil(start / 10.0 + 0.1), last + 20.0, 10.0)])
    fig, panels = _bands(lambda name: [t.active(grid) for t in study.first[PRIMARY, name].tasks], grid, study.names)
    share = paper_s_share(study.first[PRIMARY, DROP_TAIL].tasks[0].bucket, study.rate_bps, grid)
    for axes in panels:
        axes.step(grid, share, where="post", color="black", linestyle="--", linewidth=1.0, label="Equal share (paper)")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("tasks not done")
    caption = "Tasks not done over time (figure 4 of the paper), with the paper's equal share: every file at the middle of its bucket. Shaded: lowest to highest seed."
    return _saved(fig, panels, _stem(study, "active"), caption)


def _normalised(study: Study) -> Figure:
    """Figure 5: tasks done over time, as a multiple of drop tail's."""
    grid = np.arange(EARLY_S[0], 2001.0, 5.0)
    base = np.mean([t.done(grid) for t in study.first[PRIMARY, DROP_TAIL].tasks], axis=0)
    base = np.where(base >= 1, base, np.nan)
    fig, panels = _bands(
        lambda name: [t.done(grid) / base for t in study.first[PRIMARY, name].tasks], grid, study.classified
    )
    for axes in panels:
        axes.axhline(1.0, color=SHADES[DROP_TAIL], linewidth=1.0, label="Drop tail (mean)")
        axes.axvspan(*EARLY_S, color="#E4E4E4", linewidth=0, zorder=0)
        # Only under priority; the legend is that of the first panel.
        at = EARLY_S if axes is panels[-1] else (np.nan, np.nan)
        axes.plot(at, (3.0, 3.0), color="#222222", linestyle="--", linewidth=1.2, label="Paper: RAFLE, at first")
        plot.log_ticks(axes, [20, 50, 100, 200, 500, 1000])
        axes.set_yscale("log")
        axes.set_ylim(0.2, 100)
        axes.set_yticks([0.3, 1, 3, 10, 30, 100], ["0.3", "1", "3", "10", "30", "100"])
        axes.minorticks_off()
    panels[0].set_ylabel("tasks done / drop tail's")
    caption = (
        "Tasks done as a multiple of drop tail's mean, from its first served file on (figure 5); shaded: from the lowest to the highest seed. Grey: the first "
        'seconds as they are judged. The paper says "almost three times in the first seconds" and does not say when.'
    )
    return _saved(fig, panels, _stem(study, "normalised"), caption)


def _buckets(study: Study) -> Figure:
    """Figure 3: mean and deviation by bucket for RAFLE, beside the equal share."""
    fig, panels = plot.figure(1, 2, width=WIDTH, height=HEIGHT, share=True)
    given = study.given["table2"]
    at = (np.arange(5) + 0.5) * BUCKET / 1e6
    for axes, service in zip(panels, SERVICES, strict=True):
        cell = study.first[PRIMARY, f"rafle/{service}"]
        filled = [b for b in range(LAST_BUCKETS) if (cell.tasks[0].bucket == b).sum() >= 2]
        x = np.array([(b + 0.5) * 0.1 for b in filled])
        means = [float(np.nanmean(cell.over(bucket_mean(b)))) for b in filled]
        sds = [float(np.nanmean(cell.over(bucket_sd(b)))) for b in filled]
        axes.errorbar(x, means, yerr=sds, fmt="o", markersize=3.5, color=plot.PALETTE[0], ecolor="#7FA9C6", elinewidth=1.2, label="RAFLE: mean and deviation")  # fmt: skip
        theirs = (given[key][f"rafle/{service}"] for key in ("mean", "sd"))
        axes.errorbar(at * 1.09, next(theirs), yerr=next(theirs), fmt="D", markersize=4, markerfacecolor="white", color="#222222", elinewidth=0.9, label="Paper: RAFLE (table 2)")  # fmt: skip
        axes.plot(at, given["equal_share"], color="black", linestyle="--", linewidth=1.0, label="Paper: equal share")
        axes.set_xlabel("file size (MB)")
        plot.log_ticks(axes, [0.05, 0.1, 0.2, 0.5, 1, 2, 4])
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("completion time (s)")
    caption = "Completion time by file size under RAFLE (figure 3): mean and deviation within a bucket. Buckets of one file are left out."
    return _saved(fig, panels, _stem(study, "buckets"), caption)


def _steady(study: Study) -> Figure:
    """Figure 6: tasks whose data connection is open over time, in the closed loop."""
    grid = np.arange(0.0, 4001.0, 20.0)
    fig, panels = _bands(
        lambda name: [t.transferring(grid) for t in study.second[PRIMARY, name].tasks], grid, study.names
    )
    panels[0].set_ylabel("tasks with a data connection")
    for axes in panels:
        axes.axvline(STEADY_S[0], color="#222222", linestyle="--", linewidth=0.8)
        axes.set_ylim(bottom=0)
    caption = "Of 300 tasks at a time, those whose data connection is open (figure 6). Dashed: the measurement begins."
    return _saved(fig, panels, _stem(study, "steady"), caption)


def _class_counts(tasks: Tasks, low: float, high: float) -> Array:
    """Files done between these times, by class of size."""
    return np.add.reduceat(tasks.served(low, high), (0, *CLASSES[:-1]))


def _served(study: Study) -> Figure:
    """Figure 7: files served by class of size, with each 1000 s."""
    fig, panels = plot.figure(1, 2, width=WIDTH, height=HEIGHT, share=True)
    names = [n for n in study.names if n.split("/")[0] in (DROP_TAIL, *PAPERS)]
    edges = [0.0, *(edge * BUCKET / 1e6 for edge in CLASSES)]
    groups = [f"{low:g}–{high:g}" for low, high in itertools.pairwise(edges)]
    for axes, service in zip(panels, SERVICES, strict=True):
        shown = _of_service(names, service)
        for j, name in enumerate(shown):
            kind, tasks = name.split("/")[0], study.second[PRIMARY, name].tasks
            x = np.arange(len(groups)) + (j - (len(shown) - 1) / 2) * 0.8 / len(shown)
            total = [_class_counts(t, WINDOWS_S[0][0], WINDOWS_S[-1][1]) for t in tasks]
            means = [stats.mean([float(one[i]) for one in total]) for i in range(len(groups))]
            halves = [0.0 if np.isnan(m.half) else m.half for m in means]
            axes.errorbar(x, [m.mean for m in means], yerr=halves, fmt="s", markersize=4.5, color=SHADES[kind], elinewidth=1.2, capsize=2, label=SHOWN[kind])  # fmt: skip
            for place, window in enumerate(WINDOWS_S):
                part = np.mean([_class_counts(t, *window) for t in tasks], axis=0)
                axes.plot(x + (place - 1) * 0.055, part, "o", markersize=2.2, markerfacecolor="none", markeredgewidth=0.7, markeredgecolor=SHADES[kind])  # fmt: skip
        axes.set_yscale("log")
        axes.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
        axes.minorticks_off()
        axes.set_ylim(0.1, 2000)
        axes.set_xticks(range(len(groups)), groups)
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        axes.set_xlabel("file size (MB)")
    panels[0].set_ylabel("files served")
    caption = "Files served in [1000 s, 4000 s] by size (figure 7); circles: each 1000 s in turn."
    return _saved(fig, panels, _stem(study, "served"), caption)


def _points(axes: Any, x: Any, values: Sequence[stats.Mean], colour: str, label: str, across: bool = False) -> None:
    """Means with their intervals; ``across``: against the vertical axis."""
    means, halves = [v.mean for v in values], [0.0 if np.isnan(v.half) else v.half for v in values]
    at = {"x": means, "y": x, "xerr": halves} if across else {"x": x, "y": means, "yerr": halves}
    axes.errorbar(**at, fmt="s", markersize=5, color=colour, elinewidth=1.3, capsize=3, label=label)


def changes(study: Study) -> Figure:
    """RAFLE less ideal under round robin for each single change."""
    rows = {"primary reading": study.of(PRIMARY), **study.changes}
    fig, (axes,) = plot.figure(1, 1, width=6.4, height=1.4 + 0.27 * len(rows))
    y = np.arange(len(rows), dtype=np.float64)
    for edge, label in ((-5, None), (5, "equal within 5 %")):
        axes.axvline(edge, color="#222222", linestyle="--", linewidth=0.8, label=label)
    _points(
        axes, y, [study.rafle_less_ideal(cells)[1] for cells in rows.values()], plot.PALETTE[0], "Ours", across=True
    )
    axes.plot([-0.4], [0], "D", markersize=5, markerfacecolor="white", markeredgecolor="#222222", label="Paper")
    axes.set_yticks(y, list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.set_xlabel("RAFLE less ideal under round robin (% of ideal's time)")
    caption = (
        "What if: time of files up to 100 KB with RAFLE less ideal's under round robin, by change, with 95 % intervals."
    )
    return plot.saved(fig, _stem(study, "changes"), caption, axes)


def lengths(study: Study) -> Figure:
    """Drop tail's first bucket and RAFLE's gain by length of the queues."""
    fig, (left, right) = plot.figure(1, 2, width=WIDTH, height=3.0)
    x, given = sorted(study.lengths), study.given
    lines = []
    for key, label, measure in (("mean", "Mean", bucket_mean(0)), ("sd", "Deviation", bucket_sd(0))):
        ours = [stats.mean(study.lengths[n][DROP_TAIL].over(measure)) for n in x]
        lines.append((left, label, ours, given["table2"][key][DROP_TAIL][0]))
    for service in SERVICES:
        name = f"rafle/{service}"
        ours = [study.gain(study.lengths[n], name, bucket_mean(0)) for n in x]
        lines.append((right, LABELS[name], ours, given["table3"]["mean"][name]))
    for colour, (axes, label, ours, paper) in zip(plot.PALETTE, lines, strict=False):
        _points(axes, x, ours, colour, label)
        axes.axhline(paper, color=colour, linestyle="--", linewidth=1.0)
    right.axhline(0, color="#222222", linewidth=0.8)
    left.set_ylim(bottom=0)
    texts = (("Drop tail", "files up to 100 KB (s)"), ("RAFLE", "gain over drop tail (%)"))
    for axes, (text, unit) in zip((left, right), texts, strict=True):
        plot.title(axes, text)
        plot.log_ticks(axes, [50, 100, 200, 500, 1000, 2000])
        axes.set_xlabel("length of every queue (packets)")
        axes.set_ylabel(unit)
    caption = "What if: files up to 100 KB by the length of the queues, which the paper does not state, with 95 % intervals. Dashed: the paper's value."
    plot.legend(fig, [left, right])
    return plot.saved(fig, _stem(study, "lengths"), caption)
