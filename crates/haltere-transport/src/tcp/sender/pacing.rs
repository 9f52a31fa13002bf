//! Pacing: when the next segment may leave.
//! Source: RFC 9002 section 7.7, Linux's internal pacing.
//! Deviations (Linux): a paced sender's first ten segments go out unpaced.
//! Units: ns, bit/s. Cost: O(1). Known problems: none.

use crate::tcp::time::Deadline;
use haltere_units::{Dur, Rate, Time};

/// Segments that are not paced (Linux, after the packet scheduler fq).
const UNPACED: u64 = 10;

#[derive(Debug)]
pub(crate) struct Pacing {
    /// The time to wake up for a segment that waits.
    wake: Deadline,
    next_departure: Time,
}

impl Pacing {
    pub(crate) fn new() -> Pacing {
        Pacing { wake: Deadline::NONE, next_departure: Time::ZERO }
    }
    /// Departure time of the next segment.
    #[inline]
    pub(crate) fn next_departure(&self) -> Time {
        self.next_departure
    }
    #[inline]
    pub(crate) fn wake(&self) -> Deadline {
        self.wake
    }
    /// True if a segment may leave now; else the time to wake up is set.
    #[inline]
    pub(crate) fn may_send(&mut self, now: Time) -> bool {
        if self.next_departure > now {
            self.wake = Deadline::at(self.next_departure);
            return false;
        }
        true
    }
    /// Segments that may leave now, after so many that did.
    pub(crate) fn sendable(&self, now: Time, sent: u64) -> u64 {
        if self.next_departure > now { 0 } else { UNPACED.saturating_sub(sent).max(1) }
    }
    /// A segment of `len` bytes leaves, the `number`-th of the connection.
    pub(crate) fn on_sent(&mut self, now: Time, len: u32, rate: Rate, number: u64) {
        let before = self.next_departure;
        self.next_departure = before.max(now);
        if rate.as_bps() == 0 || number < UNPACED {
            return;
        }
        let gap = Dur::from_ns(u64::from(len) * 8_000_000_000 / rate.as_bps());
        let credit = self.next_departure - before; // a late start is made good, up to half a gap
        self.next_departure += gap - credit.min(gap / 2);
    }
    #[inline]
    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.wake.take_due(now);
    }
}
