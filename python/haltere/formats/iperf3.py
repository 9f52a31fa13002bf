"""iperf3's JSON (``iperf3 -J``): a file for each TCP flow of a run, as its client would have written it.

``intervals`` are those of ``[measure] flows``. Bytes are those that the receiver took in order, and retransmissions are the sender's.
Fields that a simulated flow has no value for are left out.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .found import Curve

if TYPE_CHECKING:
    from ..runs.results import Results

_COLUMNS = ["flow", "at_ns", "received_bytes", "cwnd_bytes", "srtt_ns", "retransmissions"]


def write(results: Results, folder: Path) -> list[Path]:
    """A file for each TCP flow and run."""
    flows = {
        (row["point"], row["seed"], row["flow"]): row
        for row in results.table(
            "flows", columns=["flow", "congestion", "from", "to", "start_ns", "received_bytes", "retransmissions"]
        ).to_pylist()
        if row["congestion"] is not None
    }
    rows = results.table("flow_series", columns=_COLUMNS).to_pylist()
    rows.sort(key=lambda row: (row["point"], row["seed"], row["flow"], row["at_ns"]))
    stem = Path(results.where.rstrip("/")).name
    paths = []
    for key, samples in groupby(rows, key=lambda row: (row["point"], row["seed"], row["flow"])):
        if key not in flows:
            continue
        point, seed, flow = key
        path = folder / f"{stem}-{point}-{seed}-{''.join(one if one.isalnum() else '_' for one in flow)}.json"
        path.write_text(json.dumps(_content(flows[key], list(samples)), indent=1) + "\n", encoding="utf-8")
        paths.append(path)
    return paths


def _content(flow: dict[str, Any], samples: list[dict[str, Any]]) -> dict[str, Any]:
    """The file of one flow. iperf3 counts seconds from the connection."""
    start = flow["start_ns"]
    intervals, had, before, resent = [], 0, start, 0
    for row in samples:
        if row["at_ns"] <= start:
            continue
        seconds = (row["at_ns"] - before) / 1e9
        some = {
            "socket": 5,
            "start": (before - start) / 1e9,
            "end": (row["at_ns"] - start) / 1e9,
            "seconds": seconds,
            "bytes": row["received_bytes"] - had,
            "bits_per_second": (row["received_bytes"] - had) * 8 / seconds,
            "retransmits": (row["retransmissions"] or 0) - resent,
            "snd_cwnd": row["cwnd_bytes"],
            "rtt": (row["srtt_ns"] or 0) // 1000,
            "omitted": False,
            "sender": True,
        }
        intervals.append(
            {
                "streams": [some],
                "sum": {
                    key: some[key]
                    for key in (
                        "start",
                        "end",
                        "seconds",
                        "bytes",
                        "bits_per_second",
                        "retransmits",
                        "omitted",
                        "sender",
                    )
                },
            }
        )
        had, before, resent = row["received_bytes"], row["at_ns"], row["retransmissions"] or 0
    seconds = max((before - start) / 1e9, 1e-9)
    total = {"start": 0, "end": seconds, "seconds": seconds, "bytes": had, "bits_per_second": had * 8 / seconds}
    return {
        "start": {
            "connected": [{"socket": 5, "local_host": flow["from"], "remote_host": flow["to"]}],
            "version": "Haltere",
            "system_info": "simulated",
            "test_start": {"protocol": "TCP", "num_streams": 1, "reverse": 0, "duration": seconds},
        },
        "intervals": intervals,
        "end": {
            "sum_sent": {**total, "retransmits": flow["retransmissions"], "sender": True},
            "sum_received": {**total, "sender": True},
            "sender_tcp_congestion": flow["congestion"],
        },
    }


def curves(path: Path) -> list[Curve]:
    """The throughput of each stream, at the middle of each interval."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        found: dict[Any, tuple[list[float], list[float]]] = {}
        for interval in held["intervals"]:
            for stream in interval["streams"]:
                times, values = found.setdefault(stream["socket"], ([], []))
                times.append((float(stream["start"]) + float(stream["end"])) / 2)
                values.append(float(stream["bits_per_second"]) / 1e6)
        return [Curve(f"{path.name} {number}", "Mbit/s", *both) for number, both in enumerate(found.values(), 1)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: file must be iperf3's JSON, got {type(error).__name__}") from None
