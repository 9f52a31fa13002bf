"""The scenarios of the sets H (queue disciplines) and I (congestion controls) of `validation/linux`.

    python validation/sets.py H > h.json

writes them as the list of scenarios that the kernel harness runs, one repetition of each for every seed. The harness boots Linux 6.1
as User-Mode Linux in virtual time, lays `n1 - r0 - n3` with network namespaces and runs each scenario. Its keys are those
that `python/haltere/validate/scenario.py` lists. With `shaper` `none` it puts the discipline itself on the router's device, if there are
no `classes`. The results, made small by `tools/validation_compact.py`, are in `validation/linux`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

REPETITIONS = {"H": 5, "I": 10}
SAMPLE = {"tcp_ms": 100, "store_tcp_ms": 500, "qdisc_ms": 10, "store_qdisc_ms": 50}
FRAME = 1514


def bulk(control: str, number: int = 1) -> dict[str, Any]:
    """Flows of one control that start within half a second."""
    return {"dir": "fwd", "cc": control, "n": number, "start": 0.05, "spread": 0.5}


def base(of: str, name: str, mbit: float, rtt_ms: float, qdisc: str, flows: list[dict[str, Any]]) -> dict[str, Any]:
    """A scenario of 30 s whose first 7.5 are not measured."""
    return {"name": f"{of}_{name}", "set": of, "rate_mbit": mbit, "rtt_ms": rtt_ms, "qdisc": qdisc, "flows": flows,
            "duration": 30, "warmup": 7.5, "ping": {"interval": 0.1}, "sample": SAMPLE}  # fmt: skip


# ------------------------------------------------------------------ H
FLOWS = {
    "cubic1": [bulk("cubic", 1)],
    "cubic4": [bulk("cubic", 4)],
    "cubic12": [bulk("cubic", 12)],
    "reno4": [bulk("reno", 4)],
}
"""At 10 Mbit/s and 40 ms, which is a bandwidth-delay product of 33 packets."""
MIX = [bulk("cubic", 4), bulk("reno", 4)]
"""At 100 Mbit/s and 20 ms: 165 packets."""

# Text of tc without ECN, with ECN (or None), and for 100 Mbit/s. CHOKe is compared with thresholds that its few flows reach.
DISCIPLINES = {
    "fq_pie": ("fq_pie", "fq_pie ecn", "fq_pie"),
    "sfq": ("sfq limit 100 headdrop", None, "sfq limit 400"),
    "choke": ("choke limit 200 min 20 max 60 bandwidth 10mbit", "choke limit 200 min 20 max 60 bandwidth 10mbit ecn",
              "choke limit 1000 min 80 max 240 bandwidth 100mbit"),
    "sfb": ("sfb", None, "sfb"),
    "cake": ("cake unlimited", None, "cake unlimited"),
    "fq": ("fq", None, "fq"),
}  # fmt: skip
# Disciplines that shape themselves stand alone on the router's device, which is infinitely fast.
SHAPERS = {
    "tbf_tail": ("tbf rate 10mbit burst 15000 limit 60000", "cubic4"),
    "tbf_peak": ("tbf rate 10mbit burst 60000 limit 60000 peakrate 20mbit mtu 3000", "cubic1"),
    "tbf_reno": ("tbf rate 10mbit burst 5000 latency 50ms", "reno4"),
    "cake_besteffort": ("cake bandwidth 10mbit besteffort", "cubic4"),
    "cake_flows": ("cake bandwidth 10mbit flows", "cubic12"),
    "cake_overhead": ("cake bandwidth 10mbit besteffort overhead 44 atm", "cubic1"),
    "cake_reno": ("cake bandwidth 10mbit diffserv4", "reno4"),
    "cake_rtt": ("cake bandwidth 10mbit rtt 40ms", "cubic4"),
    "cake_dual": ("cake bandwidth 10mbit dual-srchost ack-filter", "cubic4"),
}
SLOW_BACK = {"both_ways": True, "qdisc_rev": "cake bandwidth 80kbit ack-filter"}
"""The acknowledgements of 10 Mbit/s need more than that, unless the queue drops those that later ones contain."""


def set_h() -> Iterator[dict[str, Any]]:
    """Each discipline under few and many flows, with ECN if it has it, and at ten times the rate."""
    for kind, (plain, ecn, fast) in DISCIPLINES.items():
        for name, flows in FLOWS.items():
            yield base("H", f"{kind}_{name}", 10, 40, plain, flows)
        if ecn is not None or kind in ("sfb", "cake"):
            yield base("H", f"{kind}_ecn", 10, 40, ecn or plain, FLOWS["cubic4"]) | {"ecn": 1}
        yield base("H", f"{kind}_fast", 100, 20, fast, MIX)
    for name, (text, kind) in SHAPERS.items():
        yield base("H", name, 10, 40, text, FLOWS[kind]) | {"shaper": "none"}
    yield (
        base("H", "cake_ack_filter", 10, 40, SHAPERS["cake_besteffort"][0], FLOWS["cubic1"])
        | {"shaper": "none"}
        | SLOW_BACK
    )
    for name, (classes, groups) in TREES.items():
        yield tree(name, classes, groups)


def one(*controls: str) -> list[list[dict[str, Any]]]:
    """Two flows of one control in each class."""
    return [[bulk(control, 2)] for control in controls]


# Classes of HTB and DRR with their flows: at 10 Mbit/s all of HTB's classes may borrow up to their ceilings.
TREES: dict[str, tuple[dict[str, Any], list[list[dict[str, Any]]]]] = {
    "htb_shares": ({"kind": "htb", "classes": [{"rate": 7}, {"rate": 3}]}, one("cubic", "cubic")),
    "htb_ceil": ({"kind": "htb", "classes": [{"rate": 2, "ceil": 4}, {"rate": 2}]}, one("cubic", "cubic")),
    "htb_borrow": ({"kind": "htb", "classes": [{"rate": 6, "ceil": 6}, {"rate": 1}, {"rate": 1}]}, one(*["cubic"] * 3)),
    "htb_priority": ({"kind": "htb", "classes": [{"rate": 2}, {"rate": 2, "prio": 1}]}, one("cubic", "cubic")),
    "htb_quantum": ({"kind": "htb", "classes": [{"rate": 1}, {"rate": 1, "quantum": 3 * FRAME}]}, one("cubic", "cubic")),
    "htb_mix": ({"kind": "htb", "classes": [{"rate": 4}, {"rate": 4}]}, one("bbr", "cubic")),
    "drr_equal": ({"kind": "drr", "classes": [{}, {}]}, [[bulk("cubic", 1)], [bulk("cubic", 4)]]),
    "drr_unequal": ({"kind": "drr", "classes": [{}, {"quantum": 3 * FRAME}]}, one("cubic", "cubic")),
    "drr_reno": ({"kind": "drr", "classes": [{}, {"quantum": 2 * FRAME}, {}]}, one("reno", "cubic", "reno")),
    "drr_mix": ({"kind": "drr", "classes": [{}, {}]}, one("bbr", "cubic")),
}  # fmt: skip
CLASS_LIMIT = 40
"""Packets of a class."""


def tree(name: str, classes: dict[str, Any], groups: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """A scenario whose flows are in classes: `classes` says which there are, and `pre` has the commands that make them."""
    flows = [flow | {"class": number} for number, group in enumerate(groups, 1) for flow in group]
    kind = classes["kind"]
    htb = kind == "htb"
    commands = ["qdisc add dev t3 root handle 10: htb default 1"] if htb else []
    top = "10:99" if htb else "10:"
    buckets = f"burst {FRAME} cburst {FRAME}"
    if htb:
        commands.append(f"class add dev t3 parent 10: classid {top} htb rate 10mbit ceil 10mbit {buckets}")
    for number, one_class in enumerate(classes["classes"], 1):
        quantum = one_class.get("quantum", FRAME)
        words = f"{kind} quantum {quantum}"
        if htb:
            words += f" rate {one_class['rate']}mbit ceil {one_class.get('ceil', 10)}mbit {buckets}"
            words += f" prio {one_class.get('prio', 0)}"
        commands.append(f"class add dev t3 parent {top} classid 10:{number} {words}")
        commands.append(f"qdisc add dev t3 parent 10:{number} handle {number + 20}: pfifo limit {CLASS_LIMIT}")
    port = 5001  # the harness's flows have ports in their order
    for flow in flows:
        for _ in range(flow["n"]):
            match = f"u32 match ip dport {port} 0xffff flowid 10:{flow['class']}"
            commands.append(f"filter add dev t3 parent 10: protocol ip prio 1 {match}")
            port += 1
    commands.append("filter add dev t3 parent 10: protocol ip prio 9 u32 match u32 0 0 flowid 10:1")
    text = "; ".join(f"/usr/sbin/tc -n r0 {command}" for command in commands)
    scenario = base("H", name, 10, 40, kind, flows) | {"classes": classes, "pre": text}
    return scenario | ({"shaper": "none"} if htb else {})


# ------------------------------------------------------------------ I
CONTROLS = ["highspeed", "scalable", "hybla", "htcp", "westwood", "bic", "illinois", "veno", "yeah", "cdg", "nv", "lp"]
BDP = round(20e6 * 0.04 / 8 / FRAME)
"""Packets at 20 Mbit/s and 40 ms."""


def set_i() -> Iterator[dict[str, Any]]:
    """Each control alone, with random loss, and beside CUBIC in drop tail of one and four bandwidth-delay products."""
    for control in CONTROLS:

        def one(name: str, buffer: float, *others: str, control: str = control, **more: Any) -> dict[str, Any]:
            flows = [bulk(control), *(bulk(other) for other in others)]
            return base("I", f"{control}_{name}", 20, 40, f"pfifo limit {round(buffer * BDP)}", flows) | more

        yield one("alone", 1)
        yield one("lossy", 4, netem_fwd="loss 0.3%")
        for name, buffer in (("bdp", 1), ("deep", 4)):
            yield one(f"cubic_{name}", buffer, "cubic")


SETS = {"H": set_h, "I": set_i}


def main() -> None:
    """Prints the scenarios of the sets that are named, all repetitions."""
    every = [
        scenario | {"name": f"{scenario['name']}_r{seed}", "seed": seed}
        for name in sys.argv[1:] or SETS
        for seed in range(1, REPETITIONS[name] + 1)
        for scenario in SETS[name]()
    ]
    json.dump(every, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
