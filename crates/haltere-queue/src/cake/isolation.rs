//! Which queue a flow has, and how many flows its hosts have.

use super::Isolation;
use crate::FlowKey;
use alloc::vec::Vec;

/// Places among which a hash may choose.
const WAYS: usize = 8;

/// A table of places by tag: a hash leads to eight of them, of which it takes its own or a free one.
#[derive(Debug, Clone)]
pub(super) struct Table {
    tags: Vec<u64>,
}

impl Table {
    /// A table of so many places, a multiple of [`WAYS`].
    pub fn new(places: usize) -> Table {
        Table { tags: alloc::vec![0; places] }
    }
    /// The place of that hash. If its eight places are all in use by others, it shares one.
    #[inline]
    pub fn place(&mut self, hash: u64, is_free: impl Fn(usize) -> bool) -> usize {
        let wanted = (((hash >> 32) * self.tags.len() as u64) >> 32) as usize;
        if self.tags[wanted] == hash {
            return wanted;
        }
        let ways = || (0..WAYS).map(|way| wanted / WAYS * WAYS + (wanted + way) % WAYS);
        let found = ways().find(|&at| self.tags[at] == hash).or_else(|| ways().find(|&at| is_free(at)));
        let at = found.unwrap_or(wanted);
        self.tags[at] = hash;
        at
    }
}

/// One side's hosts: how many bulk flows each has.
#[derive(Debug, Clone)]
pub(super) struct Hosts {
    table: Table,
    /// Flows in use, and bulk flows among them.
    counts: Vec<(u32, u32)>,
}

impl Hosts {
    pub fn new(places: usize) -> Hosts {
        Hosts { table: Table::new(places), counts: alloc::vec![(0, 0); places] }
    }
    /// A flow of that host came into use; the host's place.
    pub fn join(&mut self, hash: u64) -> u32 {
        let at = self.table.place(hash, |at| self.counts[at].0 == 0);
        self.counts[at].0 += 1;
        at as u32
    }
    /// A flow of that host is no longer in use.
    pub fn leave(&mut self, host: u32) {
        self.counts[host as usize].0 -= 1;
    }
    /// A flow of that host became a bulk flow, or is none any more.
    pub fn count_bulk(&mut self, host: u32, is_bulk: bool) {
        let bulk = &mut self.counts[host as usize].1;
        *bulk = if is_bulk { *bulk + 1 } else { *bulk - 1 };
    }
    pub fn bulk_flows(&self, host: u32) -> u32 {
        self.counts[host as usize].1
    }
}

impl Isolation {
    /// The hash that leads to a packet's queue.
    #[inline]
    pub(super) fn hash(self, flow: &FlowKey, seed: u64) -> u64 {
        match self {
            Isolation::Flowblind => 1,
            Isolation::Srchost => FlowKey { src: flow.src, ..FlowKey::default() }.hash(seed),
            Isolation::Dsthost => FlowKey { dst: flow.dst, ..FlowKey::default() }.hash(seed),
            Isolation::Hosts => FlowKey { src: flow.src, dst: flow.dst, ..FlowKey::default() }.hash(seed),
            _ => flow.hash(seed),
        }
    }
    /// True if a flow's share depends on how many its source, its destination has.
    pub(super) fn counts_hosts(self) -> (bool, bool) {
        let both = self == Isolation::TripleIsolate;
        (both || self == Isolation::DualSrchost, both || self == Isolation::DualDsthost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_flows_whose_hashes_lead_to_one_place_have_queues_of_their_own() {
        let mut table = Table::new(16);
        let mut used = alloc::vec![false; 16];
        // The upper half of the hash chooses the place: all lead to place 3.
        let hash = |n: u64| (3u64 << 60) | n;
        for n in 0..8 {
            let at = table.place(hash(n), |at| !used[at]);
            assert!(!used[at] && at < 8, "{at}");
            used[at] = true;
        }
        assert_eq!(table.place(hash(5), |_| false), table.place(hash(5), |_| false), "a flow keeps its place");
        assert_eq!(table.place(hash(8), |at| !used[at]), 3, "the ninth shares one");
    }
}
