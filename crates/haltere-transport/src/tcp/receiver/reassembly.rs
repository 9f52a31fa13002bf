//! What arrived out of order, as ranges of positions, and the SACK blocks that tell of it.
//! Source: RFC 9293 section 3.10.7.4, RFC 2018 section 4 (the newest block first), RFC 2883 section 4.
//! Deviations: none. Model: disjoint ranges in order, and the four that changed last.
//! Units: positions. Cost: O(log holes) a segment out of order, nothing in order. Known problems: none.

use alloc::collections::VecDeque;

/// Ranges received above the next position expected.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Reassembly {
    ranges: VecDeque<(u64, u64)>,
    /// The ranges that changed last, newest first.
    recent: [(u64, u64); 4],
    count: u8,
}

impl Reassembly {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Takes in `start..end`. Gives the part that was there already, if any.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Option<(u64, u64)> {
        // The first range that ends at or after `start` may touch.
        let first = match self.ranges.back() {
            Some(&(_, last)) if last < start => self.ranges.len(),
            _ => self.ranges.partition_point(|r| r.1 < start),
        };
        let (mut low, mut high) = (start, end);
        let mut duplicate = None;
        let mut after = first;
        while let Some(&(s, e)) = self.ranges.get(after) {
            if s > end {
                break;
            }
            if s < end && start < e {
                duplicate = duplicate.or(Some((start.max(s), end.min(e))));
            }
            low = low.min(s);
            high = high.max(e);
            after += 1;
        }
        if after == first {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..after);
        }
        self.remember(low, high);
        duplicate
    }

    /// Whether `start..end` is a block of its own, or joins one that is not among the two that changed last.
    pub(crate) fn is_third(&self, start: u64, end: u64) -> bool {
        self.count >= 2 && !self.recent[..2].iter().any(|&(s, e)| s <= end && start <= e)
    }

    fn remember(&mut self, low: u64, high: u64) {
        let mut recent = [(low, high); 4];
        let mut count = 1;
        for &(s, e) in &self.recent[..usize::from(self.count)] {
            if count < 4 && (e < low || s > high) {
                recent[count] = (s, e);
                count += 1;
            }
        }
        self.recent = recent;
        self.count = count as u8;
    }

    /// All is in order up to `next`: gives how far the ranges lead on from there.
    pub(crate) fn advance(&mut self, next: u64) -> u64 {
        let mut to = next;
        while let Some(&(s, e)) = self.ranges.front() {
            if s > to {
                break;
            }
            to = to.max(e);
            self.ranges.pop_front();
        }
        let mut count = 0;
        for i in 0..usize::from(self.count) {
            if self.recent[i].0 > to {
                self.recent[count] = self.recent[i];
                count += 1;
            }
        }
        self.count = count as u8;
        to
    }

    /// The ranges that changed last, newest first.
    pub(crate) fn recent(&self) -> &[(u64, u64)] {
        &self.recent[..usize::from(self.count)]
    }

    /// The first range out of order.
    #[cfg(test)]
    pub(crate) fn ranges(&self) -> impl Iterator<Item = &(u64, u64)> {
        self.ranges.iter()
    }
    /// Bytes of heap.
    pub(crate) fn heap(&self) -> usize {
        self.ranges.capacity() * size_of::<(u64, u64)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_newest_block_comes_first_and_ranges_merge() {
        // RFC 2018 section 5, case 2: segments of 500 bytes from 5000 on, the first lost.
        let mut r = Reassembly::default();
        r.insert(5500, 6000);
        assert_eq!(r.recent(), [(5500, 6000)]);
        r.insert(6000, 6500);
        assert_eq!(r.recent(), [(5500, 6500)]);
        // Case 3: second, fourth, sixth and eighth lost.
        let mut r = Reassembly::default();
        for s in [6000, 7000, 8000] {
            r.insert(s, s + 500);
        }
        assert_eq!(r.recent(), [(8000, 8500), (7000, 7500), (6000, 6500)]);
        r.insert(6500, 7000);
        assert_eq!(r.recent(), [(6000, 7500), (8000, 8500)]);
        assert_eq!(r.advance(6000), 7500);
        assert_eq!(r.recent(), [(8000, 8500)]);
    }

    #[test]
    fn the_third_block_is_neither_of_the_two_that_changed_last() {
        let mut r = Reassembly::default();
        r.insert(10, 20);
        assert!(!r.is_third(30, 40), "a second block");
        r.insert(30, 40);
        assert!(!r.is_third(20, 25) && !r.is_third(40, 50), "they grow");
        assert!(r.is_third(50, 60), "a block of its own");
        r.insert(50, 60);
        assert!(r.is_third(20, 25), "the oldest of three grows");
        assert!(!r.is_third(40, 45));
    }

    #[test]
    fn what_was_there_already_is_told() {
        let mut r = Reassembly::default();
        assert_eq!(r.insert(10, 20), None);
        assert_eq!(r.insert(20, 30), None);
        assert_eq!(r.insert(15, 25), Some((15, 25)));
        assert_eq!(r.ranges().copied().collect::<Vec<_>>(), [(10, 30)]);
        assert_eq!(r.insert(0, 12), Some((10, 12)));
        assert_eq!(r.advance(0), 30);
        assert!(r.is_empty());
    }
}
