//! H-TCP: the window grows with the time since the last loss, and a loss drains the queue and no more.
//! Source, deviations and known problems: see [`Params`].
//! Model: with D seconds since the last loss, alpha = 1 for D <= 1, else 1 + 10 (D - 1) + ((D - 1) / 2)^2; scaled by the
//! round-trip time and by 2 (1 - beta). cwnd += alpha a round trip. On loss cwnd *= beta = RTT_min / RTT_max, from 0.5 to 0.8, or
//! 0.5 if the throughput changed by over a fifth.
//! Units: segments; times in seconds. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Growth follows the time since the last loss, so flows converge fast on paths with large bandwidth-delay products.
///
/// Source: Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004; draft-leith-tcp-htcp-06.
///
/// Deviations: these are Linux's. The largest RTT follows the smoothed one, by at most 20 ms at a time, and forgets 5 % of its
/// distance to the least RTT at each loss. beta adapts from the second of two losses at about one throughput.
///
/// Known problems: after long times without loss it grows so fast that many segments are lost at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// True: alpha is scaled to that of a path of 100 ms (from half to ten times), so that fairness depends less on the
    /// round-trip time.
    pub rtt_scaling: bool,
    /// True: beta is 0.5 after a change of the throughput by over a fifth.
    pub bandwidth_switch: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { rtt_scaling: true, bandwidth_switch: true }
    }
}

/// The draft's bounds of beta.
const BETA: (f64, f64) = (0.5, 0.8);
/// Below this least RTT beta stays 0.5 (Linux).
const SHORT_RTT: Dur = Dur::from_ms(10);
/// The largest RTT rises by at most this (Linux).
const MAX_RTT_STEP: Dur = Dur::from_ms(20);

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
    beta: f64,
    /// The last loss, or the first acknowledgement.
    last_loss: Option<Time>,
    min_rtt: Dur,
    max_rtt: Dur,
    /// Bytes delivered in the round trip that runs, and its start.
    bytes: u64,
    since: Option<Time>,
    /// The largest throughput since the last loss and in the time before, in byte/s.
    best: f64,
    best_before: f64,
    /// The last two losses came at about one throughput.
    steady: bool,
}

/// The control.
pub type Htcp = Windowed<Law>;

impl Htcp {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Htcp, ParamError> {
        let law = Law {
            params: params.clone(),
            beta: BETA.0,
            last_loss: None,
            min_rtt: Dur::ZERO,
            max_rtt: Dur::ZERO,
            bytes: 0,
            since: None,
            best: 0.0,
            best_before: 0.0,
            steady: false,
        };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    /// Segments a round trip.
    fn alpha(&self, now: Time) -> f64 {
        let elapsed = now.since(self.last_loss.unwrap_or(now)).as_secs_f64() - 1.0;
        let mut alpha = if elapsed <= 0.0 { 1.0 } else { 1.0 + 10.0 * elapsed + elapsed * elapsed / 4.0 };
        if self.params.rtt_scaling && !self.min_rtt.is_zero() {
            alpha /= (0.1 / self.min_rtt.as_secs_f64()).clamp(0.5, 10.0);
        }
        (2.0 * (1.0 - self.beta) * alpha).max(1.0)
    }

    fn measure(&mut self, now: Time, delivered: Bytes) {
        let since = *self.since.get_or_insert(now);
        self.bytes += delivered.as_u64();
        let took = now.since(since);
        if !self.min_rtt.is_zero() && took >= self.min_rtt {
            self.best = self.best.max(self.bytes as f64 / took.as_secs_f64());
            (self.bytes, self.since) = (0, Some(now));
        }
    }

    /// beta after a loss.
    fn adapt(&mut self) {
        let steady = (self.best - self.best_before).abs() <= 0.2 * self.best_before;
        self.best_before = self.best;
        self.best = 0.0;
        let adapts = (steady || !self.params.bandwidth_switch) && self.steady;
        self.steady = steady || !self.params.bandwidth_switch;
        self.beta = if adapts && self.min_rtt > SHORT_RTT && !self.max_rtt.is_zero() {
            (self.min_rtt.as_secs_f64() / self.max_rtt.as_secs_f64()).clamp(BETA.0, BETA.1)
        } else {
            BETA.0
        };
        if self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, _window: &mut Window) {
        self.last_loss.get_or_insert(ev.now);
        self.min_rtt = ev.min_rtt;
        if !ev.in_recovery {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if ev.srtt > self.max_rtt && ev.srtt <= self.max_rtt + MAX_RTT_STEP {
                self.max_rtt = ev.srtt;
            }
            self.measure(ev.now, ev.delivered);
        }
    }
    fn avoid(&mut self, ev: &AckEvent, window: &mut Window, acked: u64) {
        let per_segment = window.cwnd as f64 / self.alpha(ev.now);
        window.additive_increase(per_segment as u64, acked);
    }
    fn reduced(&mut self, window: &Window, now: Time) -> u64 {
        self.adapt();
        self.last_loss = Some(now);
        (window.cwnd as f64 * self.beta) as u64
    }
    fn probe(&self, row: &mut Probe) {
        row.push("beta", "", self.beta);
        row.push("max_rtt", "s", self.max_rtt.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, at, loss, sender};

    fn htcp(params: Params) -> Htcp {
        Htcp::new(&params, &sender(10)).unwrap().avoiding(1000)
    }

    #[test]
    fn alpha_is_the_draft_s_function_of_the_time_since_the_loss() {
        let mut c = htcp(Params { rtt_scaling: false, ..Params::default() });
        c.law.last_loss = Some(at(0));
        // 2 (1 - 0.5) = 1: alpha itself.
        for (ms, alpha) in [(500, 1.0), (1000, 1.0), (2000, 11.25), (3000, 22.0)] {
            assert!((c.law.alpha(at(ms)) - alpha).abs() < 1e-9, "after {ms} ms: {}", c.law.alpha(at(ms)));
        }
    }

    #[test]
    fn a_path_of_20_ms_grows_a_fifth_as_fast() {
        let mut c = htcp(Params::default());
        c.law.last_loss = Some(at(0));
        c.law.min_rtt = Dur::from_ms(20);
        assert!((c.law.alpha(at(3000)) - 22.0 / 5.0).abs() < 1e-9);
    }

    #[test]
    fn beta_is_the_ratio_of_the_round_trip_times_once_the_throughput_is_steady() {
        let mut c = htcp(Params::default());
        let mut lose = |now: u64| {
            for i in 0..100 {
                c.on_ack(&ack(now + 10 * i, 10, if i < 50 { 85 } else { 100 }, 70));
            }
            c.window.cwnd = 1000;
            c.on_loss(&loss(now + 1000));
            c.window.cwnd
        };
        assert_eq!(lose(0), 500, "nothing to compare with");
        assert_eq!(lose(2000), 500, "steady once");
        let left = lose(4000);
        assert!((690..=710).contains(&left), "70 ms of 100 ms: {left}");
    }
}
