"""The figures of the study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...analysis import stats
from ...report import plot
from ...report.document import Figure
from .detectors import METHODS, MSCM, MSCM_BY_PLACE, PAIRS, PHIS, RED_CPI, SBD, SHARED, Detector, roc
from .sides import NAMES, PATHS, Side

_BOTH = ("redundant", "red")
#: How boxes are drawn.
_BOX: dict[str, Any] = {f"{part}props": {"color": plot.PALETTE[0]} for part in ("box", "whisker", "cap")}
_BOX["medianprops"] = {"color": plot.PALETTE[1], "linewidth": 1.6}


def figures(folder: Path, sides: dict[str, Side], detectors: Sequence[Detector]) -> list[Figure]:
    """Figures 6 to 10 of the paper."""
    return [
        _coefficients(detectors, folder / "coefficients"),
        _detectors(detectors, folder / "detectors"),
        _paths(sides, folder / "paths"),
        _duplicates(sides, folder / "duplicates"),
        _replicas(sides, folder / "replicas"),
    ]


def _coefficients(detectors: Sequence[Detector], stem: Path) -> Figure:
    shown = (RED_CPI, MSCM, MSCM_BY_PLACE)
    fig, panels = plot.figure(1, len(shown), width=7.2, height=3.2, share=True)
    places = range(1, len(PAIRS) + 1)
    for axes, method in zip(panels, shown, strict=True):
        values = [detectors[method].all(pair) for pair in PAIRS]
        axes.boxplot([v if len(v) else [math.nan] for v in values], showfliers=False, whis=(5, 95), widths=0.55, **_BOX)
        if method == RED_CPI:
            # The text's only values: medians of 0, and most values very close to 1.
            axes.plot(places, [0, 0, 1], "D", markersize=5, markerfacecolor="white", markeredgecolor="#222222", label="paper's text")  # fmt: skip
            axes.legend(fontsize=8, loc="lower left", frameon=False)
        axes.set_xticks(places, list(PAIRS.values()))
        axes.axhline(0.8, color="#B0B0B0", linewidth=0.8, linestyle="--")
        plot.title(axes, METHODS[method])
    panels[0].set_ylabel("coefficient")
    panels[0].set_ylim(-1.08, 1.08)
    caption = (
        "Coefficients by pair under the redundant scheduler, all seeds (figure 6). Box: quartiles; whiskers: 5 and 95 %; dashed: phi = 0.8. "
        "Diamonds: what the paper's text says of RED-CPI. Of MSCM it gives signs only: A-B and A-C negative, B-C positive."
    )
    return plot.saved(fig, stem, caption)


def _detectors(detectors: Sequence[Detector], stem: Path) -> Figure:
    fig, (left, right) = plot.figure(1, 2, width=7.2, height=3.3)
    for colour, method in zip(plot.PALETTE, (RED_CPI, MSCM, MSCM_BY_PLACE), strict=False):
        one = detectors[method]
        apart, shared = np.concatenate(one.apart), np.concatenate(one.shared)
        if not len(apart) or not len(shared):
            continue
        label = f"{METHODS[method]} (area {np.mean(one.areas()):.3f})"
        plot.band(left, PHIS, list(100 * one.false()), label, colour)
        false, true = roc(apart, shared)
        plot.line(right, 100 * false, 100 * true, label, colour)
    sbd = detectors[SBD]
    apart = np.concatenate([v for pair in PAIRS if pair != SHARED for v in sbd.shares[pair]])
    shared = np.concatenate(sbd.shares[SHARED])
    right.plot([100 * apart.mean()], [100 * shared.mean()], "o", color="#202020", label=METHODS[SBD])
    for phi in (0.8, 0.9):
        left.axvline(phi, color="#B0B0B0", linewidth=0.8, linestyle="--")
    left.set_xlim(0.03, 1.02)
    right.set_xlim(-2, 102)
    left.set_ylim(bottom=-1)
    right.set_ylim(-2, 102)
    left.set_xlabel("phi")
    left.set_ylabel("false positives (%)")
    right.set_xlabel("false positives (%)")
    right.set_ylabel("true positives (%)")
    caption = (
        "Left: false positives against phi, mean and range over the seeds; dashed: the range of thresholds that the paper recommends. Right: ROC, "
        "all seeds, with the area under each curve (figure 7). The paper prints no values."
    )
    return plot.saved(fig, stem, caption, right)


def _paths(sides: dict[str, Side], stem: Path) -> Figure:
    fig, panels = plot.figure(2, 2, width=7.2, height=5.2)
    rows = (("srtt_ms", "smoothed RTT (ms)"), ("rate_mbit", "throughput (Mbit/s)"))
    for column, name in enumerate(_BOTH):
        for row, (measure, label) in enumerate(rows):
            axes = panels[2 * row + column]
            for path, letter in enumerate(PATHS):
                plot.cdf(axes, np.concatenate(getattr(sides[name], measure)[path]), letter, plot.PALETTE[path])
            axes.lines[-1].set_linestyle("--")  # C lies over B
            axes.set_xlabel(label)
            if row == 0:
                plot.title(axes, NAMES[name])
    for row in (0, 1):
        pair = panels[2 * row], panels[2 * row + 1]
        most = max(axes.get_xlim()[1] for axes in pair)
        for axes in pair:
            axes.set_xlim(-0.02 * most, most)
        pair[0].set_ylabel("part of the samples")
    caption = "Distribution of delay and throughput by path, all seeds (figure 8). The paper prints no values but 0.8/1.2 for the least throughput of A."
    return plot.saved(fig, stem, caption, panels[0])


def _duplicates(sides: dict[str, Side], stem: Path) -> Figure:
    fig, panels = plot.figure(1, 2, width=7.2, height=3.0)
    measured = (("dup_acks", "duplicate ACKs so far"), ("retransmissions", "retransmissions so far"))
    for axes, (measure, label) in zip(panels, measured, strict=True):
        for colour, name in zip(plot.PALETTE, _BOTH, strict=False):
            side = sides[name]
            if side.at_s is not None:
                plot.band(axes, side.at_s, getattr(side, measure), NAMES[name], colour)
        axes.set_xlabel("time (s)")
        axes.set_ylabel(label)
    caption = "Duplicate ACKs (NCAD) and retransmissions (NCR) over time: mean and range over the seeds (figure 9). The paper prints no values."
    return plot.saved(fig, stem, caption, panels[0])


def _replicas(sides: dict[str, Side], stem: Path) -> Figure:
    fig, (axes,) = plot.figure(height=3.0)
    series = {NAMES[name]: [stats.mean(sides[name].of("replicas", path)) for path in (0, 1, 2, None)] for name in _BOTH}
    plot.bars(axes, [*PATHS, "all"], series, {}, plot.colours(series))
    axes.set_ylabel("replicated segments a run")
    axes.set_ylim(bottom=0)
    caption = "Replicas by path with 95 % intervals (NMR, figure 10). The paper prints no values: A and B alike, C few."
    return plot.saved(fig, stem, caption, axes)


def cross(stem: Path, primary: dict[str, Side], others: Mapping[str, dict[str, Side]]) -> Figure:
    """The largest delay of B and C with cross connections of several rates."""
    fig, panels = plot.figure(1, 2, width=7.2, height=3.2, share=True)
    each: dict[str, dict[str, Side]] = {"4 / endless": primary}
    each |= {name.replace(", cross ", " / "): of for name, of in others.items()}

    def shown(path: int) -> dict[str, list[stats.Mean | None]]:
        return {NAMES[name]: [stats.mean(of[name].of("max_srtt_ms", path)) for of in each.values()] for name in _BOTH}

    for axes, path in zip(panels, (1, 2), strict=True):
        plot.bars(axes, list(each), shown(path), {}, plot.colours([NAMES[name] for name in _BOTH]))
        plot.title(axes, f"path {PATHS[path]}")
        axes.set_xlabel("stream / cross connection (Mbit/s)")
    panels[0].set_ylabel("largest smoothed RTT (ms)")
    panels[0].set_ylim(bottom=0)
    caption = "Largest delay of a run with 95 % intervals. With a bounded cross connection, one copy of the stream fits the bottleneck and two do not."
    return plot.saved(fig, stem, caption, panels[0])
