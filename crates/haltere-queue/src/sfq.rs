//! SFQ: stochastic fair queueing.
//! Model: a seeded hash puts each flow into one of `flows` queues, which are served in turn with `quantum` bytes. A
//! packet too many takes one from the longest queue.
//! Units: packets; quantum in bytes. Cost: O(1) a packet; a drop for overflow looks at all queues that have packets.

use crate::hashed::Hashed;
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, ParamError, Probe, Size, Time};

haltere_units::params! {
    /// Fair queuing by a hash of the flow, without any other signal than a full queue.
    ///
    /// Source: McKenney 1990, with the deficit of Shreedhar and Varghese 1995.
    ///
    /// Deviations: these are Linux's. On overflow the longest queue in packets loses its newest packet, or its oldest
    /// with `head_drop`. Of several longest queues it is the one whose length changed last. Linux's RED in each queue
    /// is left out; `fq_codel` and `fq_pie` have signals of their own.
    ///
    /// Known problems: queues stay full. Flows whose hashes collide share one queue.
    pub struct Params {
        /// Packet or byte limit of all queues together, above 0. The default is Linux's (tc-sfq(8)).
        pub limit: Size = Size::Packets(127);
        /// Queues that flows are hashed into, from 1 to 65536. The default is Linux's `divisor` (tc-sfq(8)).
        pub flows: u32 = 1024, [from 1 to 65536];
        /// Packet limit of one queue, from 1. The default is Linux's (tc-sfq(8)).
        pub depth: u32 = 127, [at least 1];
        /// Bytes that a flow may send in its turn, above 0. Left out: the link's full packet (tc-sfq(8)).
        pub quantum: Option<Bytes> = None;
        /// True: a full queue loses its oldest packet instead of its newest.
        pub head_drop: bool = false;
        /// How often the hash changes, above 0, so that flows do not share a queue for long. Left out: never. What waits
        /// is hashed anew, one queue after the other, so a flow keeps its order but takes a new turn. A packet for which
        /// its new queue has no room is lost.
        pub perturb: Option<Dur> = None;
    }
}

#[derive(Debug, Clone)]
struct Flow<P> {
    store: Store<P>,
    deficit: i64,
    /// The number of the change that gave it its present length.
    changed: u64,
}

/// A queue under SFQ.
#[derive(Debug, Clone)]
pub struct Sfq<P> {
    limit: Bound,
    depth: u32,
    hashed: Hashed,
    head_drop: bool,
    perturb: Option<Dur>,
    perturb_at: Time,
    flows: Vec<Flow<P>>,
    /// The queues that have packets, in the order of their turns.
    turns: VecDeque<u32>,
    /// Changes of a queue's length so far.
    changes: u64,
    total: Backlog,
}

impl<P: Pkt> Sfq<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        if params.perturb == Some(Dur::ZERO) {
            return Err(ParamError::new("perturb", "above 0", Dur::ZERO).hint("leave it out for a hash that stays"));
        }
        let hashed = Hashed::new(params.flows, params.quantum, link)?;
        let flow = |_| Flow { store: Store::unbounded(), deficit: 0, changed: 0 };
        Ok(Sfq {
            limit: Bound::new(link.resolve(params.limit))?,
            depth: params.depth,
            hashed,
            head_drop: params.head_drop,
            perturb: params.perturb,
            perturb_at: params.perturb.map_or(Time::NEVER, |period| Time::ZERO + period),
            flows: (0..params.flows).map(flow).collect(),
            turns: VecDeque::new(),
            changes: 0,
            total: Backlog::default(),
        })
    }

    /// The longest queue in packets. Among equals it is the one that changed its length last; if all have one packet,
    /// the first in turn. Both are Linux's.
    #[cold]
    fn longest(&self) -> Option<u32> {
        let rank = |id: &u32| {
            let flow = &self.flows[*id as usize];
            (flow.store.backlog().packets, flow.changed)
        };
        let longest = self.turns.iter().copied().max_by_key(rank)?;
        if rank(&longest).0 == 1 { self.turns.front().copied() } else { Some(longest) }
    }
    /// The queue has another length now.
    #[inline]
    fn note_change(&mut self, id: u32) {
        self.changes += 1;
        self.flows[id as usize].changed = self.changes;
    }

    /// The hash changes: what waits goes to its new queue.
    #[cold]
    fn rehash(&mut self, now: Time, period: Dur, fate: &mut impl Fate<P>) {
        while now >= self.perturb_at {
            self.perturb_at += period;
            self.hashed.change();
        }
        let mut waiting = Vec::new();
        for id in core::mem::take(&mut self.turns) {
            let store = &mut self.flows[id as usize].store;
            waiting.extend(core::iter::from_fn(|| store.pop()));
        }
        for (came, pkt) in waiting {
            let id = self.hashed.queue_of(&pkt);
            if self.flows[id as usize].store.backlog().packets >= self.depth {
                self.total.remove(pkt.len());
                fate.dropped(pkt, DropReason::Overlimit);
            } else {
                self.append(id, came, pkt);
                self.note_change(id);
            }
        }
    }
    #[inline]
    fn perturb_when_due(&mut self, now: Time, fate: &mut impl Fate<P>) {
        if let Some(period) = self.perturb
            && now >= self.perturb_at
        {
            self.rehash(now, period, fate);
        }
    }
    /// A queue that was empty takes its turn after all others.
    #[inline]
    fn append(&mut self, id: u32, came: Time, pkt: P) {
        let flow = &mut self.flows[id as usize];
        if flow.store.is_empty() {
            flow.deficit = self.hashed.quantum;
            self.turns.push_back(id);
        }
        flow.store.append(came, pkt);
    }

    /// Takes a packet away from that queue.
    #[cold]
    fn drop_from(&mut self, id: u32, fate: &mut impl Fate<P>) {
        let store = &mut self.flows[id as usize].store;
        let lost = if self.head_drop { store.pop().map(|(_, pkt)| pkt) } else { store.pop_back() };
        if let Some(pkt) = lost {
            self.total.remove(pkt.len());
            if store.is_empty() {
                self.turns.retain(|&other| other != id);
            }
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
}

impl<P: Pkt> Qdisc<P> for Sfq<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.perturb_when_due(now, fate);
        let id = self.hashed.queue_of(&pkt);
        self.total.add(pkt.len());
        self.append(id, now, pkt);
        if self.flows[id as usize].store.backlog().packets > self.depth {
            // Its length stays as it was.
            self.drop_from(id, fate);
        } else {
            self.note_change(id);
        }
        while self.limit.is_exceeded(self.total)
            && let Some(longest) = self.longest()
        {
            self.note_change(longest);
            self.drop_from(longest, fate);
        }
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.perturb_when_due(now, fate);
        loop {
            let id = *self.turns.front()?;
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.hashed.quantum;
                self.turns.rotate_left(1);
                continue;
            }
            let (_, pkt) = flow.store.pop()?;
            flow.deficit -= i64::from(pkt.len());
            if flow.store.is_empty() {
                self.turns.pop_front();
            }
            self.total.remove(pkt.len());
            self.note_change(id);
            return Some(pkt);
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }
    fn probe(&self, row: &mut Probe) {
        row.push("flows", "", self.turns.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec::Vec;

    fn queue(params: &Params) -> (Sfq<TestPkt>, Recorder) {
        (Sfq::new(params, &link()).unwrap(), Recorder::new(1))
    }

    #[test]
    fn two_flows_take_turns() {
        let (mut q, mut fate) = queue(&Params::default());
        for id in 0..10 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(u16::from(id >= 5)), &mut fate);
        }
        let sent: Vec<u64> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
        assert_eq!(sent, [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]);
    }

    #[test]
    fn short_packets_get_the_same_bytes() {
        let (mut q, mut fate) = queue(&Params::default());
        for id in 0..100 {
            let (len, flow) = if id < 20 { (1500, 0) } else { (500, 1) };
            q.enqueue(Time::ZERO, TestPkt::new(id, len).flow(flow), &mut fate);
        }
        let first: Vec<_> = (0..40).filter_map(|_| q.dequeue(Time::ZERO, &mut fate)).collect();
        let long = first.iter().filter(|p| p.flow == 0).count();
        assert_eq!(long, 10, "one packet of 1500 bytes for three of 500");
    }

    #[test]
    fn overflow_takes_the_newest_of_the_longest() {
        let (mut q, mut fate) = queue(&Params { limit: Size::Packets(4), ..Params::default() });
        for (id, flow) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)] {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(flow), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [2]);
    }

    #[test]
    fn of_two_longest_the_one_that_changed_last_loses_a_packet() {
        let (mut q, mut fate) = queue(&Params { limit: Size::Packets(4), ..Params::default() });
        for (id, flow) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2)] {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(flow), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [3], "flow 1 came to two packets after flow 0");
        let (mut q, mut fate) = queue(&Params { limit: Size::Packets(2), ..Params::default() });
        for (id, flow) in [(0, 0), (1, 1), (2, 2)] {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(flow), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [0], "with one packet each, the first in turn");
    }

    #[test]
    fn flows_that_share_a_queue_part_when_the_hash_changes() {
        // Two queues and two flows: with a fixed hash they share one in about half of the runs for good. Each period is
        // a new draw. Packets of a flow stay in order.
        let (mut parted, mut shared) = (0, 0);
        let (mut q, mut fate) = queue(&Params { flows: 2, perturb: Some(Dur::from_secs(1)), ..Params::default() });
        for second in 0..200 {
            let now = Time::ZERO + Dur::from_secs(second);
            for id in 0..4 {
                q.enqueue(now, TestPkt::new(id, 1500).flow(id as u16 / 2), &mut fate);
            }
            let later = now + Dur::from_ms(1000);
            let sent: Vec<u64> = core::iter::from_fn(|| q.dequeue(later, &mut fate)).map(|p| p.id).collect();
            let place = |id| sent.iter().position(|&other| other == id).unwrap();
            assert!(place(0) < place(1) && place(2) < place(3), "{sent:?}");
            if [place(0), place(1)] == [0, 1] || [place(2), place(3)] == [0, 1] {
                shared += 1;
            } else {
                parted += 1;
            }
        }
        assert!((60..140).contains(&shared) && (60..140).contains(&parted), "{shared} and {parted}");
        assert!(fate.dropped.is_empty() && q.backlog() == Backlog::default());
    }

    #[test]
    fn with_head_drop_the_oldest_goes() {
        let (mut q, mut fate) = queue(&Params { depth: 2, head_drop: true, ..Params::default() });
        for id in 0..3 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [0]);
    }
}
