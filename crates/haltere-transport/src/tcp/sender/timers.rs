//! The sender's timers: retransmission, tail loss probe, reordering, window probe. One is set at a time.
//! Source: RFC 6298 section 5, RFC 8985 sections 6.3 and 7.2, RFC 9293 section 3.8.6.1.
//! Deviations (Linux): a reordering timeout has two ticks of margin; timers are not rounded up to ticks; the
//! retransmission timer starts again with data that are SACKed and were sent before the oldest segment was sent again.
//! Units: ns. Cost: O(1), a timeout O(window). Known problems: none.

use crate::tcp::params::TcpParams;
use crate::tcp::time::{Deadline, PosDur};
use haltere_units::{Dur, Time};

/// Longest delay of an acknowledgement that the probe of a single segment waits for.
const WORST_ACK_DELAY: Dur = Dur::from_ms(200);

/// What the timer is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Retransmission (RFC 6298).
    Rto,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// Doubtful segments become lost (RFC 8985 section 6.3).
    Reordering,
    /// The peer's window is closed (RFC 9293 section 3.8.6.1).
    Window,
}

#[derive(Debug)]
pub(crate) struct Timers {
    due: Deadline,
    pub(super) armed: Option<Timer>,
    /// Tail loss probes are sent.
    has_probes: bool,
    tick: Dur,
    max_rto: Dur,
    min_rto: Dur,
    initial_rto: Dur,
    max_retries: u32,
    /// Timeouts since the last progress.
    retries: u32,
    /// Window probes since the window closed.
    pub(super) probes: u32,
    timeouts: u64,
}

impl Timers {
    pub(crate) fn new(p: &TcpParams) -> Timers {
        Timers {
            due: Deadline::NONE,
            armed: None,
            has_probes: p.tlp,
            tick: p.tick,
            max_rto: p.max_rto,
            min_rto: p.min_rto,
            initial_rto: p.initial_rto,
            max_retries: p.max_retries,
            retries: 0,
            probes: 0,
            timeouts: 0,
        }
    }
    #[inline]
    pub(crate) fn due(&self) -> Deadline {
        self.due
    }
    #[inline]
    pub(crate) fn is_armed(&self, timer: Timer) -> bool {
        self.armed == Some(timer)
    }
    /// True if tail loss probes are sent.
    #[inline]
    pub(crate) fn has_probes(&self) -> bool {
        self.has_probes
    }
    /// Timeouts since the last progress.
    #[inline]
    pub(crate) fn retries(&self) -> u32 {
        self.retries
    }
    pub(crate) fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Nothing is timed any more.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.armed = None;
        self.due = Deadline::NONE;
    }
    /// Another timer is about to be set.
    #[inline]
    pub(crate) fn disarm(&mut self) {
        self.armed = None;
    }
    #[inline]
    fn arm(&mut self, timer: Timer, at: Time) {
        self.armed = Some(timer);
        self.due = Deadline::at(at);
    }
    #[inline]
    pub(crate) fn arm_rto(&mut self, at: Time) {
        self.arm(Timer::Rto, at);
    }
    #[inline]
    pub(crate) fn arm_probe(&mut self, at: Time) {
        self.arm(Timer::Probe, at);
    }
    /// RFC 8985 section 7.2, `TLP_calc_PTO`; `single`: one segment is in flight.
    #[inline]
    pub(crate) fn probe_timeout(&self, srtt: Option<PosDur>, single: bool) -> Dur {
        let margin = if single { self.min_rto.min(WORST_ACK_DELAY) } else { self.tick * 2 };
        srtt.map_or(self.initial_rto, |srtt| srtt.dur() * 2 + margin)
    }
    /// RFC 8985 section 6.3: the last doubtful segment is decided after `remaining`.
    pub(crate) fn arm_reordering(&mut self, now: Time, remaining: Dur, rto: Dur) {
        self.arm(Timer::Reordering, now + (remaining + self.tick * 2).min(rto));
    }
    /// RFC 9293 section 3.8.6.1: the window is closed and nothing is in flight: ask at growing intervals.
    pub(crate) fn arm_window_probe(&mut self, now: Time, rto: Dur) {
        let wait = rto.max(self.min_rto).as_ns().saturating_mul(1 << self.probes.min(20));
        self.arm(Timer::Window, now + Dur::from_ns(wait).min(self.max_rto));
    }

    /// The cumulative acknowledgement advanced, or a timeout was spurious.
    #[inline]
    pub(crate) fn on_progress(&mut self) {
        self.retries = 0;
    }
    /// The window has opened.
    pub(crate) fn reset_probes(&mut self) {
        self.probes = 0;
    }
    /// True if no timer is set.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.armed.is_none()
    }
    /// The timer that has expired.
    #[inline]
    pub(super) fn expire(&mut self, now: Time) -> Option<Timer> {
        if self.due.take_due(now) { self.armed } else { None }
    }
    /// RFC 6298 (5.4): a retransmission timeout. False after too many in a row.
    pub(super) fn count_timeout(&mut self) -> bool {
        self.retries += 1;
        let go_on = self.retries <= self.max_retries;
        self.timeouts += u64::from(go_on);
        go_on
    }
}
