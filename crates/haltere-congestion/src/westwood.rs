//! Westwood+: a loss leaves the window that the measured bandwidth fills.
//! Source, deviations and known problems: see [`Params`].
//! Model: once a round trip, and at most every 50 ms, b = bytes delivered / time; two low-pass filters of 7/8 in a row give B. On
//! loss ssthresh = B RTT_min. Growth as Reno.
//! Units: byte/s; windows in segments. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// After a loss the window is what the measured bandwidth needs without a queue, for paths that lose at random.
///
/// Source: Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood", MobiCom 2001; Grieco and Mascolo, "Performance evaluation
/// and comparison of Westwood+, New Reno and Vegas", ACM CCR 34(2), 2004 (one sample a round trip).
///
/// Deviations: the constants are Linux's (7/8, 50 ms).
///
/// Known problems: a bandwidth that others share is estimated too high, so it takes more than its share from Reno behind small
/// buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The least time that a sample of the bandwidth takes. The default is Linux's.
    pub interval: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params { interval: Dur::from_ms(50) }
    }
}

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    interval: Dur,
    mss: f64,
    /// Bytes delivered since `since`.
    bytes: u64,
    since: Option<Time>,
    /// After the first filter and after both, in byte/s.
    once: f64,
    twice: f64,
    min_rtt: Dur,
}

/// The control.
pub type Westwood = Windowed<Law>;

impl Westwood {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Westwood, ParamError> {
        let law = Law {
            interval: params.interval,
            mss: sender.mss.as_u64().max(1) as f64,
            bytes: 0,
            since: None,
            once: 0.0,
            twice: 0.0,
            min_rtt: Dur::ZERO,
        };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    fn sample(&mut self, rate: f64) {
        if self.twice == 0.0 {
            (self.once, self.twice) = (rate, rate);
            return;
        }
        self.once = (7.0 * self.once + rate) / 8.0;
        self.twice = (7.0 * self.twice + self.once) / 8.0;
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, _window: &mut Window) {
        self.min_rtt = ev.min_rtt;
        self.bytes += ev.delivered.as_u64();
        let since = *self.since.get_or_insert(ev.now);
        let took = ev.now.since(since);
        if !took.is_zero() && took >= self.interval.max(ev.rtt.unwrap_or(ev.srtt)) {
            self.sample(self.bytes as f64 / took.as_secs_f64());
            (self.bytes, self.since) = (0, Some(ev.now));
        }
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        window.additive_increase(window.cwnd, acked);
    }
    fn reduced(&mut self, _window: &Window, _now: Time) -> u64 {
        (self.twice * self.min_rtt.as_secs_f64() / self.mss) as u64
    }
    fn probe(&self, row: &mut Probe) {
        row.push("bandwidth", "bit/s", self.twice * 8.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    #[test]
    fn a_loss_leaves_bandwidth_times_least_rtt() {
        let mut c = Westwood::new(&Params::default(), &sender(10)).unwrap().avoiding(100);
        // One segment a millisecond: 1000 segments/s; with 40 ms that is 40 segments.
        for ms in 0..5000 {
            c.on_ack(&ack(ms, 1, 60, 40));
        }
        c.on_loss(&loss(5000));
        assert!((39..=41).contains(&c.window.cwnd), "{}", c.window.cwnd);
    }

    #[test]
    fn the_filters_take_an_eighth_of_an_eighth_of_a_step() {
        let mut c = Westwood::new(&Params::default(), &sender(10)).unwrap();
        c.law.sample(800.0);
        c.law.sample(1600.0);
        assert!((c.law.once - 900.0).abs() < 1e-9 && (c.law.twice - 812.5).abs() < 1e-9);
    }

    #[test]
    fn before_any_sample_two_segments_are_left() {
        let mut c = Westwood::new(&Params::default(), &sender(10)).unwrap().avoiding(100);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 2);
    }
}
