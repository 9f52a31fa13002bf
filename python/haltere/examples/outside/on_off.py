"""A traffic source in Python: with constant times it writes what `on_off` of the tree writes, at the same nanosecond."""

from __future__ import annotations

import haltere
from haltere import param
from haltere.mechanisms import SECOND, Duration, Rate


class OnOff(haltere.Source):
    """Writes at a rate while it is on, and is silent while it is off."""

    class Params:
        bitrate: Rate = param("2Mbit", min="1kbit", doc="The rate while it is on.")
        packet: int = param(1000, min=1, unit="bytes", doc="Bytes of one write.")
        on: Duration = param("1s", min="1us", doc="How long it is on.")
        off: Duration = param("1s", min="1us", doc="How long it is off.")

    def __init__(self) -> None:
        self.gap = 8 * self.params.packet * SECOND // self.params.bitrate  # between two writes
        self.wait = self.gap  # until the next write, counted while on
        self.action = self.turn_on
        self.on_until = 0
        self.unsent = 0  # of a write for which there was no room

    def step(self, now):
        due = now
        while due == now:
            due = self.action(now) or self.next_after(now)
        return due

    def turn_on(self, now):
        self.on_until = now + self.params.on

    def turn_off(self, now):
        self.action = self.turn_on
        return now + self.params.off

    def send(self, now):
        size = self.unsent or self.params.packet
        has_room = self.writable >= size or self.unacknowledged == 0
        self.unsent = size - self.write(size) if has_room else size
        self.wait = self.gap

    def next_after(self, now):
        due = now + self.wait
        if due <= self.on_until:
            self.action = self.send
            return due
        self.action, self.wait = self.turn_off, due - self.on_until
        return self.on_until
