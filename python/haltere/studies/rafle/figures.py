"""The figures of the study `rafle`: 3 to 7 of the paper, for one reading of its router."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...analysis import stats
from ...report import plot
from ...report.document import Figure
from ..base import Options
from .router import CLASSIFIERS, DROP_TAIL, FQ_CODEL, PAPERS, SERVICES
from .tasks import BUCKET, LAST_BUCKETS, Cells, Tasks, bucket_mean, bucket_sd, equal_share

__all__ = ["all_of"]

Array = NDArray[np.float64]

SHOWN = {DROP_TAIL: "Drop tail", **CLASSIFIERS, FQ_CODEL: "FQ-CoDel"}
SHADES = plot.colours(SHOWN)
WIDTH, HEIGHT = 7.6, 3.8
# Upper edges of the classes of size in figure 7, in buckets of 100 KB. Single buckets hold a handful of files.
CLASSES = (1, 5, 10, 20, LAST_BUCKETS)
WINDOWS_S = ((1000.0, 2000.0), (2000.0, 3000.0), (3000.0, 4000.0))


class Study(Protocol):
    """What is drawn: the runs of the study, and the paper's numbers."""

    options: Options
    names: list[str]
    given: dict[str, Any]
    first: Cells
    second: Cells

    @property
    def classified(self) -> list[str]:
        """The queues that classify."""


def all_of(study: Study, reading: str) -> list[Figure]:
    """Draws all figures of a reading."""
    made = [_active(study, reading), _normalised(study, reading), _buckets(study, reading)]
    if study.second:
        made += [_steady(study, reading), _served(study, reading)]
    return made


def _stem(study: Study, name: str) -> Path:
    return study.options.out / "figures" / name


def _of_service(names: Sequence[str], service: str) -> list[str]:
    """Those to be shown beside a service: drop tail, its classifiers, FQ-CoDel."""
    return [name for name in names if "/" not in name or name.endswith(f"/{service}")]


def _saved(fig: Any, panels: Sequence[Any], stem: Path, caption: str) -> Figure:
    for axes, service in zip(panels, SERVICES, strict=True):
        plot.title(axes, service.replace("_", " ").capitalize())
    plot.legend(fig, panels[0], 7)
    plot.save(fig, stem)
    return Figure(stem.with_suffix(".png"), caption)


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


def _active(study: Study, reading: str) -> Figure:
    """Figure 4: tasks not done over time, beside the equal share."""
    last = max(float(np.nanmax(t.end)) for name in study.names for t in study.first[reading, name].tasks)
    start = max(float(t.start.max()) for name in study.names for t in study.first[reading, name].tasks)
    # From when the last task has begun: before it the number rises.
    grid = np.concatenate([[start], np.arange(10.0 * np.ceil(start / 10.0 + 0.1), last + 20.0, 10.0)])
    fig, panels = _bands(lambda name: [t.active(grid) for t in study.first[reading, name].tasks], grid, study.names)
    sizes = np.sort(study.first[reading, DROP_TAIL].tasks[0].bytes)
    done = np.array([equal_share(sizes.tolist(), size, study.given["shaper_mbit"] * 1e6) for size in sizes])
    for axes in panels:
        axes.step(np.concatenate([[0.0], done]), np.arange(sizes.size, -1, -1), where="post", color="black", linestyle="--", linewidth=1.0, label="Equal share")  # fmt: skip
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("tasks not done")
    caption = f"Tasks not done over time, reading {reading}, with the analytic equal share (figure 4 of the paper)."
    return _saved(fig, panels, _stem(study, f"active-{reading}"), caption)


def _normalised(study: Study, reading: str) -> Figure:
    """Figure 5: tasks done over time, as a multiple of drop tail's."""
    grid = np.arange(20.0, 2001.0, 10.0)
    base = np.mean([_done(t, grid) for t in study.first[reading, DROP_TAIL].tasks], axis=0)
    base = np.where(base > 0, base, np.nan)
    fig, panels = _bands(
        lambda name: [_done(t, grid) / base for t in study.first[reading, name].tasks], grid, study.classified
    )
    for axes in panels:
        axes.axhline(1.0, color=SHADES[DROP_TAIL], linewidth=1.0, label="Drop tail (mean)")
        axes.set_xscale("log")
        axes.set_xticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("tasks done / drop tail's")
    caption = f"Tasks done as a multiple of drop tail's mean, reading {reading} (figure 5)."
    return _saved(fig, panels, _stem(study, f"normalised-{reading}"), caption)


def _buckets(study: Study, reading: str) -> Figure:
    """Figure 3: mean and deviation by bucket for RAFLE, beside the equal share."""
    fig, panels = plot.figure(1, 2, width=WIDTH, height=HEIGHT, share=True)
    sizes = study.first[reading, DROP_TAIL].tasks[0].bytes.tolist()
    edges = np.arange(1, LAST_BUCKETS + 1) * BUCKET
    ideal = [equal_share(sizes, float(edge), study.given["shaper_mbit"] * 1e6) for edge in edges]
    for axes, service in zip(panels, SERVICES, strict=True):
        cell = study.first[reading, f"rafle/{service}"]
        filled = [b for b in range(LAST_BUCKETS) if (cell.tasks[0].bucket == b).sum() >= 2]
        x = np.array([(b + 0.5) * 0.1 for b in filled])
        means = [float(np.nanmean(cell.over(bucket_mean(b)))) for b in filled]
        sds = [float(np.nanmean(cell.over(bucket_sd(b)))) for b in filled]
        axes.errorbar(x, means, yerr=sds, fmt="o", markersize=3.5, color=plot.PALETTE[0], ecolor="#7FA9C6", elinewidth=1.2, label="RAFLE: mean and deviation")  # fmt: skip
        axes.plot(edges / 1e6, ideal, color="black", linestyle="--", linewidth=1.0, label="Equal share")
        axes.set_xlabel("file size (MB)")
        axes.set_xticks(range(5))
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel("completion time (s)")
    caption = (
        f"Completion time by file size under RAFLE, reading {reading} (figure 3). Buckets of one file are left out."
    )
    return _saved(fig, panels, _stem(study, f"buckets-{reading}"), caption)


def _steady(study: Study, reading: str) -> Figure:
    """Figure 6: tasks whose data connection is open over time, in the closed loop."""
    grid = np.arange(0.0, 4001.0, 20.0)
    fig, panels = _bands(
        lambda name: [t.transferring(grid) for t in study.second[reading, name].tasks], grid, study.names
    )
    panels[0].set_ylabel("tasks with a data connection")
    for axes in panels:
        axes.axvspan(0.0, 1000.0, color="#EEEEEE", linewidth=0, zorder=0)
        axes.set_ylim(bottom=0)
    caption = f"Of 300 tasks under way, those whose data connection is begun, reading {reading} (figure 6). Grey: before the measurement."
    return _saved(fig, panels, _stem(study, f"steady-{reading}"), caption)


def _class_counts(tasks: Tasks, low: float, high: float) -> Array:
    """Files done between these times, by class of size."""
    return np.add.reduceat(tasks.served(low, high), (0, *CLASSES[:-1]))


def _served(study: Study, reading: str) -> Figure:
    """Figure 7: files served by class of size, with each 1000 s."""
    fig, panels = plot.figure(1, 2, width=WIDTH, height=HEIGHT, share=True)
    names = [n for n in study.names if n.split("/")[0] in (DROP_TAIL, *PAPERS)]
    edges = [0.0, *(edge * BUCKET / 1e6 for edge in CLASSES)]
    groups = [f"{low:g}–{high:g}" for low, high in itertools.pairwise(edges)]
    for axes, service in zip(panels, SERVICES, strict=True):
        shown = _of_service(names, service)
        for j, name in enumerate(shown):
            kind, tasks = name.split("/")[0], study.second[reading, name].tasks
            x = np.arange(len(groups)) + (j - (len(shown) - 1) / 2) * 0.8 / len(shown)
            total = [_class_counts(t, WINDOWS_S[0][0], WINDOWS_S[-1][1]) for t in tasks]
            means = [stats.mean([float(one[i]) for one in total]) for i in range(len(groups))]
            halves = [0.0 if np.isnan(m.half) else m.half for m in means]
            axes.errorbar(x, [m.mean for m in means], yerr=halves, fmt="s", markersize=4.5, color=SHADES[kind], elinewidth=1.2, capsize=2, label=SHOWN[kind])  # fmt: skip
            for place, window in enumerate(WINDOWS_S):
                part = np.mean([_class_counts(t, *window) for t in tasks], axis=0)
                axes.plot(x + (place - 1) * 0.055, part, "o", markersize=2.2, markerfacecolor="none", markeredgewidth=0.7, markeredgecolor=SHADES[kind])  # fmt: skip
        axes.set_yscale("symlog", linthresh=1.0)
        axes.yaxis.set_major_formatter(plot.plain_number())
        axes.set_ylim(bottom=0)
        axes.set_xticks(range(len(groups)), groups)
        axes.tick_params(axis="x", length=0)
        axes.grid(False, axis="x")
        axes.set_xlabel("file size (MB)")
    panels[0].set_ylabel("files served")
    caption = f"Files served in [1000 s, 4000 s] by size, reading {reading} (figure 7); circles: each 1000 s in turn."
    return _saved(fig, panels, _stem(study, f"served-{reading}"), caption)


def _done(tasks: Tasks, grid: Array) -> Array:
    """Tasks done by each time."""
    return np.searchsorted(np.sort(tasks.end[~np.isnan(tasks.end)]), grid, "right").astype(np.float64)
