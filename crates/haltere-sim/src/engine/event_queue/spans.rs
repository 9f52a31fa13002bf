//! Events beyond the wheel, in spans of time. A span is a list of blocks of events, in no order.
//! Source: the second level of the timing wheels of G. Varghese and T. Lauck, SOSP 1987, scheme 7. Deviations: blocks of
//! events instead of lists of single ones, so that a span is read from consecutive memory.
//! Cost: O(1) an event; 16 bytes an event, and up to a block for each span that holds something.

use super::heap::Key;

/// The number of spans.
pub(super) const SPANS: u64 = 1024;
/// Events in a block.
const BLOCK: usize = 31;
/// The end of a list.
const NIL: u32 = u32::MAX;

/// Some events of a span.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    entries: [Key; BLOCK],
    len: u32,
    next: u32,
}

impl Block {
    pub fn entries(&self) -> &[Key] {
        &self.entries[..self.len as usize]
    }
}

/// The events of up to [`SPANS`] spans, by the number of the span.
#[derive(Debug, Clone)]
pub(super) struct Spans {
    /// The first block of each span. None: nothing was ever beyond the wheel.
    heads: Vec<u32>,
    /// A bit for each span that holds something.
    occupied: [u64; SPANS as usize / 64],
    blocks: Vec<Block>,
    /// The first block not in use.
    spare: u32,
    len: usize,
}

impl Default for Spans {
    fn default() -> Spans {
        Spans { heads: Vec::new(), occupied: [0; SPANS as usize / 64], blocks: Vec::new(), spare: NIL, len: 0 }
    }
}

impl Spans {
    /// The number of events.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Adds an event. The spans that hold something are at most [`SPANS`] consecutive ones.
    pub fn push(&mut self, span: u64, entry: Key) {
        if self.heads.is_empty() {
            self.heads.resize(SPANS as usize, NIL);
        }
        let at = (span % SPANS) as usize;
        let head = self.heads[at];
        self.len += 1;
        match self.blocks.get_mut(head as usize).filter(|block| (block.len as usize) < BLOCK) {
            Some(block) => {
                block.entries[block.len as usize] = entry;
                block.len += 1;
            }
            None => {
                self.occupied[at / 64] |= 1 << (at % 64);
                self.heads[at] = self.start_block(entry, head);
            }
        }
    }
    /// Begins a block with that event, before the block `next`. Returns its place.
    fn start_block(&mut self, entry: Key, next: u32) -> u32 {
        let at = self.spare;
        if let Some(block) = self.blocks.get_mut(at as usize) {
            self.spare = block.next;
            block.entries[0] = entry;
            (block.len, block.next) = (1, next);
            return at;
        }
        self.blocks.push(Block { entries: [entry; BLOCK], len: 1, next });
        (self.blocks.len() - 1) as u32
    }
    /// Takes some events of a span out, if it holds any.
    pub fn take(&mut self, span: u64) -> Option<Block> {
        let at = (span % SPANS) as usize;
        let head = *self.heads.get(at)?;
        let block = self.blocks.get_mut(head as usize)?;
        let taken = *block;
        block.next = self.spare;
        self.spare = head;
        self.heads[at] = taken.next;
        self.len -= taken.len as usize;
        if taken.next == NIL {
            self.occupied[at / 64] &= !(1 << (at % 64));
        }
        Some(taken)
    }
    /// The first span from `from` on that holds something.
    pub fn first(&self, from: u64) -> Option<u64> {
        let words = self.occupied.len() as u64;
        let start = from % SPANS;
        let mut bits = self.occupied[(start / 64) as usize] & (u64::MAX << (start % 64));
        for word in start / 64..=start / 64 + words {
            if bits != 0 {
                let at = word * 64 + u64::from(bits.trailing_zeros());
                return Some(from - start + at);
            }
            bits = self.occupied[((word + 1) % words) as usize];
        }
        None
    }
    /// Takes all events out, in no order.
    pub fn drain(&mut self) -> Vec<Key> {
        let all = core::mem::take(self);
        let mut entries = Vec::with_capacity(all.len);
        for mut at in all.heads {
            while let Some(block) = all.blocks.get(at as usize) {
                entries.extend(block.entries());
                at = block.next;
            }
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// What a list for each span would hold, while the clock goes on.
        #[test]
        fn spans_hold_what_lists_would(steps in prop::collection::vec((0u64..SPANS, 1u64..80, any::<bool>()), 1..60)) {
            let (mut spans, mut model) = (Spans::default(), BTreeMap::<u64, Vec<Key>>::new());
            let (mut from, mut entry) = (0, 0);
            for (ahead, count, take) in steps {
                for _ in 0..count {
                    entry += 1;
                    spans.push(from + ahead, entry);
                    model.entry(from + ahead).or_default().push(entry);
                }
                prop_assert_eq!(spans.first(from), model.keys().next().copied());
                if take && let Some((span, mut want)) = model.pop_first() {
                    let mut got = Vec::<Key>::new();
                    while let Some(block) = spans.take(span) {
                        got.extend(block.entries());
                    }
                    got.sort_unstable();
                    want.sort_unstable();
                    prop_assert_eq!(got, want);
                    from = span;
                }
                prop_assert_eq!(spans.len(), model.values().map(Vec::len).sum::<usize>());
            }
            let mut rest = spans.drain();
            rest.sort_unstable();
            let mut want: Vec<Key> = model.into_values().flatten().collect();
            want.sort_unstable();
            prop_assert_eq!(rest, want);
        }
    }
}
