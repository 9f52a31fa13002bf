//! The bounds that losses and marks set (draft sections 5.5.7 and 5.5.10).

use super::probe_bw::AckPhase;
use super::{Ack, Bbr3, State};
use crate::RateSample;
use crate::bbr_core::MIN_CWND;
use haltere_units::Rate;

/// LossThresh: the loss rate that a probe may cause, in percent.
const LOSS_THRESH_PERCENT: u64 = 2;
/// Beta: what a bound is multiplied by.
const BETA_PERCENT: u64 = 70;
/// Headroom: the share of inflight_longterm that is left free for others.
const HEADROOM_PERCENT: u64 = 15;
/// Google's version 3: the weight of the newest round in the marked share, the share of it that is answered, and the
/// share that ends a probe.
const ECN_ALPHA_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESH: f64 = 0.5;

/// Bounds and the signals they come from; `None` is no bound.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub bw_short: Option<Rate>,
    pub inflight_short: Option<u64>,
    pub inflight_long: Option<u64>,
    /// What the last loss lowered, to take it back.
    undo: Option<(Option<Rate>, Option<u64>, Option<u64>)>,

    bw_latest: Rate,
    pub inflight_latest: u64,
    loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    pub loss_bursts: u32,

    /// Marked and delivered bytes of this round.
    marked: u64,
    passed: u64,
    pub ecn_alpha: f64,
    ecn_in_round: bool,
    /// Half or more of the last round's segments were marked.
    pub much_marked: bool,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            bw_short: None,
            inflight_short: None,
            inflight_long: None,
            undo: None,
            bw_latest: Rate::ZERO,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_bursts: 0,
            marked: 0,
            passed: 0,
            // As DCTCP: the first marks are answered fully.
            ecn_alpha: 1.0,
            ecn_in_round: false,
            much_marked: false,
        }
    }
}

impl Bounds {
    /// Draft §5.5.10.3, BBRResetShortTermModel.
    pub fn forget_short(&mut self) {
        self.bw_short = None;
        self.inflight_short = None;
    }
    /// Draft §5.5.10.1, BBRResetCongestionSignals.
    pub fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.bw_latest = Rate::ZERO;
        self.inflight_latest = 0;
    }
    pub fn save(&mut self) {
        self.undo = Some((self.bw_short, self.inflight_short, self.inflight_long));
    }
    pub fn undo(&mut self) {
        let Some((bw_short, inflight_short, inflight_long)) = self.undo.take() else { return };
        // No bound is larger than any.
        self.bw_short = bw_short.and_then(|old| self.bw_short.map(|now| now.max(old)));
        self.inflight_short = inflight_short.and_then(|old| self.inflight_short.map(|now| now.max(old)));
        self.inflight_long = inflight_long.and_then(|old| self.inflight_long.map(|now| now.max(old)));
    }

    /// Draft §5.6.4.7, BBRInflightWithHeadroom.
    pub fn with_headroom(&self) -> Option<u64> {
        self.inflight_long.map(|bound| {
            let headroom = (bound * HEADROOM_PERCENT / 100).max(1);
            bound.saturating_sub(headroom).max(MIN_CWND)
        })
    }

    fn end_ecn_round(&mut self) {
        if self.passed == 0 {
            return;
        }
        let share = (self.marked as f64 / self.passed as f64).min(1.0);
        self.ecn_alpha += ECN_ALPHA_GAIN * (share - self.ecn_alpha);
        self.much_marked = share >= ECN_THRESH;
        self.marked = 0;
        self.passed = 0;
    }
}

/// Draft §5.5.10.2, IsInflightTooHigh.
pub(super) fn lost_too_much(rate: &RateSample) -> bool {
    rate.lost.as_u64() * 100 > rate.tx_in_flight.as_u64() * LOSS_THRESH_PERCENT
}

impl Bbr3 {
    /// Draft §5.5.10.3, BBRUpdateLatestDeliverySignals and BBRUpdateCongestionSignals.
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack) {
        self.count_marks(ack);
        let b = &mut self.bounds;
        b.loss_round_start = false;
        if ack.lost > 0 {
            b.loss_in_round = true;
            b.loss_bursts += 1;
        }
        let Some(rate) = ack.rate else { return };
        b.bw_latest = b.bw_latest.max(Rate::of(rate.delivered, rate.interval));
        b.inflight_latest = b.inflight_latest.max(rate.delivered.as_u64() / self.core.mss);
        if rate.prior_delivered >= b.loss_round_delivered {
            b.loss_round_delivered = rate.total_delivered;
            b.loss_round_start = true;
            self.adapt_lower_bounds();
        }
    }

    /// Draft §5.5.10.3, BBRAdvanceLatestDeliverySignals.
    pub(super) fn advance_signals(&mut self, ack: &Ack) {
        let Some(rate) = ack.rate.filter(|_| self.bounds.loss_round_start) else { return };
        self.bounds.bw_latest = Rate::of(rate.delivered, rate.interval);
        self.bounds.inflight_latest = rate.delivered.as_u64() / self.core.mss;
        self.bounds.loss_in_round = false;
        self.bounds.ecn_in_round = false;
        self.bounds.loss_bursts = 0;
    }

    fn count_marks(&mut self, ack: &Ack) {
        if !self.params.ecn {
            return;
        }
        let b = &mut self.bounds;
        if self.core.round_start {
            b.end_ecn_round();
        }
        b.passed += ack.ev.delivered.as_u64();
        b.marked += ack.ev.ce.as_u64();
        b.ecn_in_round |= ack.ev.ce.as_u64() > 0;
    }

    /// Draft §5.5.10.3, BBRAdaptLowerBoundsFromCongestion: not while probing, where losses are the point.
    fn adapt_lower_bounds(&mut self) {
        if matches!(self.state, State::Startup | State::Refill | State::Up) {
            return;
        }
        let (cwnd, max_bw) = (self.core.cwnd, self.core.max_bw.get());
        let b = &mut self.bounds;
        if b.ecn_in_round {
            let kept = 1.0 - ECN_FACTOR * b.ecn_alpha;
            b.inflight_short = Some((b.inflight_short.unwrap_or(cwnd) as f64 * kept) as u64);
        }
        if b.loss_in_round {
            let bw = b.bw_short.unwrap_or(max_bw).as_bps() / 100 * BETA_PERCENT;
            b.bw_short = Some(b.bw_latest.max(Rate::from_bps(bw)));
            let inflight = b.inflight_short.unwrap_or(cwnd) * BETA_PERCENT / 100;
            b.inflight_short = Some(b.inflight_latest.max(inflight));
        }
    }

    fn too_high(&self, rate: &RateSample) -> bool {
        lost_too_much(rate) || self.params.ecn && self.core.round_start && self.bounds.much_marked
    }

    /// Draft §5.5.10.2, BBRAdaptLongTermModel.
    pub(super) fn adapt_long_term(&mut self, ack: &Ack) {
        let Some(rate) = ack.rate else { return };
        if self.core.round_start {
            match self.cycle.acks {
                AckPhase::ProbeStarting => self.cycle.acks = AckPhase::ProbeFeedback,
                AckPhase::ProbeStopping => {
                    self.cycle.probing = false;
                    self.cycle.acks = AckPhase::Init;
                    if self.in_probe_bw() && !rate.app_limited {
                        self.cycle_count += 1;
                    }
                }
                _ => {}
            }
        }
        if self.too_high(&rate) {
            if self.cycle.probing {
                self.handle_too_high(ack, &rate);
            }
            return;
        }
        let Some(bound) = self.bounds.inflight_long else { return };
        let tx_in_flight = rate.tx_in_flight.as_u64() / self.core.mss;
        self.bounds.inflight_long = Some(bound.max(tx_in_flight));
        if self.state == State::Up {
            self.raise_long_term(ack);
        }
    }

    /// Draft §5.5.10.2, BBRHandleInflightTooHigh.
    fn handle_too_high(&mut self, ack: &Ack, rate: &RateSample) {
        self.cycle.probing = false;
        if !rate.app_limited {
            let target = self.target_inflight() * BETA_PERCENT / 100;
            self.bounds.inflight_long = Some((rate.tx_in_flight.as_u64() / self.core.mss).max(target));
        }
        if self.state == State::Up {
            self.start_down(ack.ev.now, ack.rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Bytes, Dur};

    #[test]
    fn two_percent_of_the_flight_may_be_lost() {
        let mut rate = RateSample::new(Bytes::new(1), Dur::from_ms(1));
        rate.tx_in_flight = Bytes::new(100_000);
        rate.lost = Bytes::new(2_000);
        assert!(!lost_too_much(&rate));
        rate.lost = Bytes::new(2_001);
        assert!(lost_too_much(&rate));
    }

    #[test]
    fn headroom_leaves_fifteen_percent() {
        let bounds = Bounds { inflight_long: Some(100), ..Bounds::default() };
        assert_eq!(bounds.with_headroom(), Some(85));
        assert_eq!(Bounds { inflight_long: Some(4), ..Bounds::default() }.with_headroom(), Some(4));
    }

    #[test]
    fn undo_takes_bounds_away_that_were_not_there() {
        let mut bounds = Bounds { inflight_long: Some(50), ..Bounds::default() };
        bounds.save();
        bounds.bw_short = Some(Rate::from_mbps(1));
        bounds.inflight_long = Some(35);
        bounds.undo();
        assert_eq!((bounds.bw_short, bounds.inflight_long), (None, Some(50)));
    }
}
