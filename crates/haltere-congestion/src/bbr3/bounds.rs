//! The bounds that losses and marks set (draft section 5.5.10).

use super::{Ack, Bbr3, Params, State};
use crate::bbr_core::MIN_CWND;
use crate::{LostSegment, RateSample};
use haltere_units::{Bytes, Rate};

/// Bounds and the signals they come from; `None` is no bound.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    pub bw_short: Option<Rate>,
    pub inflight_short: Option<u64>,
    pub inflight_long: Option<u64>,

    bw_latest: Rate,
    pub inflight_latest: u64,
    loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    /// Ranges lost in this round that do not touch, and where the last one ends. In the authors' code: acknowledgements
    /// with losses.
    pub lost_ranges: u32,
    lost_end: u64,

    /// Marked and delivered bytes of this round.
    marked: u64,
    passed: u64,
    pub ecn_alpha: f64,
    ecn_in_round: bool,
    /// The share that ends a probe, or more, of the last round's segments was marked.
    pub much_marked: bool,
}

impl Bounds {
    /// No bounds. The first marks are answered fully, as by DCTCP.
    pub fn new() -> Bounds {
        Bounds { ecn_alpha: 1.0, ..Bounds::default() }
    }
    /// Draft §5.5.10.3, ResetShortTermModel.
    pub fn forget_short(&mut self) {
        self.bw_short = None;
        self.inflight_short = None;
    }
    /// Draft §5.5.10.3, ResetCongestionSignals.
    pub fn forget_signals(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.bw_latest = Rate::ZERO;
        self.inflight_latest = 0;
    }
    /// The first loss of a round: the round ends when a segment is delivered that is sent from now on.
    pub fn start_loss_round(&mut self, delivered: u64) {
        self.loss_round_delivered = delivered;
    }
    /// The loss round ends when a segment is delivered that left after so many delivered bytes.
    #[cfg(test)]
    pub fn loss_round_delivered(&self) -> u64 {
        self.loss_round_delivered
    }
    pub fn note_lost_range(&mut self, lost: &LostSegment) {
        if self.lost_ranges == 0 || lost.seq != self.lost_end {
            self.lost_ranges += 1;
        }
        self.lost_end = lost.seq + lost.bytes.as_u64();
    }

    fn end_ecn_round(&mut self, params: &Params) {
        if self.passed == 0 {
            return;
        }
        let share = (self.marked as f64 / self.passed as f64).min(1.0);
        self.ecn_alpha += params.ecn_alpha_gain * (share - self.ecn_alpha);
        self.much_marked = share >= params.ecn_thresh;
        self.marked = 0;
        self.passed = 0;
    }
}

impl Bbr3 {
    /// Draft §5.3.3.9, InflightWithHeadroom.
    pub(super) fn with_headroom(&self) -> Option<u64> {
        self.bounds.inflight_long.map(|bound| {
            let headroom = self.rules.headroom.of(bound).max(1);
            bound.saturating_sub(headroom).max(MIN_CWND)
        })
    }
    /// Draft §5.5.10.2, IsInflightTooHigh: so much was lost of a flight. The authors' code counts whole segments.
    pub(super) fn too_much(&self, lost: Bytes, in_flight: Bytes) -> bool {
        let unit = if self.is_linux() { self.core.mss } else { 1 };
        lost.as_u64().div_ceil(unit) > self.rules.loss_thresh.of(in_flight.as_u64().div_ceil(unit))
    }
    /// Draft §5.5.10.2, IsInflightTooHigh, of a rate sample.
    pub(super) fn lost_too_much(&self, rate: &RateSample) -> bool {
        self.too_much(rate.lost, rate.tx_in_flight)
    }

    /// Draft §5.5.10.3, UpdateLatestDeliverySignals.
    pub(super) fn update_latest_delivery(&mut self, ack: &Ack) {
        let b = &mut self.bounds;
        b.loss_round_start = false;
        let Some(rate) = ack.rate else { return };
        b.bw_latest = b.bw_latest.max(rate.rate());
        b.inflight_latest = b.inflight_latest.max(rate.delivered.as_u64() / self.core.mss);
        if rate.prior_delivered >= b.loss_round_delivered {
            b.loss_round_delivered = rate.total_delivered;
            b.loss_round_start = true;
        }
    }

    /// Draft §5.5.10.3, UpdateCongestionSignals.
    pub(super) fn update_congestion_signals(&mut self, ack: &Ack) {
        self.count_marks(ack);
        if self.is_linux() && ack.rate.is_some() {
            // So the loss that ended a probe, which the new phase forgot, lowers the bounds, too.
            self.bounds.loss_in_round |= ack.lost > 0;
        }
        if self.bounds.loss_round_start {
            self.adapt_lower_bounds();
            self.bounds.loss_in_round = false;
            self.bounds.ecn_in_round = false;
        }
    }

    /// Draft §5.5.10.3, AdvanceLatestDeliverySignals.
    pub(super) fn advance_signals(&mut self, ack: &Ack) {
        let Some(rate) = ack.rate.filter(|_| self.bounds.loss_round_start) else { return };
        self.bounds.bw_latest = rate.rate();
        self.bounds.inflight_latest = rate.delivered.as_u64() / self.core.mss;
    }

    fn count_marks(&mut self, ack: &Ack) {
        if !self.params.ecn {
            return;
        }
        let b = &mut self.bounds;
        if self.core.round_start {
            b.end_ecn_round(&self.params);
        }
        b.passed += ack.ev.delivered.as_u64();
        b.marked += ack.ev.ce.as_u64();
        b.ecn_in_round |= ack.ev.ce.as_u64() > 0;
    }

    /// Draft §5.5.10.3, AdaptLowerBoundsFromCongestion: not while probing, where losses are the point.
    fn adapt_lower_bounds(&mut self) {
        if matches!(self.state, State::Startup | State::Refill | State::Up) {
            return;
        }
        let (cwnd, max_bw, factor) = (self.core.cwnd, self.max_bw.get(), self.params.ecn_factor);
        let (kept, b) = (self.rules.kept, &mut self.bounds);
        let before = b.inflight_short.unwrap_or(cwnd);
        let marks = b.ecn_in_round.then_some((before as f64 * (1.0 - factor * b.ecn_alpha)) as u64);
        if b.loss_in_round {
            let bw = kept.of(b.bw_short.unwrap_or(max_bw).as_bps());
            b.bw_short = Some(b.bw_latest.max(Rate::from_bps(bw)));
            b.inflight_short = Some(b.inflight_latest.max(kept.of(before)));
        }
        if let Some(marks) = marks {
            b.inflight_short = Some(b.inflight_short.unwrap_or(before).min(marks));
        }
    }

    /// The authors' code: too many of a sample's segments were marked.
    pub(super) fn marked_too_much(&self, rate: &RateSample) -> bool {
        let (marked, passed) = (rate.delivered_ce.as_u64() as f64, rate.delivered.as_u64() as f64);
        self.params.ecn && marked > passed * self.params.ecn_thresh
    }
}

#[cfg(test)]
mod tests {
    use super::super::Variant;
    use super::*;
    use crate::SenderContext;

    #[test]
    fn two_percent_of_the_flight_may_be_lost() {
        let too_much = |variant, lost, in_flight| {
            let params = Params { variant, ..Params::default() };
            Bbr3::new(&params, &SenderContext::default()).unwrap().too_much(Bytes::new(lost), Bytes::new(in_flight))
        };
        assert!(!too_much(Variant::Draft, 2_000, 100_000));
        assert!(too_much(Variant::Draft, 2_001, 100_000));
        // The authors: 5/256 of the segments, rounded down: none of 51, one of 52.
        assert!(too_much(Variant::Linux, 1448, 51 * 1448));
        assert!(!too_much(Variant::Linux, 1448, 52 * 1448));
        assert!(!too_much(Variant::Draft, 1448, 51 * 1448));
    }

    /// By hand: alpha = 1 + g (0.4 - 1): 0.9625 with g = 1/16, 0.7 with 1/2; 40 % are too much for a threshold of 0.4
    /// alone.
    #[test]
    fn the_marked_share_moves_by_its_gain_and_ends_a_probe_from_its_threshold() {
        for (gain, thresh, alpha, much) in [(1.0 / 16.0, 0.5, 0.9625, false), (0.5, 0.4, 0.7, true)] {
            let params = Params { ecn_alpha_gain: gain, ecn_thresh: thresh, ..Params::default() };
            let mut bounds = Bounds { marked: 40, passed: 100, ..Bounds::new() };
            bounds.end_ecn_round(&params);
            assert!((bounds.ecn_alpha - alpha).abs() < 1e-12, "{}", bounds.ecn_alpha);
            assert_eq!(bounds.much_marked, much);
        }
    }

    #[test]
    fn headroom_leaves_fifteen_percent() {
        let left = |bound| {
            let mut bbr = Bbr3::new(&Params::default(), &SenderContext::default()).unwrap();
            bbr.bounds.inflight_long = Some(bound);
            bbr.with_headroom()
        };
        assert_eq!((left(100), left(4)), (Some(85), Some(4)));
    }

    #[test]
    fn lost_segments_that_touch_are_one_range() {
        let mut bounds = Bounds::new();
        for seq in [0, 1000, 5000, 6000, 9000] {
            bounds.note_lost_range(&LostSegment::new(seq, Bytes::new(1000)));
        }
        assert_eq!(bounds.lost_ranges, 3);
        bounds.lost_ranges = 0;
        bounds.note_lost_range(&LostSegment::new(10_000, Bytes::new(1000)));
        assert_eq!(bounds.lost_ranges, 1, "a round counts anew");
    }
}
