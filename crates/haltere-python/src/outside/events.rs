//! Events and packets as Python sees them: whole nanoseconds, bytes, and `None` for what there is not.

use haltere_congestion as core;
use haltere_queue::Ecn;
use haltere_queue::outside::PacketView;
use haltere_units::{Dur, Time};
use pyo3::prelude::*;

/// A class that shows a value of the core: its attributes, each with its doc comment, name, type and value, and then its
/// methods.
macro_rules! view {
    (
        $(#[$meta:meta])* $class:ident($core:ty): $it:pat => {
            $($(#[doc = $doc:literal])+ $name:ident: $type:ty = $value:expr;)+
        } $($more:tt)*
    ) => {
        $(#[$meta])*
        pub(crate) struct $class(pub(super) $core);

        #[pymethods]
        impl $class {
            $(
                $(#[doc = $doc])+
                #[getter]
                #[allow(unused_variables, reason = "an attribute needs a part of the value")]
                fn $name(&self) -> $type { let $it = &self.0; $value }
            )+
            $($more)*
        }
    };
}
pub(super) use view;

view! {
    /// Data was newly acknowledged, cumulatively or selectively. The same object comes each time: copy what you keep.
    #[pyclass(module = "haltere._core")]
    AckEvent(core::AckEvent): ev => {
        /// Now, in nanoseconds.
        now: u64 = ev.now.as_ns();
        /// Bytes by which the cumulative acknowledgement advanced.
        acked: u64 = ev.acked.as_u64();
        /// Bytes newly known to be delivered, cumulatively or selectively.
        delivered: u64 = ev.delivered.as_u64();
        /// Bytes newly marked lost.
        lost: u64 = ev.lost.as_u64();
        /// Bytes of `delivered` that arrived with a CE mark, as the receiver says.
        ce: u64 = ev.ce.as_u64();
        /// The ECN echo was set on this acknowledgement.
        ece: bool = ev.ece;
        /// The receiver counts marks (RFC 9768): `ce` is exact.
        accurate: bool = ev.accurate;
        /// A round-trip time measured by this acknowledgement, in nanoseconds.
        rtt: Option<u64> = ev.rtt.map(Dur::as_ns);
        /// The smoothed round-trip time in nanoseconds; 0 before the first sample.
        srtt: u64 = ev.srtt.as_ns();
        /// The least round-trip time of the connection so far, in nanoseconds; 0 before the first sample.
        min_rtt: u64 = ev.min_rtt.as_ns();
        /// Bytes in flight before this acknowledgement.
        prior_in_flight: u64 = ev.prior_in_flight.as_u64();
        /// Bytes in flight after it.
        in_flight: u64 = ev.in_flight.as_u64();
        /// First byte not yet acknowledged cumulatively.
        snd_una: u64 = ev.snd_una;
        /// First byte not yet sent.
        snd_nxt: u64 = ev.snd_nxt;
        /// Round trips counted by delivery.
        round: u64 = ev.round;
        /// This acknowledgement begins a round.
        round_start: bool = ev.round_start;
        /// The window was what limited the sender: only then may it grow.
        cwnd_limited: bool = ev.cwnd_limited;
        /// The sender is in recovery, or reducing after an ECN echo: no growth.
        in_recovery: bool = ev.in_recovery;
        /// The sender repairs after a retransmission timeout: slow start is allowed.
        in_rto_recovery: bool = ev.in_rto_recovery;
        /// The earliest time at which pacing lets the next segment leave, in nanoseconds; 0 without pacing.
        next_departure: u64 = ev.next_departure.as_ns();
        /// The delivery rate sample, if one could be taken.
        rate: Option<RateSample> = ev.rate.map(RateSample);
    }
}

view! {
    /// A sample of the delivery rate.
    #[pyclass(frozen, module = "haltere._core")]
    RateSample(core::RateSample): sample => {
        /// Bytes delivered over `interval`.
        delivered: u64 = sample.delivered.as_u64();
        /// The longer of the send and the acknowledgement phase, in nanoseconds; never 0.
        interval: u64 = sample.interval.as_ns();
        /// `delivered` over `interval`, in bit/s.
        bps: f64 = sample.delivered.as_f64() * 8e9 / sample.interval.as_ns().max(1) as f64;
        /// Bytes delivered in all when the sampled segment was sent.
        prior_delivered: u64 = sample.prior_delivered;
        /// Bytes delivered in all now.
        total_delivered: u64 = sample.total_delivered;
        /// Bytes marked lost over the sample's flight.
        lost: u64 = sample.lost.as_u64();
        /// Bytes marked lost in all.
        total_lost: u64 = sample.total_lost;
        /// Bytes in flight when the sampled segment was sent.
        tx_in_flight: u64 = sample.tx_in_flight.as_u64();
        /// Bytes delivered with a CE mark over the sample's flight.
        delivered_ce: u64 = sample.delivered_ce.as_u64();
        /// The sampled segment was sent while the application had nothing more to send.
        app_limited: bool = sample.app_limited;
    }
}

view! {
    /// A recovery episode begins.
    #[pyclass(frozen, module = "haltere._core")]
    LossEvent(core::LossEvent): ev => {
        /// Now, in nanoseconds.
        now: u64 = ev.now.as_ns();
        /// What began it: `loss`, `ecn`, or `asked` if the control asked for it.
        kind: &'static str = match ev.kind {
                core::LossKind::Ecn => "ecn",
                core::LossKind::Asked => "asked",
                _ => "loss",
            };
        /// Bytes in flight, lost ones left out.
        in_flight: u64 = ev.in_flight.as_u64();
        /// Bytes marked lost so far in this episode.
        lost: u64 = ev.lost.as_u64();
        /// First byte not yet sent: the episode ends when it is acknowledged.
        snd_nxt: u64 = ev.snd_nxt;
    }
}

view! {
    /// The retransmission timer fired.
    #[pyclass(frozen, module = "haltere._core")]
    RtoEvent(core::RtoEvent): ev => {
        /// Now, in nanoseconds.
        now: u64 = ev.now.as_ns();
        /// Bytes in flight before everything was marked lost.
        in_flight: u64 = ev.in_flight.as_u64();
        /// The first timeout of this episode: only then is the threshold lowered.
        first: bool = ev.first;
        /// Bytes that still count as in flight now; usually none.
        still_in_flight: u64 = ev.still_in_flight.as_u64();
        /// First byte not yet sent.
        snd_nxt: u64 = ev.snd_nxt;
    }
}

view! {
    /// A segment is marked lost.
    #[pyclass(frozen, module = "haltere._core")]
    LostSegment(core::LostSegment): lost => {
        /// Its first byte.
        seq: u64 = lost.seq;
        /// Its payload in bytes.
        bytes: u64 = lost.bytes.as_u64();
        /// Bytes in flight when it was sent, itself included.
        tx_in_flight: u64 = lost.tx_in_flight.as_u64();
        /// Bytes marked lost since it was sent, itself included.
        lost: u64 = lost.lost.as_u64();
        /// Bytes delivered in all when it was sent.
        prior_delivered: u64 = lost.prior_delivered;
        /// Bytes delivered in all now.
        total_delivered: u64 = lost.total_delivered;
        /// It was sent while the application had nothing more to send.
        app_limited: bool = lost.app_limited;
    }
}

view! {
    /// A transmission while nothing is outstanding.
    #[pyclass(frozen, module = "haltere._core")]
    RestartEvent(core::RestartEvent): ev => {
        /// Now, in nanoseconds.
        now: u64 = ev.now.as_ns();
        /// How long nothing was in flight, in nanoseconds.
        idle: u64 = ev.idle.as_ns();
        /// The current retransmission timeout in nanoseconds.
        rto: u64 = ev.rto.as_ns();
        /// The application had nothing more to send. False: the pace is below a segment a round trip.
        app_limited: bool = ev.app_limited;
    }
}

view! {
    /// One subflow of a multipath connection, as its siblings see it.
    #[pyclass(frozen, module = "haltere._core")]
    Sibling(core::Sibling): sibling => {
        /// Its congestion window in bytes.
        cwnd: u64 = sibling.cwnd.as_u64();
        /// Its smoothed round-trip time in nanoseconds; 0 before the first sample.
        srtt: u64 = sibling.srtt.as_ns();
        /// Its control's `bytes_between_losses`.
        between_losses: u64 = sibling.between_losses.as_u64();
    }
}

view! {
    /// A packet in a queue.
    #[pyclass(frozen, module = "haltere._core")]
    Packet((PacketView, Time)): (view, arrived) => {
        /// Its number: the first packet of a queue is 0.
        id: u64 = view.id;
        /// When it arrived, in nanoseconds.
        arrived: u64 = arrived.as_ns();
        /// Length on the link in bytes, headers and framing included.
        len: u32 = view.len;
        /// The ECN field at its arrival: `not_ect`, `ect0`, `ect1` or `ce`.
        ecn: &'static str = match view.ecn {
            Ecn::NotEct => "not_ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        };
        /// It may be marked instead of dropped.
        ecn_capable: bool = view.ecn.is_capable();
        /// The flow: source and destination address, source and destination port, and protocol number.
        flow: (u128, u128, u16, u16, u8) = {
            let flow = &view.flow;
            (flow.src, flow.dst, flow.src_port, flow.dst_port, flow.protocol)
        };
        /// Linux's packet priority, 0 to 15, 0 for best effort.
        priority: u8 = view.priority;
        /// The DSCP of its IP header, 0 for best effort.
        dscp: u8 = view.dscp;
        /// Offset of its first payload byte in its stream, if the header shows it.
        stream_offset: Option<u64> = view.stream_offset;
    }
    /// A hash of the flow: the same in every process.
    #[pyo3(signature = (seed = 0))]
    fn flow_hash(&self, seed: u64) -> u64 {
        self.0.0.flow.hash(seed)
    }
}
