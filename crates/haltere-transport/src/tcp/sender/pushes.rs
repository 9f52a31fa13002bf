//! Where segments that were written and not yet sent are to be pushed (RFC 9293 section 3.9.1.2).
//! Source: none; a list. Deviations: the first end is kept apart from the others, so that a segment that ends before it
//! reads nothing on the heap.
//! Units: stream offsets. Cost: O(1). Known problems: none.

use crate::tcp::seq::{Offset, low};
use alloc::collections::VecDeque;

/// There is no push.
const NONE: Offset = Offset::new(u64::MAX);

/// Ends of the segments that are to be pushed, in order.
#[derive(Debug)]
pub(super) struct Pushes {
    first: Offset,
    /// Those after it, modulo 2^32: a buffer has at most 1 GiB.
    later: VecDeque<u32>,
}

impl Pushes {
    pub const fn new() -> Pushes {
        Pushes { first: NONE, later: VecDeque::new() }
    }
    pub fn clear(&mut self) {
        (self.first, self.later) = (NONE, VecDeque::new());
    }
    /// The segment that ends there, after all others, is to be pushed.
    pub fn add(&mut self, end: Offset) {
        if self.first == NONE {
            self.first = end;
        } else {
            self.later.push_back(low(end));
        }
    }
    /// The last push is taken back if it is that of the segment that ends there. False: it is not.
    pub fn take_back(&mut self, end: Offset) -> bool {
        if self.first == end {
            self.first = NONE;
            return true;
        }
        self.later.back() == Some(&low(end)) && self.later.pop_back().is_some()
    }
    /// All before `nxt` was sent. True if some of it is to be pushed.
    #[inline]
    pub fn sent(&mut self, nxt: Offset) -> bool {
        self.first <= nxt && self.pass(nxt)
    }
    #[cold]
    fn pass(&mut self, nxt: Offset) -> bool {
        while self.first <= nxt {
            let after = |end: u32| self.first + u64::from(end.wrapping_sub(low(self.first)));
            self.first = self.later.pop_front().map_or(NONE, after);
        }
        true
    }
    /// Bytes of its heap.
    pub fn heap(&self) -> usize {
        self.later.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// The same as a plain list of offsets, also across 2^32.
        #[test]
        fn pushes_are_a_list_of_ends(steps in prop::collection::vec((0u8..4, 0u64..200_000), 1..200)) {
            let (mut pushes, mut model) = (Pushes::new(), Vec::<Offset>::new());
            let (mut end, mut nxt) = (Offset::new(u64::from(u32::MAX) - 1_000_000), Offset::FIRST);
            for (kind, bytes) in steps {
                match kind {
                    0 | 1 => {
                        end += bytes + 1;
                        pushes.add(end);
                        model.push(end);
                    }
                    2 => {
                        let last = model.pop_if(|last| bytes % 2 == 0 && *last == end).is_some();
                        let asked = if bytes % 2 == 0 { end } else { end + 1 };
                        prop_assert_eq!(pushes.take_back(asked), last);
                    }
                    _ => {
                        nxt = end.min(model.first().map_or(end, |first| *first + bytes / 2));
                        let count = model.len();
                        model.retain(|push| *push > nxt);
                        prop_assert_eq!(pushes.sent(nxt), model.len() < count);
                    }
                }
            }
            prop_assert_eq!(pushes.sent(end), !model.is_empty());
            prop_assert!(nxt <= end);
        }
    }
}
