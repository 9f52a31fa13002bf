"""Reno in Python: the same windows as `reno` of the tree, to the byte.

Source: RFC 5681 (section 3.1) and RFC 3465 (byte counting), with whole segments as in Linux.
"""

from __future__ import annotations

import haltere
from haltere import param


class Reno(haltere.CongestionControl):
    """Additive increase, multiplicative decrease: one segment more each round trip, half the window after a loss."""

    class Params:
        beta: float = param(0.5, min=0, max=1, doc="The part of the window that stays after a loss.")

    # What time series show besides the window.
    shows = {"credit": "segments"}

    def __init__(self) -> None:
        # `mss`, `initial_window`, `params` and `random` are set already.
        self.initial = max(self.initial_window // self.mss, 1)
        self.window = self.initial  # in whole segments, as Linux holds it
        self.threshold: int | None = None  # None: there was no reduction yet
        self.credit = 0  # segments acknowledged towards the next one
        self.carry = 0  # acknowledged bytes that do not make a segment yet
        self.before: tuple[int, int | None] | None = None  # what a spurious reduction restores

    def on_ack(self, ev):
        # Only acknowledgements that advance count, outside of a reduction (Linux `tcp_cong_avoid`).
        if ev.in_recovery or not ev.acked:
            return
        acked, self.carry = divmod(self.carry + ev.delivered, self.mss)
        if not acked or not ev.cwnd_limited:
            return
        # RFC 5681 section 3.1, slow start: one segment for each acknowledged, up to the threshold.
        if self.threshold is None or self.window < self.threshold:
            used = acked if self.threshold is None else min(acked, self.threshold - self.window)
            self.window += used
            acked -= used
        # Congestion avoidance: one segment for each window acknowledged.
        if acked:
            if self.credit >= self.window:
                self.credit = 0
                self.window += 1
            more, self.credit = divmod(self.credit + acked, self.window)
            self.window += more
        self.cwnd = self.window * self.mss

    def on_loss(self, ev):
        # An echo of congestion is never spurious: there is nothing to restore.
        self.before = (self.window, self.protected()) if ev.kind == "loss" else None
        self.threshold = max(int(self.window * self.params.beta), 2)
        self.window, self.credit = self.threshold, 0
        self.answer()

    def on_rto(self, ev):
        if ev.first:
            self.before = (self.window, self.protected())
            self.threshold = max(int(self.window * self.params.beta), 2)
        self.credit = 0
        self.window = ev.still_in_flight // self.mss + 1
        self.answer()

    def on_spurious(self, now):
        if self.before is not None:
            window, threshold = self.before
            self.window = max(self.window, window)
            self.threshold = None if None in (self.threshold, threshold) else max(self.threshold, threshold)
            self.before = None
            self.answer()

    def on_restart(self, ev):
        # RFC 2861: after an idle time the window is halved for every timeout that passed.
        if ev.rto and ev.idle > ev.rto:
            self.threshold = self.protected()
            halved = self.window >> min((ev.idle - 1) // ev.rto, 63)
            self.window = max(halved, min(self.initial, self.window))
            self.answer()

    def on_cached_ssthresh(self, ssthresh):
        self.threshold = max(ssthresh // self.mss, 2)
        self.answer()

    def protected(self):
        """The threshold that a pause or a mistaken reduction should leave: at least three quarters of the window."""
        return None if self.threshold is None else max(self.threshold, self.window // 2 + self.window // 4)

    def answer(self):
        self.cwnd = self.window * self.mss
        self.ssthresh = None if self.threshold is None else self.threshold * self.mss
