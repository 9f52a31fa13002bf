//! From the model to the pacing rate and the window (draft section 5.6).

use super::{Ack, Bbr3, Gain, MIN_CWND, PROBE_RTT_GAINS, Repair, STARTUP_GAINS, State};
use crate::bbr::pacing::{burst, paced};
use haltere_units::{Bytes, Dur, Rate};

impl Bbr3 {
    pub(super) fn init_pacing_rate(&mut self, rtt: Dur) {
        let bw = Rate::of(Bytes::new(self.cwnd * self.mss), rtt.max(Dur::from_us(1)));
        self.pacing_rate = paced(bw, STARTUP_GAINS.0);
    }
    pub(super) fn set_pacing_rate(&mut self, gain: Gain) {
        let rate = paced(self.bw(), gain);
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn product(&self, bw: Rate, gain: Gain) -> u64 {
        match self.min_rtt {
            None => self.initial,
            Some(rtt) => gain.of(bw.bytes_in(rtt).as_u64()).div_ceil(self.mss),
        }
    }
    /// Draft §5.6.4.2, BBRBDPMultiple.
    pub(super) fn bdp(&self, gain: Gain) -> u64 {
        self.product(self.bw(), gain)
    }
    /// Room for whole bursts (draft §5.6.4.2, BBRQuantizationBudget).
    fn with_bursts(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd.max(3 * burst(self.pacing_rate, self.mss)).max(MIN_CWND);
        if self.state == State::Up { cwnd + 2 } else { cwnd }
    }
    pub(super) fn inflight(&self, gain: Gain) -> u64 {
        self.with_bursts(self.product(self.max_bw.get(), gain))
    }
    /// Draft §5.3.3.5, BBRTargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(Gain::UNIT).min(self.cwnd)
    }
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp(PROBE_RTT_GAINS.1).max(MIN_CWND)
    }

    pub(super) fn save_cwnd(&mut self) {
        let fresh = self.repair == Repair::None && self.state != State::ProbeRtt;
        if fresh {
            self.bounds.save();
        }
        self.prior_cwnd = self.cwnd.max(if fresh { 0 } else { self.prior_cwnd });
    }

    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        self.follow_repair(ack);
        if ack.acked > 0 {
            if self.packet_conservation {
                self.cwnd = self.cwnd.max(ack.in_flight + ack.acked);
            } else {
                self.approach_target(ack.acked);
            }
        }
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound();
    }

    /// Draft §5.6.4.6, BBRSetCwnd.
    fn approach_target(&mut self, acked: u64) {
        let target = self.with_bursts(self.bdp(self.gains().1) + self.extra_acked.get());
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || self.delivered < self.initial {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
    }

    /// Draft §5.6.4.4, BBRModulateCwndForRecovery and the transitions around it.
    fn follow_repair(&mut self, ack: &Ack) {
        let (before, repair) = (self.repair, self.repair_of(ack.ev));
        if ack.acked == 0 {
            // A transition is taken with the next acknowledgement that delivers something.
            return;
        }
        let begins = repair == Repair::Fast && before != Repair::Fast;
        if begins {
            self.save_cwnd();
        }
        self.cwnd = self.cwnd.saturating_sub(ack.lost).max(1);
        if begins {
            self.packet_conservation = true;
            self.start_round(ack.rate);
            self.cwnd = ack.in_flight + ack.acked;
        } else if repair == Repair::None && before != Repair::None {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.repair = repair;
    }

    /// Draft §5.6.4.7, BBRBoundCwndForModel.
    fn bound(&mut self) {
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
            State::Startup | State::Drain => None,
        };
        let cap = long.unwrap_or(u64::MAX).min(self.bounds.inflight_short.unwrap_or(u64::MAX));
        self.cwnd = self.cwnd.min(cap.max(MIN_CWND));
    }
}
