"""What a packet costs in each queue discipline, and an acknowledgement in each congestion control: instructions and time.

`python benches/costs.py` measures and writes `costs.json`, from which `bench.py report` makes a section of docs/performance.md.
Instructions are counted under Valgrind's callgrind, as the difference of a longer and a shorter run, so what else the machine does is
not in them. Times are the least of several runs in one process, in which all take turns. `--instructions queues|controls [NAME ...]`
leaves times out, and measures all of the kind or only what is named.
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
"""An entry above so many times the instructions of its yardstick has a reason."""

REASONS = {
    "sfb": "Eight bins of a filter are looked up and counted at arrival and at departure.",
    "cake": "Tins, hosts, flows and COBALT. With 16 flows of one host a flow's turn is a sixteenth of a packet.",
    "cake, shaped": "As `cake`, and the shaper.",
    "drr": "The packet is matched with the classes, and waits in the discipline of its class.",
    "classed": "The packet is classified, and waits in the discipline of its class.",
    "rafle": "As `classed`, with RAFLE as the classifier.",
    "htb": "A tree: classes are matched, and each packet takes exact tokens of its class and of all above.",
    "bbr": "A model of the path: filters of bandwidth and round-trip time, and a state machine.",
    "bbr3": "As BBR, with bounds by loss and ECN.",
    "highspeed": "The growth is RFC 3649's function of the window, with two logarithms and a power.",
    "ledbat": "A filter of recent delays and a history of base delays are looked through.",
    "copa": "Two filters of the least round-trip time, and the direction of the window over three round trips.",
    "vivace": "Each acknowledgement is a sample of a regression.",
}
"""Why an entry costs what it does."""


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


def measure(crate: str, example: str, beside: str, *, timed: bool, names: list[str]) -> dict[str, dict[str, float]]:
    """Instructions by name and over those of `beside`; if it is timed, ns too."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target")).absolute()
    _said(["cargo", "build", "--quiet", "--release", "-p", crate, "--example", example])
    program = str(target / "release" / "examples" / example)
    found: dict[str, dict[str, float]]
    if timed:
        times = re.findall(r"(?m)^(.+?) +([\d.]+) ns", _said([program]))
        found = {name: {"instructions": round(_instructions(program, name)), "ns": float(ns)} for name, ns in times}
    else:
        known = _said([program, "names"]).split("\n")
        wanted = [name for name in known if name and (not names or name in names)]
        found = {name: {"instructions": round(_instructions(program, name))} for name in [beside, *wanted]}
    usual = found[beside]
    return {
        name: cost | {f"{key}_over": round(cost[key] / usual[key], 2) for key in usual} for name, cost in found.items()
    }


def _table(costs: dict[str, dict[str, float]], first: str, beside: str, unit: str) -> str:
    timed = any("ns" in cost for cost in costs.values())
    measured = ["instructions", "ns"] if timed else ["instructions"]
    head = [first, *(f"{what} {unit} | over {beside}" for what in measured), "why more than twice the instructions"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: | ---: |" * len(measured) + " --- |"]
    for name, cost in costs.items():
        reason = REASONS.get(name, "") if cost["instructions_over"] > MOST else ""
        figures = [f"{cost['instructions']:,.0f}", f"{cost['instructions_over']:.2f}"]
        if timed:
            figures += [f"{cost['ns']:.1f}", f"{cost['ns_over']:.2f}"] if "ns" in cost else ["", ""]
        lines.append("| " + " | ".join([f"`{name}`", *figures, reason]) + " |")
    return "\n".join(lines)


SET_UPS = {
    "queues": "- **Queues:** 16 flows keep 32 packets in the queue, each packet is enqueued and dequeued at 1 Gbit/s, and none is dropped. A packet"
    " has 64 bytes of state. The figure includes the program around the discipline, which is most of that of `drop_tail`.",
    "controls": "- **Controls:** an acknowledgement of two segments, with a loss each 2000th. Window and pacing rate are read after each acknowledgement.",
}


def section() -> str:
    """The section of docs/performance.md; empty if nothing was measured."""
    if not COSTS.exists():
        return ""
    costs = json.loads(COSTS.read_text())
    heads = {"queues": ("queue discipline", "`codel`", "a packet")}
    heads["controls"] = ("congestion control", "`cubic`", "an acknowledgement")
    tables = "\n\n".join(_table(costs[kind], *head) for kind, head in heads.items() if kind in costs)
    return f"""\
## Cost of a mechanism

The cost of a packet in a queue discipline alone, and of an acknowledgement in a congestion control alone (`python benches/costs.py`). Valgrind counts the
instructions. A time is the least of fifteen runs.

{chr(10).join(SET_UPS[kind] for kind in heads if kind in costs)}

{tables}

"""


def _without_times(kind: str, names: list[str]) -> dict[str, dict[str, float]]:
    """What is stored, with the instructions of these names (all, without any) measured anew; an entry measured anew has no time."""
    stored: dict[str, dict[str, dict[str, float]]] = json.loads(COSTS.read_text()) if COSTS.exists() else {}
    return stored.get(kind, {}) | measure(*KINDS[kind], timed=False, names=names)


def main() -> int:
    if not shutil.which("valgrind"):
        print("costs: valgrind is missing (on Debian: apt-get install valgrind)", file=sys.stderr)
        return 2
    match sys.argv[1:]:
        case []:
            found = {kind: measure(*what, timed=True, names=[]) for kind, what in KINDS.items()}
        case ["--instructions", kind, *names] if kind in KINDS:
            found = json.loads(COSTS.read_text()) if COSTS.exists() else {}
            found[kind] = _without_times(kind, names)
        case _:
            print("costs: no arguments, or `--instructions queues|controls [NAME ...]`", file=sys.stderr)
            return 2
    COSTS.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
