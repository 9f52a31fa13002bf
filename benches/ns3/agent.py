"""An agent of ns3-gym that decides at random: starts our ns-3 program, steps through its run, and says what both processes cost.

    PYTHON benches/ns3/agent.py PROGRAM PORT LEAST MOST ARGUMENTS...

Actions are uniform from LEAST to MOST.

`benches/ns3_gym.py` starts it with a Python that has ns3-gym's package. Of the agent, only the loop of steps counts; of ns-3, only its run. Starting them is
left out, and so is the start of another process of ns-3 at each `reset`. Prints one line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
from ns3gym import ns3env


def main() -> None:
    """Steps to the end of the run."""
    program, port, least, most, *arguments = sys.argv[1:]
    simulator = subprocess.Popen([program, f"--port={port}", *arguments], stdout=subprocess.PIPE, text=True)
    env = ns3env.Ns3Env(port=int(port), startSim=False)
    env.reset()
    actions = np.random.default_rng(1).uniform(float(least), float(most), (64, 1))
    steps, done = 0, False
    began, began_cpu = time.perf_counter(), time.process_time()
    while not done:
        told = env.step(actions[steps % 64])
        # Gym had one sign of the end, Gymnasium has two.
        done = any(told[2:-1])
        steps += 1
    ended, cpu = time.perf_counter(), time.process_time() - began_cpu
    out, _ = simulator.communicate()
    said = json.loads(next(line for line in reversed(out.splitlines()) if line.startswith("{")))
    print(json.dumps({"agent_steps": steps, "began": began, "ended": ended, "agent_cpu_s": cpu, **said}))


if __name__ == "__main__":
    main()
