//! A segment that goes out, and the account of those that went out.

use crate::tcp::seq::Offset;
use haltere_units::Time;

/// What is sent whatever the congestion window allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forced {
    /// The oldest segment, after a timeout.
    Oldest,
    /// A tail loss probe: new data if there is any, else the last segment.
    Probe,
    WindowProbe,
}

/// What the last acknowledgement lets the sender send first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    NewOnly,
    /// Lost segments, then new data.
    Lost,
    /// New data, and lost segments if there is none (F-RTO step 2b).
    New,
}

/// A segment to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transmit {
    pub seq: Offset,
    pub len: u32,
    pub fin: bool,
    /// Sent for the first time.
    pub new: bool,
    /// It is pushed: see `buffer.rs`.
    pub push: bool,
}

impl Transmit {
    /// Nothing but an acknowledgement.
    #[inline]
    pub(crate) fn ack(seq: Offset) -> Transmit {
        Transmit { seq, len: 0, fin: false, new: false, push: false }
    }
}

/// What goes out next, and what went out.
#[derive(Debug)]
pub(crate) struct Output {
    pub(super) forced: Option<Forced>,
    pub(super) turn: Turn,
    /// Segments were sent since the last end of a burst, and new ones among them.
    pub(super) burst: bool,
    pub(super) burst_has_new: bool,
    pub(super) last_sent: Time,
    /// Segments sent, and of these retransmitted, with their bytes.
    pub(super) segments: u64,
    pub(super) retransmissions: u64,
    pub(super) bytes_retransmitted: u64,
}

impl Output {
    pub(crate) fn new() -> Output {
        Output {
            forced: None,
            turn: Turn::NewOnly,
            burst: false,
            burst_has_new: false,
            last_sent: Time::ZERO,
            segments: 0,
            retransmissions: 0,
            bytes_retransmitted: 0,
        }
    }
    /// Segments sent so far.
    #[inline]
    pub(crate) fn segments(&self) -> u64 {
        self.segments
    }
    /// Segments retransmitted so far.
    pub(crate) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
    /// Bytes retransmitted so far.
    pub(crate) fn bytes_retransmitted(&self) -> u64 {
        self.bytes_retransmitted
    }
    /// This goes out next.
    pub(crate) fn force(&mut self, forced: Forced) {
        self.forced = Some(forced);
    }
    #[inline]
    pub(crate) fn turn(&self) -> Turn {
        self.turn
    }
    /// When the last segment left.
    pub(crate) fn last_sent(&self) -> Time {
        self.last_sent
    }
    #[inline]
    pub(crate) fn set_turn(&mut self, turn: Turn) {
        self.turn = turn;
    }
    /// True if segments were sent since the last call, and whether there were new ones.
    #[inline]
    pub(crate) fn take_burst(&mut self) -> (bool, bool) {
        (core::mem::take(&mut self.burst), core::mem::take(&mut self.burst_has_new))
    }
}
