//! Readings of a link during the run and at its end.

use super::SimLink;
use crate::net::packet::Pool;
use haltere_plan::record::LinkCounters;
use haltere_units::Time;

/// Counters and backlog of a link at one instant.
pub(crate) struct LinkView {
    pub counters: LinkCounters,
    pub waiting: u32,
    pub waiting_bytes: u64,
    pub ring_packets: u32,
}

impl SimLink {
    /// The counters up to now.
    fn counters(&self, now: Time) -> LinkCounters {
        let (counters, signals) = (&self.counters, self.counters.signals.made.as_ref());
        let dropped = counters.dropped_overlimit + counters.dropped_congestion;
        let held = self.waiting + self.device().map_or(0, |d| d.fifo.len() as u32);
        let packet_ns = counters.balance_ns + i128::from(self.waiting) * i128::from(now.as_ns());
        LinkCounters {
            arrived: self.arrived,
            sent: self.arrived - dropped - u64::from(held),
            sent_bytes: self.sent_bytes,
            dropped_overlimit: counters.dropped_overlimit,
            dropped_congestion: counters.dropped_congestion,
            marked: signals.map_or(0, |signals| signals.marked),
            emitted: signals.map_or(0, |signals| signals.emitted),
            lost: self.extras.as_ref().map_or(0, |extras| extras.lost),
            duplicated: self.impairments().map_or(0, |impairments| impairments.duplicated),
            packet_ns: u128::try_from(packet_ns)
                .unwrap_or_else(|_| panic!("negative waiting time: {packet_ns} ns for {} packets", self.waiting)),
            peak_packets: counters.peak_packets,
        }
    }
    /// The warm-up ends: the counters until now. The peak is reset.
    pub fn end_warmup(&mut self, now: Time, pool: &mut Pool) -> LinkCounters {
        let counters = self.record(now, pool);
        self.counters.peak_packets = self.waiting;
        self.restart_depths();
        counters
    }
    /// The counters until now.
    pub fn record(&mut self, now: Time, pool: &mut Pool) -> LinkCounters {
        self.catch_up(now, pool);
        self.counters(now)
    }
    /// Counters and backlog now.
    pub fn view(&mut self, now: Time, pool: &mut Pool) -> LinkView {
        self.catch_up(now, pool);
        let backlog = self.backlog();
        assert_eq!(backlog.packets, self.waiting, "the discipline's backlog and the packets in it differ");
        LinkView {
            counters: self.counters(now),
            waiting: backlog.packets,
            waiting_bytes: backlog.bytes,
            ring_packets: self.device().map_or(0, |d| d.fifo.len() as u32),
        }
    }
}
