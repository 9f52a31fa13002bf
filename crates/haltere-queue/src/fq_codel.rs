//! FQ-CoDel: fair queuing by flow, with CoDel in each flow's queue.
//! Model: a seeded hash puts each flow into one of `flows` queues. Deficit round robin serves them with `quantum` bytes
//! a turn. A queue that was empty enters the list of new flows, which is served first and once.
//!
//! ```text
//!           arrival           deficit spent, or empty (while old flows wait)
//!   idle ------------> new --------------------------------------------------> old --+ deficit spent: to its end
//!     ^                 |                                                       |  <-+
//!     +-----------------+-------------------------------------------------------+
//!                            empty when its turn comes
//! ```
//!
//! Units: time ns, queues bytes. Cost: O(1) a packet. A drop for overflow compares the lengths of all queues once a
//! batch.

use crate::codel::{Config, Law, Source, Vars};
use crate::hashed::{Hashed, Queues, Turns};
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Store};
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Fair queuing by flow, with CoDel in each flow's queue.
    ///
    /// A hash puts each flow into one of `flows` queues. The queues are served in turn, `quantum` bytes each. A flow
    /// that was idle is served first. Beyond `limit` the longest queue loses packets from its head.
    ///
    /// Source: RFC 8290.
    ///
    /// Deviations: these are Linux's. CoDel's test for one MTU looks at the backlog of all queues, not of the flow's
    /// own (`mtu_test`). A drop for overflow takes up to `drop_batch` packets, or half of the longest queue, at once;
    /// they count as drops of that queue's CoDel state. Unlike in Linux, `memory_limit` counts packet lengths; Linux
    /// counts buffer memory, about half more.
    ///
    /// Known problems: flows whose hashes collide share one queue for good. (On the sender's own host Linux hashes a
    /// number of the socket, which it draws anew at each timeout, so that collisions end.) Drops for overflow cost much
    /// if there are many short queues.
    pub struct Params: flattens {
        /// The queues and their limits.
        #[serde(flatten)]
        pub queues: Queues = Queues::default();
        /// Packets that one overflow drops at most, at least 1. The default is Linux's (tc-fq_codel(8)).
        pub drop_batch: u32 = 64, [at least 1];
        /// The control law of each queue's CoDel.
        #[serde(flatten)]
        pub law: Law = Law::default();
        /// Whose backlog CoDel compares with one full packet: at most one left means no drop. The default is Linux's.
        pub mtu_test: MtuTest = MtuTest::AllQueues;
        /// True: mark ECN-capable packets instead of dropping them. The default is Linux's (tc-fq_codel(8)).
        pub ecn: bool = true;
        /// True: a queue that is found empty forgets since when its delay was above `target`, as in RFC 8289 (section
        /// 5.6) and in Linux from 2026 on. False: it remembers, as in Linux before. A flow that comes back while others
        /// wait may then lose its first packet, without an interval above `target`.
        pub forget_when_empty: bool = true;
    }
    /// Whose backlog CoDel compares with one full packet.
    #[derive(Default)]
    pub enum MtuTest {
        /// All queues together (Linux): a flow with one packet left may lose it while others wait.
        #[default]
        AllQueues,
        /// The flow's own queue (RFC 8289 section 5.5 for each queue, ns-3): many flows with short queues lose less.
        OwnQueue,
    }
}

#[derive(Debug, Clone)]
struct Flow<P> {
    store: Store<P>,
    vars: Vars,
    deficit: i64,
    /// True while the flow is in one of the lists.
    listed: bool,
}

/// A queue under FQ-CoDel.
#[derive(Debug, Clone)]
pub struct FqCodel<P> {
    config: Config,
    limit: Bound,
    memory_limit: u64,
    hashed: Hashed,
    drop_batch: u32,
    mtu_test: MtuTest,
    flows: Vec<Flow<P>>,
    /// The bytes in each flow's queue, side by side for the search of the fattest.
    bytes: Vec<u64>,
    turns: Turns,
    total: Backlog,
}

impl<P: Pkt> FqCodel<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let mut config = Config::new(&params.law, params.ecn, None, link)?;
        config.forget_when_empty = params.forget_when_empty;
        let hashed = params.queues.hashed(link)?;
        params.check()?;
        let (limit, memory_limit) = params.queues.limits(link)?;
        let flow = |_| Flow { store: Store::unbounded(), vars: Vars::new(), deficit: 0, listed: false };
        Ok(FqCodel {
            config,
            limit,
            memory_limit,
            hashed,
            drop_batch: params.drop_batch,
            mtu_test: params.mtu_test,
            flows: (0..params.queues.flows).map(flow).collect(),
            bytes: alloc::vec![0; params.queues.flows as usize],
            turns: Turns::default(),
            total: Backlog::default(),
        })
    }

    /// Drops from the head of the fattest queue: half of its bytes, at most a batch.
    #[cold]
    fn drop_from_fattest(&mut self, fate: &mut impl Fate<P>) {
        let most = self.bytes.iter().copied().max().unwrap_or(0);
        let Some(id) = self.bytes.iter().position(|&b| b == most) else { return };
        let flow = &mut self.flows[id];
        let mut freed = 0;
        for _ in 0..self.drop_batch {
            let Some((_, pkt)) = flow.store.pop() else { break };
            self.total.remove(pkt.len());
            freed += u64::from(pkt.len());
            flow.vars.count = flow.vars.count.wrapping_add(1);
            fate.dropped(pkt, DropReason::Overlimit);
            if freed >= most / 2 {
                break;
            }
        }
        self.bytes[id] = flow.store.backlog().bytes;
    }
}

/// One flow's store, which counts what leaves it in the total.
struct FlowSource<'a, P> {
    store: &'a mut Store<P>,
    total: &'a mut Backlog,
    mtu_test: MtuTest,
}

impl<P: Pkt> Source<P> for FlowSource<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<(Time, P)> {
        let (at, pkt) = self.store.pop()?;
        self.total.remove(pkt.len());
        Some((at, pkt))
    }
    #[inline]
    fn bytes(&self) -> u64 {
        match self.mtu_test {
            MtuTest::AllQueues => self.total.bytes,
            MtuTest::OwnQueue => self.store.backlog().bytes,
        }
    }
}

impl<P: Pkt> Qdisc<P> for FqCodel<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let id = self.hashed.queue_of(&pkt);
        let len = pkt.len();
        let flow = &mut self.flows[id as usize];
        flow.store.append(now, pkt);
        self.total.add(len);
        self.bytes[id as usize] += u64::from(len);
        if !flow.listed {
            // RFC 8290 §4.1: a queue that was idle starts in the new list with a full quantum.
            flow.listed = true;
            flow.deficit = self.hashed.quantum;
            self.turns.new.push_back(id);
        }
        if self.limit.is_exceeded(self.total) || self.total.bytes > self.memory_limit {
            self.drop_from_fattest(fate);
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        loop {
            let id = self.turns.front()?;
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.hashed.quantum;
                self.turns.rotate();
                continue;
            }
            let mut source = FlowSource { store: &mut flow.store, total: &mut self.total, mtu_test: self.mtu_test };
            let next = flow.vars.dequeue(&self.config, &mut source, now, fate);
            self.bytes[id as usize] = flow.store.backlog().bytes;
            if let Some(pkt) = next {
                flow.deficit -= i64::from(pkt.len());
                return Some(pkt);
            }
            flow.listed = !self.turns.found_empty();
        }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }

    fn on_turn(&mut self, wait: Dur) {
        self.config.on_turn(wait);
    }

    fn probe(&self, row: &mut Probe) {
        self.turns.probe(row);
        let dropping = self.flows.iter().filter(|f| f.listed && f.vars.dropping).count();
        row.push("dropping_flows", "", dropping as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ce_threshold::Selector;
    use crate::testing::{Recorder, TestPkt, link};
    use haltere_units::{Bytes, Size};

    fn with(queues: Queues, drop_batch: u32) -> Params {
        Params { queues, drop_batch, ..Params::default() }
    }
    fn queue(params: Params) -> (FqCodel<TestPkt>, Recorder) {
        (FqCodel::new(&params, &link()).unwrap(), Recorder::new(1))
    }
    /// Sends packets of those (flow, length); ids count from 0.
    fn send(q: &mut FqCodel<TestPkt>, fate: &mut Recorder, packets: &[(u16, u32)]) {
        for (id, &(flow, len)) in packets.iter().enumerate() {
            q.enqueue(Time::ZERO, TestPkt::new(id as u64, len).flow(flow), fate);
        }
    }
    fn drain(q: &mut FqCodel<TestPkt>, fate: &mut Recorder) -> Vec<u64> {
        core::iter::from_fn(|| q.dequeue(Time::ZERO, fate)).map(|p| p.id).collect()
    }

    #[test]
    fn flows_of_full_packets_take_turns() {
        let (mut q, mut fate) = queue(Params::default());
        send(&mut q, &mut fate, &[(1, 1500), (1, 1500), (1, 1500), (2, 1500), (2, 1500)]);
        assert_eq!(drain(&mut q, &mut fate), [0, 3, 1, 4, 2]);
    }

    #[test]
    fn turns_are_counted_in_bytes() {
        // Flow 1 sends 1500 a turn, flow 2 three packets of 500 a turn.
        let (mut q, mut fate) = queue(Params::default());
        send(&mut q, &mut fate, &[(1, 1500), (1, 1500), (2, 500), (2, 500), (2, 500), (2, 500)]);
        assert_eq!(drain(&mut q, &mut fate), [0, 2, 3, 4, 1, 5]);
    }

    #[test]
    fn a_new_flow_goes_before_old_ones() {
        let (mut q, mut fate) = queue(Params::default());
        send(&mut q, &mut fate, &[(1, 1500), (1, 1500), (1, 1500), (2, 1500), (2, 1500)]);
        q.dequeue(Time::ZERO, &mut fate);
        q.dequeue(Time::ZERO, &mut fate);
        // Both are spent: they become old as their turn comes, and the new flow is first.
        q.enqueue(Time::ZERO, TestPkt::new(9, 100).flow(3), &mut fate);
        assert_eq!(drain(&mut q, &mut fate)[0], 9);
    }

    #[test]
    fn a_flow_that_empties_while_new_passes_through_the_old_list_first() {
        let (mut q, mut fate) = queue(Params::default());
        send(&mut q, &mut fate, &[(1, 1500), (1, 1500), (1, 1500), (2, 100)]);
        let mut ids = alloc::vec![];
        for _ in 0..3 {
            ids.extend(q.dequeue(Time::ZERO, &mut fate).map(|p| p.id));
        }
        assert_eq!(ids, [0, 3, 1]);
        // Flow 2 emptied while new and stands in the old list: its next packet does not go before flow 1's turn ends.
        q.enqueue(Time::ZERO, TestPkt::new(9, 100).flow(2), &mut fate);
        assert_eq!(q.turns.new.len(), 0);
    }

    #[test]
    fn overflow_drops_half_of_the_fattest_queue_from_its_head() {
        let (mut q, mut fate) = queue(with(Queues { limit: Size::Packets(10), ..Queues::default() }, 64));
        let mut packets = alloc::vec![(2u16, 100u32)];
        packets.extend([(1, 1000); 10]);
        send(&mut q, &mut fate, &packets);
        // Flow 1 holds 10000 B at the overflow: 5 packets go, the oldest first.
        assert_eq!(fate.dropped_ids(), [1, 2, 3, 4, 5]);
        assert_eq!(q.backlog(), Backlog { packets: 6, bytes: 5100 });
    }

    #[test]
    fn fattest_is_told_in_bytes_not_packets() {
        let (mut q, mut fate) = queue(with(Queues { limit: Size::Packets(5), ..Queues::default() }, 1));
        send(&mut q, &mut fate, &[(1, 1500), (2, 100), (2, 100), (2, 100), (2, 100), (2, 100)]);
        assert_eq!(fate.dropped_ids(), [0]);
    }

    #[test]
    fn one_overflow_drops_at_most_a_batch() {
        let (mut q, mut fate) = queue(with(Queues { limit: Size::Packets(100), ..Queues::default() }, 3));
        send(&mut q, &mut fate, &[(1, 1000); 101]);
        assert_eq!(fate.dropped_ids(), [0, 1, 2]);
    }

    #[test]
    fn overflow_drops_count_in_the_queue_s_codel_state() {
        let (mut q, mut fate) = queue(with(Queues { limit: Size::Packets(100), ..Queues::default() }, 3));
        send(&mut q, &mut fate, &[(1, 1000); 101]);
        assert_eq!(q.flows[q.hashed.queue_of(&TestPkt::new(0, 1).flow(1)) as usize].vars.count, 3);
    }

    #[test]
    fn what_was_sent_no_longer_makes_a_queue_fat() {
        let (mut q, mut fate) = queue(with(Queues { limit: Size::Packets(5), ..Queues::default() }, 1));
        send(&mut q, &mut fate, &[(1, 1500); 5]);
        drain(&mut q, &mut fate);
        send(&mut q, &mut fate, &[(1, 1500), (2, 1000), (2, 1000), (2, 1000), (2, 1000), (2, 1000)]);
        assert_eq!(fate.dropped_ids(), [1]);
    }

    #[test]
    fn a_flow_s_last_packet_is_dropped_only_if_the_mtu_test_sees_all_queues() {
        let drops = |mtu_test| {
            let (mut q, mut fate) = queue(Params { mtu_test, ..Params::default() });
            send(&mut q, &mut fate, &[(1, 1500), (2, 1500), (3, 1500), (1, 1500), (2, 1500), (3, 1500)]);
            // The first of each flow leaves after 10 ms, above the target; the last ones are due 190 ms later.
            for ms in [10, 10, 10, 200, 200, 200] {
                q.dequeue(Time::ZERO + Dur::from_ms(ms), &mut fate);
            }
            fate.dropped_ids().to_vec()
        };
        assert_eq!(drops(MtuTest::AllQueues), [3], "behind it wait two packets, behind the next one only one");
        assert!(drops(MtuTest::OwnQueue).is_empty(), "each was the last of its own queue");
    }

    #[test]
    fn the_memory_limit_counts_bytes_beside_the_packet_limit() {
        let (mut q, mut fate) = queue(with(Queues { memory_limit: Bytes::new(3000), ..Queues::default() }, 1));
        send(&mut q, &mut fate, &[(1, 1500), (1, 1500), (1, 1)]);
        assert_eq!(fate.dropped_ids(), [0]);
    }

    /// Flow 1 waits too long and empties while flow 2 waits on; a second later it comes back. Its drops then.
    fn drops_of_a_flow_that_comes_back(forget_when_empty: bool) -> usize {
        let ms = |ms| Time::ZERO + Dur::from_ms(ms);
        let (mut q, mut fate) = queue(Params { forget_when_empty, ..Params::default() });
        let mut packets = alloc::vec![(1u16, 1500u32)];
        packets.extend([(2, 1500); 40]);
        send(&mut q, &mut fate, &packets);
        // Flow 1's only packet is above target; flow 2's turn; flow 1 is found empty.
        for _ in 0..3 {
            q.dequeue(ms(10), &mut fate);
        }
        for id in 0..2 {
            q.enqueue(ms(1000), TestPkt::new(100 + id, 1500).flow(1), &mut fate);
        }
        let before = fate.dropped_ids().iter().filter(|id| **id >= 100).count();
        for _ in 0..4 {
            q.dequeue(ms(1010), &mut fate);
        }
        fate.dropped_ids().iter().filter(|id| **id >= 100).count() - before
    }

    #[test]
    fn a_flow_that_comes_back_has_an_interval_again() {
        assert_eq!(drops_of_a_flow_that_comes_back(true), 0);
    }

    #[test]
    fn a_kernel_before_2026_drops_at_once_when_a_flow_comes_back() {
        assert_eq!(drops_of_a_flow_that_comes_back(false), 1);
    }

    /// A router hashes addresses and ports: two flows that collide share one queue until the end. (On the sender's own
    /// host Linux hashes a number of the socket, which it draws anew at each timeout.)
    #[test]
    fn flows_that_collide_stay_together() {
        let (mut q, mut fate) = queue(with(Queues { flows: 1, ..Queues::default() }, 64));
        send(&mut q, &mut fate, &[(1, 1500), (1, 1500), (2, 1500), (2, 1500)]);
        assert_eq!(drain(&mut q, &mut fate), [0, 1, 2, 3], "first come, first served");
    }

    #[test]
    fn the_seed_decides_which_flows_collide() {
        let params = with(Queues { flows: 16, ..Queues::default() }, 64);
        let classes = |seed| {
            let q = FqCodel::<TestPkt>::new(&params, &LinkContext { seed, ..link() }).unwrap();
            (0..64).map(|flow| q.hashed.queue_of(&TestPkt::new(0, 1).flow(flow))).collect::<Vec<_>>()
        };
        assert_eq!(classes(1), classes(1));
        assert_ne!(classes(1), classes(2));
    }

    #[test]
    fn the_threshold_marks_what_the_selector_selects() {
        let (ce_threshold, ce_threshold_selector) = (Some(Dur::from_ms(1)), Some(Selector::ECT1));
        let law = Law { ce_threshold, ce_threshold_selector, ..Law::default() };
        let params = Params { law, ..Params::default() };
        let (mut q, mut fate) = queue(params);
        for (id, ecn) in (0..).zip([crate::Ecn::Ect1, crate::Ecn::Ect0, crate::Ecn::Ect1]) {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(ecn), &mut fate);
        }
        (0..3).for_each(|_| assert!(q.dequeue(Time::ZERO + Dur::from_ms(2), &mut fate).is_some()));
        assert_eq!(fate.marked_ids(), [0, 2]);
    }
    #[test]
    fn hashing_spreads_flows_evenly() {
        let q = FqCodel::<TestPkt>::new(&with(Queues { flows: 16, ..Queues::default() }, 64), &link()).unwrap();
        let mut counts = [0u32; 16];
        for flow in 0..16_000 {
            counts[q.hashed.queue_of(&TestPkt::new(0, 1).flow(flow)) as usize] += 1;
        }
        // 1000 expected in each, standard deviation 31: six of them.
        assert!(counts.iter().all(|c| (814..=1186).contains(c)), "{counts:?}");
    }
}
