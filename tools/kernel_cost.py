"""The processor time of the kernel world: the table of docs/kernel.md.

    python tools/kernel_cost.py [--rounds 3] [--kernel 6.1]

One CUBIC flow a pair over a dumbbell, 20 ms, drop tail of one bandwidth-delay product. Each cell is user and system time of the guest, boot included,
over the virtual seconds: the least of the rounds, because other work on the machine only adds. The share of links and hosts follows from runs with one,
three and five links each way: what a link adds, and what the hosts need without it.
"""

from __future__ import annotations

import argparse
import json
import resource
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from haltere import _core
from haltere.worlds import world

SECONDS = {10: 60, 100: 30, 1000: 10}
FLOWS = (1, 4, 64)
OTHERS: list[tuple[str, int, int, dict[str, Any]]] = [
    ("gso", 100, 4, {"gso": True}),
    ("gso", 1000, 4, {"gso": True}),
    ("gso", 1000, 16, {"gso": True}),
    ("router user", 10, 4, {"router": "user"}),
]


def dumbbell(mbit: int, flows: int, seconds: float) -> dict[str, Any]:
    """Three links each way, of which the second is the slowest."""
    return {
        "duration": f"{seconds}s",
        "warmup": "0s",
        "seeds": 1,
        "topology": {
            "dumbbell": {
                "pairs": flows,
                "access": {"rate": f"{10 * mbit}Mbit", "delay": "1ms"},
                "bottleneck": {"rate": f"{mbit}Mbit", "delay": "8ms", "queue": {"kind": "drop_tail", "limit": "1bdp"}},
            }
        },
        "tcp": {"recv_buffer_max": "64MiB", "send_buffer_max": "64MiB"},
        "traffic": [{"kind": "bulk", "pairs": "all", "congestion": "cubic", "jitter": "0s"}],
        "measure": {"queues": "100ms", "flows": "100ms"},
    }


def chain(mbit: int, links: int, seconds: float) -> dict[str, Any]:
    """One flow over so many links."""
    names = [f"n{at}" for at in range(links + 1)]
    pairs = [{"from": a, "to": b, "rate": f"{mbit}Mbit", "delay": "1ms"} for a, b in pairwise(names)]
    whole = dumbbell(mbit, 1, seconds)
    flow = {"kind": "bulk", "from": names[0], "to": names[-1], "congestion": "cubic", "jitter": "0s"}
    return whole | {"topology": {"graph": {"nodes": names, "links": pairs}}, "traffic": [flow]}


def processor_s(experiment: dict[str, Any], **options: Any) -> tuple[float, int]:
    """Processor time of the guest, and how many packets the slowest link sent."""
    scenario = _core.Scenario.from_json(json.dumps(experiment))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = world("kernel", **options).run(scenario, 1, _core.Progress())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    import pyarrow

    links = pyarrow.table(run.tables()["links"]).to_pylist()
    sent = max(row["sent"] for row in links)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, sent


def cells(kernel: str) -> Iterator[tuple[str, float, Any]]:
    """A name, virtual seconds, and what to run."""
    for mbit, seconds in SECONDS.items():
        for flows in FLOWS:
            yield f"{mbit} Mbit/s, {flows} flows", seconds, (dumbbell(mbit, flows, seconds), {"kernel": kernel})
    for name, mbit, flows, options in OTHERS:
        seconds = 10
        yield (
            f"{name}, {mbit} Mbit/s, {flows} flows",
            seconds,
            (dumbbell(mbit, flows, seconds), {"kernel": kernel, **options}),
        )
    for links in (1, 3, 5):
        yield f"chain of {links}, 100 Mbit/s", 10, (chain(100, links, 10), {"kernel": kernel})
    yield "boot and end", 1, (dumbbell(10, 1, 0.01), {"kernel": kernel})


def main() -> None:
    """Prints each cell after each round: the least so far."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--kernel", default="")
    given = arguments.parse_args()
    least: dict[str, float] = {}
    for number in range(1, given.rounds + 1):
        print(f"round {number}")
        for name, seconds, (experiment, options) in cells(given.kernel):
            cost, sent = processor_s(experiment, **options)
            least[name] = min(cost, least.get(name, cost))
            packet = 1e6 * least[name] / max(sent, 1)
            print(
                f"{name:32} {least[name] / seconds:8.3f} CPU-s a virtual second, {packet:6.1f} us a packet", flush=True
            )


if __name__ == "__main__":
    main()
