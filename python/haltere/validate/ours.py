"""Runs a translated case in a world, by default the simulator, and takes the same measures as from the harness's results."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow

from .. import _core
from ..errors import InputError
from ..worlds import DEFAULT, World
from ..worlds import world as world_of
from . import dynamics
from .load import Case
from .measures import (
    WAYS,
    Measures,
    counts_all_marks,
    fct,
    goodputs,
    has_data,
    labels,
    marks_acknowledged,
    pings,
    queue,
    rate_between,
)
from .scenario import Scenario, expand_flows, expand_transfers
from .tc_words import NotTranslated
from .translate import link_of, translate


def run(case: Case, seed: int, world: str | World = DEFAULT) -> Measures:
    """One repetition of ours. Raises `NotTranslated` if the case cannot be run."""
    return of_tables(case, seed, tables_of(case, seed, world))


def tables_of(case: Case, seed: int, world: str | World = DEFAULT) -> dict[str, Any]:
    """The tables of one run of the translated case."""
    where = world_of(world)
    experiment = translate(case, seed)
    try:
        scenario = _core.Scenario.from_json(json.dumps(experiment))
        where.check([scenario])
        made = where.run(scenario, seed, _core.Progress())
    except InputError as error:
        raise NotTranslated(str(error)) from error
    return {name: pyarrow.table(data) for name, data in made.tables().items()}


def _column(table: Any, name: str) -> Any:
    return np.asarray(table.column(name).to_numpy(zero_copy_only=False))


def of_tables(case: Case, seed: int, tables: dict[str, Any]) -> Measures:
    """The measures of one run, taken at the instants at which the harness takes its samples."""
    s, measures = case.scenario, Measures()
    rates = goodputs_of_flows(case, seed, tables["flow_series"])
    flows = expand_flows(s)
    for way in WAYS:
        some = [(flow, rate) for flow, rate in zip(flows, rates, strict=True) if flow.dir == way]
        names = labels([flow for flow, _ in some])
        measures |= goodputs(way, list(zip(names, [rate for _, rate in some], strict=True)))
        measures |= _marks(s, way, tables["flows"])
        if has_data(s, way) and (way == "fwd" or s.both_ways):
            measures |= _queue(way, s, tables)
    if s.paths:
        measures |= _paths(s, tables)
    measures |= _transfers(replace(s, seed=case.setup_seed(seed)), tables["flows"])
    measures |= _udp(s, tables["flow_series"])
    if s.ping:
        at, rtt = _column(tables["pings"], "at_ns") * 1e-9, _column(tables["pings"], "rtt_ns") * 1e-6
        measures |= pings([float(ms) for ms in rtt[at >= s.warmup]])
    if dynamics.wanted(s, len(flows)):
        measures |= dynamics.measure(series_of(case, tables["flow_series"]))
    return measures


def goodputs_of_flows(case: Case, seed: int, series: Any) -> list[float]:
    """Mbit/s of each flow between its first and last sample after warm-up, start and before its stop."""
    names, at, received = _column(series, "flow"), _column(series, "at_ns") * 1e-9, _column(series, "received_bytes")
    rates = []
    for number, (flow, start) in enumerate(zip(expand_flows(case.scenario), case.starts(seed), strict=True)):
        stop = flow.stop or case.scenario.duration
        mine = (names == f"f{number}") & (at >= max(case.scenario.warmup, start)) & (at <= stop)
        t, bytes_ = at[mine], received[mine].astype(float)
        rates.append(float((bytes_[-1] - bytes_[0]) * 8e-6 / (t[-1] - t[0])) if len(t) >= 2 else 0.0)
    return rates


def _marks(s: Scenario, way: str, table: Any) -> Measures:
    if counts_all_marks(s):
        return {}
    rows = {row["flow"]: row for row in table.select(["flow", "delivered", "delivered_ce"]).to_pylist()}
    flows = [(flow, rows[f"f{number}"]) for number, flow in enumerate(expand_flows(s)) if flow.dir == way]
    return marks_acknowledged(
        s, way, [(flow.cc, row["delivered"] or 0, row["delivered_ce"] or 0) for flow, row in flows]
    )


def _transfers(s: Scenario, flows: Any) -> Measures:
    """Completion times of the short flows, from their start to the last byte at the receiver."""
    if not s.transfers:
        return {}
    done = {row["flow"]: row["completed_ns"] for row in flows.select(["flow", "completed_ns"]).to_pylist()}
    samples = []
    for number, one in enumerate(expand_transfers(s)):
        end = done.get(f"x{number}")
        samples.append((one.dir, one.bytes, one.start, None if end is None else end * 1e-9 - one.start))
    return fct(s, samples)


def _udp(s: Scenario, series: Any) -> Measures:
    measures = Measures()
    for number, udp in enumerate(s.udp):
        mine = _column(series, "flow") == f"u{number}"
        received = _column(series, "received_bytes")[mine].astype(float)
        samples = list(zip((_column(series, "at_ns")[mine] * 1e-9).tolist(), received.tolist(), strict=True))
        measures[f"goodput {udp.dir} udp {number}"] = rate_between(samples, s.warmup)
    return measures


def _paths(s: Scenario, tables: dict[str, Any]) -> Measures:
    measures, rows = Measures(), {row["link"]: row for row in tables["links"].to_pylist()}
    for path in range(len(s.each_path())):
        row = rows[link_of("fwd", path)]
        drops = row["dropped_overlimit_after_warmup"] + row["dropped_congestion_after_warmup"]
        seconds = s.duration - s.warmup
        measures[f"path {path} link"] = row["sent_bytes_after_warmup"] * 8e-6 / seconds
        measures[f"path {path} loss"] = 100 * drops / max(1, drops + row["sent_after_warmup"])
    return measures


def _queue(way: str, s: Scenario, tables: dict[str, Any]) -> Measures:
    series, name = tables["queue_series"], link_of(way)
    mine = (_column(series, "link") == name) & (_column(series, "at_ns") >= s.warmup * 1e9)
    length = float(_column(series, "packets")[mine].mean())
    (row,) = [row for row in tables["links"].to_pylist() if row["link"] == name]
    sent = row["sent_after_warmup"]
    if s.shaper in COUNT_THE_SENDING:
        length += row["sent_bytes_after_warmup"] * 8 / (s.each_path()[0].rate_mbit * 1e6 * (s.duration - s.warmup))
    drops = row["dropped_overlimit_after_warmup"] + row["dropped_congestion_after_warmup"]
    return queue(way, length, drops, sent, row["marked_after_warmup"] if counts_all_marks(s) else None)


COUNT_THE_SENDING = ("netem", "tbf")
"""These shapers count the packet that is being sent among those that wait, as often as the line is busy."""


def series_of(case: Case, series: Any) -> dynamics.Series:
    """The one flow over time. A repair begins when the count of recoveries or timeouts has grown."""
    mine = _column(series, "flow") == "f0"
    t = _column(series, "at_ns")[mine] * 1e-9
    cwnd = _column(series, "cwnd_bytes")[mine] / case_mss(case)
    repairs = _column(series, "recoveries")[mine] + _column(series, "timeouts")[mine]
    losses = [float(t[i]) for i in range(1, len(t)) if repairs[i] > repairs[i - 1]]
    pacing = np.nan_to_num(_column(series, "pacing_rate_bps")[mine].astype(float)) * 1e-6
    control = expand_flows(case.scenario)[0].cc
    return dynamics.Series(control, case.scenario.warmup, t.tolist(), cwnd.tolist(), losses, pacing.tolist())


def case_mss(case: Case) -> int:
    """Payload bytes of a full segment of the case."""
    return int(_core.parse_quantity("bytes", translate(case, 1)["tcp"]["mss"]))
