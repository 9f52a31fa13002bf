//! Segments of ours that a switch sent back with a congestion mark, ahead of the receiver's echo.
//!
//! Source: Silva, Nacif and Vieira, "Data Center TCP com Histerese em Switches P4". Such a segment has the flag
//! [`REFLECTED`](crate::Flags::REFLECTED), which only a world sets. Each mark counts once: if the mark of a returned
//! segment counted, the receiver's echo of it does not.

use super::Sender;
use super::scoreboard::{CE_COUNTED, SACKED};
use crate::tcp::connection::Connection;
use crate::tcp::segment::Segment;
use crate::tcp::seq::Offset;
use haltere_congestion::CongestionControl;
use haltere_units::{Bytes, Time};

/// How many segments of ours came back.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Returned {
    /// They were in flight, and their mark counted.
    pub counted: u64,
    /// They were acknowledged, or counted, before.
    pub late: u64,
}

impl Connection {
    /// A data segment of ours came back.
    #[cold]
    pub(crate) fn on_reflected(&mut self, now: Time, segment: &Segment) {
        if self.params().ignore_returned {
            return;
        }
        let seq = self.iss().offset_of(segment.seq, self.una());
        let counts = segment.len > 0 && self.tx.as_mut().is_some_and(|tx| tx.on_reflected(now, seq));
        *(if counts { &mut self.returned.counted } else { &mut self.returned.late }) += 1;
    }
}

impl Sender {
    /// The segment at that offset came back. True if it was in flight, and its mark had not counted before.
    fn on_reflected(&mut self, now: Time, seq: Offset) -> bool {
        if seq < self.buffer.una() || seq >= self.buffer.nxt() {
            return false;
        }
        let index = self.board.index_of(seq);
        if index >= self.board.len() {
            return false;
        }
        let sent = self.board.get_mut(index);
        if sent.seq != seq || sent.has(SACKED | CE_COUNTED) {
            return false;
        }
        sent.flags |= CE_COUNTED;
        let bytes = Bytes::new(u64::from(sent.len()));
        if self.control.on_early_ce(now, bytes) {
            self.enter_cwr();
            self.notify_reduction(now);
        }
        self.refresh_cwnd();
        true
    }
}
