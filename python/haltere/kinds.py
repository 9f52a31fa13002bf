"""Behaviour by name: what reports must know of a traffic kind, a queue discipline or a classifier.

One lookup function for each. Whoever needs to know how a kind behaves asks here and compares no names. Traffic kinds say it themselves
(``_core.traffic_kinds``), and parameters are read from the schema. The tables below have the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from . import _core

#: What tables of results call the kind of a traffic source from outside the tree.
OUTSIDE = "outside"
#: A mechanism from outside the tree: its language and a colon.
_OUTSIDE = re.compile(r"[a-z]+:(?!//)")


@dataclass(frozen=True)
class Traffic:
    """How the flows of a traffic kind behave, as the kind itself says."""

    tcp: bool = False
    """Its flows are TCP."""
    goodput: bool = True
    """Its flows deliver payload, so that their goodput means something."""
    request_response: bool = False
    """It measures the time until a response."""
    arrivals: bool = False
    """Its flows arrive and end during the run."""
    completions: bool = False
    """Each of its flows, or each response, is a row of the table `completions`."""
    table: str | None = None
    """The table of its own results."""
    endless_without: tuple[str, ...] | None = None
    """Its flows always have something to send unless an entry gives one of these keys; ``None``: never."""
    noun: str = "flow"
    """What a sentence calls one of its flows, after the control and the kind; empty: the kind's name is enough."""

    @property
    def greedy(self) -> bool:
        """Its flows always have something to send, unless their entry limits them."""
        return self.endless_without is not None

    @property
    def paths(self) -> bool:
        """A flow uses several paths."""
        return self.table == "paths"

    def is_endless(self, entry: Mapping[str, Any]) -> bool:
        """Whether the flows of this entry always have something to send.

        >>> traffic("bulk").is_endless({}), traffic("bulk").is_endless({"bytes": "1MB"}), traffic("cbr").is_endless({})
        (True, False, False)
        """
        return self.endless_without is not None and not any(entry.get(key) for key in self.endless_without)


@dataclass(frozen=True)
class Workload:
    """A traffic kind of which users see more than a rate: its table in the report and its sentence."""

    kind: str
    table: str
    """The table of the report."""
    title: str
    """The title of that table."""
    first: str
    """The metric that it has if there is anything to say."""
    says: str
    """The sentence, with metrics in braces."""
    nothing: str
    """The sentence if there is nothing to say."""
    judged: str
    """The metric in which points are compared."""
    called: str
    """What a sentence calls it."""


@dataclass(frozen=True)
class Queue:
    """How a queue discipline behaves."""

    law: bool = True
    """It drops or marks by a law before it is full."""
    tail: bool = False
    """It is first in, first out, and drops what does not fit."""


@dataclass(frozen=True)
class Classifier:
    """How a flow classifier behaves."""

    memory: str = ""
    """The parameter that says how many packets it remembers, if it has a memory: a capture is classified with several."""
    memories: tuple[int, ...] = ()
    """The values of that parameter if none are asked for."""
    offsets: bool = False
    """It needs the offset of a packet in its flow."""
    marks: bool = False
    """It uses the sender's marks."""


#: The workloads, in the order of their tables.
WORKLOADS = (
    Workload("web", "web", "Web pages", "pages",
             "{pages} pages a run, median load time {page_load_p50}, 95th percentile {page_load_p95}",
             "no page was loaded after the warm-up", "page_load_p50", "median page load time"),
    Workload("rpc", "rpc", "Calls", "calls",
             "{calls} calls a run, median time {rpc_p50}, 99th percentile {rpc_p99}",
             "no call was answered after the warm-up", "rpc_p95", "95th percentile of the times of calls"),
    Workload("video", "video", "Video", "video_bitrate",
             "mean bitrate {video_bitrate}, stalled {rebuffer_ratio} of the time, {video_switches} changes of the bitrate a minute",
             "no segment came after the warm-up", "video_bitrate", "mean bitrate"),
    Workload("voip", "voice", "Voice", "mos",
             "mean opinion score {mos}, {voip_loss} of the packets lost or late, {voip_delay} from mouth to ear",
             "no packet was sent after the warm-up", "mos", "mean opinion score"),
)  # fmt: skip
_QUEUES = {
    "drop_tail": Queue(law=False, tail=True),
    "pfifo_fast": Queue(law=False, tail=True),
    "threshold": Queue(law=False),
    "fq": Queue(law=False),
    "drr": Queue(law=False, tail=True),
    "htb": Queue(law=False, tail=True),
    "tbf": Queue(law=False, tail=True),
    "policer": Queue(tail=True),
}
_CLASSIFIERS = {
    # The memories of the RAFLE study's table 1.
    "rafle": Classifier(memory="n", memories=(10, 30, 40, 50, 60, 100)),
    "run2c": Classifier(offsets=True),
    "ideal": Classifier(marks=True),
}


def traffic(kind: str) -> Traffic:
    """How the flows of this traffic kind behave.

    >>> traffic("ping").goodput, traffic("bulk").greedy, traffic("poisson").table, traffic("python:my_module:MySource").tcp
    (False, True, 'completions', True)
    """
    return _traffic_kinds().get(OUTSIDE if _OUTSIDE.match(kind) else kind, Traffic())


@cache
def _traffic_kinds() -> Mapping[str, Traffic]:
    said: Mapping[str, Mapping[str, Any]] = json.loads(_core.traffic_kinds())
    return {
        name: Traffic(**{one.name: _value(kind[one.name]) for one in fields(Traffic)}) for name, kind in said.items()
    }


def _value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def queue(kind: str) -> Queue:
    """How this queue discipline behaves.

    >>> queue("codel").law, queue("drop_tail").tail
    (True, True)
    """
    return _QUEUES.get(kind, Queue())


def label(mechanism: Mapping[str, Any] | str) -> str:
    """The name of a mechanism in reports: its kind; of one from outside the tree, the name of its class or module.

    >>> label("codel"), label({"kind": "python:my_module:MyControl", "beta": 0.7}), label("wasm:folder/control.wasm")
    ('codel', 'MyControl', 'control')
    """
    if not isinstance(mechanism, str):
        return str(mechanism.get("name", OUTSIDE)) if mechanism["kind"] == OUTSIDE else label(str(mechanism["kind"]))
    if not _OUTSIDE.match(mechanism):
        return mechanism
    return mechanism.rsplit(":", 1)[1].rsplit("/", 1)[-1].split(".", 1)[0]


def classifier(kind: str) -> Classifier:
    """How this classifier behaves."""
    return _CLASSIFIERS.get(kind, Classifier())


@cache
def _definitions() -> Mapping[str, Any]:
    definitions: Mapping[str, Any] = json.loads(_core.schema())["$defs"]
    return definitions


@cache
def usual_queue() -> str:
    """The discipline of a link that names none.

    >>> usual_queue()
    'drop_tail'
    """
    return str(_definitions()["Link"]["properties"]["queue"]["default"]["kind"])


@cache
def parameters(union: str, kind: str) -> Mapping[str, Any]:
    """The parameters of a mechanism and their defaults; ``union``: its definition in the schema, such as ``CorrelatorParams``.

    >>> parameters("CorrelatorParams", "mscm")["window"]
    50
    """
    for table in _tables(_definitions()[union]):
        keys = table.get("properties", {})
        if keys.get("kind", {}).get("const") == kind:
            return {key: one.get("default") for key, one in keys.items() if key != "kind"}
    return {}


def _tables(definition: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for option in (*definition.get("oneOf", ()), *definition.get("anyOf", ())):
        if "properties" in option:
            yield option
        yield from _tables(option)
