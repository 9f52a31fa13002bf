//! Congestion controls: pure state machines that set how much a sender may have in flight, and how fast it sends.
//!
//! The transport reports what happened by events. The control answers by [`cwnd`](CongestionControl::cwnd),
//! [`ssthresh`](CongestionControl::ssthresh) and [`pacing_rate`](CongestionControl::pacing_rate). It knows neither the
//! encoding of sequence numbers nor the world. Loss recovery (RACK-TLP, PRR) belongs to the transport: it asks for one
//! reduction per episode.
//!
//! Each control is one file, and one line in the registry below. CUBIC in a stack of your own:
//!
//! ```
//! use haltere_congestion::{AckEvent, CongestionControl, CongestionParams, Control, LossEvent, LossKind, SenderContext};
//! use haltere_units::{Dur, Time};
//!
//! let sender = SenderContext::default(); // segments of 1448 bytes, ten in the initial window
//! let mut cubic = Control::new(&CongestionParams::default_of("cubic").unwrap(), &sender)?;
//! let mut now = Time::ZERO;
//! for _ in 0..10 {
//!     now += Dur::from_ms(1);
//!     let mut ack = AckEvent::at(now); // of one segment; the window was what limited the sender
//!     (ack.acked, ack.delivered, ack.cwnd_limited) = (sender.mss, sender.mss, true);
//!     (ack.rtt, ack.srtt, ack.min_rtt) = (Some(Dur::from_ms(20)), Dur::from_ms(20), Dur::from_ms(20));
//!     cubic.on_ack(&ack);
//! }
//! assert_eq!(cubic.cwnd(), sender.mss * 20); // slow start
//! cubic.on_loss(&LossEvent::at(now, LossKind::Loss));
//! assert_eq!(cubic.ssthresh(), sender.mss * 14); // beta is 0.7
//! # Ok::<(), haltere_units::ParamError>(())
//! ```

#![no_std]
extern crate alloc;

haltere_units::registry! {
    /// A congestion control with its parameters, distinguished by `kind`.
    params CongestionParams;
    /// Any control of the registry. Dispatch is by enum: there is no virtual call per acknowledgement. A control that
    /// is much larger than the rest is boxed, so that other connections do not pay for its size.
    any Control;
    match each_control, outside => Outside;

    reno => Reno in Started<>;
    cubic => Cubic in Started<>;
    vegas => Vegas in Started<>;
    dctcp => Dctcp in Started<>;
    bbr => Bbr, boxed;
    bbr3 => Bbr3, boxed;
    highspeed => Highspeed in Started<>;
    scalable => Scalable in Started<>;
    hybla => Hybla in Started<>;
    htcp => Htcp in Started<>;
    westwood => Westwood in Started<>;
    bic => Bic in Started<>;
    illinois => Illinois in Started<>;
    veno => Veno in Started<>;
    yeah => Yeah in Started<>;
    ledbat => Ledbat in Started<>;
    copa => Copa;
    vivace => Vivace, boxed;
    prague => Prague;
    cdg => Cdg, boxed in Started<>;
    nv => Nv in Started<>;
    lp => Lp in Started<>;
    lia => Lia in Started<>;
    olia => Olia in Started<>;
    balia => Balia in Started<>;
}

impl CongestionParams {
    /// How a control with a window starts; `None`: the control has no such window.
    pub fn start(&self) -> Option<&Start> {
        use slow_start::NoStart;
        each_control!(params p in self => p.start())
    }
}

impl Control {
    /// The control itself, without a slow start over it.
    fn plain(params: &CongestionParams, sender: &SenderContext) -> Result<Control, ParamError> {
        Ok(each_control!(new p in params => (p, sender)?))
    }
}

mod bbr_core;
mod coupled;
mod coupling;
mod dispatch;
mod event;
mod random;

pub mod law;
pub mod slow_start;
pub mod window;

pub use coupling::{CouplingView, Sibling};
pub use event::{AckEvent, LossEvent, LossKind, LostSegment, RateSample, RestartEvent, RtoEvent};
pub use slow_start::{Hystart, SlowStartKind, Start, Started};

use haltere_units::outside::Outside;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};

/// The connection of a control.
#[derive(Debug, Clone, PartialEq)]
pub struct SenderContext {
    /// Payload bytes of a full segment.
    pub mss: Bytes,
    /// The initial congestion window.
    pub initial_window: Bytes,
    /// Seed for choices that must differ between flows but not between runs (BBR's cycle phase).
    pub seed: u64,
    /// What controls from outside the tree are made with.
    pub outside: Outside,
}

impl Default for SenderContext {
    /// Segments of 1448 bytes, ten of them in the initial window, seed 0, no controls from outside.
    fn default() -> SenderContext {
        let mss = Bytes::new(1448);
        SenderContext { mss, initial_window: mss * 10, seed: 0, outside: Outside::NONE }
    }
}

/// How a control uses ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EcnUse {
    /// RFC 3168: the receiver echoes until CWR; the sender reduces once per window.
    #[default]
    Classic,
    /// RFC 8257: the receiver echoes each packet's mark; the sender counts; every packet is ECT.
    PerPacket,
    /// RFC 9331: data is ECT(1), and the receiver counts marks (RFC 9768). Without such a receiver it is as `Classic`.
    L4s,
}

/// A congestion control.
///
/// Windows are in bytes; a sender may send a full segment while bytes in flight plus one segment fit.
///
/// For one acknowledgement [`on_ack`](CongestionControl::on_ack) comes first. Its `in_recovery` is already true if this
/// acknowledgement begins an episode, so the window does not grow by it. Then, if one begins, comes
/// [`on_loss`](CongestionControl::on_loss). So DCTCP reduces by an alpha that includes the window that has just ended,
/// as in Linux.
pub trait CongestionControl {
    /// Data was newly acknowledged, cumulatively or selectively.
    fn on_ack(&mut self, ev: &AckEvent);
    /// A recovery episode begins (loss found without a timeout, or an ECN echo): reduce, once.
    fn on_loss(&mut self, ev: &LossEvent);
    /// The retransmission timer fired.
    fn on_rto(&mut self, ev: &RtoEvent);
    /// A segment was marked lost. This comes for each, before the event of the acknowledgement or timeout that marked
    /// it.
    fn on_segment_lost(&mut self, _lost: &LostSegment) {}
    /// The recovery episode is over: all that was outstanding at its start is acknowledged.
    fn on_recovered(&mut self, _now: Time) {}
    /// After [`on_ack`](CongestionControl::on_ack): true if the control requests a reduction without loss or echo
    /// (CDG). The transport begins one, and [`on_loss`](CongestionControl::on_loss) follows with [`LossKind::Asked`]. A
    /// request is ignored during a reduction.
    fn wants_reduction(&self) -> bool {
        false
    }
    /// The connection is established; the handshake measured this round-trip time.
    fn on_established(&mut self, _now: Time, _rtt: Dur) {}
    /// Before anything is sent: the host remembers this slow-start threshold of an earlier connection.
    fn on_cached_ssthresh(&mut self, _ssthresh: Bytes) {}
    /// A switch notified the sender that so many payload bytes are marked, before they are acknowledged. The transport
    /// leaves them out of [`AckEvent::ce`] when the receiver's echo arrives. True: the control supports such
    /// notifications, and the transport answers as to an echo, with one reduction a window.
    fn on_early_ce(&mut self, _now: Time, _bytes: Bytes) -> bool {
        false
    }
    /// The last reduction was spurious (Eifel, DSACK): restore the window.
    fn on_spurious(&mut self, _now: Time) {}
    /// A transmission while nothing is outstanding, before it is sent: after an idle time, or with a pace below a segment a
    /// round trip.
    fn on_restart(&mut self, _ev: &RestartEvent) {}
    /// A transmission while nothing is in flight, before it is sent: after an idle time, or when all that is outstanding
    /// was lost or SACKed (Linux's `CA_EVENT_TX_START`).
    fn on_flight_start(&mut self, _now: Time) {}
    /// The state of the other subflows of a multipath connection, before each [`on_ack`](CongestionControl::on_ack) and
    /// [`on_loss`](CongestionControl::on_loss), if [`is_coupled`](CongestionControl::is_coupled).
    fn on_coupling(&mut self, _view: &CouplingView<'_>) {}
    /// True if the control depends on its siblings.
    fn is_coupled(&self) -> bool {
        false
    }
    /// Bytes between losses, by which a coupled control ranks this path (OLIA); 0 if the control does not count them.
    fn bytes_between_losses(&self) -> Bytes {
        Bytes::ZERO
    }
    /// The congestion window in bytes, at least one segment.
    fn cwnd(&self) -> Bytes;
    /// The slow-start threshold; [`Bytes::MAX`] before the first reduction.
    fn ssthresh(&self) -> Bytes;
    /// The rate at which payload is to leave; `None`: as soon as the window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// True if the control sets its window during recovery itself (BBR); otherwise the transport applies proportional
    /// rate reduction (RFC 6937) towards [`ssthresh`](CongestionControl::ssthresh). The transport asks when an episode
    /// begins, after [`on_loss`](CongestionControl::on_loss).
    fn owns_recovery(&self) -> bool {
        false
    }
    /// True if an acknowledgement that finds too little to send, and room for more, marks what leaves next as limited by
    /// the application (BBRv3's authors). Otherwise only an application that writes, or wakes to write, does.
    fn notes_starvation(&self) -> bool {
        false
    }
    /// The window of a control that is a law for one. A [slow start](slow_start) sets it.
    fn window(&mut self) -> Option<&mut window::Window> {
        None
    }
    /// How the control uses ECN.
    fn ecn(&self) -> EcnUse {
        EcnUse::Classic
    }
    /// Writes the inner variables, for time series.
    fn probe(&self, _row: &mut Probe) {}
    /// Shows the inner variables for `[measure] state`: those of [`probe`](CongestionControl::probe), and any that time
    /// series do not have.
    fn state(&self, row: &mut Probe) {
        self.probe(row);
    }
}
