//! The parts of a link for packets ahead of time: see [`ahead`](crate::net::ahead).

use super::{NOT_AHEAD, Next, SimLink};
use crate::net::flight::Flights;
use crate::net::packet::{Packet, Pool};
use haltere_queue::{Emits, Qdisc};
use haltere_units::Time;

impl SimLink {
    /// The link has no extras. Only such links send or accept packets ahead of time.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.extras.is_none()
    }
    /// An empty line takes a packet without asking the discipline, whatever this had before.
    pub fn lets_pass(&self) -> bool {
        self.passing > 0 && !self.moody
    }
    /// The discipline may emit packets.
    pub fn emits(&self) -> bool {
        self.queue.emits() != Emits::Never
    }
    /// From now on packets of this link, whose index is `index`, may be sent ahead of time.
    pub fn send_ahead_as(&mut self, index: u32) {
        self.index_ahead = index;
    }
    /// The link sends packets ahead of time.
    #[inline(always)]
    pub fn sends_ahead(&self) -> bool {
        self.index_ahead != NOT_AHEAD
    }
    /// The one link before this one may put packets on it ahead of time after `time`. Until then a packet arrives by an
    /// event.
    #[inline(always)]
    pub fn accept_ahead_after(&mut self, time: Time) {
        self.ahead_from = time;
    }
    /// The link [accepts](SimLink::accept_ahead_after) packets ahead of time, now or later.
    #[inline(always)]
    pub fn accepts_ahead(&self) -> bool {
        self.ahead_from != Time::NEVER
    }
    /// True if a packet of `len` bytes that arrives at `due` will find the line free, nothing waiting and no packet
    /// between it and this link.
    #[inline(always)]
    pub fn will_pass(&self, now: Time, due: Time, len: u32) -> bool {
        self.ahead_from < now && self.passes(due, len)
    }
    /// The line takes the packet of that place and length, which [will pass](SimLink::will_pass) when it arrives at
    /// `due`. If it arrives after the warm-up, it is counted then.
    #[inline(always)]
    pub fn pass_ahead(
        &mut self,
        (now, due, warmup): (Time, Time, Time),
        (place, len): (u32, u32),
        flights: &mut Flights<Packet>,
    ) -> Next {
        let alone = self.is_clear(now);
        if due < warmup {
            self.arrived += 1;
            self.sent_bytes += u64::from(len);
        } else {
            self.counters.later_packets += 1;
            self.counters.later_bytes += u64::from(len);
        }
        self.occupy(due);
        let due = self.serialise(due, len);
        flights.set_due(place, due);
        if alone {
            return Next::Delivery(due, place);
        }
        flights.join(&mut self.flight, place);
        if self.scheduled == Time::NEVER { self.schedule(flights) } else { Next::Nothing }
    }
    /// The warm-up has ended: counts the packets that arrive after it.
    pub fn count_later(&mut self) {
        self.arrived += u64::from(core::mem::take(&mut self.counters.later_packets));
        self.sent_bytes += core::mem::take(&mut self.counters.later_bytes);
    }
    /// The packet at that place, which this link sent, arrives at the next link by an event.
    pub fn join_flight(&mut self, place: u32, flights: &mut Flights<Packet>) -> Next {
        flights.join(&mut self.flight, place);
        self.schedule(flights) // perhaps earlier than the pending event, which was for later packets
    }
    /// The link leads to another part of the network, whose windows take the place of its events: what it sends is
    /// asked for at the end of each.
    pub fn send_in_windows_as(&mut self, index: u32) {
        self.send_ahead_as(index);
        self.scheduled = Time::ZERO;
    }
    /// Carries out what is due by `now`. Returns when the line takes the next packet that waits.
    pub fn send_all_until(&mut self, now: Time, pool: &mut Pool) -> Time {
        self.catch_up(now, pool);
        if self.is_backlogged() { self.free_at } else { Time::NEVER }
    }
    /// When a link with a backlog and nothing in flight has its next event. That is when the line is free. A link that
    /// sends ahead adds the delay, because no packet that it sends afterwards reaches the next link earlier.
    #[inline]
    pub(super) fn next_dequeue(&self) -> Time {
        if self.eager {
            return self.next_dequeue_eager();
        }
        if self.sends_ahead() { self.free_at + self.delay } else { self.free_at }
    }
}
