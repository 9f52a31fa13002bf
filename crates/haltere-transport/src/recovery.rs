//! Recovery: the states of the sender, proportional rate reduction, undo, F-RTO.
//! Source: RFC 6937 (PRR), RFC 5682 (F-RTO), RFC 4015 and 3708 (Eifel, DSACK), RFC 6582 (NewReno), RFC 3168 (reduction once a window).
//! Deviations (Linux): PRR also rules the reduction after an ECN echo; below the threshold it adds one segment (slow-start
//! bound) only while the cumulative acknowledgement advances and nothing new is lost, else it conserves packets; the
//! window at the end is the threshold. A timeout holds lost only what was sent a round trip ago.
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
//! Units: bytes, ns. Cost: O(1) an acknowledgement; a timeout and an undo O(window). Known problems: none.

use crate::TcpParams;
use crate::ack::{Acc, DATA_SACKED, ECE, LOST_RETRANS, ORIG_SACK_ACKED, UNA_ADVANCED};
use crate::rack::Rack;
use crate::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};
use crate::sender::{Sender, Turn};
use haltere_congestion::{CongestionControl, LossEvent, LossKind, RtoEvent};
use haltere_units::{Bytes, Time};

/// State of the sender (Linux's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
pub enum CaState {
    /// All is well.
    #[default]
    Open,
    /// Something is SACKed or repeated; nothing is held lost.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Repair after a retransmission timeout.
    Loss,
}

/// State of recovery.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// The episode ends when this is acknowledged.
    pub high_seq: u64,
    prior_cwnd: u64,
    prr_delivered: u64,
    pub prr_out: u64,
    pub prr_cwnd: u64,
    /// A reduction has begun of which the control does not know yet.
    pending_loss: Option<LossKind>,
    /// The reduction may be taken back.
    prior_known: bool,
    /// First position of the episode; 0: nothing to undo.
    pub undo_marker: u64,
    /// Retransmissions not yet reported as duplicates; -1: none were made.
    pub undo_retrans: i64,
    /// When the episode's first retransmission left; 0: none.
    pub retrans_at: u64,
    pub frto: bool,
    /// Next position when the last tail probe left; 0: none is out.
    pub tlp_end: u64,
    pub tlp_retrans: bool,
    /// Degree of reordering, in segments.
    pub reordering: u32,
    /// End of the highest SACKed segment.
    pub high_sacked: u64,
    pub rack: Rack,
    /// CWR is to be set on the next new segment.
    pub cwr_queued: bool,
    pub use_rack: bool,
    use_prr: bool,
    use_undo: bool,
    use_frto: bool,
    pub recoveries: u64,
    pub ecn_reductions: u64,
    pub undone: u64,
    pub dsacks: u64,
}

impl Recovery {
    pub(crate) fn new(p: &TcpParams) -> Recovery {
        Recovery {
            high_seq: 0,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            prr_cwnd: 0,
            pending_loss: None,
            prior_known: false,
            undo_marker: 0,
            undo_retrans: 0,
            retrans_at: 0,
            frto: false,
            tlp_end: 0,
            tlp_retrans: false,
            reordering: p.reordering,
            high_sacked: 0,
            rack: Rack::default(),
            cwr_queued: false,
            use_rack: p.rack,
            use_prr: p.prr,
            use_undo: p.undo,
            use_frto: p.frto,
            recoveries: 0,
            ecn_reductions: 0,
            undone: 0,
            dsacks: 0,
        }
    }

    pub(crate) fn note_retransmission(&mut self, _again: bool, now: u64) {
        if self.retrans_at == 0 {
            self.retrans_at = now.max(1);
        }
        self.undo_retrans = self.undo_retrans.max(0) + 1;
    }
}

/// RFC 6937 section 3.1 with Linux's choice of the bound: bytes that may be sent for this acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prr {
    pub mss: u64,
    pub ssthresh: u64,
    pub prior_cwnd: u64,
    pub prr_delivered: u64,
    pub prr_out: u64,
    pub in_flight: u64,
    /// Bytes delivered by this acknowledgement, and whether it advanced without news of loss.
    pub delivered: u64,
    pub good: bool,
}

impl Prr {
    pub(crate) fn send_count(&self) -> u64 {
        let count = if self.in_flight > self.ssthresh {
            // Proportional rate reduction, rounded up to whole segments.
            let share = (self.ssthresh * self.prr_delivered).div_ceil(self.prior_cwnd.max(1));
            (share.div_ceil(self.mss) * self.mss).saturating_sub(self.prr_out)
        } else {
            let conserve = self.prr_delivered.saturating_sub(self.prr_out).max(self.delivered);
            let bound = if self.good { conserve + self.mss } else { conserve };
            bound.min(self.ssthresh - self.in_flight)
        };
        // The first acknowledgement of the episode sends a segment in any case.
        if self.prr_out == 0 { count.max(self.mss) } else { count }
    }
}

impl Sender {
    /// Holds a segment lost.
    pub(crate) fn lose(&mut self, index: usize) {
        self.delivery.lost += self.board.lose(index);
    }

    fn loss_event(&self, now: Time, kind: LossKind) -> LossEvent {
        let mut ev = LossEvent::at(now, kind);
        ev.in_flight = Bytes::new(self.in_flight());
        ev.lost = Bytes::new(self.board.lost.bytes);
        ev.snd_nxt = self.nxt;
        ev
    }

    /// Begins a reduction: the control names its new threshold, PRR leads to it.
    fn begin_reduction(&mut self, kind: LossKind) {
        let rec = &mut self.rec;
        rec.high_seq = self.nxt;
        rec.tlp_end = 0;
        rec.prior_cwnd = self.cwnd;
        (rec.prr_delivered, rec.prr_out) = (0, 0);
        rec.cwr_queued = true;
        rec.prr_cwnd = self.cwnd;
        self.rec.pending_loss = Some(kind);
    }

    /// Tells the control of the reduction that began, after it was told of the acknowledgement.
    #[inline]
    pub(crate) fn tell_loss(&mut self, now: Time) {
        let Some(kind) = self.rec.pending_loss.take() else { return };
        let ev = self.loss_event(now, kind);
        self.control.on_loss(&ev);
        if !self.rec.use_prr {
            self.rec.prr_cwnd = self.control.cwnd().as_u64();
        }
        if !matches!(self.state, CaState::Cwr | CaState::Recovery) {
            self.control.on_recovered(now); // a tail probe repaired the loss: over before it was told
        }
    }

    fn init_undo(&mut self) {
        self.rec.undo_marker = if self.rec.use_undo { self.una } else { 0 };
        let out = i64::from(self.board.retrans.segments);
        self.rec.undo_retrans = if out > 0 { out } else { -1 };
    }

    /// Fast recovery begins.
    pub(crate) fn enter_recovery(&mut self, ece: bool) {
        self.init_undo();
        self.rec.recoveries += 1;
        if self.state == CaState::Cwr {
            self.rec.prior_known = false; // already reduced, by the echo: nothing more to take or to give back
        } else {
            self.rec.prior_known = !ece;
            self.begin_reduction(LossKind::Loss);
        }
        self.state = CaState::Recovery;
    }

    /// RFC 3168 section 6.1.2: an echo, and likewise a returned packet, reduces the window once in a window of data.
    pub(crate) fn enter_cwr(&mut self) {
        self.rec.prior_known = false;
        if self.state < CaState::Cwr {
            self.rec.undo_marker = 0;
            self.begin_reduction(LossKind::Ecn);
            self.rec.ecn_reductions += 1;
            self.state = CaState::Cwr;
        }
    }

    /// RFC 6298 (5.4 ff.), RFC 5681 section 3.1: a timeout.
    pub(crate) fn enter_loss(&mut self, now: Time) {
        let new_episode = self.state < CaState::Recovery;
        let in_flight = self.in_flight();
        let first = self.state <= CaState::Disorder
            || self.rec.high_seq <= self.una
            || (self.state == CaState::Loss && self.xmit.retries <= 1);
        self.mark_lost_at_timeout(now.as_ns());
        let mut ev = RtoEvent::at(now);
        ev.in_flight = Bytes::new(in_flight);
        ev.first = first;
        ev.snd_nxt = self.nxt;
        if first {
            self.rec.prior_known = true;
            self.init_undo();
            self.rec.retrans_at = 0;
        }
        ev.still_in_flight = Bytes::new(self.in_flight());
        self.control.on_rto(&ev);
        // A timeout amid disorder: the degree of reordering was overestimated.
        if self.state <= CaState::Disorder && self.board.sacked.segments >= 3 {
            self.rec.reordering = self.rec.reordering.min(3);
        }
        self.state = CaState::Loss;
        self.rec.high_seq = self.nxt;
        self.rec.tlp_end = 0;
        self.rec.cwr_queued = true;
        self.rec.frto = self.rec.use_frto && (new_episode || self.xmit.retries > 1);
        self.turn = Turn::Lost;
        self.refresh_cwnd();
    }

    fn mark_lost_at_timeout(&mut self, now: u64) {
        if !self.sack_ok {
            self.board.sacked = Default::default();
        } else if self.board.front().is_some_and(|s| s.has(SACKED)) {
            self.board.renege();
            self.sack_cache = [(0, 0); 4];
        }
        let rack = self.rec.use_rack && self.sack_ok;
        for index in 0..self.board.len() {
            let sent = *self.board.get(index);
            let recent = rack && index > 0 && self.rack_remaining(&sent, 0, now) > 0;
            if !recent {
                self.lose(index);
            }
        }
    }

    /// The retransmission was unnecessary: the peer had the original.
    fn may_undo(&self, acc: &Acc) -> bool {
        self.rec.undo_marker != 0 && (self.rec.undo_retrans == 0 || self.was_delayed(acc))
    }

    /// Eifel: the acknowledgement answers something sent before the first retransmission.
    fn was_delayed(&self, acc: &Acc) -> bool {
        self.rec.retrans_at != 0 && acc.echo_ms.is_some_and(|ms| ms < self.rec.retrans_at / 1_000_000)
    }

    fn any_retransmitted(&self) -> bool {
        self.board.retrans.segments > 0 || self.board.front().is_some_and(|s| s.has(EVER_RETRANS))
    }

    fn undo(&mut self, now: Time, unmark: bool) {
        if unmark {
            self.board.unmark_lost();
        }
        if self.rec.prior_known {
            self.control.on_spurious(now);
            self.rec.cwr_queued = false;
            self.rec.prr_cwnd = self.control.cwnd().as_u64();
            self.rec.undone += 1;
        }
        self.rec.undo_marker = 0;
        self.rec.rack.advanced = true;
    }

    /// True where the episode stays open (without SACK: RFC 6582, until something above it is acknowledged).
    fn try_undo_recovery(&mut self, acc: &Acc) -> bool {
        if self.may_undo(acc) {
            self.undo(acc.now, false);
        } else {
            self.rec.rack.persist = self.rec.rack.persist.saturating_sub(1);
        }
        if self.una == self.rec.high_seq && !self.sack_ok {
            if !self.any_retransmitted() {
                self.rec.retrans_at = 0;
            }
            return true;
        }
        self.state = CaState::Open;
        self.control.on_recovered(acc.now);
        false
    }

    fn try_undo_dsack(&mut self, now: Time) -> bool {
        let all = self.rec.undo_marker != 0 && self.rec.undo_retrans == 0;
        if all {
            self.rec.rack.recovery_undone_by_dsack();
            self.undo(now, false);
        }
        all
    }

    fn try_undo_loss(&mut self, acc: &Acc, frto: bool) -> bool {
        if !(frto || self.may_undo(acc)) {
            return false;
        }
        self.undo(acc.now, true);
        self.xmit.retries = 0;
        if frto || self.sack_ok {
            self.state = CaState::Open;
        }
        true
    }

    /// True where the acknowledgement needs nothing more.
    fn try_undo_partial(&mut self, acc: &Acc) -> bool {
        if self.rec.undo_marker == 0 || !self.was_delayed(acc) {
            return false;
        }
        self.note_reordering(acc.prior_una);
        if self.board.retrans.segments > 0 {
            return true; // send new data, repeat nothing more
        }
        self.rec.retrans_at = 0;
        self.undo(acc.now, true);
        self.keep_open();
        false
    }

    /// Reordering reached down to `low`.
    pub(crate) fn note_reordering(&mut self, low: u64) {
        if low >= self.rec.high_sacked || !self.sack_ok {
            return;
        }
        let degree = (self.rec.high_sacked - low).div_ceil(self.mss).min(300) as u32;
        self.rec.reordering = self.rec.reordering.max(degree);
        self.rec.rack.reordered = true;
    }

    pub(crate) fn keep_open(&mut self) {
        let disorder = self.board.sacked.segments + self.board.lost.segments > 0 || self.any_retransmitted();
        let state = if disorder { CaState::Disorder } else { CaState::Open };
        if self.state != state {
            self.state = state;
            self.rec.high_seq = self.nxt;
        }
    }

    fn try_to_open(&mut self, acc: &Acc) {
        if !self.any_retransmitted() {
            self.rec.retrans_at = 0;
        }
        if acc.flags & ECE != 0 {
            self.enter_cwr();
        }
        if self.state != CaState::Cwr {
            self.keep_open();
        }
    }

    /// Marks what this acknowledgement shows to be lost.
    fn identify_losses(&mut self, acc: &mut Acc) {
        if !self.sack_ok {
            self.newreno_mark_lost(acc.flags & UNA_ADVANCED != 0);
        } else if self.rec.use_rack {
            let retrans = self.board.retrans.segments;
            self.rack_mark_lost(acc.now.as_ns());
            if retrans > self.board.retrans.segments {
                acc.flags |= LOST_RETRANS;
            }
        } else {
            self.count_mark_lost();
        }
    }

    /// RFC 6582: the oldest segment, at the third duplicate or at a partial acknowledgement.
    fn newreno_mark_lost(&mut self, advanced: bool) {
        let dup = self.state < CaState::Recovery && self.board.sacked.segments >= self.rec.reordering;
        let partial = self.state == CaState::Recovery && advanced;
        if (dup || partial) && self.board.front().is_some_and(|s| !s.has(LOST)) {
            self.lose(0);
        }
    }

    /// RFC 6675 without RACK: lost below as many SACKed segments as the degree of reordering.
    fn count_mark_lost(&mut self) {
        let mut above = self.board.sacked.segments;
        for index in 0..self.board.len() {
            if above < self.rec.reordering {
                break;
            }
            let sent = self.board.get(index);
            if sent.has(SACKED) {
                above -= 1;
            } else if !sent.has(LOST | RETRANS) {
                self.lose(index);
            }
        }
    }

    /// Duplicate acknowledgements without SACK count as segments that left the network.
    fn add_reno_sack(&mut self, acc: &mut Acc) {
        if acc.dup_acks == 0 {
            return;
        }
        let most = (self.board.len() as u32).saturating_sub(self.board.lost.segments.max(1));
        let new = (self.board.sacked.segments + acc.dup_acks).min(most);
        if new > self.board.sacked.segments {
            let bytes = u64::from(new - self.board.sacked.segments) * self.mss;
            self.count_delivered(acc, bytes, new - self.board.sacked.segments);
            self.board.sacked.segments = new;
            self.board.sacked.bytes += bytes;
        }
    }

    pub(crate) fn reset_reno_sack(&mut self) {
        self.board.sacked = Default::default();
    }

    /// Linux's `tcp_process_loss`; RFC 5682 section 3.1 with SACK.
    fn process_loss(&mut self, acc: &mut Acc) {
        let recovered = self.una >= self.rec.high_seq;
        let advanced = acc.flags & UNA_ADVANCED != 0;
        if advanced && self.try_undo_loss(acc, false) {
            return;
        }
        if self.rec.frto {
            // Step 3b: something never retransmitted was acknowledged: not all was lost, the timeout was spurious.
            if acc.flags & ORIG_SACK_ACKED != 0 && self.try_undo_loss(acc, true) {
                return;
            }
            if self.nxt > self.rec.high_seq {
                if acc.flags & DATA_SACKED != 0 || acc.dup_acks > 0 {
                    self.rec.frto = false; // step 3a: the loss was real
                }
            } else if advanced && !recovered {
                self.rec.high_seq = self.nxt;
                if self.has_new() && self.window_end > self.nxt {
                    self.turn = Turn::New; // step 2b
                    return;
                }
                self.rec.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(acc);
            return;
        }
        if !self.sack_ok {
            if self.nxt > self.rec.high_seq && acc.dup_acks > 0 {
                self.add_reno_sack(acc);
            } else if advanced {
                self.reset_reno_sack();
            }
        }
        self.turn = Turn::Lost;
    }

    /// Linux's `tcp_fastretrans_alert`: called for every acknowledgement that is not plain progress.
    pub(crate) fn alert(&mut self, acc: &mut Acc) {
        if acc.flags & ECE != 0 {
            self.rec.prior_known = false;
        }
        if self.board.is_empty() && !self.sack_ok {
            self.reset_reno_sack();
        }
        if self.state != CaState::Open && self.una >= self.rec.high_seq {
            match self.state {
                CaState::Cwr if self.una != self.rec.high_seq => {
                    self.control.on_recovered(acc.now);
                    self.state = CaState::Open;
                }
                CaState::Recovery => {
                    if !self.sack_ok {
                        self.reset_reno_sack();
                    }
                    if self.try_undo_recovery(acc) {
                        return;
                    }
                }
                _ => {}
            }
        }
        match self.state {
            CaState::Recovery => {
                if acc.flags & UNA_ADVANCED == 0 {
                    if !self.sack_ok {
                        self.add_reno_sack(acc);
                    }
                } else if self.try_undo_partial(acc) {
                    return;
                }
                if self.try_undo_dsack(acc.now) {
                    self.try_to_open(acc);
                }
                self.identify_losses(acc);
                if self.state != CaState::Recovery {
                    if self.board.lost.segments == 0 {
                        return;
                    }
                    self.enter_recovery(acc.flags & ECE != 0);
                }
            }
            CaState::Loss => {
                self.process_loss(acc);
                self.identify_losses(acc);
                if self.state != CaState::Open && acc.flags & LOST_RETRANS == 0 {
                    return;
                }
                self.open_or_recover(acc);
            }
            _ => self.open_or_recover(acc),
        }
        if self.state != CaState::Loss {
            self.turn = Turn::Lost;
        }
    }

    fn open_or_recover(&mut self, acc: &mut Acc) {
        if !self.sack_ok {
            if acc.flags & UNA_ADVANCED != 0 {
                self.reset_reno_sack();
            }
            self.add_reno_sack(acc);
        }
        if self.state <= CaState::Disorder {
            self.try_undo_dsack(acc.now);
        }
        self.identify_losses(acc);
        if self.board.lost.segments == 0 {
            self.try_to_open(acc);
            return;
        }
        self.enter_recovery(acc.flags & ECE != 0);
    }

    /// RFC 8985 section 7.4: the tail loss probe was answered; did it repair a loss?
    pub(crate) fn process_tlp_ack(&mut self, acc: &Acc) {
        let end = self.rec.tlp_end;
        if acc.ack < end {
            return;
        }
        if !self.rec.tlp_retrans || acc.dsack_of_probe {
            self.rec.tlp_end = 0;
        } else if acc.ack > end {
            self.begin_reduction(LossKind::Loss);
            self.rec.prior_known = false;
            self.state = CaState::Cwr;
            self.keep_open();
        } else if acc.is_plain_duplicate() {
            self.rec.tlp_end = 0;
        }
    }

    /// One acknowledgement of a reduction: PRR sets the window.
    pub(crate) fn prr_step(&mut self, delivered: u64, lost: u64, advanced: bool) {
        if delivered == 0 || !self.rec.use_prr {
            return;
        }
        self.rec.prr_delivered += delivered;
        let in_flight = self.in_flight();
        let prr = Prr {
            mss: self.mss,
            ssthresh: self.control.ssthresh().as_u64(),
            prior_cwnd: self.rec.prior_cwnd,
            prr_delivered: self.rec.prr_delivered,
            prr_out: self.rec.prr_out,
            in_flight,
            delivered,
            good: advanced && lost == 0,
        };
        self.rec.prr_cwnd = in_flight + prr.send_count();
    }
}
