//! RTprop, and ProbeRTT: let the queue drain to measure it again.
//!
//! When no RTT as low as RTprop was seen for ten seconds, the window goes to four segments for 200 ms and at least one
//! round, which all flows of a bottleneck do together once they have seen the same empty queue.

use super::{Ack, Bbr, Mode};
use crate::bbr_core::MIN_CWND;
use haltere_units::Time;

impl Bbr {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = self.core.min_rtt.update(ack.ev.now, ack.ev.rtt, self.params.probe_rtt_interval);
        // After a pause the flow has no queue of its own: the first samples will do.
        if expired && !self.core.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.core.start_probe_rtt();
        }
        if self.mode == Mode::ProbeRtt && self.core.step_probe_rtt(ack, MIN_CWND, self.params.probe_rtt_duration) {
            self.check_probe_rtt_done(ack.ev.now);
        }
        self.core.end_restart(ack);
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if !self.core.probe_rtt_is_over(now) {
            return;
        }
        self.core.min_rtt.stamp = now;
        self.core.restore_cwnd();
        if self.core.filled {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
