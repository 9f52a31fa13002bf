"""CPU time of a simulated second of Wi-Fi and of a cell, beside ns-3's Wi-Fi: `python benches/last_mile.py [--ns3 PROGRAM]`.

`ns3/wifi.cc` says how PROGRAM is compiled. The programs run in turn on one thread; the least of the turns counts. Not in `bench.py`, because
Debian's ns-3 and the one of `make bench-ns3` have no Wi-Fi.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path
from typing import Any

from haltere import _core, load

SCENARIOS = Path(__file__).parent / "scenarios"
USERS = "topology.wireless.medium.queue.users"
UDP = {"traffic": [{"kind": "cbr", "rate": "100Mbit", "start": "500ms"}]}
#: What is run: its name, its file, what is set in it, and the arguments of ns-3's program behind the seconds.
CASES: list[tuple[str, str, dict[str, Any], list[str] | None]] = [
    ("Wi-Fi, three stations, TCP", "wifi", {}, []),
    ("Wi-Fi, three stations, TCP, late = true", "wifi", {"topology.wireless.medium.queue.late": True}, []),
    ("Wi-Fi, three stations, UDP", "wifi", UDP, ["100Mbps"]),
    *(
        (f"cell, 20 users of {rate}", "cell", {USERS: [{"rate": rate, "doppler": 5}] * 20}, None)
        for rate in ("20Mbit", "50Mbit", "150Mbit")
    ),
]


def ours(name: str, values: dict[str, Any], seconds: int, seed: int) -> float:
    """CPU time of a run, in seconds; its plan included."""
    _, scenario = next(
        iter(load(SCENARIOS / f"{name}.toml").with_values({**values, "duration": f"{seconds}s"}).points())
    )
    start = time.process_time()
    _core.run(scenario, seed)
    return time.process_time() - start


def theirs(program: Path, seconds: int, more: list[str]) -> float:
    """CPU time of ns-3's event loop, in seconds."""
    done = subprocess.run([program.resolve(), str(seconds), *more], check=True, stdout=subprocess.PIPE, text=True)
    return float(json.loads(done.stdout)["cpu_s"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description="CPU time of a simulated second of Wi-Fi and of a cell, beside ns-3's."
    )
    parser.add_argument("--ns3", type=Path, metavar="PROGRAM", help="ns3/wifi.cc, compiled")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="runs of each (default 3)")
    parser.add_argument(
        "--seconds",
        type=int,
        default=100,
        metavar="S",
        help="simulated seconds of a run; ns-3's are a tenth (default 100)",
    )
    options = parser.parse_args()
    for title, name, values, more in CASES:
        here, there = [], []
        for turn in range(options.turns):
            here.append(ours(name, values, options.seconds, turn + 1) / options.seconds)
            if options.ns3 and more is not None:
                short = max(2, options.seconds // 10)
                there.append(theirs(options.ns3, short, more) / short)
        line = f"{title:40} {min(here) * 1e3:6.2f} ms, {1 / min(here):4.0f} times real time"
        print(
            line + (f"; ns-3 {min(there) * 1e3:6.0f} ms, {min(there) / min(here):4.0f} times as much" if there else "")
        )


if __name__ == "__main__":
    main()
