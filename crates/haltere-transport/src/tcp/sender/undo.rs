//! Undo: a reduction is taken back if what was sent again had not been lost.
//! Source: RFC 4015 with RFC 3522 (Eifel: timestamps), RFC 3708 (DSACK).
//! Deviations: none. Units: stream offsets, segments, ms. Cost: O(1), an undo O(window). Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::incoming::AckSummary;
use haltere_congestion::CongestionControl;
use haltere_units::Time;

impl Sender {
    fn any_retransmitted(&self) -> bool {
        self.board.retrans().segments > 0 || self.board.front().is_some_and(|s| s.has(super::scoreboard::EVER_RETRANS))
    }
    /// True if something is SACKed, lost or retransmitted.
    pub(crate) fn has_disorder(&self) -> bool {
        self.board.sacked().segments + self.board.lost().segments > 0 || self.any_retransmitted()
    }
    /// Eifel starts anew once nothing that was retransmitted is left.
    pub(crate) fn forget_old_retransmissions(&mut self) {
        if !self.any_retransmitted() {
            self.undo.forget_retransmissions();
        }
    }

    /// Takes the reduction back. `unmark`: what is marked lost is not.
    fn undo_reduction(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        if self.undo.restorable {
            self.control.on_spurious(now);
            self.recovery.cancel_cwr();
            self.reduction.undo(self.control.cwnd().as_u64());
            self.undo.undone += 1;
            self.refresh_cwnd(); // whether the window may grow is judged by the one that is back
        }
        self.undo.end();
        self.detection.rack.look_again();
    }

    /// All of the episode is acknowledged. True if it stays open (without SACK: RFC 6582, until something above it is
    /// acknowledged).
    pub(crate) fn try_undo_recovery(&mut self, ack: &AckSummary) -> bool {
        if self.undo.is_spurious(ack.echo) {
            self.undo_reduction(ack.now, false);
        } else {
            self.detection.rack.on_recovered();
        }
        if self.buffer.una() == self.recovery.high_seq() && !self.sack.is_enabled() {
            self.forget_old_retransmissions();
            return true;
        }
        self.recovery.set_state(CaState::Open);
        self.control.on_recovered(ack.now);
        false
    }

    /// RFC 3708. True if the reduction was taken back.
    pub(crate) fn try_undo_dsack(&mut self, now: Time) -> bool {
        let all = self.undo.is_all_reported();
        if all {
            self.detection.rack.on_undone_by_dsack();
            self.undo_reduction(now, false);
        }
        all
    }

    /// After a timeout, which `frto` says was spurious. True if it was taken back.
    pub(crate) fn try_undo_loss(&mut self, ack: &AckSummary, frto: bool) -> bool {
        if !(frto || self.undo.is_spurious(ack.echo)) {
            return false;
        }
        self.undo_reduction(ack.now, true);
        self.timers.on_progress();
        if frto || self.sack.is_enabled() {
            self.recovery.set_state(CaState::Open);
        }
        true
    }

    /// Part of the episode is acknowledged. True if the acknowledgement needs nothing more.
    pub(crate) fn try_undo_partial(&mut self, ack: &AckSummary) -> bool {
        if !(self.undo.is_open() && self.undo.is_answer_to_original(ack.echo)) {
            return false;
        }
        self.note_reordering(ack.prior_una);
        if self.board.retrans().segments > 0 {
            return true; // send new data, repeat nothing more
        }
        self.undo.forget_retransmissions();
        self.undo_reduction(ack.now, true);
        self.keep_open();
        false
    }
}
