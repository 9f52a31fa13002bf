//! Events and packets as Python sees them: whole nanoseconds, bytes, and `None` for what there is not.

use haltere_congestion as core;
use haltere_queue::Ecn;
use haltere_queue::outside::PacketView;
use haltere_units::{Dur, Time};
use pyo3::prelude::*;

/// Data was newly acknowledged, cumulatively or selectively. The same object comes each time: copy what you keep.
#[pyclass(module = "haltere._core")]
pub(crate) struct AckEvent {
    pub(super) ev: core::AckEvent,
}

#[pymethods]
impl AckEvent {
    /// Now, in nanoseconds.
    #[getter]
    fn now(&self) -> u64 {
        self.ev.now.as_ns()
    }
    /// Bytes by which the cumulative acknowledgement advanced.
    #[getter]
    fn acked(&self) -> u64 {
        self.ev.acked.as_u64()
    }
    /// Bytes newly known to be delivered, cumulatively or selectively.
    #[getter]
    fn delivered(&self) -> u64 {
        self.ev.delivered.as_u64()
    }
    /// Bytes newly marked lost.
    #[getter]
    fn lost(&self) -> u64 {
        self.ev.lost.as_u64()
    }
    /// Bytes of `delivered` that arrived with a CE mark, as the receiver says.
    #[getter]
    fn ce(&self) -> u64 {
        self.ev.ce.as_u64()
    }
    /// The ECN echo was set on this acknowledgement.
    #[getter]
    fn ece(&self) -> bool {
        self.ev.ece
    }
    /// The receiver counts marks (RFC 9768): `ce` is exact.
    #[getter]
    fn accurate(&self) -> bool {
        self.ev.accurate
    }
    /// A round-trip time measured by this acknowledgement, in nanoseconds.
    #[getter]
    fn rtt(&self) -> Option<u64> {
        self.ev.rtt.map(Dur::as_ns)
    }
    /// The smoothed round-trip time in nanoseconds; 0 before the first sample.
    #[getter]
    fn srtt(&self) -> u64 {
        self.ev.srtt.as_ns()
    }
    /// The least round-trip time of the connection so far, in nanoseconds; 0 before the first sample.
    #[getter]
    fn min_rtt(&self) -> u64 {
        self.ev.min_rtt.as_ns()
    }
    /// Bytes in flight before this acknowledgement.
    #[getter]
    fn prior_in_flight(&self) -> u64 {
        self.ev.prior_in_flight.as_u64()
    }
    /// Bytes in flight after it.
    #[getter]
    fn in_flight(&self) -> u64 {
        self.ev.in_flight.as_u64()
    }
    /// First byte not yet acknowledged cumulatively.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.ev.snd_una
    }
    /// First byte not yet sent.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.ev.snd_nxt
    }
    /// Round trips counted by delivery.
    #[getter]
    fn round(&self) -> u64 {
        self.ev.round
    }
    /// This acknowledgement begins a round.
    #[getter]
    fn round_start(&self) -> bool {
        self.ev.round_start
    }
    /// The window was what limited the sender: only then may it grow.
    #[getter]
    fn cwnd_limited(&self) -> bool {
        self.ev.cwnd_limited
    }
    /// The sender is in recovery, or reducing after an ECN echo: no growth.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.ev.in_recovery
    }
    /// The sender repairs after a retransmission timeout: slow start is allowed.
    #[getter]
    fn in_rto_recovery(&self) -> bool {
        self.ev.in_rto_recovery
    }
    /// The earliest time at which pacing lets the next segment leave, in nanoseconds; 0 without pacing.
    #[getter]
    fn next_departure(&self) -> u64 {
        self.ev.next_departure.as_ns()
    }
    /// The delivery rate sample, if one could be taken.
    #[getter]
    fn rate(&self) -> Option<RateSample> {
        self.ev.rate.map(|sample| RateSample { sample })
    }
}

/// A sample of the delivery rate.
#[pyclass(frozen, module = "haltere._core")]
pub(crate) struct RateSample {
    sample: core::RateSample,
}

#[pymethods]
impl RateSample {
    /// Bytes delivered over `interval`.
    #[getter]
    fn delivered(&self) -> u64 {
        self.sample.delivered.as_u64()
    }
    /// The longer of the send and the acknowledgement phase, in nanoseconds; never 0.
    #[getter]
    fn interval(&self) -> u64 {
        self.sample.interval.as_ns()
    }
    /// `delivered` over `interval`, in bit/s.
    #[getter]
    fn bps(&self) -> f64 {
        self.sample.delivered.as_f64() * 8e9 / self.sample.interval.as_ns().max(1) as f64
    }
    /// Bytes delivered in all when the sampled segment was sent.
    #[getter]
    fn prior_delivered(&self) -> u64 {
        self.sample.prior_delivered
    }
    /// Bytes delivered in all now.
    #[getter]
    fn total_delivered(&self) -> u64 {
        self.sample.total_delivered
    }
    /// Bytes marked lost over the sample's flight.
    #[getter]
    fn lost(&self) -> u64 {
        self.sample.lost.as_u64()
    }
    /// Bytes marked lost in all.
    #[getter]
    fn total_lost(&self) -> u64 {
        self.sample.total_lost
    }
    /// Bytes in flight when the sampled segment was sent.
    #[getter]
    fn tx_in_flight(&self) -> u64 {
        self.sample.tx_in_flight.as_u64()
    }
    /// Bytes delivered with a CE mark over the sample's flight.
    #[getter]
    fn delivered_ce(&self) -> u64 {
        self.sample.delivered_ce.as_u64()
    }
    /// The sampled segment was sent while the application had nothing more to send.
    #[getter]
    fn app_limited(&self) -> bool {
        self.sample.app_limited
    }
}

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

#[pymethods]
impl Packet {
    /// Its number: the first packet of a queue is 0.
    #[getter]
    fn id(&self) -> u64 {
        self.view.id
    }
    /// When it arrived, in nanoseconds.
    #[getter]
    fn arrived(&self) -> u64 {
        self.arrived.as_ns()
    }
    /// Length on the link in bytes, headers and framing included.
    #[getter]
    fn len(&self) -> u32 {
        self.view.len
    }
    /// The ECN field at its arrival: `not_ect`, `ect0`, `ect1` or `ce`.
    #[getter]
    fn ecn(&self) -> &'static str {
        match self.view.ecn {
            Ecn::NotEct => "not_ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    }
    /// It may be marked instead of dropped.
    #[getter]
    fn ecn_capable(&self) -> bool {
        self.view.ecn.is_capable()
    }
    /// The flow: source and destination address, source and destination port, and protocol number.
    #[getter]
    fn flow(&self) -> (u128, u128, u16, u16, u8) {
        let flow = &self.view.flow;
        (flow.src, flow.dst, flow.src_port, flow.dst_port, flow.protocol)
    }
    /// A hash of the flow: the same in every process.
    #[pyo3(signature = (seed = 0))]
    fn flow_hash(&self, seed: u64) -> u64 {
        self.view.flow.hash(seed)
    }
    /// Linux's packet priority, 0 to 15, 0 for best effort.
    #[getter]
    fn priority(&self) -> u8 {
        self.view.priority
    }
    /// The DSCP of its IP header, 0 for best effort.
    #[getter]
    fn dscp(&self) -> u8 {
        self.view.dscp
    }
    /// Offset of its first payload byte in its stream, if the header shows it.
    #[getter]
    fn stream_offset(&self) -> Option<u64> {
        self.view.stream_offset
    }
}
