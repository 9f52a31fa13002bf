"""The classes from which mechanisms of your own derive: the same events and names as the mechanisms of the tree.

Before ``__init__`` runs, without arguments, all that the class comments list is there. Times are whole nanoseconds, sizes bytes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

from .. import _core

__all__ = ["MS", "SECOND", "US", "CongestionControl", "Mechanism", "Queue"]

#: A microsecond, a millisecond and a second in nanoseconds.
US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000


class Mechanism:
    """What all mechanisms have."""

    class Params:
        """The parameters: annotated names, each with :func:`param` as its default."""

    params: Any
    """The parameters of this run, in the mechanism's units."""
    random: random.Random
    """Random numbers of this component: they follow from the run's seed and the component's name. Draw from no others."""
    shows: ClassVar[Mapping[str, str]] = {}
    """Attributes that time series show, and their units: ``{"w_max": "B"}``. The unit of a pure number is ``""``."""


class CongestionControl(Mechanism):
    """A congestion control: it says by :attr:`cwnd` how much may be in flight, and by :attr:`pacing_rate` how fast it leaves.

    Loss recovery belongs to the transport, which asks for one reduction an episode. For one acknowledgement ``on_ack`` comes first; its
    ``in_recovery`` is already true if this acknowledgement begins an episode. Then comes ``on_loss``, if one begins.
    """

    mss: int
    """Payload bytes of a full segment."""
    initial_window: int
    """The initial window in bytes."""
    cwnd: float
    """The congestion window in bytes; less than a segment counts as one. Set it. At first :attr:`initial_window`."""
    ssthresh: float | None
    """The slow-start threshold in bytes. Set it. ``None``: there was no reduction yet."""
    pacing_rate: float | None
    """The rate at which payload leaves, in bit/s. Set it. ``None``: as soon as the window allows."""

    ecn: ClassVar[str] = "classic"
    """How the control uses ECN: ``classic`` (RFC 3168), ``per_packet`` (RFC 8257) or ``l4s`` (RFC 9331)."""
    owns_recovery: ClassVar[bool] = False
    """True: the control sets its window during recovery itself. Otherwise the transport reduces it in proportion (RFC 6937)."""

    def on_ack(self, ev: _core.AckEvent) -> None:
        """Data was newly acknowledged, cumulatively or selectively. ``ev`` is the same object each time: copy what you keep."""

    def on_loss(self, ev: _core.LossEvent) -> None:
        """A recovery episode begins (loss found without a timeout, or an ECN echo): reduce, once."""

    def on_rto(self, ev: _core.RtoEvent) -> None:
        """The retransmission timer fired."""

    def on_segment_lost(self, lost: _core.LostSegment) -> None:
        """A segment was marked lost. This comes for each, before the event of the acknowledgement or timeout that marked it."""

    def on_recovered(self, now: int) -> None:
        """The recovery episode is over: all that was outstanding at its start is acknowledged."""

    def on_established(self, now: int, rtt: int) -> None:
        """The connection is established; the handshake measured this round-trip time."""

    def on_cached_ssthresh(self, ssthresh: int) -> None:
        """Before anything is sent: the host remembers this slow-start threshold of an earlier connection."""
        self.ssthresh = ssthresh

    def on_spurious(self, now: int) -> None:
        """The last reduction was spurious (Eifel, DSACK): restore the window."""

    def on_restart(self, ev: _core.RestartEvent) -> None:
        """The first transmission after an idle time, before it is sent."""


class Queue(Mechanism):
    """A queue discipline: it decides what a link sends next and what it drops or marks.

    A packet that :meth:`enqueue` was given waits until :meth:`drop` names it or :meth:`dequeue` returns it. One that is forgotten ends the
    run with an error.
    """

    rate: int | None
    """The link's rate in bit/s; ``None`` if packets take no time."""
    rtt: int | None
    """The round-trip time without queues of the flows that cross the link, in nanoseconds, if it is known."""
    full_packet: int
    """The length of a full packet on this link, headers and framing included."""
    timer: int | None
    """When :meth:`on_timer` is called next, in nanoseconds. Set it. Only read if the class has an ``on_timer``."""
    ready_at: int | None
    """When the next packet may leave. Set it. Only read if :attr:`withholds` is true; ``None``: no packet waits."""

    withholds: ClassVar[bool] = False
    """True: :meth:`dequeue` may return ``None`` although packets wait, as a shaper does."""
    keeps_flow_order: ClassVar[bool] = True
    """False: packets of one flow may overtake each other."""

    _verdicts: list[tuple[int, int]]

    def enqueue(self, now: int, packet: _core.Packet) -> None:
        """A packet arrives. Keep it, or :meth:`drop` it."""
        raise NotImplementedError("a queue discipline needs `enqueue`")

    def dequeue(self, now: int) -> _core.Packet | None:
        """The link can send: the next packet, or ``None`` if none waits."""
        raise NotImplementedError("a queue discipline needs `dequeue`")

    def on_timer(self, now: int) -> None:
        """The time of :attr:`timer` has come: set the next one."""

    def drop(self, packet: _core.Packet, *, overlimit: bool = False) -> None:
        """Drops a packet that waits, or the one that arrives: to signal congestion, or as the queue is at its limit."""
        self._verdicts.append((packet.id, 1 if overlimit else 0))

    def mark(self, packet: _core.Packet, *, threshold: bool = False) -> bool:
        """Sets the packet's ECN field to CE, instead of a drop or by a fixed threshold. False if it is not ECN-capable: drop it instead."""
        if not packet.ecn_capable:
            return False
        self._verdicts.append((packet.id, 3 if threshold else 2))
        return True
