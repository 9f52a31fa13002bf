//! MSCM: Pearson's coefficient of one-way delays.
//! Source, deviations and known problems: see [`Params`].
//! Model: the last N one-way delays of each path; c = cov / (sigma sigma) of N pairs. The pairs are aligned in time:
//! each of the last N samples of the slower path with that sample of the other path which is nearest in time. Or they
//! are paired by their order.
//! Units: ns; the coefficient has none. Cost: O(N log N) a pair at each interval, O(1) a sample. Memory: 8 N samples a
//! path.

use super::window::Windows;
use super::{Observation, PathCorrelator, Relation, Relations};
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which sample of one path is paired with which of the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// The nearest in time.
    #[default]
    Time,
    /// The same place in the window.
    Place,
}

/// Two paths share a bottleneck if their one-way delays correlate (Pearson's coefficient).
///
/// Source: J. Liao, J. Wang, T. Li and X. Zhu, "Introducing multipath selection for concurrent multipath transfer in
/// the future internet", Computer Networks 55 (2011), as Felix et al. use it for comparison (section 5.1).
///
/// Deviations: Liao et al. align the delays of two paths in time. Here data segments are the probes, and a sample of
/// the slower path is paired with the nearest one of the other.
///
/// Known problems: with `pairing = "time"` a pair of paths has no coefficient if one of them has more than 16 times the
/// samples of the other. With `pairing = "place"` it pairs samples of different times if rates are unequal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Samples of each path, from 3 to 10000. The default is from Felix et al. (section 5.1).
    pub window: u32,
    /// Which sample of one path is paired with which of the other.
    pub pairing: Pairing,
    /// Samples are truncated to multiples of this, from 1 ns to 1 s.
    pub resolution: Dur,
    /// Time from one computation to the next, at least 10 us.
    pub interval: Dur,
    /// The least coefficient of two paths that share a bottleneck, above 0 and at most 1.
    pub phi: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            window: 50,
            pairing: Pairing::Time,
            resolution: Dur::from_ns(1),
            interval: Dur::from_secs(2),
            phi: 0.8,
        }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        super::check(self.window, self.interval, self.phi, self.resolution)
    }
}

/// Samples kept for each one of a window, so that a slower path's window finds samples of a faster path.
const HISTORY: u32 = 8;

/// When a sample was taken, and its value.
type Sample = (Time, f64);

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

/// The correlator with what it has measured of the paths.
#[derive(Debug, Clone)]
pub struct Mscm {
    params: Params,
    windows: Windows<Sample>,
    due: Time,
}

/// The sample nearest in time, if `at` lies between the first and the last of them.
fn nearest(samples: &[Sample], at: Time) -> Option<f64> {
    let after = samples.partition_point(|s| s.0 < at);
    let (late, early) = (samples.get(after)?, after.checked_sub(1).map(|i| samples[i]));
    match early {
        Some(early) if at.since(early.0) < late.0.since(at) => Some(early.1),
        None if late.0 > at => None,
        _ => Some(late.1),
    }
}

impl Mscm {
    /// Nothing is known yet.
    pub fn new(params: &Params) -> Mscm {
        Mscm { params: params.clone(), windows: Windows::new(params.window * HISTORY), due: Time::ZERO }
    }
    /// The samples of a path, once they fill a window; the window is the last of them.
    fn samples(&mut self, path: usize) -> Option<&[Sample]> {
        self.windows.at_least(path, self.params.window as usize)
    }
    fn coefficient(&mut self, a: usize, b: usize) -> Option<f64> {
        let (size, pairing) = (self.params.window as usize, self.params.pairing);
        let first = self.samples(a)?.to_vec();
        let second = self.samples(b)?;
        let window = |samples: &[Sample]| samples[samples.len() - size..].to_vec();
        if pairing == Pairing::Place {
            let values = |samples: Vec<Sample>| samples.into_iter().map(|s| s.1).collect::<Vec<_>>();
            let (first, second) = (values(window(&first)), values(window(second)));
            return pearson(&first, &second);
        }
        // The slower path's window began first.
        let (one, two) = (window(&first), window(second));
        let (slow, fast) = if one[0].0 <= two[0].0 { (one, second) } else { (two, &first[..]) };
        let pairs = slow.iter().filter_map(|s| Some((s.1, nearest(fast, s.0)?)));
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
        if 2 * x.len() < size { None } else { pearson(&x, &y) }
    }
}

impl PathCorrelator for Mscm {
    fn observe(&mut self, now: Time, path: usize, what: Observation) {
        if let Observation::Delay { delay, .. } = what {
            let whole = delay.as_ns() / self.params.resolution.as_ns() * self.params.resolution.as_ns();
            self.windows.push(path, (now, whole as f64));
        }
    }
    fn due(&self) -> Time {
        self.due
    }
    fn settling(&self, spacing: Dur) -> Dur {
        spacing * u64::from(self.params.window)
    }
    fn relate(&mut self, now: Time, paths: usize) -> Relations {
        self.due = now + self.params.interval;
        Relations::of_pairs(paths, |a, b| Relation::of(self.coefficient(a, b), self.params.phi))
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

    #[test]
    fn the_nearest_sample_lies_between_the_first_and_the_last() {
        let samples = [10, 20, 40].map(|ms| (Time::from_ns(ms * 1_000_000), ms as f64));
        let at = |ms: u64| nearest(&samples, Time::from_ns(ms * 1_000_000));
        assert_eq!(
            [9, 10, 14, 16, 29, 31, 40, 41].map(at).map(|v| v.unwrap_or(0.0) as u64),
            [0, 10, 10, 20, 20, 40, 40, 0]
        );
    }

    /// Coefficient of two paths that see the same queue, the second four times as often.
    fn unequal_rates(pairing: Pairing) -> Option<f64> {
        let mut mscm = Mscm::new(&Params { pairing, ..Params::default() });
        let queue = |ms: u64| Dur::from_us(5_000 + 40 * (ms % 400)); // a sawtooth of 400 ms
        for ms in 0..2_000_u64 {
            for (path, every) in [(0, 20), (1, 5)] {
                if ms % every == 0 {
                    let delay = queue(ms) + Dur::from_ms(path as u64);
                    mscm.observe(Time::from_ns(ms * 1_000_000), path, Observation::Delay { delay, lost: 0, sent: ms });
                }
            }
        }
        mscm.relate(Time::from_ns(2_000_000_000), 2).get(0, 1).coefficient
    }

    #[test]
    fn of_unequal_rates_only_samples_of_the_same_time_correlate() {
        let by_time = unequal_rates(Pairing::Time).unwrap();
        let by_place = unequal_rates(Pairing::Place).unwrap();
        assert!(by_time > 0.999 && by_place < 0.9, "{by_time} by time, {by_place} by place");
    }

    #[test]
    fn a_path_that_has_been_silent_since_has_no_coefficient() {
        let mut mscm = Mscm::new(&Params { window: 3, ..Params::default() });
        let mut sample = |path, ms: u64| {
            let delay = Dur::from_ms(5 + ms % 3);
            mscm.observe(Time::from_ns(ms * 1_000_000), path, Observation::Delay { delay, lost: 0, sent: ms });
        };
        (0..3).for_each(|ms| sample(0, ms));
        (0..3).for_each(|ms| sample(1, ms));
        assert!(mscm.relate(Time::ZERO, 2).get(0, 1).known);
        let mut sample = |path, ms: u64| {
            let delay = Dur::from_ms(5 + ms % 3);
            mscm.observe(Time::from_ns(ms * 1_000_000), path, Observation::Delay { delay, lost: 0, sent: ms });
        };
        (3..40).for_each(|ms| sample(1, ms));
        assert_eq!(mscm.relate(Time::ZERO, 2).get(0, 1), Relation::default());
    }
}
