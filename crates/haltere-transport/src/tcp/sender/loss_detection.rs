//! Loss detection: which segments an acknowledgement shows to be lost.
//! Source: RFC 8985 (RACK, rack.rs), RFC 6675 without RACK, RFC 6582 (NewReno) without SACK.
//! Deviations: none. Units: segments, bytes. Cost: O(1) an acknowledgement with RACK, else O(window). Known problems:
//! none.

use super::Sender;
use super::episode::CaState;
use super::incoming::{AckSummary, LOST_RETRANS, TIMER_SET};
use super::rack::Rack;
use super::scoreboard::{LOST, RETRANS, SACKED};
use crate::tcp::params::TcpParams;
use crate::tcp::seq::Offset;
use haltere_congestion::CongestionControl;

/// The largest degree of reordering (Linux's `tcp_max_reordering`).
const MAX_REORDERING: u64 = 300;

/// State of loss detection.
#[derive(Debug)]
pub(crate) struct LossDetection {
    pub(super) rack: Rack,
    /// RFC 6675 `DupThresh`, which grows with the reordering that was seen: segments.
    reordering: u32,
    use_rack: bool,
}

impl LossDetection {
    pub(crate) fn new(p: &TcpParams) -> LossDetection {
        LossDetection { rack: Rack::default(), reordering: p.reordering, use_rack: p.rack }
    }
    /// The host remembers this degree of reordering.
    pub(crate) fn recall(&mut self, reordering: u32) {
        self.reordering = reordering;
    }
    /// Degree of reordering in segments.
    pub(crate) fn reordering(&self) -> u32 {
        self.reordering
    }
    pub(crate) fn uses_rack(&self) -> bool {
        self.use_rack
    }
    /// A timeout amid disorder: the degree of reordering was overestimated.
    pub(crate) fn on_timeout_in_disorder(&mut self, sacked: u32) {
        if sacked >= 3 {
            self.reordering = self.reordering.min(3);
        }
    }
}

impl Sender {
    /// Marks a segment lost.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        let bytes = self.board.mark_lost(index);
        if bytes > 0 {
            let event = self.delivery.on_lost(self.board.get(index), bytes);
            self.control.on_segment_lost(&event);
        }
    }

    /// Reordering reached down to `low`.
    pub(crate) fn note_reordering(&mut self, low: Offset) {
        if low >= self.sack.highest() || !self.sack.is_enabled() {
            return;
        }
        let degree = (self.sack.highest() - low).div_ceil(self.buffer.mss()).min(MAX_REORDERING) as u32;
        self.detection.reordering = self.detection.reordering.max(degree);
        self.detection.rack.on_reordering();
    }

    /// Marks what this acknowledgement shows to be lost.
    pub(crate) fn identify_losses(&mut self, ack: &mut AckSummary) {
        if !self.sack.is_enabled() {
            self.newreno_mark_lost(ack.advanced());
        } else if self.detection.use_rack {
            let retrans = self.board.retrans().segments;
            if self.rack_mark_lost(ack.now) {
                ack.set(TIMER_SET);
            }
            if retrans > self.board.retrans().segments {
                ack.set(LOST_RETRANS);
            }
        } else {
            self.count_mark_lost();
        }
    }

    /// RFC 6582: the oldest segment, at the third duplicate or at a partial acknowledgement.
    fn newreno_mark_lost(&mut self, advanced: bool) {
        let state = self.recovery.state();
        let duplicates = state < CaState::Recovery && self.board.sacked().segments >= self.detection.reordering;
        let partial = state == CaState::Recovery && advanced;
        if (duplicates || partial) && self.board.front().is_some_and(|s| !s.has(LOST)) {
            self.mark_lost(0);
        }
    }

    /// RFC 6675 without RACK: lost below as many SACKed segments as the degree of reordering.
    fn count_mark_lost(&mut self) {
        let mut above = self.board.sacked().segments;
        for index in 0..self.board.len() {
            if above < self.detection.reordering {
                break;
            }
            let sent = self.board.get(index);
            if sent.has(SACKED) {
                above -= 1;
            } else if !sent.has(LOST | RETRANS) {
                self.mark_lost(index);
            }
        }
    }

    /// A duplicate acknowledgement without SACK counts as a segment that left the network.
    pub(crate) fn add_reno_sack(&mut self, ack: &mut AckSummary) {
        if !ack.is_duplicate() {
            return;
        }
        let most = (self.board.len() as u32).saturating_sub(self.board.lost().segments.max(1));
        let sacked = self.board.sacked().segments;
        let new = (sacked + 1).min(most);
        if new > sacked {
            let bytes = self.board.add_reno_sacked(new - sacked, self.buffer.mss());
            self.count_delivered(ack, bytes, new - sacked);
        }
    }

    /// RFC 6582: of the segments acknowledged one filled the hole; the rest were counted by their duplicates.
    pub(crate) fn remove_reno_sacks(&mut self, ack: &mut AckSummary) {
        let mss = self.buffer.mss();
        let sacked = self.board.sacked();
        let newly = ack.acked_segments.saturating_sub(sacked.segments).max(1);
        let bytes = ack.acked_bytes.saturating_sub(sacked.bytes).max(ack.acked_bytes.min(mss));
        self.count_delivered(ack, bytes, newly);
        if sacked.segments > 0 {
            let eaten = (ack.acked_segments - 1).min(sacked.segments);
            self.board.set_reno_sacked(sacked.segments - eaten, mss);
        }
    }
}
