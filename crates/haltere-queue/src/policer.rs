//! Policer: a token bucket that holds no packet back.
//! Model: a packet that finds tokens for its length conforms, takes them, and goes to the inner queue. Another one
//! exceeds: it is dropped or marked.
//!
//! ```text
//!   arrival -> [tokens for its length?] -- conforms --> inner queue -> link
//!                 ^ rate, up to burst   -- exceeds ---> dropped, or marked and to the inner queue
//! ```
//!
//! Units: bytes and bit/s. Cost: that of the inner queue, and O(1) a packet.

use crate::token_bucket::TokenBucket;
use crate::{
    Backlog, DropReason, Fate, LinkContext, MarkReason, Pkt, Qdisc, Queue, QueueParams, classes, drop_tail, mark,
};
use alloc::boxed::Box;
use haltere_units::{Bytes, ParamError, Probe, Rate, Size, Time};

haltere_units::params! {
    /// Policer: packets beyond a rate and a burst are dropped or marked at once. None waits for tokens.
    ///
    /// Source: Linux `tc-police(8)`, whose names `rate` and `burst` are; the committed rate and burst of RFC 2697.
    ///
    /// Deviations: two colours, not the three of RFC 2697. A packet that exceeds is dropped or gets CE, not another
    /// DSCP.
    ///
    /// Known problems: TCP loses whole flights if `burst` is much less than its rate times the round-trip time, and
    /// gets much less than `rate` (Flach et al., SIGCOMM 2016).
    pub struct Params {
        /// Rate at which tokens come, above 0.
        pub rate: Rate = Rate::from_mbps(10);
        /// Depth of the bucket, at least a full packet: so many bytes conform at once after an idle time.
        pub burst: Bytes = Bytes::new(100_000);
        /// What happens to a packet that exceeds.
        pub exceed: Exceed = Exceed::Drop;
        /// Packet or byte limit of the queue behind the policer, above 0. Left out: `1000p`, unless `queue` is given.
        pub limit: Option<Size> = None;
        /// Discipline behind the policer, with its own limit. Left out: first in, first out with `limit`.
        pub queue: Option<Box<QueueParams>> = None;
    }
    /// What happens to a packet that exceeds.
    pub enum Exceed {
        /// The packet is dropped.
        Drop,
        /// The packet is marked with CE if it is ECN-capable, else dropped.
        Mark,
    }
}

/// A queue behind a token bucket that drops what does not conform.
#[derive(Debug, Clone)]
pub struct Policer<P> {
    tokens: TokenBucket,
    exceed: Exceed,
    queue: Queue<P>,
}

impl<P: Pkt> Policer<P> {
    /// A policer of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let queue = match (params.limit, &params.queue) {
            (None, None) => QueueParams::DropTail(Default::default()),
            (Some(limit), None) => QueueParams::DropTail(drop_tail::Params { limit }),
            (None, Some(queue)) => QueueParams::clone(queue),
            (Some(limit), Some(_)) => return Err(ParamError::new("limit", "left out beside `queue`", limit)),
        };
        Ok(Policer {
            tokens: TokenBucket::checked(("rate", params.rate), ("burst", params.burst))?,
            exceed: params.exceed,
            queue: Queue::new(&queue, link)?,
        })
    }
}

impl<P: Pkt> Qdisc<P> for Policer<P> {
    fn enqueue(&mut self, now: Time, mut pkt: P, fate: &mut impl Fate<P>) {
        if self.tokens.has(now, pkt.len()) {
            self.tokens.take(pkt.len());
        } else if self.exceed == Exceed::Drop || !mark(&mut pkt, MarkReason::Threshold, fate) {
            return fate.dropped(pkt, DropReason::Congestion);
        }
        self.queue.enqueue(now, pkt, fate);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.queue.dequeue(now, fate)
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
    fn ready_at(&self) -> Option<Time> {
        self.queue.ready_at()
    }
    classes::inner_calls!(this => core::iter::once(&this.queue), core::iter::once(&mut this.queue));
    fn upcoming(&self, n: usize) -> Option<&P> {
        self.queue.upcoming(n)
    }
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
    use crate::Ecn;
    use crate::testing::{Recorder, TestPkt, link};

    /// Tokens of a byte a microsecond, and room for two packets of 1500 bytes.
    fn policer(exceed: Exceed) -> (Policer<TestPkt>, Recorder) {
        let params = Params { rate: Rate::from_mbps(8), burst: Bytes::new(3000), exceed, ..Params::default() };
        (Policer::new(&params, &link()).unwrap(), Recorder::new(1))
    }
    fn us(us: u64) -> Time {
        Time::from_ns(1000 * us)
    }

    #[test]
    fn a_burst_conforms_and_then_the_rate() {
        let (mut q, mut fate) = policer(Exceed::Drop);
        for (id, at) in [(0, 0), (1, 0), (2, 0), (3, 1499), (4, 1500), (5, 1500), (6, 4500), (7, 4500)] {
            q.enqueue(us(at), TestPkt::new(id, 1500), &mut fate);
        }
        assert_eq!(fate.dropped_ids(), [2, 3, 5]);
        assert!(fate.dropped.iter().all(|(_, reason)| *reason == DropReason::Congestion));
    }
    #[test]
    fn of_a_constant_rate_the_policer_lets_its_own_through() {
        // Twice the rate for a second: burst and rate are 1,003,000 bytes, that is 668 whole packets of 1500.
        let (mut q, mut fate) = policer(Exceed::Drop);
        for id in 0..1334 {
            q.enqueue(us(750 * id), TestPkt::new(id, 1500), &mut fate);
            assert!(q.dequeue(us(750 * id), &mut fate).is_none_or(|pkt| pkt.id == id), "no packet waits for tokens");
        }
        assert_eq!(1334 - fate.dropped.len(), 668);
    }
    #[test]
    fn a_packet_that_exceeds_is_marked_if_it_can_be() {
        let (mut q, mut fate) = policer(Exceed::Mark);
        for id in 0..4 {
            let ecn = if id == 3 { Ecn::NotEct } else { Ecn::Ect0 };
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(ecn), &mut fate);
        }
        assert_eq!((fate.marked_ids(), fate.dropped_ids()), (alloc::vec![2], alloc::vec![3]));
        assert_eq!(q.backlog().packets, 3);
    }
}
