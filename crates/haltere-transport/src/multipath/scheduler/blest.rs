//! BLEST: blocking estimation.
//! Source, deviations and known problems: see [`Params`].
//! Model: the fast path F is full, the slow one S has room. While a segment is in flight on S (rtt_S / rtt_F round
//! trips of F) F could send X = mss_F (cwnd_F + (rtt_S / rtt_F - 1) / 2) rtt_S / rtt_F bytes. S waits if lambda X does
//! not fit the window that the flight on S and the segment leave. lambda grows if the window blocks all the same, and
//! falls otherwise.
//! Units: segments and bytes within. Cost: O(paths) a segment.

use super::PathScheduler;
use crate::multipath::view::{PathView, Paths, SegView, fastest};
use haltere_units::{ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Leaves a slow path idle if a segment on it would block the fast path's window.
///
/// Source: S. Ferlin, O. Alay, O. Mehani and R. Boreli, "BLEST: Blocking Estimation-based MPTCP Scheduler for
/// Heterogeneous Networks", IFIP Networking 2016, section III.
///
/// Deviations: lambda is adapted once a round trip of the slow path, as in the authors' kernel.
///
/// Known problems: none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Weight of the estimate at the start, from 1 to `lambda_max`.
    pub lambda: f64,
    /// Largest weight.
    pub lambda_max: f64,
    /// Step by which the weight changes, from 0 to 1.
    pub delta: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { lambda: 1.2, lambda_max: 1.3, delta: 0.01 }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if !(1.0..=self.lambda_max).contains(&self.lambda) {
            return Err(ParamError::new(
                "lambda",
                alloc::format!("from 1 to lambda_max ({})", self.lambda_max),
                self.lambda,
            )
            .default_is(Params::default().lambda));
        }
        if !(0.0..=1.0).contains(&self.delta) {
            return Err(ParamError::new("delta", "from 0 to 1", self.delta).default_is(Params::default().delta));
        }
        Ok(())
    }
}

/// The scheduler with its parameters and state.
#[derive(Debug, Clone)]
pub struct Blest {
    params: Params,
    lambda: f64,
    /// The window has blocked since the last change, and when the next one is due.
    blocked: bool,
    next_change: Time,
}

impl Blest {
    /// With its first weight.
    pub fn new(params: &Params) -> Blest {
        Blest { params: params.clone(), lambda: params.lambda, blocked: false, next_change: Time::ZERO }
    }
    fn adapt(&mut self, now: Time, slow: &PathView) {
        if now < self.next_change {
            return;
        }
        self.next_change = now + slow.srtt;
        let step = if core::mem::take(&mut self.blocked) { self.params.delta } else { -self.params.delta };
        self.lambda = (self.lambda + step).clamp(1.0, self.params.lambda_max);
    }
    /// The segment on `slow` would block `fast`.
    fn would_block(&self, fast: &PathView, slow: &PathView, seg: &SegView) -> bool {
        let mss = fast.mss.as_u64() as f64;
        let rounds = slow.srtt.as_ns() as f64 / fast.srtt.as_ns().max(1) as f64;
        let cwnd = fast.cwnd.as_u64() as f64 / mss;
        let sends = mss * (cwnd + (rounds - 1.0) / 2.0) * rounds;
        let window = seg.window.as_u64() + seg.unacked.as_u64();
        let left = window as f64 - slow.in_flight.as_u64() as f64 - seg.len.as_u64() as f64;
        sends * self.lambda > left
    }
}

impl PathScheduler for Blest {
    fn pick(&mut self, now: Time, paths: &[PathView], seg: &SegView) -> Paths {
        let Some(best) = fastest(paths, |p| p.usable) else { return Paths::NONE };
        if best.ready {
            return Paths::one(best.path);
        }
        let Some(slow) = fastest(paths, PathView::is_open) else { return Paths::NONE };
        self.blocked |= seg.window < seg.len + best.mss;
        self.adapt(now, slow);
        if self.would_block(best, slow, seg) { Paths::NONE } else { Paths::one(slow.path) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Bytes, Dur};

    #[test]
    fn a_slow_path_waits_where_the_window_is_small() {
        let mut paths: [PathView; 2] = core::array::from_fn(PathView::new);
        (paths[0].srtt, paths[1].srtt) = (Dur::from_ms(10), Dur::from_ms(50));
        paths.iter_mut().for_each(|p| p.mss = Bytes::new(1000));
        (paths[0].cwnd, paths[0].ready) = (Bytes::new(10_000), false);
        // X = 1000 (10 + 2) 5 = 60 kB, times at most 1.2.
        let mut seg = SegView { len: Bytes::new(1000), window: Bytes::new(61_000), ..SegView::default() };
        let mut blest = Blest::new(&Params::default());
        assert_eq!(blest.pick(Time::ZERO, &paths, &seg), Paths::NONE);
        seg.window = Bytes::new(74_000);
        assert_eq!(blest.pick(Time::ZERO, &paths, &seg), Paths::one(1));
        paths[0].ready = true;
        assert_eq!(blest.pick(Time::ZERO, &paths, &seg), Paths::one(0));
    }
}
