"""Linux's queue disciplines and Haltere's on the same packets: the table of docs/kernel.md.

    python tools/kernel_verdicts.py [--kernel 7.2] [--seeds 10] [--only dualpi2,cake]

Four CUBIC flows, 10 Mbit/s, 20 ms, 10 s. Linux's discipline carries the flows, and Haltere's gets the same packets (`beside`). In runs of
their own, Haltere's disciplines carry the flows.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import pyarrow

from haltere import _core
from haltere.analysis.stats import mean
from haltere.worlds import world

#: What `tc` gets, Haltere's discipline, and whether flows use ECN.
PAIRS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "pfifo": ("pfifo limit 50", {"kind": "drop_tail", "limit": "50p"}, False),
    "pfifo_fast": ("pfifo_fast", {"kind": "pfifo_fast", "release_batch": 16}, False),
    "codel": ("codel", {"kind": "codel"}, False),
    "fq_codel": ("fq_codel", {"kind": "fq_codel"}, False),
    "sfq": ("sfq", {"kind": "sfq"}, False),
    "fq": ("fq flow_limit 30", {"kind": "fq", "flow_limit": 30}, False),
    "pie": ("pie", {"kind": "pie", "tupdate": "20ms", "first_update": "500ms"}, False),
    "fq_pie": ("fq_pie", {"kind": "fq_pie", "tupdate": "20ms", "first_update": "500ms"}, False),
    "red": (
        "red limit 400000 min 15000 max 45000 avpkt 1000 burst 25 bandwidth 10mbit probability 0.02",
        {
            "kind": "red",
            "limit": "400kB",
            "min": "15kB",
            "max": "45kB",
            "burst": 25,
            "bandwidth": "10Mbit",
            "probability": 0.02,
        },
        False,
    ),
    "choke": (
        "choke limit 400 min 10 max 30 avpkt 1000 burst 15 bandwidth 10mbit probability 0.02",
        {
            "kind": "choke",
            "limit": "400p",
            "min": "10p",
            "max": "30p",
            "burst": 15,
            "bandwidth": "10Mbit",
            "probability": 0.02,
        },
        False,
    ),
    "sfb": ("sfb", {"kind": "sfb"}, False),
    "dualpi2": ("dualpi2", {"kind": "dualpi2"}, False),
    "dualpi2, ECN": ("dualpi2", {"kind": "dualpi2"}, True),
    "cake": ("cake", {"kind": "cake"}, False),
    "cake, ECN": ("cake", {"kind": "cake"}, True),
}


def experiment(queue: dict[str, Any], ecn: bool) -> dict[str, Any]:
    """The network with that queue."""
    return {
        "duration": "10s",
        "warmup": "0s",
        "topology": {
            "dumbbell": {
                "pairs": 4,
                "access": {"rate": "100Mbit", "delay": "1ms"},
                "bottleneck": {"rate": "10Mbit", "delay": "8ms", "queue": queue},
            }
        },
        "traffic": [{"kind": "bulk", "pairs": "all", "congestion": "cubic", "ecn": ecn}],
        "measure": {"queues": "100ms"},
    }


def carried(queue: dict[str, Any], ecn: bool, seed: int, kernel: str) -> dict[str, float]:
    """One run: what the bottleneck did in all, its mean queue, and what the discipline beside it did."""
    scenario = _core.Scenario.from_json(json.dumps(experiment(queue, ecn)))
    run = world("kernel", kernel=kernel).run(scenario, seed, _core.Progress())
    tables = {name: pyarrow.table(table) for name, table in run.tables().items()}
    links = [row for row in tables["links"].to_pylist() if row["link"] == "left>right"]
    series = [row for row in tables["queue_series"].to_pylist() if row["link"] == "left>right"]
    last = {name: value for name, value in series[-1].items() if isinstance(value, float)}
    dropped = links[0]["dropped_overlimit"] + links[0]["dropped_congestion"]
    waiting = [row["packets"] for row in series]
    return last | {"dropped": dropped, "marked": links[0]["marked"], "queue": sum(waiting) / len(waiting)}


def shown(values: list[float], digits: int = 0) -> str:
    """Mean and half of the 95 % interval."""
    return mean(values).format(digits)


def main() -> None:
    """Prints a row for each pair."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kernel", default="")
    arguments.add_argument("--seeds", type=int, default=10)
    arguments.add_argument("--only", default="", help="disciplines, with commas between (default: all)")
    given = arguments.parse_args()
    print(
        "| discipline | verdicts | of them differ | drops or marks of Linux's | Haltere's carrying, less Linux's | Haltere's beside, over Linux's | mean queue |"
    )
    for name, (words, ours, ecn) in PAIRS.items():
        if given.only and name.partition(",")[0] not in given.only.split(","):
            continue
        seeds = range(1, given.seeds + 1)
        linux = [carried({"kind": "kernel", "tc": words, "beside": ours}, ecn, seed, given.kernel) for seed in seeds]
        haltere = [carried(ours, ecn, seed, given.kernel) for seed in seeds]
        count = [one["dropped"] + one["marked"] for one in linux]
        less = [b["dropped"] + b["marked"] - a for a, b in zip(count, haltere, strict=True)]
        over = [(one["beside_dropped"] + one["beside_marked"]) / max(a, 1) for a, one in zip(count, linux, strict=True)]
        queues = f"{sum(one['queue'] for one in linux) / len(linux):.1f}, {sum(one['queue'] for one in haltere) / len(haltere):.1f}"
        verdicts, differ = (sum(one[what] for one in linux) for what in ("verdicts", "differ"))
        print(
            f"| `{name}` | {verdicts:.0f} | {differ:.0f} | {shown(count)} | {shown(less)} | {shown(over, 3)} | {queues} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
