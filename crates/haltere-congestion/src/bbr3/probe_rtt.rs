//! RTprop, and ProbeRTT: half a bandwidth-delay product for 200 ms (draft section 5.3.4).

use super::{Ack, Bbr3, MIN_RTT_WINDOW, State};
use crate::bbr_core::MinRtt;
use haltere_units::Time;

impl Bbr3 {
    /// Draft §5.3.4.3, UpdateMinRTT and CheckProbeRTT.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.ev.now;
        let expired = self.probe_min.update(now, ack.ev.rtt, self.params.probe_rtt_interval);
        let linux = self.is_linux();
        // In the authors' code the stamp follows as long as both are equal, so that ProbeRTT renews the longer window,
        // too.
        let MinRtt { value, stamp } = &self.core.min_rtt;
        let old = now.since(*stamp) > MIN_RTT_WINDOW;
        if let Some(delay) = self.probe_min.value
            && (old || value.is_none_or(|min| delay < min || (linux && delay == min)))
        {
            self.core.min_rtt = self.probe_min.clone();
        }
        if expired && !self.core.idle_restart && self.state != State::ProbeRtt {
            self.core.save_cwnd(linux);
            self.state = State::ProbeRtt;
            self.core.start_probe_rtt();
            self.cycle.cut();
            self.start_round();
        }
        let (target, duration) = (self.probe_rtt_cwnd(), self.params.probe_rtt_duration);
        if self.state == State::ProbeRtt && self.core.step_probe_rtt(ack, target, duration) {
            self.check_probe_rtt_done(now);
        }
        self.core.end_restart(ack);
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if !self.core.probe_rtt_is_over(now) {
            return;
        }
        self.probe_min.stamp = now;
        self.core.restore_cwnd();
        self.bounds.forget_short();
        if self.core.filled {
            self.start_down();
            self.cycle.stamp(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
