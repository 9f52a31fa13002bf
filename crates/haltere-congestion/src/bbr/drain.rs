//! Drain: empty the queue that Startup built.

use super::{Ack, Bbr, Gain, Mode};

impl Bbr {
    /// From Startup to Drain when the pipe is full; from Drain on when in flight is at most the estimated BDP.
    pub(super) fn check_drain(&mut self, ack: &Ack) {
        let bdp = self.inflight(self.max_bw.get(), Gain::UNIT);
        if self.mode == Mode::Startup && self.core.filled {
            self.mode = Mode::Drain;
            self.ssthresh = bdp;
        }
        if self.mode == Mode::Drain && self.in_net_at_departure(ack, ack.in_flight) <= bdp {
            self.enter_probe_bw(ack.ev.now);
        }
    }
}
