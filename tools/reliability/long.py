"""Long runs: a day of virtual time, and many packets: `make long`. Prints memory, counters and the conservation check.

Memory must not grow after the first fifth of a run but for the samples that it keeps; no counter may be negative or beyond 2^63; packets
that arrived at a link are packets that it sent, dropped or still has.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from haltere import Scenario, _core

EXPERIMENT = """\
title = "Long"
duration = "DURATIONs"
measure = { queues = "EVERYs", flows = "EVERYs" }
[topology.dumbbell]
pairs = 8
access = { rate = "10Gbit", delay = "1ms" }
bottleneck = { rate = "RATEbit", delay = "5ms", loss = "0.001%", queue = "fq_codel" }
[[traffic]]
kind = "bulk"
pairs = "all"
congestion = ["cubic", "bbr", "reno", "dctcp"]
ecn = true
"""
#: Data packets and acknowledgements over a bottleneck of 1 bit/s in a second, as measured; only for the choice of a duration.
PACKETS_PER_BIT = 1.24e-4
#: How often memory is read.
LOOK_S = 0.2


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def watched(scenario: _core.Scenario) -> tuple[_core.Run, list[tuple[float, int]], float]:
    """The run, what was in memory at which part of it, and its seconds of CPU. Each tenth is told, as the whole may take an hour."""
    progress, made, seen, told = _core.Progress(), [], [], 0

    def work() -> None:
        made.append(_core.run(scenario, 1, progress))

    thread, began = threading.Thread(target=work), time.process_time()
    thread.start()
    while thread.is_alive():
        thread.join(LOOK_S)
        seen.append((progress.done, resident()))
        if seen[-1][0] * 10 >= told + 1:
            told = int(seen[-1][0] * 10)
            print(
                f"  {told * 10} %: {time.process_time() - began:.0f} s of CPU, {seen[-1][1] >> 20} MiB", file=sys.stderr
            )
    return made[0], seen, time.process_time() - began


def wrong_counters(links: pa.Table) -> list[str]:
    """Which counters are negative or near overflow, and which links lose packets unseen."""
    wrong = []
    for row in links.to_pylist():
        counts = {key: value for key, value in row.items() if isinstance(value, int)}
        wrong += [f"{row['link']}: {key} is {value}" for key, value in counts.items() if not 0 <= value < 1 << 63]
        dropped = sum(
            value for key, value in counts.items() if key.startswith("dropped_") and not key.endswith("_after_warmup")
        )
        left = row["arrived"] - row["sent"] - dropped
        if not 0 <= left <= row["peak_packets"] + 1:
            wrong.append(f"{row['link']}: {row['arrived']} arrived, {row['sent']} sent, {dropped} dropped, {left} left")
    return wrong


def long_run(name: str, rate: float, seconds: int) -> bool:
    """Runs it and prints what it was; whether all held."""
    values = {"DURATION": str(seconds), "RATE": str(int(rate)), "EVERY": str(max(1, seconds // 1000))}
    text = EXPERIMENT
    for key, value in values.items():
        text = text.replace(key, value)
    scenario = Scenario.from_toml(text).points()[0][1]
    before = resident()
    run, seen, took = watched(scenario)
    links = pa.table(run.tables()["links"])
    packets = sum(row["arrived"] for row in links.to_pylist() if row["from"][0] in "cs" and row["from"][1:].isdigit())
    early = max((size for done, size in seen if done <= 0.2), default=before)
    late = max(size for _, size in seen)
    wrong = wrong_counters(links)
    mib = 1 << 20
    print(
        f"{name}: {seconds} s of virtual time, {packets:,} packets, {run.events:,} events, {took:.0f} s of CPU; memory {before / mib:.0f} MiB before, "
        f"{early / mib:.0f} MiB in the first fifth, {late / mib:.0f} MiB at most (grew by {(late - early) / mib:.1f} MiB); at most {run.peak_events} events "
        f"pending; conservation {'holds on all ' + str(len(links)) + ' links' if not wrong else 'fails'}; digest {run.digest()[:16]}",
        flush=True,
    )
    for one in wrong:
        print(f"  {one}")
    return not wrong and late - early < 32 * mib


def main(arguments: Sequence[str]) -> int:
    """A day, then so many packets."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--packets", type=float, default=1e9, help="packets of the second run (1e9)")
    to.add_argument("--hours", type=float, default=24, help="virtual hours of the first run (24); 0: none")
    given = to.parse_args(arguments)
    day = not given.hours or long_run("a day", 1e6, int(given.hours * 3600))
    many = long_run("packets", 1e9, max(1, round(given.packets / PACKETS_PER_BIT / 1e9)))
    return 0 if day and many else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
