//! RTprop, and ProbeRTT: half a bandwidth-delay product for 200 ms (draft section 5.3.4).

use super::{Ack, Bbr3, MIN_RTT_WINDOW, State};
use crate::RateSample;
use haltere_units::{Dur, Time};

/// The state of ProbeRTT.
#[derive(Debug, Clone, Default)]
pub(super) struct ProbeRtt {
    /// The least RTT of the last interval and when it was seen.
    pub min_delay: Option<Dur>,
    pub min_stamp: Time,
    done: Option<Time>,
    round_done: bool,
    /// What is sent while so many bytes were delivered (from, to) is limited by ProbeRTT, not by the path.
    limited: Option<(u64, u64)>,
}

impl ProbeRtt {
    /// Marks a sample of what was sent in ProbeRTT as not the path's bandwidth.
    pub fn limit(&mut self, rate: RateSample) -> RateSample {
        let Some((from, to)) = self.limited else { return rate };
        if rate.prior_delivered > to {
            self.limited = None;
        }
        RateSample { app_limited: rate.app_limited || (from..=to).contains(&rate.prior_delivered), ..rate }
    }
}

impl Bbr3 {
    /// Draft §5.3.4.3, BBRUpdateMinRTT and BBRCheckProbeRTT.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.ev.now;
        let expired =
            self.probe_rtt.min_delay.is_some() && now.since(self.probe_rtt.min_stamp) > self.params.probe_rtt_interval;
        if let Some(rtt) = ack.ev.rtt
            && (expired || self.probe_rtt.min_delay.is_none_or(|min| rtt < min))
        {
            self.probe_rtt.min_delay = Some(rtt);
            self.probe_rtt.min_stamp = now;
        }
        let old = now.since(self.min_rtt_stamp) > MIN_RTT_WINDOW;
        if let Some(delay) = self.probe_rtt.min_delay
            && (old || self.min_rtt.is_none_or(|min| delay < min))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt.min_stamp;
        }
        if expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt.done = None;
            self.cycle.acks = super::probe_bw::AckPhase::ProbeStopping;
            self.start_round(ack.rate);
        }
        if self.state == State::ProbeRtt {
            self.in_probe_rtt(ack);
        }
        if ack.rate.is_some_and(|rate| rate.delivered.as_u64() > 0) {
            self.idle_restart = false;
        }
    }

    fn in_probe_rtt(&mut self, ack: &Ack) {
        if let Some(rate) = ack.rate {
            let from = self.probe_rtt.limited.map_or(rate.total_delivered, |(from, _)| from);
            self.probe_rtt.limited = Some((from, rate.total_delivered + ack.ev.in_flight.as_u64()));
        }
        if self.probe_rtt.done.is_some() {
            self.probe_rtt.round_done |= self.round_start;
            if self.probe_rtt.round_done {
                self.check_probe_rtt_done(ack.ev.now, ack.rate);
            }
        } else if ack.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt.done = Some(ack.ev.now + self.params.probe_rtt_duration);
            self.probe_rtt.round_done = false;
            self.start_round(ack.rate);
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time, rate: Option<RateSample>) {
        if self.probe_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt.min_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.bounds.forget_short();
        if self.full_pipe.reached {
            self.start_down(now, rate);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
