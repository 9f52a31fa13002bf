//! F-RTO: was a retransmission timeout spurious?
//! Source: RFC 5682 section 3.1 (the variant with SACK), Linux's `tcp_process_loss`.
//! Deviations: none. Model: after the timeout one segment is sent again. Its acknowledgement brings new data (step 2b);
//! the next one says that the timeout was spurious if it covers what was never sent again (step 3b).
//! Units: stream offsets. Cost: O(1). Known problems: none.

use super::Sender;
use super::incoming::{AckSummary, DATA_SACKED, ORIG_SACK_ACKED};
use super::outgoing::Turn;

impl Sender {
    /// An acknowledgement after a timeout.
    pub(crate) fn process_loss(&mut self, ack: &mut AckSummary) {
        let recovered = self.buffer.una() >= self.recovery.high_seq();
        let advanced = ack.advanced();
        if advanced && self.try_undo_loss(ack, false) {
            return;
        }
        if self.frto.active && self.process_frto(ack, recovered) {
            return;
        }
        if recovered {
            self.try_undo_recovery(ack);
            return;
        }
        if !self.sack.is_enabled() {
            if self.buffer.nxt() > self.recovery.high_seq() && ack.is_duplicate() {
                self.add_reno_sack(ack);
            } else if advanced {
                self.board.clear_reno_sacked();
            }
        }
        self.output.set_turn(Turn::Lost);
    }

    /// True if the acknowledgement needs nothing more.
    fn process_frto(&mut self, ack: &AckSummary, recovered: bool) -> bool {
        if ack.has(ORIG_SACK_ACKED) && self.try_undo_loss(ack, true) {
            return true; // step 3b: the originals arrived, the timeout was spurious
        }
        if self.buffer.nxt() > self.recovery.high_seq() {
            if ack.has(DATA_SACKED) || ack.is_duplicate() {
                self.frto.stop(); // step 3a: the loss was real
            }
        } else if ack.advanced() && !recovered {
            self.recovery.extend_to(self.buffer.nxt());
            if self.buffer.has_new() && self.window.end() > self.buffer.nxt() {
                self.output.set_turn(Turn::New); // step 2b
                return true;
            }
            self.frto.stop();
        }
        false
    }
}
