//! Selective acknowledgements: what the blocks report.
//! Source: RFC 2018, RFC 2883 (DSACK). Deviations: none.
//! Units: stream offsets. Cost: O(segments newly SACKed). Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::incoming::{AckSummary, DATA_SACKED, DSACK, IncomingAck, ORIG_SACK_ACKED};
use super::scoreboard::{EVER_RETRANS, RETRANS, SAMPLED};
use crate::tcp::seq::{Offset, Span};

/// Blocks of an acknowledgement, at most.
const MOST: usize = 4;

/// What the sender keeps of selective acknowledgements.
#[derive(Debug)]
pub(crate) struct Sack {
    /// The end of the highest SACKed segment.
    highest: Offset,
    /// The blocks of the last acknowledgement: the scoreboard has them. What is not used is empty.
    known: [Span; MOST],
    /// The handshake agreed on SACK.
    enabled: bool,
    /// Segments that the peer reported as received twice.
    duplicates: u32,
}

impl Sack {
    pub(crate) fn new() -> Sack {
        Sack { highest: Offset::SYN, known: [Span::default(); MOST], enabled: false, duplicates: 0 }
    }
    pub(crate) fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }
    #[inline]
    pub(crate) fn highest(&self) -> Offset {
        self.highest
    }
    /// Segments that the peer reported as received twice.
    pub(crate) fn duplicates(&self) -> u64 {
        u64::from(self.duplicates)
    }
    /// RFC 2018 section 8: the receiver took back what it reported.
    pub(crate) fn renege(&mut self) {
        self.known = [Span::default(); MOST];
    }
}

/// RFC 2883 section 4: the first block lies below the acknowledgement, or within the second block.
fn is_dsack(block: Span, a: &IncomingAck<'_>) -> bool {
    block.start < a.ack || a.sack.get(1).is_some_and(|&second| a.iss.span_of(second, a.ack).covers(block))
}

impl Sender {
    /// RFC 2018, RFC 2883: marks what the blocks report.
    pub(crate) fn take_sack(&mut self, a: &IncomingAck<'_>, ack: &mut AckSummary) {
        let una = self.buffer.una();
        let mut blocks = [Span::default(); MOST];
        let mut count = 0;
        for (i, &block) in a.sack.iter().enumerate() {
            let block = a.iss.span_of(block, a.ack);
            if block.is_empty() || block.end > self.buffer.nxt() {
                continue;
            }
            if i == 0 && is_dsack(block, a) {
                self.take_dsack(block, ack);
            }
            if block.end > una && count < MOST {
                blocks[count] = Span::new(block.start.max(una), block.end);
                count += 1;
            }
        }
        self.sack.highest = self.sack.highest.max(ack.prior_una);
        blocks[..count].sort_unstable();
        let known = core::mem::replace(&mut self.sack.known, blocks);
        for &block in &blocks[..count] {
            self.take_block(block, &known, ack);
        }
        if let Some(low) = ack.reordered_at
            && (self.recovery.state() != CaState::Loss || self.undo.is_open())
        {
            self.note_reordering(low);
        }
    }

    /// Marks the segments of a block, except those that the last acknowledgement reported already.
    fn take_block(&mut self, block: Span, known: &[Span; MOST], ack: &mut AckSummary) {
        let mut from = block.start;
        while from < block.end {
            if let Some(reported) = known.iter().find(|k| k.contains(from)) {
                from = reported.end;
                continue;
            }
            let next_known = known.iter().map(|k| k.start).filter(|&start| start > from).min();
            let to = next_known.map_or(block.end, |start| start.min(block.end));
            let mut index = self.board.index_of(from);
            while index < self.board.len() && self.board.get(index).end() <= to {
                self.take_sacked(index, ack);
                index += 1;
            }
            from = to;
        }
    }

    fn take_sacked(&mut self, index: usize, ack: &mut AckSummary) {
        let before = *self.board.get(index);
        if !self.board.sack(index) {
            return;
        }
        ack.set(DATA_SACKED);
        if !before.has(EVER_RETRANS | RETRANS) {
            if before.seq < self.sack.highest {
                ack.reordered_at = Some(ack.reordered_at.map_or(before.seq, |low| low.min(before.seq)));
            }
            if before.end() <= self.recovery.high_seq() {
                ack.set(ORIG_SACK_ACKED);
            }
            let first = ack.sacked_sent.map_or(before.sent_at, |(first, _)| first);
            ack.sacked_sent = Some((first, before.sent_at));
        }
        self.deliver(&before, ack, None);
        self.delivery.on_delivered(&before, &mut ack.newest);
        self.board.get_mut(index).flags |= SAMPLED;
        self.sack.highest = self.sack.highest.max(before.end());
    }

    fn take_dsack(&mut self, block: Span, ack: &mut AckSummary) {
        let segments = block.len().div_ceil(self.buffer.mss()) as u32;
        self.sack.duplicates += segments;
        if self.sack.duplicates() > self.output.retransmissions() {
            return; // duplicated by the network, not by us
        }
        ack.set(DSACK);
        self.count_delivered(ack, block.len(), segments); // a spurious retransmission arrived, too
        if self.probe.is_duplicate(block.end) {
            ack.dsack_of_probe = true;
        } else {
            self.detection.rack.on_dsack();
        }
        let in_episode = self.undo.awaits_report(block.end);
        if block.end <= ack.prior_una {
            if in_episode {
                self.undo.on_reported(segments);
            }
            return;
        }
        if let Some(index) = self.board.find(block) {
            if self.board.get(index).has(EVER_RETRANS | RETRANS) && in_episode {
                self.undo.on_reported(1);
            }
            self.board.clear_retrans(index);
        }
    }
}
