"""Places of the nodes and links of a drawing, and the drawing as SVG.

Columns from senders to receivers: a node is right of all that send to it (the longest way), links over several columns pass between the nodes
there, nodes of a column are ordered by the middle of their neighbours (Sugiyama, Tagawa and Toda 1981), and labels give way to each other.
Lengths are in CSS pixels.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .crossings import ordered

_CHAR, _LINE, _ROW, _RIM = 6.1, 14.0, 74.0, 16.0
# A label breaks into lines of about this many characters.
_WRAP = 26
# Turns in which a column is sorted, before its nodes only move.
_SORTED = 16

_STYLE = """
.hl { fill: none; stroke: var(--strong, #8a929c); stroke-width: 1.6 } .hl.hb { stroke: var(--accent, #0062a3); stroke-width: 3 }
.hn { fill: var(--card, #f7f8fa); stroke: var(--soft, #5b6470); stroke-width: 1.2 } .hn.hr { fill: var(--line, #e3e6ea) }
.hq { fill: none; stroke: var(--accent, #0062a3); stroke-width: 1.2 } .hq + .hq, .hqf { fill: var(--accent, #0062a3); fill-opacity: .35 }
text { font: 11.5px system-ui, "DejaVu Sans", sans-serif; fill: var(--ink, #1d2127) }
.hm { text-anchor: middle } .hh { paint-order: stroke; stroke: var(--page, #fff); stroke-width: 4px; stroke-linejoin: round } .hs { fill: var(--soft, #5b6470) } .ha { fill: var(--accent, #0062a3) }
"""

Place = tuple[float, float]


@dataclass
class Node:
    """A node, or ``count`` alike."""

    name: str
    label: str
    count: int = 1
    host: bool = True
    layer: int | None = None
    """Its column from 0 on the left, if the topology says; otherwise it follows from the links."""


@dataclass
class Link:
    """A link: what it says in the middle, and what waits in front of it at each end (nothing if the queue is the usual one)."""

    start: str
    end: str
    label: str
    queue: str = ""
    back_queue: str = ""
    watched: bool = False


@dataclass
class Network:
    """What is drawn."""

    nodes: list[Node]
    links: list[Link]
    traffic: list[str] = field(default_factory=list)


def columns(
    names: Sequence[str], links: Sequence[tuple[str, str]], layers: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The column of each node, from 0. ``layers``: the columns of those that have theirs already.

    >>> columns(["a", "b", "c", "x"], [("a", "b"), ("b", "c"), ("x", "c")])
    {'a': 0, 'b': 1, 'c': 2, 'x': 1}
    >>> columns(["a", "b"], [("a", "b"), ("b", "a")])
    {'a': 0, 'b': 1}
    >>> columns(["a", "b", "c"], [("a", "b"), ("b", "c")], {"a": 0, "c": 3})
    {'a': 0, 'b': 1, 'c': 3}
    """
    forward, placed = _acyclic(names, links), layers or {}
    column = {name: placed.get(name, 0) for name in names}
    for _ in names:
        for start, end in forward:
            if end not in placed:
                column[end] = max(column[end], column[start] + 1)
    # What nothing leads to stands just before the first that it leads to.
    for name in names:
        after = [column[end] for start, end in forward if start == name]
        if after and name not in placed and all(end != name for _, end in forward):
            column[name] = min(after) - 1
    least = min(column.values(), default=0)
    return {name: at - least for name, at in column.items()}


def _acyclic(names: Sequence[str], links: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The links without circles: a link that would close one is reversed."""
    out: dict[str, list[str]] = {name: [] for name in names}
    for start, end in links:
        out[start].append(end)
    state: dict[str, int] = {}
    kept: list[tuple[str, str]] = []
    into = {end for _, end in links}
    for root in [*(n for n in names if n not in into), *names]:
        if root in state:
            continue
        stack: list[tuple[str, int]] = [(root, 0)]
        state[root] = 1
        while stack:
            node, i = stack.pop()
            if i == len(out[node]):
                state[node] = 2
                continue
            stack.append((node, i + 1))
            other = out[node][i]
            if other == node:
                continue
            kept.append((other, node) if state.get(other) == 1 else (node, other))
            if other not in state:
                state[other] = 1
                stack.append((other, 0))
    return kept


def _ways(links: Sequence[Link], column: dict[str, int]) -> list[list[str]]:
    """The places that each link passes, its ends included: one in every column between them."""
    ways = []
    for i, link in enumerate(links):
        a, b = column[link.start], column[link.end]
        step = 1 if b >= a else -1
        between = [f"\0{i}.{c}" for c in range(a + step, b, step)]
        for name, c in zip(between, range(a + step, b, step), strict=True):
            column[name] = c
        ways.append([link.start, *between, link.end])
    return ways


def _rows(column: dict[str, int], ways: Sequence[Sequence[str]], heights: dict[str, float]) -> dict[str, float]:
    """The middle of each place, from top to bottom."""
    beside: dict[str, list[str]] = {name: [] for name in column}
    for way in ways:
        for a, b in itertools.pairwise(way):
            beside[a].append(b)
            beside[b].append(a)
    stacks: list[list[str]] = [[] for _ in range(max(column.values()) + 1)]
    for name, at in column.items():
        stacks[at].append(name)
    y = {name: i * _ROW for stack in stacks for i, name in enumerate(stack)}
    for turn in range(24):
        if turn == _SORTED:
            stacks = ordered(stacks, beside)
        for stack in stacks if turn % 2 == 0 else stacks[::-1]:
            middle = {n: sum(y[o] for o in beside[n]) / len(beside[n]) if beside[n] else y[n] for n in stack}
            if turn < _SORTED:
                stack.sort(key=lambda n: middle[n])
            _spread(stack, middle, heights, y)
    top = min(y[n] - heights.get(n, 0) / 2 for n in y)
    return {name: at - top for name, at in y.items()}


def _spread(stack: Sequence[str], wanted: dict[str, float], heights: dict[str, float], y: dict[str, float]) -> None:
    """Puts a column where it is wanted, as near as its own sizes allow, keeping its order and its middle."""
    at = -1e9
    for above, name in zip([None, *stack], stack, strict=False):
        room = (heights.get(above or "", 20) + heights.get(name, 20)) / 2 + (_ROW - 40)
        at = max(wanted[name], at + room) if above is not None else wanted[name]
        y[name] = at
    shift = sum(y[n] - wanted[n] for n in stack) / max(len(stack), 1)
    for name in stack:
        y[name] -= shift


def _wrapped(text: str) -> list[str]:
    """The text in lines, broken at its commas."""
    lines: list[str] = []
    for part in text.split(", ") if text else []:
        if lines and len(lines[-1]) + len(part) + 2 <= _WRAP:
            lines[-1] += ", " + part
        else:
            if lines:
                lines[-1] += ","
            lines.append(part)
    return lines


def _width(lines: Sequence[str]) -> float:
    return max((len(line) for line in lines), default=0) * _CHAR


def _label(link: Link) -> list[tuple[str, str]]:
    """The lines of a link's label, each with its class; an arrow says which way the packets of a queue go."""
    parts = [(line, "") for line in _wrapped(link.label)]
    same = link.queue == link.back_queue
    for mark, queue in (("⇄" if same else "→", link.queue), ("←", "" if same else link.back_queue)):
        lines = _wrapped(queue)
        parts += [(f"{mark} {line}" if i == 0 else line, " ha") for i, line in enumerate(lines)]
    return parts


def draw(nodes: Sequence[Node], links: Sequence[Link], notes: Sequence[str]) -> str:
    """The drawing; ``notes`` are lines below it, with what HTML wants escaped."""
    layers = {n.name: n.layer for n in nodes if n.layer is not None}
    column = columns([n.name for n in nodes], [(k.start, k.end) for k in links], layers)
    ways = _ways(links, column)
    boxes = {n.name: (_width(n.label.split("\n")) + 22, 12 + _LINE * len(n.label.split("\n")) + 8) for n in nodes}
    heights = {name: box[1] + (8 if any(n.name == name and n.count > 1 for n in nodes) else 0) for name, box in boxes.items()}  # fmt: skip
    y = _rows(column, ways, heights)
    x = _columns_x(nodes, links, column, boxes)
    places = {name: (x[column[name]], y[name] + _RIM) for name in column}
    width = max(px + boxes.get(n, (0, 0))[0] / 2 for n, (px, _) in places.items()) + _RIM + 6
    taken: list[tuple[float, float, float, float]] = [
        (px - w / 2, py - h / 2, px + w / 2, py + h / 2) for n, (w, h) in boxes.items() for px, py in [places[n]]
    ]
    lines, labels = [], []
    for link, way in zip(links, ways, strict=True):
        points = _ends([places[n] for n in way], boxes.get(link.start), boxes.get(link.end))
        lines.append(_path(points, link.watched))
        labels.append(_place_label(_label(link), points, taken))
    top, bottom = min(box[1] for box in taken), max(box[3] for box in taken)
    top, under = top - 6, bottom + 32
    parts = [f'<text x="{_RIM}" y="{under + i * 18:.0f}" class="hs">{note}</text>' for i, note in enumerate(notes)]
    width = max(width, _RIM * 2 + max((len(html.unescape(n)) for n in notes), default=0) * _CHAR)
    height = under + len(notes) * 18 - (8 if notes else 20) - top
    body = "".join([*lines, *(_node(n, places[n.name], boxes[n.name]) for n in nodes), *labels, *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top:.0f} {width:.0f} {height:.0f}" role="img" aria-label="the network">'
        f"<style>{_STYLE}</style>{body}</svg>"
    )


def _columns_x(
    nodes: Sequence[Node], links: Sequence[Link], column: dict[str, int], boxes: dict[str, tuple[float, float]]
) -> list[float]:
    """The middle of each column: room between two for the labels of the links from one to the next."""
    last = max(column.values())
    wide = [max((boxes[n.name][0] for n in nodes if column[n.name] == c), default=0.0) for c in range(last + 1)]
    gap = [90.0] * last
    for link in links:
        a, b = sorted((column[link.start], column[link.end]))
        for c in range(a, b):
            gap[c] = max(gap[c], (_width([line for line, _ in _label(link)]) + 46) / (b - a))
    x = [_RIM + wide[0] / 2]
    for c in range(last):
        x.append(x[-1] + wide[c] / 2 + gap[c] + wide[c + 1] / 2)
    return x


def _ends(points: list[Place], start: tuple[float, float] | None, end: tuple[float, float] | None) -> list[Place]:
    """The way from the edge of the first box to the edge of the last."""
    out = list(points)
    for i, other, box in ((0, 1, start), (-1, -2, end)):
        if box:
            side = 1 if points[other][0] >= points[i][0] else -1
            out[i] = (points[i][0] + side * box[0] / 2, points[i][1])
    return out


def _path(points: Sequence[Place], watched: bool) -> str:
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        middle = (ax + bx) / 2
        parts.append(f"L{bx:.1f} {by:.1f}" if abs(ay - by) < 0.5 else f"C{middle:.1f} {ay:.1f} {middle:.1f} {by:.1f} {bx:.1f} {by:.1f}")  # fmt: skip
    return f'<path class="hl{" hb" if watched else ""}" d="{" ".join(parts)}"/>'


def _along(points: Sequence[Place], t: float) -> Place:
    """A place on the way, ``t`` from 0 to 1 by x; the bends are cubic."""
    x = points[0][0] + t * (points[-1][0] - points[0][0])
    for (ax, ay), (bx, by) in itertools.pairwise(points):
        if min(ax, bx) <= x <= max(ax, bx) and ax != bx:
            u = (x - ax) / (bx - ax)
            return x, ay + (by - ay) * (u * u * (3 - 2 * u))
    return x, (points[0][1] + points[-1][1]) / 2


def _place_label(
    lines: Sequence[tuple[str, str]], points: Sequence[Place], taken: list[tuple[float, float, float, float]]
) -> str:
    """The label at the first place of the link where it covers nothing; its box joins those that are taken."""
    above = sum(kind == "" for _, kind in lines)
    w, up, down = _width([line for line, _ in lines]) + 6, above * _LINE + 5, (len(lines) - above) * _LINE + 6
    best, least = (_along(points, 0.5), 1e18)
    for t in (0.5, 0.4, 0.6, 0.32, 0.68, 0.24, 0.76):
        px, py = _along(points, t)
        box = (px - w / 2, py - up, px + w / 2, py + down)
        over = sum(max(0.0, min(box[2], o[2]) - max(box[0], o[0])) * max(0.0, min(box[3], o[3]) - max(box[1], o[1])) for o in taken)  # fmt: skip
        if over < least:
            best, least = (px, py), over
        if over == 0:
            break
    px, py = best
    taken.append((px - w / 2, py - up, px + w / 2, py + down))
    out = []
    for i, (line, kind) in enumerate(lines):
        at = py - up + _LINE * (i + 1) - 5 if i < above else py + _LINE * (i - above + 1) + 2
        out.append(f'<text class="hm hh{kind}" x="{px:.1f}" y="{at:.1f}">{html.escape(line)}</text>')
    return "".join(out)


def _node(node: Node, place: Place, box: tuple[float, float]) -> str:
    (px, py), (w, h) = place, box
    kind, round_off = ("hn", 8) if node.host else ("hn hr", 4)
    stack = (8, 4, 0) if node.count > 1 else (0,)
    boxes = "".join(f'<rect class="{kind}" x="{px - w / 2 + d / 2:.1f}" y="{py - h / 2 + d:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{round_off}"/>' for d in stack)  # fmt: skip
    lines = node.label.split("\n")
    first = py - (len(lines) - 1) * _LINE / 2 + 4
    texts = "".join(f'<text class="hm" x="{px:.1f}" y="{first + i * _LINE:.1f}">{html.escape(line)}</text>' for i, line in enumerate(lines))  # fmt: skip
    return boxes + texts
