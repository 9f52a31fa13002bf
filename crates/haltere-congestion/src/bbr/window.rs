//! From the model to the window.

use super::{Ack, Bbr, Gain, Mode};
use crate::bbr_core::MIN_CWND;
use haltere_units::Rate;

impl Bbr {
    /// Room for whole bursts: one at the sender, one at the receiver, one on the path.
    fn with_bursts(&self, cwnd: u64) -> u64 {
        // Even, because delayed acknowledgements take two. Two more let a small window probe at all.
        let cwnd = (cwnd + 3 * self.core.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle.probes() { cwnd + 2 } else { cwnd }
    }

    /// The inflight target with this gain.
    pub(super) fn inflight(&self, bw: Rate, gain: Gain) -> u64 {
        self.with_bursts(self.core.bdp(bw, gain))
    }

    /// The expected bytes in flight when pacing releases the next segment.
    pub(super) fn in_net_at_departure(&self, ack: &Ack, in_flight: u64) -> u64 {
        let burst = if self.pacing_gain > Gain::UNIT { self.core.burst() } else { 0 };
        self.core.in_net_at_departure(ack, in_flight, self.bw(), burst)
    }

    pub(super) fn set_cwnd(&mut self, ack: &Ack, bw: Rate) {
        self.core.follow_repair(ack, self.mode == Mode::ProbeRtt);
        let aggregated = if self.core.filled { self.aggregation.cwnd(&self.core, self.bw()) } else { 0 };
        let target = self.with_bursts(self.core.bdp(bw, self.cwnd_gain) + aggregated);
        self.core.approach(ack, target, self.core.delivered < self.core.initial);
        if self.mode == Mode::ProbeRtt {
            self.core.cwnd = self.core.cwnd.min(MIN_CWND);
        }
    }
}
