"""The study `mptcp-red` with Linux's MPTCP: the schedulers are C in the kernel (`kernel/examples`), one kernel each.

Linux notes of a subflow what it sent, and not which of it another subflow sent, too. Path A is the first and always carries. So what B and C
send are replicas, and A's are at least those of either. Duplicate acknowledgements are not noted.
"""

from __future__ import annotations

import dataclasses

from ...api import Scenario
from ...errors import InputError
from ...worlds.kernel import Kernel
from ...worlds.kernel.guests import COST, built
from ..base import Finding, Options
from .findings import findings
from .sides import SCHEDULER, Side, sides

#: The file in `kernel/examples` that is each scheduler, and the change of Linux that lets them replicate.
FILES, PATCH = {"redundant": "mptcp_redundant.c", "red": "mptcp_red.c"}, "mptcp_replicas.patch"
#: Bytes of a write of the stream, one segment.
SEGMENT = 1408
#: The findings that need what Linux does not note.
UNKNOWN = ("duplicate ACKs", "A and B carry about as many")


def experiment(scenario: Scenario) -> Scenario:
    """Figure 5 with Linux's MPTCP. All of a kernel's connections have its scheduler, so single flows compete instead of one over two paths."""
    values = scenario.to_dict()
    values["sweep"] = {}
    cross, main = values["traffic"]
    main["multipath"] = {"scheduler": "linux", "tune_send_buffer": True, "opportunistic": False}
    single = {key: cross[key] for key in ("start", "jitter", "congestion")}
    each = [{"kind": "bulk", "name": f"cross {i}", **path, **single} for i, path in enumerate(cross["paths"], 1)]
    values["traffic"] = [*each, main]
    return Scenario.from_dict(values, scenario.title)


def _kernel(scheduler: str) -> Kernel:
    file = FILES[scheduler]
    for one in built():
        if file in one.told["added"] and PATCH in one.told["patches"]:
            return Kernel(kernel=one.hash)
    header = " --add mptcp_red.h" if scheduler == "red" else ""
    command = f"haltere kernel build 6.12 --patch {PATCH}{header} --add {file}"
    raise InputError(
        f"a kernel with {file} and {PATCH} must be built, got none; in kernel/examples run `{command}` ({COST})"
    )


def _replicas(side: Side) -> None:
    for run in side.runs:
        b, c = (given / SEGMENT for given in run.given_bytes[1:])
        run.replicas = [max(b, c), b, c]


def linux_findings(scenario: Scenario, options: Options, seeds: int) -> list[Finding]:
    """The findings on delays, throughput, retransmissions and replicas."""
    worlds = {name: _kernel(name) for name in FILES}
    found: dict[str, Side] = {}
    for name, world in worlds.items():
        there = dataclasses.replace(options, world=world)
        results = there.run([experiment(scenario)], [{SCHEDULER: name}], seeds=seeds, part=name)
        found |= sides(results)
        _replicas(found[name])
    return [one for one in findings(found) if not any(part in one.text for part in UNKNOWN)]
