//! The pending events in order of time.
//! Source: the calendar queue of R. Brown, CACM 31 (1988), as a timing wheel whose bucket width follows the run.
//! Deviations: a bucket is sorted when the clock reaches it; what lies beyond the wheel waits in a heap.
//! Model: smallest (time, sequence number) first, so equal times come out in the order in which they went in.
//! A bucket is a power of two of nanoseconds wide, about the mean time between events, and there are four buckets
//! or more for each pending event, so by Little's law the wheel reaches four times as far as the mean event lies
//! ahead; where many events lie further ahead there are up to 32. All of this is looked at again every [`REVIEW`] events. It
//! changes the cost only, never the order.
//!
//! ```text
//!   current: the bucket at `tick`, sorted, latest first    far: a heap of what is further than the wheel reaches
//!   wheel:   | | |x| |xx| | |x|          each bucket a list through `nodes`; `occupied` has a bit for each
//! ```
//! Units: time ns. Cost: O(1) an event while the rate of events is steady; 24 bytes a pending event and 4 a bucket.
//! Known problems: the sequence number has 32 bits; of two events at one instant that were pushed on either side of its
//! turn-over (once in 4.3e9 events) the later comes first. The order is still the same in every run.

mod heap;

use crate::engine::prefetch::fetch;
use haltere_units::Time;
use heap::{Heap, Key};

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

#[inline]
const fn key(time: u64, seq: u32, target: u32) -> Key {
    (time as u128) << 64 | (seq as u128) << 32 | target as u128
}

#[inline]
const fn time_of(key: Key) -> u64 {
    (key >> 64) as u64
}

/// Events between two looks at the width and the number of buckets.
const REVIEW: u32 = 4096;
/// The least and the most buckets, as powers of two.
const BUCKETS: (u32, u32) = (8, 18);
/// The least and the most buckets for each pending event, as powers of two.
const REACH: (u32, u32) = (2, 5);
/// How many buckets the scout is ahead of the clock at most; fewer than there are.
const AHEAD: u64 = 64;
/// The end of a list.
const NIL: u32 = u32::MAX;

/// An event in a bucket.
#[derive(Debug, Clone, Copy)]
struct Node {
    time: u64,
    seq: u32,
    target: u32,
    next: u32,
}

/// The pending events.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// The bucket that the clock has reached, latest first.
    current: Vec<Key>,
    /// Its number: time >> shift.
    tick: u64,
    /// The bucket that [`scout`](EventQueue::scout) has come to.
    scouted: u64,
    /// A bucket is 1 << shift nanoseconds wide.
    shift: u32,
    /// The first node of each bucket.
    heads: Vec<u32>,
    /// A bit for each bucket that holds something.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    /// The first node not in use.
    spare: u32,
    /// Events in the buckets, `current` not counted.
    in_wheel: usize,
    far: Heap,
    /// The time of its first event.
    far_at: u64,
    seq: u32,
    peak: usize,
    /// Buckets for each pending event, as a power of two; events since the last review that lay beyond the wheel.
    reach: u32,
    beyond: u32,
    /// Events until the next review, and the time of the last.
    until_review: u32,
    reviewed: u64,
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            current: Vec::new(),
            tick: 0,
            scouted: 0,
            shift: 10,
            heads: vec![NIL; 1 << BUCKETS.0],
            occupied: vec![0; (1 << BUCKETS.0) / 64],
            nodes: Vec::new(),
            spare: NIL,
            in_wheel: 0,
            far: Heap::default(),
            far_at: u64::MAX,
            seq: 0,
            peak: 0,
            reach: REACH.0,
            beyond: 0,
            until_review: REVIEW,
            reviewed: 0,
        }
    }
}

impl EventQueue {
    /// No events.
    pub fn new() -> EventQueue {
        EventQueue::default()
    }
    /// Entries pending.
    pub fn len(&self) -> usize {
        self.current.len() + self.in_wheel + self.far.len()
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
        self.insert(entry);
        self.peak = self.peak.max(self.len());
    }
    /// Takes the earliest event, if it is due at or before `until`.
    #[inline]
    pub fn pop(&mut self, until: Time) -> Option<(Time, Target)> {
        if self.current.is_empty() {
            let next = self.next_bucket();
            if let Some(alone) = self.pop_alone(next, until) {
                return Some(alone);
            }
            self.advance(next);
        }
        let near = self.current.last().copied().unwrap_or(Key::MAX);
        // What lies far ahead is seldom the first: the time alone decides, but for a tie.
        let first = if time_of(near) < self.far_at { near } else { near.min(self.far.first().unwrap_or(Key::MAX)) };
        if time_of(first) > until.as_ns() || first == Key::MAX {
            return None;
        }
        if first == near {
            self.current.pop();
        } else {
            self.far.pop();
            self.far_at = self.far.first().map_or(u64::MAX, time_of);
        }
        self.popped(time_of(first));
        Some((Time::from_ns(time_of(first)), Target(first as u32)))
    }
    /// The usual case: the next event is alone in its bucket, of that number.
    #[inline(always)]
    fn pop_alone(&mut self, tick: u64, until: Time) -> Option<(Time, Target)> {
        if tick == u64::MAX {
            return None;
        }
        let bucket = tick as usize & (self.heads.len() - 1);
        let at = self.heads[bucket];
        let node = &mut self.nodes[at as usize];
        let (time, target) = (node.time, node.target);
        if node.next != NIL || time >= self.far_at || time > until.as_ns() {
            return None;
        }
        node.next = self.spare;
        self.spare = at;
        self.tick = tick;
        self.heads[bucket] = NIL;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        self.in_wheel -= 1;
        self.popped(time);
        Some((Time::from_ns(time), Target(target)))
    }
    /// Goes ahead of the clock: the place of an event that is due soon and was not told before, if there is one near by. Its line
    /// is asked for. `last` is what was told last: others of its bucket come first, where the scout is not late.
    #[inline(always)]
    pub(crate) fn scout(&mut self, last: u32) -> Option<u32> {
        let from = self.scouted.max(self.tick) + 1;
        if from > self.tick + AHEAD / 4
            && let Some(node) = self.nodes.get(last as usize).filter(|node| node.next != NIL)
        {
            fetch(self.nodes.as_ptr().wrapping_add(node.next as usize));
            return Some(node.next);
        }
        if from > self.tick + AHEAD {
            return None;
        }
        let bucket = from as usize & (self.heads.len() - 1);
        let bits = self.occupied[bucket / 64] >> (bucket % 64);
        if bits == 0 {
            self.scouted = from | 63;
            return None;
        }
        let skip = bits.trailing_zeros();
        self.scouted = from + u64::from(skip);
        let place = self.heads[bucket + skip as usize];
        fetch(self.nodes.as_ptr().wrapping_add(place as usize));
        Some(place)
    }
    /// Whom the event at that place is for, if there is such a place.
    #[inline(always)]
    pub(crate) fn at_place(&self, place: u32) -> Option<Target> {
        self.nodes.get(place as usize).map(|node| Target(node.target))
    }
    #[inline(always)]
    fn popped(&mut self, time: u64) {
        self.until_review -= 1;
        if self.until_review == 0 {
            self.review(time);
        }
    }
    #[inline(always)]
    fn insert(&mut self, entry: Key) {
        let time = time_of(entry);
        let ahead = (time >> self.shift).saturating_sub(self.tick);
        if ahead == 0 || ahead >= self.heads.len() as u64 {
            return self.insert_aside(entry, ahead);
        }
        let bucket = (time >> self.shift) as usize & (self.heads.len() - 1);
        self.heads[bucket] = self.keep(entry, self.heads[bucket]);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
        self.in_wheel += 1;
    }
    /// An event in the bucket that the clock has reached, or beyond the wheel.
    #[inline(never)]
    fn insert_aside(&mut self, entry: Key, ahead: u64) {
        if ahead == 0 {
            let at = self.current.iter().rposition(|e| *e > entry).map_or(0, |i| i + 1);
            self.current.insert(at, entry);
        } else {
            self.far.push(entry);
            self.beyond += 1;
            self.far_at = self.far_at.min(time_of(entry));
        }
    }
    #[inline(always)]
    fn keep(&mut self, entry: Key, next: u32) -> u32 {
        let at = self.spare;
        let Some(place) = self.nodes.get_mut(at as usize) else { return self.keep_more(entry, next) };
        self.spare = place.next;
        // Field by field: a node built aside would be read back in larger pieces than it was written, which stalls.
        (place.time, place.seq, place.target) = (time_of(entry), (entry >> 32) as u32, entry as u32);
        place.next = next;
        at
    }
    #[cold]
    #[inline(never)]
    fn keep_more(&mut self, entry: Key, next: u32) -> u32 {
        self.nodes.push(Node { time: time_of(entry), seq: (entry >> 32) as u32, target: entry as u32, next });
        (self.nodes.len() - 1) as u32
    }
    /// Moves the clock to `next`, the next bucket that holds something, or to the first event beyond the wheel if that is earlier.
    #[inline]
    fn advance(&mut self, next: u64) {
        let far = self.far_at >> self.shift;
        if next <= far && next != u64::MAX {
            self.tick = next;
            self.load(next as usize & (self.heads.len() - 1));
        } else if self.far_at != u64::MAX {
            self.tick = self.tick.max(far);
        }
    }
    /// The number of the next bucket that holds something.
    #[inline]
    fn next_bucket(&self) -> u64 {
        if self.in_wheel == 0 {
            return u64::MAX;
        }
        let mask = self.heads.len() - 1;
        let start = (self.tick + 1) as usize & mask;
        let words = self.occupied.len();
        let (mut word, mut bits) = (start / 64, self.occupied[start / 64] & (u64::MAX << (start % 64)));
        for _ in 0..=words {
            if bits != 0 {
                let bucket = word * 64 + bits.trailing_zeros() as usize;
                return self.tick + 1 + (bucket.wrapping_sub(start) & mask) as u64;
            }
            word = (word + 1) % words;
            bits = self.occupied[word];
        }
        unreachable!("{} events are in the wheel, but no bucket is occupied", self.in_wheel)
    }
    /// Takes a bucket into `current`.
    #[inline]
    fn load(&mut self, bucket: usize) {
        let mut at = self.heads[bucket];
        self.heads[bucket] = NIL;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        while at != NIL {
            let node = &mut self.nodes[at as usize];
            let entry = key(node.time, node.seq, node.target);
            let next = node.next;
            node.next = self.spare;
            self.spare = at;
            at = next;
            self.in_wheel -= 1;
            self.current.push(entry);
        }
        match self.current.len() {
            0 | 1 => {}
            2 if self.current[0] < self.current[1] => self.current.swap(0, 1),
            2 => {}
            _ => self.current.sort_unstable_by(|a, b| b.cmp(a)),
        }
    }
    /// Fits width and number of the buckets to the events since the last review, where they are far off.
    #[cold]
    fn review(&mut self, now: u64) {
        let gap = (now - self.reviewed) / u64::from(REVIEW);
        (self.reviewed, self.until_review) = (now, REVIEW);
        let shift = gap.max(1).ilog2();
        let beyond = core::mem::take(&mut self.beyond);
        if beyond > REVIEW / 32 && self.reach < REACH.1 {
            self.reach += 1;
        }
        let buckets = (self.len().max(1).ilog2() + self.reach).clamp(BUCKETS.0, BUCKETS.1);
        let now_buckets = self.heads.len().ilog2();
        if shift.abs_diff(self.shift) < 2 && buckets <= now_buckets && buckets + 3 > now_buckets {
            return;
        }
        let mut all: Vec<Key> = self.current.drain(..).chain(self.far.drain()).collect();
        for &head in &self.heads {
            let mut at = head;
            while at != NIL {
                let node = self.nodes[at as usize];
                all.push(key(node.time, node.seq, node.target));
                at = node.next;
            }
        }
        self.far_at = u64::MAX;
        self.heads.clear();
        self.heads.resize(1 << buckets, NIL);
        self.occupied.clear();
        self.occupied.resize((1 << buckets) / 64, 0);
        self.nodes.clear();
        (self.spare, self.in_wheel) = (NIL, 0);
        (self.shift, self.tick, self.scouted) = (shift, now >> shift, 0);
        for entry in all {
            self.insert(entry);
        }
        self.beyond = 0; // those put back were counted when they came
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// The scout tells of the events of the next buckets that hold any, of the nearest only of one each, and changes nothing.
        #[test]
        fn the_scout_finds_what_comes_next(times in prop::collection::vec(0u64..50_000, 1..40)) {
            let mut queue = EventQueue::new();
            for (i, time) in times.iter().enumerate() {
                queue.push(Time::from_ns(*time), Target::new(0, i as u32));
            }
            let mut told = Vec::new();
            let mut last = NIL;
            for _ in 0..AHEAD + 40 {
                last = queue.scout(last).unwrap_or(NIL);
                told.extend(queue.at_place(last));
            }
            // In order of the buckets; in one the event that went in last comes first.
            let mut want: Vec<(u64, usize)> = times.iter().enumerate().map(|(i, time)| (time >> queue.shift, i)).collect();
            want.retain(|(bucket, _)| (1..=AHEAD).contains(bucket));
            want.sort_by_key(|&(bucket, i)| (bucket, usize::MAX - i));
            want.dedup_by(|after, before| after.0 == before.0 && after.0 < AHEAD / 4);
            let want: Vec<Target> = want.into_iter().map(|(_, i)| Target::new(0, i as u32)).collect();
            prop_assert_eq!(told, want);
            let mut sorted = times.clone();
            sorted.sort();
            for time in sorted {
                prop_assert_eq!(queue.pop(Time::NEVER).map(|(at, _)| at.as_ns()), Some(time));
            }
        }
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
