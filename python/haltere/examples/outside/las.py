"""A flow classifier in Python: the same classes as `las` of the tree."""

from __future__ import annotations

import haltere
from haltere import param
from haltere.mechanisms import Bytes, Duration


class Las(haltere.Classifier):
    """Calls a packet long if its flow has sent more than a threshold before it."""

    class Params:
        threshold: Bytes = param("16kB", min="1B", doc="Bytes of a flow that are short.")
        timeout: Duration = param("120s", min="1ns", doc="A flow that was silent for longer is forgotten.")

    # What time series show.
    shows = {"known_flows": ""}

    def __init__(self) -> None:
        self.flows: dict = {}  # the bytes of each flow, and when it was seen last
        self.swept = 0

    @property
    def known_flows(self):
        return len(self.flows)

    def classify(self, now, packet):
        if now - self.swept > self.params.timeout:
            self.flows = {flow: one for flow, one in self.flows.items() if now - one[1] <= self.params.timeout}
            self.swept = now
        attained, seen = self.flows.get(packet.flow, (0, now))
        if now - seen > self.params.timeout:
            attained = 0
        self.flows[packet.flow] = attained + packet.len, now
        return "short" if attained < self.params.threshold else "long"
