//! ECF: earliest completion first.
//! Source, deviations and known problems: see [`Params`].
//! Model: k segments wait; the fast path f is full, the slow one s has room. n = 1 + k / cwnd_f round trips of f send
//! them all. s stays idle if n rtt_f < (1 + waiting beta)(rtt_s + delta) and k / cwnd_s rtt_s >= 2 rtt_f + delta, with
//! delta the larger deviation.
//! Units: segments and ns. Cost: O(paths) a segment.

use super::PathScheduler;
use crate::multipath::view::{PathView, Paths, SegView, fastest};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Leaves a slow path idle if the fast path would send all waiting segments sooner.
///
/// Source: Y. Lim, E. Nahum, D. Towsley and R. Gibbens, "ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths",
/// CoNEXT 2017, algorithm 1.
///
/// Deviations: none.
///
/// Known problems: with an endless stream the waiting segments are the send buffer, and it behaves as `lowest_rtt`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Hysteresis, from 0 to 10: how much longer a path that waits goes on waiting. The default is the authors'.
    pub beta: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { beta: 0.25 }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if (0.0..=10.0).contains(&self.beta) {
            Ok(())
        } else {
            Err(ParamError::new("beta", "from 0 to 10", self.beta).default_is(Params::default().beta))
        }
    }
}

/// The scheduler with its parameters and state.
#[derive(Debug, Clone)]
pub struct Ecf {
    beta: f64,
    waiting: bool,
}

impl Ecf {
    /// A scheduler without state.
    pub fn new(params: &Params) -> Ecf {
        Ecf { beta: params.beta, waiting: false }
    }
    /// Whether to wait for `fast` rather than to use `slow`.
    fn waits(&mut self, fast: &PathView, slow: &PathView, seg: &SegView) -> bool {
        let cwnd = |p: &PathView| (p.cwnd.as_u64() as f64).max(1.0);
        let rtt = |p: &PathView| p.srtt.as_ns() as f64;
        let k = seg.waiting.as_u64() as f64;
        let delta = fast.rttvar.max(slow.rttvar).as_ns() as f64;
        let rounds = 1.0 + k / cwnd(fast);
        let patience = 1.0 + if self.waiting { self.beta } else { 0.0 };
        if rounds * rtt(fast) >= patience * (rtt(slow) + delta) {
            self.waiting = false;
            return false;
        }
        let sooner = k / cwnd(slow) * rtt(slow) >= 2.0 * rtt(fast) + delta;
        self.waiting |= sooner;
        sooner
    }
}

impl PathScheduler for Ecf {
    fn pick(&mut self, _now: Time, paths: &[PathView], seg: &SegView) -> Paths {
        let Some(best) = fastest(paths, |p| p.usable) else { return Paths::NONE };
        if best.ready {
            return Paths::one(best.path);
        }
        match fastest(paths, PathView::is_open) {
            Some(slow) if !self.waits(best, slow, seg) => Paths::one(slow.path),
            _ => Paths::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Bytes, Dur};

    #[test]
    fn the_last_segments_wait_for_the_fast_path() {
        let mut paths: [PathView; 2] = core::array::from_fn(PathView::new);
        (paths[0].srtt, paths[1].srtt) = (Dur::from_ms(10), Dur::from_ms(100));
        paths.iter_mut().for_each(|p| p.cwnd = Bytes::new(10_000));
        paths[0].ready = false;
        let mut seg = SegView::default();
        let mut ecf = Ecf::new(&Params::default());
        // 5 segments: two round trips of 10 ms beat one of 100 ms.
        seg.waiting = Bytes::new(5_000);
        assert_eq!(ecf.pick(Time::ZERO, &paths, &seg), Paths::NONE);
        // 200 segments: 21 round trips do not, nor by a quarter more.
        seg.waiting = Bytes::new(200_000);
        assert_eq!(ecf.pick(Time::ZERO, &paths, &seg), Paths::one(1));
    }
}
