//! Hybla: flows over long paths grow as fast in time as a flow over a path of 25 ms.
//! Source, deviations and known problems: see [`Params`].
//! Model: rho = max(RTT / RTT0, 1). Slow start: cwnd += 2^rho - 1 for each segment acknowledged. Congestion avoidance: cwnd +=
//! rho^2 / cwnd. On loss as Reno.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::reno::halved;
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Growth does not depend on the round-trip time, for satellite paths.
///
/// Source: Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", Int. J. of Satellite
/// Communications and Networking 22(5), 2004.
///
/// Deviations: this is Linux's: rho follows the least round-trip time so far, so a queue does not speed the growth up. Pacing and
/// the paper's advice on timestamps and SACK are the transport's matter. Each acknowledgement adds, however much it covers, as in the paper and in Linux: with delayed
/// acknowledgements the window grows half as fast.
///
/// Known problems: after a loss over a long path it sends large bursts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The round-trip time RTT0 of the flow to be matched, above 0. The default is the paper's and Linux's.
    pub rtt0: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params { rtt0: Dur::from_ms(25) }
    }
}

/// 2^rho with a larger rho would leave every window behind.
const MAX_RHO: f64 = 16.0;

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    rtt0: Dur,
    rho: f64,
    least: Option<Dur>,
    /// The part of a segment by which the window should be larger.
    part: f64,
}

/// The control.
pub type Hybla = Windowed<Law>;

impl Hybla {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Hybla, ParamError> {
        if params.rtt0.is_zero() {
            return Err(ParamError::new("rtt0", "above 0", params.rtt0).default_is(Params::default().rtt0));
        }
        let law = Law { rtt0: params.rtt0, rho: 1.0, least: None, part: 0.0 };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    fn sample(&mut self, rtt: Dur) {
        if self.least.is_none_or(|least| rtt < least) {
            self.least = Some(rtt);
            self.rho = (rtt.as_secs_f64() / self.rtt0.as_secs_f64()).clamp(1.0, MAX_RHO);
        }
    }
    /// The whole segments of this growth; the rest is kept.
    fn whole(&mut self, growth: f64) -> u64 {
        let sum = self.part + growth;
        self.part = sum - libm::floor(sum);
        libm::floor(sum) as u64
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, _window: &mut Window) {
        if let Some(rtt) = ev.rtt {
            self.sample(rtt);
        }
    }
    fn established(&mut self, _window: &mut Window, rtt: Dur) {
        self.sample(rtt);
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        let growth = self.whole(acked.min(1) as f64 * (libm::exp2(self.rho) - 1.0));
        window.set_cwnd((window.cwnd + growth).min(window.ssthresh));
        0
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        let growth = self.whole(acked.min(1) as f64 * self.rho * self.rho / window.cwnd as f64);
        window.set_cwnd(window.cwnd + growth);
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        halved(window)
    }
    fn probe(&self, row: &mut Probe) {
        row.push("rho", "", self.rho);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, sender};

    #[test]
    fn at_four_times_the_reference_the_window_grows_by_sixteen() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap().avoiding(400);
        c.on_established(crate::law::testing::at(0), Dur::from_ms(100));
        let grown = c.round(0, 100, 100);
        assert!((15..=16).contains(&grown), "rho^2 = 16 a round trip, less as the window grows: {grown}");
    }

    #[test]
    fn below_the_reference_it_is_reno() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap().avoiding(20);
        c.round(0, 10, 10);
        assert!((c.window.cwnd as f64 + c.law.part - 21.0).abs() < 0.1);
    }

    #[test]
    fn slow_start_multiplies_by_two_to_the_rho() {
        let mut c = Hybla::new(&Params::default(), &sender(10)).unwrap();
        c.on_ack(&ack(0, 1, 50, 50));
        assert_eq!(c.window.cwnd, 13, "rho = 2: three more");
    }
}
