//! DOCSIS: the upstream of a cable modem, which asks for each grant.
//! Model: time is divided into MAP intervals. At the start of interval k the modem requests a grant for the packets
//! that its discipline gives, as many as the rate carries in an interval. The grant is for interval k + `latency`, and
//! the packets arrive at its end.
//!
//! ```text
//!   arrival ──> discipline ──> request at k ──── latency ────> grant: interval k + latency ──> its end: leaves
//!   idle delay: U(0, 1) + latency + 1 intervals, with the defaults 8 to 10 ms
//! ```
//!
//! Units: time ns, grants bytes. Cost: that of the inner discipline, and O(1) an interval.

use crate::{Backlog, Bound, DropReason, Fate, LinkContext, Pkt, Qdisc, Queue, QueueParams, classes, dualpi2};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use haltere_units::{Dur, ParamError, Probe, Rate, Size, Time};

haltere_units::params! {
    /// The upstream of a cable modem: grants every 2 ms, each after a request, and a low-latency queue.
    ///
    /// It holds packets back until their grant has passed. The link has no rate of its own.
    ///
    /// Source: CableLabs, "Data-Over-Cable Service Interface Specifications 3.1, MAC and Upper Layer Protocols"
    /// (CM-SP-MULPIv3.1); G. White, K. Sundaresan, B. Briscoe, "Low Latency DOCSIS: Technology Overview", 2019.
    ///
    /// Deviations: requests do not collide, and each is granted. A grant is for both queues together, and the
    /// discipline shares it. There are no proactive grants. A packet leaves the discipline when it is requested, not
    /// when it is granted. So the discipline sees the delay of the queue without the wait for the grant, as DOCSIS
    /// estimates it.
    ///
    /// Known problems: none.
    pub struct Params {
        /// Rate of the service, above 0.
        pub rate: Rate = Rate::from_mbps(20), [above 0];
        /// MAP interval, above 0. 2 ms is usual.
        pub interval: Dur = Dur::from_ms(2), [above 0];
        /// Intervals from a request to its grant, from 1 to 100: the way to the head end, the MAP that it makes, and the
        /// return path of that MAP.
        pub latency: u32 = 3, [from 1 to 100];
        /// Discipline of what waits to be requested. Left out: `dualpi2` with the ramp of DOCSIS 3.1's low-latency queue,
        /// 475 us to 1 ms beyond the wait for an interval, and with `queue_protection`.
        pub queue: Option<Box<QueueParams>> = None;
        /// Packet or byte limit of all waiting packets, above 0. Left out: only the discipline's own limit counts.
        pub limit: Option<Size> = None;
    }
}

impl Params {
    /// CM-SP-MULPIv3.1 annex M: MAXTH 1 ms, LG_RANGE 19; the base AQM is DualPI2's, with its gains.
    fn discipline(&self) -> QueueParams {
        let low_latency = || {
            QueueParams::Dualpi2(dualpi2::Params {
                step: self.interval + Dur::from_us(475),
                ramp: Dur::from_us(525),
                queue_protection: true,
                ..dualpi2::Params::default()
            })
        };
        self.queue.as_deref().cloned().unwrap_or_else(low_latency)
    }
}

/// A cable modem's upstream.
#[derive(Debug, Clone)]
pub struct Docsis<P> {
    queue: Queue<P>,
    bound: Bound,
    interval: Dur,
    /// Intervals from a request until its packets have arrived.
    latency: u64,
    /// What one interval carries, in bytes.
    most: f64,
    /// What is left of it; below zero, the last packet takes a part of the next.
    credit: f64,
    /// The interval that begins next.
    next: u64,
    /// Packets that were requested, with the interval at whose start they have arrived.
    requested: VecDeque<(u64, P)>,
    taken: Backlog,
}

impl<P: Pkt> Docsis<P> {
    /// An upstream of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        params.check()?;
        let inside = LinkContext { rate: Some(params.rate), ..link.clone() };
        Ok(Docsis {
            queue: Queue::inside("queue", &params.discipline(), &inside)?,
            bound: Bound::optional(params.limit, link)?,
            interval: params.interval,
            latency: u64::from(params.latency) + 1,
            most: params.rate.as_bps_f64() / 8.0 * params.interval.as_secs_f64(),
            credit: 0.0,
            next: 0,
            requested: VecDeque::new(),
            taken: Backlog::default(),
        })
    }
    fn start_of(&self, interval: u64) -> Time {
        Time::ZERO + self.interval * interval
    }
    /// When the modem requests next.
    fn next_request(&self) -> Time {
        if self.queue.backlog().packets > 0 { self.start_of(self.next) } else { Time::NEVER }
    }
    fn advance(&mut self, now: Time, fate: &mut impl Fate<P>) {
        while self.next_request() <= now {
            self.request(self.next_request(), fate);
            self.next += 1;
        }
    }
    /// An interval begins: the modem requests a grant for what it may send.
    fn request(&mut self, now: Time, fate: &mut impl Fate<P>) {
        self.credit += self.most;
        while self.credit > 0.0
            && let Some(pkt) = self.queue.dequeue(now, fate)
        {
            self.credit -= f64::from(pkt.len());
            self.taken.add(pkt.len());
            self.requested.push_back((self.next + self.latency, pkt));
        }
        if self.queue.backlog().packets == 0 {
            self.credit = self.credit.min(0.0);
        }
    }
}

impl<P: Pkt> Qdisc<P> for Docsis<P> {
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        self.advance(now, fate);
        if !self.bound.fits(self.backlog(), pkt.len()) {
            return fate.dropped(pkt, DropReason::Overlimit);
        }
        // The first interval that begins at or after now. A debt is paid by the intervals in between.
        let first = now.as_ns().div_ceil(self.interval.as_ns());
        if first > self.next {
            self.credit = (self.credit + self.most * (first - self.next) as f64).min(0.0);
            self.next = first;
        }
        self.queue.enqueue(now, pkt, fate);
        self.advance(now, fate);
    }
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.advance(now, fate);
        let interval = now.as_ns() / self.interval.as_ns();
        self.requested.front().filter(|(arrives, _)| *arrives <= interval)?;
        let (_, pkt) = self.requested.pop_front()?;
        self.taken.remove(pkt.len());
        Some(pkt)
    }
    fn backlog(&self) -> Backlog {
        self.queue.backlog() + self.taken
    }
    fn ready_at(&self) -> Option<Time> {
        let arrives = self.requested.front().map_or(Time::NEVER, |(interval, _)| self.start_of(*interval));
        Some(arrives.min(self.next_request()))
    }
    classes::inner_calls!(this => core::iter::once(&this.queue), core::iter::once(&mut this.queue));
    fn keeps_flow_order(&self) -> bool {
        self.queue.keeps_flow_order()
    }
    fn probe(&self, row: &mut Probe) {
        row.push("requested_packets", "", self.requested.len() as f64);
        self.queue.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use crate::{Ecn, drop_tail};
    use alloc::vec::Vec;

    fn at(us: u64) -> Time {
        Time::from_ns(1000 * us)
    }
    /// 20 Mbit/s: 5000 bytes an interval of 2 ms.
    fn docsis(params: &Params) -> (Docsis<TestPkt>, Recorder) {
        (Docsis::new(params, &link()).unwrap(), Recorder::new(1))
    }
    fn tail() -> Params {
        let queue = QueueParams::DropTail(drop_tail::Params { limit: Size::Packets(1000) });
        Params { queue: Some(Box::new(queue)), ..Params::default() }
    }
    fn drain(q: &mut Docsis<TestPkt>, fate: &mut Recorder) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        while let Some(now) = q.ready_at().filter(|at| *at != Time::NEVER) {
            while let Some(pkt) = q.dequeue(now, fate) {
                out.push((now.as_ns() / 1000, pkt.id));
            }
        }
        out
    }

    #[test]
    fn a_packet_waits_for_its_request_and_its_grant() {
        // It comes at 0.5 ms, is requested at 2 ms and granted for 8 to 10 ms. The second comes as an interval begins.
        let (mut q, mut fate) = docsis(&tail());
        q.enqueue(at(500), TestPkt::new(0, 1500), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [(10_000, 0)]);
        q.enqueue(at(20_000), TestPkt::new(1, 1500), &mut fate);
        assert_eq!(drain(&mut q, &mut fate), [(28_000, 1)]);
    }
    #[test]
    fn a_grant_carries_what_the_rate_allows() {
        // 5000 bytes: three packets, and the fourth in part; then three, and three.
        let (mut q, mut fate) = docsis(&tail());
        (0..10).for_each(|id| q.enqueue(at(500), TestPkt::new(id, 1500), &mut fate));
        let times: Vec<u64> = drain(&mut q, &mut fate).iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [[10_000; 4].as_slice(), &[12_000; 3], &[14_000; 3]].concat());
    }
    #[test]
    fn a_low_latency_queue_marks_no_packet_of_an_idle_link() {
        let (mut q, mut fate) = docsis(&Params::default());
        for id in 0..100 {
            q.enqueue(at(10_300 * id), TestPkt::new(id, 1500).ecn(Ecn::Ect1), &mut fate);
            let _ = drain(&mut q, &mut fate);
        }
        assert!(fate.marked.is_empty());
        (0..200).for_each(|id| q.enqueue(at(2_000_000), TestPkt::new(id, 1500).ecn(Ecn::Ect1), &mut fate));
        let _ = drain(&mut q, &mut fate);
        assert!(!fate.marked.is_empty());
    }
}
