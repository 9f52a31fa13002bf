//! OLIA: opportunistic linked increases of the subflows of a multipath connection.
//! Model: w_r windows, rtt_r round-trip times. For each segment acknowledged on path r w_r += (w_r / rtt_r^2) / (sum
//! w_p / rtt_p)^2 + alpha_r / w_r. Best paths B have the largest l_r^2 / rtt_r, with l_r the bytes between the last two
//! losses or since the last, whichever is more. M are the paths with the largest window. The paths in B but not in M
//! ("collected") share 1/n, which those in M give up: alpha_r = 1 / (n |collected|), -1 / (n |M|), else 0. Slow start
//! and losses are Reno's, but the threshold after a loss is at least one segment.
//! Units: segments and seconds within, bytes in the interface. Cost: O(subflows) an acknowledgement.

use crate::coupled::{Coupled, Rule, coupled_params};
use crate::coupling::CouplingView;
use haltere_units::Bytes;

coupled_params! {
    /// Opportunistic linked increases: as LIA, and windows move from paths with large windows to the best paths.
    ///
    /// Source: R. Khalili, N. Gast, M. Popovic and J.-Y. Le Boudec, "MPTCP is not Pareto-optimal", CoNEXT 2012.
    /// draft-khalili-mptcp-congestion-control-05 (section 3).
    ///
    /// Deviations: a path's quality is l_r^2 / rtt_r as in the draft; the paper has l_r / rtt_r^2.
    ///
    /// Known problems: it finds free capacity slowly on a path with a small window (Peng et al. 2016). BALIA avoids
    /// this.
}

/// The control of one subflow.
pub type Olia = Coupled<Opportunistic>;

/// The growth of the draft.
#[derive(Debug, Clone, Default)]
pub struct Opportunistic {
    /// Growth for each segment acknowledged; `None` before siblings are known.
    per_segment: Option<f64>,
    /// Bytes delivered between the last two losses, and since the last.
    between: u64,
    since: u64,
}

/// alpha_r of the draft.
fn shift(view: &CouplingView<'_>, mss: f64) -> f64 {
    let known = || view.siblings.iter().enumerate().filter(|(_, s)| !s.srtt.is_zero());
    let quality = |s: &crate::Sibling| {
        let l = s.between_losses.as_u64() as f64 / mss;
        l * l / s.srtt.as_secs_f64()
    };
    let best = known().map(|(_, s)| quality(s)).fold(0.0, f64::max);
    let widest = known().map(|(_, s)| s.cwnd).max().unwrap_or(Bytes::ZERO);
    let is_widest = |s: &crate::Sibling| s.cwnd == widest;
    let is_collected = |s: &crate::Sibling| quality(s) >= best && !is_widest(s);
    let collected = known().filter(|(_, s)| is_collected(s)).count();
    let Some(own) = view.siblings.get(view.this).filter(|s| !s.srtt.is_zero()) else { return 0.0 };
    if collected == 0 {
        return 0.0;
    }
    let n = known().count() as f64;
    if is_collected(own) {
        1.0 / (n * collected as f64)
    } else if is_widest(own) {
        -1.0 / (n * known().filter(|(_, s)| is_widest(s)).count() as f64)
    } else {
        0.0
    }
}

fn growth(view: &CouplingView<'_>, mss: f64) -> Option<f64> {
    let (w, r) = view.own(mss)?;
    let rate: f64 = view.rates(mss).map(|(w, r)| w / r).sum();
    (rate > 0.0 && w > 0.0).then(|| w / (r * r) / (rate * rate) + shift(view, mss) / w)
}

impl Rule for Opportunistic {
    type Params = Params;
    fn learn(&mut self, view: &CouplingView<'_>, mss: f64) {
        self.per_segment = growth(view, mss);
    }
    fn growth(&self, alone: f64) -> f64 {
        self.per_segment.unwrap_or(alone)
    }
    fn on_delivered(&mut self, bytes: Bytes) {
        self.since += bytes.as_u64();
    }
    fn on_lost(&mut self) {
        self.between = core::mem::take(&mut self.since);
    }
    fn between_losses(&self) -> Bytes {
        Bytes::new(self.between.max(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sibling;
    use haltere_units::Dur;

    fn sibling(segments: u64, ms: u64, between: u64) -> Sibling {
        Sibling {
            cwnd: Bytes::new(1000 * segments),
            srtt: Dur::from_ms(ms),
            between_losses: Bytes::new(1000 * between),
        }
    }

    #[test]
    fn the_best_path_with_a_small_window_takes_from_the_widest() {
        let siblings = [sibling(20, 100, 50), sibling(5, 100, 200)];
        assert_eq!(shift(&CouplingView { siblings: &siblings, this: 1 }, 1000.0), 0.5);
        assert_eq!(shift(&CouplingView { siblings: &siblings, this: 0 }, 1000.0), -0.5);
    }

    #[test]
    fn nothing_shifts_where_the_best_path_has_the_widest_window() {
        let siblings = [sibling(20, 100, 200), sibling(5, 100, 50)];
        for this in 0..2 {
            assert_eq!(shift(&CouplingView { siblings: &siblings, this }, 1000.0), 0.0);
        }
    }

    #[test]
    fn one_path_alone_is_reno() {
        let siblings = [sibling(10, 100, 7)];
        assert!((growth(&CouplingView { siblings: &siblings, this: 0 }, 1000.0).unwrap() - 0.1).abs() < 1e-12);
    }
}
