//! MSCM: Pearson's coefficient of one-way delays.
//! Source, deviations and known problems: see [`Params`].
//! Model: the last N one-way delays of each path, paired in their order; c = cov / (sigma sigma).
//! Units: ns; the coefficient has none. Cost: O(N) a pair at each interval, O(1) a sample.

use super::window::Windows;
use super::{Observation, PathCorrelator, Relation, Relations};
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two paths share a bottleneck if their one-way delays correlate (Pearson's coefficient).
///
/// Source: J. Liao, J. Wang, T. Li and X. Zhu, "Introducing multipath selection for concurrent multipath transfer in
/// the future internet", Computer Networks 55 (2011), as Felix et al. use it for comparison (section 5.1).
///
/// Deviations: samples are paired by their place in the window, as for RED-CPI, not by time.
///
/// Known problems: on paths with unequal rates it pairs samples of different times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Samples of each path, from 3 to 10000. The default is from Felix et al. (section 5.1).
    pub window: u32,
    /// Time from one computation to the next, at least 10 us.
    pub interval: Dur,
    /// Coefficient from which on two paths share a bottleneck, above 0 and at most 1.
    pub phi: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { window: 50, interval: Dur::from_secs(2), phi: 0.8 }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        super::check(self.window, self.interval, self.phi)
    }
}

/// Pearson's coefficient; none if one side is constant.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    let n = a.len() as f64;
    let (ma, mb) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        let (x, y) = (x - ma, y - mb);
        (ab, aa, bb) = (ab + x * y, aa + x * x, bb + y * y);
    }
    (aa > 0.0 && bb > 0.0).then(|| (ab / libm::sqrt(aa * bb)).clamp(-1.0, 1.0))
}

/// The correlator.
#[derive(Debug, Clone)]
pub struct Mscm {
    params: Params,
    windows: Windows,
    due: Time,
}

impl Mscm {
    /// Nothing is known yet.
    pub fn new(params: &Params) -> Mscm {
        Mscm { params: params.clone(), windows: Windows::new(params.window), due: Time::ZERO }
    }
    fn real(&mut self, path: usize) -> Option<Vec<f64>> {
        Some(self.windows.full(path)?.iter().map(|&v| v as f64).collect())
    }
}

impl PathCorrelator for Mscm {
    fn observe(&mut self, _now: Time, path: usize, what: Observation) {
        if let Observation::Delay { delay, .. } = what {
            self.windows.push(path, delay.as_ns());
        }
    }
    fn due(&self) -> Time {
        self.due
    }
    /// A full window.
    fn settling(&self, spacing: Dur) -> Dur {
        spacing * u64::from(self.params.window)
    }
    fn relate(&mut self, now: Time, paths: usize) -> Relations {
        self.due = now + self.params.interval;
        let mut relations = Relations::default();
        for b in 1..paths {
            for a in 0..b {
                let coefficient = self.real(a).zip(self.real(b)).and_then(|(x, y)| pearson(&x, &y));
                let shares = coefficient.is_some_and(|c| c >= self.params.phi);
                relations.set(a, b, Relation { coefficient, shares });
            }
        }
        relations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // Deviations (-1, 0, 1) and (-2, 1, 1): 3 / sqrt(2 * 6).
        let r = pearson(&[1.0, 2.0, 3.0], &[1.0, 4.0, 4.0]).unwrap();
        assert!((r - 3.0 / libm::sqrt(12.0)).abs() < 1e-12);
        assert_eq!(pearson(&[1.0, 1.0], &[1.0, 2.0]), None);
    }
}
