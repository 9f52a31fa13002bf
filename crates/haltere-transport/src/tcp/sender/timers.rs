//! The sender's timers: retransmission, tail loss probe, reordering, window probe. One is set at a time.
//! Source: RFC 6298 section 5, RFC 8985 sections 6.3 and 7.2, RFC 9293 section 3.8.6.1.
//! Deviations (Linux): the probe's timeout with one segment under way is 2 SRTT + 200 ms, with more 2 SRTT + two clock
//! ticks; a reordering timeout has two ticks of margin; timers are not rounded up to ticks.
//! Units: ns. Cost: O(1), a timeout O(window). Known problems: none.

use crate::TcpParams;
use crate::tcp::sender::recovery::CaState;
use crate::tcp::sender::{Forced, Sender};
use haltere_units::Time;

/// What the timer is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timer {
    None,
    Rto,
    Probe,
    Reorder,
    Window,
}

/// The sender's timer.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Xmit {
    pub at: u64,
    pub timer: Timer,
    tlp: bool,
    tick: u64,
    max_rto: u64,
    min_rto: u64,
    initial_rto: u64,
    max_retries: u32,
    /// Timeouts since the last progress.
    pub retries: u32,
    /// Window probes since the window closed.
    pub probes: u32,
    pub timeouts: u64,
}

impl Xmit {
    pub(crate) fn new(p: &TcpParams) -> Xmit {
        Xmit {
            timer: Timer::None,
            at: u64::MAX,
            tlp: p.tlp,
            tick: p.tick.as_ns(),
            max_rto: p.max_rto.as_ns(),
            min_rto: p.min_rto.as_ns(),
            initial_rto: p.initial_rto.as_ns(),
            max_retries: p.max_retries,
            retries: 0,
            probes: 0,
            timeouts: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.timer = Timer::None;
        self.at = u64::MAX;
    }
}

impl Sender {
    #[inline]
    pub(crate) fn set_rto(&mut self, at: u64) {
        self.xmit.timer = Timer::Rto;
        self.xmit.at = at;
    }

    /// RFC 6298 (5.1 to 5.3): runs from now; where a probe or reordering timer ran, from the oldest segment's sending.
    #[inline]
    pub(crate) fn rearm_rto(&mut self, now: u64) {
        let Some(front) = self.board.front() else {
            self.xmit.clear();
            return;
        };
        let at = match self.xmit.timer {
            Timer::Probe | Timer::Reorder => (front.sent_at + self.rtt.rto()).max(now + 1),
            _ => now + self.rtt.rto(),
        };
        self.set_rto(at);
    }

    /// After progress: a probe if one may be sent, else the retransmission timer.
    #[inline]
    pub(crate) fn set_xmit_timer(&mut self, now: u64) {
        if !self.schedule_tlp(now, true) {
            self.rearm_rto(now);
        }
    }

    /// RFC 8985 section 7.2: arms the probe timer. False where no probe is in order.
    #[inline]
    pub(crate) fn schedule_tlp(&mut self, now: u64, advancing: bool) -> bool {
        if !self.xmit.tlp || !self.sack_ok || self.board.is_empty() {
            return false;
        }
        if !matches!(self.state, CaState::Open | CaState::Cwr) || self.rec.tlp_end != 0 {
            return false;
        }
        let srtt = self.rtt.srtt();
        let margin = if self.board.len() == 1 { self.xmit.min_rto.min(200_000_000) } else { 2 * self.xmit.tick };
        let pto = if srtt == 0 { self.xmit.initial_rto } else { 2 * srtt + margin };
        let rto_at = match self.board.front() {
            Some(front) if !advancing => (front.sent_at + self.rtt.rto()).max(now + 1),
            _ => now + self.rtt.rto(),
        };
        self.xmit.timer = Timer::Probe;
        self.xmit.at = (now + pto).min(rto_at);
        true
    }

    pub(crate) fn set_reorder_timer(&mut self, now: u64, remaining: u64) {
        self.xmit.timer = Timer::Reorder;
        self.xmit.at = now + (remaining + 2 * self.xmit.tick).min(self.rtt.rto());
    }

    /// The window is closed and nothing is under way: ask from time to time.
    pub(crate) fn arm_window_probe(&mut self, now: u64) {
        let wait = self.rtt.rto().max(self.xmit.min_rto).saturating_mul(1 << self.xmit.probes.min(20));
        self.xmit.timer = Timer::Window;
        self.xmit.at = now + wait.min(self.xmit.max_rto);
    }

    /// The time named may have come. False where the connection is to be given up.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        if now.as_ns() >= self.pacing_wake {
            self.pacing_wake = u64::MAX;
        }
        if now.as_ns() < self.xmit.at {
            return true;
        }
        self.xmit.at = u64::MAX;
        match self.xmit.timer {
            Timer::None => {}
            Timer::Rto => return self.on_rto(now),
            Timer::Probe => self.forced = Forced::Probe,
            Timer::Reorder => self.on_reorder_timeout(now),
            Timer::Window => {
                self.xmit.timer = Timer::None;
                self.xmit.probes += 1;
                self.forced = Forced::WindowProbe;
                self.arm_window_probe(now.as_ns());
            }
        }
        true
    }

    fn on_rto(&mut self, now: Time) -> bool {
        if self.board.is_empty() {
            self.xmit.clear();
            return true;
        }
        self.xmit.retries += 1;
        if self.xmit.retries > self.xmit.max_retries {
            return false;
        }
        self.xmit.timeouts += 1;
        self.enter_loss(now);
        self.rtt.back_off();
        self.forced = Forced::Head;
        self.set_rto(now.as_ns() + self.rtt.rto());
        true
    }

    fn on_reorder_timeout(&mut self, now: Time) {
        let before = self.in_flight();
        let lost_before = self.delivery.lost;
        let remaining = self.rack_detect(now.as_ns());
        if self.in_flight() != before {
            if self.state != CaState::Recovery {
                self.enter_recovery(false);
                self.tell_loss(now);
                if !self.owns_recovery {
                    let lost = self.delivery.lost - lost_before;
                    self.prr_step(self.mss, lost, false);
                }
            }
            self.turn = crate::tcp::sender::Turn::Lost;
            self.refresh_cwnd();
        }
        if remaining > 0 {
            self.set_reorder_timer(now.as_ns(), remaining);
        } else {
            self.rearm_rto(now.as_ns());
        }
    }
}
