//! From the model to the pacing rate and the window.

use super::pacing::{burst, paced};
use super::{Ack, Bbr, Gain, HIGH_GAIN, MIN_CWND, Mode, Repair};
use haltere_units::{Bytes, Dur, Rate};

impl Bbr {
    /// Before there are samples: the initial window in one round trip, with Startup's gain.
    pub(super) fn init_pacing_rate(&mut self, rtt: Dur) {
        let bw = Rate::of(Bytes::new(self.cwnd * self.mss), rtt.max(Dur::from_us(1)));
        self.pacing_rate = paced(bw, HIGH_GAIN);
    }

    /// In Startup the rate never falls: early samples are low.
    pub(super) fn set_pacing_rate(&mut self, bw: Rate, gain: Gain) {
        let rate = paced(bw, gain);
        if self.full_pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn burst(&self) -> u64 {
        burst(self.pacing_rate, self.mss)
    }

    /// The bandwidth-delay product with a gain, rounded up to segments.
    fn bdp(&self, bw: Rate, gain: Gain) -> u64 {
        match self.min_rtt {
            None => self.initial,
            Some(rtt) => gain.of(bw.bytes_in(rtt).as_u64()).div_ceil(self.mss),
        }
    }

    /// Room for whole bursts: one at the sender, one in the receiver's hands, one under way.
    fn with_bursts(&self, cwnd: u64) -> u64 {
        // Even, as delayed acknowledgements take two; two more let a small window probe at all.
        let cwnd = (cwnd + 3 * self.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle.probes() { cwnd + 2 } else { cwnd }
    }

    /// What should be in flight with this gain.
    pub(super) fn inflight(&self, bw: Rate, gain: Gain) -> u64 {
        self.with_bursts(self.bdp(bw, gain))
    }

    /// What will be in the network when the next segment leaves: pacing may hold it back.
    pub(super) fn in_net_at_departure(&self, ack: &Ack, in_flight: u64) -> u64 {
        let wait = ack.ev.next_departure.since(ack.ev.now);
        let delivered = self.bw().bytes_in(wait).as_u64() / self.mss;
        let burst = if self.pacing_gain > Gain::UNIT { self.burst() } else { 0 };
        (in_flight + burst).saturating_sub(delivered)
    }

    /// Remembers the window, to restore it after recovery or ProbeRTT.
    pub(super) fn save_cwnd(&mut self) {
        let kept = if self.repair == Repair::None && self.mode != Mode::ProbeRtt { 0 } else { self.prior_cwnd };
        self.prior_cwnd = kept.max(self.cwnd);
    }

    pub(super) fn set_cwnd(&mut self, ack: &Ack, bw: Rate) {
        self.follow_repair(ack);
        if ack.acked > 0 {
            if self.packet_conservation {
                self.cwnd = self.cwnd.max(ack.in_flight + ack.acked);
            } else {
                self.approach_target(ack.acked, bw);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// A segment more for each acknowledged, up to the target; the window is cut only when the pipe has been full.
    fn approach_target(&mut self, acked: u64, bw: Rate) {
        let target = self.with_bursts(self.bdp(bw, self.cwnd_gain) + self.aggregation_cwnd());
        if self.full_pipe.reached {
            self.cwnd = (self.cwnd + acked).min(target);
        } else if self.cwnd < target || self.delivered < self.initial {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
    }

    /// Recovery: what is lost leaves the window; its first round sends what is delivered, no more; at its end the
    /// window from before it returns.
    fn follow_repair(&mut self, ack: &Ack) {
        let (before, repair) = (self.repair, self.repair_of(ack.ev));
        if ack.acked == 0 {
            // A transition is taken with the next acknowledgement that delivers something.
            return;
        }
        if repair == Repair::Fast && before != Repair::Fast {
            self.save_cwnd();
        }
        self.cwnd = self.cwnd.saturating_sub(ack.lost).max(1);
        if repair == Repair::Fast && before != Repair::Fast {
            self.packet_conservation = true;
            if let Some(rate) = ack.rate {
                self.next_round_delivered = rate.total_delivered;
            }
            self.cwnd = ack.in_flight + ack.acked;
        } else if repair == Repair::None && before != Repair::None {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.repair = repair;
    }
}
