"""Connection matrices of htsim (``Nodes 16``, ``Connections 8``, ``0->1 start 0 size 2000000``), with an optional topology file.

``start`` is in picoseconds and ``size`` in bytes, as in htsim of the Ultra Ethernet Consortium. Hosts are ``h1`` on. Without a
topology file the network is the smallest fat tree that has the nodes, of 100 Gbit/s and 1 us a link, htsim's usual values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .found import Found, text_of

_FLOW = re.compile(r"^(\d+)->(\d+)\b(.*)$")


def read(words: Sequence[str]) -> Found:
    """The experiment of a matrix and, if a second file is given, its topology."""
    matrix, *more = words
    nodes, flows, left_out = _matrix(text_of(matrix), matrix)
    topology = (
        _topology(text_of(more[0]), more[0], nodes, left_out) if more else _fat_tree(nodes, _link(100, 1000, None))
    )
    left_out.append("htsim's transports: the flows are DCTCP's")
    return Found(
        {
            "title": f"From htsim's {matrix}",
            "duration": "1s",
            "tcp": {"ecn": True},
            "topology": topology,
            "traffic": [{"kind": "replay", "congestion": "dctcp", "flows": flows}],
        },
        left_out,
    )


def _matrix(text: str, path: str) -> tuple[int, list[dict[str, str]], list[str]]:
    nodes, flows, ignored = 0, [], set()
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        words = line.split()
        if not words or words[0] in ("Connections", "Triggers") or line.startswith("#"):
            continue
        if words[0] == "Nodes":
            nodes = int(words[1])
        elif words[0] == "trigger":
            ignored.add("trigger")
        elif flow := _FLOW.match(line):
            rest = flow[3].split()
            keys = dict(zip(rest[::2], rest[1::2], strict=False))
            ignored |= keys.keys() - {"start", "size", "id"}
            if "size" not in keys:
                raise InputError(f"{path}: line {number}: size must be given; endless flows are not read")
            start = int(keys.get("start", 0))
            flows.append(
                {
                    "start": f"{start / 1000:.0f}ns",
                    "from": f"h{int(flow[1]) + 1}",
                    "to": f"h{int(flow[2]) + 1}",
                    "size": f"{keys['size']}B",
                }
            )
        else:
            raise InputError(f"{path}: line {number}: must be `FROM->TO start PS size BYTES`, got `{line}`")
    if not nodes:
        raise InputError(f"{path}: `Nodes` must be given")
    return nodes, flows, [f"`{key}` of connections" for key in sorted(ignored)]


def _topology(text: str, path: str, nodes: int, left_out: list[str]) -> dict[str, Any]:
    """A fat tree or, of two tiers, leaves and spines, by the links of the lowest tier."""
    top: dict[str, str] = {}
    tiers: list[dict[str, str]] = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or words[0].startswith("#"):
            continue
        if words[0] == "Tier":
            tiers.append({})
        else:
            (tiers[-1] if tiers else top)[words[0].lower()] = words[1]
    if not tiers:
        raise InputError(f"{path}: must have tiers (`Tier 0` and on)")
    links = [
        _link(
            float(one.get("downlink_speed_gbps", 100)),
            float(one.get("downlink_latency_ns", 1000)),
            one.get("queue_down") or one.get("queue_up"),
        )
        for one in tiers
    ]
    left_out += [
        f"`{key}` of a tier"
        for key in sorted({key for one in tiers for key in one if "bundle" in key or "oversub" in key})
    ]
    if len(tiers) == 2:
        leaf = int(tiers[0].get("radix_down", 1))
        spines = int(tiers[0].get("radix_up", 1))
        hosts = int(top.get("nodes", nodes))
        return {
            "leaf_spine": {
                "leaves": -(-hosts // leaf),
                "spines": spines,
                "hosts": leaf,
                "access": links[0],
                "fabric": links[1],
            }
        }
    return _fat_tree(int(top.get("nodes", nodes)), links[0], links[1])


def _fat_tree(nodes: int, access: dict[str, Any], fabric: dict[str, Any] | None = None) -> dict[str, Any]:
    k = next(k for k in range(2, 66, 2) if k**3 // 4 >= nodes or k == 64)
    return {"fat_tree": {"k": k, "access": access, "fabric": fabric or access}}


def _link(gbps: float, ns: float, queue: str | None) -> dict[str, Any]:
    link: dict[str, Any] = {"rate": f"{gbps:g}Gbit", "delay": f"{ns:g}ns"}
    return {**link, "queue": {"kind": "drop_tail", "limit": f"{queue}B"}} if queue else link
