//! Queue disciplines: pure state machines that decide what a link sends next and what it drops or marks.
//!
//! A world (the simulator, the wire) owns time, packets and random numbers and passes them in. `now` is always an
//! argument. A packet is anything that is [`Pkt`]. A discipline gives packets that it does not keep to [`Fate`]. So the
//! same compiled discipline runs in every world.
//!
//! [`QueueParams::NAMES`] lists the disciplines, and `haltere list queues` says what each does. Each discipline is one
//! file: its parameters (set by the user; name, unit, default, range and source are there and nowhere else), its state,
//! and below them its tests. [`QueueParams`] and [`Queue`] hold any of them. One line in the registry below makes a
//! discipline known everywhere. To add one, write `src/NAME.rs` with `Params` and the discipline, its name in camel
//! case, and add the line; `cargo test` checks the contract.
//!
//! CoDel in a simulator of your own:
//!
//! ```
//! use haltere_queue::{DropReason, Ecn, Fate, FlowKey, LinkContext, MarkReason, Pkt, Qdisc, Queue, QueueParams};
//! use haltere_units::{Dur, Rate, Time};
//!
//! struct Packet(u32);
//! impl Pkt for Packet {
//!     fn len(&self) -> u32 { self.0 }
//!     fn ecn(&self) -> Ecn { Ecn::NotEct }
//!     fn set_ce(&mut self) {}
//!     fn flow(&self) -> FlowKey { FlowKey::default() }
//! }
//! struct Count(u32);
//! impl Fate<Packet> for Count {
//!     fn dropped(&mut self, _: Packet, _: DropReason) { self.0 += 1 }
//!     fn marked(&mut self, _: &Packet, _: MarkReason) {}
//!     fn random(&mut self) -> u64 { 4 }
//! }
//!
//! let codel: QueueParams = serde_json::from_str(r#"{ "kind": "codel", "target": "5ms" }"#)?;
//! let link = LinkContext { rate: Some(Rate::from_mbps(6)), ..LinkContext::default() };
//! let mut queue = Queue::new(&codel, &link)?;
//! let mut fate = Count(0);
//! for ms in 0..1000 {
//!     let now = Time::ZERO + Dur::from_ms(ms);
//!     queue.enqueue(now, Packet(1514), &mut fate);
//!     queue.enqueue(now, Packet(1514), &mut fate);
//!     queue.dequeue(now, &mut fate);
//!     assert!(ms >= 100 || fate.0 == 0); // packets may wait for an interval
//! }
//! assert!((10..50).contains(&fate.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate self as haltere_queue;

haltere_units::registry! {
    /// A queue discipline with its parameters, distinguished by `kind`.
    params QueueParams;
    /// Any discipline of the registry. Dispatch is by enum: there is no virtual call per packet. The large disciplines
    /// are boxed; drop tail, which thousands of links have, is not.
    any Queue<P>;
    match each_discipline, outside => Outside<P>, boxed;

    drop_tail => DropTail<P>;
    pfifo_fast => PfifoFast<P>, boxed;
    red => Red<P>, boxed;
    codel => Codel<P>, boxed;
    fq_codel => FqCodel<P>, boxed;
    pie => Pie<P>, boxed;
    dualpi2 => Dualpi2<P>, boxed;
    fq_pie => FqPie<P>, boxed;
    sfq => Sfq<P>, boxed;
    choke => Choke<P>, boxed;
    sfb => Sfb<P>, boxed;
    threshold => Threshold<P>, boxed;
    input_buffer => InputBuffer<P>, boxed;
    cake => Cake<P>, boxed;
    fq => Fq<P>, boxed;
    drr => Drr<P>, boxed;
    htb => Htb<P>, boxed;
    tbf => Tbf<P>, boxed;
    policer => Policer<P>, boxed;
    classed => Classed<P>, boxed;
    rafle => Rafle<P>, boxed;
    wifi => Wifi<P>, boxed;
    cell => Cell<P>, boxed;
    docsis => Docsis<P>, boxed;
}

impl<P: Pkt> Queue<P> {
    /// The discipline of these parameters on that link.
    pub fn new(params: &QueueParams, link: &LinkContext) -> Result<Queue<P>, ParamError> {
        Ok(each_discipline!(new p in params => (p, link)?))
    }
    /// The same for a discipline inside another, whose parameter of that name it is. It must not withhold packets.
    fn inside(name: &'static str, params: &QueueParams, link: &LinkContext) -> Result<Queue<P>, ParamError> {
        let queue = Queue::new(params, link)?;
        match Qdisc::<P>::ready_at(&queue) {
            None => Ok(queue),
            Some(_) => Err(ParamError::new(name, "a discipline that withholds no packets", params.kind())),
        }
    }
}

mod dispatch;
mod hashed;
mod queue_protection;
mod store;
mod token_bucket;

pub mod ce_threshold;
pub mod classes;
pub mod classify;
pub mod service;
pub mod stations;

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod testing;

pub use hashed::Queues;
pub use store::{Bound, Store};

pub use haltere_units::Ecn;

use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Size, Time};

/// The flow of a packet. IPv4 addresses are in the low 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FlowKey {
    /// Source address of the IP header.
    pub src: u128,
    /// Destination address of the IP header.
    pub dst: u128,
    /// Source port, 0 without ports.
    pub src_port: u16,
    /// Destination port, 0 without ports.
    pub dst_port: u16,
    /// IP protocol number (6 TCP, 17 UDP, 1 ICMP).
    pub protocol: u8,
}

impl FlowKey {
    /// A hash of the flow. Different seeds give unrelated hashes, so that collisions differ between runs.
    #[inline]
    pub fn hash(&self, seed: u64) -> u64 {
        let ports = u64::from(self.src_port) << 32 | u64::from(self.dst_port) << 16 | u64::from(self.protocol);
        let mut h = fold(seed ^ 0x9e37_79b9_7f4a_7c15, ports ^ 0xd1b5_4a32_d192_ed03);
        for address in [self.src, self.dst] {
            h = fold(h ^ address as u64, (address >> 64) as u64 ^ 0x8bb8_4b93_962e_acc9);
        }
        fold(h, 0xa076_1d64_78bd_642f)
    }
}

/// Multiplies to 128 bits and folds the halves together: one mixing step.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The [priority](Pkt::priority) of control packets, Linux's `TC_PRIO_CONTROL`.
pub const CONTROL: u8 = 7;

/// What a discipline may ask of a packet.
#[expect(clippy::len_without_is_empty, reason = "no packet is empty")]
pub trait Pkt {
    /// Length on the link in bytes, headers and framing included.
    fn len(&self) -> u32;
    /// The ECN field of the IP header.
    fn ecn(&self) -> Ecn;
    /// Sets the ECN field to CE. Only called on packets whose field [is capable](Ecn::is_capable).
    fn set_ce(&mut self);
    /// The flow to which the packet belongs.
    fn flow(&self) -> FlowKey;
    /// Linux's packet priority, 0 to 15 (`TC_PRIO_*`), 0 for best effort.
    fn priority(&self) -> u8 {
        0
    }
    /// The DSCP of its IP header, 0 for best effort.
    fn dscp(&self) -> u8 {
        0
    }
    /// Sets the DSCP, if the packet has one.
    fn set_dscp(&mut self, _dscp: u8) {}
    /// A copy that goes back to the packet's source: source and destination exchanged, CE set, [`CONTROL`] as its
    /// priority. `None`: there can be none. The packet must be an ECN-capable TCP segment with payload and without SYN,
    /// FIN and RST, because a copy of a SYN would look like a simultaneous open.
    fn reflected(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
    /// What a pure acknowledgement acknowledges, if the packet itself shows it. A discipline asks [`Fate::pure_ack`].
    fn pure_ack(&self) -> Option<PureAck> {
        None
    }
    /// Offset of the packet's first payload byte in its stream, if the header shows it.
    fn stream_offset(&self) -> Option<u64> {
        None
    }
}

/// A TCP segment with the flag ACK, without payload, SYN, FIN and RST, and without options other than timestamps and
/// SACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PureAck {
    /// The TCP acknowledgement number.
    pub ack: u32,
    /// The flags CWR, ECE and AE. They are only compared.
    pub flags: u8,
    /// SACK blocks (RFC 2018): sequence numbers of the first byte and the one after the last. Unused entries are (0,
    /// 0).
    pub sack: [(u32, u32); 4],
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue was at its limit.
    Overlimit,
    /// The discipline dropped it to signal congestion.
    Congestion,
}

/// Why a packet was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MarkReason {
    /// The discipline would have dropped it to signal congestion.
    Congestion,
    /// A fixed threshold was reached (`ce_threshold`, step marking).
    Threshold,
}

/// What a discipline does with a packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It waits.
    Keep,
    /// It waits, with its ECN field set to CE.
    Mark,
    /// It is dropped.
    Drop(DropReason),
}

/// When a discipline [emits](Fate::emit) packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Emits {
    /// It never emits packets.
    #[default]
    Never,
    /// Only in [`enqueue`](Qdisc::enqueue).
    AtEnqueue,
    /// Also in [`dequeue`](Qdisc::dequeue). The world must then carry out departures on time, because an emitted packet
    /// takes effect at once.
    AtDequeue,
}

/// Receives the packets that a discipline drops, marks or emits, and gives it random numbers. The world counts.
pub trait Fate<P> {
    /// The packet is gone.
    fn dropped(&mut self, pkt: P, reason: DropReason);
    /// The packet's ECN field was set to CE by this discipline.
    fn marked(&mut self, pkt: &P, reason: MarkReason);
    /// A packet that the discipline made as a copy of another, such as [`Pkt::reflected`]. It starts at the node that
    /// sends on this link, or where the plan says. A world that does not carry such packets drops them.
    fn emit(&mut self, _copy: P) {}
    /// What the packet acknowledges, if it is a pure acknowledgement. A world that stores options outside its packets
    /// looks there.
    fn pure_ack(&self, pkt: &P) -> Option<PureAck>
    where
        P: Pkt,
    {
        pkt.pure_ack()
    }
    /// 64 random bits from the stream of this component.
    fn random(&mut self) -> u64;
    /// A number drawn uniformly from [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.random() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// A whole number drawn uniformly from 0 to `n` - 1; `n` is at least 1.
    fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.random()) * u128::from(n)) >> 64) as u32
    }
}

/// Marks the packet and reports it, if its ECN field allows it; false if the packet must be dropped instead.
#[inline]
fn mark<P: Pkt>(pkt: &mut P, reason: MarkReason, fate: &mut impl Fate<P>) -> bool {
    let capable = pkt.ecn().is_capable();
    if capable {
        pkt.set_ce();
        fate.marked(pkt, reason);
    }
    capable
}

/// Packets and bytes that wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets that wait in the queue.
    pub packets: u32,
    /// Bytes waiting, as [`Pkt::len`] counts them.
    pub bytes: u64,
}

impl Backlog {
    /// One packet of `len` bytes more.
    #[inline]
    pub fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }
    /// One packet of `len` bytes less.
    #[inline]
    pub fn remove(&mut self, len: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len);
    }
}

impl core::ops::Add for Backlog {
    type Output = Backlog;
    #[inline]
    fn add(self, other: Backlog) -> Backlog {
        Backlog { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl core::iter::Sum for Backlog {
    #[inline]
    fn sum<I: Iterator<Item = Backlog>>(parts: I) -> Backlog {
        parts.fold(Backlog::default(), |sum, part| sum + part)
    }
}

/// What a discipline knows of its link. Some parameters follow from it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkContext {
    /// The link's rate; `None` if packets take no time.
    pub rate: Option<Rate>,
    /// The round-trip time without queues of the flows that cross the link, for `bdp` and thresholds.
    pub rtt: Option<Dur>,
    /// The length of a full packet on this link, headers and framing included.
    pub packet: Bytes,
    /// Seed for hashes that must differ between runs but not within one.
    pub seed: u64,
    /// What disciplines and classifiers from outside the tree are made with.
    pub outside: haltere_units::outside::Outside,
}

impl Default for LinkContext {
    /// An unknown rate and round-trip time, full packets of 1514 bytes, seed 0, no disciplines from outside.
    fn default() -> LinkContext {
        LinkContext { rate: None, rtt: None, packet: Bytes::new(1514), seed: 0, outside: Default::default() }
    }
}

impl LinkContext {
    /// `size` in packets or bytes if this link's rate and round-trip time are known, otherwise as it is.
    pub fn resolve(&self, size: Size) -> Size {
        size.resolve(self.rate, self.rtt, self.packet).unwrap_or(size)
    }
}

/// A queue discipline.
///
/// The world calls [`enqueue`](Qdisc::enqueue) when a packet arrives and [`dequeue`](Qdisc::dequeue) when the link can
/// send, even if the queue may be empty: idle time starts at the call that finds no packet. It calls
/// [`on_timer`](Qdisc::on_timer) at the time of [`next_timer`](Qdisc::next_timer). `now` never goes back from call to
/// call. Only the order of the calls and their `now` count: a world may carry out departures later, before the next
/// arrival or timer.
///
/// Contract, which the conformance tests check for every registry entry:
/// * Each packet that came in is out, dropped, or waiting.
/// * Packets of one flow (and one priority) keep their order, if [`keeps_flow_order`](Qdisc::keeps_flow_order) is true.
/// * Only ECN-capable packets are marked.
/// * The same calls with the same random numbers give the same results.
pub trait Qdisc<P: Pkt> {
    /// A packet arrives: it is kept, or given to `fate`.
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>);
    /// The link can send: the next packet, or `None` if none is left after drops, or none may leave
    /// [yet](Qdisc::ready_at).
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P>;
    /// Packets and bytes that wait now.
    fn backlog(&self) -> Backlog;
    /// When the next packet may leave, for a discipline that withholds packets, such as a shaper; [`Time::NEVER`] if no
    /// packet waits. After a dequeue that found none although packets wait it is later than that dequeue, and the world
    /// calls [`dequeue`](Qdisc::dequeue) again then. `None`: the discipline never withholds packets, during the whole
    /// run.
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// When [`on_timer`](Qdisc::on_timer) is to be called next, if ever. A discipline with a timer gives a time from
    /// the start.
    fn next_timer(&self) -> Option<Time> {
        None
    }
    /// The time of [`next_timer`](Qdisc::next_timer) has come.
    fn on_timer(&mut self, _now: Time) {}
    /// A shared medium takes packets next, for the first time since `wait`. A packet may have to wait so long even if
    /// none was ahead of it. A threshold at which packets are marked is above that.
    fn on_turn(&mut self, _wait: Dur) {}
    /// When it may call [`Fate::emit`].
    fn emits(&self) -> Emits {
        Emits::Never
    }
    /// True if no packet waits, and a packet of `len` bytes that is enqueued and dequeued at one instant comes out as it
    /// went in and leaves no trace. A dequeue of an empty queue leaves none either. A world may then skip both. The answer
    /// holds until the next packet is enqueued; of drop tail it holds whenever no packet waits.
    fn passes(&self, _len: u32) -> bool {
        false
    }
    /// True if the discipline is first in, first out, and does nothing to a packet after its arrival. A world may then
    /// keep the packets itself and call [`admit`](Qdisc::admit) in place of [`enqueue`](Qdisc::enqueue).
    fn admits(&self) -> bool {
        false
    }
    /// Decides about a packet that arrives at that backlog. Only a discipline that [admits](Qdisc::admits) packets is
    /// asked.
    fn admit(&mut self, _backlog: Backlog, _pkt: &P) -> Admission {
        Admission::Keep
    }
    /// The packet that will leave after `n` others, if that is known at once. A hint, for a world that prefetches it.
    fn upcoming(&self, _n: usize) -> Option<&P> {
        None
    }
    /// False if packets of one flow may overtake each other, because they may wait in different queues.
    fn keeps_flow_order(&self) -> bool {
        true
    }
    /// Shows the inner variables, for time series.
    fn probe(&self, _row: &mut Probe) {}
    /// Shows the inner variables for `[measure] state`: those of [`probe`](Qdisc::probe), and any that time series do
    /// not have.
    fn state(&self, row: &mut Probe) {
        self.probe(row);
    }
}
