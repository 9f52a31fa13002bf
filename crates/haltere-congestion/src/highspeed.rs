//! HighSpeed TCP: a steeper growth and a gentler reduction in large windows.
//! Source, deviations and known problems: see [`Params`].
//! Model: in a window of w segments cwnd += a(w) a round trip; on loss cwnd *= 1 - b(w). b falls from 1/2 at 38 segments to
//! `high_decrease` at 83,000, linearly in log w. a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) with p(w) = 0.078 / w^1.2.
//! Units: segments. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno that grows faster and gives back less in large windows, for paths with a large bandwidth-delay product.
///
/// Source: RFC 3649 (section 5).
///
/// Deviations: a(w) and b(w) are computed; Linux has them in a table of 73 rows, which RFC 3649 appendix B prints.
/// Each acknowledgement adds a(w)/w, however much it covers, as in the RFC and in Linux: with delayed acknowledgements that is half of a(w) a
/// round trip.
///
/// Known problems: it is unfair to Reno above 38 segments, by intent, and to flows with longer round-trip times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Window in segments up to which it is Reno, from 2 to 10000. The default is RFC 3649's Low_Window (section 5).
    pub low_window: u32,
    /// What a loss takes from a window of 83,000 segments, above 0 and at most 0.5. The default is RFC 3649's High_Decrease
    /// (section 5).
    pub high_decrease: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { low_window: 38, high_decrease: 0.1 }
    }
}

/// RFC 3649 section 5: High_Window in segments.
const HIGH_WINDOW: f64 = 83_000.0;

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
}

/// The control.
pub type Highspeed = Windowed<Law>;

impl Highspeed {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Highspeed, ParamError> {
        let usual = Params::default();
        if !(2..=10_000).contains(&params.low_window) {
            return Err(
                ParamError::new("low_window", "from 2 to 10000", params.low_window).default_is(usual.low_window)
            );
        }
        if !(params.high_decrease > 0.0 && params.high_decrease <= 0.5) {
            return Err(ParamError::new("high_decrease", "above 0 and at most 0.5", params.high_decrease)
                .default_is(usual.high_decrease));
        }
        Ok(Windowed { window: Window::new(sender), law: Law { params: params.clone() } })
    }
}

impl Law {
    /// b(w): the share of the window that a loss takes.
    fn decrease(&self, cwnd: u64) -> f64 {
        let (w, low) = (cwnd as f64, f64::from(self.params.low_window));
        if w <= low {
            return 0.5;
        }
        let place = libm::log(w / low) / libm::log(HIGH_WINDOW / low);
        (0.5 + (self.params.high_decrease - 0.5) * place).max(self.params.high_decrease)
    }
    /// a(w): segments a round trip.
    fn increase(&self, cwnd: u64) -> f64 {
        if cwnd <= u64::from(self.params.low_window) {
            return 1.0;
        }
        let (w, b) = (cwnd as f64, self.decrease(cwnd));
        let p = 0.078 / libm::pow(w, 1.2);
        (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
    }
}

impl WindowLaw for Law {
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        let per_segment = window.cwnd as f64 / self.increase(window.cwnd);
        window.additive_increase(per_segment as u64, acked.min(1)); // RFC 3649 section 5: a(w)/w for each ACK
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        (window.cwnd as f64 * (1.0 - self.decrease(window.cwnd))) as u64
    }
    fn probe(&self, row: &mut Probe) {
        row.push("low_window", "segments", f64::from(self.params.low_window));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{loss, sender};

    /// RFC 3649 appendix B, some rows: w, a(w), b(w).
    #[test]
    fn the_table_of_the_rfc() {
        let law = Law { params: Params::default() };
        for (w, a, b) in [(38, 1.0, 0.50), (118, 2.0, 0.44), (221, 3.0, 0.41), (347, 4.0, 0.38), (1058, 8.0, 0.33)] {
            assert!((law.increase(w) - a).abs() < 0.03 * a, "a({w}) = {}", law.increase(w));
            assert!((law.decrease(w) - b).abs() < 0.01, "b({w}) = {}", law.decrease(w));
        }
        assert!((law.decrease(83_000) - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_small_window_is_reno_s() {
        let mut c = Highspeed::new(&Params::default(), &sender(10)).unwrap().avoiding(20);
        assert_eq!(c.round(0, 100, 100), 1);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 10);
    }

    #[test]
    fn a_window_of_118_segments_grows_by_two_and_loses_44_percent() {
        let mut c = Highspeed::new(&Params::default(), &sender(10)).unwrap().avoiding(118);
        assert_eq!(c.round(0, 100, 100), 2);
        c.window.cwnd = 118;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 65);
    }
}
