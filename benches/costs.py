"""What a packet costs in each queue discipline, and an acknowledgement in each congestion control: instructions and time.

`python benches/costs.py` measures and writes `costs.json`, from which `bench.py report` makes a section of docs/performance.md.
Instructions are counted under Valgrind's callgrind, as the difference of a longer and a shorter run, so what else the machine does is
not in them. Times are the least of several runs in one process, in which all take turns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).absolute().parent
COSTS = HERE / "costs.json"
KINDS = {"queues": ("haltere-queue", "cost", "codel"), "controls": ("haltere-congestion", "control_cost", "cubic")}
"""The crate, its example that measures, and what the others stand beside."""
LENGTHS = (4000, 12_000)
MOST = 2.0
"""An entry above so many times the time of its yardstick has a reason."""

FAIR = "It hashes the flow and keeps a queue for each, as FQ-CoDel does"
REASONS = {
    "fq_codel": "The flow is hashed, and each flow has a queue with its own state.",
    "dualpi2": "Two queues with a scheduler, a coupled probability and a step, and a random number a packet.",
    "fq_pie": f"{FAIR}; PIE's timer looks at all queues in use.",
    "sfq": f"{FAIR}.",
    "sfb": "Sixteen bins a packet: two sets of eight levels, each with a hash.",
    "threshold": "It measures the queue in bytes and packets at both ends.",
    "cake": "Tins, hosts, flows and COBALT. With 16 flows of one host a flow's turn is a sixteenth of a packet.",
    "cake, shaped": "As `cake`, and the shaper.",
    "fq": f"{FAIR}, with a heap of flows that wait for their time.",
    "drr": "The packet is matched with the classes, and waits in the discipline of its class.",
    "classed": "The packet is classified, and waits in the discipline of its class.",
    "rafle": "As `classed`, with the RAFLE classifier, which keeps a record of flows.",
    "tbf": "Two buckets whose levels are exact in 128 bits, and the discipline inside.",
    "htb": "A tree: classes are matched, and each packet takes exact tokens of its class and of all above.",
    "bbr": "A model of the path: filters of bandwidth and round-trip time, and a state machine.",
    "bbr3": "As BBR, with bounds by loss and ECN.",
    "cdg": "Windows of least and largest round-trip times, and a random backoff.",
    "copa": "The least of the samples of two time windows.",
    "ledbat": "The least of the samples of minutes.",
    "vivace": "Each acknowledgement is a sample of a regression; the rate is a fraction in floating point.",
}
"""Why an entry costs what it does; those that are in the table without need have none."""


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    if done.returncode:
        sys.exit(f"costs: `{' '.join(command)}` ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def _instructions(program: str, name: str) -> float:
    counts = []
    for length in LENGTHS:
        told = _said(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, str(length), name])
        counted = re.search(r"Collected : (\d+)", told)
        assert counted, told
        counts.append(int(counted[1]))
    return (counts[1] - counts[0]) / (LENGTHS[1] - LENGTHS[0])


def measure(crate: str, example: str, beside: str) -> dict[str, dict[str, float]]:
    """Instructions and ns by name, and both over those of `beside`."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")).absolute()
    _said(["cargo", "build", "--quiet", "--release", "-p", crate, "--example", example])
    program = str(target / "release" / "examples" / example)
    times = dict(re.findall(r"(?m)^(.+?) +([\d.]+) ns", _said([program])))
    found = {name: {"instructions": round(_instructions(program, name)), "ns": float(ns)} for name, ns in times.items()}
    usual = found[beside]
    return {
        name: cost | {f"{key}_over": round(cost[key] / usual[key], 2) for key in usual} for name, cost in found.items()
    }


def _table(costs: dict[str, dict[str, float]], first: str, beside: str, unit: str) -> str:
    head = [first, f"instructions {unit}", f"over {beside}", f"ns {unit}", f"over {beside}", "why more than twice"]
    lines = ["| " + " | ".join(head) + " |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for name, cost in costs.items():
        reason = REASONS.get(name, "") if cost["ns_over"] > MOST or cost["instructions_over"] > MOST else ""
        figures = [
            f"{cost['instructions']:,.0f}",
            f"{cost['instructions_over']:.2f}",
            f"{cost['ns']:.1f}",
            f"{cost['ns_over']:.2f}",
        ]
        lines.append("| " + " | ".join([f"`{name}`", *figures, reason]) + " |")
    return "\n".join(lines)


def section() -> str:
    """The section of docs/performance.md; empty if nothing was measured."""
    if not COSTS.exists():
        return ""
    costs = json.loads(COSTS.read_text())
    return f"""\
## Cost of a mechanism

What a packet costs in a queue discipline alone, and an acknowledgement in a congestion control alone. `python benches/costs.py` measures it again.

- **Instructions** are counted under Valgrind. Other work on the machine does not change them.
- **Time** is the least of fifteen runs. All run in turn in one process.
- **Queues:** 16 flows keep 32 packets in the queue, which is enqueued and dequeued at 1 Gbit/s and drops nothing. A packet has 64 bytes of
  state, and the figure includes the program around the discipline (about that of `drop_tail`).
- **Controls:** an acknowledgement of two segments, with a loss each 2000th. Window and pacing rate are asked after each.

{_table(costs["queues"], "queue discipline", "`codel`", "a packet")}

{_table(costs["controls"], "congestion control", "`cubic`", "an acknowledgement")}

"""


def main() -> int:
    if not shutil.which("valgrind"):
        print("costs: valgrind is missing (on Debian: apt-get install valgrind)", file=sys.stderr)
        return 2
    found = {kind: measure(*what) for kind, what in KINDS.items()}
    COSTS.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
