"""The figures of a report card."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes

from ...analysis.measures import Run
from ...report import plot
from ...report.document import Figure
from ..files import Case
from ..named import mean
from .card import Values, called
from .measures import MEASURES

#: The goodput of the control's flows over time, by scenario and control: the times (s), and one array of Mbit/s a seed.
Series = dict[tuple[str, str], tuple[np.ndarray, list[np.ndarray]]]
#: When the path changes in a scenario that is drawn over time.
EVENT_S = 20.0


def series_of(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """What the flows under test delivered together, step by step: times (s) and Mbit/s."""
    table = run.table("flow_series")
    names = table["flow"].cast(pa.string()).to_numpy(zero_copy_only=False)
    at, got = table["at_ns"].to_numpy() * 1e-9, table["received_bytes"].to_numpy().astype(np.float64)
    times = np.unique(at)
    total = np.zeros(len(times))
    for name in {name for name in names if str(name).startswith("own")}:
        chosen = names == name
        total += np.interp(times, at[chosen], got[chosen], left=0.0)
    return times[1:], np.diff(total) * 8e-6 / np.diff(times)


def draw(known: Mapping[str, Case], names: Sequence[str], values: Values, series: Series, folder: Path) -> list[Figure]:
    """Every figure of which the scenarios have run."""
    made = _Figures(known, names, values, folder)
    drawn = [made.buffers(), made.beside(), made.losses(), made.paths(), made.events(series)]
    return [one for one in drawn if one is not None]


@dataclass(frozen=True)
class _Figures:
    known: Mapping[str, Case]
    names: Sequence[str]
    values: Values
    folder: Path

    def _over(self, prefix: str, value: str) -> dict[str, float]:
        """The scenarios whose key begins so, with that value of each."""
        return {key: case.of[value] for key, case in self.known.items() if key.startswith(prefix) and value in case.of}

    def _lines(self, axes: Axes, x: Sequence[float], keys: Sequence[str], measure: str) -> None:
        """One line a control with intervals over the scenarios."""
        for name, colour in plot.colours(self.names).items():
            means = [mean(self.values[key, name, measure]) for key in keys]
            shown = [(math.nan, 0.0) if one is None else (one.mean, one.half) for one in means]
            halves = [0.0 if math.isnan(half) else half for _, half in shown]
            axes.errorbar(
                x, [middle for middle, _ in shown], yerr=halves, color=colour, label=called(name), capsize=2, marker="o", markersize=3.5,
            )  # fmt: skip
        what = MEASURES[measure]
        axes.set_ylabel(f"{what.unit}")
        axes.set_ylim(bottom=0)
        plot.title(axes, what.title)

    def buffers(self) -> Figure | None:
        """Delay and loss over the buffer."""
        over = self._over("buffer-", "buffer")
        if len(over) < 2:
            return None
        fig, panels = plot.figure(1, 2, width=7.6, height=3.1)
        for axes, measure in zip(panels, ("delay", "lost"), strict=True):
            self._lines(axes, list(over.values()), list(over), measure)
            plot.log_ticks(axes, list(over.values()))
            axes.set_xlabel("buffer (BDP)")
        caption = "Queueing delay and loss of four flows over the buffer (sections 5.1.2 and 5.1.3), with 95 % intervals. Less is better."
        return plot.saved(fig, self.folder / "buffers", caption, panels[0])

    def beside(self) -> Figure | None:
        """What flows of the standards get beside those of the control."""
        shown = {control: self._over(f"beside-{control}-", "buffer") for control in ("cubic", "reno")}
        shown = {control: over for control, over in shown.items() if len(over) > 1}
        if not shown:
            return None
        fig, panels = plot.figure(1, len(shown), width=7.6, height=3.1, share=True)
        for axes, (control, over) in zip(panels, shown.items(), strict=True):
            self._lines(axes, list(over.values()), list(over), "others")
            plot.title(axes, f"4 flows of {called(control)} beside 4 of each")
            axes.axhline(100, color="#888888", linewidth=0.8, linestyle="--")
            plot.log_ticks(axes, list(over.values()))
            axes.set_xlabel("buffer (BDP)")
            axes.set_ylabel("of an equal share (%)" if axes is panels[0] else "")
        caption = "What flows of the standards get beside as many of the control (section 5.2.1). Dashed: an equal share. More is less harm."
        return plot.saved(fig, self.folder / "beside", caption, panels[0])

    def losses(self) -> Figure | None:
        """Goodput over random loss."""
        over = self._over("loss-", "loss")
        if len(over) < 2:
            return None
        fig, (axes,) = plot.figure(height=3.0)
        self._lines(axes, range(len(over)), list(over), "goodput")
        axes.set_xticks(range(len(over)), [f"{loss:g}" for loss in over.values()])
        axes.set_xlabel("random loss (%)")
        caption = "Goodput of one flow over random loss of a line of 20 Mbit/s (section 6.4)."
        return plot.saved(fig, self.folder / "losses", caption, axes)

    def paths(self) -> Figure | None:
        """Goodput over rates and round-trip times."""
        over, rates = self._over("path-", "rtt"), self._over("path-", "rate")
        if len(over) < 9:
            return None
        fig, panels = plot.figure(1, 3, width=7.6, height=3.0)
        for axes, rate in zip(panels, sorted(set(rates.values())), strict=True):
            keys = [key for key in over if rates[key] == rate]
            self._lines(axes, [over[key] for key in keys], keys, "goodput")
            plot.log_ticks(axes, [over[key] for key in keys])
            axes.set_ylim(0, rate)
            axes.set_ylabel("goodput (Mbit/s)" if axes is panels[0] else "")
            axes.set_xlabel("round-trip time (ms)")
            plot.title(axes, f"{rate:g} Mbit/s")
        caption = "Goodput of two flows over rates and round-trip times, drop tail of one BDP (section 6.1). The top of each panel is the link's rate."
        return plot.saved(fig, self.folder / "paths", caption, panels[0])

    def events(self, series: Series) -> Figure | None:
        """Goodput around a change of the path."""
        shown = [case for case in self.known.values() if case.drawn]
        if not shown:
            return None
        fig, panels = plot.panels(len(shown), 2, width=7.6, height=0.4, row=2.3)
        for axes, case in zip(panels, shown, strict=True):
            for name, colour in plot.colours(self.names).items():
                at, runs = series[case.key, name]
                near = at >= EVENT_S - 5
                plot.line(axes, at[near] - EVENT_S, np.mean([run[near] for run in runs], axis=0), called(name), colour)
            axes.axvline(0, color="#888888", linewidth=0.8, linestyle="--")
            axes.set_ylim(bottom=0)
            axes.set_ylabel("goodput (Mbit/s)")
            axes.set_xlabel("time after the change (s)")
            plot.title(axes, case.drawn)
        caption = "Goodput of two flows around a change of the path (sections 7.8 and 7.9), mean of the seeds."
        return plot.saved(fig, self.folder / "events", caption, panels[0])
