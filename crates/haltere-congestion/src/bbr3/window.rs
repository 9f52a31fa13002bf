//! From the model to the window (draft section 5.6).

use super::{Ack, Bbr3, Gain, PROBE_RTT_WINDOW, State};
use crate::bbr_core::{MIN_CWND, burst};
use haltere_units::{Dur, Rate};

impl Bbr3 {
    /// Draft §5.6.4.2, BDPMultiple.
    pub(super) fn bdp(&self, gain: Gain) -> u64 {
        self.core.bdp(self.bw(), gain)
    }
    /// Room for whole bursts (draft §5.6.4.2, QuantizationBudget).
    fn with_bursts(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd.max(3 * self.burst()).max(MIN_CWND);
        if self.state == State::Up { cwnd + 2 } else { cwnd }
    }
    /// Draft §5.6.4.2, Inflight, for that bandwidth.
    pub(super) fn inflight(&self, bw: Rate, gain: Gain) -> u64 {
        self.with_bursts(self.core.bdp(bw, gain))
    }
    /// Segments that leave together. The authors' code adds 64 kB on paths of some hundred us, halved for every 512 us
    /// of the least round-trip time, and has two segments at any rate.
    fn burst(&self) -> u64 {
        if !self.is_linux() {
            return self.core.burst();
        }
        let halvings = self.core.min_rtt.value.unwrap_or(Dur::MAX).as_ns() / 512_000;
        let more = if halvings < 32 { 65_536 >> halvings } else { 0 };
        burst(self.core.pacing_rate, more, self.core.mss).max(2)
    }
    /// Draft §5.3.3.8, TargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        let bdp = if self.is_linux() { self.inflight(self.bw(), Gain::UNIT) } else { self.bdp(Gain::UNIT) };
        bdp.min(self.core.cwnd)
    }
    /// That flight, in the authors' code as it will be when the next burst leaves.
    pub(super) fn in_net(&self, ack: &Ack, in_flight: u64) -> u64 {
        if !self.is_linux() {
            return in_flight;
        }
        let burst = if self.gains().0 > Gain::UNIT { self.burst() } else { 0 };
        self.core.in_net_at_departure(ack, in_flight, self.bw(), burst)
    }
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(PROBE_RTT_WINDOW).max(MIN_CWND)
    }

    /// Draft §5.6.4.6, SetCwnd. Recovery has no rule of its own: it is the bounds that answer a loss.
    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let target = self.with_bursts(self.bdp(self.gains().1) + self.aggregated());
        let initial = self.core.initial;
        let may_start = if self.is_linux() { self.core.cwnd < 2 * initial } else { self.core.delivered < initial };
        let before = self.core.cwnd;
        self.core.approach(ack, target, may_start);
        if ack.acked > 0 {
            self.at_target =
                if self.core.filled { before + ack.acked >= target } else { before >= target && !may_start };
        }
        if self.state == State::ProbeRtt {
            self.core.cwnd = self.core.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound();
    }

    /// Draft §5.6.4.7, BoundCwndForModel.
    pub(super) fn bound(&mut self) {
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = long.unwrap_or(u64::MAX).min(self.bounds.inflight_short.unwrap_or(u64::MAX));
        self.core.cwnd = self.core.cwnd.min(cap.max(MIN_CWND));
    }
}
