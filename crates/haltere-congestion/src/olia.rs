//! OLIA: opportunistic linked increases of the subflows of a multipath connection.
//! Source: R. Khalili, N. Gast, M. Popovic, J.-Y. Le Boudec, "MPTCP is not Pareto-optimal", CoNEXT 2012, and
//! draft-khalili-mptcp-congestion-control-05 (section 3).
//! Model: w_r windows, rtt_r round-trip times; for each segment acknowledged on path r
//! w_r += (w_r / rtt_r^2) / (sum w_p / rtt_p)^2 + alpha_r / w_r.
//! Best paths B have the largest l_r^2 / rtt_r, l_r the bytes between the last two losses or since the last, whichever is
//! more; M are those with the largest window. The paths in B but not in M ("collected") share 1/n, those in M give
//! it up: alpha_r = 1 / (n |collected|), -1 / (n |M|), else 0. Slow start and losses are Reno's, but the threshold
//! after a loss is not below one segment.
//! Deviations: l_r^2 / rtt_r as the draft has it (the paper: l_r / rtt_r^2).
//! Units: segments and seconds within, bytes at the door. Cost: O(subflows) an acknowledgement.
//! Known problems: slow to find free capacity on a path with a small window (Peng et al. 2016), which BALIA mends.

use crate::coupling::{CouplingView, Credit};
use crate::slow_start::{Hystart, SlowStart};
use crate::window::Window;
use crate::{AckEvent, CongestionControl, LossEvent, RestartEvent, RtoEvent, SenderContext, reno};
use haltere_units::{Bytes, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Opportunistic linked increases (Khalili et al. 2012).
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
#[derive(Debug, Clone)]
pub struct Olia {
    window: Window,
    slow_start: SlowStart,
    mss: f64,
    /// Growth for each segment acknowledged; `None` before siblings are known.
    per_segment: Option<f64>,
    credit: Credit,
    /// Bytes delivered between the last two losses, and since the last.
    between: u64,
    since: u64,
}

impl Olia {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Olia, ParamError> {
        let mss = sender.mss.as_u64().max(1) as f64;
        let (window, slow_start) = (Window::new(sender), SlowStart::new(params.hystart));
        Ok(Olia { window, slow_start, mss, per_segment: None, credit: Credit::default(), between: 0, since: 0 })
    }
    fn lost(&mut self) {
        self.between = core::mem::take(&mut self.since);
    }
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

impl CongestionControl for Olia {
    fn on_coupling(&mut self, view: &CouplingView<'_>) {
        self.per_segment = growth(view, self.mss);
    }
    fn is_coupled(&self) -> bool {
        true
    }
    fn bytes_between_losses(&self) -> Bytes {
        Bytes::new(self.between.max(self.since))
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        self.since += ev.delivered.as_u64();
        self.slow_start.on_ack(ev, ev.min_rtt, &mut self.window);
        let acked = self.window.take_acked(ev);
        if !ev.cwnd_limited || acked == 0 {
            return;
        }
        let rest = if self.window.in_slow_start() { self.slow_start.grow(&mut self.window, acked) } else { acked };
        let each = self.per_segment.unwrap_or(1.0 / self.window.cwnd as f64);
        if rest > 0 {
            self.credit.add(each * rest as f64, &mut self.window);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.lost();
        self.window.reduce(reno::halved(&self.window), ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.lost();
        self.window.timeout(reno::halved(&self.window), ev);
        self.slow_start.reset();
        self.credit.clear();
    }
    fn on_spurious(&mut self, _now: Time) {
        self.window.undo();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
    }
    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }
    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh_bytes()
    }
    fn probe(&self, row: &mut Probe) {
        self.slow_start.probe(row);
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
