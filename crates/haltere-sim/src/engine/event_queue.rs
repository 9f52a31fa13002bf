//! The pending events in order of time.
//! Source: the calendar queue of R. Brown, CACM 31 (1988), as a timing wheel.
//! Deviations: the width of a bucket follows the run. A bucket is sorted when the clock reaches it. Events beyond the
//! wheel are in [spans](spans) of half its length, and those beyond these in a heap.
//! Model: the smallest (time, sequence number) comes first, so events of one instant keep the order in which they were
//! pushed. The width of a bucket is a power of two of nanoseconds, about the mean time between events. There are at
//! least four buckets for each pending event, but at most 4096, which stay in the cache. By Little's law the wheel then
//! reaches up to four times as far as the mean event lies in the future. If many events lie further in the future, there
//! are up to 32 buckets for each. Width and number are adjusted every [`REVIEW`] events. They change the cost only,
//! never the order.
//!
//! ```text
//!   current: the bucket at `tick`, sorted, latest first
//!   wheel:   | | |x| |xx| | |x|          each bucket a list through `nodes`; `occupied` has a bit for each
//!            it holds what is due in the span of the clock and in the next one
//!   later:   |xxxx|xx| |xxx| | |         the spans after these      far: a heap of what is still later
//! ```
//! Units: time ns. Cost: O(1) an event while the rate of events is steady; 24 bytes an event in the wheel and 16
//! elsewhere, and 4 a bucket.
//! Known problems: the sequence number has 32 bits and overflows once in 4.3e9 events. Of two events at one instant
//! that were pushed before and after the overflow, the later one comes first. The order is still the same in every run.

mod heap;
mod spans;

use crate::engine::event::Target;
use crate::engine::prefetch::fetch;
use haltere_units::Time;
use heap::{Heap, Key};
use spans::{SPANS, Spans};

#[inline]
const fn key(time: u64, seq: u32, target: u32) -> Key {
    (time as u128) << 64 | (seq as u128) << 32 | target as u128
}

#[inline]
const fn time_of(key: Key) -> u64 {
    (key >> 64) as u64
}

/// Events between two adjustments of the width and the number of buckets.
const REVIEW: u32 = 4096;
/// The least and the most buckets, as powers of two.
const BUCKETS: (u32, u32) = (8, 12);
/// The least and the most buckets for each pending event, as powers of two.
const REACH: (u32, u32) = (2, 5);
/// Prefetching is at most so many buckets ahead of the clock. The wheel has more buckets.
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

/// The pending events, in order of time and sequence number.
#[derive(Debug, Clone)]
pub struct EventQueue {
    /// The bucket that the clock has reached, latest first.
    current: Vec<Key>,
    /// Its number: time >> shift.
    tick: u64,
    /// The bucket that [`prefetch_next`](EventQueue::prefetch_next) has reached.
    prefetched: u64,
    /// A bucket is 1 << shift nanoseconds wide.
    shift: u32,
    /// A span is 1 << half buckets, half of the wheel.
    half: u32,
    /// The first bucket after the span of the clock.
    turn_at: u64,
    /// The first bucket after the next span. The wheel holds all events before it.
    end: u64,
    /// The first node of each bucket.
    heads: Vec<u32>,
    /// A bit for each bucket that holds something.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    /// The first node not in use.
    spare: u32,
    /// All events: those in `current`, in the buckets, in `later` and in `far`.
    pending: usize,
    /// From `end` on.
    later: Spans,
    /// Beyond the last span.
    far: Heap,
    /// The time of its first event.
    far_at: u64,
    seq: u32,
    peak: usize,
    /// Buckets for each pending event, as a power of two.
    reach: u32,
    /// Events since the last review that were beyond the wheel.
    beyond: u32,
    /// Events until the next review.
    until_review: u32,
    /// The time of the last review.
    reviewed: u64,
}

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue {
            current: Vec::new(),
            tick: 0,
            prefetched: 0,
            shift: 10,
            half: BUCKETS.0 - 1,
            turn_at: 1 << (BUCKETS.0 - 1),
            end: 1 << BUCKETS.0,
            heads: vec![NIL; 1 << BUCKETS.0],
            occupied: vec![0; (1 << BUCKETS.0) / 64],
            nodes: Vec::new(),
            spare: NIL,
            pending: 0,
            later: Spans::default(),
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
    /// A queue without any events.
    pub fn new() -> EventQueue {
        EventQueue::default()
    }
    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.pending
    }
    /// True when nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The most entries that were pending at one time.
    pub fn peak(&self) -> usize {
        self.peak
    }
    /// Adds an event for that time, after those that it has for it.
    pub fn push(&mut self, time: Time, target: Target) {
        self.push_inlined(time, target);
    }
    /// The same, inlined for the events that every packet has.
    #[inline(always)]
    pub(crate) fn push_inlined(&mut self, time: Time, target: Target) {
        self.insert(time.as_ns(), self.seq, target.0);
        self.seq = self.seq.wrapping_add(1);
        self.pending += 1;
        self.peak = self.peak.max(self.pending);
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
        // An event beyond the wheel is rarely the first. Only a tie needs more than the time.
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
    /// When the next event is due, if [`pop`](EventQueue::pop) has just found none.
    pub fn next_at(&self) -> Time {
        let near = self.current.last().map_or(u64::MAX, |entry| time_of(*entry));
        Time::from_ns(near.min(self.far_at))
    }
    /// The common case: the next event is alone in its bucket, of that number.
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
        self.heads[bucket] = NIL;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        self.set_tick(tick);
        self.popped(time);
        Some((Time::from_ns(time), Target(target)))
    }
    /// Prefetches an event that is due soon and was not prefetched before. Returns its place, if there is such an event
    /// in the next buckets. `last` is the place that was returned last. Other events of its bucket come first, unless
    /// prefetching is late.
    #[inline(always)]
    pub(crate) fn prefetch_next(&mut self, last: u32) -> Option<u32> {
        let from = self.prefetched.max(self.tick) + 1;
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
            self.prefetched = from | 63;
            return None;
        }
        let skip = bits.trailing_zeros();
        self.prefetched = from + u64::from(skip);
        let place = self.heads[bucket + skip as usize];
        fetch(self.nodes.as_ptr().wrapping_add(place as usize));
        Some(place)
    }
    /// The target of the event at that place, if there is such a place.
    #[inline(always)]
    pub(crate) fn target_at(&self, place: u32) -> Option<Target> {
        self.nodes.get(place as usize).map(|node| Target(node.target))
    }
    #[inline(always)]
    fn popped(&mut self, time: u64) {
        self.pending -= 1;
        self.until_review -= 1;
        if self.until_review == 0 {
            self.review(time);
        }
    }
    #[inline(always)]
    fn insert(&mut self, time: u64, seq: u32, target: u32) {
        let tick = time >> self.shift;
        if tick <= self.tick || tick >= self.end {
            return self.insert_elsewhere(key(time, seq, target), tick);
        }
        let bucket = tick as usize & (self.heads.len() - 1);
        let head = &mut self.heads[bucket];
        let at = self.spare;
        match self.nodes.get_mut(at as usize) {
            Some(place) => {
                self.spare = place.next;
                // Field by field: a node that is built elsewhere would be read back in larger pieces than it was
                // written, which stalls.
                (place.time, place.seq, place.target) = (time, seq, target);
                place.next = *head;
                *head = at;
            }
            None => *head = add(&mut self.nodes, Node { time, seq, target, next: *head }),
        }
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }
    /// An event in the bucket that the clock has reached, or beyond the wheel.
    #[inline(never)]
    fn insert_elsewhere(&mut self, entry: Key, tick: u64) {
        if tick <= self.tick {
            let at = self.current.iter().rposition(|e| *e > entry).map_or(0, |i| i + 1);
            return self.current.insert(at, entry);
        }
        self.beyond += 1;
        let span = tick >> self.half;
        if span <= (self.tick >> self.half) + SPANS {
            self.later.push(span, entry);
        } else {
            self.far.push(entry);
            self.far_at = self.far_at.min(time_of(entry));
        }
    }
    fn insert_entry(&mut self, entry: Key) {
        self.insert(time_of(entry), (entry >> 32) as u32, entry as u32);
    }
    #[inline(always)]
    fn set_tick(&mut self, tick: u64) {
        self.tick = tick;
        if tick >= self.turn_at {
            self.turn();
        }
    }
    /// The clock has reached another span: the wheel takes the events of the one after it.
    #[inline(never)]
    fn turn(&mut self) {
        let first = self.end >> self.half;
        self.set_end();
        for span in first..(self.end >> self.half).min(first + SPANS) {
            while let Some(block) = self.later.take(span) {
                block.entries().iter().for_each(|&entry| self.insert_entry(entry));
            }
        }
    }
    /// The wheel reaches to the end of the span after that of the clock.
    fn set_end(&mut self) {
        let span = self.tick >> self.half;
        (self.turn_at, self.end) = ((span + 1) << self.half, (span + 2) << self.half);
    }
    /// Moves the clock to `next`, the next bucket that holds something, or to the first event beyond the spans if that
    /// is earlier.
    #[inline]
    fn advance(&mut self, next: u64) {
        let far = self.far_at >> self.shift;
        if next <= far && next != u64::MAX {
            self.load(next as usize & (self.heads.len() - 1));
            self.set_tick(next);
        } else if self.far_at != u64::MAX {
            self.set_tick(self.tick.max(far));
        }
    }
    /// The number of the next bucket that holds something, if that is not known to be later than the first event beyond
    /// the spans.
    #[inline]
    fn next_bucket(&mut self) -> u64 {
        let beyond = self.far.len() + self.later.len();
        if self.pending == beyond && !self.turn_to_later() {
            return u64::MAX; // `current` is empty
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
        unreachable!("{} events are pending, but no bucket is occupied", self.pending)
    }
    /// The wheel is empty. Moves the clock to just before the first span that holds something, if there is one and
    /// nothing beyond the spans comes before it.
    #[cold]
    fn turn_to_later(&mut self) -> bool {
        let Some(span) = self.later.first(self.end >> self.half) else { return false };
        let before = (span << self.half) - 1;
        if self.far_at >> self.shift <= before {
            return false;
        }
        self.set_tick(before);
        true
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
            self.current.push(entry);
        }
        match self.current.len() {
            0 | 1 => {}
            2 if self.current[0] < self.current[1] => self.current.swap(0, 1),
            2 => {}
            _ => self.current.sort_unstable_by(|a, b| b.cmp(a)),
        }
    }
    /// Adjusts width and number of the buckets to the events since the last review, if they differ much.
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
        let mut all: Vec<Key> = self.current.drain(..).chain(self.later.drain()).chain(self.far.drain()).collect();
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
        self.spare = NIL;
        (self.shift, self.half, self.prefetched) = (shift, buckets - 1, 0);
        self.tick = now >> shift;
        self.set_end();
        for entry in all {
            self.insert_entry(entry);
        }
        self.beyond = 0; // those put back were counted before
    }
}

/// There were never as many nodes in use. Returns the number of the new one.
#[cold]
#[inline(never)]
fn add(nodes: &mut Vec<Node>, node: Node) -> u32 {
    nodes.push(node);
    (nodes.len() - 1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::Kind;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    proptest! {
        /// Prefetching finds the events of the next occupied buckets, of the nearest buckets only one each, and changes
        /// nothing.
        #[test]
        fn prefetching_finds_what_comes_next(times in prop::collection::vec(0u64..50_000, 1..40)) {
            let mut queue = EventQueue::new();
            for (i, time) in times.iter().enumerate() {
                queue.push(Time::from_ns(*time), Target::new(Kind::Link, i as u32));
            }
            let mut found = Vec::new();
            let mut last = NIL;
            for _ in 0..AHEAD + 40 {
                last = queue.prefetch_next(last).unwrap_or(NIL);
                found.extend(queue.target_at(last));
            }
            // In order of the buckets; in a bucket the event that was pushed last comes first.
            let mut want: Vec<(u64, usize)> = times.iter().enumerate().map(|(i, time)| (time >> queue.shift, i)).collect();
            want.retain(|(bucket, _)| (1..=AHEAD).contains(bucket));
            want.sort_by_key(|&(bucket, i)| (bucket, usize::MAX - i));
            want.dedup_by(|after, before| after.0 == before.0 && after.0 < AHEAD / 4);
            let want: Vec<Target> = want.into_iter().map(|(_, i)| Target::new(Kind::Link, i as u32)).collect();
            prop_assert_eq!(found, want);
            let mut sorted = times.clone();
            sorted.sort();
            for time in sorted {
                prop_assert_eq!(queue.pop(Time::NEVER).map(|(at, _)| at.as_ns()), Some(time));
            }
        }
        /// The same order as the standard library's heap of (time, sequence number), whatever the mixture of steps.
        #[test]
        fn order_equals_a_binary_heap(steps in prop::collection::vec((any::<bool>(), 0u64..5_000_000, 0u32..40), 1..12_000)) {
            let mut queue = EventQueue::new();
            let mut model = BinaryHeap::new();
            let mut now = 0;
            for (seq, (push, ahead, shift)) in steps.into_iter().enumerate() {
                if push {
                    let time = now + (ahead << shift) / 1000;
                    queue.push(Time::from_ns(time), Target::new(Kind::App, seq as u32));
                    model.push(Reverse((time, seq)));
                } else {
                    let want = model.pop().map(|Reverse((time, seq))| (Time::from_ns(time), Target::new(Kind::App, seq as u32)));
                    let got = queue.pop(Time::NEVER);
                    prop_assert_eq!(got, want);
                    now = got.map_or(now, |(time, _)| time.as_ns());
                }
                prop_assert_eq!(queue.len(), model.len());
            }
            while let Some(Reverse((time, seq))) = model.pop() {
                prop_assert_eq!(queue.pop(Time::NEVER), Some((Time::from_ns(time), Target::new(Kind::App, seq as u32))));
            }
            prop_assert!(queue.is_empty());
        }
    }
    /// All sequences of six steps: a push so far ahead, a pop, or a pop of what is due by a limit.
    #[test]
    fn order_equals_a_binary_heap_in_every_short_history() {
        const AHEAD: [u64; 6] = [0, 1, 4096, 1 << 20, 1 << 27, 1 << 40];
        const LIMITS: [u64; 2] = [u64::MAX, 4096];
        const STEPS: usize = AHEAD.len() + LIMITS.len();
        for history in 0..STEPS.pow(6) {
            let (mut queue, mut model) = (EventQueue::new(), BinaryHeap::new());
            let (mut now, mut rest) = (0u64, history);
            for seq in 0..12 {
                // After the six steps all that is left is taken out.
                let step = if seq < 6 { rest % STEPS } else { AHEAD.len() };
                rest /= STEPS;
                if let Some(ahead) = AHEAD.get(step) {
                    queue.push(Time::from_ns(now + ahead), Target::new(Kind::App, seq));
                    model.push(Reverse((now + ahead, seq)));
                } else {
                    let until = now.saturating_add(LIMITS[step - AHEAD.len()]);
                    let got = queue.pop(Time::from_ns(until)).map(|(at, what)| (at.as_ns(), what));
                    let is_due = model.peek().is_some_and(|Reverse((at, _))| *at <= until);
                    let want = if is_due { model.pop() } else { None }
                        .map(|Reverse((at, seq))| (at, Target::new(Kind::App, seq)));
                    assert_eq!(got, want, "history {history}");
                    now = got.map_or(now, |(at, _)| at);
                }
                assert_eq!(queue.len(), model.len(), "history {history}");
            }
            assert!(queue.is_empty());
        }
    }
    #[test]
    fn an_event_after_the_limit_stays() {
        let mut queue = EventQueue::new();
        queue.push(Time::from_ns(10), Target::new(Kind::Link, 1));
        assert_eq!(queue.pop(Time::from_ns(9)), None);
        assert_eq!(queue.pop(Time::from_ns(10)), Some((Time::from_ns(10), Target::new(Kind::Link, 1))));
        assert_eq!(queue.pop(Time::NEVER), None);
    }
}
