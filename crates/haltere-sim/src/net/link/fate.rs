//! The result of a discipline for each packet: counters, and the draws and signals of the disciplines that have any.

use super::watch::Watch;
use crate::net::packet::{Packet, Pool};
use haltere_plan::rng::Rng;
use haltere_queue::{DropReason, Fate, MarkReason, PureAck};
use haltere_units::Time;

/// Counters that a packet which passes the discipline does not touch.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// The sum of the instants at which packets left the discipline, less the sum of those at which they arrived. With
    /// `waiting * now` added it is the integral of the packets waiting.
    pub(super) balance_ns: i128,
    pub(super) dropped_overlimit: u64,
    pub(super) dropped_congestion: u64,
    pub(super) peak_packets: u32,
    /// Packets put on the line ahead of time that arrive after the end of the warm-up, when counters are read.
    pub(super) later_packets: u32,
    /// The bytes of those packets.
    pub(super) later_bytes: u64,
    pub(super) signals: LazySignals,
}

impl Counters {
    #[inline]
    pub(super) fn count_drop(&mut self, reason: DropReason) {
        match reason {
            DropReason::Overlimit => self.dropped_overlimit += 1,
            _ => self.dropped_congestion += 1,
        }
    }
}

/// The congestion signals of a discipline, allocated at the first one. Few disciplines draw, mark or emit packets.
#[derive(Debug, Default)]
pub(super) struct LazySignals {
    /// Seed of the discipline's random stream.
    pub(super) seed: u64,
    pub(super) made: Option<Box<Signals>>,
}

/// Random stream and counters of the disciplines that draw, mark or emit packets.
#[derive(Debug)]
pub(super) struct Signals {
    pub(super) rng: Rng,
    pub(super) marked: u64,
    pub(super) emitted: u64,
    /// What the plan asks of this link beyond its counters.
    pub(super) watch: Option<Box<Watch>>,
}

impl LazySignals {
    pub(super) fn get(&mut self) -> &mut Signals {
        let seed = self.seed;
        self.made
            .get_or_insert_with(|| Box::new(Signals { rng: Rng::from_seed(seed), marked: 0, emitted: 0, watch: None }))
    }
    pub(super) fn watch(&mut self) -> Option<&mut Watch> {
        self.made.as_mut()?.watch.as_deref_mut()
    }
}

/// Counts what the discipline reports, and draws for it.
pub(super) struct QueueFate<'a> {
    pub(super) now: Time,
    pub(super) waiting: &'a mut u32,
    pub(super) counters: &'a mut Counters,
    pub(super) pool: &'a mut Pool,
}

impl QueueFate<'_> {
    #[inline]
    pub(super) fn count_arrival(&mut self) {
        *self.waiting += 1;
        self.counters.balance_ns -= i128::from(self.now.as_ns());
    }
    #[inline]
    pub(super) fn count_departure(&mut self) {
        *self.waiting -= 1;
        self.counters.balance_ns += i128::from(self.now.as_ns());
    }
}

impl Fate<Packet> for QueueFate<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.counters.count_drop(reason);
        if let Some(watch) = self.counters.signals.watch() {
            watch.dropped(self.now, &packet, reason);
        }
        self.count_departure();
        self.pool.give(&packet);
    }
    fn marked(&mut self, packet: &Packet, _reason: MarkReason) {
        let signals = self.counters.signals.get();
        signals.marked += 1;
        if let Some(watch) = &mut signals.watch {
            watch.marked(packet);
        }
    }
    fn emit(&mut self, copy: Packet) {
        self.counters.signals.get().emitted += 1;
        self.pool.emit(&copy);
    }
    fn pure_ack(&self, packet: &Packet) -> Option<PureAck> {
        self.pool.pure_ack(packet)
    }
    fn random(&mut self) -> u64 {
        self.counters.signals.get().rng.bits()
    }
}
