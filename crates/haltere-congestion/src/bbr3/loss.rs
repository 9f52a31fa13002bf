//! The response to a lost segment, and the state that is restored if it was not lost (draft sections 5.5.10.2 and 5.5.11).

use super::bounds::too_much;
use super::{Bbr3, State};
use crate::LostSegment;
use crate::bbr_core::Repair;
use haltere_units::Rate;

/// LossThresh: the loss rate that a probe may cause, in percent.
pub(super) const LOSS_THRESH_PERCENT: u64 = 2;

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

/// Draft §5.5.10.2, InflightAtLoss: the flight, in bytes, at which the losses crossed the threshold. That may be within
/// the segment.
pub(super) fn inflight_at_loss(lost: &LostSegment) -> u64 {
    let size = lost.bytes.as_u64();
    let inflight_prev = lost.tx_in_flight.as_u64().saturating_sub(size);
    let lost_prev = lost.lost.as_u64().saturating_sub(size);
    let budget = (LOSS_THRESH_PERCENT * inflight_prev).saturating_sub(100 * lost_prev);
    inflight_prev + budget / (100 - LOSS_THRESH_PERCENT)
}

impl Bbr3 {
    /// Draft §5.5.10.2, HandleLostPacket.
    pub(super) fn handle_lost_segment(&mut self, lost: &LostSegment) {
        self.note_loss(lost);
        if self.cycle.probing && too_much(lost.lost, lost.tx_in_flight) {
            let app_limited = lost.app_limited || self.core.limited_by_probe_rtt(lost.prior_delivered);
            self.handle_too_high(inflight_at_loss(lost), app_limited);
        }
    }

    /// Draft §5.5.10.2, NoteLoss. The first loss restarts the loss round, so that what it is compared with is a full
    /// round of loss.
    fn note_loss(&mut self, lost: &LostSegment) {
        if !self.bounds.loss_in_round {
            self.bounds.start_loss_round(lost.total_delivered);
            self.save_upon_loss();
        }
        self.bounds.note_lost_range(lost);
    }

    /// Draft §5.5.10.2, HandleInflightTooHigh.
    pub(super) fn handle_too_high(&mut self, in_flight_bytes: u64, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.probing = false;
        if !app_limited {
            let target = self.target_inflight() * super::bounds::BETA_PERCENT / 100;
            self.bounds.inflight_long = Some((in_flight_bytes / self.core.mss).max(target));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down();
        }
    }

    /// Draft §5.5.11.1, SaveStateUponLoss: once an episode.
    pub(super) fn save_upon_loss(&mut self) {
        if self.undo.open {
            return;
        }
        self.core.save_cwnd(self.state == State::ProbeRtt);
        let b = &self.bounds;
        let (bw_short, inflight_short, inflight_long) = (b.bw_short, b.inflight_short, b.inflight_long);
        self.undo = Undo { open: true, state: None, bw_short, inflight_short, inflight_long };
    }

    /// Draft §5.6.4.4: recovery ends with the window from before it, bounded by the model.
    pub(super) fn end_recovery(&mut self) {
        self.undo.open = false;
        if self.core.repair != Repair::None {
            self.core.repair = Repair::None;
            self.core.restore_cwnd();
            self.bound();
        }
    }

    /// Draft §5.5.11.2, HandleSpuriousLossDetection.
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
        self.resume(undo.state);
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
    use super::*;
    use haltere_units::Bytes;

    /// A segment of 1000 B, lost from a flight of `in_flight` after `before` other bytes of it.
    fn lost(in_flight: u64, before: u64) -> LostSegment {
        let mut lost = LostSegment::new(0, Bytes::new(1000));
        (lost.tx_in_flight, lost.lost) = (Bytes::new(in_flight), Bytes::new(before + 1000));
        lost
    }

    #[test]
    fn losses_cross_the_threshold_within_the_segment() {
        // 49,000 B before it may lose 980 B, none lost yet: 980 / 0.98 = 1000 B of this one as well.
        assert_eq!(inflight_at_loss(&lost(50_000, 0)), 50_000);
        // 40,000 B may lose 800: 816 B of this one.
        assert_eq!(inflight_at_loss(&lost(41_000, 0)), 40_816);
        // 99,000 B may lose 1980, of which 1000 are lost: 1000 B more.
        assert_eq!(inflight_at_loss(&lost(100_000, 1000)), 100_000);
    }

    #[test]
    fn what_crossed_the_threshold_before_the_segment_leaves_the_flight_before_it() {
        assert_eq!(inflight_at_loss(&lost(41_000, 5000)), 40_000);
    }
}
