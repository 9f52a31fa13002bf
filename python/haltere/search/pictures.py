"""Figures of a search: how the score grew, and the score over each searched value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..report import plot
from ..report.document import Figure, Table
from .climb import Found, Trial
from .ranges import Choice, Range, Span

#: Panels of the figure of slices beyond which it cannot be read.
_MOST_PANELS = 9
#: Candidates in the table.
_LISTED = 5
_PALE = "#9AA7B0"


@dataclass(frozen=True)
class Shown:
    """How scores are shown: what they are with their unit, the factor to it, decimals, and short names of the searched values."""

    label: str
    scale: float = 1.0
    digits: int = 1
    names: Mapping[str, str] = field(default_factory=dict)
    baseline: float | None = None
    """The score of what the search began with."""

    def of(self, trial: Trial) -> float:
        """The score of a candidate, in that unit."""
        return trial.outcome.mean * self.scale


def blocks(
    found: Found, keys: Sequence[str], ranges: Mapping[str, Range], shown: Shown, out: Path
) -> list[Table | Figure]:
    """The best candidates with the values of these keys, and the figures."""
    return [_table(found, keys, shown), *_figures(found, ranges, shown, out / "figures")]


def _figures(found: Found, ranges: Mapping[str, Range], shown: Shown, folder: Path) -> list[Figure]:
    judged = [one for one in found.trials if not one.outcome.error]
    if not judged:
        return []
    out = [_history(judged, shown, folder / "history")]
    varied = {key: one for key, one in ranges.items() if _varies(key, judged)}
    if varied:
        out.append(_slices(judged, dict(list(varied.items())[:_MOST_PANELS]), shown, folder / "slices"))
    return out


def _varies(key: str, judged: Sequence[Trial]) -> bool:
    return len({str(one.values[key]) for one in judged if key in one.values}) > 1


def _points(axes: Any, judged: Sequence[Trial], x: Sequence[float], shown: Shown) -> None:
    blue = plot.PALETTE[0]
    for stopped, rim, fill, label in ((True, _PALE, "none", "stopped early"), (False, blue, blue, "all seeds")):
        chosen = [(at, shown.of(one)) for at, one in zip(x, judged, strict=True) if one.outcome.stopped == stopped]
        if chosen:
            axes.plot(
                *zip(*chosen, strict=True), "o", markersize=3.6, markeredgewidth=0.8, markeredgecolor=rim, markerfacecolor=fill,
                linestyle="none", label=label,
            )  # fmt: skip


def _history(judged: Sequence[Trial], shown: Shown, stem: Path) -> Figure:
    fig, (axes,) = plot.figure(height=3.0)
    _points(axes, judged, [float(one.number) for one in judged], shown)
    steps = [(float(one.number), shown.of(one)) for one in judged if one.is_best]
    if steps:
        steps.append((float(judged[-1].number), steps[-1][1]))
        axes.step(*zip(*steps, strict=True), where="post", color=plot.PALETTE[1], label="best so far")
    if shown.baseline is not None:
        at = shown.baseline * shown.scale
        axes.axhline(at, color="#555555", linewidth=1.0, linestyle="--", label="the file as it is")
    axes.set_xlabel("candidate")
    axes.set_ylabel(shown.label)
    caption = "Every candidate in the order of the search. Hollow: stopped early. The line is the best one so far."
    return plot.saved(fig, stem, caption, axes)


def _slices(judged: Sequence[Trial], ranges: Mapping[str, Range], shown: Shown, stem: Path) -> Figure:
    fig, panels = plot.panels(len(ranges), 3, height=0.3, row=2.1, least=2.6)
    best = next((one for one in reversed(judged) if one.is_best), None)
    for axes, (key, one) in zip(panels, ranges.items(), strict=True):
        own = [trial for trial in judged if key in trial.values]
        _points(axes, own, [_at(one, trial.values[key]) for trial in own], shown)
        if best is not None and key in best.values:
            x, y = _at(one, best.values[key]), shown.of(best)
            axes.plot([x], [y], "D", markersize=6, color=plot.PALETTE[1], label="best")
        _axis(axes, one)
        axes.set_xlabel(f"{shown.names.get(key, key)}{_unit(one)}")
    fig.supylabel(shown.label, fontsize=9)
    return plot.saved(fig, stem, "Every candidate over each searched value. The diamond is the best one.")


#: The unit of an axis, and how many of it the base unit has.
_SHOWN = {
    "duration": (1e3, "ms"), "rate": (1e-6, "Mbit/s"), "bytes": (1e-3, "kB"), "packets": (1.0, "packets"), "per cent": (1.0, "%"),
    "bandwidth-delay products": (1.0, "BDP"), "number": (1.0, ""),
}  # fmt: skip


def _at(one: Range, value: Any) -> float:
    if isinstance(one, Choice):
        return float(one.values.index(value))
    return one.number(value) * _SHOWN[one.kind][0]


def _unit(one: Range) -> str:
    unit = "" if isinstance(one, Choice) else _SHOWN[one.kind][1]
    return f" ({unit})" if unit else ""


def _axis(axes: Any, one: Range) -> None:
    if isinstance(one, Choice):
        axes.set_xticks(range(len(one.values)), [_short(value) for value in one.values])
        axes.margins(x=0.15)
        if len(one.values) > 3:
            axes.tick_params(axis="x", labelrotation=30)
    elif isinstance(one, Span) and one.log:
        axes.set_xscale("log")
        plot.log_axis(axes.xaxis)


def _short(value: Any) -> str:
    return str(value["kind"]) if isinstance(value, Mapping) and "kind" in value else str(value)


def _table(found: Found, keys: Sequence[str], shown: Shown) -> Table:
    """The best candidates. Its CSV file has all of them."""

    def row(one: Trial) -> list[str]:
        score = one.outcome.error or f"{shown.of(one):.{shown.digits}f}"
        state = "failed" if one.outcome.error else "stopped early" if one.outcome.stopped else "all seeds"
        values = [_short(one.values.get(key, "")) for key in keys]
        return [str(one.number), *values, score, str(len(one.outcome.scores)), state]

    judged = sorted(
        (one for one in found.trials if one.outcome.complete),
        key=lambda one: (one is not found.best, -one.outcome.mean, one.number),
    )
    columns = ["candidate", *(shown.names.get(key, key) for key in keys), shown.label, "seeds", ""]
    note = f"{len(found.trials)} candidates: {len(found.stopped)} stopped early, {len(found.failed)} failed. tables/candidates.csv has all of them."
    title = "The best candidates, with the seeds of the search"
    return Table(
        "candidates", title, columns, list(map(row, judged[:_LISTED])), note, every=list(map(row, found.trials))
    )
