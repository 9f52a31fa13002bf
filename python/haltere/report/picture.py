"""The scenario drawn: nodes, links with rate and delay, queues, and who sends what to whom, as SVG.

:func:`network` asks the scenario for its nodes and links, hosts that are alike as one; :func:`svg` places them in columns from senders to
receivers and draws. What a sweep changes shows all its values. Colours are those of the page, or of paper if the page has none.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core, kinds
from ..errors import HaltereError
from ..experiment import Experiment, Traffic, seconds_of
from . import layout
from .layout import Link, Network, Node

__all__ = ["Link", "Network", "Node", "network", "svg"]


def spelled(value: object) -> str:
    """A quantity with a space and its unit in full.

    >>> spelled("10Mbit"), spelled("50us"), spelled("1000p"), spelled("auto")
    ('10 Mbit/s', '50 µs', '1000 packets', 'auto')
    """
    return _core.spell_quantity(str(value))


def _queue(queue: Mapping[str, Any]) -> str:
    words = [kinds.label(queue) if "kind" in queue else ""]
    if queue.get("rate") is not None:
        words.append(spelled(queue["rate"]))
    if queue.get("limit") is not None:
        words.append(spelled(queue["limit"]))
    if queue.get("ecn") is True:
        words.append("ECN")
    return ", ".join(words)


def _usual(direction: Mapping[str, Any]) -> bool:
    return str(direction["queue"]["kind"]) == kinds.usual_queue()


def _rate(direction: Mapping[str, Any]) -> str:
    if direction["trace"]:
        return "rate from a trace"
    if direction["packet_rate"]:
        return f"{direction['packet_rate']:g} packets/s"
    return spelled(direction["rate"]) if direction["rate"] else ""


def _delay(direction: Mapping[str, Any]) -> str:
    least, most = direction["delay"]
    if not seconds_of(most):
        return ""
    return spelled(most) if least == most else f"{spelled(least)} … {spelled(most)}"


def _link(start: str, end: str, there: Mapping[str, Any], back: Mapping[str, Any] | None, count: int) -> Link:
    """A link between two drawn nodes; ``count``: how many it stands for, if that is to be said."""
    parts = [_rate(there), "changed in steps" if there["schedule"] else "", _delay(there)]
    parts.append(f"loss {100 * there['loss']:g} %" if there["loss"] else "")
    other = back or there
    parts += [f"{of(other)} back" for of in (_rate, _delay) if of(other) and of(other) != of(there)]
    watched = there["watched"] or other["watched"]
    shown = watched or not _usual(there)
    return Link(
        start,
        end,
        ", ".join([part for part in parts if part] or ["no delay"]) + (f", {count} links" if count > 1 else ""),
        _queue(there["queue"]) if shown else "",
        _queue(back["queue"]) if back and (shown or not _usual(back)) else "",
        watched,
    )


def network(scenario: Mapping[str, Any], links: Sequence[Mapping[str, Any]] = ()) -> Network | None:
    """The network of a scenario with all defaults filled in.

    If the scenario cannot be read any more (its trace is gone, or another version wrote it), the nodes and rates of a run's table
    ``links`` are drawn; ``None`` if there are none.
    """
    try:
        out = _drawn(json.loads(_core.Scenario.from_json(json.dumps(scenario)).drawing()))
    except HaltereError:
        if not links:
            return None
        out = _of_rows(links)
    out.traffic = list(map(_traffic, Experiment(scenario).traffic))
    return out


def _drawn(drawing: Mapping[str, Any]) -> Network:
    """The network as its topology says that it is drawn."""
    nodes = {
        one["name"]: Node(
            f"{one['group']}/{one['layer']}" if one["group"] else one["name"], one["label"], one["count"], one["host"], one["layer"]
        )
        for one in drawing["nodes"]
    }  # fmt: skip
    links = []
    for one in drawing["links"]:
        start, end, there, back = nodes[one["from"]], nodes[one["to"]], one["there"], one["back"]
        if start.layer is not None and end.layer is not None and start.layer > end.layer and back:
            start, end, there, back = end, start, back, there
        links.append(
            _link(start.name, end.name, there, back, one["count"] if one["count"] > max(start.count, end.count) else 1)
        )
    return Network(list(nodes.values()), links)


def _of_rows(rows: Sequence[Mapping[str, Any]]) -> Network:
    """The network from the rows of the table ``links``, of which each is one direction."""
    seen: dict[tuple[str, str], Link] = {}
    for row in rows:
        if (row["to"], row["from"]) not in seen:
            rate = spelled(f"{row['rate_bps'] / 1e6:g}Mbit") if row.get("rate_bps") else ""
            delay = spelled(f"{row['delay_ns'] / 1e6:g}ms") if row.get("delay_ns") else ""
            label = ", ".join(part for part in (rate, delay) if part)
            queue = str(row["queue"]) if row["watched"] or row["queue"] != kinds.usual_queue() else ""
            seen[row["from"], row["to"]] = Link(row["from"], row["to"], label, queue, queue, row["watched"])
    names = list(dict.fromkeys(name for ends in seen for name in ends))
    return Network([Node(name, name) for name in names], list(seen.values()))


def _traffic(traffic: Traffic) -> str:
    kind, name, entry = traffic.kind, traffic.name, traffic.values
    named = ", ".join(dict.fromkeys(map(kinds.label, traffic.congestion)))
    if entry.get("paths"):
        where = "; ".join(f"{p['from']} → {p['to']}" for p in entry["paths"])
    elif entry.get("pairs") is not None:
        pairs = entry["pairs"]
        where = "every pair" if pairs == "all" else "pair " + ", ".join(map(str, pairs[:8])) + (" …" if len(pairs) > 8 else "")  # fmt: skip
    else:
        start, end = entry.get("from"), entry.get("to")
        ends = f"{start} → {end}" if start and end else f"from {start}" if start else f"to {end}" if end else ""
        where = ends or "between hosts"
    if not entry.get("paths"):
        where += {"backward": ", back", "both": ", both ways"}.get(str(entry.get("direction")), "")
    count = f"{traffic.count} × " if traffic.count > 1 else ""
    parts = [f"{count}{kind}", named, spelled(entry["rate"]) if entry.get("rate") else "", where]
    if entry.get("senders"):
        parts.append(f"{entry['senders']} at a time")
    parts.append(spelled(entry["bytes"]) if entry.get("bytes") else "")
    if entry.get("start") and seconds_of(entry["start"]):
        parts.append(f"from {spelled(entry['start'])}")
    if entry.get("stop"):
        parts.append(f"until {spelled(entry['stop'])}")
    words = ", ".join(part for part in parts if part)
    return words if name.startswith(kind) and name[len(kind) :].isdigit() else f"{name}: {words}"


# -- several points of a sweep --------------------------------------------------------------------------------------------

MOST_VALUES = 4


def _merged(texts: Sequence[str]) -> str:
    """The texts as one, with every value of what differs.

    >>> _merged(["10 Mbit/s, 5 ms", "20 Mbit/s, 5 ms"])
    '10 | 20 Mbit/s, 5 ms'
    >>> _merged(["1 Gbit/s, 500 µs", "1 Gbit/s, 5 ms"])
    '1 Gbit/s, 500 µs | 5 ms'
    >>> _merged(["codel, 1000 packets", "pie, 1000 packets"])
    'codel | pie, 1000 packets'
    """
    each = list(dict.fromkeys(texts))
    if len(each) == 1:
        return each[0]
    parts = [text.split(", ") for text in each]
    if len({len(one) for one in parts}) > 1:
        return _either(each)
    return ", ".join(_values(list(dict.fromkeys(column))) for column in zip(*parts, strict=True))


def _values(texts: Sequence[str]) -> str:
    """Several values of one thing, what they begin and end with given once."""
    if len(texts) == 1:
        return texts[0]
    words = [text.split(" ") for text in texts]
    front = 0
    while front < min(map(len, words)) - 1 and len({w[front] for w in words}) == 1:
        front += 1
    back = 0
    while back < min(map(len, words)) - front - 1 and len({w[-1 - back] for w in words}) == 1:
        back += 1
    middle = _either([" ".join(w[front : len(w) - back]) for w in words])
    return " ".join([*words[0][:front], middle, *words[0][len(words[0]) - back :]])


def _either(values: Sequence[str]) -> str:
    if len(values) <= MOST_VALUES:
        return " | ".join(values)
    return f"{' | '.join(values[: MOST_VALUES - 1])} … {values[-1]}"


def merged(networks: Sequence[Network]) -> Network:
    """One network for all points of a sweep; of points with other nodes only the first is shown."""
    first = networks[0]
    alike = [
        one
        for one in networks
        if [n.name for n in one.nodes] == [n.name for n in first.nodes]
        and [(k.start, k.end) for k in one.links] == [(k.start, k.end) for k in first.links]
    ]
    nodes = []
    for i, node in enumerate(first.nodes):
        counts = list(dict.fromkeys(one.nodes[i].count for one in alike))
        label = node.label
        if len(counts) > 1:
            label = f"{label.split(', ')[0].split(' … ')[0]} …"
        nodes.append(Node(node.name, label + ("\n× " + _either(list(map(str, counts))) if max(counts) > 1 else ""), max(counts), node.host, node.layer))  # fmt: skip
    links = []
    for i, link in enumerate(first.links):
        queues = [one.links[i].queue for one in alike]
        back = [one.links[i].back_queue for one in alike]
        label = _merged([one.links[i].label for one in alike])
        links.append(Link(link.start, link.end, label, _queues(queues), _queues(back), any(o.links[i].watched for o in alike)))  # fmt: skip
    traffic = [_merged([t for t in column if t]) for column in zip(*(one.traffic for one in alike), strict=False)]
    return Network(nodes, links, traffic)


def _queues(texts: Sequence[str]) -> str:
    shown = [text for text in dict.fromkeys(texts) if text]
    if not shown:
        return ""
    heads, tails = (
        list(dict.fromkeys(column)) for column in zip(*(text.partition(", ")[::2] for text in shown), strict=True)
    )
    return _merged(shown) if len(heads) == 1 or len(tails) == 1 else _either(heads)


def svg(networks: Sequence[Network]) -> str:
    """The drawing of a network, or of those of all points of a sweep, as SVG."""
    shown = merged(networks)
    return layout.draw(shown.nodes, shown.links, [html.escape(line) for line in shown.traffic])
