"""Scenarios of the QUIC interop runner: ``simple-p2p --delay=15ms --bandwidth=10Mbps --queue=25``.

The server is ``c1`` and the client ``s1``. A corrupted packet fails its checksum, so it counts as lost. ``--delay`` is one way.

Source: the network simulator of quic-interop, whose scenarios are ns-3 programs with these options.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .found import Found

_LINK = {"delay", "bandwidth", "queue"}
#: Each scenario and what it takes beside the link's options.
_SCENARIOS = {
    "simple-p2p": set(),
    "drop-rate": {"rate_to_server", "rate_to_client", "burst_to_server", "burst_to_client"},
    "corrupt-rate": {"rate_to_server", "rate_to_client", "burst_to_server", "burst_to_client"},
    "blackhole": {"on", "off", "repeat"},
    "rebind": {"first-rebind", "rebind-freq", "rebind-addr"},
    "droplist": {"drops_to_server", "drops_to_client"},
    "tcp-cross-traffic": {"crossdatarate"},
}


def read(words: Sequence[str]) -> Found:
    """The experiment of a scenario.

    >>> found = read(["drop-rate --delay=15ms --bandwidth=10Mbps --queue=25 --rate_to_client=2"])
    >>> found.values["topology"]["dumbbell"]["bottleneck"]
    {'rate': '10Mbit', 'delay': '15ms', 'queue': {'kind': 'drop_tail', 'limit': '25p'}, 'loss': '2%', 'reverse': {}}
    """
    line = list(words) if len(words) > 1 else shlex.split(words[0])
    name, given, left_out = line[0] if line else "", _options(line[1:]), []
    if name not in _SCENARIOS:
        raise InputError(f"interop: scenario must be one of {', '.join(_SCENARIOS)}, got `{name}`")
    for key in given.keys() - _LINK - _SCENARIOS[name]:
        raise InputError(f"{name}: option must be one of {', '.join(sorted(_LINK | _SCENARIOS[name]))}, got `--{key}`")
    for key in sorted(_LINK - given.keys()):
        raise InputError(f"{name}: --{key} must be given")
    back: dict[str, Any] = {}
    link: dict[str, Any] = {
        "rate": given["bandwidth"].replace("bps", "bit"),
        "delay": given["delay"],
        "queue": {"kind": "drop_tail", "limit": f"{given['queue']}p"},
    }
    traffic: list[dict[str, Any]] = [{"kind": "bulk", "pairs": [1], "bytes": "10MB"}]
    if name in ("drop-rate", "corrupt-rate"):
        for key, one in (("rate_to_client", link), ("rate_to_server", back)):
            if given.get(key, "0") != "0":
                one["loss"] = f"{given[key]}%"
        left_out += [f"`--{key}`: losses are independent here" for key in given if key.startswith("burst")]
    if name == "blackhole":
        # The link works for `on`, then loses everything for `off`, again and again.
        on, off = given.get("on", "5s"), given.get("off", "2s")
        link["schedule"] = back["schedule"] = [{"at": "0s", "loss": 0.0}, {"at": on, "loss": 1.0}]
        link["schedule_repeat"] = back["schedule_repeat"] = f"{_seconds(on) + _seconds(off):g}s"
        if "repeat" in given:
            left_out.append("`--repeat`: this file's outages go on to the end")
    if name == "droplist":
        for key, one in (("drops_to_client", link), ("drops_to_server", back)):
            if given.get(key):
                # The runner counts from 0.
                one["lose"] = [int(number) + 1 for number in given[key].split(",")]
    if name == "rebind":
        left_out.append("rebinding of the client's address: TCP has no migration")
    if name == "tcp-cross-traffic":
        traffic.append({"kind": "bulk", "pairs": [2], "name": "cross", "congestion": "cubic"})
        if "crossdatarate" in given:
            left_out.append("`--crossdatarate`: the cross traffic's access link has the rate of the other one")
    left_out.append("the QUIC stacks: the download is TCP's")
    pairs = 2 if name == "tcp-cross-traffic" else 1
    bottleneck = {**link, "reverse": back}
    return Found(
        {
            "title": f"{name} of the QUIC interop runner",
            "duration": "60s",
            "topology": {"dumbbell": {"pairs": pairs, "access": {"rate": "1Gbit"}, "bottleneck": bottleneck}},
            "traffic": traffic,
        },
        left_out,
    )


def _options(words: Sequence[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    line = list(words)
    while line:
        name, equals, value = line.pop(0).partition("=")
        if not name.startswith("--"):
            raise InputError(f"interop: option must begin with `--`, got `{name}`")
        given[name[2:]] = value if equals else line.pop(0) if line else ""
    return given


def _seconds(text: str) -> float:
    from .. import _core

    return float(_core.parse_quantity("duration", text))
