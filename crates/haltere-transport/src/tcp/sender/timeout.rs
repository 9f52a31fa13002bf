//! What the sender does when it sets a timer or one expires.
//! Source: RFC 6298 section 5, RFC 8985 section 6.3. Deviations: those of `timers.rs`.
//! Units: ns. Cost: O(1), a timeout O(window). Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::outgoing::{Forced, Turn};
use super::timers::Timer;
use haltere_units::{Dur, Time};

impl Sender {
    /// RFC 6298 (5.1 to 5.3): runs from now; if a probe or reordering timer ran, from the oldest segment's sending.
    #[inline]
    pub(crate) fn rearm_rto(&mut self, now: Time) {
        let Some(front) = self.board.front() else {
            self.timers.clear();
            return;
        };
        let rto = self.rtt.rto();
        let at = match self.timers.armed {
            Some(Timer::Probe | Timer::Reordering) => (front.sent_at + rto).max(now + Dur::from_ns(1)),
            _ => now + rto,
        };
        self.timers.arm_rto(at);
    }

    /// After progress: a probe if one may be sent, else the retransmission timer.
    #[inline]
    pub(crate) fn set_transmit_timer(&mut self, now: Time) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// A timer may have expired. False if the connection is to be given up.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        self.pacing.on_timeout(now);
        match self.timers.expire(now) {
            None => {}
            Some(Timer::Rto) => return self.on_rto(now),
            Some(Timer::Probe) => self.output.force(Forced::Probe),
            Some(Timer::Reordering) => self.on_reordering_timeout(now),
            Some(Timer::Window) => {
                self.timers.probes += 1;
                self.output.force(Forced::WindowProbe);
                self.timers.arm_window_probe(now, self.rtt.rto());
            }
        }
        true
    }

    fn on_rto(&mut self, now: Time) -> bool {
        if self.board.is_empty() {
            self.timers.clear();
            return true;
        }
        if !self.timers.count_timeout() {
            return false;
        }
        self.enter_loss(now);
        self.rtt.back_off();
        self.output.force(Forced::Oldest);
        self.timers.arm_rto(now + self.rtt.rto());
        true
    }

    fn on_reordering_timeout(&mut self, now: Time) {
        let before = self.in_flight();
        let remaining = self.rack_detect_loss(now);
        if self.in_flight() != before {
            if self.recovery.state() != CaState::Recovery {
                self.enter_recovery(false);
                self.notify_reduction(now);
                if !self.owns_recovery {
                    self.reduce(self.buffer.mss(), false);
                }
            }
            self.output.set_turn(Turn::Lost);
            self.refresh_cwnd();
        }
        match remaining {
            Some(remaining) => self.timers.arm_reordering(now, remaining, self.rtt.rto()),
            None => self.rearm_rto(now),
        }
    }
}
