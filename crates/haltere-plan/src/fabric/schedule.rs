//! A time for each link, and which comes first.
//! Cost: O(log links) a change, O(1) a look at the first.

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use haltere_units::Time;

/// At most one time for each link.
#[derive(Debug)]
pub(super) struct Schedule {
    /// (time, link); an entry that is not the link's in `times` is stale. The first one is not.
    entries: BinaryHeap<Reverse<(Time, usize)>>,
    times: Vec<Option<Time>>,
}

impl Schedule {
    /// No link has a time.
    pub fn new(links: usize) -> Schedule {
        Schedule { entries: BinaryHeap::new(), times: vec![None; links] }
    }
    /// From now on the link has that time.
    pub fn set(&mut self, link: usize, time: Option<Time>) {
        if time != self.times[link] {
            self.times[link] = time;
            self.entries.extend(time.map(|at| Reverse((at, link))));
            self.forget_stale();
        }
    }
    /// The first time.
    pub fn first(&self) -> Option<Time> {
        self.entries.peek().map(|Reverse((at, _))| *at)
    }
    /// The link of the first time, which it has no more.
    pub fn take_first(&mut self) -> Option<(Time, usize)> {
        let Reverse((at, link)) = self.entries.pop()?;
        self.times[link] = None;
        self.forget_stale();
        Some((at, link))
    }
    fn forget_stale(&mut self) {
        while self.entries.peek().is_some_and(|Reverse((at, link))| self.times[*link] != Some(*at)) {
            self.entries.pop();
        }
    }
}
