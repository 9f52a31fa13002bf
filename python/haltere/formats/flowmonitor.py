"""The XML of ns-3's FlowMonitor, a file a run, for scripts that read it.

It has what the run counted: payload bytes; of TCP the segments sent; of UDP and pings the packets sent, received and lost. ``lostPackets`` of UDP includes packets
that were in flight at the end. Haltere keeps no sums of delays, so ``delaySum`` and ``jitterSum`` are absent, never zero.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from ..runs.results import Results

_PROTOCOL = {"cbr": "17", "voip": "17", "ping": "1"}


def write(results: Results, folder: Path) -> list[Path]:
    """A file for each run."""
    runs: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in results.table("flows").to_pylist():
        runs.setdefault((row["point"], row["seed"]), []).append(row)
    stem = Path(results.where.rstrip("/")).name
    paths = []
    for (point, seed), flows in sorted(runs.items()):
        top = ElementTree.Element("FlowMonitor")
        stats = ElementTree.SubElement(top, "FlowStats")
        classifier = ElementTree.SubElement(top, "Ipv4FlowClassifier")
        for number, flow in enumerate(flows, 1):
            ElementTree.SubElement(stats, "Flow", _stats(number, flow))
            ends = {"flowId": str(number), "sourceAddress": flow["from"] or "", "destinationAddress": flow["to"] or ""}
            ElementTree.SubElement(
                classifier, "Flow", {**ends, "protocol": _PROTOCOL.get(flow["kind"], "6"), "name": flow["flow"]}
            )
        ElementTree.indent(top)
        path = folder / f"{stem}-{point}-{seed}.xml"
        ElementTree.ElementTree(top).write(path, encoding="utf-8", xml_declaration=True)
        paths.append(path)
    return paths


def _stats(number: int, flow: dict[str, Any]) -> dict[str, str]:
    """The attributes that a flow has values for."""
    is_tcp = flow["congestion"] is not None
    sent, received = (flow["segments_sent"], None) if is_tcp else (flow["packets_sent"], flow["packets_received"])
    given = {
        "flowId": number,
        "timeFirstTxPacket": f"+{flow['start_ns']}.0ns",
        "timeLastRxPacket": None if flow["completed_ns"] is None else f"+{flow['completed_ns']}.0ns",
        "rxBytes": flow["received_bytes"] if is_tcp or flow["kind"] != "ping" else None,
        "txPackets": sent,
        "rxPackets": received,
        "lostPackets": None if received is None or sent is None else sent - received,
    }
    return {key: str(value) for key, value in given.items() if value is not None}
