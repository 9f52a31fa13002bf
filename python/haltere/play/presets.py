"""Set-ups to begin with: each shows one thing, and says what to look at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: The round-trip time that is measured beside the flows.
PING = {"name": "ping", "kind": "ping", "pairs": [1], "interval": "100ms"}


@dataclass(frozen=True)
class Preset:
    """One or two set-ups, a title, and what to look at."""

    name: str
    title: str
    about: str
    setups: list[dict[str, Any]]
    #: The course of the rate in each set-up, if it has one: a name of :mod:`.courses`.
    course: str = ""


def experiment(queue: dict[str, Any], *flows: dict[str, Any], **bottleneck: Any) -> dict[str, Any]:
    """A dumbbell with one pair for each entry of flows, as the page edits it. `access_delay` of an entry is that of its pair."""
    delays = [flow.get("access_delay", "50us") for flow in flows]
    entries = [{key: value for key, value in flow.items() if key != "access_delay"} for flow in flows]
    dumbbell: dict[str, Any] = {
        "pairs": len(flows),
        "access": {"rate": "1Gbit", "delay": "50us"},
        "bottleneck": {"rate": "50Mbit", "delay": "10ms", **bottleneck, "queue": queue},
    }
    if len(set(delays)) > 1:
        dumbbell["access_delays"] = delays
    return {
        "title": "From the playground",
        "duration": "300s",
        "topology": {"dumbbell": dumbbell},
        "traffic": [dict(PING), *({"kind": "bulk", "pairs": [i + 1], **entry} for i, entry in enumerate(entries))],
        "measure": {"queues": "10ms", "flows": "100ms"},
    }


def _flow(congestion: str, count: int = 1, **more: Any) -> dict[str, Any]:
    return {"count": count, "congestion": congestion, **more}


def _tail(limit: str) -> dict[str, Any]:
    return {"kind": "drop_tail", "limit": limit}


PRESETS = (
    Preset(
        "first", "CUBIC and BBR in one queue", "A drop-tail queue of 400 packets. Change the discipline to CoDel during the run: "
        "the queue falls, and so does the ping.", [experiment(_tail("400p"), _flow("cubic", 2), _flow("bbr"))],
    ),
    Preset(
        "bufferbloat", "Bufferbloat", "A buffer that is far too large fills: the ping takes a third of a second. B has FQ-CoDel: the "
        "same throughput, a short queue.",
        [experiment(queue, _flow("cubic", 2), rate="20Mbit") for queue in (_tail("700p"), {"kind": "fq_codel"})],
    ),
    Preset(
        "sawtooth", "Reno's sawtooth", "One flow and a buffer of one bandwidth-delay product: the window halves at each loss, and the "
        "link stays busy. With a buffer of `0.2bdp` it does not.",
        [experiment(_tail("1bdp"), _flow("reno"), rate="20Mbit", delay="25ms")],
    ),
    Preset(
        "bbr-vs-cubic", "BBR against CUBIC", "In a shallow buffer (A) BBR takes more than its share, in a deep one (B) CUBIC does.",
        [experiment(_tail(limit), _flow("cubic"), _flow("bbr"), delay="20ms") for limit in ("0.5bdp", "8bdp")],
    ),
    Preset(
        "rtt-fairness", "Fairness between round-trip times", "Three Reno flows with round-trip times of 20, 60 and 140 ms: the "
        "shortest gets most. B has FQ-CoDel: the shares are closer.",
        [
            experiment(queue, _flow("reno", access_delay="50us"), _flow("reno", access_delay="10ms"), _flow("reno", access_delay="30ms"))
            for queue in (_tail("200p"), {"kind": "fq_codel"})
        ],
    ),
    Preset(
        "ecn-aqm", "ECN: marks instead of drops", "CoDel drops the packets of A and marks those of B, whose flows use ECN. Look at the "
        "drops, and at the congestion windows.",
        [experiment({"kind": "codel", **ecn}, _flow("cubic", 2, **ecn), rate="20Mbit") for ecn in ({}, {"ecn": True})],
    ),
    Preset(
        "dctcp", "Low delay with many marks", "DCTCP with marks at a threshold of 20 packets (A): a queue that hardly moves. CUBIC "
        "over the same queue (B): each mark costs 30 % of the window, and the queue swings.",
        [
            experiment({"kind": "threshold", "limit": "400p", "upper": "20p"}, _flow(control, 2, ecn=True), delay="2ms")
            for control in ("dctcp", "cubic")
        ],
    ),
    Preset(
        "l4s", "L4S beside classic traffic", "Prague and CUBIC. DualPI2 (A) has a queue for each and couples their marks: both get a "
        "share, and Prague waits a millisecond. PIE (B) marks so little that Prague takes nearly all.",
        [
            experiment(queue, _flow("prague"), _flow("cubic", ecn=True), rate="50Mbit", delay="10ms")
            for queue in ({"kind": "dualpi2"}, {"kind": "pie", "ecn": True})
        ],
    ),
    Preset(
        "asymmetric", "Uploads and downloads", "A flow in each direction over a slow line back: ACKs wait behind the data of the "
        "other direction. With FQ-CoDel (B) they do not.",
        [
            experiment(queue, _flow("cubic"), _flow("cubic", direction="backward"), rate="50Mbit", reverse={"rate": "5Mbit"})
            for queue in (_tail("300p"), {"kind": "fq_codel"})
        ],
    ),
    Preset(
        "cellular", "A rate that changes", "A cellular link: CUBIC fills the queue whenever the rate falls (A), Copa follows the rate "
        "with less delay (B). The grey area is the rate.",
        [experiment(_tail("200p"), _flow(control), rate="20Mbit", delay="20ms") for control in ("cubic", "copa")], "cellular",
    ),
    Preset(
        "many", "Sixty flows", "Their sawteeth add up to an almost straight line: a third of a bandwidth-delay product of buffer "
        "is enough.", [experiment(_tail("0.3bdp"), _flow("reno", 60), delay="20ms")],
    ),
)  # fmt: skip


def listed() -> list[dict[str, Any]]:
    """The presets as the page is given them."""
    return [asdict(preset) for preset in PRESETS]
