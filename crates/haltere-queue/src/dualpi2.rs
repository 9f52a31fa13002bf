//! DualPI2: two queues, one for scalable traffic, coupled by one PI controller.
//! Model: every `tupdate`, with d the delay, `p' <- p' + alpha (d - target) + beta (d - d_old)`. The classic queue
//! signals with `p_C = p'^2`, the L4S queue with `p_L = max(p'_L, k p')`; p'_L is 1 above the step and 0 below it.
//!
//! ```text
//!               ECT(1), CE   +---------+  mark: step, or k p'
//!             +------------->|   L4S   |----------------------+  1 - classic_protection
//!   arrival --+              +---------+   p' (PI)            +--> link
//!             +------------->| classic |----------------------+  classic_protection, if both wait
//!           Not-ECT, ECT(0)  +---------+  drop or mark: p'^2
//! ```
//!
//! Units: time ns, queues bytes. Cost: O(1) a packet, and one step a `tupdate`.

use crate::queue_protection::QueueProtection;
use crate::{Backlog, Bound, DropReason, Ecn, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use haltere_units::{Bytes, Dur, ParamError, Prob, Probe, Size, Time};

haltere_units::params! {
    /// Two queues with one coupled controller: L4S traffic waits little, classic traffic keeps its share.
    ///
    /// ECT(1) and CE packets wait in the L4S queue, all others in the classic queue. The controller holds the delay at
    /// `target`. It drops or marks classic packets with probability p'^2 and marks L4S packets with `coupling` p'. So a
    /// scalable control and a classic one get about equal windows.
    ///
    /// Source: RFC 9332 (appendix A).
    ///
    /// Deviations: these are those of Linux's `sch_dualpi2`. The controller's delay is that of the queue whose oldest
    /// packet waited longer; the RFC's is the classic queue's. Marks are drawn at random; the RFC spreads them evenly.
    /// The L4S queue marks at a step; the RFC's ramp is `ramp`. The scheduler is weighted round robin by bytes, one of
    /// those that the RFC allows.
    ///
    /// Known problems: ECT(0) traffic that was marked CE before arrives in the L4S queue and overtakes its own flow.
    pub struct Params {
        /// Packet or byte limit of both queues together, above 0. The default is Linux's (tc-dualpi2(8)).
        pub limit: Size = Size::Packets(10_000);
        /// Delay to hold, above 0. The default is RFC 9332's (appendix A.1).
        pub target: Dur = Dur::from_ms(15), [above 0];
        /// Time between two updates of p', above 0. The default is Linux's (tc-dualpi2(8)); RFC 9332 has 15 ms.
        pub tupdate: Dur = Dur::from_ms(16), [above 0];
        /// Gain on the distance from `target`, in 1/s, from 0 to 64. The default is RFC 9332's for round-trip times up
        /// to 100 ms, `0.1 tupdate / RTT_max^2`, with a `tupdate` of 16 ms.
        pub alpha: f64 = 0.16, [from 0 to 64];
        /// Gain on the change of the delay, in 1/s, from 0 to 64. The default is Linux's (tc-dualpi2(8)); RFC 9332 has
        /// `0.3 / RTT_max`, 3.
        pub beta: f64 = 3.2, [from 0 to 64];
        /// The coupling factor k, from 1 to 16: L4S packets are marked with k p'. The default is RFC 9332's (section
        /// 2.1).
        pub coupling: f64 = 2.0, [from 1 to 16];
        /// L4S packets that waited longer are marked. The default is Linux's (tc-dualpi2(8)).
        pub step: Dur = Dur::from_ms(1);
        /// Over this time above `step` the probability of a mark grows from 0 to 1. The default is a step, as in Linux;
        /// RFC 9332 has a `step` of 800 us and a ramp of 400 us.
        pub ramp: Dur = Dur::ZERO;
        /// L4S packets are marked by `step` only if at least this many waited in their queue as they arrived. The
        /// default is Linux's (tc-dualpi2(8)); the L4S team's Linux of 2020 had 2.
        pub min_step_packets: u32 = 0;
        /// Neither queue drops or marks by p' while less than this waits behind in both together. The default is RFC
        /// 9332's; Linux has two packets of the link's size (`3028B`), as PIE has.
        pub min_backlog: Bytes = Bytes::ZERO;
        /// True: while `coupling` p' would be above 1, L4S packets are dropped with p'^2, too, and no packet is spared
        /// because it could be marked. False: L4S packets are only marked, until the limit drops them.
        pub drop_overload: bool = true;
        /// The share of the link that is guaranteed to classic packets while both queues have packets, from 0 to 1. The
        /// default is Linux's (tc-dualpi2(8)).
        pub classic_protection: Prob = Prob::of(0.1);
        /// True: packets of flows that build the L4S queue wait in the classic queue instead (RFC 9957). Its
        /// critical delay is `step` plus `ramp`, above which every packet is marked, and is compared with the oldest
        /// packet's delay.
        pub queue_protection: bool = false;
    }
}

/// Which of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    L4s,
    Classic,
}

/// A queue under DualPI2.
#[derive(Debug, Clone)]
pub struct Dualpi2<P> {
    params: Params,
    bound: Bound,
    l4s: Store<P>,
    classic: Store<P>,
    /// Of each packet in the L4S queue: enough waited as it arrived. Only with `min_step_packets`.
    found_queue: VecDeque<bool>,
    /// The base probability p'.
    base: f64,
    /// The delay at the last update.
    delay: Dur,
    /// Bytes that the classic queue is owed, times 1 - `classic_protection`.
    credit: f64,
    update_at: Time,
    /// How long a packet waits for its turn on the medium.
    turn: Dur,
    protection: Option<Box<QueueProtection>>,
    /// Seed of the flows' hashes.
    seed: u64,
}

impl<P: Pkt> Dualpi2<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        Ok(Dualpi2 {
            bound: Bound::new(link.resolve(params.limit))?,
            l4s: Store::unbounded(),
            classic: Store::unbounded(),
            found_queue: VecDeque::new(),
            base: 0.0,
            delay: Dur::ZERO,
            credit: 0.0,
            update_at: Time::ZERO + params.tupdate,
            turn: Dur::ZERO,
            protection: params.queue_protection.then(|| Box::new(QueueProtection::new(params.step + params.ramp))),
            seed: link.seed,
            params: params.clone(),
        })
    }

    /// True if the packet's flow builds the L4S queue, so that it must leave it.
    fn is_sanctioned(&mut self, now: Time, pkt: &P) -> bool {
        let delay = self.l4s.sojourn(now);
        let probability = self.step_probability(delay);
        let Some(protection) = &mut self.protection else { return false };
        protection.sanctions(now, (pkt.flow().hash(self.seed) >> 32) as u32, pkt.len(), delay, probability)
    }

    /// RFC 9332 appendix A.1: one step of the controller.
    fn update(&mut self, now: Time) {
        let delay = self.classic.sojourn(now).max(self.l4s.sojourn(now));
        let (d, old, target) = (delay.as_secs_f64(), self.delay.as_secs_f64(), self.params.target.as_secs_f64());
        let step = self.params.alpha * (d - target) + self.params.beta * (d - old);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// The queue that sends next, if any waits: weighted round robin by bytes.
    fn turn(&mut self) -> Option<(Side, Time, P)> {
        let both = !self.l4s.is_empty() && !self.classic.is_empty();
        let side = match (self.l4s.is_empty(), both) {
            (true, _) => Side::Classic,
            (false, true) if self.credit > 0.0 => Side::Classic,
            _ => Side::L4s,
        };
        let (came, pkt) = match side {
            Side::L4s => self.l4s.pop()?,
            Side::Classic => self.classic.pop()?,
        };
        if both {
            let (len, share) = (f64::from(pkt.len()), self.params.classic_protection.as_f64());
            self.credit += if side == Side::L4s { len * share } else { -len * (1.0 - share) };
        }
        Some((side, came, pkt))
    }

    /// The probability p'_L of the L4S queue's own marks, for a packet that waited so long.
    fn step_probability(&self, waited: Dur) -> f64 {
        if waited <= self.params.step {
            return 0.0;
        }
        if self.params.ramp.is_zero() {
            return 1.0;
        }
        (waited.saturating_sub(self.params.step).as_secs_f64() / self.params.ramp.as_secs_f64()).min(1.0)
    }

    /// The packet if it is sent on, marked or not; `None` if it was dropped.
    fn signal(&mut self, side: Side, waited: Dur, mut pkt: P, fate: &mut impl Fate<P>) -> Option<P> {
        let found_queue = side == Side::Classic || self.found_queue.pop_front().unwrap_or(true);
        let base = if self.backlog().bytes < self.params.min_backlog.as_u64() { 0.0 } else { self.base };
        let (overload, squared) = (self.params.coupling * base >= 1.0, base * base);
        match side {
            Side::L4s => {
                if overload && self.params.drop_overload && fate.uniform() < squared {
                    fate.dropped(pkt, DropReason::Congestion);
                    return None;
                }
                let own = if found_queue { self.step_probability(waited.saturating_sub(self.turn)) } else { 0.0 };
                let coupled = (self.params.coupling * base).min(1.0);
                let p = own.max(coupled);
                if p > 0.0 && fate.uniform() < p {
                    let reason = if own > coupled { MarkReason::Threshold } else { MarkReason::Congestion };
                    mark(&mut pkt, reason, fate);
                }
            }
            Side::Classic => {
                if squared > 0.0
                    && fate.uniform() < squared
                    && (overload || !mark(&mut pkt, MarkReason::Congestion, fate))
                {
                    fate.dropped(pkt, DropReason::Congestion);
                    return None;
                }
            }
        }
        Some(pkt)
    }
}

impl<P: Pkt> Qdisc<P> for Dualpi2<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if !self.bound.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        let store = match pkt.ecn() {
            Ecn::Ect1 | Ecn::Ce if self.is_sanctioned(now, &pkt) => &mut self.classic,
            Ecn::Ect1 | Ecn::Ce => {
                if self.params.min_step_packets > 0 {
                    self.found_queue.push_back(self.l4s.backlog().packets >= self.params.min_step_packets);
                }
                &mut self.l4s
            }
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic,
        };
        store.append(now, pkt);
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        loop {
            let (side, came, pkt) = self.turn()?;
            if let Some(pkt) = self.signal(side, now.since(came), pkt, fate) {
                return Some(pkt);
            }
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.l4s.backlog() + self.classic.backlog()
    }
    fn next_timer(&self) -> Option<Time> {
        Some(self.update_at)
    }
    fn on_timer(&mut self, now: Time) {
        if now >= self.update_at {
            self.update(now);
            self.update_at = now + self.params.tupdate;
        }
    }
    fn on_turn(&mut self, wait: Dur) {
        self.turn = wait;
    }
    fn keeps_flow_order(&self) -> bool {
        false
    }
    fn probe(&self, row: &mut Probe) {
        row.push("base_prob", "", self.base);
        row.push("qdelay", "s", self.delay.as_secs_f64());
        row.push("l4s_packets", "", f64::from(self.l4s.backlog().packets));
        row.push("classic_packets", "", f64::from(self.classic.backlog().packets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec::Vec;

    fn queue(params: &Params) -> (Dualpi2<TestPkt>, Recorder) {
        (Dualpi2::new(params, &link()).unwrap(), Recorder::new(1))
    }
    /// `n` packets of that field, numbered from `first`, at time 0.
    fn fill(q: &mut Dualpi2<TestPkt>, fate: &mut Recorder, ecn: Ecn, first: u64, n: u64) {
        for id in first..first + n {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(ecn), fate);
        }
    }
    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} against {b}");
    }

    #[test]
    fn queue_protection_moves_the_flow_that_builds_the_queue() {
        // 100 packets of one flow wait 5 ms. At p = 1 each adds 2861 us to its score, of which 4000 us / 5 are enough.
        let (mut q, mut fate) = queue(&Params { queue_protection: true, ..Params::default() });
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 100);
        let late = |q: &mut Dualpi2<TestPkt>, fate: &mut Recorder, flow| {
            q.enqueue(at(5), TestPkt::new(200, 1500).flow(flow).ecn(Ecn::Ect1), fate);
            q.classic.backlog().packets
        };
        assert_eq!(late(&mut q, &mut fate, 0), 1);
        let (mut q, mut fate) = queue(&Params::default());
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 100);
        assert_eq!(late(&mut q, &mut fate, 0), 0, "without it");
    }
    #[test]
    fn the_controller_follows_the_pseudocode() {
        let (mut q, mut fate) = queue(&Params::default());
        fill(&mut q, &mut fate, Ecn::Ect0, 0, 10);
        q.on_timer(at(16));
        // d = 16 ms, d_old = 0: 0.16 * 1 ms + 3.2 * 16 ms.
        near(q.base, 0.16 * 0.001 + 3.2 * 0.016);
        q.on_timer(at(32));
        // d = 32 ms, d_old = 16 ms: 0.16 * 17 ms + 3.2 * 16 ms more.
        near(q.base, 0.16 * 0.018 + 3.2 * 0.032);
    }

    #[test]
    fn p_stays_within_0_and_1() {
        let (mut q, mut fate) = queue(&Params::default());
        q.on_timer(at(16));
        near(q.base, 0.0);
        fill(&mut q, &mut fate, Ecn::Ect0, 0, 1);
        q.on_timer(at(100_000));
        near(q.base, 1.0);
    }

    #[test]
    fn l4s_packets_are_marked_with_k_p_and_classic_ones_dropped_with_p_squared() {
        let (mut q, mut fate) = queue(&Params { step: Dur::from_secs(9), ..Params::default() });
        q.base = 0.2; // k p' = 0.4, p'^2 = 0.04
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 2);
        fate.forced = [0.41, 0.39].to_vec();
        assert_eq!(q.dequeue(at(1), &mut fate).unwrap().ecn, Ecn::Ce);
        assert_eq!(q.dequeue(at(1), &mut fate).unwrap().ecn, Ecn::Ect1);
        fill(&mut q, &mut fate, Ecn::NotEct, 10, 2);
        fate.forced = [0.041, 0.039].to_vec();
        assert_eq!(q.dequeue(at(1), &mut fate).unwrap().id, 11);
        assert_eq!((fate.dropped_ids(), fate.marked_ids()), ([10].to_vec(), [0].to_vec()));
    }

    #[test]
    fn a_classic_packet_that_can_be_marked_is_marked() {
        let (mut q, mut fate) = queue(&Params::default());
        q.base = 0.2;
        fill(&mut q, &mut fate, Ecn::Ect0, 0, 1);
        fate.forced = [0.01].to_vec();
        assert_eq!(q.dequeue(at(1), &mut fate).unwrap().ecn, Ecn::Ce);
        assert!(fate.dropped.is_empty());
    }

    #[test]
    fn the_step_marks_what_waited_longer() {
        let (mut q, mut fate) = queue(&Params::default());
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 2);
        assert_eq!(q.dequeue(at(1), &mut fate).unwrap().ecn, Ecn::Ect1);
        assert_eq!(q.dequeue(Time::from_ns(1_000_001), &mut fate).unwrap().ecn, Ecn::Ce);
        assert_eq!(fate.marked[0].1, MarkReason::Threshold);
    }

    /// The third packet finds two, and is marked although none waits behind it when it leaves; the first two found
    /// fewer.
    #[test]
    fn the_step_spares_a_packet_that_found_a_short_queue() {
        let (mut q, mut fate) = queue(&Params { min_step_packets: 2, ..Params::default() });
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 3);
        while q.dequeue(at(5), &mut fate).is_some() {}
        assert_eq!(fate.marked_ids(), [2]);
    }

    /// p' = 1 drops and marks all, except what leaves less than 3,000 bytes behind.
    #[test]
    fn p_does_nothing_below_the_least_backlog() {
        let params = Params { min_backlog: Bytes::new(3000), step: Dur::from_secs(9), ..Params::default() };
        let (mut q, mut fate) = queue(&params);
        q.base = 1.0;
        fill(&mut q, &mut fate, Ecn::NotEct, 0, 3);
        fill(&mut q, &mut fate, Ecn::Ect1, 10, 1);
        while q.dequeue(at(0), &mut fate).is_some() {}
        assert_eq!((fate.dropped_ids(), fate.marked_ids()), ([10, 0].to_vec(), [].to_vec()));
    }

    #[test]
    fn the_ramp_of_the_rfc_marks_half_way_up_with_one_half() {
        let params = Params { step: Dur::from_us(800), ramp: Dur::from_us(400), ..Params::default() };
        let (q, _) = queue(&params);
        near(q.step_probability(Dur::from_us(800)), 0.0);
        near(q.step_probability(Dur::from_us(1000)), 0.5);
        near(q.step_probability(Dur::from_us(1300)), 1.0);
    }

    #[test]
    fn in_overload_both_queues_drop_with_p_squared() {
        let (mut q, mut fate) = queue(&Params::default());
        q.base = 0.6; // k p' = 1.2, p'^2 = 0.36
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 2);
        fate.forced = [0.5, 0.37, 0.35].to_vec();
        let sent = q.dequeue(at(0), &mut fate).unwrap();
        assert_eq!((sent.id, sent.ecn, fate.dropped_ids()), (1, Ecn::Ce, [0].to_vec()));
        fill(&mut q, &mut fate, Ecn::Ect0, 10, 1);
        fate.forced = [0.35].to_vec();
        assert!(q.dequeue(at(0), &mut fate).is_none(), "no mark spares it");
        assert_eq!(fate.dropped_ids(), [0, 10]);
    }

    #[test]
    fn without_drop_overload_l4s_packets_are_only_marked() {
        let (mut q, mut fate) = queue(&Params { drop_overload: false, ..Params::default() });
        q.base = 1.0;
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 5);
        while q.dequeue(at(0), &mut fate).is_some() {}
        assert_eq!((fate.dropped.len(), fate.marked.len()), (0, 5));
    }

    #[test]
    fn classic_packets_keep_a_tenth_of_the_link() {
        let (mut q, mut fate) = queue(&Params::default());
        fill(&mut q, &mut fate, Ecn::Ect1, 0, 100);
        fill(&mut q, &mut fate, Ecn::NotEct, 1000, 100);
        let sent: Vec<u64> = (0..100).filter_map(|_| q.dequeue(at(0), &mut fate)).map(|p| p.id).collect();
        assert_eq!(sent.iter().filter(|&&id| id >= 1000).count(), 10);
        assert_eq!(sent[0], 0, "an L4S packet goes first");
    }
}
