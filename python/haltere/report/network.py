"""What a drawing of a network shows."""

from __future__ import annotations

from dataclasses import dataclass, field


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
