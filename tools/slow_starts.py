"""Eight slow starts over five paths and three queues: `python tools/slow_starts.py [--seeds N] [--paths NAME ...] [--only-page]`.

It runs `docs/slow-starts/alone.toml` (a transfer of 100 kB, 1 MB and 10 MB on an empty path) and `docs/slow-starts/beside.toml` (a long one
beside a CUBIC flow), and writes what `docs/slow-starts.md` shows:

- `docs/slow-starts.json`: every mean with its 95 % interval over the seeds, and the tables of the page;
- `docs/images/slow-starts.png`;
- the tables of the page itself (`tools/pages.py`).

All starts of a condition have the same seeds. *Lost* are the packets of the slow start of 10 MB: what the queue drops in the two round
trips (of the path with a full queue) after the first drop, if the flow has no threshold yet at that drop. *Harm* is the part of its goodput
that the CUBIC flow loses in the first 50 round trips (of the empty path) of a long transfer, against the same run without it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from haltere import _core, load
from haltere.analysis.stats import Mean, mean

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "slow-starts"
STORED, PAGE = ROOT / "docs" / "slow-starts.json", ROOT / "docs" / "slow-starts.md"
FIGURE = ROOT / "docs" / "images" / "slow-starts.png"

PACKET = 1514
QUEUES = (0.5, 1, 4)
SIZES = {"100 kB": "100kB", "1 MB": "1MB", "10 MB": "10MB"}
BASELINE = "HyStart++"


@dataclass(frozen=True)
class Line:
    """A path: its bottleneck, without the queue."""

    mbps: int
    rtt_ms: int
    jitter_ms: int = 0
    #: How long the CUBIC flow is alone.
    settles_s: int = 10

    @property
    def bdp(self) -> int:
        """The bandwidth-delay product in bytes."""
        return self.mbps * 1000 * self.rtt_ms // 8

    @property
    def harmed_s(self) -> float:
        """How long the harm is measured: 50 round trips."""
        return 50 * self.rtt_ms / 1000

    def values(self, queue: float) -> dict[str, Any]:
        """What an experiment has of it."""
        link = "topology.dumbbell.bottleneck"
        limit = max(round(queue * self.bdp / PACKET), 2)
        return {
            f"{link}.rate": f"{self.mbps}Mbit",
            f"{link}.delay": f"{self.rtt_ms / 2}ms",
            f"{link}.jitter": f"{self.jitter_ms}ms",
            f"{link}.queue": {"kind": "drop_tail", "limit": f"{limit}p"},
        }


PATHS = {
    "10 Mbit/s, 20 ms": Line(10, 20),
    "50 Mbit/s, 40 ms": Line(50, 40),
    "100 Mbit/s, 100 ms": Line(100, 100),
    "20 Mbit/s, 600 ms": Line(20, 600, settles_s=30),
    "30 Mbit/s, 30 ms and up to 20 ms of jitter": Line(30, 30, jitter_ms=20),
}

STARTS: dict[str, dict[str, Any]] = {
    "off": {"hystart": "off"},
    "HyStart++": {"hystart": "hystart++"},
    "HyStart of Linux 6.13": {"hystart": "linux_6_13"},
    "SEARCH": {"slow_start": "search"},
    "SEARCH, undrained": {"slow_start": "search_undrained"},
    "Rapid Start": {"hystart": "off", "slow_start": "rapid"},
    "Rapid Start and HyStart++": {"hystart": "hystart++", "slow_start": "rapid"},
    "Careful Resume": {"hystart": "off"},
}


def control(start: str, path: Line) -> dict[str, Any]:
    """CUBIC with that start. An earlier connection filled the path, and no queue."""
    saved = {"saved_window": f"{path.bdp}B", "saved_rtt": f"{path.rtt_ms}ms"} if start == "Careful Resume" else {}
    return {"kind": "cubic", **STARTS[start], **saved}


def tables(scenario: Any, seed: int) -> dict[str, Any]:
    """The tables of a run."""
    _, core = scenario.points()[0]
    return {name: pa.table(table) for name, table in _core.run(core, seed).tables().items()}


def flow(run: dict[str, Any], name: str) -> dict[str, Any]:
    """The row of a flow."""
    row: dict[str, Any] = next(row for row in run["flows"].to_pylist() if row["group"] == name)
    return row


def lost_in_slow_start(run: dict[str, Any], path: Line, queue: float) -> float:
    """Packets that the bottleneck dropped because of slow start."""
    series = run["queue_series"]
    here = series.filter(pc.equal(series["link"], "left>right"))
    at, dropped = here["at_ns"].to_numpy(), here["dropped"].to_numpy()
    if not dropped.any():
        return 0.0
    first = at[np.nonzero(dropped)[0][0]]
    window = run["flow_series"]
    limits = zip(window["at_ns"].to_pylist(), window["ssthresh_bytes"].to_pylist(), strict=True)
    before = [limit for when, limit in limits if when < first]
    if before and before[-1] is not None:
        return 0.0
    round_trip = path.rtt_ms * (1 + queue) * 1e6
    return float(dropped[at <= first + 2 * round_trip].max())


def received(run: dict[str, Any], name: str, start_ns: int, span_s: float) -> float:
    """Bytes that a flow received in that span."""
    series = run["flow_series"]
    here = series.filter(pc.equal(series["flow"], name))
    ends = np.interp([start_ns, start_ns + span_s * 1e9], here["at_ns"].to_numpy(), here["received_bytes"].to_numpy())
    return float(ends[1] - ends[0])


def took_ms(run: dict[str, Any], name: str, start_ns: int, size: int) -> float:
    """When a flow has received so many bytes."""
    series = run["flow_series"]
    here = series.filter(pc.equal(series["flow"], name))
    at, total = here["at_ns"].to_numpy(), here["received_bytes"].to_numpy()
    reached = int(np.searchsorted(total, size))
    if reached == len(total):
        return float(at[-1] - start_ns) / 1e6
    return float(np.interp(size, total[reached - 1 : reached + 1], at[reached - 1 : reached + 1]) - start_ns) / 1e6


def alone(path: Line, queue: float, start: str, seeds: int) -> dict[str, Mean]:
    """Completion times in ms, and the packets lost by slow start."""
    out: dict[str, list[float]] = {}
    for name, size in SIZES.items():
        longest = {"100 kB": 0, "1 MB": 1}.get(name, 10) * 20 // path.mbps + 2 + 50 * path.rtt_ms // 1000
        values = {
            **path.values(queue),
            "duration": f"{longest}s",
            "traffic.new.bytes": size,
            "traffic.new.congestion": control(start, path),
        }
        scenario = load(FOLDER / "alone.toml").with_values({**values, "sweep": {}})
        for seed in range(1, seeds + 1):
            run = tables(scenario, seed)
            row = flow(run, "new")
            assert row["completed_ns"] is not None, f"{path}, {queue}, {start}: {name} is not complete in {longest} s"
            out.setdefault(name, []).append((row["completed_ns"] - row["start_ns"]) / 1e6)
            if name == "10 MB":
                out.setdefault("lost", []).append(lost_in_slow_start(run, path, queue))
    return {name: mean(values) for name, values in out.items()}


def beside(path: Line, queue: float, seeds: int) -> Iterator[tuple[str, dict[str, Mean]]]:
    """By start: the harm in per cent, and when 1 MB has arrived, in ms (at most the time of the harm)."""
    span = path.settles_s + 1 + path.harmed_s
    values = {**path.values(queue), "duration": f"{span}s", "traffic.new.start": f"{path.settles_s}s", "sweep": {}}
    base = load(FOLDER / "beside.toml").with_values(values)
    unharmed: list[float] = []
    for start in STARTS:
        scenario = base.with_values({"traffic.new.congestion": control(start, path)})
        harm, took = [], []
        for seed in range(1, seeds + 1):
            run = tables(scenario, seed)
            begins = flow(run, "new")["start_ns"]
            if len(unharmed) < seed:
                none = tables(base.with_values({"traffic.new.bytes": "1B"}), seed)
                unharmed.append(received(none, "rival", begins, path.harmed_s))
            with_it = received(run, "rival", begins, path.harmed_s)
            harm.append(100 * (1 - with_it / unharmed[seed - 1]))
            took.append(took_ms(run, "new", begins, 1_000_000))
        yield start, {"harm": mean(harm), "1 MB beside CUBIC": mean(took)}


def measured(paths: Sequence[str], seeds: int) -> list[dict[str, Any]]:
    """One row a path, a queue and a start."""
    rows = []
    for name in paths:
        path = PATHS[name]
        for queue in QUEUES:
            rivals = dict(beside(path, queue, seeds))
            for start in STARTS:
                means = {**alone(path, queue, start, seeds), **rivals[start]}
                rows.append(
                    {
                        "path": name,
                        "queue": queue,
                        "start": start,
                        **{key: value.to_dict() for key, value in means.items()},
                    }
                )
            print(f"{name}, {queue} BDP: done", file=sys.stderr, flush=True)
    return rows


def written(value: dict[str, Any], digits: int = 0) -> str:
    """A mean with its interval."""
    spread = f" ± {value['half']:.{digits}f}" if value["half"] and round(value["half"], digits) else ""
    return f"{value['mean']:.{digits}f}{spread}"


COLUMNS = ("queue", "start", "lost", "100 kB", "1 MB", "10 MB", "1 MB beside CUBIC", "harm, %")


def by_path(rows: list[dict[str, Any]], path: str) -> dict[str, Any]:
    """The table of a path."""
    cells = [
        [
            f"{row['queue']} BDP",
            row["start"],
            *(written(row[key]) for key in ("lost", *SIZES, "1 MB beside CUBIC")),
            written(row["harm"], 1),
        ]
        for row in rows
        if row["path"] == path
    ]
    return {"name": path, "columns": list(COLUMNS), "rows": cells}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The starts against HyStart++ over all conditions: the median of the ratios, and the least and the largest."""
    of = {(row["path"], row["queue"], row["start"]): row for row in rows}
    conditions = list(dict.fromkeys((row["path"], row["queue"]) for row in rows))
    cells = []
    for start in STARTS:
        ratios = []
        for size in (*SIZES, "1 MB beside CUBIC"):
            all_ = [of[*at, start][size]["mean"] / of[*at, BASELINE][size]["mean"] for at in conditions]
            ratios.append(f"{np.median(all_):.2f} ({min(all_):.2f} to {max(all_):.2f})")
        lost = [of[*at, start]["lost"]["mean"] for at in conditions]
        harm = [of[*at, start]["harm"]["mean"] - of[*at, BASELINE]["harm"]["mean"] for at in conditions]
        harms = f"{np.median(harm):+.1f} ({min(harm):+.1f} to {max(harm):+.1f})"
        cells.append([start, sum(n > 0 for n in lost), f"{np.median(lost):.0f} ({max(lost):.0f})", *ratios, harms])
    columns = ["start", "conditions with loss", "lost: median (most)", *SIZES, "1 MB beside CUBIC", "harm: points more"]
    return {"name": "summary", "columns": columns, "rows": cells}


def draw(rows: list[dict[str, Any]]) -> None:
    """Completion time of 1 MB and packets lost, by path; a symbol a queue."""
    import matplotlib.pyplot as plt

    paths, starts = list(dict.fromkeys(row["path"] for row in rows)), list(STARTS)
    fig, axes = plt.subplots(2, len(paths), figsize=(2.9 * len(paths), 7), sharey=True, layout="constrained")
    for column, path in enumerate(paths):
        for line, (key, label) in enumerate((("1 MB", "1 MB takes, ms"), ("lost", "packets lost by slow start"))):
            ax = axes[line][column]
            for n, queue in enumerate(QUEUES):
                shown = {row["start"]: row[key] for row in rows if (row["path"], row["queue"]) == (path, queue)}
                values = [shown[start]["mean"] for start in starts]
                halves = [shown[start]["half"] or 0 for start in starts]
                at = np.arange(len(starts)) + 0.2 * (n - 1)
                ax.errorbar(values, at, xerr=halves, fmt="osD"[n], ms=4.5, capsize=2, label=f"queue {queue} BDP")
            ax.set_yticks(range(len(starts)), starts)
            ax.set_xlabel(label)
            ax.grid(axis="x", alpha=0.3)
            most = max(row[key]["mean"] + (row[key]["half"] or 0) for row in rows if row["path"] == path)
            if key == "lost":
                ax.set_xscale("symlog", linthresh=10)
                ax.set_xticks([0, 10, 100, 1000], ["0", "10", "100", "1000"])
                ax.set_xlim(-2, 2 * most)
            else:
                ax.set_xlim(0, 1.08 * most)
        axes[0][column].set_title(path.replace(" and up", "\nand up"), fontsize=10)
    axes[0][0].invert_yaxis()
    fig.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(QUEUES), frameon=False)
    fig.savefig(FIGURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description="Eight slow starts over five paths and three queues.")
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="random seeds (default: 10)")
    parser.add_argument(
        "--paths", nargs="+", choices=list(PATHS), default=list(PATHS), metavar="NAME", help="only these paths"
    )
    parser.add_argument(
        "--only-page", action="store_true", help="write the tables and the figure from the stored means"
    )
    options = parser.parse_args()
    stored = json.loads(STORED.read_text()) if STORED.is_file() else {"rows": []}
    rows = stored["rows"]
    if not options.only_page:
        new = measured(options.paths, options.seeds)
        kept = [row for row in rows if row["path"] not in options.paths]
        rows = sorted([*kept, *new], key=lambda row: list(PATHS).index(row["path"]))
    paths = dict.fromkeys(row["path"] for row in rows)
    shown = [summary(rows), *(by_path(rows, path) for path in paths)]
    STORED.write_text(json.dumps({"rows": rows, "tables": shown}, ensure_ascii=False, separators=(",", ":")) + "\n")
    draw(rows)
    subprocess.run([sys.executable, ROOT / "tools" / "pages.py", PAGE], check=True)


if __name__ == "__main__":
    main()
