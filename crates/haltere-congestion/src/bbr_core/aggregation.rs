//! Aggregated acknowledgements: room for what arrives in one go.
//! Source: draft-ietf-ccwg-bbr section 5.5.9 (extra_acked); Linux since 5.1.
//!
//! Wi-Fi, cable and receivers with offloads hold acknowledgements back and hand them over together. In that time the
//! window must allow to go on sending: the most that was acknowledged above the estimated rate within the last five to
//! ten rounds is added to it.

use super::{Ack, Core, LastTwo};
use haltere_units::{Dur, Rate, Time};

/// Rounds that each half of the filter lasts.
const WINDOW_ROUNDS: u32 = 5;
/// An epoch of more segments begins anew, so that an old one cannot hide a new excess.
const EPOCH_SEGMENTS: u64 = 1 << 20;
/// The most that is added, as time at the estimated rate.
const MAX_EXTRA: Dur = Dur::from_ms(100);

/// The filter of the excess.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregation {
    epoch: Time,
    epoch_acked: u64,
    extra: LastTwo<u64>,
    rounds: u32,
}

impl Aggregation {
    pub fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.epoch_acked = 0;
    }
    /// The largest excess of the last rounds, in segments.
    pub fn extra_acked(&self) -> u64 {
        self.extra.get()
    }
    /// The same, at most what the path carries in 100 ms.
    pub fn cwnd(&self, core: &Core, bw: Rate) -> u64 {
        self.extra.get().min(bw.bytes_in(MAX_EXTRA).as_u64() / core.mss)
    }
    /// Each half of the filter lasts so many rounds.
    fn next_round(&mut self, window: u32) {
        self.rounds += 1;
        if self.rounds >= window {
            self.rounds = 0;
            self.extra.advance();
        }
    }
    /// Segments that an acknowledgement delivers above that bandwidth, since the excess began; at most the window.
    pub fn excess(&mut self, ack: &Ack, core: &Core, bw: Rate) -> u64 {
        let now = ack.ev.now;
        let mut expected = bw.bytes_in(now.since(self.epoch)).as_u64() / core.mss;
        if self.epoch_acked <= expected || self.epoch_acked + ack.acked >= EPOCH_SEGMENTS {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked += ack.acked;
        self.epoch_acked.saturating_sub(expected).min(core.cwnd)
    }
    /// Takes an acknowledgement into the filter. In Startup of version 3 (`brief`) each half lasts one round.
    pub fn update(&mut self, ack: &Ack, core: &Core, bw: Rate, brief: bool) {
        if ack.acked == 0 || ack.rate.is_none() {
            return;
        }
        if core.round_start {
            self.next_round(if brief { 1 } else { WINDOW_ROUNDS });
        }
        let excess = self.excess(ack, core, bw);
        self.extra.update(excess);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_excess_is_kept_for_five_to_ten_rounds() {
        let mut a = Aggregation::default();
        a.extra.update(30);
        for round in 0..10 {
            assert_eq!(a.extra_acked(), 30, "round {round}");
            a.next_round(WINDOW_ROUNDS);
        }
        assert_eq!(a.extra_acked(), 0, "both halves have been begun anew");
        for extra in [8, 3] {
            a.extra.update(extra);
            (0..WINDOW_ROUNDS).for_each(|_| a.next_round(WINDOW_ROUNDS));
        }
        assert_eq!(a.extra_acked(), 3);
    }

    #[test]
    fn an_epoch_begins_with_nothing() {
        let mut a = Aggregation { epoch_acked: 7, ..Aggregation::default() };
        a.restart(Time::from_ns(5));
        assert_eq!((a.epoch, a.epoch_acked), (Time::from_ns(5), 0));
    }
}
