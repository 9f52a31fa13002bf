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

use crate::{
    Admission, Backlog, Bound, DropReason, Ecn, Emits, Fate, LinkContext, MarkReason, Pkt, Qdisc, Store, mark,
};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;
use core::str::FromStr;
use haltere_units::{Dur, ParamError, Probe, Size, Time, UnitError};

/// DCTCP's K as a share of the bandwidth-delay product: one seventh of it, and some more (Alizadeh et al. 2010 section
/// 3.4).
const AUTO_SHARE: f64 = 0.17;

/// A level of a queue: a size (`42p`, `60kB`, `1bdp`), a delay (`1ms`), or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// DCTCP's `0.17 C RTT` in whole packets, from the link's rate and round-trip time.
    Auto,
    /// The backlog in packets or bytes.
    Size(Size),
    /// The sojourn time of a packet.
    Delay(Dur),
}

impl FromStr for Level {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Level, UnitError> {
        const RULE: &str = "a size such as `42p` or `60kB`, a delay such as `1ms`, or `auto`";
        let trimmed = text.trim();
        let level = if trimmed == "auto" {
            Ok(Level::Auto)
        } else if trimmed.ends_with('s') {
            trimmed.parse().map(Level::Delay)
        } else {
            trimmed.parse().map(Level::Size)
        };
        level.map_err(|e| UnitError { rule: RULE, ..e })
    }
}
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Auto => f.pad("auto"),
            Level::Size(size) => size.fmt(f),
            Level::Delay(delay) => delay.fmt(f),
        }
    }
}
haltere_units::text_quantity!(
    Level,
    "level",
    r"^\s*([0-9]*\.?[0-9]+\s*(p|B|kB|MB|GB|KiB|MiB|GiB|bdp|ns|us|ms|s)|auto)\s*$",
    "a size (`42p`, `60kB`, `1bdp`), a delay (`1ms`), or `auto`"
);

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

/// The quantity that is compared with the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Packets,
    Bytes,
    /// Nanoseconds that a packet has waited.
    Delay,
}

/// A level on this link, as a number in the unit of its measure.
fn level(name: &'static str, level: Level, link: &LinkContext) -> Result<(Measure, f64), ParamError> {
    let unknown = || {
        ParamError::new(name, "in packets, bytes or as a delay if the link has no rate or RTT", level)
            .hint("write for example `42p`")
    };
    let (measure, value) = match level {
        Level::Auto => {
            let (rate, rtt) = link.rate.zip(link.rtt).ok_or_else(unknown)?;
            let bdp = rate.as_bps_f64() / 8.0 * rtt.as_secs_f64() / link.packet.as_f64();
            (Measure::Packets, libm::floor(AUTO_SHARE * bdp).max(1.0))
        }
        Level::Size(size) => match link.resolve(size) {
            Size::Packets(n) => (Measure::Packets, n as f64),
            Size::Bytes(n) => (Measure::Bytes, n as f64),
            Size::MilliBdp(_) => return Err(unknown()),
        },
        Level::Delay(delay) => (Measure::Delay, delay.as_ns() as f64),
    };
    Ok((measure, value))
}

/// The lower threshold, from `lower` or `lower_fraction`.
fn lower(params: &Params, measure: Measure, upper: f64, link: &LinkContext) -> Result<f64, ParamError> {
    match (params.lower, params.lower_fraction) {
        (None, None) => Ok(upper),
        (Some(given), Some(_)) => {
            Err(ParamError::new("lower", "given without lower_fraction", given).hint("remove one of them"))
        }
        // The study: the floor. The margin keeps whole products whole. With 0 marking would never end.
        (None, Some(part)) if (0.0..1.0).contains(&part) => Ok(libm::floor(upper * (1.0 - part) + 1e-6).max(1.0)),
        (None, Some(part)) => {
            Err(ParamError::new("lower_fraction", "at least 0 and below 1", part)
                .hint("0.15 puts lower 15 % below upper"))
        }
        (Some(given), None) => {
            let (unit, value) = level("lower", given, link)?;
            if unit != measure {
                return Err(ParamError::new("lower", format!("in the same unit as upper ({})", params.upper), given));
            }
            if value <= 0.0 {
                return Err(ParamError::new("lower", "above 0, or marking would never end", given));
            }
            if value > upper {
                return Err(ParamError::new("lower", format!("at most upper ({})", params.upper), given));
            }
            Ok(value)
        }
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
mod tests {
    use super::*;
    use crate::testing::{Recorder, TestPkt, link};
    use alloc::vec::Vec;
    use haltere_units::{Bytes, Rate};

    fn packets(n: u64) -> Level {
        Level::Size(Size::Packets(n))
    }
    /// Marks from 10 packets on, until below 8.
    fn hysteresis() -> Params {
        Params { upper: packets(10), lower: Some(packets(8)), ..Params::default() }
    }
    fn queue(params: &Params) -> (Threshold<TestPkt>, Recorder) {
        (Threshold::new(params, &link()).unwrap(), Recorder::new(1))
    }
    /// Brings the queue to each of those lengths in turn; true where the packet that met it was marked.
    fn marks_at(params: &Params, lengths: &[u32]) -> Vec<bool> {
        let (mut q, mut fate) = queue(params);
        let mut out = Vec::new();
        for &length in lengths {
            while q.backlog().packets > length {
                q.dequeue(Time::ZERO, &mut fate);
            }
            while q.backlog().packets < length {
                q.store.push(Time::ZERO, TestPkt::new(0, 1500)).unwrap();
                q.ports[0].backlog.add(1500);
            }
            fate.marked.clear();
            q.enqueue(Time::ZERO, TestPkt::new(1, 1500).ecn(Ecn::Ect0), &mut fate);
            out.push(!fate.marked.is_empty());
        }
        out
    }

    #[test]
    fn one_threshold_marks_at_or_above_and_forgets_at_once() {
        let params = Params { upper: packets(10), ..Params::default() };
        assert_eq!(marks_at(&params, &[9, 10, 9, 11, 9]), [false, true, false, true, false]);
    }

    #[test]
    fn between_two_thresholds_marking_goes_on_only_once_begun() {
        assert_eq!(marks_at(&hysteresis(), &[9, 10, 9, 8, 7, 8, 9]), [false, true, true, true, false, false, false]);
    }

    /// Silva et al., section 4.1: floor(L_S - 15 % of L_S), and 8 for 10. Its own 36 for 42 in section 5.1 is not the
    /// floor.
    #[test]
    fn a_lower_threshold_of_fifteen_percent_less_is_rounded_down() {
        let below = |upper| Params { upper: packets(upper), lower_fraction: Some(0.15), ..Params::default() };
        let lower = |upper| queue(&below(upper)).0.lower;
        assert_eq!([1, 10, 20, 42, 100].map(lower), [1.0, 8.0, 17.0, 35.0, 85.0]);
        assert_eq!(marks_at(&below(42), &[42, 35, 34, 41]), [true, true, false, false]);
    }

    #[test]
    fn per_destination_each_has_its_own_limit_thresholds_and_state() {
        let params = Params { limit: Size::Packets(3), upper: packets(2), per_destination: true, ..Params::default() };
        let (mut q, mut fate) = queue(&params);
        let to = |id, dst| TestPkt { dst, ..TestPkt::new(id, 1500).ecn(Ecn::Ect0) };
        for (id, dst) in [(0, 2), (1, 2), (2, 2), (3, 2), (4, 6), (5, 6)] {
            q.enqueue(Time::ZERO, to(id, dst), &mut fate);
        }
        assert_eq!((fate.marked_ids(), fate.dropped_ids()), (alloc::vec![2], alloc::vec![3]));
        let left: Vec<u64> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
        assert_eq!(left, [0, 1, 2, 4, 5], "in order of arrival");
        q.enqueue(Time::ZERO, to(6, 2), &mut fate);
        assert_eq!(fate.marked_ids(), [2], "an empty queue is calm again");
    }

    /// Packets to these destinations arrive at a queue per destination; which of them are marked.
    fn marked(params: Params, destinations: &[u8]) -> Vec<u64> {
        let (mut q, mut fate) = queue(&Params { per_destination: true, ..params });
        for (id, &dst) in destinations.iter().enumerate() {
            let pkt = TestPkt { dst, ..TestPkt::new(id as u64, 1500).ecn(Ecn::Ect0) };
            q.enqueue(Time::ZERO, pkt, &mut fate);
        }
        fate.marked_ids()
    }

    #[test]
    fn one_state_for_all_ends_with_a_packet_to_an_idle_destination() {
        let params = Params { upper: packets(2), lower: Some(packets(1)), ..Params::default() };
        let shared = Params { shared_state: true, ..params.clone() };
        // Two wait for 2, so the third is marked. One waits for 6 when the fifth comes.
        assert_eq!(marked(params, &[2, 2, 2, 6, 6]), [2]);
        assert_eq!(marked(shared.clone(), &[2, 2, 6, 2, 6]), [3, 4], "2 begins, and 6 is between the thresholds");
        assert_eq!(marked(shared, &[2, 2, 2, 6, 6]), [2], "the first packet to 6 ends it");
    }

    #[test]
    fn packets_in_the_output_buffer_meet_no_limit_and_no_threshold() {
        let params = Params { limit: Size::Packets(2), upper: packets(1), output_buffer: 2, ..Params::default() };
        let (mut q, mut fate) = queue(&params);
        for id in 0..5 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(Ecn::Ect0), &mut fate);
        }
        assert_eq!((fate.marked_ids(), fate.dropped_ids()), (alloc::vec![3], alloc::vec![4]));
        assert_eq!((q.backlog().packets, q.ports[0].backlog.packets), (4, 2));
        // A packet that leaves makes room in the buffer, and so in the queue.
        assert_eq!(q.dequeue(Time::ZERO, &mut fate).map(|pkt| pkt.id), Some(0));
        assert_eq!((q.backlog().packets, q.ports[0].backlog.packets), (3, 1));
        let left: Vec<u64> = core::iter::from_fn(|| q.dequeue(Time::ZERO, &mut fate)).map(|p| p.id).collect();
        assert_eq!(left, [1, 2, 3], "in order of arrival");
        assert_eq!(q.backlog(), Backlog::default());
    }

    #[test]
    fn an_output_buffer_behind_delays_is_refused() {
        let params = Params { upper: Level::Delay(Dur::from_ms(1)), output_buffer: 1, ..Params::default() };
        let said = "output_buffer must be 0 if the thresholds are delays, got 1; write `upper` in packets";
        let link = LinkContext { rate: Some(Rate::from_mbps(10)), ..LinkContext::default() };
        assert_eq!(
            Threshold::<TestPkt>::new(&params, &link).err().map(|error| alloc::format!("{error}")).as_deref(),
            Some(said)
        );
    }

    #[test]
    fn auto_is_42_packets_on_a_gigabit_of_three_milliseconds() {
        // 0.17 * 10^9 / 8 * 0.003 / 1500 = 42.5.
        let rate = Some(Rate::from_mbps(1000));
        let link =
            LinkContext { rate, rtt: Some(Dur::from_ms(3)), packet: Bytes::new(1500), seed: 0, ..Default::default() };
        assert_eq!(Threshold::<TestPkt>::new(&Params::default(), &link).unwrap().upper, 42.0);
    }

    #[test]
    fn a_threshold_in_bytes_counts_bytes() {
        let params = Params { upper: Level::Size(Size::Bytes(3000)), ..Params::default() };
        assert_eq!(marks_at(&params, &[1, 2]), [false, true]);
    }

    #[test]
    fn a_delay_is_held_against_each_packet_as_it_leaves() {
        let (mut q, mut fate) = queue(&Params { upper: Level::Delay(Dur::from_ms(1)), ..Params::default() });
        for id in 0..3 {
            q.enqueue(Time::ZERO, TestPkt::new(id, 1500).ecn(Ecn::Ect1), &mut fate);
        }
        q.dequeue(Time::from_ns(999_999), &mut fate);
        q.dequeue(Time::from_ns(1_000_000), &mut fate);
        assert_eq!(fate.marked_ids(), [1]);
    }

    /// A packet that meets a congested queue.
    fn congested(params: Params, pkt: TestPkt) -> Recorder {
        let (mut q, mut fate) = queue(&Params { upper: packets(1), ..params });
        q.enqueue(Time::ZERO, TestPkt::new(0, 1500), &mut fate);
        q.enqueue(Time::ZERO, pkt, &mut fate);
        fate
    }

    #[test]
    fn a_packet_that_meets_congestion_is_returned_once_and_goes_on_unmarked() {
        let params = Params { return_to_sender: true, ..Params::default() };
        let fate = congested(params, TestPkt::new(1, 1500).ecn(Ecn::Ect0));
        assert_eq!((fate.emitted_ids(), fate.marked_ids()), (alloc::vec![1], Vec::new()));
    }

    #[test]
    fn with_mark_the_returned_packet_s_original_is_marked_too() {
        let params = Params { return_to_sender: true, mark: Some(true), ..Params::default() };
        let fate = congested(params, TestPkt::new(1, 1500).ecn(Ecn::Ect0));
        assert_eq!((fate.emitted_ids(), fate.marked_ids()), (alloc::vec![1], alloc::vec![1]));
    }

    #[test]
    fn packets_pass_an_empty_queue_that_is_calm() {
        let (mut q, mut fate) = queue(&hysteresis());
        assert!(q.passes(1500));
        (0..11).for_each(|id| q.enqueue(Time::ZERO, TestPkt::new(id, 1500), &mut fate));
        while q.dequeue(Time::ZERO, &mut fate).is_some() {}
        assert!(!q.passes(1500), "the last packet met ten, and none has met fewer than eight since");
        q.enqueue(Time::ZERO, TestPkt::new(11, 1500), &mut fate);
        assert!(!q.passes(1500), "a packet waits");
        q.dequeue(Time::ZERO, &mut fate);
        assert!(q.passes(1500));
    }

    #[test]
    fn marked_packets_and_copies_are_not_returned_again() {
        let params = Params { return_to_sender: true, ..Params::default() };
        assert!(congested(params.clone(), TestPkt::new(1, 1500).ecn(Ecn::Ce)).emitted.is_empty());
        let copy = TestPkt::new(1, 1500).ecn(Ecn::Ect0).reflected().unwrap();
        assert!(congested(params, copy).emitted.is_empty());
    }

    #[test]
    fn packets_that_are_not_capable_are_not_returned() {
        let params = Params { return_to_sender: true, ..Params::default() };
        assert!(congested(params, TestPkt::new(1, 1500)).emitted.is_empty());
    }

    #[test]
    fn packets_that_are_no_data_segments_are_marked_but_not_returned() {
        let params = Params { return_to_sender: true, ..Params::default() };
        let datagram = TestPkt { data_segment: false, ..TestPkt::new(1, 1500).ecn(Ecn::Ect0) };
        assert!(congested(params.clone(), datagram.clone()).emitted.is_empty());
        let fate = congested(Params { mark: Some(true), ..params }, datagram);
        assert_eq!((fate.emitted_ids(), fate.marked_ids()), (Vec::new(), alloc::vec![1]), "it is marked all the same");
    }

    #[test]
    fn packets_that_are_not_capable_pass() {
        assert!(congested(Params::default(), TestPkt::new(1, 1500)).dropped.is_empty());
    }

    #[test]
    fn with_drop_packets_that_are_not_capable_are_dropped() {
        let fate = congested(Params { drop: true, ..Params::default() }, TestPkt::new(1, 1500));
        assert_eq!(fate.dropped_ids(), [1]);
    }

    #[test]
    fn levels_are_read_as_they_are_printed() {
        for text in ["auto", "42p", "60kB", "1.5bdp", "1ms", "20ns"] {
            assert_eq!(format!("{}", text.parse::<Level>().unwrap()), text);
        }
        assert!("42".parse::<Level>().is_err());
    }
}
