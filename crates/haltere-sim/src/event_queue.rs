//! The pending events in order of time.
//! Source: 4-ary heap as in J. W. J. Williams 1964 with the wider fan-out of D. B. Johnson 1975. Deviations: the top is
//! taken out lazily, so that a push that follows a pop costs one walk down instead of one down and one up.
//! Model: smallest (time, sequence number) first; equal times come out in the order in which they went in.
//! Units: time ns. Cost: O(log n) an event; 16 bytes an entry.
//! Known problems: the sequence number has 32 bits; of two events at one instant that were pushed on either side of its
//! turn-over (once in 4.3e9 events) the later comes first. The order is still the same in every run.

use haltere_units::Time;

/// Whom an event is for: a kind and an index, as small as they can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target(u32);

const INDEX_BITS: u32 = 29;

impl Target {
    /// The largest index.
    pub const MAX_INDEX: u32 = (1 << INDEX_BITS) - 1;

    /// The target of that kind (0 to 7) and index (up to [`Target::MAX_INDEX`]).
    #[inline]
    pub const fn new(kind: u32, index: u32) -> Target {
        Target(kind << INDEX_BITS | index)
    }
    /// Its kind.
    #[inline]
    pub const fn kind(self) -> u32 {
        self.0 >> INDEX_BITS
    }
    /// Its index.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & Target::MAX_INDEX) as usize
    }
}

/// An entry as one number: time, then sequence number, then target. The order of the numbers is the order of events.
type Key = u128;

#[inline]
const fn key(time: u64, seq: u32, target: u32) -> Key {
    (time as u128) << 64 | (seq as u128) << 32 | target as u128
}

/// The pending events.
#[derive(Debug, Clone, Default)]
pub struct EventQueue {
    heap: Vec<Key>,
    /// The top entry was handed out and only still stands there.
    hole: bool,
    seq: u32,
    peak: usize,
}

impl EventQueue {
    /// No events.
    pub fn new() -> EventQueue {
        EventQueue::default()
    }
    /// Entries pending.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }
    /// True when nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The most entries that were pending at one time.
    pub fn peak(&self) -> usize {
        self.peak
    }
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, time: Time, target: Target) {
        let entry = key(time.as_ns(), self.seq, target.0);
        self.seq = self.seq.wrapping_add(1);
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.sift_up(entry);
        }
        self.peak = self.peak.max(self.heap.len());
    }
    /// Takes the earliest event, if it is due at or before `until`.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Target)> {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop()?;
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
        let first = *self.heap.first()?;
        let time = (first >> 64) as u64;
        if time > until.as_ns() {
            return None;
        }
        self.hole = true;
        Some((Time::from_ns(time), Target(first as u32)))
    }
    fn sift_up(&mut self, entry: Key) {
        let mut at = self.heap.len();
        self.heap.push(entry);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }
    /// Puts `entry` where the top stands and lets it sink.
    #[inline]
    fn sift_down(&mut self, entry: Key) {
        let heap = &mut self.heap[..];
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// The same order as the standard library's heap of (time, sequence number), whatever the mixture of steps.
        #[test]
        fn order_equals_a_binary_heap(steps in prop::collection::vec((any::<bool>(), 0u64..5_000_000, 0u32..40), 1..4000)) {
            let mut queue = EventQueue::new();
            let mut model = BinaryHeap::new();
            let mut now = 0;
            for (seq, (push, ahead, shift)) in steps.into_iter().enumerate() {
                if push {
                    let time = now + (ahead << shift) / 1000;
                    queue.push(Time::from_ns(time), Target::new(3, seq as u32));
                    model.push(Reverse((time, seq)));
                } else {
                    let want = model.pop().map(|Reverse((time, seq))| (Time::from_ns(time), Target::new(3, seq as u32)));
                    let got = queue.pop(Time::NEVER);
                    prop_assert_eq!(got, want);
                    now = got.map_or(now, |(time, _)| time.as_ns());
                }
                prop_assert_eq!(queue.len(), model.len());
            }
            while let Some(Reverse((time, seq))) = model.pop() {
                prop_assert_eq!(queue.pop(Time::NEVER), Some((Time::from_ns(time), Target::new(3, seq as u32))));
            }
            prop_assert!(queue.is_empty());
        }
    }
    #[test]
    fn an_event_after_the_limit_stays() {
        let mut queue = EventQueue::new();
        queue.push(Time::from_ns(10), Target::new(0, 1));
        assert_eq!(queue.pop(Time::from_ns(9)), None);
        assert_eq!(queue.pop(Time::from_ns(10)), Some((Time::from_ns(10), Target::new(0, 1))));
        assert_eq!(queue.pop(Time::NEVER), None);
    }
    #[test]
    fn target_keeps_kind_and_index() {
        let target = Target::new(7, Target::MAX_INDEX);
        assert_eq!((target.kind(), target.index()), (7, Target::MAX_INDEX as usize));
    }
}
