"""The criteria of RFC 9743 (BCP 133), each with its section, what it asks in our words, and where the figures come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .cases import AQMS, BESIDE, BUFFERS, COUNTS, LOSSES, RATES_MBIT, RTTS_MS, number


@dataclass(frozen=True)
class Criterion:
    """One criterion."""

    section: str
    title: str
    asks: str
    rows: Sequence[tuple[str, Sequence[str]]]
    """Scenarios, and the measures read off each."""
    headline: tuple[str, str]
    """The scenario and the measure of the statement."""


def _buffers(measures: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    return [(f"buffer-{number(buffer)}", measures) for buffer in BUFFERS]


_BESIDE_KEYS = [f"beside-{control}-{number(buffer)}" for control in ("cubic", "reno") for buffer in BESIDE]

CRITERIA = (
    Criterion(
        "5.1.1", "Protection against congestion collapse",
        "Does the control stop under persistent congestion, or back off to less than a packet each round trip?",
        [("overload", ("lost", "again", "goodput", "least")), ("silence", ("sent",))], ("silence", "sent"),
    ),
    Criterion(
        "5.1.2", "Protection against bufferbloat", "Does the control keep long queues in large buffers?",
        _buffers(("delay", "delay_p95")), ("buffer-8", "delay"),
    ),
    Criterion(
        "5.1.3", "Protection against high packet loss",
        "Does the control cause much loss, in small buffers too? Does it send less if much is lost?",
        [*_buffers(("lost",)), ("loss-20", ("rate",))], ("buffer-0_25", "lost"),
    ),
    Criterion(
        "5.1.4", "Fairness within the control", "How do flows of the same control share a link?",
        [*((f"flows-{count}", ("jain", "least")) for count in COUNTS), ("late", ("late", "jain")), ("rtts", ("long", "jain"))], ("flows-8", "jain"),
    ),
    Criterion(
        "5.1.5", "Short flows", "How do new and short flows do beside long flows of the same control?",
        [("start", ("took", "lost")), ("start-long", ("took", "lost")), ("short-among", ("short", "short_p95", "goodput", "lost"))], ("short-among", "short"),
    ),
    Criterion(
        "5.2.1", "Existing general-purpose congestion control",
        "Does the control do more harm to flows of the standards than these do to each other? Does it starve any?",
        [*((key, ("others", "others_least", "lost", "delay")) for key in [*_BESIDE_KEYS, "beside-bbr3"]), ("one-beside-8", ("others", "goodput")), ("8-beside-one", ("others",))],
        ("beside-cubic-1", "others"),
    ),
    Criterion(
        "5.2.2", "Real-time congestion control", "Can flows that need little rate and little delay live beside the control?",
        [("voice", ("mos", "voice_lost", "ping"))], ("voice", "mos"),
    ),
    Criterion(
        "5.2.3", "Short and long flows", "How do short and long flows of other controls do beside this one?",
        [("short-beside", ("short", "short_p95", "goodput")), ("own-short-beside", ("short", "short_p95", "lost"))], ("short-beside", "short"),
    ),
    Criterion(
        "6.1", "Paths with tail-drop queues", "How does the control do over a representative range of rates and delays (section 6), with a first-in first-out buffer?",
        [(f"path-{rate:g}-{rtt:g}", ("goodput", "delay")) for rate in RATES_MBIT for rtt in RTTS_MS], ("path-200-160", "goodput"),
    ),
    Criterion(
        "6.4", "Wireless paths", "How does the control do with losses by the medium, a rate that varies, and jitter?",
        [*((f"loss-{number(loss)}", ("goodput",)) for loss in LOSSES), ("burst-loss", ("goodput",)), ("varying-rate", ("goodput", "delay", "lost")), ("jitter", ("goodput", "delay"))],
        ("loss-0_1", "goodput"),
    ),
    Criterion(
        "7.1", "Active queue management", "How does the control do with disciplines that drop or mark early, with ECN and without?",
        [
            *((kind, ("goodput", "delay", "lost")) for kind in AQMS if kind != "dualpi2"),
            *((f"{kind}-ecn", ("goodput", "delay", "lost", "marked")) for kind in AQMS),
            *((f"beside-{kind}", ("others",)) for kind in ("codel", "fq_codel", "dualpi2")),
        ],
        ("codel-ecn", "delay"),
    ),
    Criterion("7.3", "Paths with varying delay", "How does the control do if the least delay changes?", [("delay-steps", ("goodput", "delay", "lost"))], ("delay-steps", "goodput")),
    Criterion("7.4", "Internet of Things", "How does the control do with very little rate?", [("iot", ("goodput", "again", "delay"))], ("iot", "again")),
    Criterion("7.5", "Paths with high delay", "How does the control do with a satellite's delay and bandwidth-delay product?", [("satellite", ("goodput", "delay", "lost"))], ("satellite", "goodput")),
    Criterion(
        "7.7", "Extreme packet reordering", "How does the control do if packets overtake each other?",
        [("reorder", ("goodput", "again")), ("reorder-extreme", ("goodput", "again"))], ("reorder-extreme", "goodput"),
    ),
    Criterion(
        "7.8", "Transient events", "How does the control do if congestion begins suddenly, and if a link is gone for a while?",
        [("onset", ("lost", "udp_lost", "delay")), ("outage", ("goodput", "again"))], ("outage", "goodput"),
    ),
    Criterion(
        "7.9", "Sudden changes in the path", "How does the control do if rate and delay change at once?",
        [("rate-down", ("goodput", "lost", "delay")), ("rate-up", ("goodput",)), ("delay-step", ("goodput",))], ("rate-up", "goodput"),
    ),
    Criterion("7.11", "Data centres", "How does the control do with little delay and many flows?", [("data-centre", ("goodput", "delay", "lost", "jain"))], ("data-centre", "lost")),
    Criterion(
        "beyond", "Asymmetric paths, traffic both ways, several bottlenecks",
        "How does the control do there? RFC 9743 has no section on them. RFC 3449 describes asymmetric paths, RFC 7928 (sections 9.2 and 10) traffic both ways and queues in series.",
        [("asymmetric", ("goodput", "delay")), ("two-way", ("goodput", "delay")), ("three-hops", ("hops", "lost"))], ("asymmetric", "goodput"),
    ),
)  # fmt: skip

#: Scenarios of --quick: a third of the criteria's range.
QUICK = (
    "silence", "buffer-0_5", "buffer-4", "flows-2", "short-among", "beside-cubic-1", "beside-reno-1", "voice", "path-20-40", "loss-0_1", "codel-ecn",
    "delay-steps", "reorder", "outage", "rate-down", "rate-up", "asymmetric",
)  # fmt: skip

NOT_RUN = (
    "Real-time controls (5.2.2) are not modelled: a telephone call at a constant rate is in their place.",
    "Tunnels (6.2), circuit breakers (7.2), misbehaving nodes (7.6) and the criteria on text and deployment (5.3) are not measured. Wired paths (6.3) are the base of every scenario.",
    "Multipath transport (7.10): a coupled control runs as a single flow here. `haltere reproduce mptcp-red` and docs/reference show it over several paths.",
)  # fmt: skip
