"""Command lines of Mahimahi's shells: ``mm-delay 20 mm-link up.trace down.trace --uplink-queue=droptail --uplink-queue-args=packets=100``.

The user is ``s1`` and the server ``c1``, so the downlink is the direction in which data goes by default. Nested shells add up:
delays are added, losses are combined.

Source: Netravali and others, "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015, and the shells' manual pages.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .found import Found

_QUEUES = {"droptail", "drophead", "infinite", "codel", "pie"}
#: Options of mm-link that only draw or log.
_SHOWN = {"log", "meter"}


def read(words: Sequence[str]) -> Found:
    """The experiment of a command line, given as one text or as words.

    >>> found = read(["mm-delay 20 mm-loss uplink 0.01 mm-link 12mbps.up 12mbps.down --downlink-queue=codel --downlink-queue-args=packets=100,target=5,interval=100"])
    >>> found.values["topology"]["dumbbell"]["bottleneck"]["queue"]
    {'kind': 'codel', 'limit': '100p', 'target': '5ms', 'interval': '100ms'}
    """
    line = list(words) if len(words) > 1 else shlex.split(words[0])
    given = " ".join(line)
    delay_ms, through = 0.0, {"uplink": 1.0, "downlink": 1.0}
    ways: dict[str, dict[str, Any]] = {"uplink": {}, "downlink": {}}
    left_out: list[str] = []
    program: list[str] = []
    links = 0
    while line:
        word = line.pop(0)
        if word == "mm-delay":
            delay_ms += _number(_next(line, word), word)
        elif word == "mm-loss":
            way = _next(line, word)
            if way not in through:
                raise InputError(f"mm-loss: direction must be `uplink` or `downlink`, got `{way}`")
            through[way] *= 1 - _number(_next(line, word), word)
        elif word == "mm-link":
            links += 1
            line = _link(line, ways, left_out)
        elif word in ("mm-onoff", "mm-webreplay", "mm-webrecord", "mm-meter"):
            left_out.append(f"`{word}` is not read")
        elif word == "--":
            program, line = line, []
        else:
            program, line = [word, *line], []
    if links != 1:
        raise InputError(f"mahimahi: the command line must have one `mm-link`, got {links} in `{given}`")
    if program:
        left_out.append(f"the program `{shlex.join(program)}`: this file has one download, change `[[traffic]]`")
    for way, passed in through.items():
        if passed < 1:
            ways[way]["loss"] = round(1 - passed, 12)
        ways[way].setdefault("queue", _queue("infinite", {}, way, left_out))
    bottleneck = {**ways["downlink"], "delay": f"{delay_ms:g}ms", "reverse": ways["uplink"]}
    return Found(
        {
            "title": "From a Mahimahi command line",
            "duration": "60s",
            "topology": {"dumbbell": {"pairs": 1, "access": {"rate": "1Gbit"}, "bottleneck": bottleneck}},
            "traffic": [{"kind": "bulk"}],
        },
        left_out,
    )


def _link(line: list[str], ways: dict[str, dict[str, Any]], left_out: list[str]) -> list[str]:
    """Takes mm-link's traces and its options, which may be on both sides of them, off the line; gives what is left of it."""
    kinds: dict[str, str] = {}
    arguments: dict[str, dict[str, float]] = {}
    traces = list(ways)
    while line and line[0] != "--" and (traces or line[0].startswith("--")):
        if not line[0].startswith("--"):
            ways[traces.pop(0)]["trace"] = line.pop(0)
            continue
        name, equals, value = line.pop(0)[2:].partition("=")
        way, _, what = name.partition("-")
        if way in ways and what == "queue":
            kinds[way] = value if equals else _next(line, name)
        elif way in ways and what == "queue-args":
            text = value if equals else _next(line, name)
            arguments[way] = {
                key: _number(one, name) for key, _, one in (part.partition("=") for part in text.split(","))
            }
        elif way in ways and what == "log":
            if not equals:
                _next(line, name)
        elif name in ("once",):
            left_out.append("`--once`: a trace begins again at its end")
        elif not any(one in name for one in _SHOWN):
            left_out.append(f"the option `--{name}` is not read")
    if traces:
        raise InputError(f"mm-link: two traces must follow, got {2 - len(traces)}")
    for way, kind in kinds.items():
        ways[way]["queue"] = _queue(kind, arguments.get(way, {}), way, left_out)
    return line


def _queue(kind: str, given: dict[str, float], way: str, left_out: list[str]) -> dict[str, Any]:
    """A queue of mm-link as one of Haltere's."""
    if kind not in _QUEUES:
        raise InputError(f"mm-link: --{way}-queue must be one of {', '.join(sorted(_QUEUES))}, got `{kind}`")
    limit = f"{given['packets']:g}p" if "packets" in given else f"{given['bytes']:g}B" if "bytes" in given else None
    if kind == "drophead":
        left_out.append(f"{way}: `drophead` drops the oldest packet; this file's queue drops the newest")
    size: dict[str, Any] = {"limit": limit} if limit else {}
    if kind == "codel":
        times: dict[str, Any] = {key: f"{given[key]:g}ms" for key in ("target", "interval") if key in given}
        return {"kind": "codel", **size, **times}
    if kind == "pie":
        if "max_burst" in given:
            left_out.append(f"{way}: `max_burst` of PIE")
        delay: dict[str, Any] = {"target": f"{given['qdelay_ref']:g}ms"} if "qdelay_ref" in given else {}
        return {"kind": "pie", **size, **delay}
    # An infinite queue is one that no run fills.
    return {"kind": "drop_tail", "limit": limit or "1GB"}


def _next(line: list[str], of: str) -> str:
    if not line:
        raise InputError(f"{of}: a value must follow, got the end of the command line")
    return line.pop(0)


def _number(text: str, of: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{of}: value must be a number, got `{text}`") from None
