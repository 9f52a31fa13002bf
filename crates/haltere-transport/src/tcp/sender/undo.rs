//! Undo: a reduction is taken back if what was sent again had not been lost.
//! Source: RFC 4015 with RFC 3522 (Eifel: timestamps), RFC 3708 (DSACK).
//! Deviations: none. Units: stream offsets, segments, ms. Cost: O(1), an undo O(window). Known problems: none.

use super::Sender;
use super::ack::AckSummary;
use super::recovery::CaState;
use crate::tcp::seq::Offset;
use crate::tcp::time::Ms;
use haltere_congestion::CongestionControl;
use haltere_units::Time;

/// What is needed to take an episode's reduction back.
#[derive(Debug)]
pub(crate) struct Undo {
    enabled: bool,
    /// The control still has what it had before the episode.
    restorable: bool,
    /// The first offset of the episode, if there is one to undo.
    marker: Option<Offset>,
    /// Retransmissions that no DSACK has reported yet; none if nothing was retransmitted.
    unreported: Option<u32>,
    /// When the episode's first retransmission left.
    first_retransmission: Option<Time>,
    /// Reductions taken back.
    undone: u32,
}

impl Undo {
    pub(crate) fn new(enabled: bool) -> Undo {
        Undo { enabled, restorable: false, marker: None, unreported: None, first_retransmission: None, undone: 0 }
    }
    /// Reductions taken back so far.
    pub(crate) fn undone(&self) -> u64 {
        u64::from(self.undone)
    }
    /// An episode begins at `una` with so many retransmissions in flight.
    pub(crate) fn begin(&mut self, una: Offset, retransmissions: u32) {
        self.marker = self.enabled.then_some(una);
        self.unreported = (retransmissions > 0).then_some(retransmissions);
    }
    /// Nothing of this episode is undone any more.
    pub(crate) fn end(&mut self) {
        self.marker = None;
    }
    /// Whether the control has what it had before the episode.
    pub(crate) fn set_restorable(&mut self, restorable: bool) {
        self.restorable = restorable;
    }
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.marker.is_some()
    }
    pub(crate) fn on_retransmission(&mut self, now: Time) {
        self.first_retransmission.get_or_insert(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }
    /// No retransmission is in flight or unacknowledged.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.first_retransmission = None;
    }
    /// True if a DSACK that ends at `end` reports a retransmission of this episode.
    pub(crate) fn awaits_report(&self, end: Offset) -> bool {
        self.marker.is_some_and(|marker| end > marker) && self.unreported.is_some_and(|n| n > 0)
    }
    /// A DSACK reports so many retransmissions.
    pub(crate) fn on_reported(&mut self, segments: u32) {
        self.unreported = self.unreported.map(|n| n.saturating_sub(segments));
    }
    /// RFC 3708: DSACKs reported all retransmissions of the episode.
    pub(crate) fn is_all_reported(&self) -> bool {
        self.is_open() && self.unreported == Some(0)
    }
    /// RFC 3522: the acknowledgement answers something sent before the first retransmission.
    pub(crate) fn is_answer_to_original(&self, echo: Option<Ms>) -> bool {
        match (self.first_retransmission, echo) {
            (Some(first), Some(echo)) => echo.is_before(first),
            _ => false,
        }
    }
    /// The peer had the originals: the retransmissions were spurious.
    pub(crate) fn is_spurious(&self, echo: Option<Ms>) -> bool {
        self.is_open() && (self.unreported == Some(0) || self.is_answer_to_original(echo))
    }
}

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
