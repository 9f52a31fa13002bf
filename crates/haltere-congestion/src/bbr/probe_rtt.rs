//! RTprop, and ProbeRTT: let the queue drain to measure it again.
//!
//! When no RTT as low as RTprop was seen for ten seconds, the window goes to four segments for 200 ms and at
//! least one round, which all flows of a bottleneck do together once they have seen the same empty queue.

use super::{Ack, Bbr, MIN_CWND, Mode};
use crate::RateSample;
use haltere_units::Time;

/// The state of ProbeRTT.
#[derive(Debug, Clone, Default)]
pub(super) struct ProbeRtt {
    /// When the window may rise again; `None` until the flight is small enough.
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

impl Bbr {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.ev.now;
        let expired = self.min_rtt.is_some() && now.since(self.min_rtt_stamp) > self.params.probe_rtt_interval;
        if let Some(rtt) = ack.ev.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt < min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = now;
        }
        // After an idle time the queue is ours no more: the first samples will do.
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.done = None;
        }
        if self.mode == Mode::ProbeRtt {
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
                self.check_probe_rtt_done(ack.ev.now);
            }
        } else if ack.in_flight <= MIN_CWND {
            self.probe_rtt.done = Some(ack.ev.now + self.params.probe_rtt_duration);
            self.probe_rtt.round_done = false;
            if let Some(rate) = ack.rate {
                self.next_round_delivered = rate.total_delivered;
            }
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
