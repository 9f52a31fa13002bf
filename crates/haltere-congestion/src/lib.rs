//! Congestion controls: pure state machines that say how much a sender may have in flight, and how fast.
//!
//! The transport tells a control what happened through events; the control answers through
//! [`cwnd`](CongestionControl::cwnd), [`ssthresh`](CongestionControl::ssthresh) and
//! [`pacing_rate`](CongestionControl::pacing_rate). It knows neither sequence numbers' encoding nor the
//! world. Loss recovery (RACK-TLP, PRR) is the transport's: it asks for a reduction once per episode.
//!
//! Each control is one file; [`registry`] lists them.

#![no_std]
extern crate alloc;

mod event;
mod registry;

pub mod reno;

pub use event::{AckEvent, LossEvent, LossKind, RateSample, RestartEvent, RtoEvent};
pub use registry::{CongestionParams, Control};

use haltere_units::{Bytes, Probe, Rate, Time};

/// What a control may know of the connection that it steers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SenderContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The initial congestion window.
    pub initial_window: Bytes,
    /// Seed for choices that must differ between flows but not between runs (BBR's cycle phase).
    pub seed: u64,
}

/// How a control wants ECN to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EcnUse {
    /// RFC 3168: the receiver echoes until CWR; the sender reduces once per window.
    #[default]
    Classic,
    /// RFC 8257: the receiver echoes each packet's mark; the sender counts; every packet is ECT.
    PerPacket,
}

/// A congestion control.
///
/// Windows are in bytes; a sender may send a full segment while bytes in flight plus one segment fit.
pub trait CongestionControl {
    /// Data was newly acknowledged, cumulatively or selectively.
    fn on_ack(&mut self, ev: &AckEvent);
    /// A recovery episode begins (loss found without a timeout, or an ECN echo): reduce, once.
    fn on_loss(&mut self, ev: &LossEvent);
    /// The retransmission timer fired.
    fn on_rto(&mut self, ev: &RtoEvent);
    /// The recovery episode is over: all that was outstanding at its start is acknowledged.
    fn on_recovered(&mut self, _now: Time) {}
    /// The last reduction answered a loss that was none (Eifel, DSACK): put back what it took.
    fn on_spurious(&mut self, _now: Time) {}
    /// The first transmission after an idle time, before it is sent.
    fn on_restart(&mut self, _ev: &RestartEvent) {}
    /// The congestion window in bytes, at least one segment.
    fn cwnd(&self) -> Bytes;
    /// The slow-start threshold; [`Bytes::MAX`] before the first reduction.
    fn ssthresh(&self) -> Bytes;
    /// The rate at which segments are to leave; `None`: as soon as the window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// True where the control sets its window during recovery itself (BBR); otherwise the transport
    /// applies proportional rate reduction (RFC 6937) towards [`ssthresh`](CongestionControl::ssthresh).
    fn owns_recovery(&self) -> bool {
        false
    }
    /// How ECN is to be used.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }
    /// Shows the inner variables, for time series.
    fn probe(&self, _row: &mut Probe) {}
}
