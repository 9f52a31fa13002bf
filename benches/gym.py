"""Steps a second of the gym with 1, 8 and 64 environments, beside ns-3 alone and ns3-gym on the same network.

    python benches/gym.py                                        # the gym
    python benches/gym.py --ns3 target/ns3                       # and ns-3 alone, built by `make bench-ns3`
    python benches/gym.py --ns3 target/ns3 --ns3-gym FOLDER      # and ns3-gym, pair by pair

The network has one sender that decides, 12 Mbit/s, 40 ms and a queue of one bandwidth-delay product. A decision is due every 20 ms, or at each
acknowledgement. A decision is a congestion window from 20 to 80 segments at random: half to twice what fits into the path. So all deliver
about as much, and a step simulates as many packets.

With `--ns3-gym` each measurement of ours follows one of ns3-gym's, so that a slow spell of the machine meets both. CPU time counts on both sides: of ns3-gym
that of the agent and of ns-3, without their start; of ours that of the whole process, with the begin of new runs. Neither side has more than
one busy thread a processor, so on two processors both make at most twice these steps a second. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import measure
import ns3
import ns3_gym
import numpy as np

import haltere.gym as gym

RATE, ONE_WAY_NS, LIMIT, SECONDS = 12_000_000, 19_000_000, 40, 10
#: Windows of random actions, in segments.
WINDOWS = (20.0, 80.0)
#: How ours and ns-3 are told the interval, and how many seconds of ns-3 a measurement has.
INTERVALS = {"20ms": ("20000000", 60), "ack": ("0", 20)}
ENVS = (1, 8, 64)
#: Environments of ns3-gym at once: one or two processes at a time are all that two processors can run.
ENVS_OF_NS3_GYM = (1, 2, 8)

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


def steps_a_second(envs: int, threads: int, seconds: float, interval: str, decides: bool = True) -> dict[str, float]:
    """Steps of all environments together, a second of CPU time and a second of time."""
    import haltere

    scenario = haltere.Scenario.from_dict(NETWORK)
    vector = gym.make_vec(envs, scenario, action="cwnd_segments", interval=interval, threads=threads, decides=decides)
    actions = np.random.default_rng(1).uniform(*WINDOWS, (64, envs, 1))
    vector.reset(seed=1)
    for number in range(32):
        vector.step(actions[number % 64])
    done, began, began_cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < seconds:
        for number in range(64):
            _, _, _, _, infos = vector.step(actions[number % 64])
        done += 64 * envs
    wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    # Of the runs that go on: a new one has just begun in some.
    delivered = 8e9 * float(infos["received_bytes"].sum()) / max(float(infos["time_ns"].sum()), 1.0)
    return {
        "steps a CPU second": round(done / cpu, 1),
        "steps a second": round(done / wall, 1),
        "bit/s": round(delivered),
    }


def ns3_alone(folder: Path, repeats: int) -> dict[str, object]:
    """Intervals of 20 ms that ns-3 alone simulates a second, with CUBIC and no decision."""
    (build, *_) = ns3.builds(folder / "build")
    with tempfile.TemporaryDirectory() as scratch:
        program = build.compile(folder)
        (Path(scratch) / "plan").write_text(plan())
        runs = [measure.run([str(program), f"--plan={scratch}/plan"], 600) for _ in range(repeats)]
    steps = SECONDS * 1000 / 20
    return {"steps a CPU second": [round(steps / run.cpu_s, 1) for run in runs], "said": runs[0].said}


def beside(setup: ns3_gym.Setup, args: argparse.Namespace, interval: str) -> dict[str, object]:
    """Ours and ns3-gym's in turn, one environment and many: all measurements, and the median ratio of neighbours."""
    told, seconds = INTERVALS[interval]
    found: dict[str, object] = {}
    for envs, theirs in zip(ENVS, ENVS_OF_NS3_GYM, strict=True):
        pairs = []
        for _ in range(args.repeats):
            other = setup.steps_a_second(theirs, WINDOWS, f"--seconds={seconds}", f"--interval={told}")
            pairs.append((steps_a_second(envs, args.threads, args.seconds, interval), other))
        ratios = [ours["steps a CPU second"] / other["steps a CPU second"] for ours, other in pairs]
        found[f"{envs} environments, ns3-gym {theirs} at once"] = {
            "ours": [ours for ours, _ in pairs],
            "ns3-gym": [other for _, other in pairs],
            "ratio by CPU time": [round(ratio, 1) for ratio in sorted(ratios)],
            "median": round(statistics.median(ratios), 1),
        }
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ns3", type=Path, help="folder of `make bench-ns3`")
    parser.add_argument("--ns3-gym", type=Path, help="folder of ns3-gym (benches/README.md); needs --ns3")
    parser.add_argument("--ns3-gym-python", default=sys.executable, help="a Python with what ns3-gym's package needs")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=5.0, help="a measurement takes this long")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    found: dict[str, object] = {"load": os.getloadavg()[0], "threads": args.threads}
    if args.ns3_gym:
        if not args.ns3:
            parser.error("--ns3-gym needs --ns3")
        setup = ns3_gym.find(args.ns3_gym, args.ns3, args.ns3_gym_python)
        for interval in INTERVALS:
            found[interval] = beside(setup, args, interval)
    else:
        for interval in INTERVALS:
            for envs in ENVS:
                each = [steps_a_second(envs, args.threads, args.seconds, interval) for _ in range(args.repeats)]
                found[f"{interval}, {envs} environments"] = each
    cubic = [steps_a_second(64, args.threads, args.seconds, "20ms", decides=False) for _ in range(args.repeats)]
    found["20ms, 64 environments, CUBIC decides"] = cubic
    if args.ns3:
        found["ns-3 alone, CUBIC, 20ms"] = ns3_alone(args.ns3, args.repeats)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
