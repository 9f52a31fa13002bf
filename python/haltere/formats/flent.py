"""flent's data files, version 4: gzipped JSON with series on one grid of times (``x_values``, ``results``) and raw values.

A traffic entry whose name is one of flent's series (``TCP upload BE``, ``Ping (ms) ICMP``) keeps it. Other flows are numbered as flent
numbers them (``TCP download::1``), and the file then names the test ``rrul_be_nflows``, whose plots take any number of flows.

Source: flent 2.3, its data files and the test definitions ``rrul``, ``rrul_be``, ``rtt_fair`` and ``tcp_nup``.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .found import Curve

if TYPE_CHECKING:
    from ..runs.results import Results

_VERSION = 4
#: flent samples its tests this often unless told otherwise.
_STEP_S = 0.2
_SERIES = re.compile(r"^(TCP (upload|download)|Ping \(ms\))")
#: One file of a user's own may hold so much text.
_MOST_BYTES = 1 << 28


def write(results: Results, folder: Path) -> list[Path]:
    """A file for each run."""
    import pyarrow.compute as pc

    began = datetime.fromisoformat(results.manifest["began"]).astimezone(UTC)
    flows = results.table("flows", columns=["flow", "group", "kind", "from", "to", "start_ns"])
    series = results.table("flow_series", columns=["flow", "at_ns", "received_bytes"])
    pings = results.table("pings", columns=["flow", "at_ns", "rtt_ns"]) if "pings" in results.tables() else None
    stem = Path(results.where.rstrip("/")).name
    paths = []
    for run in results.runs:

        def of(table: Any, run: Any = run) -> list[dict[str, Any]]:
            chosen = pc.and_(pc.equal(table["point"], run.point), pc.equal(table["seed"], run.seed))
            rows: list[dict[str, Any]] = table.filter(chosen).to_pylist()
            return rows

        point = results.points[run.point]
        title = point.name or stem
        content = _content(of(flows), of(series), of(pings) if pings else [], point.scenario["duration"])
        content["metadata"] |= {
            "TITLE": title,
            "TIME": _stamp(began),
            "T0": _stamp(began),
            "NOTE": f"Haltere, seed {run.seed}",
        }
        path = folder / f"{stem}-{run.point}-{run.seed}.flent.gz"
        content["metadata"]["DATA_FILENAME"] = path.name
        for one in content["raw_values"].values():
            for value in one:
                value["t"] += began.timestamp()
        text = json.dumps(content, sort_keys=True, allow_nan=False).encode()
        path.write_bytes(gzip.compress(text, mtime=0))
        paths.append(path)
    return paths


def curves(path: Path) -> list[Curve]:
    """The series of a data file."""
    raw = path.read_bytes()
    try:
        text = _inflated(raw) if raw[:2] == b"\x1f\x8b" else raw
        held = json.loads(text)
        if int(held["version"]) > _VERSION:
            raise InputError(f"{path}: version must be at most {_VERSION}, got {held['version']}")
        times = [float(one) for one in held["x_values"]]
        found = []
        for name, values in held["results"].items():
            both = [(at, float(one)) for at, one in zip(times, values, strict=True) if one is not None]
            unit = "ms" if "(ms)" in name else "Mbit/s"
            found.append(Curve(name, unit, [at for at, _ in both], [one for _, one in both]))
        return found
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: file must be one of flent's data files, got {type(error).__name__}") from None


def _inflated(raw: bytes) -> bytes:
    """The text of a gzip file, as long as it is of usual size."""
    import io

    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise InputError(f"flent: text of the file must be at most {_MOST_BYTES >> 20} MiB")
    return text


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _content(
    flows: list[dict[str, Any]], series: list[dict[str, Any]], pings: list[dict[str, Any]], duration: Any
) -> dict[str, Any]:
    """The file of one run, with times from its start."""
    names = _names(flows)
    samples: dict[str, list[tuple[float, float]]] = {}
    last: dict[str, tuple[int, int]] = {}
    for row in series:
        name = names.get(row["flow"])
        if name is None or name.startswith("Ping"):
            continue
        at, had = last.get(row["flow"], (0, 0))
        if row["at_ns"] > at:
            mbit = (row["received_bytes"] - had) * 8e3 / (row["at_ns"] - at)
            samples.setdefault(name, []).append((row["at_ns"] / 1e9, mbit))
        last[row["flow"]] = row["at_ns"], row["received_bytes"]
    for row in pings:
        if name := names.get(row["flow"]):
            samples.setdefault(name, []).append((row["at_ns"] / 1e9, row["rtt_ns"] / 1e6))
    for one in samples.values():
        one.sort()
    end = max((at for one in samples.values() for at, _ in one), default=0.0)
    grid = [round(step * _STEP_S, 9) for step in range(int(end / _STEP_S) + 1)]
    held = {name: _on(grid, one) for name, one in samples.items()}
    held |= _sums(grid, held)
    test = _test(held)
    return {
        "version": _VERSION,
        "x_values": grid,
        "results": held,
        "raw_values": {name: [{"t": at, "val": value} for at, value in one] for name, one in samples.items()},
        "metadata": {
            "NAME": test,
            "HOST": "haltere",
            "HOSTS": ["haltere"],
            "LOCAL_HOST": "haltere",
            "LENGTH": int(end),
            "TOTAL_LENGTH": int(end),
            "STEP_SIZE": _STEP_S,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {
                "upload_streams": str(sum(name.startswith("TCP upload::") for name in held)),
                "download_streams": str(sum(name.startswith("TCP download::") for name in held)),
            },
            "SERIES_META": {
                name: {"UNITS": "ms" if name.startswith("Ping") else "Mbits/s", "MEAN_VALUE": sum(given) / len(given)}
                for name, values in held.items()
                if (given := [one for one in values if one is not None])
            },
        },
    }


def _names(flows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """flent's name of each flow that has one."""
    names: dict[str, str] = {}
    counted: Counter[str] = Counter()
    ends: dict[tuple[str, str], str] = {}
    some = [flow for flow in flows if flow["kind"] in ("bulk", "ping")]
    of_group = Counter(flow["group"] for flow in some)
    for flow in some:
        group = flow["group"]
        is_named = bool(_SERIES.match(group))
        if is_named and of_group[group] == 1:
            names[flow["flow"]] = group
            continue
        what = group if is_named else "Ping (ms)" if flow["kind"] == "ping" else f"TCP {_way(flow, ends)}"
        counted[what] += 1
        names[flow["flow"]] = f"{what}::{counted[what]}"
    return names


def _way(flow: dict[str, Any], ends: dict[tuple[str, str], str]) -> str:
    """A download goes the way of the experiment's first flow, an upload goes back."""
    side = (flow["from"][:1], flow["to"][:1])
    if not ends:
        ends[side] = "download"
    return ends.setdefault(side, "upload" if side[::-1] in ends else "download")


def _on(grid: list[float], samples: list[tuple[float, float]]) -> list[float | None]:
    """Samples on the grid, by linear interpolation between the two around a time; none outside of them."""
    out: list[float | None] = []
    place = 0
    for at in grid:
        while place < len(samples) and samples[place][0] < at:
            place += 1
        if place < len(samples) and samples[place][0] == at:
            out.append(samples[place][1])
        elif 0 < place < len(samples):
            (before, low), (after, high) = samples[place - 1], samples[place]
            out.append(low + (high - low) * (at - before) / (after - before))
        else:
            out.append(None)
    return out


def _sums(grid: list[float], held: dict[str, list[float | None]]) -> dict[str, list[float | None]]:
    """flent's computed series: mean and sum of each direction, the total, and the mean of the pings."""
    out: dict[str, list[float | None]] = {}

    def add(prefix: str, mean: str | None, total: str | None) -> None:
        rows = [values for name, values in held.items() if name.startswith(prefix)]
        if not rows:
            return
        columns = [[one for one in column if one is not None] for column in zip(*rows, strict=True)]
        if mean:
            out[mean] = [sum(one) / len(one) if one else None for one in columns]
        if total:
            out[total] = [sum(one) if one else None for one in columns]

    add("TCP download", "TCP download avg", "TCP download sum")
    add("TCP upload", "TCP upload avg", "TCP upload sum")
    add("TCP", None, "TCP totals")
    add("Ping (ms)", "Ping (ms) avg", None)
    return out


def _test(held: Iterable[str]) -> str:
    """The test of flent whose plots draw these series."""
    names = set(held)
    if {"TCP upload CS5", "TCP download EF"} <= names:
        return "rrul"
    up, down = (any(name.startswith(f"TCP {way}::") for name in names) for way in ("upload", "download"))
    if up and down:
        return "rrul_be_nflows"
    return "tcp_nup" if up else "tcp_ndown" if down else "ping"
