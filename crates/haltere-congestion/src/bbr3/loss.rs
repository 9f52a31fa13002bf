//! The response to a lost segment, and the state that is restored if it was not lost (draft sections 5.5.10.2 and
//! 5.5.11).

use super::{Bbr3, State};
use crate::bbr_core::Repair;
use crate::{LostSegment, RtoEvent};
use haltere_units::Rate;

/// The state before an episode of loss, which a spurious episode restores.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    /// An episode is open: what was before it is saved.
    open: bool,
    /// The probe that a loss ended (undo_state).
    pub state: Option<State>,
    bw_short: Option<Rate>,
    inflight_short: Option<u64>,
    inflight_long: Option<u64>,
}

impl Bbr3 {
    /// Draft §5.5.10.2, HandleLostPacket.
    pub(super) fn handle_lost_segment(&mut self, lost: &LostSegment) {
        self.note_loss(lost);
        if self.cycle.probing && self.too_much(lost.lost, lost.tx_in_flight) {
            let app_limited = lost.app_limited || self.core.limited_by_probe_rtt(lost.prior_delivered);
            self.handle_too_high(self.inflight_at_loss(lost), app_limited);
        }
    }

    /// Draft §5.5.10.2, InflightAtLoss: the flight, in segments, at which the losses crossed the threshold. That may be
    /// within the segment. The authors' code counts whole segments, and rounds what may be lost up.
    fn inflight_at_loss(&self, lost: &LostSegment) -> u64 {
        let linux = self.is_linux();
        let unit = if linux { self.core.mss } else { 1 };
        let [size, in_flight, lost] = [lost.bytes, lost.tx_in_flight, lost.lost].map(|b| b.as_u64().div_ceil(unit));
        let (inflight_prev, lost_prev) = (in_flight.saturating_sub(size), lost.saturating_sub(size));
        let rule = self.rules.loss_thresh;
        let budget = if linux { rule.of_up(inflight_prev) } else { rule.of(inflight_prev) };
        (inflight_prev + rule.over_rest(budget.saturating_sub(lost_prev))) * unit / self.core.mss
    }

    /// Draft §5.5.10.2, NoteLoss. The first loss restarts the loss round, so that what it is compared with is a full
    /// round of loss.
    fn note_loss(&mut self, lost: &LostSegment) {
        let linux = self.is_linux();
        if !self.bounds.loss_in_round {
            self.bounds.start_loss_round(lost.total_delivered);
            self.bounds.loss_in_round = true;
            if !linux {
                self.bounds.lost_ranges = 0;
                self.save_upon_loss();
            }
        }
        if !linux {
            self.bounds.note_lost_range(lost);
        }
    }

    /// Draft §5.5.10.2, HandleInflightTooHigh.
    pub(super) fn handle_too_high(&mut self, in_flight: u64, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.probing = false;
        if !app_limited {
            let target = self.rules.kept.of(self.target_inflight());
            self.bounds.inflight_long = Some(in_flight.max(target));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down();
        }
    }

    /// Draft §5.5.11.1, SaveStateUponLoss: once an episode.
    fn save_upon_loss(&mut self) {
        if !self.undo.open {
            self.save_bounds();
        }
    }
    fn save_bounds(&mut self) {
        self.core.save_cwnd(self.state == State::ProbeRtt);
        let b = &self.bounds;
        let (bw_short, inflight_short, inflight_long) = (b.bw_short, b.inflight_short, b.inflight_long);
        self.undo = Undo { open: true, state: None, bw_short, inflight_short, inflight_long };
    }

    /// Draft §5.6.4.4, OnEnterFastRecovery. The authors' code saves the bounds now, after the losses that begin the
    /// episode.
    pub(super) fn enter_recovery(&mut self) {
        if self.is_linux() { self.save_bounds() } else { self.save_upon_loss() }
    }
    /// Draft §5.6.4.4, OnEnterRTO. In the authors' code the lower bound begins at the window before the timeout.
    pub(super) fn enter_timeout(&mut self, ev: &RtoEvent) {
        if !self.is_linux() {
            self.save_upon_loss();
            return self.core.on_rto(ev);
        }
        if ev.first {
            self.save_bounds();
        }
        self.core.on_rto(ev);
        self.full_pipe.forget();
        if !matches!(self.state, State::Startup | State::Refill | State::Up) {
            self.bounds.inflight_short.get_or_insert(self.core.prior_cwnd.max(self.core.cwnd));
        }
    }

    /// Draft §5.6.4.4: recovery ends with the window from before it, bounded by the model. In the authors' code only
    /// that after a timeout does.
    pub(super) fn end_recovery(&mut self) {
        self.undo.open = false;
        let repair = core::mem::replace(&mut self.core.repair, Repair::None);
        if repair == Repair::Timeout || (repair == Repair::Fast && !self.is_linux()) {
            self.core.restore_cwnd();
            self.bound();
        }
    }

    /// Draft §5.5.11.2, HandleSpuriousLossDetection. The authors' code does not go back to the phase of the loss.
    pub(super) fn handle_spurious_loss(&mut self) {
        let undo = core::mem::take(&mut self.undo);
        self.core.repair = Repair::None;
        self.core.restore_cwnd();
        self.full_pipe.forget();
        let b = &mut self.bounds;
        b.loss_in_round = false;
        // No bound is larger than any.
        b.bw_short = b.bw_short.zip(undo.bw_short).map(|(now, before)| now.max(before));
        b.inflight_short = b.inflight_short.zip(undo.inflight_short).map(|(now, before)| now.max(before));
        b.inflight_long = b.inflight_long.zip(undo.inflight_long).map(|(now, before)| now.max(before));
        if !self.is_linux() {
            self.resume(undo.state);
        }
    }

    /// Goes on with the probe that the loss ended.
    fn resume(&mut self, probe: Option<State>) {
        match probe {
            Some(State::Startup) => {
                self.core.filled = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Params, Variant};
    use super::*;
    use crate::SenderContext;
    use haltere_units::Bytes;

    /// A segment of 1000 B, lost from a flight of `in_flight` after `before` other bytes of it.
    fn lost(in_flight: u64, before: u64) -> LostSegment {
        let mut lost = LostSegment::new(0, Bytes::new(1000));
        (lost.tx_in_flight, lost.lost) = (Bytes::new(in_flight), Bytes::new(before + 1000));
        lost
    }

    /// That segment's place, in segments of so many bytes.
    fn at(variant: Variant, mss: u64, in_flight: u64, before: u64) -> u64 {
        let sender = SenderContext { mss: Bytes::new(mss), ..SenderContext::default() };
        let bbr = Bbr3::new(&Params { variant, ..Params::default() }, &sender).unwrap();
        bbr.inflight_at_loss(&lost(in_flight, before))
    }

    /// By hand: 5/256 of 100 segments are 1.95, so two may be lost; 2 / (1 - 5/256) = 2.04.
    #[test]
    fn the_authors_count_whole_segments() {
        assert_eq!(at(Variant::Linux, 1000, 101_000, 0), 102);
        assert_eq!(at(Variant::Linux, 1000, 101_000, 2000), 100);
        assert_eq!(at(Variant::Draft, 1000, 101_000, 0), 102);
        assert_eq!(at(Variant::Draft, 1000, 60_000, 0), 60);
        assert_eq!(at(Variant::Linux, 1000, 60_000, 0), 61);
    }

    #[test]
    fn losses_cross_the_threshold_within_the_segment() {
        // 49,000 B before it may lose 980 B, none lost yet: 980 / 0.98 = 1000 B of this one as well.
        assert_eq!(at(Variant::Draft, 1, 50_000, 0), 50_000);
        // 40,000 B may lose 800: 816 B of this one.
        assert_eq!(at(Variant::Draft, 1, 41_000, 0), 40_816);
        // 99,000 B may lose 1980, of which 1000 are lost: 1000 B more.
        assert_eq!(at(Variant::Draft, 1, 100_000, 1000), 100_000);
    }

    #[test]
    fn what_crossed_the_threshold_before_the_segment_leaves_the_flight_before_it() {
        assert_eq!(at(Variant::Draft, 1, 41_000, 5000), 40_000);
    }
}
