//! Recovery: the states of the sender and what moves it from one to another.
//! Source: RFC 5681, RFC 6675, RFC 6582 (NewReno), RFC 3168 (reduction once a window), RFC 6298 section 5.
//! Deviations (Linux): proportional rate reduction also rules the reduction after an ECN echo. A timeout marks lost
//! only what was sent a round trip ago. What the receiver took back is sent again after half a round trip.
//! Model:
//!
//! ```text
//!             ECE                     loss
//!     Open --------> Cwr ----------------------> Recovery
//!      | ^            |                             | ^
//!      | '------------'  <--- all acknowledged -----' |
//!      '--> Disorder (SACKs, no loss yet) ------------'
//!     any -- timeout --> Loss -- all acknowledged, or spurious --> Open
//! ```
//!
//! Units: bytes, ns. Cost: O(1) an acknowledgement; a timeout O(window). Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::incoming::{AckSummary, LOST_RETRANS, TIMER_SET};
use super::outgoing::Turn;
use super::scoreboard::SACKED;
use crate::tcp::time::or_zero;
use haltere_congestion::{CongestionControl, LossEvent, LossKind, RtoEvent};
use haltere_units::{Bytes, Dur, Time};

/// The least wait for an acknowledgement that takes the suspicion of reneging away (Linux).
const RENEGE_WAIT: Dur = Dur::from_ms(10);

impl Sender {
    fn loss_event(&self, now: Time, kind: LossKind) -> LossEvent {
        let mut ev = LossEvent::at(now, kind);
        ev.in_flight = Bytes::new(self.in_flight());
        ev.lost = Bytes::new(self.board.lost().bytes);
        ev.snd_nxt = self.buffer.nxt().get();
        ev
    }

    /// Begins a reduction: the control names its new threshold, PRR leads to it.
    pub(crate) fn begin_reduction(&mut self, kind: LossKind) {
        self.recovery.begin(self.buffer.nxt(), kind);
        self.reduction.begin(self.cwnd);
        self.probe.end();
    }

    /// Notifies the control of the reduction that began. This follows the event of the acknowledgement.
    #[inline]
    pub(crate) fn notify_reduction(&mut self, now: Time) {
        let Some(kind) = self.recovery.pending.take() else { return };
        let ev = self.loss_event(now, kind);
        self.control.on_loss(&ev);
        self.owns_recovery = self.control.owns_recovery();
        self.reduction.on_notified(self.control.cwnd().as_u64());
        if !self.recovery.is_reducing() {
            self.control.on_recovered(now); // a tail probe repaired the loss: over before the control knew
        }
    }

    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.undo.begin(self.buffer.una(), self.board.retrans().segments);
        self.recovery.recoveries += 1;
        if self.recovery.state == CaState::Cwr {
            self.undo.set_restorable(false); // the echo has reduced already: nothing more to take or to give back
        } else {
            self.undo.set_restorable(!ece);
            self.begin_reduction(LossKind::Loss);
        }
        self.recovery.state = CaState::Recovery;
    }

    /// RFC 3168 section 6.1.2: a mark that counts reduces the window once in a window of data.
    pub(crate) fn enter_cwr(&mut self) {
        self.undo.set_restorable(false);
        if self.recovery.state < CaState::Cwr {
            self.undo.end();
            self.begin_reduction(LossKind::Ecn);
            self.recovery.ecn_reductions += 1;
            self.recovery.state = CaState::Cwr;
        }
    }

    /// The control asks for a reduction, which is carried out as after an echo, if no episode goes on.
    #[cold]
    pub(crate) fn reduce_as_asked(&mut self) {
        self.undo.set_restorable(false);
        if self.recovery.state < CaState::Cwr {
            self.undo.end();
            self.begin_reduction(LossKind::Asked);
            self.recovery.state = CaState::Cwr;
        }
    }

    /// RFC 6298 (5.4 ff.), RFC 5681 section 3.1: a timeout.
    pub(crate) fn enter_loss(&mut self, now: Time) {
        let state = self.recovery.state;
        let retries = self.timers.retries();
        let in_flight = self.in_flight();
        let first = state <= CaState::Disorder
            || self.recovery.high_seq <= self.buffer.una()
            || (state == CaState::Loss && retries <= 1);
        self.mark_lost_at_timeout(now);
        let mut ev = RtoEvent::at(now);
        ev.in_flight = Bytes::new(in_flight);
        ev.first = first;
        ev.snd_nxt = self.buffer.nxt().get();
        if first {
            self.undo.set_restorable(true);
            self.undo.begin(self.buffer.una(), self.board.retrans().segments);
            self.undo.forget_retransmissions();
        }
        ev.still_in_flight = Bytes::new(self.in_flight());
        self.control.on_rto(&ev);
        if state <= CaState::Disorder {
            self.detection.on_timeout_in_disorder(self.board.sacked().segments);
        }
        self.recovery.state = CaState::Loss;
        self.recovery.high_seq = self.buffer.nxt();
        self.recovery.cwr_queued = true;
        self.probe.end();
        self.frto.on_timeout(state < CaState::Recovery || retries > 1);
        self.output.set_turn(Turn::Lost);
        self.refresh_cwnd();
    }

    fn mark_lost_at_timeout(&mut self, now: Time) {
        if !self.sack.is_enabled() {
            self.board.clear_reno_sacked();
        } else if self.board.front().is_some_and(|s| s.has(SACKED)) {
            self.board.renege();
            self.sack.renege();
        }
        let rack = self.detection.uses_rack() && self.sack.is_enabled();
        for index in 0..self.board.len() {
            let recent = rack && index > 0 && {
                !self.detection.rack.remaining(self.board.get(index), Dur::ZERO, now).is_zero()
            };
            if !recent {
                self.mark_lost(index);
            }
        }
    }

    /// Open, or Disorder if anything is SACKed, lost or sent again.
    pub(crate) fn keep_open(&mut self) {
        let state = if self.has_disorder() { CaState::Disorder } else { CaState::Open };
        if self.recovery.state != state {
            self.recovery.state = state;
            self.recovery.high_seq = self.buffer.nxt();
        }
    }

    fn try_to_open(&mut self, ack: &AckSummary) {
        self.forget_old_retransmissions();
        if ack.has_ece() {
            self.enter_cwr();
        }
        if self.recovery.state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Linux's `tcp_fastretrans_alert`: called for every acknowledgement that is not plain progress.
    pub(crate) fn fast_retransmit_alert(&mut self, ack: &mut AckSummary) {
        if ack.has_ece() {
            self.undo.set_restorable(false);
        }
        if self.board.is_empty() && !self.sack.is_enabled() {
            self.board.clear_reno_sacked();
        }
        if self.is_reneged(ack) {
            ack.set(TIMER_SET);
            let wait = (or_zero(self.rtt.srtt()) / 2).max(RENEGE_WAIT);
            return self.timers.arm_rto(ack.now + wait);
        }
        if self.end_episode(ack) {
            return;
        }
        let more = match self.recovery.state {
            CaState::Recovery => self.in_recovery(ack),
            CaState::Loss => self.in_loss(ack),
            _ => {
                self.open_or_recover(ack);
                true
            }
        };
        if more && self.recovery.state != CaState::Loss {
            self.output.set_turn(Turn::Lost);
        }
    }

    /// The receiver acknowledges up to a segment that it reported as here. RFC 2018 section 8: it may have dropped it.
    fn is_reneged(&self, ack: &AckSummary) -> bool {
        self.sack.is_enabled() && ack.advanced() && self.board.front().is_some_and(|s| s.has(SACKED))
    }

    /// If all of the episode is acknowledged, it ends. True if the acknowledgement needs nothing more.
    fn end_episode(&mut self, ack: &AckSummary) -> bool {
        let una = self.buffer.una();
        if una < self.recovery.high_seq {
            return false;
        }
        match self.recovery.state {
            CaState::Cwr if una != self.recovery.high_seq => {
                self.control.on_recovered(ack.now);
                self.recovery.state = CaState::Open;
                false
            }
            CaState::Recovery => {
                if !self.sack.is_enabled() {
                    self.board.clear_reno_sacked();
                }
                self.try_undo_recovery(ack)
            }
            _ => false,
        }
    }

    /// An acknowledgement in fast recovery. False if it needs nothing more.
    fn in_recovery(&mut self, ack: &mut AckSummary) -> bool {
        if !ack.advanced() {
            if !self.sack.is_enabled() {
                self.add_reno_sack(ack);
            }
        } else if self.try_undo_partial(ack) {
            return false;
        }
        if self.try_undo_dsack(ack.now) {
            self.try_to_open(ack);
        }
        self.identify_losses(ack);
        if self.recovery.state != CaState::Recovery {
            if self.board.lost().segments == 0 {
                return false;
            }
            self.enter_recovery(ack.has_ece());
        }
        true
    }

    /// An acknowledgement after a timeout. False if it needs nothing more.
    fn in_loss(&mut self, ack: &mut AckSummary) -> bool {
        self.process_loss(ack);
        self.identify_losses(ack);
        if self.recovery.state != CaState::Open && !ack.has(LOST_RETRANS) {
            return false;
        }
        self.open_or_recover(ack);
        true
    }

    fn open_or_recover(&mut self, ack: &mut AckSummary) {
        if !self.sack.is_enabled() {
            if ack.advanced() {
                self.board.clear_reno_sacked();
            }
            self.add_reno_sack(ack);
        }
        if self.recovery.state <= CaState::Disorder {
            self.try_undo_dsack(ack.now);
        }
        self.identify_losses(ack);
        if self.board.lost().segments == 0 {
            self.try_to_open(ack);
            return;
        }
        self.enter_recovery(ack.has_ece());
    }
}
