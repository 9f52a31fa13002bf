//! The window that the peer advertises.
//! Source: RFC 9293 section 3.10.7.4 (SND.WND, SND.WL1, SND.WL2).
//! Deviations: none. Units: stream offsets, bytes. Cost: O(1). Known problems: none.

use super::incoming::IncomingAck;
use crate::tcp::seq::Offset;

/// The peer's receive window.
#[derive(Debug)]
pub(crate) struct SendWindow {
    /// The first offset that the peer does not take.
    end: Offset,
    /// SND.WL1 and SND.WL2: sequence number and acknowledgement of the last update.
    wl1: Offset,
    wl2: Offset,
    /// The largest size that it had (Linux's `max_window`).
    largest: u64,
}

impl SendWindow {
    pub(crate) fn new() -> SendWindow {
        SendWindow { end: Offset::FIRST, wl1: Offset::SYN, wl2: Offset::FIRST, largest: 0 }
    }
    /// The window as it was while there was no sender.
    pub(crate) fn restore(&mut self, end: Offset, wl1: Offset) {
        (self.end, self.wl1) = (end, wl1);
        self.largest = end.since(Offset::FIRST);
    }
    /// The window of the peer's SYN.
    pub(crate) fn open(&mut self, end: Offset) {
        self.end = end;
        self.largest = end.since(Offset::FIRST);
    }
    /// The largest window that the peer has shown.
    #[inline]
    pub(crate) fn largest(&self) -> u64 {
        self.largest
    }
    #[inline]
    pub(crate) fn end(&self) -> Offset {
        self.end
    }

    /// Takes the window of an acknowledgement, if it is not older than the last one taken. True if its size changed.
    #[inline]
    pub(crate) fn update(&mut self, a: &IncomingAck<'_>, una: Offset) -> bool {
        let end = a.ack + a.window;
        if !(a.ack > una || a.seq > self.wl1 || (a.seq == self.wl1 && end > self.end)) {
            return false;
        }
        self.wl1 = a.seq;
        if end == self.end && a.ack == self.wl2 {
            return false;
        }
        let changed = a.window != self.end.get().wrapping_sub(self.wl2.get());
        self.end = end;
        self.wl2 = a.ack;
        self.largest = self.largest.max(a.window);
        changed
    }
    /// The same if nothing is in flight and nothing is acknowledged: it never shrinks. True if it was not older.
    #[inline]
    pub(crate) fn update_idle(&mut self, a: &IncomingAck<'_>) -> bool {
        let fresh = a.seq >= self.wl1;
        if fresh {
            self.wl1 = a.seq;
            self.wl2 = a.ack;
            self.end = self.end.max(a.ack + a.window);
            self.largest = self.largest.max(a.window);
        }
        fresh
    }
}
