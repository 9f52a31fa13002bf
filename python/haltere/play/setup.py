"""One set-up that runs: its experiment, what changed when, and the messages to the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..errors import InputError
from ..limits import PLAYGROUND as MOST
from . import export
from .protocol import Refused, refused

#: The bottleneck's directions: the page shows both queues.
DIRECTIONS = ("left>right", "right>left")


class Setup:
    """One set-up that runs: the experiment as it is written now, the run, and what was changed when."""

    def __init__(self, experiment: dict[str, Any], scenario: _core.Scenario, seed: int) -> None:
        try:
            self.live = _core.Live(scenario, seed)
        except InputError as error:
            raise refused(error) from None
        self.experiment, self.end = experiment, scenario.duration_s
        self.changes: list[tuple[float, str]] = []
        links = self.live.links
        self.links = [links.index(name) for name in DIRECTIONS]
        self._shown = self._first_flows()

    @property
    def done(self) -> bool:
        """True at the end of the run; seconds are rounded, so to a nanosecond."""
        return self.live.now_s >= self.end - 1e-9

    def change(self, experiment: dict[str, Any], scenario: _core.Scenario) -> list[str]:
        """From now on the experiment is that. Says what changed."""
        try:
            self.live.change(scenario)
        except InputError as error:
            raise refused(error) from None
        what = export.changed_keys(self.experiment, experiment)
        self.experiment, self.end = experiment, scenario.duration_s
        self.changes += [(self.live.now_s, one) for one in what]
        self._shown = self._first_flows()
        return what

    def _now(self) -> float:
        """The time reached in whole milliseconds, rounded up: not past, and the file says exactly when."""
        return math.ceil(self.live.now_s * 1000) / 1000

    def with_flows(self, entry: Any, delay: Any) -> dict[str, Any]:
        """The experiment with another traffic entry, which starts now between a pair of its own. `delay` is that of the pair's
        access links; `None`: as the others'."""
        if not isinstance(entry, dict):
            raise Refused("traffic must be an object, got something else", "traffic")
        dumbbell = self.experiment["topology"]["dumbbell"]
        pairs = dumbbell["pairs"] + 1
        more = {**entry, "pairs": [pairs], "start": f"{self._now():.3f}s", "jitter": "0s"}
        delays = dumbbell.get("access_delays") or []
        if delays or delay is not None:
            usual = dumbbell["access"].get("delay", "0s")
            delays = [*(delays or [usual] * (pairs - 1)), usual if delay is None else delay]
        changed = {**dumbbell, "pairs": pairs, **({"access_delays": delays} if delays else {})}
        return {
            **self.experiment,
            "topology": {"dumbbell": changed},
            "traffic": [*self.experiment["traffic"], more],
        }

    def without_flows(self, entry: int) -> dict[str, Any]:
        """The experiment in which the flows of that traffic entry stop now."""
        traffic = list(self.experiment["traffic"])
        if "stop" in traffic[entry]:
            raise Refused(
                f"traffic[{entry}]: stop must be left out, got `{traffic[entry]['stop']}`", f"traffic[{entry}]"
            )
        traffic[entry] = {**traffic[entry], "stop": f"{self._now():.3f}s"}
        return {**self.experiment, "traffic": traffic}

    def with_outage(self, seconds: float) -> dict[str, Any]:
        """The experiment in which nothing passes the bottleneck from now on for so long, in both directions."""
        dumbbell = self.experiment["topology"]["dumbbell"]
        bottleneck = dumbbell["bottleneck"]
        at = "topology.dumbbell.bottleneck.schedule"
        if "rate" not in bottleneck:
            raise Refused(
                "outage: rate of the bottleneck must be given, got nothing", "topology.dumbbell.bottleneck.rate"
            )
        if "schedule_repeat" in bottleneck:
            raise Refused("outage: the rate must be constant, got one that changes; choose a constant rate first", at)
        start = self._now()
        out: dict[str, Any] = {**bottleneck, "schedule": _interrupted(bottleneck, start, seconds, at)}
        reverse = bottleneck.get("reverse")
        if isinstance(reverse, dict) and "rate" in reverse:
            out["reverse"] = {**reverse, "schedule": _interrupted(reverse, start, seconds, at)}
        return {**self.experiment, "topology": {"dumbbell": {**dumbbell, "bottleneck": out}}}

    def flows(self) -> list[dict[str, Any]]:
        """Every flow: its name, the index of its traffic entry, and whether its data goes from right to left."""
        traffic = self.experiment["traffic"]
        labels = [entry.get("name") or f"{entry['kind']}{i + 1}" for i, entry in enumerate(traffic)]
        out = []
        for name in self.live.flows:
            label, _, ends = name.partition(":")
            entry = labels.index(label)
            backward = ends.startswith("s") if ends else traffic[entry].get("direction") == "backward"
            out.append({"name": name, "entry": entry, "backward": backward})
        return out

    def samples(self) -> dict[str, Any]:
        """What was sampled since the last call, of the bottleneck's queues, the flows and the pings, and the inner state now."""
        shown = self._shown
        fresh = self.live.samples(shown)
        queues, flows = fresh["queues"], fresh["flows"]
        names = ("t", "packets", "bytes", "dropped", "marked", "sent_bytes", "capacity")
        both = []
        for link in self.links:
            mine = [i for i, other in enumerate(queues["link"]) if other == link]
            inner = _columns([queues["vars"][i] for i in mine])
            both.append({**{name: [queues[name][i] for i in mine] for name in names}, "vars": inner})
        inner = _columns([row or {} for row in flows["vars"]])
        state = {flow: _finite(self.live.flow_state(flow)) for flow in shown}
        return {
            "now": self.live.now_s,
            "queues": both,
            "flows": {
                **{name: flows[name] for name in ("t", "flow", "received", "delivered", "cwnd", "srtt_s")},
                "vars": inner,
            },
            "pings": fresh["pings"],
            "state": {"queues": [_finite(self.live.queue_state(link)) for link in self.links], "flows": state},
        }

    def _first_flows(self) -> list[int]:
        """The flows whose inner state is sent: the first that are TCP."""
        traffic = self.experiment["traffic"]
        tcp = [index for index, flow in enumerate(self.flows()) if traffic[flow["entry"]]["kind"] == "bulk"]
        return tcp[: MOST["state"]]


def _interrupted(link: Mapping[str, Any], start: float, seconds: float, at: str) -> list[dict[str, Any]]:
    """The schedule of a link of constant rate with one more outage."""
    steps = list(link.get("schedule", ()))
    if steps and _core.parse_quantity("duration", steps[-1]["at"]) >= start:
        raise Refused(f"outage: the last one must be over, got one until {steps[-1]['at']}", at)
    return [*steps, {"at": f"{start:.3f}s", "rate": "0bit"}, {"at": f"{start + seconds:.3f}s", "rate": link["rate"]}]


def _columns(rows: list[dict[str, float]]) -> dict[str, list[float | None]]:
    """Rows of named values as columns; `None` where a row lacks a name, or its value is no number."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [value if _is_finite(value := row.get(name)) else None for row in rows] for name in names}


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _finite(values: list[tuple[str, str, float]]) -> list[tuple[str, str, float | None]]:
    return [(name, unit, value if math.isfinite(value) else None) for name, unit, value in values]
