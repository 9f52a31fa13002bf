"""A trace of a link: rate, delay and loss over time, and its summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..analysis import stats
from ..errors import InputError

Array = NDArray[np.float64]

#: Bits of a packet, which a delivery opportunity delivers.
PACKET = 12_000.0
#: A time without any capacity that is long enough for a retransmission timeout: Linux's least one.
OUTAGE_S = 0.2
#: Interval over which rates are averaged.
STEP_S = 0.1


@dataclass(frozen=True)
class Trace:
    """What a link can carry over time."""

    at_s: Array
    """When each piece begins; the first is 0."""
    end_s: float
    columns: dict[str, Array]
    """``rate`` (bit/s), ``delay`` (s), ``loss`` (a part) and ``limit`` (packets), as far as the trace has them: a value a piece."""
    instants_s: Array | None = None
    """Of a trace of delivery opportunities: its times."""

    @classmethod
    def of_instants(cls, instants_s: Array) -> Trace:
        """A trace of delivery opportunities; the last is its end."""
        end = float(instants_s[-1])
        edges = np.arange(0.0, end + STEP_S, STEP_S)
        counts = np.histogram(instants_s, edges)[0]
        return cls(
            edges[:-1],
            end,
            {"rate": counts * PACKET / np.minimum(np.diff(edges), np.maximum(end - edges[:-1], 1e-3))},
            instants_s,
        )

    @classmethod
    def of_steps(cls, end_s: float, columns: Mapping[str, Sequence[tuple[float, float]]]) -> Trace:
        """A trace whose columns change at times of their own: for each the times from which on (s), the first 0, and the values."""
        at = np.array(sorted({at for steps in columns.values() for at, _ in steps if at < end_s}))
        held = {
            name: np.array(values)[np.searchsorted(times, at, "right") - 1]
            for name, (times, values) in ((name, zip(*steps, strict=True)) for name, steps in columns.items())
        }
        return cls(at, end_s, held)

    def opportunities(self) -> Array:
        """Times at which a packet can be delivered, to the millisecond: those of the trace, or when its rate has carried one more packet."""
        if self.instants_s is not None:
            return self.instants_s
        ends = np.append(self.at_s[1:], self.end_s)
        carried = np.concatenate([[0.0], np.cumsum(self.rate * (ends - self.at_s))]) / PACKET
        wanted = np.arange(1.0, np.floor(carried[-1] + 1e-9) + 1)
        # Where nothing is carried, the line is flat: a packet leaves at its left end, when it was full.
        place = np.searchsorted(carried, wanted - 1e-9, side="left")
        bounds = np.append(self.at_s, self.end_s)
        into = (wanted - carried[place - 1]) / np.maximum(carried[place] - carried[place - 1], 1e-12)
        found: Array = np.ceil((bounds[place - 1] + into * (bounds[place] - bounds[place - 1])) * 1e3 - 1e-6) / 1e3
        return found

    @property
    def rate(self) -> Array:
        """The rate of each piece, bit/s."""
        if "rate" not in self.columns:
            raise InputError("trace: rate must be in the trace, got none; it says delays alone")
        return self.columns["rate"]

    def rates(self, step: float = STEP_S) -> tuple[Array, Array]:
        """Edges of equal intervals (s), and the mean rate in each (bit/s)."""
        count = max(1, round(self.end_s / step))
        edges = np.linspace(0.0, self.end_s, count + 1)
        if self.instants_s is not None:
            return edges, np.histogram(self.instants_s, edges)[0] * PACKET / np.diff(edges)
        bounds = np.append(self.at_s, self.end_s)
        carried = np.interp(edges, bounds, np.concatenate([[0.0], np.cumsum(self.rate * np.diff(bounds))]))
        return edges, np.diff(carried) / np.diff(edges)

    def outages(self) -> Array:
        """Times without any capacity of at least :data:`OUTAGE_S`: begin and end, s, a row each."""
        if self.instants_s is not None:
            bounds = np.concatenate([[0.0], self.instants_s, [self.end_s]])
            begins, ends = bounds[:-1], bounds[1:]
        else:
            silent = np.concatenate([[False], self.rate <= 0, [False]]).astype(int)
            bounds = np.append(self.at_s, self.end_s)
            begins, ends = bounds[np.flatnonzero(np.diff(silent) == 1)], bounds[np.flatnonzero(np.diff(silent) == -1)]
        found: Array = np.stack([begins, ends], axis=1)[ends - begins >= OUTAGE_S - 1e-9]
        return found

    def summary(self) -> list[tuple[str, str]]:
        """What it says in a few figures."""
        rows = [("length", f"{self.end_s:.6g} s")]
        if "rate" in self.columns:
            rates, out = self.rates()[1] * 1e-6, self.outages()
            shown = ", ".join(f"{stats.percentile(rates, q):.4g}" for q in (5, 50, 95))
            rows += [
                ("mean rate", f"{float(rates.mean()):.4g} Mbit/s"),
                ("rate in 100 ms: 5th, 50th, 95th percentile", f"{shown} Mbit/s"),
                (f"outages of {OUTAGE_S * 1e3:g} ms and more", f"{len(out)}"),
            ]
            if len(out):
                spans = out[:, 1] - out[:, 0]
                rows.append(
                    ("time in outages, and the longest", f"{spans.sum() / self.end_s:.1%}, {spans.max():.3g} s")
                )
        for name, unit, scale in (("delay", "ms", 1e3), ("loss", "%", 100.0)):
            if name in self.columns:
                values = self.columns[name] * scale
                order = np.argsort(values)
                times = np.cumsum(np.diff(np.append(self.at_s, self.end_s))[order])
                median = values[order][np.searchsorted(times, times[-1] / 2)]
                shown = f"{values.min():.4g}, {median:.4g}, {values.max():.4g} {unit}"
                rows.append((f"{name}: least, median, greatest", shown))
        return rows


Reader = Callable[[str, str], Trace]
