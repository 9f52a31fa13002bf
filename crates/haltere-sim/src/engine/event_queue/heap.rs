//! A 4-ary heap of entries, smallest first.
//! Source: J. W. J. Williams 1964 with the wider fan-out of D. B. Johnson 1975. Deviations: none.
//! Cost: O(log n) a push and a pop; 16 bytes an entry.

/// An entry as one number: time, then sequence number, then target. The order of the numbers is the order of events.
pub(super) type Key = u128;

/// A 4-ary heap, smallest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Heap {
    entries: Vec<Key>,
}

impl Heap {
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    #[inline]
    pub fn first(&self) -> Option<Key> {
        self.entries.first().copied()
    }
    /// Takes all entries out, in no order.
    pub fn drain(&mut self) -> impl Iterator<Item = Key> {
        self.entries.drain(..)
    }
    pub fn push(&mut self, entry: Key) {
        let mut at = self.entries.len();
        self.entries.push(entry);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }
    pub fn pop(&mut self) -> Option<Key> {
        let last = self.entries.pop()?;
        let Some(&first) = self.entries.first() else { return Some(last) };
        self.sift_down(last);
        Some(first)
    }
    /// Replaces the top by `entry` and sifts it down.
    fn sift_down(&mut self, entry: Key) {
        let heap = &mut self.entries[..];
        let mut at = 0;
        loop {
            let child = 4 * at + 1;
            if child >= heap.len() {
                break;
            }
            let end = (child + 4).min(heap.len());
            let (mut least, mut value) = (child, heap[child]);
            for (i, &other) in heap.iter().enumerate().take(end).skip(child + 1) {
                if other < value {
                    (least, value) = (i, other);
                }
            }
            if entry <= value {
                break;
            }
            heap[at] = value;
            at = least;
        }
        heap[at] = entry;
    }
}
