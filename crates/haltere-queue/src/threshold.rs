//! Threshold marking on the instantaneous queue: DCTCP's step, with an optional second threshold (hysteresis) and an
//! optional copy of each marked packet that returns to the sender.
//! Model: q is the backlog that a packet finds when it arrives. If the thresholds are durations, q is how long the
//! packet has waited when it leaves.
//!
//! ```text
//!            q >= upper: mark                       between: mark
//!   calm ---------------------------> congested ------------------+
//!    |  <---------------------------    ^                         |
//!    |            q < lower             +-------------------------+
//!    between: pass
//! ```
//!
//! Without a lower threshold the two are equal, and the state does not matter.
//! Units: packets, bytes or ns, as `upper` is written. Cost: O(1) a packet.

mod level;

use crate::{
    Admission, Backlog, Bound, DropReason, Ecn, Emits, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark,
};
use alloc::vec;
use alloc::vec::Vec;
use haltere_units::{ParamError, Probe, Size, Time};
pub use level::Level;
use level::{Measure, level, lower};

haltere_units::params! {
    /// Marks packets while the instantaneous queue is above a threshold, as DCTCP requires.
    ///
    /// With a second, lower threshold marking goes on until the queue falls below it (hysteresis). It may also return a
    /// copy of each packet that meets congestion to its sender.
    ///
    /// Source: Alizadeh et al. 2010 section 3.1 and RFC 8257 section 3.1 for one threshold (K = 0.17 C RTT). Silva,
    /// Nacif and Vieira, "Data Center TCP com Histerese em Switches P4", for the second threshold and the returned
    /// packets.
    ///
    /// Deviations: none known.
    ///
    /// Known problems: it marks bursts as if they were standing queues.
    pub struct Params {
        /// Packet or byte limit, above 0. A packet that arrives at a full queue is dropped.
        pub limit: Size = Size::Packets(1000);
        /// Level at which marking begins, above 0: packets, bytes, a delay, or `auto`. `auto` is 0.17 times the link's
        /// rate times its round-trip time, in whole packets (Alizadeh et al. 2010 section 3.4).
        pub upper: Level = Level::Auto;
        /// Level below which marking ends once it began, above 0 and at most `upper`, in the unit of `upper`. Between
        /// the two marking goes on. Not together with `lower_fraction`. Left out: equal to `upper`.
        pub lower: Option<Level> = None;
        /// How far `lower` lies below `upper`, as a part of `upper`: at least 0 and below 1. `lower` is rounded down to
        /// a whole packet, byte or nanosecond, and is at least 1. The study's value is 0.15, which gives 8 packets for
        /// 10. Left out: `lower` is used.
        pub lower_fraction: Option<f64> = None;
        /// True: a copy of each ECN-capable TCP segment with payload that meets congestion returns to its sender with
        /// CE set. A packet that is marked already, is such a copy, or has SYN, FIN or RST is not returned.
        pub return_to_sender: bool = false;
        /// True: packets that meet congestion are marked on their way. Left out: true without `return_to_sender`, false
        /// with it.
        pub mark: Option<bool> = None;
        /// True: packets that should be marked but are not ECN-capable are dropped, as by RED with a hard threshold.
        /// False: they pass.
        pub drop: bool = false;
        /// True: `limit` and the thresholds hold for the packets of each destination apart, as if each had a queue of
        /// its own. Packets still leave in order of arrival. So BMv2's egress threads serve the queues of their ports.
        /// False: they hold for all packets together.
        pub per_destination: bool = false;
        /// True: with `per_destination`, whether marking goes on between the thresholds is remembered once for all
        /// destinations, as the study's algorithm can be read. False: for each destination, as in `haltere.p4`.
        pub shared_state: bool = false;
        /// Packets, of all destinations together, that can wait behind the queues, before the link. They count for
        /// neither `limit` nor the thresholds. BMv2's transmit thread has such a buffer of 128 packets. Must be 0 if the
        /// thresholds are delays.
        pub output_buffer: u32 = 0;
    }
}

/// The packets that one limit and one pair of thresholds count.
#[derive(Debug, Clone, Default)]
struct Port {
    /// Where they go. With one port for all packets it means nothing.
    destination: u128,
    backlog: Backlog,
    /// True from reaching `upper` until falling below `lower`.
    congested: bool,
}

/// A queue that marks packets by thresholds.
#[derive(Debug, Clone)]
pub struct Threshold<P> {
    measure: Measure,
    upper: f64,
    lower: f64,
    mark: bool,
    params: Params,
    limit: Bound,
    /// One for each destination seen, or one for all.
    ports: Vec<Port>,
    store: Store<P>,
    /// Full before a packet waits in `store`.
    output: Store<P>,
}

impl<P: Pkt> Threshold<P> {
    /// A queue of these parameters on that link.
    pub fn new(params: &Params, link: &LinkContext) -> Result<Self, ParamError> {
        let (measure, upper) = level("upper", params.upper, link)?;
        if upper <= 0.0 {
            return Err(ParamError::new("upper", "above 0", params.upper).hint("`auto` is 0.17 C RTT"));
        }
        if params.output_buffer > 0 && measure == Measure::Delay {
            let rule = "0 if the thresholds are delays";
            return Err(ParamError::new("output_buffer", rule, params.output_buffer).hint("write `upper` in packets"));
        }
        Ok(Threshold {
            measure,
            upper,
            lower: lower(params, measure, upper, link)?,
            mark: params.mark.unwrap_or(!params.return_to_sender),
            params: params.clone(),
            limit: Bound::new(link.resolve(params.limit))?,
            ports: vec![Port::default(); usize::from(!params.per_destination)],
            store: Store::unbounded(),
            output: Store::unbounded(),
        })
    }

    /// All packets wait in one store, and one port counts them.
    #[inline]
    fn is_one_store(&self) -> bool {
        !self.params.per_destination && self.params.output_buffer == 0
    }
    /// Index of the port that counts this packet.
    #[inline]
    fn port_of(&mut self, pkt: &P) -> usize {
        if !self.params.per_destination {
            return 0;
        }
        let destination = pkt.flow().dst;
        let known = self.ports.iter().position(|port| port.destination == destination);
        known.unwrap_or_else(|| {
            self.ports.push(Port { destination, ..Port::default() });
            self.ports.len() - 1
        })
    }
    /// Updates the port's state by the queue `q`; true if the packet meets congestion.
    #[inline]
    fn is_congested(&mut self, port: usize, q: f64) -> bool {
        let (upper, lower) = (self.upper, self.lower);
        let congested = &mut self.ports[if self.params.shared_state { 0 } else { port }].congested;
        *congested = q >= upper || (*congested && q >= lower);
        *congested
    }

    /// Signals congestion on a packet; `None` if it was dropped.
    #[inline]
    fn signal(&self, mut pkt: P, fate: &mut impl Fate<P>) -> Option<P> {
        // As in haltere.p4, a packet that is marked already is not returned. A copy is marked, so it is not returned
        // again.
        if self.params.return_to_sender
            && matches!(pkt.ecn(), Ecn::Ect0 | Ecn::Ect1)
            && let Some(copy) = pkt.reflected()
        {
            fate.emit(copy);
        }
        match self.response(&pkt) {
            Admission::Drop(reason) => {
                fate.dropped(pkt, reason);
                return None;
            }
            Admission::Mark => {
                mark(&mut pkt, MarkReason::Threshold, fate);
            }
            Admission::Keep => {}
        }
        Some(pkt)
    }
    /// What happens to a packet that meets congestion.
    #[inline]
    fn response(&self, pkt: &P) -> Admission {
        match (self.mark, pkt.ecn().is_capable()) {
            (true, true) => Admission::Mark,
            (true, false) if self.params.drop => Admission::Drop(DropReason::Congestion),
            _ => Admission::Keep,
        }
    }
    /// Whether a packet that arrives at that backlog of its port fits, and whether it meets congestion.
    #[inline]
    fn arrival(&mut self, port: usize, backlog: Backlog, len: u32) -> Option<bool> {
        if !self.limit.fits(backlog, len) {
            return None;
        }
        Some(match self.measure {
            Measure::Packets => self.is_congested(port, f64::from(backlog.packets)),
            Measure::Bytes => self.is_congested(port, backlog.bytes as f64),
            Measure::Delay => false,
        })
    }
}

impl<P: Pkt> Qdisc<P> for Threshold<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, pkt: P, fate: &mut impl Fate<P>) {
        let (port, len) = (self.port_of(&pkt), pkt.len());
        let Some(congested) = self.arrival(port, self.ports[port].backlog, len) else {
            return fate.dropped(pkt, DropReason::Overlimit);
        };
        let kept = if congested { self.signal(pkt, fate) } else { Some(pkt) };
        let Some(pkt) = kept else { return };
        let store = if self.output.backlog().packets < self.params.output_buffer {
            &mut self.output
        } else {
            self.ports[port].backlog.add(len);
            &mut self.store
        };
        store.append(now, pkt);
    }
    #[inline]
    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        loop {
            let Some((at, pkt)) = self.store.pop() else { return self.output.pop().map(|(_, pkt)| pkt) };
            let port = self.port_of(&pkt);
            self.ports[port].backlog.remove(pkt.len());
            if self.params.output_buffer > 0 {
                self.output.append(at, pkt);
                return self.output.pop().map(|(_, pkt)| pkt);
            }
            if self.measure != Measure::Delay || !self.is_congested(port, now.since(at).as_ns() as f64) {
                return Some(pkt);
            }
            if let Some(pkt) = self.signal(pkt, fate) {
                return Some(pkt);
            }
        }
    }
    /// While it is calm, an empty queue stays calm: both thresholds are above 0.
    #[inline]
    fn passes(&self, len: u32) -> bool {
        self.is_one_store()
            && self.store.is_empty()
            && !self.ports[0].congested
            && self.limit.fits(Backlog::default(), len)
    }
    fn admits(&self) -> bool {
        self.is_one_store() && self.measure != Measure::Delay && !self.params.return_to_sender
    }
    #[inline]
    fn admit(&mut self, backlog: Backlog, pkt: &P) -> Admission {
        match self.arrival(0, backlog, pkt.len()) {
            None => Admission::Drop(DropReason::Overlimit),
            Some(true) => self.response(pkt),
            Some(false) => Admission::Keep,
        }
    }
    fn emits(&self) -> Emits {
        match (self.params.return_to_sender, self.measure) {
            (false, _) => Emits::Never,
            (true, Measure::Delay) => Emits::AtDequeue,
            (true, _) => Emits::AtEnqueue,
        }
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        let mut all = self.store.backlog();
        let output = self.output.backlog();
        all.packets += output.packets;
        all.bytes += output.bytes;
        all
    }
    fn probe(&self, row: &mut Probe) {
        let (unit, scale) = match self.measure {
            Measure::Packets => ("packets", 1.0),
            Measure::Bytes => ("B", 1.0),
            Measure::Delay => ("s", 1e-9),
        };
        row.push("upper", unit, self.upper * scale);
        row.push("lower", unit, self.lower * scale);
        row.push("congested", "", self.ports.iter().filter(|port| port.congested).count() as f64);
    }
}

#[cfg(test)]
mod tests;
