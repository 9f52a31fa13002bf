"""Steps a second of the gym with 1, 8 and 64 environments, beside ns-3 alone on the same network.

    python benches/gym.py                       # the gym
    python benches/gym.py --ns3 target/ns3      # and ns-3, built by `make bench-ns3`

The network has one sender that decides, 12 Mbit/s, 40 ms and a queue of one bandwidth-delay product. A decision is due every 20 ms, so a run of
10 s has 500. ns-3 runs the same flow with CUBIC and without any decision: its steps a second are the intervals of 20 ms that it simulates a second.
A gym on ns-3 does the same and a message to another process for each step, so it cannot be faster. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import measure
import ns3
import numpy as np

import haltere.gym as gym

RATE, ONE_WAY_NS, LIMIT, SECONDS, INTERVAL_MS = 12_000_000, 19_000_000, 40, 10, 20

NETWORK = {
    "title": "one sender",
    "duration": f"{SECONDS}s",
    "seeds": 1,
    "topology": {
        "dumbbell": {
            "pairs": 1,
            "access": {"rate": "100Mbit", "delay": "500us"},
            "bottleneck": {"rate": "12Mbit", "delay": "19ms", "queue": {"kind": "drop_tail", "limit": f"{LIMIT}p"}},
        }
    },
    "traffic": [{"name": "agent", "kind": "bulk", "pairs": "all", "congestion": "cubic", "jitter": "0ms"}],
}


def plan() -> str:
    """The same network and flow for `ns3/plan.cc`: client 0, switches 1 and 2, server 3."""
    lines = [f"run 4 {SECONDS * 10**9} 0"]
    for one, other, rate, delay, limit in (
        (0, 1, 10**8, 500_000, 1000),
        (1, 2, RATE, ONE_WAY_NS, LIMIT),
        (2, 3, 10**8, 500_000, 1000),
    ):
        for ends in ((one, other), (other, one)):
            lines.append(f"link {ends[0]} {ends[1]} {rate} {delay} drop_tail {limit} 0 0")
    lines.append("flow 0 3 0 0 cubic 1448 4194304 10 1 200000000 40000000")
    return "\n".join(lines) + "\n"


def steps_a_second(envs: int, threads: int, seconds: float, decides: bool) -> tuple[float, float]:
    """Steps of all environments together, a second of time and a second of CPU time. Actions change the window by a fifth at most."""
    import haltere

    scenario = haltere.Scenario.from_dict(NETWORK)
    vector = gym.make_vec(envs, scenario, interval=f"{INTERVAL_MS}ms", threads=threads, decides=decides)
    actions = np.random.default_rng(1).uniform(-0.25, 0.25, (64, envs, 1))
    vector.reset(seed=1)
    for number in range(32):
        vector.step(actions[number % 64])
    done, began, began_cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        for number in range(32):
            vector.step(actions[number % 64])
        done += 32 * envs
    return done / (time.perf_counter() - began), done / (time.process_time() - began_cpu)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ns3", type=Path, help="folder of `make bench-ns3`")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=5.0, help="a measurement takes this long")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    found: dict[str, object] = {"load": os.getloadavg()[0], "threads": args.threads}
    for decides in (True, False):
        for envs in (1, 8, 64):
            each = [steps_a_second(envs, args.threads, args.seconds, decides) for _ in range(args.repeats)]
            for kind, rates in zip(("", " by CPU time"), zip(*each, strict=True), strict=True):
                found[f"{'decided' if decides else 'cubic'}-{envs}{kind}"] = [round(rate) for rate in sorted(rates)]
    if args.ns3:
        (build, *_) = ns3.builds(args.ns3 / "build")
        with tempfile.TemporaryDirectory() as folder:
            program = build.compile(args.ns3)
            (Path(folder) / "plan").write_text(plan())
            runs = [measure.run([str(program), f"--plan={folder}/plan"], 600) for _ in range(args.repeats)]
        steps = SECONDS * 1000 / INTERVAL_MS
        found["ns-3 by CPU time"] = [round(steps / run.cpu_s, 1) for run in runs]
        found["ns-3 by wall time"] = [round(steps / run.wall_s, 1) for run in runs]
        found["ns-3"] = runs[0].said
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
