//! What arrived out of order, as ranges of stream offsets, and the SACK blocks that report it.
//! Source: RFC 9293 section 3.10.7.4, RFC 2018 section 4 (the newest block first), RFC 2883 section 4.
//! Deviations: as on Linux, a range that joins others only in the queue is reported alone, not as the whole contiguous
//! block. Model: disjoint ranges in order, and the four blocks that changed last.
//! Units: stream offsets. Cost: O(log holes) a segment out of order, nothing in order. Known problems: none.

use crate::tcp::seq::{Offset, Span};
use alloc::collections::VecDeque;

/// Ranges received above the next offset expected.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Reassembly {
    ranges: VecDeque<Span>,
    /// The blocks that changed last, newest first.
    recent: [Span; 4],
    count: u8,
    bytes: u64,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes in all ranges.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a range in. Returns the part that had arrived before, if any.
    pub(crate) fn insert(&mut self, new: Span) -> Option<Span> {
        // The first range that ends at or after its start may touch it.
        let first = match self.ranges.back() {
            Some(last) if last.end < new.start => self.ranges.len(),
            _ => self.ranges.partition_point(|r| r.end < new.start),
        };
        let mut merged = new;
        let mut duplicate = None;
        let mut after = first;
        while let Some(&old) = self.ranges.get(after).filter(|old| old.start <= new.end) {
            let common = Span::new(new.start.max(old.start), new.end.min(old.end));
            if !common.is_empty() {
                duplicate = duplicate.or(Some(common));
            }
            merged = merged.joined(old);
            self.bytes -= old.len();
            after += 1;
        }
        self.bytes += merged.len();
        if after == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            self.ranges.drain(first + 1..after);
        }
        self.remember(new);
        duplicate
    }

    /// Of a range in order, the first part that had arrived before.
    pub(crate) fn first_within(&self, new: Span) -> Option<Span> {
        let first = self.ranges.front().filter(|first| first.start < new.end)?;
        Some(Span::new(first.start, first.end.min(new.end)))
    }

    /// Whether a range is a block of its own, or joins one that is not among the two that changed last.
    pub(crate) fn is_third(&self, new: Span) -> bool {
        self.count >= 2 && !self.recent[..2].iter().any(|block| block.touches(new))
    }

    /// The newest block: the range with the blocks that it touches among those that changed last.
    fn remember(&mut self, new: Span) {
        let mut recent = [new; 4];
        let mut count = 1;
        for &block in &self.recent[..usize::from(self.count)] {
            if block.touches(recent[0]) {
                recent[0] = recent[0].joined(block);
            } else if count < 4 {
                recent[count] = block;
                count += 1;
            }
        }
        self.recent = recent;
        self.count = count as u8;
    }

    /// All is in order up to `next`. Gives how far the ranges lead on from there.
    pub(crate) fn advance(&mut self, next: Offset) -> Offset {
        let mut to = next;
        while let Some(range) = self.ranges.front().filter(|range| range.start <= to) {
            to = to.max(range.end);
            self.bytes -= range.len();
            self.ranges.pop_front();
        }
        let mut count = 0;
        for i in 0..usize::from(self.count) {
            if self.recent[i].start > to {
                self.recent[count] = self.recent[i];
                count += 1;
            }
        }
        self.count = count as u8;
        to
    }

    /// The blocks that changed last, newest first.
    pub(crate) fn recent(&self) -> &[Span] {
        &self.recent[..usize::from(self.count)]
    }

    /// The ranges, lowest first.
    #[cfg(test)]
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &Span> {
        self.ranges.iter()
    }
    pub(crate) fn heap(&self) -> usize {
        self.ranges.capacity() * size_of::<Span>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn span(start: u64, end: u64) -> Span {
        Span::new(Offset::new(start), Offset::new(end))
    }
    fn recent(r: &Reassembly) -> Vec<(u64, u64)> {
        r.recent().iter().map(|s| (s.start.get(), s.end.get())).collect()
    }

    #[test]
    fn the_newest_block_comes_first_and_ranges_merge() {
        // RFC 2018 section 5, case 2: segments of 500 bytes from 5000 on, the first lost.
        let mut r = Reassembly::default();
        r.insert(span(5500, 6000));
        assert_eq!(recent(&r), [(5500, 6000)]);
        r.insert(span(6000, 6500));
        assert_eq!(recent(&r), [(5500, 6500)]);
        // Case 3: second, fourth, sixth and eighth lost.
        let mut r = Reassembly::default();
        for s in [6000, 7000, 8000] {
            r.insert(span(s, s + 500));
        }
        assert_eq!(recent(&r), [(8000, 8500), (7000, 7500), (6000, 6500)]);
        r.insert(span(6500, 7000));
        assert_eq!(recent(&r), [(6000, 7500), (8000, 8500)]);
        assert_eq!(r.advance(Offset::new(6000)), Offset::new(7500));
        assert_eq!(recent(&r), [(8000, 8500)]);
    }

    #[test]
    fn a_range_beside_a_forgotten_block_is_reported_alone() {
        // Linux keeps four blocks. With a fifth hole the first block is forgotten, and what touches it begins anew.
        let mut r = Reassembly::default();
        for start in [10, 30, 50, 70, 90] {
            r.insert(span(start, start + 10));
        }
        assert_eq!(recent(&r), [(90, 100), (70, 80), (50, 60), (30, 40)]);
        r.insert(span(20, 25));
        assert_eq!(recent(&r), [(20, 25), (90, 100), (70, 80), (50, 60)]);
        r.insert(span(25, 30));
        assert_eq!(recent(&r), [(20, 30), (90, 100), (70, 80), (50, 60)]);
        // What lies in order is reported no longer, and what was forgotten stays so.
        r.insert(span(120, 130));
        r.insert(span(100, 105));
        assert_eq!(r.advance(Offset::new(10)), Offset::new(40));
        assert_eq!(recent(&r), [(90, 105), (120, 130), (70, 80)]);
    }

    #[test]
    fn the_third_block_is_neither_of_the_two_that_changed_last() {
        let mut r = Reassembly::default();
        r.insert(span(10, 20));
        assert!(!r.is_third(span(30, 40)), "a second block");
        r.insert(span(30, 40));
        assert!(!r.is_third(span(20, 25)) && !r.is_third(span(40, 50)), "they grow");
        assert!(r.is_third(span(50, 60)), "a block of its own");
        r.insert(span(50, 60));
        assert!(r.is_third(span(20, 25)), "the oldest of three grows");
        assert!(!r.is_third(span(40, 45)));
    }

    #[test]
    fn what_was_there_already_is_reported() {
        let mut r = Reassembly::default();
        assert_eq!(r.insert(span(10, 20)), None);
        assert_eq!(r.insert(span(20, 30)), None);
        assert_eq!(r.insert(span(15, 25)), Some(span(15, 25)));
        assert_eq!(r.ranges().copied().collect::<Vec<_>>(), [span(10, 30)]);
        assert_eq!(r.insert(span(0, 12)), Some(span(10, 12)));
        assert_eq!((r.insert(span(40, 45)), r.bytes()), (None, 30 + 5));
        assert_eq!(r.advance(Offset::SYN), Offset::new(30));
        assert_eq!(r.bytes(), 5);
        assert_eq!(r.advance(Offset::new(40)), Offset::new(45));
        assert!(r.is_empty());
    }
}
