"""Specifications of picoquic's simulator, as draft-huitema-ccwg-c4-test has them.

``latency`` is one way, in microseconds; ``queue_delay_max`` limits the queue to what the link carries in that time. The server is
``c1``. The link scenarios are those of the simulator (picoquictest/picoquic_ns.c), whose figures the draft has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..errors import InputError
from .found import Found, text_of

_CONTROLS = {"newreno": "reno", "cubic": "cubic", "bbr": "bbr3", "bbr1": "bbr", "prague": "prague", "dcubic": "cubic"}
_FADED, _STILL = ({"kind": "wifi", "mean": mean} for mean in ("12ms", "999us"))
#: Steps of the link that a scenario names. A rate is a part of that of the specification; with 0 packets wait.
_STEPS: dict[str, list[dict[str, Any]]] = {
    "low_and_up": [{"at": "0s", "rate": 0.5}, {"at": "2500ms", "rate": 1}],
    "drop_and_back": [{"at": "0s", "rate": 1}, {"at": "1500ms", "rate": 0.5}, {"at": "3500ms", "rate": 1}],
    "black_hole": [{"at": "2s", "rate": 0}, {"at": "4s", "rate": 1}],
    "short_to_long": [{"at": "1s", "delay": "50ms"}],
    "wifi_fade": [
        {"at": "0s", "jitter": _STILL},
        {"at": "1s", "rate": 0.9, "jitter": _FADED},
        {"at": "3s", "rate": 1, "jitter": _STILL},
    ],
    "wifi_suspension": [{"at": "0s", "rate": 1}, {"at": "1800ms", "rate": 0}],
}
_READ = {
    "main_cc_algo", "main_start_time", "main_scenario_text", "nb_connections", "background_cc_algo", "background_start_time",
    "background_scenario_text", "data_rate_in_gbps", "latency", "jitter", "wifi_jitter", "queue_delay_max", "link_scenario",
}  # fmt: skip
#: What a run of Haltere does not need: names, seeds and times that are judged afterwards.
_UNUSED = {"icid", "qlog_dir", "main_target_time"}
_FETCH = re.compile(r"^[=^]?[a-z0-9]*:(?:\*(\d+):)?(\d+):(\d+)$")


def read(words: Sequence[str]) -> Found:
    """The experiment of a specification."""
    [path] = words
    given = dict(_pairs(text_of(path), path))
    left_out = [f"`{key}: {given[key]}`" for key in given if key not in _READ | _UNUSED and given[key]]
    for key in ("data_rate_in_gbps", "latency"):
        if key not in given:
            raise InputError(f"{path}: `{key}` must be given")
    rate = float(given["data_rate_in_gbps"]) * 1e9
    link: dict[str, Any] = {"rate": f"{rate:.0f}bit", "delay": f"{given['latency']}us"}
    if "queue_delay_max" in given:
        link["queue"] = {"kind": "drop_tail", "limit": f"{rate / 8 * float(given['queue_delay_max']) / 1e6:.0f}B"}
    if float(given.get("jitter", 0)):
        jitter = f"{given['jitter']}us"
        link["jitter"] = {"kind": "wifi", "mean": jitter} if given.get("wifi_jitter") == "1" else jitter
    if scenario := given.get("link_scenario"):
        if scenario in _STEPS:
            link["schedule"] = [_step(step, rate) for step in _STEPS[scenario]]
            if scenario == "wifi_suspension":
                link["schedule_repeat"] = "2s"
        else:
            left_out.append(f"`link_scenario: {scenario}`")
    flows = ["main", "background"][: int(given.get("nb_connections", "1"))]
    traffic = [entry for who in flows if (entry := _flow(who, flows.index(who) + 1, given, left_out))]
    return Found(
        {
            "title": f"From picoquic's {path}",
            "duration": "60s",
            "topology": {"dumbbell": {"pairs": len(flows), "access": {"rate": "10Gbit"}, "bottleneck": link}},
            "traffic": traffic,
        },
        left_out,
    )


def _step(step: dict[str, Any], rate: float) -> dict[str, Any]:
    """A step of a scenario on a link of that rate."""
    return step | ({"rate": f"{rate * step['rate']:.0f}bit"} if "rate" in step else {})


def _pairs(text: str, path: str) -> list[tuple[str, str]]:
    rows = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    for number, line in rows:
        if line and not line.startswith("#") and ":" not in line:
            raise InputError(f"{path}: line {number}: must be `key: value`, got `{line}`")
    parts = [line.partition(":") for _, line in rows if line and not line.startswith("#")]
    return [(key.strip(), value.strip()) for key, _, value in parts]


def _flow(who: str, pair: int, given: dict[str, str], left_out: list[str]) -> dict[str, Any] | None:
    """The downloads of a connection, as one flow."""
    named = given.get(f"{who}_cc_algo", "cubic")
    if named not in _CONTROLS:
        left_out.append(f"the control `{named}` of the {who} connection: `cubic` is in its place")
    size = 0
    for part in filter(None, given.get(f"{who}_scenario_text", "").split(";")):
        if fetch := _FETCH.match(part):
            size += int(fetch[1] or 1) * int(fetch[3])
        else:
            left_out.append(f"`{part}` of the {who} connection: media are not read")
    if not size:
        return None
    start = f"{given.get(f'{who}_start_time', '0')}us"
    control = _CONTROLS.get(named, "cubic")
    return {
        "kind": "bulk",
        "name": who,
        "pairs": [pair],
        "bytes": f"{size}B",
        "start": start,
        "jitter": "0s",
        "congestion": control,
    }
