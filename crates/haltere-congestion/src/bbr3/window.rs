//! From the model to the window (draft section 5.6).

use super::{Ack, Bbr3, Gain, PROBE_RTT_GAINS, State};
use crate::bbr_core::MIN_CWND;

impl Bbr3 {
    /// Draft §5.6.4.2, BBRBDPMultiple.
    pub(super) fn bdp(&self, gain: Gain) -> u64 {
        self.core.bdp(self.bw(), gain)
    }
    /// Room for whole bursts (draft §5.6.4.2, BBRQuantizationBudget).
    fn with_bursts(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd.max(3 * self.core.burst()).max(MIN_CWND);
        if self.state == State::Up { cwnd + 2 } else { cwnd }
    }
    pub(super) fn inflight(&self, gain: Gain) -> u64 {
        self.with_bursts(self.core.bdp(self.core.max_bw.get(), gain))
    }
    /// Draft §5.3.3.5, BBRTargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(Gain::UNIT).min(self.core.cwnd)
    }
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(PROBE_RTT_GAINS.1).max(MIN_CWND)
    }

    /// Remembers the window and the bounds, to restore them.
    pub(super) fn save_cwnd(&mut self) {
        if self.core.save_cwnd(self.state == State::ProbeRtt) {
            self.bounds.save();
        }
    }

    /// Draft §5.6.4.4 and §5.6.4.6, BBRModulateCwndForRecovery and BBRSetCwnd.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        if self.core.follow_repair(ack, self.state == State::ProbeRtt) {
            self.bounds.save();
        }
        let target = self.with_bursts(self.bdp(self.gains().1) + self.extra_acked.get());
        self.core.approach(ack, target);
        if self.state == State::ProbeRtt {
            self.core.cwnd = self.core.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound();
    }

    /// Draft §5.6.4.7, BBRBoundCwndForModel.
    fn bound(&mut self) {
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = long.unwrap_or(u64::MAX).min(self.bounds.inflight_short.unwrap_or(u64::MAX));
        self.core.cwnd = self.core.cwnd.min(cap.max(MIN_CWND));
    }
}
