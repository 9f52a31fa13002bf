//! BALIA: balanced linked adaptation of the subflows of a multipath connection.
//! Model: x_r = w_r / rtt_r, a_r = max x_k / x_r. For each segment acknowledged on path r w_r += (x_r / rtt_r) / (sum
//! x_k)^2 * (1 + a_r) / 2 * (4 + a_r) / 5. On loss w_r -= w_r / 2 * min(a_r, 1.5). Slow start and timeouts are Reno's.
//! With one subflow, or outside a multipath connection, it is Reno.
//! Units: segments and seconds within, bytes in the interface. Cost: O(subflows) an acknowledgement.

use crate::coupled::{Coupled, Rule, coupled_params};
use crate::coupling::CouplingView;

coupled_params! {
    /// Balanced linked adaptation: a compromise between LIA's responsiveness and OLIA's fairness to other flows.
    ///
    /// Source: Q. Peng, A. Walid, J. Hwang and S. Low, "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM
    /// Transactions on Networking 24, 2016. draft-walid-mptcp-congestion-control-04 (section 2).
    ///
    /// Deviations: none.
    ///
    /// Known problems: none.
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
        let mut c = Balia::new(
            &Params::default(),
            &SenderContext { mss, initial_window: mss * 8, seed: 0, ..Default::default() },
        )
        .unwrap();
        c.on_coupling(&CouplingView { siblings: &siblings, this: 1 });
        c.on_loss(&LossEvent::at(Time::ZERO, crate::LossKind::Loss));
        assert_eq!(c.cwnd(), mss * 2);
        let mut best = Balia::new(
            &Params::default(),
            &SenderContext { mss, initial_window: mss * 8, seed: 0, ..Default::default() },
        )
        .unwrap();
        best.on_coupling(&CouplingView { siblings: &siblings, this: 0 });
        best.on_loss(&LossEvent::at(Time::ZERO, crate::LossKind::Loss));
        assert_eq!(best.cwnd(), mss * 4);
    }
}
