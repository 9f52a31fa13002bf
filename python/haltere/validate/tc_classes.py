"""HTB and DRR with classes: what the key `classes` of a scenario says, as a discipline of Haltere.

The harness tells flows apart by their ports, here they have a DSCP each: the number of their class. Pings have none, so they are in the first.
"""

from __future__ import annotations

from typing import Any

from .tc_words import NotTranslated, nbytes, packets

FRAME = 1514
LIMIT = 40
"""Packets of a class (`validation/sets.py`)."""


def queue_of_classes(tree: dict[str, Any], rate_mbit: float) -> dict[str, Any]:
    """The discipline: `kind` is `htb`, whose root has the whole rate, or `drr`."""
    kind, classes = tree["kind"], []
    if kind not in ("htb", "drr"):
        raise NotTranslated(f"classes: kind must be `htb` or `drr`, got `{kind}`")
    for number, one in enumerate(tree["classes"], 1):
        found: dict[str, Any] = {
            "match": {"dscp": [0, 1] if number == 1 else [number]},
            "quantum": nbytes(one.get("quantum", FRAME)),
            "queue": {"kind": "drop_tail", "limit": packets(LIMIT)},
        }
        if kind == "htb":
            found |= {"name": f"c{number}", "rate": f"{one['rate']}Mbit", "ceil": f"{one.get('ceil', rate_mbit)}Mbit"}
            found |= {"priority": one.get("prio", 0)}
        classes.append(found)
    return {"kind": kind, "classes": classes} | ({"rate": f"{rate_mbit}Mbit"} if kind == "htb" else {})
