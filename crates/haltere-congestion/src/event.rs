//! Events that the transport reports to a congestion control.
//!
//! The events carry the values that a modern control needs: delivery rate samples, rounds, ECN counts, bytes in flight,
//! and whether the window was the limit. They are non-exhaustive structs, so they can grow.

use haltere_units::{Bytes, Dur, Rate, Time};

/// Data was newly acknowledged, cumulatively or selectively.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct AckEvent {
    /// The time of the event.
    pub now: Time,
    /// Bytes by which the cumulative acknowledgement advanced.
    pub acked: Bytes,
    /// Bytes newly known to be delivered, cumulatively or selectively.
    pub delivered: Bytes,
    /// Bytes newly marked lost.
    pub lost: Bytes,
    /// Bytes of `delivered` that the receiver says arrived with CE (per-packet echo; with the classic echo, all of
    /// `delivered` while the echo lasts; if the receiver counts marks, what it counted).
    pub ce: Bytes,
    /// The ECN echo was set on this acknowledgement; or, if marks are counted, it reports new ones.
    pub ece: bool,
    /// The receiver counts marks (RFC 9768): `ce` is exact.
    pub accurate: bool,
    /// A round-trip time measured by this acknowledgement (Karn's rule kept): that of the segment sent last among those
    /// newly delivered, so that a delayed acknowledgement adds nothing (the smoothed one takes the first).
    pub rtt: Option<Dur>,
    /// The smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Dur,
    /// The least round-trip time of the connection so far; zero before the first sample.
    pub min_rtt: Dur,
    /// Bytes in flight before this acknowledgement.
    pub prior_in_flight: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// First byte not yet acknowledged cumulatively (stream offset).
    pub snd_una: u64,
    /// First byte not yet sent (stream offset).
    pub snd_nxt: u64,
    /// Round trips counted by delivery: a round ends when data sent after the last round's end is delivered.
    pub round: u64,
    /// This acknowledgement begins a round.
    pub round_start: bool,
    /// The window was what limited the sender (RFC 7661): only then may it grow.
    pub cwnd_limited: bool,
    /// The sender is in fast recovery or loss recovery, or reducing after an ECN echo: no growth but slow start after a
    /// timeout.
    pub in_recovery: bool,
    /// The sender repairs after a retransmission timeout (slow start is allowed, `in_recovery` is false).
    pub in_rto_recovery: bool,
    /// The earliest time at which pacing lets the next segment leave; [`Time::ZERO`] without pacing.
    pub next_departure: Time,
    /// The delivery rate sample, if one could be taken.
    pub rate: Option<RateSample>,
}

/// A sample of the delivery rate (draft-ietf-ccwg-bbr, delivery rate estimation).
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: Bytes,
    /// The longer of the send and the acknowledgement phase; never zero.
    pub interval: Dur,
    /// Bytes delivered in all when the sampled segment was sent.
    pub prior_delivered: u64,
    /// Bytes delivered in all now.
    pub total_delivered: u64,
    /// Bytes marked lost over the sample's flight.
    pub lost: Bytes,
    /// Bytes marked lost in all.
    pub total_lost: u64,
    /// Bytes in flight when the sampled segment was sent.
    pub tx_in_flight: Bytes,
    /// Bytes delivered with a CE mark over the sample's flight.
    pub delivered_ce: Bytes,
    /// The sampled segment was sent while the application had nothing more to send.
    pub app_limited: bool,
}

impl RateSample {
    /// `delivered` over `interval`, with everything else zero.
    pub fn new(delivered: Bytes, interval: Dur) -> RateSample {
        RateSample { delivered, interval, ..RateSample::default() }
    }
    /// The delivery rate that it shows.
    pub fn rate(&self) -> Rate {
        Rate::of(self.delivered, self.interval)
    }
}

/// A segment is marked lost.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct LostSegment {
    /// Its first byte (stream offset).
    pub seq: u64,
    /// Bytes of its payload.
    pub bytes: Bytes,
    /// Bytes in flight when it was sent, itself included.
    pub tx_in_flight: Bytes,
    /// Bytes marked lost since it was sent, itself included.
    pub lost: Bytes,
    /// Bytes delivered in all when it was sent.
    pub prior_delivered: u64,
    /// Bytes delivered in all now.
    pub total_delivered: u64,
    /// It was sent while the application had nothing more to send.
    pub app_limited: bool,
}

impl LostSegment {
    /// A segment of that length at that offset, with everything else zero.
    pub fn new(seq: u64, bytes: Bytes) -> LostSegment {
        LostSegment { seq, bytes, ..LostSegment::default() }
    }
}

/// The cause of a recovery episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossKind {
    /// A segment was marked lost (RACK, duplicate acknowledgements).
    Loss,
    /// The receiver echoed congestion (RFC 3168).
    Ecn,
    /// The control requested it ([`wants_reduction`](crate::CongestionControl::wants_reduction)).
    Asked,
}

/// A recovery episode begins.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LossEvent {
    /// The time of the event.
    pub now: Time,
    /// The cause of the episode.
    pub kind: LossKind,
    /// Bytes in flight, lost ones left out.
    pub in_flight: Bytes,
    /// Bytes marked lost so far in this episode.
    pub lost: Bytes,
    /// First byte not yet sent: the episode ends when it is acknowledged.
    pub snd_nxt: u64,
}

impl LossEvent {
    /// An event at `now` with everything else zero.
    pub fn at(now: Time, kind: LossKind) -> LossEvent {
        LossEvent { now, kind, in_flight: Bytes::ZERO, lost: Bytes::ZERO, snd_nxt: 0 }
    }
}

/// The retransmission timer fired.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RtoEvent {
    /// The time of the event.
    pub now: Time,
    /// Bytes in flight before everything was marked lost.
    pub in_flight: Bytes,
    /// The first timeout of this episode: only then is the threshold lowered (RFC 5681 section 3.1). False also if fast
    /// recovery has lowered it for the same data.
    pub first: bool,
    /// Bytes that still count as in flight now (with RACK, what was sent less than a round trip ago); usually none.
    pub still_in_flight: Bytes,
    /// First byte not yet sent.
    pub snd_nxt: u64,
}

/// A transmission while nothing is outstanding.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RestartEvent {
    /// The time of the event.
    pub now: Time,
    /// How long nothing was in flight.
    pub idle: Dur,
    /// The current retransmission timeout.
    pub rto: Dur,
    /// The application had nothing more to send. False: the pace is below a segment a round trip.
    pub app_limited: bool,
}

macro_rules! at {
    ($($event:ident),+) => {
        $(impl $event {
            /// An event at `now` with everything else zero.
            pub fn at(now: Time) -> $event {
                $event { now, ..$event::default() }
            }
        })+
    };
}
at!(AckEvent, RtoEvent, RestartEvent);
