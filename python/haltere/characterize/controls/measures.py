"""What is read off one run of a scenario of RFC 9743: one number a measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...analysis import metrics, stats
from ...analysis.measures import Run
from ..files import Case


@dataclass(frozen=True)
class Measure:
    """A number of a run."""

    title: str
    unit: str
    better: int
    """1: more is better; -1: less is; 0: neither."""
    digits: int
    read: Callable[[Run, Case], float]
    """NaN if the run has no such value."""


def _rates(run: Run, mine: bool) -> list[float]:
    """The goodput of each lasting flow, in Mbit/s: of the control under test, or of the others."""
    rows = run.flows.select(["group", "kind", "goodput_bps"]).to_pylist()
    lasting = [row for row in rows if row["kind"] == "bulk"]
    return [(row["goodput_bps"] or 0.0) * 1e-6 for row in lasting if str(row["group"]).startswith("own") == mine]


def _least(run: Run, _case: Case) -> float:
    rates = _rates(run, True)
    return 100 * min(rates) / max(sum(rates) / len(rates), 1e-9)


def _others(run: Run) -> list[float]:
    """What each other flow gets, in percent of an equal share of what all get."""
    mine, others = _rates(run, True), _rates(run, False)
    equal = (sum(mine) + sum(others)) / (len(mine) + len(others))
    return [100 * rate / max(equal, 1e-9) for rate in others]


def _share(one: str, other: str) -> Callable[[Run, Case], float]:
    """What the first flow of one entry gets of what it and that of the other get, in percent."""

    def read(run: Run, _case: Case) -> float:
        mine, theirs = (float(run.goodput_mbit(name).mean()) for name in (one, other))
        return 100 * mine / max(mine + theirs, 1e-9)

    return read


def _long_path(run: Run, _case: Case) -> float:
    """Of two flows of unlike round-trip times: what the flow of the longer one gets."""
    rates = _rates(run, True)
    return 100 * rates[1] / max(sum(rates), 1e-9)


def _delay(column: str) -> Callable[[Run, Case], float]:
    def read(run: Run, case: Case) -> float:
        rows = run.table("delay_summary").to_pylist()
        row = next((row for row in rows if row["measure"] == "sojourn" and row["name"] == case.link), None)
        return math.nan if row is None or row[column] is None else float(row[column]) * 1e-6

    return read


def _arrived(*columns: str) -> Callable[[Run, Case], float]:
    """The part of the packets that arrived at the bottleneck which these columns count, in percent."""

    def read(run: Run, case: Case) -> float:
        row = run.link(case.link)
        return 100.0 * float(sum(row[one] for one in columns)) / float(max(row["arrived_after_warmup"], 1))

    return read


def _own_rows(run: Run, columns: Sequence[str]) -> list[dict[str, float]]:
    rows = run.flows.select(["group", *columns]).to_pylist()
    return [row for row in rows if str(row["group"]).startswith("own")]


def _sent_each(run: Run, _case: Case) -> float:
    rows = _own_rows(run, ["segments_sent_after_warmup"])
    return float(np.mean([row["segments_sent_after_warmup"] or 0 for row in rows]))


def _again(run: Run, _case: Case) -> float:
    rows = _own_rows(run, ["segments_sent_after_warmup", "retransmissions_after_warmup"])
    sent = sum(row["segments_sent_after_warmup"] or 0 for row in rows)
    return 100.0 * sum(row["retransmissions_after_warmup"] or 0 for row in rows) / max(sent, 1)


def _completion(of: Callable[[list[float]], Any]) -> Callable[[Run, Case], float]:
    """Of the seconds that each short flow took; until the end of the run if it did not end."""

    def read(run: Run, case: Case) -> float:
        rows = run.completions.to_pylist() if run.completions is not None else []
        spans = [row["fct_ns"] if row["fct_ns"] is not None else case.window[1] * 1e9 - row["start_ns"] for row in rows]
        return float(of([span * 1e-9 for span in spans])) if spans else math.nan

    return read


def _ping(run: Run, _case: Case) -> float:
    pings = run.ping_ms()
    return stats.percentile(pings, 95) if len(pings) else math.nan


def _voice(column: str) -> Callable[[Run, Case], float]:
    def read(run: Run, _case: Case) -> float:
        row = run.table("voices").to_pylist()[0]
        value = 100.0 * row["lost"] / max(row["packets"], 1) if column == "lost" else row[column]
        return math.nan if value is None else float(value)

    return read


def _udp_lost(run: Run, _case: Case) -> float:
    row = next(row for row in run.flows.to_pylist() if row["kind"] == "cbr")
    return float(100.0 * (1 - float(row["packets_received"]) / max(row["packets_sent"], 1)))


MEASURES = {
    "goodput": Measure("goodput of its flows", "Mbit/s", 1, 2, lambda run, _: sum(_rates(run, True))),
    "rate": Measure("goodput of its flows", "Mbit/s", 0, 2, lambda run, _: sum(_rates(run, True))),
    "delay": Measure("mean queueing delay", "ms", -1, 1, _delay("mean_ns")),
    "delay_p95": Measure("95th percentile of the queueing delay", "ms", -1, 1, _delay("p95_ns")),
    "lost": Measure("packets dropped at the bottleneck", "%", -1, 3, _arrived("dropped_overlimit_after_warmup", "dropped_congestion_after_warmup")),
    "marked": Measure("packets marked", "%", 0, 2, _arrived("marked_after_warmup")),
    "jain": Measure("Jain's index of its flows", "", 1, 3, lambda run, _: stats.jain(_rates(run, True))),
    "least": Measure("its slowest flow, of an equal share", "%", 1, 1, _least),
    "late": Measure("share of the late flow", "%", 0, 1, _share("own-late", "own")),
    "long": Measure("share of the flow of 160 ms", "%", 0, 1, _long_path),
    "hops": Measure("share of a flow over all hops beside one over the first", "%", 0, 1, _share("own-all", "own-1")),
    "others": Measure("the other flows, of an equal share", "%", 1, 1, lambda run, _: float(np.mean(_others(run)))),
    "others_least": Measure("the slowest other flow, of an equal share", "%", 1, 1, lambda run, _: min(_others(run))),
    "sent": Measure("segments sent in 40 s without any feedback, a flow", "", -1, 1, _sent_each),
    "again": Measure("segments sent again", "%", -1, 2, _again),
    "took": Measure("time of the transfer", "s", -1, 3, lambda run, _: metrics.named(run, "took")),
    "short": Measure("mean completion time of short flows", "s", -1, 3, _completion(np.mean)),
    "short_p95": Measure("95th percentile of the completion time of short flows", "s", -1, 3, _completion(lambda spans: stats.percentile(spans, 95))),
    "ping": Measure("95th percentile of the ping", "ms", -1, 1, _ping),
    "mos": Measure("mean opinion score of the call", "", 1, 2, _voice("mos")),
    "voice_lost": Measure("packets of the call lost", "%", -1, 2, _voice("lost")),
    "udp_lost": Measure("packets of the UDP flow lost", "%", -1, 2, _udp_lost),
}  # fmt: skip
