//! From the model to the window (draft section 5.6).

use super::{Ack, Bbr3, Gain, PROBE_RTT_GAINS, State};
use crate::bbr_core::MIN_CWND;
use haltere_units::Rate;

impl Bbr3 {
    /// Draft §5.6.4.2, BDPMultiple.
    pub(super) fn bdp(&self, gain: Gain) -> u64 {
        self.core.bdp(self.bw(), gain)
    }
    /// Room for whole bursts (draft §5.6.4.2, QuantizationBudget).
    fn with_bursts(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd.max(3 * self.core.burst()).max(MIN_CWND);
        if self.state == State::Up { cwnd + 2 } else { cwnd }
    }
    /// Draft §5.6.4.2, Inflight, for that bandwidth.
    pub(super) fn inflight(&self, bw: Rate, gain: Gain) -> u64 {
        self.with_bursts(self.core.bdp(bw, gain))
    }
    /// Draft §5.3.3.8, TargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(Gain::UNIT).min(self.core.cwnd)
    }
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(PROBE_RTT_GAINS.1).max(MIN_CWND)
    }

    /// Draft §5.6.4.6, SetCwnd. Recovery has no rule of its own: it is the bounds that answer a loss.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let target = self.with_bursts(self.bdp(self.gains().1) + self.extra_acked.get());
        self.core.approach(ack, target);
        if self.state == State::ProbeRtt {
            self.core.cwnd = self.core.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound();
    }

    /// Draft §5.6.4.7, BoundCwndForModel.
    pub(super) fn bound(&mut self) {
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = long.unwrap_or(u64::MAX).min(self.bounds.inflight_short.unwrap_or(u64::MAX));
        self.core.cwnd = self.core.cwnd.min(cap.max(MIN_CWND));
    }
}
