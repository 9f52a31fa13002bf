//! BALIA: balanced linked adaptation of the subflows of a multipath connection.
//! Source: Q. Peng, A. Walid, J. Hwang, S. Low, "Multipath TCP: Analysis, Design, and Implementation", ToN 24 (2016), and
//! draft-walid-mptcp-congestion-control-04 (section 2).
//! Model: x_r = w_r / rtt_r, a_r = max x_k / x_r; for each segment acknowledged on path r
//! w_r += (x_r / rtt_r) / (sum x_k)^2 * (1 + a_r) / 2 * (4 + a_r) / 5; on loss w_r -= w_r / 2 * min(a_r, 1.5).
//! Slow start and timeouts are Reno's. Alone, or with one subflow, it is Reno.
//! Deviations: none.
//! Units: segments and seconds within, bytes at the door. Cost: O(subflows) an acknowledgement. Known problems: none.

use crate::Hystart;
use crate::coupled::{Coupled, Rule};
use crate::coupling::CouplingView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Balanced linked adaptation (Peng et al. 2016).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// How the first slow start ends before a loss: `off`, `hystart++` (RFC 9406) or `classic` (as in Linux's CUBIC).
    /// Default `off`: the draft knows none.
    pub hystart: Hystart,
}

impl Default for Params {
    fn default() -> Params {
        Params { hystart: Hystart::Off }
    }
}

/// The control of one subflow.
pub type Balia = Coupled<Balanced>;

/// The draft's growth and decrease.
#[derive(Debug, Clone, Default)]
pub struct Balanced {
    /// Growth for each segment acknowledged, and a_r; `None` before siblings are known.
    linked: Option<(f64, f64)>,
}

/// The growth for each segment acknowledged, and a_r.
fn linked(view: &CouplingView<'_>, mss: f64) -> Option<(f64, f64)> {
    let (w, rtt) = view.own(mss)?;
    let x = w / rtt;
    let all = view.rates(mss).map(|(w, r)| w / r);
    let (sum, most) = (all.clone().sum::<f64>(), all.fold(0.0, f64::max));
    let a = most / x;
    (x > 0.0).then(|| (x / rtt / (sum * sum) * (1.0 + a) / 2.0 * (4.0 + a) / 5.0, a))
}

impl Rule for Balanced {
    type Params = Params;
    fn hystart(params: &Params) -> Hystart {
        params.hystart
    }
    fn learn(&mut self, view: &CouplingView<'_>, mss: f64) {
        self.linked = linked(view, mss);
    }
    fn growth(&self, alone: f64) -> f64 {
        self.linked.map_or(alone, |(each, _)| each)
    }
    fn reduced(&self, cwnd: u64) -> u64 {
        let Some((_, a)) = self.linked else { return cwnd / 2 };
        let w = cwnd as f64;
        (w - w / 2.0 * a.min(1.5)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CongestionControl, LossEvent, SenderContext, Sibling};
    use haltere_units::{Bytes, Dur, Time};

    fn sibling(segments: u64, ms: u64) -> Sibling {
        Sibling { cwnd: Bytes::new(1000 * segments), srtt: Dur::from_ms(ms), between_losses: Bytes::ZERO }
    }

    #[test]
    fn one_path_alone_is_reno() {
        let siblings = [sibling(10, 100)];
        let (each, a) = linked(&CouplingView { siblings: &siblings, this: 0 }, 1000.0).unwrap();
        assert!((each - 0.1).abs() < 1e-12 && a == 1.0, "{each} {a}");
    }

    #[test]
    fn a_slow_path_gives_up_three_quarters_at_most() {
        // x: 100/s and 10/s: a = 10 for the slow one, capped to 1.5: 8 segments become 8 - 8 / 2 * 1.5 = 2.
        let siblings = [sibling(10, 100), sibling(1, 100)];
        let mss = Bytes::new(1000);
        let mut c = Balia::new(&Params::default(), &SenderContext { mss, initial_window: mss * 8, seed: 0 }).unwrap();
        c.on_coupling(&CouplingView { siblings: &siblings, this: 1 });
        c.on_loss(&LossEvent::at(Time::ZERO, crate::LossKind::Loss));
        assert_eq!(c.cwnd(), mss * 2);
        let mut best =
            Balia::new(&Params::default(), &SenderContext { mss, initial_window: mss * 8, seed: 0 }).unwrap();
        best.on_coupling(&CouplingView { siblings: &siblings, this: 0 });
        best.on_loss(&LossEvent::at(Time::ZERO, crate::LossKind::Loss));
        assert_eq!(best.cwnd(), mss * 4);
    }
}
