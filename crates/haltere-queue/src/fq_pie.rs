//! FQ-PIE: fair queuing by flow, with PIE in each flow's queue.
//! Model: as [FQ-CoDel](crate::fq_codel): a seeded hash, deficit round robin, new flows first. Each queue is a
//! [PIE](crate::pie) queue with a probability of its own.
//! Units: time ns, queues bytes. Cost: O(1) a packet, and one step a `tupdate` for each flow that is not at rest.

use crate::hashed::{Hashed, Queues, Turns};
use crate::pie::Controller;
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, pie, pie::Pie};
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Probe, Size, Time};

haltere_units::params! {
    /// Fair queuing by flow, with PIE in each flow's queue.
    ///
    /// A hash puts each flow into one of `flows` queues. The queues are served in turn, `quantum` bytes each. A flow
    /// that was idle is served first.
    ///
    /// Source: RFC 8033 (the controller) and RFC 8290 (the scheduler); Linux's `sch_fq_pie` joins them (tc-fq_pie(8)).
    ///
    /// Deviations: those of `pie`. A packet that arrives at the limit is dropped, whatever its flow, as in Linux.
    ///
    /// Known problems: flows whose hashes collide share one queue. An overflow hits the flow that arrives, not the
    /// longest.
    pub struct Params: flattens {
        /// The queues and their limits.
        #[serde(flatten)]
        pub queues: Queues = Default::default();
        /// The controller of each queue's probability.
        #[serde(flatten)]
        pub controller: Controller = Default::default();
    }
}

#[derive(Debug, Clone)]
struct Flow<P> {
    pie: Pie<P>,
    deficit: i64,
    /// True while the flow is in one of the lists.
    listed: bool,
    /// True while its controller is not at rest.
    awake: bool,
}

/// A queue under FQ-PIE.
#[derive(Debug, Clone)]
pub struct FqPie<P> {
    limit: Bound,
    memory_limit: u64,
    hashed: Hashed,
    tupdate: Dur,
    flows: Vec<Flow<P>>,
    turns: Turns,
    /// The flows whose controllers are not at rest.
    awake: Vec<u32>,
    total: Backlog,
    update_at: Time,
}

impl<P: Pkt> FqPie<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let (limit, memory_limit) = params.queues.limits(link)?;
        let hashed = params.queues.hashed(link)?;
        let (no_limit, controller) = (Size::Packets(u64::from(u32::MAX)), params.controller);
        let pie = pie::Params { limit: no_limit, controller, ..pie::Params::default() };
        let flow = |_| Ok(Flow { pie: Pie::new(&pie, link)?, deficit: 0, listed: false, awake: false });
        Ok(FqPie {
            limit,
            memory_limit,
            hashed,
            tupdate: params.controller.tupdate,
            flows: (0..params.queues.flows).map(flow).collect::<Result<_, _>>()?,
            turns: Turns::default(),
            awake: Vec::new(),
            total: Backlog::default(),
            update_at: Time::ZERO + params.controller.first_update.unwrap_or(params.controller.tupdate),
        })
    }
}

impl<P: Pkt> Qdisc<P> for FqPie<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let len = pkt.len();
        if !self.limit.fits(self.total, len) || self.total.bytes + u64::from(len) > self.memory_limit {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let id = self.hashed.queue_of(&pkt);
        let flow = &mut self.flows[id as usize];
        let before = flow.pie.backlog().packets;
        flow.pie.enqueue(now, pkt, fate);
        if !core::mem::replace(&mut flow.awake, true) {
            self.awake.push(id);
        }
        if flow.pie.backlog().packets == before {
            return;
        }
        self.total.add(len);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.hashed.quantum;
            self.turns.new.push_back(id);
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
            if let Some(pkt) = flow.pie.dequeue(now, fate) {
                flow.deficit -= i64::from(pkt.len());
                self.total.remove(pkt.len());
                return Some(pkt);
            }
            flow.listed = !self.turns.found_empty();
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.update_at)
    }
    fn on_timer(&mut self, now: Time) {
        if now < self.update_at {
            return;
        }
        self.update_at = now + self.tupdate;
        let flows = &mut self.flows;
        self.awake.retain(|&id| {
            let flow = &mut flows[id as usize];
            flow.pie.update();
            flow.awake = !flow.pie.is_at_rest();
            flow.awake
        });
    }
    fn probe(&self, row: &mut Probe) {
        self.turns.probe(row);
        let most = self.awake.iter().map(|&id| self.flows[id as usize].pie.probability()).fold(0.0, f64::max);
        row.push("largest_drop_prob", "", most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec::Vec;

    fn queue(params: &Params) -> (FqPie<TestPkt>, Recorder) {
        (FqPie::new(params, &link()).unwrap(), Recorder::new(1))
    }

    #[test]
    fn two_flows_take_turns_and_a_new_one_goes_first() {
        let (mut q, mut fate) = queue(&Params::default());
        for id in 0..8 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(u16::from(id >= 4)), &mut fate);
        }
        let sent: Vec<u64> = (0..4).filter_map(|_| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
        assert_eq!(sent, [0, 4, 1, 5]);
        q.enqueue(Time::ZERO, TestPkt::new(100, 1500).flow(7), &mut fate);
        assert_eq!(q.dequeue(Time::ZERO, &mut fate).unwrap().id, 100);
    }

    #[test]
    fn only_the_flow_that_fills_the_queue_is_dropped() {
        // 2 ms a packet: flow 0 brings two for each that leaves, flow 1 one in twenty.
        let (mut q, mut fate) = queue(&Params {
            controller: Controller { max_burst: Dur::ZERO, ..Controller::default() },
            ..Params::default()
        });
        let mut id = 0;
        for step in 0..2000_u64 {
            let now = Time::ZERO + Dur::from_ms(2 * step);
            while q.next_timer().is_some_and(|at| at <= now) {
                q.on_timer(q.next_timer().unwrap());
            }
            for flow in [0, 0].into_iter().chain((step % 20 == 0).then_some(1)) {
                q.enqueue(now, TestPkt::new(id, 1500).flow(flow), &mut fate);
                id += 1;
            }
            q.dequeue(now, &mut fate);
        }
        assert!(fate.dropped.len() > 1000, "{}", fate.dropped.len());
        assert!(fate.dropped.iter().all(|(pkt, _)| pkt.flow == 0));
    }

    #[test]
    fn a_flow_that_left_comes_to_rest() {
        let (mut q, mut fate) = queue(&Params::default());
        q.enqueue(Time::ZERO, TestPkt::new(0, 1500), &mut fate);
        assert_eq!(q.awake.len(), 1);
        q.dequeue(Time::ZERO, &mut fate);
        for ms in [15, 30] {
            q.on_timer(Time::ZERO + Dur::from_ms(ms));
        }
        assert!(q.awake.is_empty());
    }

    #[test]
    fn the_limit_holds_for_all_flows_together() {
        let (mut q, mut fate) =
            queue(&Params { queues: Queues { limit: Size::Packets(3), ..Queues::default() }, ..Params::default() });
        for id in 0..5 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(id as u16), &mut fate);
        }
        assert_eq!((q.backlog().packets, fate.dropped_ids()), (3, [3, 4].to_vec()));
    }
}
