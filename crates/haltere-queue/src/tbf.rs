//! TBF: token bucket filter, a shaper.
//! Model: the head of the inner queue leaves when the bucket has tokens for its length, and takes them. Tokens come at
//! `rate`, at most `burst`. With a peak rate a second bucket of depth `mtu` must have tokens, too.
//!
//! ```text
//!   arrival -> inner queue -> head -> [tokens for its length?] -> link
//!                                       ^ rate, up to burst
//! ```
//!
//! Units: bytes and bit/s. Cost: that of the inner queue, and O(1) a packet.

use crate::token_bucket::TokenBucket;
use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Queue, QueueParams, classes, drop_tail};
use alloc::boxed::Box;
use alloc::vec::Vec;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Size, Time};

haltere_units::params! {
    /// Token bucket filter: a shaper that limits its output to a rate after an initial burst.
    ///
    /// It holds packets back until there are tokens for them. The link behind it is faster than `rate`.
    ///
    /// Source: Linux `sch_tbf` and its manual page `tc-tbf(8)`, whose names the parameters have.
    ///
    /// Deviations: tokens are counted exactly, where Linux counts in steps of 64 ns. `queue` is a parameter; in Linux
    /// the inner discipline is attached. The packet that waits for tokens takes a place of the limit, as in Linux,
    /// unless the inner discipline is another than drop tail.
    ///
    /// Known problems: a packet longer than `burst` (or `mtu` with a peak rate) can never pass, and is dropped.
    pub struct Params {
        /// Rate at which tokens come, above 0: the rate of the output in the long run.
        pub rate: Rate = Rate::from_mbps(10);
        /// Depth of the bucket, at least a full packet: so many bytes may leave at once after an idle time.
        pub burst: Bytes = Bytes::new(10_000);
        /// Packet or byte limit of the queue, above 0. Left out: `1000p`, unless `latency` or `queue` is given.
        pub limit: Option<Size> = None;
        /// The longest time that a packet may wait. `limit` is then `rate` times `latency` plus `burst`, and with
        /// `peakrate` at most `peakrate` times `latency` plus `mtu`. Left out: `limit` is used.
        pub latency: Option<Dur> = None;
        /// The fastest rate at which a burst leaves, above `rate`. Left out: that of the link.
        pub peakrate: Option<Rate> = None;
        /// Depth of the peak rate's bucket, at least a full packet. Without `peakrate` it has no meaning. The default
        /// is that of `tc`.
        pub mtu: Bytes = Bytes::new(2047);
        /// Discipline of the packets that wait, with its own limit, such as `fq_codel`. Left out: first in, first out
        /// with `limit`.
        pub queue: Option<Box<QueueParams>> = None;
    }
}

impl Params {
    /// The inner queue, of which one key says something at most.
    fn inner(&self) -> Result<QueueParams, ParamError> {
        let tail = |limit| QueueParams::DropTail(drop_tail::Params { limit });
        match (self.limit, self.latency, &self.queue) {
            (None, None, None) => Ok(QueueParams::DropTail(Default::default())),
            (Some(limit), None, None) => Ok(tail(limit)),
            (None, Some(latency), None) => {
                let limit = self.rate.bytes_in(latency) + self.burst;
                let peak = self.peakrate.map_or(limit, |peak| peak.bytes_in(latency) + self.mtu);
                Ok(tail(Size::Bytes(limit.min(peak).as_u64())))
            }
            (None, None, Some(queue)) => Ok(QueueParams::clone(queue)),
            _ => {
                let given = [
                    self.limit.map(|_| "limit"),
                    self.latency.map(|_| "latency"),
                    self.queue.as_ref().map(|_| "queue"),
                ];
                let got = given.into_iter().flatten().collect::<Vec<_>>().join(" and ");
                Err(ParamError::new("limit", "the only one given of `limit`, `latency` and `queue`", got))
            }
        }
    }
}

/// A queue under TBF.
#[derive(Debug, Clone)]
pub struct Tbf<P> {
    queue: Queue<P>,
    /// The limit of an inner queue without a discipline of its own: the packet that leaves next counts, too.
    bound: Bound,
    /// The packet that leaves next. The inner queue gave it out already.
    head: Option<P>,
    tokens: TokenBucket,
    peak: Option<TokenBucket>,
}

impl<P: Pkt> Tbf<P> {
    /// A shaper of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        if let Some(peak) = params.peakrate.filter(|peak| *peak <= params.rate) {
            return Err(ParamError::new("peakrate", alloc::format!("above `rate`, which is {}", params.rate), peak));
        }
        // The inner queue's bandwidth-delay product is that of the shaped rate.
        let inside =
            LinkContext { rate: Some(link.rate.map_or(params.rate, |rate| rate.min(params.rate))), ..link.clone() };
        let inner = params.inner()?;
        let bound = match &inner {
            QueueParams::DropTail(tail) => Bound::new(inside.resolve(tail.limit))?,
            _ => Bound::NONE,
        };
        Ok(Tbf {
            tokens: TokenBucket::checked(("rate", params.rate), ("burst", params.burst))?,
            peak: params
                .peakrate
                .map(|peak| TokenBucket::checked(("peakrate", peak), ("mtu", params.mtu)))
                .transpose()?,
            queue: Queue::inside("queue", &inner, &inside)?,
            bound,
            head: None,
        })
    }
    fn buckets(&mut self) -> impl Iterator<Item = &mut TokenBucket> {
        core::iter::once(&mut self.tokens).chain(&mut self.peak)
    }
}

impl<P: Pkt> Qdisc<P> for Tbf<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if self.buckets().all(|bucket| bucket.holds(pkt.len())) && self.bound.fits(self.backlog(), pkt.len()) {
            self.queue.enqueue(now, pkt, fate);
        } else {
            fate.dropped(pkt, DropReason::Overlimit);
        }
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        if self.head.is_none() {
            self.head = self.queue.dequeue(now, fate);
        }
        let len = self.head.as_ref()?.len();
        if !self.buckets().all(|bucket| bucket.has(now, len)) {
            return None;
        }
        self.buckets().for_each(|bucket| bucket.take(len));
        self.head.take()
    }
    fn backlog(&self) -> Backlog {
        let mut backlog = self.queue.backlog();
        if let Some(head) = &self.head {
            backlog.add(head.len());
        }
        backlog
    }
    fn ready_at(&self) -> Option<Time> {
        let Some(head) = &self.head else {
            // What the inner queue gives next is not known before it is asked.
            return Some(if self.queue.backlog().packets == 0 { Time::NEVER } else { Time::ZERO });
        };
        let ready = self.tokens.ready_at(head.len());
        Some(self.peak.as_ref().map_or(ready, |peak| ready.max(peak.ready_at(head.len()))))
    }
    classes::inner_calls!(this => core::iter::once(&this.queue), core::iter::once(&mut this.queue));
    fn keeps_flow_order(&self) -> bool {
        self.queue.keeps_flow_order()
    }
    fn probe(&self, row: &mut Probe) {
        self.tokens.probe(row);
        self.queue.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec::Vec;

    /// Tokens of a byte a microsecond, and room for two packets of 1500 bytes.
    fn params() -> Params {
        Params { rate: Rate::from_mbps(8), burst: Bytes::new(3000), ..Params::default() }
    }
    /// When so many packets of 1500 bytes leave that come at `at` (us), if each is asked for when it is ready.
    fn departures(q: &mut Tbf<TestPkt>, at: u64, count: u64) -> Vec<u64> {
        let (mut fate, mut now) = (Recorder::new(1), Time::from_ns(1000 * at));
        (0..count).for_each(|id| q.enqueue(now, TestPkt::new(id, 1500), &mut fate));
        let mut out = Vec::new();
        loop {
            match q.dequeue(now, &mut fate) {
                Some(_) => out.push(now.as_ns() / 1000),
                None if q.ready_at() == Some(Time::NEVER) => return out,
                None => {
                    let ready = q.ready_at().expect("it withholds");
                    assert!(ready > now, "{ready} after {now}");
                    now = ready;
                }
            }
        }
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut q = Tbf::new(&params(), &link()).unwrap();
        assert_eq!(departures(&mut q, 0, 4), [0, 0, 1500, 3000]);
        // At 5 ms there are tokens for 2000 bytes again.
        assert_eq!(departures(&mut q, 5000, 2), [5000, 6000]);
    }
    #[test]
    fn a_peak_rate_spreads_the_burst() {
        // Two bytes a microsecond, a packet deep: the second leaves after 0.75 ms, the third when the first bucket has
        // 1500 bytes.
        let peak = Params { peakrate: Some(Rate::from_mbps(16)), mtu: Bytes::new(1500), ..params() };
        assert_eq!(departures(&mut Tbf::new(&peak, &link()).unwrap(), 0, 4), [0, 750, 1500, 3000]);
    }
    #[test]
    fn a_latency_is_a_limit_of_so_many_bytes() {
        // 8 Mbit/s for 3 ms are 3000 bytes, and a burst of 3000: four packets fit.
        let mut q = Tbf::new(&Params { latency: Some(Dur::from_ms(3)), ..params() }, &link()).unwrap();
        let mut fate = Recorder::new(1);
        (0..6).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        assert_eq!(fate.dropped_ids(), [4, 5]);
    }
    /// 8 Mbit/s for 3 ms and a burst are 6000 bytes; 9 Mbit/s for 3 ms and 1500 are 4875, in which three packets fit.
    #[test]
    fn with_a_peak_rate_the_smaller_of_two_limits_counts() {
        let peak = Params { peakrate: Some(Rate::from_mbps(9)), mtu: Bytes::new(1500), ..params() };
        let mut q = Tbf::new(&Params { latency: Some(Dur::from_ms(3)), ..peak }, &link()).unwrap();
        let mut fate = Recorder::new(1);
        (0..6).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        assert_eq!(fate.dropped_ids(), [3, 4, 5]);
    }
    #[test]
    fn the_head_takes_a_place_of_the_limit() {
        let mut q = Tbf::new(&Params { limit: Some(Size::Packets(2)), ..params() }, &link()).unwrap();
        let mut fate = Recorder::new(1);
        // Two leave with the burst; the third becomes the head and waits for tokens.
        for id in 0..5 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate);
            q.dequeue(Time::ZERO, &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [4], "the head and one behind it");
    }
    #[test]
    fn the_head_is_part_of_the_backlog() {
        let mut q = Tbf::new(&params(), &link()).unwrap();
        let mut fate = Recorder::new(1);
        (0..4).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        for _ in 0..3 {
            q.dequeue(Time::ZERO, &mut fate);
        }
        assert_eq!(q.backlog(), Backlog { packets: 2, bytes: 3000 });
    }
    #[test]
    fn a_packet_longer_than_the_burst_is_dropped() {
        let mut q = Tbf::new(&params(), &link()).unwrap();
        let mut fate = Recorder::new(1);
        q.enqueue(Time::ZERO, TestPkt::new(0, 3001), &mut fate);
        assert_eq!(fate.dropped_ids(), [0]);
    }
}
