//! Aggregated acknowledgements: room for what arrives in one go.
//! Source: draft-ietf-ccwg-bbr section 5.5.9 (extra_acked); Linux since 5.1.
//!
//! Wi-Fi, cable and receivers with offloads hold acknowledgements back and hand them over together. In that time the
//! window must allow to go on sending: the most that was acknowledged above the estimated rate within the
//! last five to ten rounds is added to it.

use super::{Ack, Bbr};
use haltere_units::{Dur, Time};

/// Rounds that each half of the filter lasts.
const WINDOW_ROUNDS: u32 = 5;
/// An epoch of more segments begins anew, so that an old one cannot hide a new excess.
const EPOCH_SEGMENTS: u64 = 1 << 20;
/// The most that is added, as time at the estimated rate.
const MAX_EXTRA: Dur = Dur::from_ms(100);

/// The filter of the excess.
#[derive(Debug, Clone, Default)]
pub(super) struct Aggregation {
    epoch: Time,
    epoch_acked: u64,
    extra: [u64; 2],
    half: usize,
    rounds: u32,
}

impl Aggregation {
    pub fn restart(&mut self, now: Time) {
        self.epoch = now;
        self.epoch_acked = 0;
    }
    /// Segments acknowledged above the estimated rate.
    pub fn extra_acked(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }
    fn next_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            self.rounds = 0;
            self.half = 1 - self.half;
            self.extra[self.half] = 0;
        }
    }
}

impl Bbr {
    pub(super) fn update_aggregation(&mut self, ack: &Ack) {
        if ack.acked == 0 || ack.rate.is_none() {
            return;
        }
        let now = ack.ev.now;
        if self.core.round_start {
            self.aggregation.next_round();
        }
        let mut expected = self.bw().bytes_in(now.since(self.aggregation.epoch)).as_u64() / self.core.mss;
        let a = &mut self.aggregation;
        if a.epoch_acked <= expected || a.epoch_acked + ack.acked >= EPOCH_SEGMENTS {
            a.restart(now);
            expected = 0;
        }
        a.epoch_acked += ack.acked;
        let extra = a.epoch_acked.saturating_sub(expected).min(self.core.cwnd);
        a.extra[a.half] = a.extra[a.half].max(extra);
    }

    /// Segments to add to the window.
    pub(super) fn aggregation_cwnd(&self) -> u64 {
        if !self.core.filled {
            return 0;
        }
        let most = self.bw().bytes_in(MAX_EXTRA).as_u64() / self.core.mss;
        self.aggregation.extra_acked().min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_excess_is_kept_for_five_to_ten_rounds() {
        let mut a = Aggregation::default();
        a.extra[a.half] = 30;
        for round in 0..10 {
            assert_eq!(a.extra_acked(), 30, "round {round}");
            a.next_round();
        }
        assert_eq!(a.extra_acked(), 0, "both halves have been begun anew");
        for extra in [8, 3] {
            a.extra[a.half] = extra;
            (0..WINDOW_ROUNDS).for_each(|_| a.next_round());
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
