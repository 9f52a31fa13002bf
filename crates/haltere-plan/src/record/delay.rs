//! Measures that a plan asks for: delays, inner variables, packets.

use crate::histogram::Histogram;
use alloc::vec::Vec;
use haltere_units::{Dur, Time};

/// What a delay was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayOf {
    /// The time from a packet's arrival at a link (its index in the plan) until the line took it, device ring included.
    Sojourn(u32),
    /// Samples of the round-trip time that a TCP sender took; the flow's index.
    Rtt(u32),
    /// From the sending of a UDP packet to its arrival; the flow's index.
    OneWay(u32),
}

/// Delays of one link or flow in the measured window.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayRecord {
    /// The link or flow on which they were measured.
    pub of: DelayOf,
    /// How often each delay occurred.
    pub histogram: Histogram,
    /// UDP: the mean over the packets of the interarrival jitter (RFC 3550 section 6.4.1).
    pub jitter: Option<Dur>,
    /// UDP: packets expected (RFC 3550 appendix A.3): from the first that arrived to the one with the highest number,
    /// both of those that were sent in the window.
    pub expected: u64,
    /// UDP: of these, packets that did not arrive before the end of the run.
    pub lost: u64,
}

impl DelayRecord {
    /// A record without what only UDP has.
    pub fn new(of: DelayOf, histogram: Histogram) -> DelayRecord {
        DelayRecord { of, histogram, jitter: None, expected: 0, lost: 0 }
    }
}

/// What inner variables belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateOf {
    /// The queue of a link, by its index in the plan.
    Queue(u32),
    /// The sender of a flow, by its index in the plan.
    Flow(u32),
}

/// Inner variables of one mechanism at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct StateSample {
    /// When the sample was taken.
    pub at: Time,
    /// The queue or sender to which they belong.
    pub of: StateOf,
    /// Name, unit and value of each.
    pub values: Vec<(&'static str, &'static str, f64)>,
}

/// What a queue did with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFate {
    /// The line took it.
    Sent,
    /// The line took it, and this queue had marked it CE.
    Marked,
    /// It was dropped because the queue was full.
    Overlimit,
    /// It was dropped to signal congestion.
    Congestion,
}

/// One packet at one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketRecord {
    /// When it arrived at the queue.
    pub at: Time,
    /// How long it stayed: until the line took it or it was dropped.
    pub sojourn: Dur,
    /// Which link (index in the plan).
    pub link: u32,
    /// Which flow (index in the plan). `None`: a flow that arrived during the run and whose entry is not known.
    pub flow: Option<u32>,
    /// Bytes on the link, framing included.
    pub bytes: u32,
    /// Index of the node that sent it.
    pub from: u32,
    /// Index of the node to which it goes.
    pub to: u32,
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Identification field of its IPv4 header.
    pub id: u16,
    /// What the queue did with it.
    pub fate: PacketFate,
}
