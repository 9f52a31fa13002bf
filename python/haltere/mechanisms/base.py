"""The classes from which mechanisms of your own derive: the same events and names as the mechanisms of the tree.

Before ``__init__`` runs, without arguments, all that the class comments list is there. Times are whole nanoseconds, sizes bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from .. import _core

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
    ``in_recovery`` is already true if this acknowledgement begins an episode. ``on_loss`` follows, if one begins.
    """

    mss: int
    """Payload bytes of a full segment."""
    initial_window: int
    """The initial window in bytes."""
    cwnd: float
    """The congestion window in bytes; less than a segment counts as one. Set it. At first :attr:`initial_window`."""
    ssthresh: float | None = None
    """The slow-start threshold in bytes. Set it. ``None``: there was no reduction yet."""
    pacing_rate: float | None = None
    """The rate at which payload leaves, in bit/s. Set it. ``None``: as soon as the window allows."""
    wants_reduction: bool = False
    """Set it to true in ``on_ack`` to ask for a reduction without loss or echo. During a reduction it is ignored. Otherwise ``on_loss`` follows, and its
    ``kind`` is ``asked``. Set it to false there, else the next reduction begins when this one has ended."""

    ecn: ClassVar[str] = "classic"
    """How the control uses ECN: ``classic`` (RFC 3168), ``per_packet`` (RFC 8257) or ``l4s`` (RFC 9331)."""
    owns_recovery: ClassVar[bool] = False
    """True: the control sets its window during recovery itself. Otherwise the transport reduces it in proportion (RFC 6937)."""

    def on_ack(self, ev: _core.AckEvent) -> None:
        """Data was newly acknowledged, cumulatively or selectively. ``ev`` is the same object each time: copy what you keep."""

    def on_loss(self, ev: _core.LossEvent) -> None:
        """A recovery episode begins (loss found without a timeout, an ECN echo, or :attr:`wants_reduction`): reduce, once."""

    def on_rto(self, ev: _core.RtoEvent) -> None:
        """The retransmission timer fired."""

    def on_segment_lost(self, lost: _core.LostSegment) -> None:
        """A segment was marked lost. Called for each one, before the event of the acknowledgement or timeout that marked it."""

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
        """A transmission while nothing is outstanding, before it is sent: after an idle time, or with a pace below a segment a round trip."""

    def on_flight_start(self, now: int) -> None:
        """A transmission while nothing is in flight, before it is sent: after an idle time, or when all that is outstanding was lost."""

    bytes_between_losses: float = 0
    """Bytes between losses, by which a coupled control ranks its path. Set it, if siblings are to see it."""

    def on_coupling(self, siblings: Sequence[_core.Sibling], this: int) -> None:
        """The subflows of a multipath connection, before each ``on_ack`` and ``on_loss``; ``this`` is the place of this one among them."""

    def on_returned(self, now: int, size: int) -> bool:
        """A switch returned a marked packet with so many payload bytes. True: the control supports such packets; they count as marked now."""
        return False


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
    timer: int | None = None
    """When :meth:`on_timer` is called next, in nanoseconds. Set it. Only read if the class has an ``on_timer``."""
    ready_at: int | None = None
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
        """Called at the time of :attr:`timer`: set the next one."""

    def drop(self, packet: _core.Packet, *, overlimit: bool = False) -> None:
        """Drops a packet that waits, or the one that arrives: to signal congestion, or as the queue is at its limit."""
        self._verdicts.append((packet.id, 1 if overlimit else 0))

    def mark(self, packet: _core.Packet, *, threshold: bool = False) -> bool:
        """Sets the packet's ECN field to CE, instead of a drop or by a fixed threshold. False if it is not ECN-capable: drop it instead."""
        if not packet.ecn_capable:
            return False
        self._verdicts.append((packet.id, 3 if threshold else 2))
        return True


class Scheduler(Mechanism):
    """A path scheduler of Multipath TCP: it says which paths carry a segment."""

    replicates: ClassVar[bool] = False
    """True: segments go on several paths. :meth:`pick` is then asked again for each path once that has room."""
    queues_ahead: ClassVar[bool] = False
    """True: a path is given more than its window lets it send now. The rest waits in the subflow's own buffer."""

    def pick(
        self, now: int, paths: Sequence[_core.PathView], seg: _core.SegView
    ) -> _core.PathView | int | Iterable[_core.PathView | int] | None:
        """The path that carries this segment, or several, or their numbers; ``None`` to wait. Only a path that ``is_open`` can take it now."""
        raise NotImplementedError("a path scheduler needs `pick`")

    def on_relations(self, relations: _core.Relations) -> None:
        """The first correlator knows anew which paths share a bottleneck."""


class Classifier(Mechanism):
    """A flow classifier: it calls each packet short or long. It is before a service and two disciplines in the queue ``classed``."""

    rate: int | None
    """The link's rate in bit/s; ``None`` if packets take no time."""
    rtt: int | None
    """The round-trip time without queues of the flows that cross the link, in nanoseconds, if it is known."""
    full_packet: int
    """The length of a full packet on this link, headers and framing included."""

    is_random: ClassVar[bool] = False
    """True: it draws random numbers. Only then it has :attr:`random`."""
    is_constant_per_flow: ClassVar[bool] = False
    """True: all packets of a flow get one class, so that any service keeps their order."""

    def classify(self, now: int, packet: _core.Packet) -> Literal["short", "long"]:
        """The class of a packet that arrives now."""
        raise NotImplementedError("a flow classifier needs `classify`")


class Source(Mechanism):
    """A traffic source: the application of a TCP flow. It says by :meth:`step` when it writes next, and by :meth:`write` how much.

    The client is the flow's sender. The server reads at once.
    """

    writable: int = 0
    """Bytes for which the send buffer has room now, at the end whose event is handled."""
    unacknowledged: int = 0
    """Bytes that end has written and the other has not acknowledged."""
    limit: int | None = None
    """Bytes after which the flow is complete. Set it in ``__init__`` or as a class attribute. ``None``: it has no end of its own."""

    _written: int = 0
    _closed: bool = False
    """The connection is to be closed after this call."""
    _was_closed = False

    def step(self, now: int) -> int | None:
        """It is the start of the flow, or the time that the last step returned. Returns the time of the next step, or ``None``."""
        raise NotImplementedError("a traffic source needs `step`")

    def on_client(self, now: int, received: int) -> int | None:
        """A segment reached the client, which read so many bytes. Returns the time of a step that is not yet asked for, or ``None``."""

    def on_server(self, now: int, received: int) -> None:
        """The server has read so many bytes. What is written here is the response."""

    def write(self, size: float) -> int:
        """Writes so many bytes, as far as there is room. Returns how many."""
        if size < 0:
            raise ValueError(f"write: size must be 0 or more, got {size}")
        taken = min(int(size), self.writable)
        self.writable -= taken
        self.unacknowledged += taken
        self._written += taken
        return taken

    def close(self) -> None:
        """Nothing is written after this. A second call does nothing."""
        self._closed = not self._was_closed
        self._was_closed = True
