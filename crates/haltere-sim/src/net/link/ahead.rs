//! A link that takes packets ahead of time, and the link that feeds it: see [`ahead`](crate::net::ahead).

use super::{Link, NO_FEEDER, Next};
use crate::net::flight::Flights;
use crate::net::packet::Packet;
use haltere_queue::{Qdisc, Returns};
use haltere_units::Time;

impl Link {
    /// Only links without oddities feed others ahead of time, or are fed.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.extras.is_none()
    }
    /// True where an empty line takes a packet without asking the discipline.
    pub fn lets_pass(&self) -> bool {
        self.passing > 0
    }
    /// True where the discipline sends copies back to where packets came from.
    pub fn returns(&self) -> bool {
        self.queue.returns() != Returns::Never
    }
    /// What it sends may go ahead of time; `index` is its own.
    pub fn feed(&mut self, index: u32) {
        self.feeder = index;
    }
    /// True where it [feeds](Link::feed) others.
    #[inline(always)]
    pub fn feeds(&self) -> bool {
        self.feeder != NO_FEEDER
    }
    /// Its one feeder may put packets on it ahead of time, once packets have come to it as ever by `time`.
    #[inline(always)]
    pub fn open_after(&mut self, time: Time) {
        self.open_from = time;
    }
    /// True where packets [may](Link::open_after) be put on it ahead of time at times.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        self.open_from != Time::NEVER
    }
    /// True where a packet of `len` bytes that arrives at `due` will find the line free, nothing waiting and none before it on its way.
    #[inline(always)]
    pub fn will_pass(&self, now: Time, due: Time, len: u32) -> bool {
        self.open_from < now && self.passes(due, len)
    }
    /// The packet of that place and length [will pass](Link::will_pass) when it arrives at `due`; it counts from `horizon` on, where that
    /// is earlier.
    #[inline(always)]
    pub fn pass_ahead(
        &mut self,
        (now, due, horizon): (Time, Time, Time),
        (place, len): (u32, u32),
        flights: &mut Flights<Packet>,
    ) -> Next {
        let alone = self.is_clear(now);
        if due < horizon {
            self.arrived += 1;
            self.sent_bytes += u64::from(len);
        } else {
            self.tally.later_packets += 1;
            self.tally.later_bytes += u64::from(len);
        }
        self.occupy(due);
        let due = self.serialise(due, len);
        flights.go_on(place, due);
        if alone {
            return Next::Delivery(due, place);
        }
        flights.join(&mut self.flight, place);
        if self.scheduled == Time::NEVER { self.schedule(flights) } else { Next::Nothing }
    }
    /// The horizon is reached: what was to count later counts now.
    pub fn count_later(&mut self) {
        self.arrived += u64::from(core::mem::take(&mut self.tally.later_packets));
        self.sent_bytes += core::mem::take(&mut self.tally.later_bytes);
    }
    /// What was sent from here and lies at that place goes the usual way.
    pub fn fly(&mut self, place: u32, flights: &mut Flights<Packet>) -> Next {
        flights.join(&mut self.flight, place);
        self.schedule(flights) // perhaps earlier than what is pending: that was for later packets
    }
    /// When a link with a backlog and nothing in flight is to be looked at again: when the line is free, or, as no packet sent then
    /// comes to the next link earlier, the delay after that.
    #[inline]
    pub(super) fn look_again(&self) -> Time {
        if self.feeds() { self.free_at + self.delay } else { self.free_at }
    }
}
