//! CAKE: common applications kept enhanced. A shaper, tins by DSCP, fair queuing by host and flow, and COBALT in each
//! queue.
//! Model: a packet goes to the tin of its DSCP and there to the queue of its flow. The shaper says when the next packet
//! may leave: the packet before takes `length / bandwidth`, with what the link adds to it. It saves up nothing, so it
//! has no bursts.
//!
//! ```text
//!                        tin     +- queue: COBALT -+
//!             +- DSCP -> voice --+- queue: COBALT -+--+
//!   arrival --+                  ...                  +--> the highest tin within its part,  --> [shaper] --> link
//!             +- DSCP -> best effort, bulk -----------+    or the one that is due first
//! ```
//!
//! In a tin, flows take turns (deficit round robin, new flows first). A turn is shorter if the flow's host has several
//! bulk flows. COBALT (`cake/cobalt.rs`) drops by the sojourn time as CoDel, and at random if the queue overflows.
//!
//! Units: time ns, bytes. Cost: O(1) a packet; a drop for overflow looks at all queues in use, a flow that comes back
//! soon at those that decay, and the ACK filter at its flow's queue.

mod ack_filter;
mod cobalt;
mod isolation;
mod link;
mod tin;

use crate::{Backlog, Bound, Fate, LinkContext, Pkt, Qdisc};
use alloc::vec::Vec;
use cobalt::Config;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Size, Time};
use link::{Lengths, part_of, quantum, time_for};
use tin::{Rules, Tin};

haltere_units::params! {
    /// Shaper, priorities, fair queuing by host and flow, and active queue management in one discipline for home
    /// gateways.
    ///
    /// It shapes to `bandwidth`, so that the queue is here and not in the modem. Each tin of `diffserv` has a part of
    /// the rate within which it goes first. Hosts share a tin equally, and flows their host's share.
    ///
    /// Source: T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: a comprehensive queue management solution
    /// for home gateways", IEEE LANMAN 2018. Names and defaults are those of tc-cake(8).
    ///
    /// Deviations: two are Linux's: a sparse flow counts for its host once it is a bulk flow, and an empty flow is kept
    /// until its COBALT state is at rest. Square roots are exact. `limit` counts packet lengths; Linux counts buffer
    /// memory. `overhead` is added to the length with the link's framing. Only an acknowledgement without data makes an
    /// older one redundant; in Linux a segment with data does, too. `nat`, `wash`, `autorate-ingress`, `precedence`
    /// and `diffserv8` are left out.
    ///
    /// Known problems: in the kernel world and in captures packets do not show their acknowledgement numbers, so the
    /// ACK filter does nothing there.
    pub struct Params {
        /// Rate of the shaper, above 0. Left out: no shaper (`unlimited`), and tins take turns by their parts.
        pub bandwidth: Option<Rate> = None;
        /// How many tins there are, and which packets are in each.
        pub diffserv: Diffserv = Diffserv::Diffserv3;
        /// Which packets share a queue, and which hosts share a tin equally.
        pub isolation: Isolation = Isolation::TripleIsolate;
        /// Round-trip time of the flows, at least 1 us: COBALT's interval. Its target is a twentieth, and 1.5 full
        /// packets at least.
        pub rtt: Dur = Dur::from_ms(100);
        /// Bytes that the link adds to each packet. Negative if the link behind adds less than `framing` of this link
        /// does.
        pub overhead: i32 = 0;
        /// Bytes that a packet takes on the link at least (minimum packet unit).
        pub mpu: u32 = 0;
        /// How the link frames packets.
        pub framing: Framing = Framing::None;
        /// Whether acknowledgements that a later one makes redundant are dropped.
        pub ack_filter: AckFilter = AckFilter::Off;
        /// Whether every queue was late before, as in a router that has run for days. False, as in Linux at the start:
        /// the second late packet of a queue that was never late is dropped or marked at once, later ones after an
        /// interval.
        pub aged: bool = false;
        /// True: the shaper is behind the bottleneck, at the receiver's end (tc-cake(8)). What is dropped came over the
        /// link, so the shaper and the flow's turn count it; even then a packet follows after one and a half of its
        /// times. COBALT leaves each bulk flow two packets.
        pub ingress: bool = false;
        /// Packet or byte limit of all queues together, above 0. Left out: what the rate carries in four times `rtt`,
        /// and 4 MiB at least; without a rate 15 MB (Linux's `memlimit`).
        pub limit: Option<Size> = None;
    }
    /// The tins, by rising priority.
    pub enum Diffserv {
        /// One tin for all packets.
        Besteffort,
        /// Bulk (CS1, LE; 1/16 of the rate), best effort, voice (CS6, CS7, EF, VA, TOS4; 1/4).
        Diffserv3,
        /// Bulk, best effort, video (AF2x to AF4x, CS2, CS3, TOS4; 1/2), voice (CS4 to CS7, EF, VA; 1/4).
        Diffserv4,
    }
    /// Which packets share a queue, and which hosts share a tin equally.
    pub enum Isolation {
        /// One queue for all packets.
        Flowblind,
        /// A queue for each source address.
        Srchost,
        /// A queue for each destination address.
        Dsthost,
        /// A queue for each pair of addresses.
        Hosts,
        /// A queue for each flow.
        Flows,
        /// A queue for each flow; sources share equally.
        #[serde(rename = "dual-srchost")]
        DualSrchost,
        /// A queue for each flow; destinations share equally.
        #[serde(rename = "dual-dsthost")]
        DualDsthost,
        /// A queue for each flow; sources and destinations share equally.
        #[serde(rename = "triple-isolate")]
        TripleIsolate,
    }
    /// How the link frames packets.
    pub enum Framing {
        /// Packets as they are.
        None,
        /// Whole ATM cells: 53 bytes for 48 (ADSL).
        Atm,
        /// PTM: 65 bytes for 64 (VDSL2).
        Ptm,
    }
    /// Which acknowledgements are dropped.
    pub enum AckFilter {
        /// No acknowledgement is dropped.
        Off,
        /// The oldest of those that the newest makes redundant, if there are at least two.
        On,
        /// The oldest of those that the newest makes redundant.
        Aggressive,
    }
}

/// The least limit with a rate, and the limit without one (Linux: 10,240 packets of 1514 bytes).
const LEAST_LIMIT: u64 = 4 << 20;
const UNSHAPED_LIMIT: u64 = 10_240 * 1514;
/// Bytes of the turn of a whole tin without a shaper; a tin with a part of the rate has that part of it.
const TIN_QUANTUM: i64 = 1024;

/// A queue under CAKE.
#[derive(Debug, Clone)]
pub struct Cake<P> {
    bandwidth: Option<Rate>,
    diffserv: Diffserv,
    lengths: Lengths,
    limit: Bound,
    tins: Vec<Tin<P>>,
    total: Backlog,
    /// When the next packet may leave, by all that counts and, at the latest, by what left.
    time_next: Time,
    failsafe_next: Time,
    /// Whose turn it is without a shaper.
    turn: usize,
}

impl<P: Pkt> Cake<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        if params.bandwidth == Some(Rate::ZERO) {
            return Err(ParamError::new("bandwidth", "above 0", Rate::ZERO).hint("leave it out for no shaper"));
        }
        haltere_units::refuse!(params.rtt < Dur::from_us(1), params.rtt, "at least 1us");
        let in_rtts = |rate: Rate| (rate.bytes_in(params.rtt * 4)).as_u64().max(LEAST_LIMIT);
        let usual = Size::Bytes(params.bandwidth.map_or(UNSHAPED_LIMIT, in_rtts));
        let lengths = Lengths { overhead: params.overhead, mpu: params.mpu, framing: params.framing };
        let rules = Rules {
            isolation: params.isolation,
            ack_filter: params.ack_filter,
            aged: params.aged,
            ingress: params.ingress.then_some(lengths),
            seed: link.seed,
        };
        let tin = |&part| {
            let rate = params.bandwidth.map(|rate| part_of(rate, part));
            let packet_time = rate.map_or(Dur::ZERO, |rate| rate.time_for(Bytes::new(link.packet.as_u64())));
            Tin::new(rules, Config::new(params.rtt, packet_time), quantum(rate, link), rate)
        };
        Ok(Cake {
            bandwidth: params.bandwidth,
            diffserv: params.diffserv,
            lengths,
            limit: Bound::new(link.resolve(params.limit.unwrap_or(usual)))?,
            tins: params.diffserv.tins().iter().map(tin).collect(),
            total: Backlog::default(),
            time_next: Time::ZERO,
            failsafe_next: Time::ZERO,
            turn: 0,
        })
    }

    /// Drops the oldest packets of the longest queue until all fit.
    #[cold]
    fn make_room(&mut self, now: Time, fate: &mut impl Fate<P>) {
        while self.limit.is_exceeded(self.total) {
            let longest = |(at, tin): (usize, &Tin<P>)| tin.longest().map(|(bytes, id)| (bytes, at, id));
            let Some((_, at, id)) = self.tins.iter().enumerate().filter_map(longest).max() else { return };
            self.tins[at].drop_oldest(id, now, fate);
            self.charge_dropped(at, now);
            self.count();
        }
    }
    /// What waits, over all tins.
    #[inline]
    fn count(&mut self) {
        self.total = self.tins.iter().map(|tin| tin.backlog).sum();
    }
    /// The tin to be served: with a shaper the highest that is within its part of the rate, else the one that will be
    /// first.
    fn pick(&mut self, now: Time) -> Option<usize> {
        if self.tins.len() == 1 {
            return (self.total.packets > 0).then_some(0);
        }
        if self.bandwidth.is_none() {
            return self.pick_in_turn();
        }
        let due = |tin: &Tin<P>| tin.time_next.max(now);
        let waiting = self.tins.iter().enumerate().filter(|(_, tin)| tin.backlog.packets > 0);
        waiting.rev().min_by_key(|(_, tin)| due(tin)).map(|(at, _)| at)
    }
    fn pick_in_turn(&mut self) -> Option<usize> {
        if self.total.packets == 0 {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.backlog.packets > 0 && tin.deficit >= 0 {
                return Some(self.turn);
            }
            if tin.deficit <= 0 {
                tin.deficit += TIN_QUANTUM >> self.diffserv.tins()[self.turn];
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }
    /// The packet that left takes the link, and its share of the tin's.
    #[inline]
    fn charge(&mut self, at: usize, now: Time, len: u32) {
        let len = self.lengths.on_link(len);
        self.tins[at].charge(len);
        let taken = self.advance(at, now, len);
        self.failsafe_next += taken + taken / 2;
    }
    /// So do the packets that a tin dropped, if they came over the link.
    #[inline]
    fn charge_dropped(&mut self, at: usize, now: Time) {
        let len = self.tins[at].take_dropped();
        if len > 0 {
            self.advance(at, now, len);
        }
    }
    /// Gives the time that so many bytes take on the link.
    fn advance(&mut self, at: usize, now: Time, len: u32) -> Dur {
        let tin = &mut self.tins[at];
        tin.deficit -= i64::from(len);
        let (Some(whole), Some(rate)) = (self.bandwidth, tin.rate) else { return Dur::ZERO };
        let taken = time_for(rate, len);
        tin.time_next = if tin.time_next < now { tin.time_next + taken } else { tin.time_next.max(now + taken) };
        let taken = time_for(whole, len);
        self.time_next += taken;
        taken
    }
    /// When the next packet may leave.
    #[inline]
    fn next(&self) -> Time {
        self.time_next.min(self.failsafe_next)
    }
}

impl<P: Pkt> Qdisc<P> for Cake<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        if self.total.packets == 0 && self.time_next < now {
            (self.time_next, self.failsafe_next) = (now, now);
        }
        let at = self.diffserv.tin_of(pkt.dscp());
        let tin = &mut self.tins[at];
        if tin.backlog.packets == 0 {
            tin.time_next = tin.time_next.max(now);
        }
        tin.enqueue(now, pkt, fate);
        self.charge_dropped(at, now);
        self.count();
        if self.limit.is_exceeded(self.total) {
            self.make_room(now, fate);
        }
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        if self.bandwidth.is_some() && now < self.next() {
            return None;
        }
        let at = self.pick(now)?;
        let pkt = self.tins[at].dequeue(now, fate)?;
        self.charge_dropped(at, now);
        self.charge(at, now, pkt.len());
        self.count();
        Some(pkt)
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        self.total
    }
    fn ready_at(&self) -> Option<Time> {
        self.bandwidth?;
        Some(if self.total.packets == 0 { Time::NEVER } else { self.next() })
    }
    fn probe(&self, row: &mut Probe) {
        let (sparse, bulk) =
            self.tins.iter().map(Tin::flows).fold((0, 0), |sum, flows| (sum.0 + flows.0, sum.1 + flows.1));
        row.push("sparse_flows", "", sparse as f64);
        row.push("bulk_flows", "", f64::from(bulk));
        let longest = self.tins.iter().map(|tin| tin.sojourn).max().unwrap_or_default();
        row.push("sojourn", "s", longest.as_secs_f64());
    }
}

#[cfg(test)]
#[path = "cake/tests.rs"]
mod tests;
