//! Events and packets as Python sees them: whole nanoseconds, bytes, and `None` for what there is not.

use haltere_congestion as core;
use haltere_queue::Ecn;
use haltere_queue::outside::PacketView;
use haltere_units::{Dur, Time};
use pyo3::prelude::*;

/// The attributes of a class, each with its doc comment, name, type and value; then its methods.
macro_rules! getters {
    ($class:ident { $($(#[doc = $doc:literal])+ $name:ident: $type:ty = |$it:ident| $value:expr;)+ } $($more:tt)*) => {
        #[pymethods]
        impl $class {
            $($(#[doc = $doc])+ #[getter] fn $name(&self) -> $type { let $it = self; $value })+
            $($more)*
        }
    };
}

/// Data was newly acknowledged, cumulatively or selectively. The same object comes each time: copy what you keep.
#[pyclass(module = "haltere._core")]
pub(crate) struct AckEvent {
    pub(super) ev: core::AckEvent,
}

getters! { AckEvent {
    /// Now, in nanoseconds.
    now: u64 = |it| it.ev.now.as_ns();
    /// Bytes by which the cumulative acknowledgement advanced.
    acked: u64 = |it| it.ev.acked.as_u64();
    /// Bytes newly known to be delivered, cumulatively or selectively.
    delivered: u64 = |it| it.ev.delivered.as_u64();
    /// Bytes newly marked lost.
    lost: u64 = |it| it.ev.lost.as_u64();
    /// Bytes of `delivered` that arrived with a CE mark, as the receiver says.
    ce: u64 = |it| it.ev.ce.as_u64();
    /// The ECN echo was set on this acknowledgement.
    ece: bool = |it| it.ev.ece;
    /// The receiver counts marks (RFC 9768): `ce` is exact.
    accurate: bool = |it| it.ev.accurate;
    /// A round-trip time measured by this acknowledgement, in nanoseconds.
    rtt: Option<u64> = |it| it.ev.rtt.map(Dur::as_ns);
    /// The smoothed round-trip time in nanoseconds; 0 before the first sample.
    srtt: u64 = |it| it.ev.srtt.as_ns();
    /// The least round-trip time of the connection so far, in nanoseconds; 0 before the first sample.
    min_rtt: u64 = |it| it.ev.min_rtt.as_ns();
    /// Bytes in flight before this acknowledgement.
    prior_in_flight: u64 = |it| it.ev.prior_in_flight.as_u64();
    /// Bytes in flight after it.
    in_flight: u64 = |it| it.ev.in_flight.as_u64();
    /// First byte not yet acknowledged cumulatively.
    snd_una: u64 = |it| it.ev.snd_una;
    /// First byte not yet sent.
    snd_nxt: u64 = |it| it.ev.snd_nxt;
    /// Round trips counted by delivery.
    round: u64 = |it| it.ev.round;
    /// This acknowledgement begins a round.
    round_start: bool = |it| it.ev.round_start;
    /// The window was what limited the sender: only then may it grow.
    cwnd_limited: bool = |it| it.ev.cwnd_limited;
    /// The sender is in recovery, or reducing after an ECN echo: no growth.
    in_recovery: bool = |it| it.ev.in_recovery;
    /// The sender repairs after a retransmission timeout: slow start is allowed.
    in_rto_recovery: bool = |it| it.ev.in_rto_recovery;
    /// The earliest time at which pacing lets the next segment leave, in nanoseconds; 0 without pacing.
    next_departure: u64 = |it| it.ev.next_departure.as_ns();
    /// The delivery rate sample, if one could be taken.
    rate: Option<RateSample> = |it| it.ev.rate.map(|sample| RateSample { sample });
} }

/// A sample of the delivery rate.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct RateSample {
    sample: core::RateSample,
}

getters! { RateSample {
    /// Bytes delivered over `interval`.
    delivered: u64 = |it| it.sample.delivered.as_u64();
    /// The longer of the send and the acknowledgement phase, in nanoseconds; never 0.
    interval: u64 = |it| it.sample.interval.as_ns();
    /// `delivered` over `interval`, in bit/s.
    bps: f64 = |it| it.sample.delivered.as_f64() * 8e9 / it.sample.interval.as_ns().max(1) as f64;
    /// Bytes delivered in all when the sampled segment was sent.
    prior_delivered: u64 = |it| it.sample.prior_delivered;
    /// Bytes delivered in all now.
    total_delivered: u64 = |it| it.sample.total_delivered;
    /// Bytes marked lost over the sample's flight.
    lost: u64 = |it| it.sample.lost.as_u64();
    /// Bytes marked lost in all.
    total_lost: u64 = |it| it.sample.total_lost;
    /// Bytes in flight when the sampled segment was sent.
    tx_in_flight: u64 = |it| it.sample.tx_in_flight.as_u64();
    /// Bytes delivered with a CE mark over the sample's flight.
    delivered_ce: u64 = |it| it.sample.delivered_ce.as_u64();
    /// The sampled segment was sent while the application had nothing more to send.
    app_limited: bool = |it| it.sample.app_limited;
} }

/// A recovery episode begins.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct LossEvent {
    /// Now, in nanoseconds.
    now: u64,
    /// What began it: `loss`, `ecn`, or `asked` if the control asked for it.
    kind: &'static str,
    /// Bytes in flight, lost ones left out.
    in_flight: u64,
    /// Bytes marked lost so far in this episode.
    lost: u64,
    /// First byte not yet sent: the episode ends when it is acknowledged.
    snd_nxt: u64,
}

impl From<&core::LossEvent> for LossEvent {
    fn from(ev: &core::LossEvent) -> LossEvent {
        let kind = match ev.kind {
            core::LossKind::Ecn => "ecn",
            core::LossKind::Asked => "asked",
            _ => "loss",
        };
        let (in_flight, lost) = (ev.in_flight.as_u64(), ev.lost.as_u64());
        LossEvent { now: ev.now.as_ns(), kind, in_flight, lost, snd_nxt: ev.snd_nxt }
    }
}

/// The retransmission timer fired.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct RtoEvent {
    /// Now, in nanoseconds.
    now: u64,
    /// Bytes in flight before everything was marked lost.
    in_flight: u64,
    /// The first timeout of this episode: only then is the threshold lowered.
    first: bool,
    /// Bytes that still count as in flight now; usually none.
    still_in_flight: u64,
    /// First byte not yet sent.
    snd_nxt: u64,
}

impl From<&core::RtoEvent> for RtoEvent {
    fn from(ev: &core::RtoEvent) -> RtoEvent {
        let (in_flight, still_in_flight) = (ev.in_flight.as_u64(), ev.still_in_flight.as_u64());
        RtoEvent { now: ev.now.as_ns(), in_flight, first: ev.first, still_in_flight, snd_nxt: ev.snd_nxt }
    }
}

/// A segment is marked lost.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct LostSegment {
    /// Its first byte.
    seq: u64,
    /// Its payload in bytes.
    bytes: u64,
    /// Bytes in flight when it was sent, itself included.
    tx_in_flight: u64,
    /// Bytes marked lost since it was sent, itself included.
    lost: u64,
    /// Bytes delivered in all when it was sent.
    prior_delivered: u64,
    /// Bytes delivered in all now.
    total_delivered: u64,
    /// It was sent while the application had nothing more to send.
    app_limited: bool,
}

impl From<&core::LostSegment> for LostSegment {
    fn from(ev: &core::LostSegment) -> LostSegment {
        LostSegment {
            seq: ev.seq,
            bytes: ev.bytes.as_u64(),
            tx_in_flight: ev.tx_in_flight.as_u64(),
            lost: ev.lost.as_u64(),
            prior_delivered: ev.prior_delivered,
            total_delivered: ev.total_delivered,
            app_limited: ev.app_limited,
        }
    }
}

/// The first transmission after an idle time.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct RestartEvent {
    /// Now, in nanoseconds.
    now: u64,
    /// How long nothing was in flight, in nanoseconds.
    idle: u64,
    /// The current retransmission timeout in nanoseconds.
    rto: u64,
}

impl From<&core::RestartEvent> for RestartEvent {
    fn from(ev: &core::RestartEvent) -> RestartEvent {
        RestartEvent { now: ev.now.as_ns(), idle: ev.idle.as_ns(), rto: ev.rto.as_ns() }
    }
}

/// One subflow of a multipath connection, as its siblings see it.
#[pyclass(frozen, get_all, module = "haltere._core")]
pub(crate) struct Sibling {
    /// Its congestion window in bytes.
    cwnd: u64,
    /// Its smoothed round-trip time in nanoseconds; 0 before the first sample.
    srtt: u64,
    /// Its control's `bytes_between_losses`.
    between_losses: u64,
}

impl From<&core::Sibling> for Sibling {
    fn from(sibling: &core::Sibling) -> Sibling {
        let (cwnd, between_losses) = (sibling.cwnd.as_u64(), sibling.between_losses.as_u64());
        Sibling { cwnd, srtt: sibling.srtt.as_ns(), between_losses }
    }
}

/// A packet in a queue.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct Packet {
    pub(super) view: PacketView,
    pub(super) arrived: Time,
}

getters! { Packet {
    /// Its number: the first packet of a queue is 0.
    id: u64 = |it| it.view.id;
    /// When it arrived, in nanoseconds.
    arrived: u64 = |it| it.arrived.as_ns();
    /// Length on the link in bytes, headers and framing included.
    len: u32 = |it| it.view.len;
    /// The ECN field at its arrival: `not_ect`, `ect0`, `ect1` or `ce`.
    ecn: &'static str = |it| {
        match it.view.ecn {
            Ecn::NotEct => "not_ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    };
    /// It may be marked instead of dropped.
    ecn_capable: bool = |it| it.view.ecn.is_capable();
    /// The flow: source and destination address, source and destination port, and protocol number.
    flow: (u128, u128, u16, u16, u8) = |it| {
        let flow = &it.view.flow;
        (flow.src, flow.dst, flow.src_port, flow.dst_port, flow.protocol)
    };
    /// Linux's packet priority, 0 to 15, 0 for best effort.
    priority: u8 = |it| it.view.priority;
    /// The DSCP of its IP header, 0 for best effort.
    dscp: u8 = |it| it.view.dscp;
    /// Offset of its first payload byte in its stream, if the header shows it.
    stream_offset: Option<u64> = |it| it.view.stream_offset;
}
    /// A hash of the flow: the same in every process.
    #[pyo3(signature = (seed = 0))]
    fn flow_hash(&self, seed: u64) -> u64 {
        self.view.flow.hash(seed)
    }
}
