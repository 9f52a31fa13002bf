"""A single flow over time: losses, period, and for BBR its bandwidth estimate and its RTT probes.

Only for a result with one flow whose window was sampled at least every 50 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from .scenario import Scenario

LOSS_STATES = 3
"""Linux's `ca_state` from here on is Recovery or Loss."""
FINEST_ms = 50
"""Samples of the window at longer intervals do not show the times of losses."""
PROBE_WINDOW = 4.5
"""BBR's window in ProbeRTT is four packets."""
BANDWIDTH_CONTROLS = ("bbr",)
"""Controls that follow a bandwidth estimate instead of loss."""


@dataclass
class Series:
    """One flow over time, in packets and seconds, with the times at which it began to repair a loss."""

    control: str
    warmup: float
    t: list[float]
    cwnd: list[float]
    losses: list[float]
    pacing_mbit: list[float]


def wanted(s: Scenario, flows: int) -> bool:
    """True if a scenario's result can show the dynamics of its one flow."""
    kept = s.sample.store_tcp_ms or s.sample.tcp_ms or 1000
    return flows == 1 and kept <= FINEST_ms and not s.paths and "ca_state" in s.store_cols


def of_linux(s: Scenario, result: Mapping[str, Any]) -> dict[str, float | None]:
    """The dynamics in a result of the harness, if it shows them."""
    if not wanted(s, len(result["flows"])):
        return {}
    flow = result["flows"][0]
    raw = flow.get("series") or {}
    if "ca_state" not in raw or "cwnd" not in raw:
        return {}
    t, state = raw["t"], raw["ca_state"]
    losses = [t[i] for i in range(1, len(t)) if state[i] >= LOSS_STATES > state[i - 1]]
    unset = float(1 << 62)
    pacing = [rate * 8e-6 if rate < unset else 0.0 for rate in raw.get("pacing_Bps", [])]
    return measure(Series(flow["cc"], s.warmup, t, raw["cwnd"], losses, pacing))


def measure(series: Series) -> dict[str, float | None]:
    """The measures of one flow over time."""
    if series.control in BANDWIDTH_CONTROLS:
        return _of_bandwidth(series)
    return _of_window(series)


def _of_window(s: Series) -> dict[str, float | None]:
    measures: dict[str, float | None] = {"first loss": s.losses[0] if s.losses else None}
    for number, at in enumerate(s.losses, 1):
        before = [w for t, w in zip(s.t, s.cwnd, strict=False) if t < at]
        measures[f"cwnd at loss {number}"] = before[-1] if before else None
    # The interval after the slow start's own loss is not yet the steady one.
    steady = s.losses[1:]
    if len(steady) >= 2:
        measures["period"] = (steady[-1] - steady[0]) / (len(steady) - 1)
        span = (steady[0], steady[-1])
    else:
        span = (s.warmup, s.t[-1])
    windows = [w for t, w in zip(s.t, s.cwnd, strict=False) if span[0] <= t < span[1]]
    measures["cwnd mean"] = fmean(windows) if windows else None
    return measures


def _of_bandwidth(s: Series) -> dict[str, float | None]:
    # BBR paces at its estimate in six of its eight phases, so the median of the pacing rate is the estimate.
    rates = [rate for t, rate in zip(s.t, s.pacing_mbit, strict=False) if t >= s.warmup and rate > 0]
    measures: dict[str, float | None] = {"bandwidth": median(rates) if rates else None}
    probes = [s.t[i] for i in range(1, len(s.t)) if s.cwnd[i] <= PROBE_WINDOW < s.cwnd[i - 1]]
    if len(probes) >= 2:
        measures["probe_rtt period"] = (probes[-1] - probes[0]) / (len(probes) - 1)
    measures["probe_rtt first"] = probes[0] if probes else None
    return measures
