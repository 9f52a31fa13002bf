"""The part of the attack that reads captures: those of simulated flows, with changed packets, through every classifier and correlator."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hostile_experiments import EDGES, form, registries, resolved, schema
from trial import Score, part

Json = Any
#: A captured packet: its time in nanoseconds, its bytes that were kept, and its length on the line.
Packet = tuple[int, bytes, int]

#: Two connections with a bottleneck of their own, pages, calls and pings beside them.
RECORDED = {
    "duration": "2s",
    "topology": {"dumbbell": {"pairs": 2, "access": {"rate": "100Mbit", "delay": "1ms"}, "bottleneck": {"rate": "5Mbit", "delay": "5ms"}}},
    "traffic": [
        {"kind": "bulk", "congestion": ["cubic", "reno"], "jitter": "10ms"},
        {"kind": "web", "objects": 3, "sizes": "5kB", "think": "20ms"},
        {"kind": "voip"},
        {"kind": "ping", "interval": "50ms"},
    ],
    "measure": {"pcap": ["left>right", "right>left"], "snaplen": "96B"},
}  # fmt: skip
ENHANCED, TIMES = 6, [0, 1, 10**9, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**64 - 1]
BYTES = [0, 1, 4, 5, 6, 15, 17, 20, 40, 63, 64, 127, 128, 255]


@cache
def recorded() -> tuple[tuple[Packet, ...], ...]:
    """The packets of a simulated run, one capture a direction."""
    from haltere import _core

    files = _core.run(_core.Scenario.from_json(json.dumps(RECORDED)), 1).files()
    return tuple(tuple(blocks(files[name])) for name in sorted(files) if name.endswith("pcapng"))


def blocks(data: bytes) -> list[Packet]:
    """The packets of a pcapng file of the simulator, whose times are nanoseconds."""
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == ENHANCED:
            _, high, low, kept, size = struct.unpack_from("<5I", data, at + 8)
            found.append((high << 32 | low, data[at + 28 : at + 28 + kept], size))
        at += length
    return found


def pcap(packets: Sequence[Packet], draw: random.Random) -> bytes:
    """A pcap file, in either byte order and unit of time."""
    order, nano = draw.choice("<>"), draw.random() < 0.5
    out = [struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)]
    for at, kept, size in packets:
        seconds, rest = divmod(at, 10**9)
        head = (seconds & 0xFFFFFFFF, rest if nano else rest // 1000, len(kept), size & 0xFFFFFFFF)
        out.append(struct.pack(f"{order}4I", *head) + kept)
    return b"".join(out)


def pcapng(packets: Sequence[Packet], draw: random.Random) -> bytes:
    """A pcapng file, in either byte order, with interfaces of several units of time."""
    order, units = draw.choice("<>"), draw.choice([[9], [6, 9], [9, 0x80 | 30, 0, 18]])

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)

    out = [block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for unit in units:
        out.append(block(1, struct.pack(f"{order}HHIHHBxxxHH", 1, 0, draw.choice([0, 96, 262_144]), 9, 1, unit, 0, 0)))
    for at, kept, size in packets:
        unit = draw.randrange(len(units)) if draw.random() < 0.02 else 0
        head = (unit, at >> 32 & 0xFFFFFFFF, at & 0xFFFFFFFF, len(kept), size & 0xFFFFFFFF)
        out.append(block(ENHANCED, struct.pack(f"{order}5I", *head) + kept))
    return b"".join(out)


def changed(packets: Sequence[Packet], draw: random.Random) -> tuple[str, list[Packet]]:
    """A part of a capture, some of whose packets are changed in their headers, times and lengths, doubled or exchanged."""
    first = draw.randrange(len(packets) // 2)
    out = list(packets[first : first + draw.choice([1, 5, 100, 1000, len(packets)])])
    changes = draw.choices(
        ["header", "flow", "time", "length", "cut", "double", "swap", "nothing"], k=draw.choice([1, 2, 4])
    )
    for what in changes:
        for i in [draw.randrange(len(out)) for _ in range(draw.choice([1, 3, 1 + len(out) // 3]))]:
            at, kept, size = out[i]
            header = bytearray(kept)
            match what:
                case "header" if len(header) > 14:
                    header[draw.randrange(12, min(len(header), 74))] = draw.choice(BYTES)
                case "flow" if (
                    len(header) > 60
                ):  # Addresses, ports, sequence numbers, flags and options as in another packet.
                    other, start = draw.choice(packets)[1], draw.randrange(26, 60)
                    header[start : start + 8] = other[start : start + 8]
                case "time":
                    at = draw.choice([at + draw.randrange(-(10**9), 10**9), draw.choice(TIMES)]) % 2**64
                case "length":
                    size = draw.choice([0, 1, 14, 60, len(kept), 65_535, 2**31, 2**32 - 1])
                case "cut":
                    del header[draw.randrange(len(header) + 1) :]
                case "double":
                    out.insert(i, out[i])
                case "swap":
                    j = draw.randrange(len(out))
                    out[i], out[j] = out[j], out[i]
                    at, kept, size = out[i]
                    header = bytearray(kept)
            out[i] = (at, bytes(header), size)
    return ", ".join(changes), out


def mechanism(union: str, name: str, draw: random.Random) -> Json:
    """A mechanism with its defaults, or with one parameter at an edge."""
    tables = resolved(schema()["$defs"][union])["anyOf"][-1]["oneOf"]
    properties = next(
        one["properties"] for one in map(resolved, tables) if resolved(one)["properties"]["kind"]["const"] == name
    )
    table = {"kind": name}
    keys = [
        key for key, one in properties.items() if key != "kind" and not isinstance(one.get("default", {}), dict | list)
    ]
    if keys and draw.random() < 0.5:
        key = draw.choice(keys)
        table[key] = draw.choice(EDGES[form(properties[key]["default"])])
    return table


@part("captures of simulated flows with changed packets, through every classifier and correlator", share=3, seeds=3)
def captures(score: Score, draw: random.Random, folder: Path) -> None:
    """pcap and pcapng, with the options that the commands have."""
    from haltere import _core
    from haltere.errors import InputError

    names = {kind: registries()[kind] for kind in ("classifiers", "correlators")}
    score.needed.update(f"{kind} {name}" for kind, all_of in names.items() for name in all_of)
    write: list[Callable[[Sequence[Packet], random.Random], bytes]] = [pcap, pcapng]
    paths = [str(folder / "there"), str(folder / "back")]
    for i in score.tries(2000, least=2):
        what = []
        for path, packets in zip(paths, recorded(), strict=True):
            # Each name is reached by the captures as they are.
            said, records = changed(packets, draw) if i > 1 else ("as it is", list(packets))
            Path(path).write_bytes(draw.choice(write)(records, draw))
            what.append(said)
        if i % 2:
            asked: Json = {
                "methods": [mechanism("CorrelatorParams", name, draw) for name in names["correlators"]],
                "least": 3,
            }
            if i > 1:
                edges = {"every": draw.choice(EDGES["duration"]), "flows": draw.choice([2, 8, 64, 65]), "least": draw.choice([3, 200, 2**64 - 1]),
                         "source": draw.choice(["auto", "round_trip", "one_way"])}  # fmt: skip
                asked |= {key: edges[key] for key in draw.sample(sorted(edges), draw.randrange(3))}
            else:
                asked["methods"] = [{"kind": name} for name in names["correlators"]]
            score.trying(f"correlate {i}: {what}, {json.dumps(asked)}")
            with score.one(f"correlate {i}: {what}, {json.dumps(asked)}", InputError):
                report = json.loads(_core.capture_correlate([paths], json.dumps(asked)))
                score.reached["correlated"] += 1
                score.reached.update(
                    {f"correlators {asked['methods'][pair['method']]['kind']}" for pair in report["pairs"]}
                )
        else:
            asked = {
                "classifiers": [mechanism("ClassifierParams", name, draw) for name in names["classifiers"]],
                "draws": draw.choice([1, 3]),
            }
            if i > 1:
                edges = {
                    "short": draw.choice(EDGES["bytes"]),
                    "draws": draw.choice([0, 1, 10, 1001]),
                    "seed": draw.choice([0, 2**64 - 1]),
                }
                asked |= {key: edges[key] for key in draw.sample(sorted(edges), draw.randrange(3))}
            else:
                asked["classifiers"] = [{"kind": name} for name in names["classifiers"]]
            score.trying(f"classify {i}: {what[0]}, {json.dumps(asked)}")
            with score.one(f"classify {i}: {what[0]}, {json.dumps(asked)}", InputError):
                report = json.loads(_core.capture_classify(paths[0], json.dumps(asked)))
                score.reached["classified"] += 1
                if sum(report["packets_of"]):
                    score.reached.update({f"classifiers {one['classifier']['kind']}" for one in report["scores"]})
