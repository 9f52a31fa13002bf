"""The scenario drawn: nodes, links with rate and delay, queues, and who sends what to whom, as SVG.

:func:`network` reads a scenario into nodes and links, hosts that are alike folded into one; :func:`svg` places them in columns from senders to
receivers and draws. What a sweep changes shows all its values. Colours are those of the page, or of paper if the page has none.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core, kinds
from ..analysis.measures import traffic_name
from . import layout
from .network import Link, Network, Node

__all__ = ["Link", "Network", "Node", "network", "svg"]


def spelled(value: object) -> str:
    """A quantity with a space and its unit in full.

    >>> spelled("10Mbit"), spelled("50us"), spelled("1000p"), spelled("auto")
    ('10 Mbit/s', '50 µs', '1000 packets', 'auto')
    """
    return _core.spell_quantity(str(value))


def _share(value: object) -> str:
    """A probability in per cent, nothing for none.

    >>> _share(1e-05), _share("5%"), _share(0)
    ('0.001 %', '5 %', '')
    """
    number = 100 * _core.parse_quantity("probability", str(value))
    return f"{number:g} %" if number else ""


def _lasts(span: object) -> bool:
    """Whether this span of a scenario is > 0."""
    return _core.parse_quantity("duration", str(span)) > 0


def _queue(queue: Mapping[str, Any]) -> str:
    words = [str(queue.get("kind", ""))]
    if "limit" in queue:
        words.append(spelled(queue["limit"]))
    if queue.get("ecn") is True:
        words.append("ECN")
    return ", ".join(words)


def _usual(queue: Mapping[str, Any]) -> bool:
    return str(queue.get("kind", kinds.usual_queue())) == kinds.usual_queue()


def _link(start: str, end: str, table: Mapping[str, Any], watched: bool = False) -> Link:
    parts = [spelled(table["rate"])] if table.get("rate") else []
    if table.get("trace"):
        parts.append("rate from a trace")
    if table.get("schedule"):
        parts.append("changed in steps")
    if table.get("delay") and _lasts(table["delay"]):
        parts.append(spelled(table["delay"]))
    if _share(table.get("loss", 0)):
        parts.append(f"loss {_share(table['loss'])}")
    back = {**table, **table.get("reverse", {})}
    differs = [f"{spelled(back[k])} back" for k in ("rate", "delay") if back.get(k) and back.get(k) != table.get(k)]
    queue = table.get("queue", {})
    shown = watched or bool(table.get("watch")) or not _usual(queue)
    other = back.get("queue", queue)
    return Link(
        start,
        end,
        ", ".join([*parts, *differs]) or ("no delay" if "delay" in table else ""),
        _queue(queue) if shown and queue else "",
        _queue(other) if other and (shown or not _usual(other)) else "",
        watched or table.get("watch", shown) is True,
    )


def network(scenario: Mapping[str, Any], links: Sequence[Mapping[str, Any]] = ()) -> Network | None:
    """The network of a scenario with all defaults filled in.

    Of a topology that is not known here, the nodes and rates of a run's table ``links`` are drawn; ``None`` if there are none.
    """
    kind, table = next(iter(scenario["topology"].items()))
    makers = {"dumbbell": _dumbbell, "chain": _chain, "switch": _switch, "graph": _graph}
    if kind in makers:
        out = makers[kind](table, scenario)
    elif "nodes" in table and "links" in table:
        out = _graph(table, scenario)
    elif links:
        out = _graph(_as_graph(links), scenario)
    else:
        return None
    out.traffic = [_traffic(i, entry) for i, entry in enumerate(scenario.get("traffic", []))]
    return out


def _many(letter: str, count: int) -> Node:
    return Node(letter, letter + "1" if count == 1 else f"{letter}1 … {letter}{count}", count)


def _dumbbell(table: Mapping[str, Any], scenario: Mapping[str, Any]) -> Network:
    pairs, access = int(table["pairs"]), table["access"]
    back = {**access, **access.get("reverse", {})}
    links = [
        _link("c", "left", access),
        _link("left", "right", table["bottleneck"], watched=True),
        # Seen from the switch: what goes to the host is the reverse direction.
        _link("right", "s", {**back, "reverse": {k: access[k] for k in access if k != "reverse"}}),
    ]
    if _share(table.get("rtt_spread", 0)):
        links[0].label += f", round trips ± {_share(table['rtt_spread'])}"
    return Network([_many("c", pairs), Node("left", "left", host=False), Node("right", "right", host=False), _many("s", pairs)], links)  # fmt: skip


def _chain(table: Mapping[str, Any], scenario: Mapping[str, Any]) -> Network:
    names = table.get("nodes") or [f"n{i + 1}" for i in range(len(table["links"]) + 1)]
    nodes = [Node(name, name, host=i in (0, len(names) - 1)) for i, name in enumerate(names)]
    return Network(nodes, [_link(a, b, one) for a, b, one in zip(names, names[1:], table["links"], strict=False)])


def _switch(table: Mapping[str, Any], scenario: Mapping[str, Any]) -> Network:
    count, senders = int(table["hosts"]), set()
    for entry in scenario.get("traffic", []):
        ends = (entry.get("from"), entry.get("to"))
        senders.add(ends[1] if entry.get("direction") == "backward" else ends[0])
    hosts = [f"h{i + 1}" for i in range(count)]
    left = [name for name in hosts if name in senders]
    right = [name for name in hosts if name not in senders]
    if not left or not right:
        left, right = hosts[: count // 2], hosts[count // 2 :]
    work = table["processor"]
    speed = spelled(work["rate"]) if work.get("rate") else f"{work.get('packet_rate', 0):g} packets/s"
    processor = Link("switch", "switch.out", f"processor, {speed}", _queue(work["queue"]), watched=True)
    link = table["link"]
    back = {**link, **link.get("reverse", {})}
    return Network(
        [
            Node("left", _listed(left), len(left)),
            Node("switch", "switch", host=False),
            Node("switch.out", "switch.out", host=False),
            Node("right", _listed(right), len(right)),
        ],
        [_link("left", "switch", link), processor, _link("switch.out", "right", back)],
    )


def _listed(names: Sequence[str]) -> str:
    return (
        names[0] if len(names) == 1 else f"{names[0]}, {names[1]}" if len(names) == 2 else f"{names[0]} … {names[-1]}"
    )


def _graph(table: Mapping[str, Any], scenario: Mapping[str, Any]) -> Network:
    names = [one if isinstance(one, str) else str(one["name"]) for one in table["nodes"]]
    links = [_link(one["from"], one["to"], one) for one in table["links"]]
    degree = {name: sum(name in (one.start, one.end) for one in links) for name in names}
    roles: dict[str, list[str]] = {name: [] for name in names}
    for i, entry in enumerate(scenario.get("traffic", [])):
        ends = [(entry.get("from"), entry.get("to")), *((p["from"], p["to"]) for p in entry.get("paths", []))]
        for start, end in ends:
            for name, role in ((start, "from"), (end, "to")):
                if name in roles:
                    roles[name].append(f"{role}{i if entry.get('paths') else entry.get('kind')}")
    # Hosts on one link each to the same node, with the same link and the same part to play, are one.
    groups: dict[tuple[object, ...], list[str]] = {}
    for one in links:
        for leaf, other, way in ((one.start, one.end, "out"), (one.end, one.start, "in")):
            if degree[leaf] == 1 and degree[other] > 1:
                key = (other, way, one.label, one.queue, one.back_queue, tuple(sorted(set(roles[leaf]))))
                groups.setdefault(key, []).append(leaf)
    gone = {name: group[0] for group in groups.values() for name in group[1:] if len(group) > 2}
    sizes = {group[0]: group for group in groups.values() if len(group) > 2}
    nodes = [Node(n, _listed(sizes[n]) if n in sizes else n, len(sizes.get(n, [n])), degree[n] == 1 or bool(roles[n])) for n in names if n not in gone]  # fmt: skip
    return Network(nodes, [one for one in links if one.start not in gone and one.end not in gone])


def _as_graph(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A graph from the rows of the table ``links``, of which each is one direction."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if (row["to"], row["from"]) not in seen:
            rate = f"{row['rate_bps'] / 1e6:g}Mbit" if row.get("rate_bps") else None
            one = {"from": row["from"], "to": row["to"], "rate": rate, "queue": {"kind": row["queue"]}}
            if row.get("delay_ns"):
                one["delay"] = f"{row['delay_ns'] / 1e6:g}ms"
            seen[row["from"], row["to"]] = {**one, **({"watch": True} if row["watched"] else {})}
    return {"nodes": list(dict.fromkeys(n for ends in seen for n in ends)), "links": list(seen.values())}


def _traffic(place: int, entry: Mapping[str, Any]) -> str:
    kind = str(entry["kind"])
    name = traffic_name(place, entry)
    controls = entry.get("congestion")
    if isinstance(controls, Mapping | str):
        controls = [controls]
    named = ", ".join(dict.fromkeys(str(c["kind"]) if isinstance(c, Mapping) else str(c) for c in controls or []))
    if entry.get("paths"):
        where = "; ".join(f"{p['from']} → {p['to']}" for p in entry["paths"])
    elif entry.get("pairs") is not None:
        pairs = entry["pairs"]
        where = "every pair" if pairs == "all" else "pair " + ", ".join(map(str, pairs[:8])) + (" …" if len(pairs) > 8 else "")  # fmt: skip
    else:
        where = f"{entry.get('from')} → {entry.get('to')}"
    if not entry.get("paths"):
        where += {"backward": ", back", "both": ", both ways"}.get(str(entry.get("direction")), "")
    count = f"{entry['count']} × " if int(entry.get("count", 1)) > 1 else ""
    parts = [f"{count}{kind}", named, spelled(entry["rate"]) if entry.get("rate") else "", where]
    parts.append(spelled(entry["bytes"]) if entry.get("bytes") else "")
    if entry.get("start") and _lasts(entry["start"]):
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
            label = f"{node.name}1 …"
        nodes.append(Node(node.name, label + ("\n× " + _either(list(map(str, counts))) if max(counts) > 1 else ""), max(counts), node.host))  # fmt: skip
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
    tails = {text.partition(", ")[2] for text in shown}
    return _merged(shown) if len(tails) == 1 else _either([text.partition(", ")[0] for text in shown])


def svg(networks: Sequence[Network]) -> str:
    """The drawing of a network, or of those of all points of a sweep, as SVG."""
    shown = merged(networks)
    return layout.draw(shown.nodes, shown.links, [html.escape(line) for line in shown.traffic])
