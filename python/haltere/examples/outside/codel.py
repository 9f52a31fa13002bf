"""CoDel in Python: the same drops as `codel` of the tree.

Source: RFC 8289 (section 5, pseudocode). The square root is taken by one fixed-point Newton step, as in Linux.
"""

from __future__ import annotations

from collections import deque

import haltere
from haltere import param
from haltere.mechanisms import Duration

ONE = 0xFFFF_0000  # 2^32 / sqrt(1), of which the upper 16 bits are kept


class Codel(haltere.Queue):
    """Controlled delay: drops at departure once packets have waited longer than `target` for one `interval`."""

    class Params:
        limit: int = param(1000, min=1, unit="packets", doc="A packet that arrives at so many is dropped.")
        target: Duration = param("5ms", min="1us", doc="Standing delay that is acceptable.")
        interval: Duration = param("100ms", min="1us", doc="How long the delay may stay above `target`.")
        ecn: bool = param(False, doc="Mark ECN-capable packets instead of dropping them.")

    shows = {"count": ""}

    def __init__(self) -> None:
        self.packets: deque = deque()
        self.bytes = 0
        self.count = self.lastcount = 0
        self.root = ONE  # 2^32 / sqrt(count)
        self.dropping = False
        self.first_above: int | None = None  # when the delay will have been above target for one interval
        self.drop_next = 0

    def enqueue(self, now, packet):
        if len(self.packets) >= self.params.limit:
            return self.drop(packet, overlimit=True)
        self.packets.append(packet)
        self.bytes += packet.len

    def dequeue(self, now):
        packet, may_drop = self.take(now)
        if self.dropping:
            if not may_drop:
                self.dropping = False
            elif now >= self.drop_next:
                packet = self.drop_due(now, packet)
        elif may_drop:
            packet = self.start_dropping(now, packet)
        return packet

    def take(self, now):
        """RFC 8289 section 5.6: a packet, and whether the delay has been above target for one interval."""
        if not self.packets:
            self.first_above = None
            return None, False
        packet = self.packets.popleft()
        self.bytes -= packet.len
        if now - packet.arrived < self.params.target or self.bytes <= self.full_packet:
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = now + self.params.interval
            return packet, False
        return packet, now >= self.first_above

    def drop_due(self, now, packet):
        """RFC 8289 section 5.5: the drops that are due. A mark ends the turn: the packet goes out."""
        while self.dropping and now >= self.drop_next:
            self.count += 1
            self.root = newton(self.root, self.count)
            if self.params.ecn and self.mark(packet):
                self.drop_next = self.after(self.drop_next)
                return packet
            self.drop(packet)
            packet, may_drop = self.take(now)
            if may_drop:
                self.drop_next = self.after(self.drop_next)
            else:
                self.dropping = False
        return packet

    def start_dropping(self, now, packet):
        """RFC 8289 section 5.5: the first drop of an episode."""
        if not (self.params.ecn and self.mark(packet)):
            self.drop(packet)
            packet, _ = self.take(now)
        self.dropping = True
        delta = self.count - self.lastcount
        if delta > 1 and now - self.drop_next < 16 * self.params.interval:
            self.count, self.root = delta, newton(self.root, delta)
        else:
            self.count, self.root = 1, ONE
        self.lastcount = self.count
        self.drop_next = self.after(now)
        return packet

    def after(self, time):
        """RFC 8289 section 5.4: `time + interval / sqrt(count)`."""
        return time + (self.params.interval * self.root >> 32)


def newton(root, count):
    """One step of Newton's iteration for `1 / sqrt(count)` as a fraction of 2^32."""
    bracket = max((3 << 32) - count * (root * root >> 32), 0) >> 2
    return min(bracket * root >> 31, 0xFFFF_FFFF) & 0xFFFF_0000
