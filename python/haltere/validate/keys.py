"""Which keys of a scenario are known. An unknown one is refused by name: the rest alone would be another scenario."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .scenario import DEFAULTS, SAMPLE
from .tc_words import NotTranslated

SCENARIO = frozenset(DEFAULTS) | {"name", "set", "store_cols", "mptcp", "pre", "post", "rx", "classes"}
"""`name` and `set` name it; `store_cols`, `post` and `rx` say how the harness measures, not what it runs. `classes` says what `pre` makes."""
PATH = frozenset(("rate_mbit", "both_ways", "shaper", "rtt_ms", "qdisc", "qdisc_rev", "txqueuelen", "access_mbit"))
FLOW = frozenset(("dir", "cc", "n", "start", "spread", "stop", "proto", "path", "ecn", "host", "class"))
TRANSFER = frozenset(("dir", "cc", "per_second", "sizes", "start", "stop", "ecn"))
UDP = frozenset(("dir", "rate_mbit", "size", "start", "stop", "tos"))
STEP = frozenset(("at", "rate_mbit", "cmd"))
HOST = frozenset(("rtt_ms",))
PING = frozenset(("interval", "start", "size", "tos"))


def check_keys(s: dict[str, Any]) -> None:
    """Raises `NotTranslated` with the name of every key that is not known."""
    unknown = [
        *_unknown("", SCENARIO, [s]),
        *_unknown("flows.", FLOW, s["flows"]),
        *_unknown("paths.", PATH, s.get("paths") or []),
        *_unknown("transfers.", TRANSFER, s["transfers"]),
        *_unknown("udp.", UDP, s["udp"]),
        *_unknown("steps.", STEP, s["steps"]),
        *_unknown("hosts.", HOST, s["hosts"].values()),
        *_unknown("ping.", PING, [s["ping"]] if s.get("ping") else []),
        *_unknown("sample.", frozenset(SAMPLE), [s["sample"]]),
    ]
    if unknown:
        raise NotTranslated(f"scenario keys that are not known here: {', '.join(f'`{key}`' for key in unknown)}")


def _unknown(where: str, known: frozenset[str], tables: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(where + key for table in tables for key in table if key not in known))
