//! Queues without a copy: a packet that waits keeps its place among those in flight.
//!
//! Some disciplines are first in, first out, and decide about a packet when it arrives ([`Qdisc::admits`]): drop tail,
//! and a threshold in packets or bytes. Their queue is a list of places, and no packet is copied into the discipline and
//! out again. The discipline stays empty, and is asked about arrivals only. Packets of a link that is watched or eager,
//! has a device ring or a limit that varies wait in the discipline.

use super::{Apart, SimLink};
use crate::engine::prefetch::fetch_all;
use crate::net::flight::Flights;
use crate::net::packet::{Packet, Pool};
use haltere_queue::{Admission, Backlog, Pkt, Qdisc, Queue};
use haltere_units::Time;
use std::collections::VecDeque;

/// Packets for which an empty queue keeps room.
const SPARE: usize = 8;
/// How many packets leave before one whose place is prefetched.
const SOON: usize = 16;

/// The packets that wait, as places with the packets' lengths.
#[derive(Debug, Default)]
pub(super) struct Places {
    waiting: VecDeque<(u32, u32)>,
    bytes: u64,
}

impl Places {
    #[inline(always)]
    fn push(&mut self, place: u32, len: u32) {
        self.bytes += u64::from(len);
        self.waiting.push_back((place, len));
    }
    /// The place and the length of the first. Prefetches a place that comes soon.
    #[inline(always)]
    fn pop(&mut self, flights: &Flights<Packet>) -> Option<(u32, u32)> {
        let (place, len) = self.waiting.pop_front()?;
        if let Some((soon, _)) = self.waiting.get(SOON) {
            flights.fetch_place(*soon);
        }
        self.bytes -= u64::from(len);
        if self.waiting.is_empty() && self.waiting.capacity() > SPARE {
            self.waiting.shrink_to(0); // of thousands of queues few are full at one time
        }
        Some((place, len))
    }
}

impl SimLink {
    /// Prefetches the list of the packets that wait in their places.
    #[inline(always)]
    pub fn fetch_places(&self) {
        if let Some(apart) = self.apart.as_deref() {
            fetch_all(apart);
        }
    }
    #[inline(always)]
    fn places(&self) -> Option<&Places> {
        match self.apart.as_deref() {
            Some(Apart::Places(places)) => Some(places),
            _ => None,
        }
    }
    #[inline(always)]
    fn places_mut(&mut self) -> &mut Places {
        let apart = self.apart.get_or_insert_with(|| Box::new(Apart::Places(Places::default())));
        match &mut **apart {
            Apart::Places(places) => places,
            Apart::Device(_) => unreachable!("packets of a link with a device ring wait in the discipline"),
        }
    }
    /// True if packets may wait in their places.
    pub(super) fn suits_places(&self) -> bool {
        self.queue.admits() && !self.special && !self.eager
    }
    /// What waits, in places or in the discipline.
    pub(super) fn backlog(&self) -> Backlog {
        if !self.in_place {
            return self.queue.backlog();
        }
        let bytes = self.places().map_or(0, |places| places.bytes);
        Backlog { packets: self.waiting, bytes }
    }
    /// The packet at that place, of that length, waits, or the discipline drops it.
    #[inline(always)]
    pub(super) fn wait_in_place(&mut self, now: Time, (place, len): (u32, u32), pool: &mut Pool) {
        let backlog = Backlog { packets: self.waiting, bytes: self.places_mut().bytes };
        let (packet, _) = pool.flights.get_mut(place);
        // Drop tail, which most links have, is inlined.
        let admission = match &mut self.queue {
            Queue::DropTail(queue) => queue.admit(backlog, packet),
            queue => queue.admit(backlog, packet),
        };
        if self.moody {
            self.passing = 0;
        }
        match admission {
            Admission::Keep => {}
            Admission::Mark => {
                packet.set_ce();
                self.counters.signals.get().marked += 1;
            }
            Admission::Drop(reason) => {
                self.counters.count_drop(reason);
                let packet = pool.flights.take(place);
                return pool.give(&packet);
            }
        }
        self.waiting += 1;
        self.counters.balance_ns -= i128::from(now.as_ns());
        self.places_mut().push(place, len);
    }
    /// The place and the length of the packet that the line takes at `start`.
    #[inline(always)]
    pub(super) fn next_in_place(&mut self, start: Time, pool: &Pool) -> Option<(u32, u32)> {
        let next = self.places_mut().pop(&pool.flights)?;
        self.waiting -= 1;
        self.counters.balance_ns += i128::from(start.as_ns());
        Some(next)
    }
    /// The packet that leaves after `n` others, if that is known at once.
    #[inline(always)]
    pub fn upcoming<'a>(&'a self, n: usize, pool: &'a Pool) -> Option<&'a Packet> {
        if !self.in_place {
            return self.queue.upcoming(n);
        }
        let (place, _) = self.places()?.waiting.get(n)?;
        pool.flights.look(*place)
    }
    /// Removes what waits in places.
    pub(super) fn leave_places(&mut self, now: Time, pool: &mut Pool) -> Vec<Packet> {
        let mut packets = Vec::new();
        if core::mem::take(&mut self.in_place) {
            while let Some((place, _)) = self.next_in_place(now, pool) {
                packets.push(pool.flights.take(place));
            }
        }
        packets
    }
}
