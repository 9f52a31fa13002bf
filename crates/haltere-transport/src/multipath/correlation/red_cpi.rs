//! RED-CPI, correlated path identification: Spearman's coefficient of smoothed round-trip times.
//! Source, deviations and known problems: see [`Params`].
//! Model: the last N samples of each path, ranked, ties by their mean rank; c = cov(ranks) / (sigma sigma), with cov =
//! (sum k l - (sum k)(sum l) / n) / n. Each window is filled on its own: samples are not aligned in time.
//! Units: ns; the coefficient has none. Cost: O(N log N) a path and O(N) a pair at each interval, O(1) a sample.

use super::window::Windows;
use super::{Observation, PathCorrelator, Relation, Relations};
use alloc::vec::Vec;
use haltere_units::{Dur, ParamError, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a sample is taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// Of every path each time the scheduler looks for a path, whether the path has room or not, as in the authors'
    /// kernel.
    #[default]
    Visit,
    /// Each time the scheduler finds room on the path.
    Opportunity,
    /// At each new measurement of the path's smoothed round-trip time.
    Measurement,
    /// Of every path at each multiple of `step`: the last smoothed round-trip time.
    Step,
}

/// How the coefficient is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// Whole numbers scaled by 1000, as in the authors' kernel.
    #[default]
    Integer,
    /// Real numbers.
    Exact,
}

/// Two paths share a bottleneck if the ranks of their smoothed round-trip times correlate (Spearman's coefficient).
///
/// Source: B. Felix, I. Steuck, A. Santos and M. Nogueira, "Escalonador de pacotes para transmissao por multi-caminhos
/// nao-correlacionados em redes heterogeneas sem fio", section 3.1 (equations 1 to 3) and 4.2. RFC 6298 for the
/// samples.
///
/// Deviations: ranks are exact means. The authors' kernel truncates them to whole numbers. As in that kernel two
/// constant windows count as fully correlated and one constant window as uncorrelated.
///
/// Known problems: samples that are taken faster than round-trip times change are ties. With `sampling = "visit"` or
/// `"opportunity"` a window then covers little time. Ranks know no size: without jitter in the network they follow
/// changes of nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Samples of each path, from 3 to 10000. The default is the source's (section 5.1).
    pub window: u32,
    /// When a sample is taken.
    pub sampling: Sampling,
    /// Time between two samples if `sampling = "step"`, at least 10 us.
    pub step: Dur,
    /// Samples are truncated to multiples of this, from 1 ns to 1 s. The default is that of Linux's smoothed round-trip
    /// time (`srtt_us`): 1/8 us.
    pub resolution: Dur,
    /// Time from one computation to the next, at least 10 us. The default is the authors' kernel's.
    pub interval: Dur,
    /// The least coefficient of two paths that share a bottleneck, above 0 and at most 1. The default is the source's
    /// (section 5.1).
    pub phi: f64,
    /// How the coefficient is computed.
    pub arithmetic: Arithmetic,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            window: 50,
            sampling: Sampling::Visit,
            step: Dur::from_ms(10),
            resolution: Dur::from_ns(125),
            interval: Dur::from_secs(2),
            phi: 0.8,
            arithmetic: Arithmetic::Integer,
        }
    }
}

impl Params {
    /// The first parameter that breaks its rule, as an error.
    pub fn check(&self) -> Result<(), ParamError> {
        if self.step < super::LEAST_INTERVAL {
            return Err(ParamError::new("step", alloc::format!("at least {}", super::LEAST_INTERVAL), self.step));
        }
        super::check(self.window, self.interval, self.phi, self.resolution)
    }
}

/// Ranks from 1, times 1000; equal values share the mean of theirs.
fn ranks(samples: &[u64]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_unstable_by_key(|&i| samples[i]);
    let mut ranks = alloc::vec![0; samples.len()];
    let mut from = 0;
    while from < order.len() {
        let value = samples[order[from]];
        let to = from + order[from..].iter().take_while(|&&i| samples[i] == value).count();
        // The mean of from + 1 to `to`.
        let rank = (from + 1 + to) as i64 * 500;
        order[from..to].iter().for_each(|&i| ranks[i] = rank);
        from = to;
    }
    ranks
}

/// Spearman's coefficient times 1000 in whole numbers, divisions truncated.
pub fn spearman_integer(a: &[u64], b: &[u64]) -> i64 {
    let (k, l) = (ranks(a), ranks(b));
    let n = k.len() as i64;
    let product: i64 = k.iter().zip(&l).map(|(x, y)| x * y).sum();
    let covariance = (product - k.iter().sum::<i64>() * l.iter().sum::<i64>() / n) / n;
    let (s, t) = (deviation(&k), deviation(&l));
    match (s, t) {
        (0, 0) => 1000,
        (0, _) | (_, 0) => 0,
        _ => (covariance * 1000 / (s * t)).clamp(-1000, 1000),
    }
}

/// Standard deviation of ranks, truncated.
fn deviation(ranks: &[i64]) -> i64 {
    let n = ranks.len() as i64;
    let mean = ranks.iter().sum::<i64>() / n;
    let variance = ranks.iter().map(|r| (r - mean) * (r - mean)).sum::<i64>() / n;
    variance.isqrt()
}

/// Spearman's coefficient in real numbers; none if a window is constant.
pub fn spearman(a: &[u64], b: &[u64]) -> Option<f64> {
    let real = |ranks: Vec<i64>| ranks.into_iter().map(|r| r as f64 / 1000.0).collect::<Vec<_>>();
    super::mscm::pearson(&real(ranks(a)), &real(ranks(b)))
}

/// The correlator with what it has measured of the paths.
#[derive(Debug, Clone)]
pub struct RedCpi {
    params: Params,
    windows: Windows,
    due: Time,
    /// With `Sampling::Step`: when the next samples are taken, and the last smoothed round-trip time of each path.
    next_step: Time,
    last: Vec<Option<Dur>>,
}

impl RedCpi {
    /// Nothing is known yet.
    pub fn new(params: &Params) -> RedCpi {
        RedCpi {
            params: params.clone(),
            windows: Windows::new(params.window),
            due: Time::ZERO,
            next_step: Time::ZERO,
            last: Vec::new(),
        }
    }
    fn push(&mut self, path: usize, srtt: Dur) {
        self.windows.push(path, srtt.as_ns() / self.params.resolution.as_ns());
    }
    /// Takes the samples of all steps up to now, before the new value counts.
    fn step(&mut self, now: Time, path: usize, srtt: Dur) {
        // Steps that would leave a full window anyway are passed over.
        let span = self.params.step * u64::from(self.params.window);
        if self.next_step + span < now {
            let missed = (now.since(self.next_step).as_ns() - span.as_ns()) / self.params.step.as_ns();
            self.next_step += self.params.step * missed;
        }
        while self.next_step <= now {
            for path in 0..self.last.len() {
                if let Some(srtt) = self.last[path] {
                    self.push(path, srtt);
                }
            }
            self.next_step += self.params.step;
        }
        if self.last.len() <= path {
            self.last.resize(path + 1, None);
        }
        self.last[path] = Some(srtt);
    }
    fn coefficient(&mut self, a: usize, b: usize) -> Option<f64> {
        let first = self.windows.full(a)?.to_vec();
        let second = self.windows.full(b)?;
        Some(match self.params.arithmetic {
            Arithmetic::Integer => spearman_integer(&first, second) as f64 / 1000.0,
            Arithmetic::Exact => spearman(&first, second).unwrap_or_else(|| {
                let constant = |w: &[u64]| w.iter().all(|v| *v == w[0]);
                f64::from(u8::from(constant(&first) && constant(second)))
            }),
        })
    }
}

impl PathCorrelator for RedCpi {
    fn observe(&mut self, now: Time, path: usize, what: Observation) {
        match (self.params.sampling, what) {
            (Sampling::Visit, Observation::Opportunity { srtt, .. })
            | (Sampling::Opportunity, Observation::Opportunity { srtt, ready: true })
            | (Sampling::Measurement, Observation::Srtt(srtt)) => self.push(path, srtt),
            (Sampling::Step, Observation::Srtt(srtt)) => self.step(now, path, srtt),
            _ => {}
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
    fn seven_equal_values_share_rank_four_and_the_next_has_eight() {
        // Section 3.1 of the paper.
        let ranks = ranks(&[5, 0, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(ranks, [8000, 4000, 4000, 4000, 4000, 9000, 4000, 4000, 4000]);
    }

    #[test]
    fn monotonic_windows_are_fully_correlated_though_not_linear() {
        let a: Vec<u64> = (1..=50).collect();
        let b: Vec<u64> = a.iter().map(|x| x * x * x).collect();
        let down: Vec<u64> = a.iter().map(|x| 1000 - x).collect();
        assert_eq!((spearman_integer(&a, &b), spearman_integer(&a, &down)), (1000, -1000));
        assert!((spearman(&a, &b).unwrap() - 1.0).abs() < 1e-12);
    }

    /// A correlator with a window of three, and what is in the window of path 0 after these observations.
    fn window(params: Params, observations: &[(u64, Observation)]) -> Option<Vec<u64>> {
        let mut c = RedCpi::new(&Params { window: 3, ..params });
        observations.iter().for_each(|(us, what)| c.observe(Time::from_ns(us * 1000), 0, *what));
        c.windows.full(0).map(<[u64]>::to_vec)
    }
    fn visit(us: u64, ready: bool) -> (u64, Observation) {
        (us, Observation::Opportunity { srtt: Dur::from_us(us), ready })
    }

    #[test]
    fn a_visit_is_a_sample_whether_the_path_has_room_or_not() {
        let visits = [visit(1, true), visit(2, false), visit(3, false), visit(4, true)];
        assert_eq!(window(Params::default(), &visits), Some(alloc::vec![16, 24, 32]), "in eighths of a microsecond");
        let opportunity = Params { sampling: Sampling::Opportunity, ..Params::default() };
        assert_eq!(window(opportunity.clone(), &visits), None, "only two found room");
        let more = [&visits[..], &[visit(5, true)]].concat();
        assert_eq!(window(opportunity, &more), Some(alloc::vec![8, 32, 40]));
    }

    #[test]
    fn samples_are_truncated_to_the_resolution() {
        let srtt = |ns| (0, Observation::Srtt(Dur::from_ns(ns)));
        let samples = [srtt(199_999), srtt(100_000), srtt(99_999)];
        let of = |resolution| Params { sampling: Sampling::Measurement, resolution, ..Params::default() };
        assert_eq!(window(of(Dur::from_us(100)), &samples), Some(alloc::vec![1, 1, 0]));
        assert_eq!(window(of(Dur::from_ns(125)), &samples), Some(alloc::vec![1599, 800, 799]));
        assert!(of(Dur::ZERO).check().is_err() && of(Dur::from_us(100)).check().is_ok());
    }

    #[test]
    fn steps_hold_the_last_value() {
        let params = Params { sampling: Sampling::Step, step: Dur::from_us(10), ..Params::default() };
        let params = Params { resolution: Dur::from_us(1), ..params };
        let srtt = |us, value| (us, Observation::Srtt(Dur::from_us(value)));
        // Steps at 10, 20 and 30 us.
        assert_eq!(window(params.clone(), &[srtt(1, 5), srtt(15, 7), srtt(35, 9)]), Some(alloc::vec![5, 7, 7]));
        // A long silence costs a window, not more.
        assert_eq!(window(params, &[srtt(1, 5), srtt(1_000_000_000, 7)]), Some(alloc::vec![5; 3]));
    }

    #[test]
    fn constant_windows() {
        let (flat, rising) = ([7; 50], core::array::from_fn::<u64, 50, _>(|i| i as u64));
        assert_eq!(spearman_integer(&flat, &[9; 50]), 1000);
        assert_eq!(spearman_integer(&flat, &rising), 0);
        assert_eq!(spearman(&flat, &rising), None);
    }

    #[test]
    fn whole_numbers_come_near_the_exact_ones() {
        // Standard deviations of about 14 ranks times 1000: truncation costs less than one in 1000 of each.
        let mut x = 1_u64;
        let mut next = |range: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % range
        };
        for round in 0..1000 {
            let range = 2 + round % 200;
            let a: Vec<u64> = (0..50).map(|_| next(range)).collect();
            let b: Vec<u64> = a.iter().map(|v| v + next(range)).collect();
            let (whole, exact) = (spearman_integer(&a, &b) as f64 / 1000.0, spearman(&a, &b));
            let exact = exact.unwrap_or(0.0);
            assert!((whole - exact).abs() <= 0.0015, "{whole} {exact} in round {round}");
        }
    }
}
