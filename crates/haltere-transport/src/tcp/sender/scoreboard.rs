//! The scoreboard: one small record for each segment sent and not yet acknowledged.
//! Source: RFC 2018, RFC 6675 (what is counted), RFC 8985 (segments in the order of their last transmission).
//! Deviations: a SACK block that covers a segment in part does not count for that segment (RFC 2018 permits it).
//! Model: records lie in a ring in sequence order. Those that are neither SACKed nor marked lost are also chained in
//! the order of their last transmission, so that RACK looks only at those that can become lost.
//!
//! ```text
//!     in flight = out - sacked - lost + retransmitted
//! ```
//!
//! Units: bytes, ns. Cost: O(1) to send, acknowledge, SACK, lose. Known problems: none.

use crate::tcp::seq::{Offset, Span};
use alloc::collections::VecDeque;
use haltere_units::Time;

/// What is known of a segment that was sent: 64 bytes. Not aligned to them: aligned blocks that come and go leave holes
/// in the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// Its first offset.
    pub seq: Offset,
    pub sent_at: Time,
    /// When the segment that began the flight of this one was sent, bytes delivered in all then, and when the last of
    /// them was.
    pub first_sent_at: Time,
    pub delivered: u64,
    pub delivered_at: Time,
    /// Bytes marked lost in all, delivered with CE in all (both modulo 2^32) and in flight when it was sent.
    pub lost: u32,
    pub delivered_ce: u32,
    pub in_flight: u32,
    /// Neighbours in the order of transmission; what the ends have here means nothing.
    prev: u32,
    next: u32,
    /// Sequence numbers that it takes, a FIN included: an MSS is at most 65,483.
    numbers: u16,
    pub flags: u16,
}

const _: () = assert!(size_of::<Sent>() == 64, "as large as a cache line");

/// Segments for which a scoreboard keeps room, and by how many that grows at least.
const SPARE: usize = 8;
const STEP: usize = 4;

/// The receiver has it.
pub(crate) const SACKED: u16 = 1;
pub(crate) const LOST: u16 = 2;
/// A retransmission is in flight.
pub(crate) const RETRANS: u16 = 4;
/// It was retransmitted at some time.
pub(crate) const EVER_RETRANS: u16 = 8;
/// Sent while the application had nothing more.
pub(crate) const APP_LIMITED: u16 = 16;
/// Ends with the FIN.
pub(crate) const FIN: u16 = 32;
/// Its mark counted already, ahead of the echo.
pub(crate) const CE_COUNTED: u16 = 64;
/// It has given its delivery-rate sample.
pub(crate) const SAMPLED: u16 = 128;
/// It is in the chain by transmission time.
const CHAINED: u16 = 256;
/// It has the flag PSH.
pub(crate) const PUSHED: u16 = 512;

impl Sent {
    /// Sequence numbers that it takes, a FIN included.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        u32::from(self.numbers)
    }
    #[inline]
    pub(crate) fn end(&self) -> Offset {
        self.seq + u64::from(self.numbers)
    }
    #[inline]
    pub(crate) fn order(&self) -> SentOrder {
        SentOrder { at: self.sent_at, end: self.end() }
    }
    #[inline]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
    /// A record just sent; the sender fills in what the rate sample needs.
    #[inline]
    pub(crate) fn new(seq: Offset, len: u32, sent_at: Time, flags: u16) -> Sent {
        Sent {
            seq,
            sent_at,
            first_sent_at: Time::ZERO,
            delivered: 0,
            delivered_at: Time::ZERO,
            numbers: len as u16,
            lost: 0,
            delivered_ce: 0,
            in_flight: 0,
            prev: 0,
            next: 0,
            flags,
        }
    }
}

/// RFC 8985 section 6.2, `RACK_sent_after`: the order of transmissions. Of two at the same time the higher sequence
/// number came later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SentOrder {
    pub at: Time,
    pub end: Offset,
}

impl SentOrder {
    /// True if this transmission came after the other.
    #[inline]
    pub(crate) fn is_after(self, other: SentOrder) -> bool {
        (self.at.as_ns(), self.end.get()) > (other.at.as_ns(), other.end.get())
    }
}

/// Segments counted in one state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub segments: u32,
    pub bytes: u64,
}

impl Tally {
    #[inline]
    fn add(&mut self, len: u32) {
        self.segments += 1;
        self.bytes += u64::from(len);
    }
    #[inline]
    fn sub(&mut self, len: u32) {
        self.segments -= 1;
        self.bytes -= u64::from(len);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ring: VecDeque<Sent>,
    /// The number of the ring's front; numbers wrap.
    base: u32,
    head: u32,
    tail: u32,
    chained: u32,
    /// No segment numbered before this is lost and waiting for its retransmission.
    rtx_from: u32,
    /// SACKed segments whose predecessor is SACKed, too.
    joined: u32,
    out: u64,
    sacked: Tally,
    lost: Tally,
    retrans: Tally,
}

impl Scoreboard {
    /// Segments not yet acknowledged cumulatively.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
    /// Segments that the receiver reported (or, without SACK, that duplicate acknowledgements stand for).
    #[inline]
    pub(crate) fn sacked(&self) -> Tally {
        self.sacked
    }
    /// SACKed segments that follow a SACKed one.
    #[inline]
    pub(crate) fn joined(&self) -> u32 {
        self.joined
    }
    #[inline]
    pub(crate) fn lost(&self) -> Tally {
        self.lost
    }
    #[inline]
    pub(crate) fn retrans(&self) -> Tally {
        self.retrans
    }
    /// True if a segment is marked lost and waits for its retransmission.
    #[inline]
    pub(crate) fn has_unrepaired(&self) -> bool {
        self.lost.segments > self.retrans.segments
    }
    /// RFC 6675 `pipe`: bytes in flight.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        (self.out + self.retrans.bytes).saturating_sub(self.sacked.bytes + self.lost.bytes)
    }
    #[inline]
    pub(crate) fn front(&self) -> Option<&Sent> {
        self.ring.front()
    }
    /// The record at an index, 0 being the oldest by sequence.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &Sent {
        &self.ring[index]
    }
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Sent {
        &mut self.ring[index]
    }
    /// The index of the record that begins at or after `seq`, if it lies before `end`.
    pub(crate) fn find(&self, span: Span) -> Option<usize> {
        let index = self.index_of(span.start);
        self.ring.get(index).is_some_and(|sent| sent.end() <= span.end).then_some(index)
    }

    /// Makes room by half: twice as much would leave a window of ten segments with 16 places.
    #[cold]
    fn grow(&mut self) {
        self.ring.reserve_exact((self.ring.capacity() / 2).max(STEP));
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) fn push(&mut self, mut sent: Sent) {
        if self.ring.len() == self.ring.capacity() {
            self.grow();
        }
        let number = self.base.wrapping_add(self.ring.len() as u32);
        self.out += u64::from(sent.len());
        sent.flags |= CHAINED;
        sent.prev = self.tail;
        if self.chained > 0 {
            let tail = self.tail.wrapping_sub(self.base) as usize;
            self.ring[tail].next = number;
        } else {
            self.head = number;
        }
        self.tail = number;
        self.chained += 1;
        self.ring.push_back(sent);
    }

    /// Takes the oldest segment out, if it ends at or before `ack`: it is acknowledged.
    #[inline]
    pub(crate) fn pop_acked(&mut self, ack: Offset) -> Option<Sent> {
        let front = *self.ring.front()?;
        if front.end() > ack {
            return None;
        }
        if front.has(CHAINED) {
            self.unchain(0);
        }
        self.out -= u64::from(front.len());
        if front.has(SACKED | LOST | RETRANS) {
            self.joined -= u32::from(front.has(SACKED) && self.is_sacked(1));
            self.forget(&front);
        }
        if self.rtx_from == self.base {
            self.rtx_from = self.rtx_from.wrapping_add(1);
        }
        self.base = self.base.wrapping_add(1);
        self.ring.pop_front();
        if self.ring.capacity() > SPARE && self.ring.len() < self.ring.capacity() / 8 {
            // Of thousands of flows few have a large window at one time.
            self.ring.shrink_to((self.ring.capacity() / 4).max(STEP));
        }
        Some(front)
    }

    fn is_sacked(&self, index: usize) -> bool {
        self.ring.get(index).is_some_and(|sent| sent.has(SACKED))
    }

    fn forget(&mut self, sent: &Sent) {
        if sent.has(SACKED) {
            self.sacked.sub(sent.len());
        }
        if sent.has(LOST) {
            self.lost.sub(sent.len());
        }
        if sent.has(RETRANS) {
            self.retrans.sub(sent.len());
        }
    }

    /// Cuts off what a cumulative acknowledgement covers of the oldest segment. Gives the bytes cut.
    pub(crate) fn trim_front(&mut self, ack: Offset) -> u32 {
        let Some(front) = self.ring.front_mut() else { return 0 };
        if ack <= front.seq {
            return 0;
        }
        let cut = (ack - front.seq) as u32;
        front.seq = ack;
        front.numbers -= cut as u16;
        let flags = front.flags;
        self.out -= u64::from(cut);
        for (flag, tally) in [(SACKED, &mut self.sacked), (LOST, &mut self.lost), (RETRANS, &mut self.retrans)] {
            if flags & flag != 0 {
                tally.bytes -= u64::from(cut);
            }
        }
        cut
    }

    /// The index of the first record that begins at or after `seq`.
    pub(crate) fn index_of(&self, seq: Offset) -> usize {
        let (Some(front), Some(back)) = (self.ring.front(), self.ring.back()) else { return 0 };
        if seq <= front.seq {
            return 0;
        }
        if seq > back.seq {
            return self.ring.len();
        }
        // Segments mostly have one length: guess, and search only if the guess fails.
        let guess = ((seq - front.seq) / u64::from(front.len().max(1))) as usize;
        if self.ring.get(guess).is_some_and(|s| s.seq == seq) {
            return guess;
        }
        self.ring.partition_point(|s| s.seq < seq)
    }

    /// The receiver reports the segment. True if that is new.
    pub(crate) fn sack(&mut self, index: usize) -> bool {
        let sent = &mut self.ring[index];
        if sent.has(SACKED) {
            return false;
        }
        let (flags, len) = (sent.flags, sent.len());
        sent.flags |= SACKED;
        if flags & RETRANS == 0 {
            if flags & LOST != 0 {
                sent.flags &= !LOST;
                self.lost.sub(len);
            }
        } else if flags & LOST != 0 {
            sent.flags &= !(LOST | RETRANS);
            self.lost.sub(len);
            self.retrans.sub(len);
        }
        self.sacked.add(len);
        self.joined += u32::from(index > 0 && self.is_sacked(index - 1)) + u32::from(self.is_sacked(index + 1));
        if flags & CHAINED != 0 {
            self.unchain(index);
        }
        true
    }

    /// A DSACK says that the retransmission in flight arrived too.
    pub(crate) fn clear_retrans(&mut self, index: usize) {
        let sent = &mut self.ring[index];
        if sent.has(RETRANS) {
            sent.flags &= !RETRANS;
            let len = sent.len();
            self.retrans.sub(len);
        }
    }

    /// Marks a segment lost (its retransmission, if one is in flight). Gives the bytes by which fewer are in flight.
    pub(crate) fn mark_lost(&mut self, index: usize) -> u64 {
        let number = self.base.wrapping_add(index as u32);
        let sent = &mut self.ring[index];
        let (flags, len) = (sent.flags, sent.len());
        if flags & SACKED != 0 || flags & (LOST | RETRANS) == LOST {
            return 0;
        }
        sent.flags = (flags | LOST) & !RETRANS;
        if flags & LOST == 0 {
            self.lost.add(len);
        }
        if flags & RETRANS != 0 {
            self.retrans.sub(len);
        }
        if flags & CHAINED != 0 {
            self.unchain(index);
        }
        if (number.wrapping_sub(self.rtx_from) as i32) < 0 || self.lost.segments == 1 {
            self.rtx_from = number;
        }
        u64::from(len)
    }

    /// No segment is marked lost any more: they were late only.
    pub(crate) fn unmark_lost(&mut self) {
        for index in 0..self.ring.len() {
            if self.ring[index].has(LOST) {
                self.ring[index].flags &= !LOST;
                if !self.ring[index].has(CHAINED) {
                    self.chain_by_time(index);
                }
            }
        }
        self.lost = Tally::default();
    }

    /// The receiver took back what it reported (RFC 2018 section 8): everything below the highest is unknown again.
    pub(crate) fn renege(&mut self) {
        for index in 0..self.ring.len() {
            if self.ring[index].has(SACKED) {
                self.ring[index].flags &= !SACKED;
                self.chain_by_time(index);
            }
        }
        self.sacked = Tally::default();
        self.joined = 0;
    }

    /// Without SACK: so many segments of `mss` bytes have left the network, say the duplicate acknowledgements.
    pub(crate) fn set_reno_sacked(&mut self, segments: u32, mss: u64) {
        self.sacked = Tally { segments, bytes: u64::from(segments) * mss };
    }
    /// Without SACK: so many segments more have left the network. Gives their bytes.
    pub(crate) fn add_reno_sacked(&mut self, segments: u32, mss: u64) -> u64 {
        let bytes = u64::from(segments) * mss;
        self.sacked.segments += segments;
        self.sacked.bytes += bytes;
        bytes
    }
    /// Without SACK: what duplicate acknowledgements said counts no more.
    pub(crate) fn clear_reno_sacked(&mut self) {
        self.sacked = Tally::default();
    }

    /// The next segment that is lost and not retransmitted since, oldest first.
    pub(crate) fn next_lost(&mut self) -> Option<usize> {
        if self.lost.segments == 0 {
            return None;
        }
        let mut index = self.rtx_from.wrapping_sub(self.base) as usize;
        if index > self.ring.len() {
            index = 0;
        }
        while let Some(sent) = self.ring.get(index) {
            if sent.flags & (LOST | RETRANS | SACKED) == LOST {
                self.rtx_from = self.base.wrapping_add(index as u32);
                return Some(index);
            }
            index += 1;
        }
        self.rtx_from = self.base.wrapping_add(self.ring.len() as u32);
        None
    }

    /// A segment was sent again to repair a loss.
    pub(crate) fn retransmitted(&mut self, index: usize, now: Time) {
        let sent = &mut self.ring[index];
        if !sent.has(RETRANS) {
            sent.flags |= RETRANS;
            let len = sent.len();
            self.retrans.add(len);
        }
        self.sent_again(index, now);
    }

    /// A segment was sent again. As a tail loss probe it takes the place of the original: in flight it counts once.
    pub(crate) fn sent_again(&mut self, index: usize, now: Time) {
        let sent = &mut self.ring[index];
        let flags = sent.flags;
        sent.flags |= EVER_RETRANS;
        sent.sent_at = now;
        if flags & CHAINED != 0 {
            self.unchain(index);
        }
        if flags & SACKED == 0 {
            self.chain_last(index);
        }
    }

    /// The oldest transmission that is neither SACKed nor marked lost.
    pub(crate) fn oldest(&self) -> Option<usize> {
        (self.chained > 0).then(|| self.head.wrapping_sub(self.base) as usize)
    }
    /// The transmission after that one.
    pub(crate) fn after(&self, index: usize) -> Option<usize> {
        let last = self.tail.wrapping_sub(self.base) as usize;
        (index != last).then(|| self.ring[index].next.wrapping_sub(self.base) as usize)
    }

    #[inline]
    fn unchain(&mut self, index: usize) {
        let number = self.base.wrapping_add(index as u32);
        let sent = &mut self.ring[index];
        sent.flags &= !CHAINED;
        let (prev, next) = (sent.prev, sent.next);
        self.chained -= 1;
        // The oldest mostly goes first: its neighbour is not looked at.
        match (number == self.head, number == self.tail) {
            (true, _) => self.head = next,
            (false, true) => self.tail = prev,
            (false, false) => {
                let (before, after) = (prev.wrapping_sub(self.base), next.wrapping_sub(self.base));
                self.ring[before as usize].next = next;
                self.ring[after as usize].prev = prev;
            }
        }
    }

    fn chain_last(&mut self, index: usize) {
        let number = self.base.wrapping_add(index as u32);
        let tail = self.tail;
        let sent = &mut self.ring[index];
        sent.flags |= CHAINED;
        sent.prev = tail;
        if self.chained > 0 {
            let at = tail.wrapping_sub(self.base) as usize;
            self.ring[at].next = number;
        } else {
            self.head = number;
        }
        self.tail = number;
        self.chained += 1;
    }

    /// Chains a record in where its time of transmission belongs (only after an undo: walks from the end).
    fn chain_by_time(&mut self, index: usize) {
        let order = self.ring[index].order();
        self.chain_last(index);
        let number = self.base.wrapping_add(index as u32);
        let mut later = None;
        let mut at = number;
        while at != self.head {
            at = self.ring[at.wrapping_sub(self.base) as usize].prev;
            let i = at.wrapping_sub(self.base) as usize;
            if !self.ring[i].order().is_after(order) {
                break;
            }
            later = Some(at);
        }
        let Some(later) = later else { return };
        self.unchain(index);
        self.chain_before(index, later);
    }

    fn chain_before(&mut self, index: usize, later: u32) {
        let number = self.base.wrapping_add(index as u32);
        let at = later.wrapping_sub(self.base) as usize;
        let prev = core::mem::replace(&mut self.ring[at].prev, number);
        let sent = &mut self.ring[index];
        sent.flags |= CHAINED;
        (sent.prev, sent.next) = (prev, later);
        if later == self.head {
            self.head = number;
        } else {
            let before = prev.wrapping_sub(self.base) as usize;
            self.ring[before].next = number;
        }
        self.chained += 1;
    }

    pub(crate) fn heap(&self) -> usize {
        self.ring.capacity() * size_of::<Sent>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments of 1000 bytes.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..10).for_each(|i| board.push(Sent::new(Offset::new(1 + 1000 * i), 1000, Time::from_ns(i), 0)));
        board
    }

    /// Linux joins SACKed neighbours in one packet buffer. With every second segment lost there are none.
    #[test]
    fn sacked_segments_that_follow_a_sacked_one_are_counted() {
        let mut board = ten();
        for index in [1, 3, 5, 7] {
            assert!(board.sack(index));
        }
        assert_eq!(board.joined(), 0);
        assert!(board.sack(4), "it joins two");
        assert!(board.sack(8));
        assert!(!board.sack(8), "known");
        assert_eq!(board.joined(), 3);
        while board.pop_acked(Offset::new(4001)).is_some() {}
        assert_eq!(board.joined(), 2, "4 and 5, 7 and 8 are left");
        while board.pop_acked(Offset::new(6001)).is_some() {}
        assert_eq!(board.joined(), 1);
        board.renege();
        assert_eq!(board.joined(), 0);
    }
}
