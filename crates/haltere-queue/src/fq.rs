//! FQ: Linux's fair queue with pacing.
//! Model: a seeded hash puts each flow into one of `flows` queues, first in, first out. They are served in turn,
//! `quantum` bytes each, a flow that was idle first. With `maxrate` a flow waits after each turn for the time that its
//! bytes take at that rate.
//!
//! ```text
//!           arrival          credit spent, or empty (while others wait)
//!   idle -----------> new ----------------------------------------------> old --+ credit spent: to its end
//!     ^                                                                    | <--+
//!     |                  its time has come                                 |
//!     |     throttled -------------------------------------------> old     +--> throttled: sent faster than maxrate
//!     +----------------------------------------------------------------------- empty when its turn comes
//! ```
//!
//! Units: time ns, bytes. Cost: O(1) a packet; with `maxrate` O(log of the throttled flows).

use crate::hashed::{Hashed, Turns};
use crate::{Backlog, Bound, CONTROL, DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Size, Time};

haltere_units::params! {
    /// Fair queuing by flow with a rate limit for each flow. The only congestion signal is a full queue.
    ///
    /// A hash puts each flow into one of `flows` queues. They are served in turn, `quantum` bytes each. A flow that was
    /// idle is served first.
    ///
    /// Source: tc-fq(8), whose names the parameters have.
    ///
    /// Deviations: what Linux does for packets of its own sockets is left out: a queue for each socket, and departure
    /// times that the sender sets. Packets that a router forwards have neither, and pace by `maxrate` alone. (Senders
    /// here pace themselves.) Queues of idle flows keep their credit; Linux forgets a flow 3 s after its last packet if
    /// there are many.
    ///
    /// Known problems: queues stay full. Flows whose hashes collide share one queue.
    pub struct Params {
        /// Packet or byte limit of all queues together, above 0.
        pub limit: Size = Size::Packets(10_000);
        /// Packet limit of one flow, from 1.
        pub flow_limit: u32 = 100, [at least 1];
        /// Queues that flows are hashed into, from 1 to 65536 (Linux: `orphan_mask`).
        pub flows: u32 = 1024, [from 1 to 65536];
        /// Bytes that a flow may send in its turn, above 0. Left out: two full packets.
        pub quantum: Option<Bytes> = None;
        /// Bytes that a new flow may send in its first turn, above 0. Left out: ten full packets.
        pub initial_quantum: Option<Bytes> = None;
        /// A flow that was idle for at least this long gets a full quantum at once.
        pub refill_delay: Dur = Dur::from_ms(40);
        /// Largest rate of each flow, above 0. Left out: no limit.
        pub maxrate: Option<Rate> = None;
        /// If `maxrate` is at most this, each packet is paced, not each turn.
        pub low_rate_threshold: Rate = Rate::from_bps(550_000);
        /// Mark every ECN-capable packet that waited longer than this. Left out: no such mark.
        pub ce_threshold: Option<Dur> = None;
    }
}

/// Where a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Idle,
    Listed,
    Throttled,
}

#[derive(Debug, Clone)]
struct Flow<P> {
    store: Store<P>,
    credit: i64,
    place: Place,
    /// When it may send next.
    time_next: Time,
    /// When it became idle.
    since: Time,
}

/// A queue under FQ.
#[derive(Debug, Clone)]
pub struct Fq<P> {
    limit: Bound,
    flow_limit: u32,
    hashed: Hashed,
    refill_delay: Dur,
    maxrate: Option<Rate>,
    /// Each packet is paced, not each turn.
    is_slow: bool,
    ce_threshold: Dur,
    control: Store<P>,
    flows: Vec<Flow<P>>,
    turns: Turns,
    throttled: BTreeSet<(Time, u32)>,
    total: Backlog,
}

impl<P: Pkt> Fq<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        if params.maxrate == Some(Rate::ZERO) {
            return Err(ParamError::new("maxrate", "above 0", Rate::ZERO).hint("leave it out for no limit"));
        }
        let full = link.packet.as_u64();
        let quantum = params.quantum.unwrap_or(Bytes::new(2 * full));
        let credit = params.initial_quantum.unwrap_or(Bytes::new(10 * full));
        if credit == Bytes::ZERO {
            return Err(ParamError::new("initial_quantum", "above 0", credit).hint("the default is ten full packets"));
        }
        let credit = i64::try_from(credit.as_u64()).unwrap_or(i64::MAX);
        let flow = |_| Flow {
            store: Store::unbounded(),
            credit,
            place: Place::Idle,
            time_next: Time::ZERO,
            since: Time::ZERO,
        };
        Ok(Fq {
            limit: Bound::new(link.resolve(params.limit))?,
            flow_limit: params.flow_limit,
            hashed: Hashed::new(params.flows, Some(quantum), link)?,
            refill_delay: params.refill_delay,
            maxrate: params.maxrate,
            is_slow: params.maxrate.is_some_and(|rate| rate <= params.low_rate_threshold),
            ce_threshold: params.ce_threshold.unwrap_or(Dur::MAX),
            control: Store::unbounded(),
            flows: (0..params.flows).map(flow).collect(),
            turns: Turns::default(),
            throttled: BTreeSet::new(),
            total: Backlog::default(),
        })
    }

    /// Flows whose time has come are served again.
    #[inline]
    fn release(&mut self, now: Time) {
        while let Some(&(at, id)) = self.throttled.first()
            && at <= now
        {
            self.throttled.pop_first();
            self.flows[id as usize].place = Place::Listed;
            self.turns.old.push_back(id);
        }
    }
    /// The flow sent a packet. At the end of its turn it waits until its bytes have taken their time.
    #[inline]
    fn pace(&mut self, id: u32, now: Time, len: u32) {
        let Some(rate) = self.maxrate else { return };
        let flow = &mut self.flows[id as usize];
        if self.is_slow {
            flow.credit = 0;
        } else if flow.credit > 0 {
            return;
        }
        let bytes = if self.is_slow { u64::from(len) } else { u64::from(len).max(self.hashed.quantum as u64) };
        flow.time_next = now + rate.time_for(Bytes::new(bytes));
    }
    fn out(&mut self, now: Time, came: Time, mut pkt: P, fate: &mut impl Fate<P>) -> P {
        self.total.remove(pkt.len());
        if now.since(came) > self.ce_threshold {
            mark(&mut pkt, MarkReason::Threshold, fate);
        }
        pkt
    }
}

impl<P: Pkt> Qdisc<P> for Fq<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if !self.limit.fits(self.total, pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let is_control = pkt.priority() == CONTROL;
        let id = if is_control { 0 } else { self.hashed.queue_of(&pkt) };
        let flow = &mut self.flows[id as usize];
        let store = if is_control { &mut self.control } else { &mut flow.store };
        if !is_control && store.backlog().packets >= self.flow_limit {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        self.total.add(pkt.len());
        store.append(now, pkt);
        if !is_control && flow.place == Place::Idle {
            flow.place = Place::Listed;
            if now.since(flow.since) >= self.refill_delay {
                flow.credit = flow.credit.max(self.hashed.quantum);
            }
            self.turns.new.push_back(id);
        }
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        if let Some((came, pkt)) = self.control.pop() {
            return Some(self.out(now, came, pkt, fate));
        }
        self.release(now);
        loop {
            let id = self.turns.front()?;
            let flow = &mut self.flows[id as usize];
            if flow.credit <= 0 {
                flow.credit += self.hashed.quantum;
                self.turns.rotate();
                continue;
            }
            if now < flow.time_next && !flow.store.is_empty() {
                self.turns.pop();
                flow.place = Place::Throttled;
                self.throttled.insert((flow.time_next, id));
                continue;
            }
            if let Some((came, pkt)) = flow.store.pop() {
                flow.credit -= i64::from(pkt.len());
                self.pace(id, now, pkt.len());
                return Some(self.out(now, came, pkt, fate));
            }
            if self.turns.found_empty() {
                (flow.place, flow.since) = (Place::Idle, now);
            }
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }
    fn ready_at(&self) -> Option<Time> {
        self.maxrate?;
        let is_any_listed = !(self.control.is_empty() && self.turns.front().is_none());
        Some(match self.throttled.first() {
            _ if self.total.packets == 0 => Time::NEVER,
            Some(&(at, _)) if !is_any_listed => at,
            _ => Time::ZERO,
        })
    }
    fn probe(&self, row: &mut Probe) {
        self.turns.probe(row);
        row.push("throttled_flows", "", self.throttled.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::testing::{Recorder, TestPkt, link};

    fn queue(params: &Params) -> (Fq<TestPkt>, Recorder) {
        (Fq::new(params, &link()).unwrap(), Recorder::new(1))
    }
    fn ids(q: &mut Fq<TestPkt>, now: Time, fate: &mut Recorder) -> Vec<u64> {
        core::iter::from_fn(|| q.dequeue(now, fate)).map(|pkt| pkt.id).collect()
    }

    #[test]
    fn a_flow_begins_with_ten_packets_and_has_two_a_turn() {
        let (mut q, mut fate) = queue(&Params::default());
        (0..30).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500).flow(id as u16 % 2), &mut fate));
        let sent = ids(&mut q, Time::ZERO, &mut fate);
        let flows: Vec<u64> = sent.iter().map(|id| id % 2).collect();
        assert_eq!(flows[..10], [0; 10]);
        assert_eq!(flows[10..20], [1; 10]);
        assert_eq!(flows[20..], [0, 0, 1, 1, 0, 0, 1, 1, 0, 1]);
    }
    #[test]
    fn a_flow_holds_at_most_its_limit() {
        let (mut q, mut fate) = queue(&Params { flow_limit: 3, ..Params::default() });
        (0..5).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        q.enqueue(Time::ZERO, TestPkt::new(5, 1500).flow(1), &mut fate);
        assert_eq!((fate.dropped_ids(), q.backlog().packets), (alloc::vec![3, 4], 4));
    }
    #[test]
    fn a_slow_flow_is_paced_by_packets_and_a_fast_one_by_turns() {
        // 1500 bytes at 500 kbit/s take 24 ms.
        let slow = Params { maxrate: Some(Rate::from_bps(500_000)), ..Params::default() };
        let (mut q, mut fate) = queue(&slow);
        (0..3).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        assert_eq!(ids(&mut q, Time::ZERO, &mut fate), [0]);
        assert_eq!(q.ready_at(), Some(Time::ZERO + Dur::from_ms(24)));
        assert_eq!(ids(&mut q, Time::ZERO + Dur::from_ms(24), &mut fate), [1]);
        // At 12 Mbit/s ten packets leave at once, then two each 2 ms.
        let (mut q, mut fate) = queue(&Params { maxrate: Some(Rate::from_mbps(12)), ..Params::default() });
        (0..20).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        assert_eq!(ids(&mut q, Time::ZERO, &mut fate).len(), 10);
        assert_eq!(q.ready_at(), Some(Time::ZERO + Dur::from_ms(2)));
        assert_eq!(ids(&mut q, Time::ZERO + Dur::from_ms(2), &mut fate), [10, 11]);
        assert_eq!(q.ready_at(), Some(Time::ZERO + Dur::from_ms(4)));
    }
    #[test]
    fn control_traffic_goes_first_and_late_packets_are_marked() {
        let (mut q, mut fate) = queue(&Params { ce_threshold: Some(Dur::from_ms(1)), ..Params::default() });
        q.enqueue(Time::ZERO, TestPkt::new(0, 1500).ecn(Ecn::Ect0), &mut fate);
        q.enqueue(Time::ZERO + Dur::from_ms(2), TestPkt::new(1, 100).priority(CONTROL), &mut fate);
        assert_eq!(ids(&mut q, Time::ZERO + Dur::from_ms(2), &mut fate), [1, 0]);
        assert_eq!(fate.marked_ids(), [0]);
    }
}
