//! Random streams: one per component, so that two variants of an experiment, and both worlds, draw the same random
//! numbers. Source: D. Blackman, S. Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021):
//! xoshiro256++; its state is filled by SplitMix64, as the authors advise. Names are hashed with FNV-1a (64 bits).
//! Model: stream = xoshiro256++ seeded with SplitMix64(seed of the run, hash of the component's name). Integer
//! arithmetic and `libm` only, so the same numbers come out on every platform.

use haltere_units::Dur;
use serde::{Deserialize, Serialize};

/// The distribution of a duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum DurationDistribution {
    /// The same duration each time.
    Constant(Dur),
    /// Exponential with this mean.
    Exponential(Dur),
    /// Uniform between the two.
    Uniform(Dur, Dur),
    /// Pareto with this mean and shape.
    Pareto(Dur, f64),
    /// Normal with this mean and standard deviation, truncated at zero.
    Normal(Dur, Dur),
}

/// A stream of random numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Rng {
    state: [u64; 4],
}

/// One step of SplitMix64: the next state and its output.
const fn split_mix(state: u64) -> (u64, u64) {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state, z ^ (z >> 31))
}

/// FNV-1a over 64 bits.
const fn fnv1a(text: &str) -> u64 {
    let (bytes, mut hash, mut i) = (text.as_bytes(), 0xcbf2_9ce4_8422_2325u64, 0);
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    hash
}

impl Rng {
    /// The stream of the component `name` (e.g. `n2>n3/queue`) in the run with that seed.
    pub fn new(seed: u64, name: &str) -> Rng {
        Rng::from_seed(Rng::seed(seed, name))
    }
    /// The seed of that stream, for who makes it when it is first needed.
    pub const fn seed(seed: u64, name: &str) -> u64 {
        split_mix(seed ^ fnv1a(name).rotate_left(32)).1 ^ fnv1a(name)
    }
    /// The stream of that seed.
    pub fn from_seed(mut at: u64) -> Rng {
        let mut state = [0; 4];
        for word in &mut state {
            (at, *word) = split_mix(at);
        }
        Rng { state }
    }
    /// The next 64 random bits of the stream.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }
    /// A number drawn uniformly from [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// A whole number drawn uniformly from 0 to `n` - 1; `n` is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
    /// True with probability `p`; draws nothing where the answer is certain.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.uniform() < p
    }
    /// Puts `items` in a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
    /// A span drawn from `law`, at most a century: longer than any run, and short enough to be added to a time.
    pub fn span(&mut self, law: DurationDistribution) -> Dur {
        const CENTURY: Dur = Dur::from_secs(100 * 365 * 86_400);
        let span = match law {
            DurationDistribution::Constant(span) => span,
            DurationDistribution::Exponential(mean) => mean.mul_f64(-libm::log(1.0 - self.uniform())),
            DurationDistribution::Uniform(low, high) => low + high.saturating_sub(low).mul_f64(self.uniform()),
            DurationDistribution::Pareto(mean, shape) => {
                // Mean = scale * shape / (shape - 1) for shape > 1.
                let scale = (shape - 1.0) / shape;
                mean.mul_f64(scale * libm::pow(1.0 - self.uniform(), -1.0 / shape))
            }
            DurationDistribution::Normal(mean, sd) => loop {
                // Truncated: a value below zero is drawn again. At most half of them are, as the mean is not below
                // zero.
                let ns = mean.as_ns() as f64 + sd.as_ns() as f64 * self.normal();
                if ns >= 0.0 {
                    break Dur::from_ns((ns + 0.5) as u64);
                }
            },
        };
        span.min(CENTURY)
    }
    /// A number drawn from the standard normal distribution (Box and Muller, one of the two values).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(2.0 * core::f64::consts::PI * self.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generator_matches_the_published_recurrence() {
        // First outputs for the state 1, 2, 3, 4, worked out from the recurrence: rotl(1 + 4, 23) + 1.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!(rng.bits(), (5u64 << 23) + 1);
        assert_eq!(rng.bits(), 58_720_359);
    }
    #[test]
    fn split_mix_matches_its_first_output_for_seed_zero() {
        assert_eq!(split_mix(0).1, 0xe220_a839_7b1d_cdaf);
    }
    #[test]
    fn hash_matches_published_vectors() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
    }
    #[test]
    fn streams_differ_by_seed_and_by_name_and_repeat() {
        let first = |seed, name| Rng::new(seed, name).bits();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }
    #[test]
    fn every_order_is_reached() {
        let mut rng = Rng::new(1, "orders");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let mut items = [1, 2, 3];
            rng.shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 6);
    }
    #[test]
    fn laws_have_their_means() {
        let mut rng = Rng::new(7, "laws");
        let mean = Dur::from_ms(10);
        let laws = [
            DurationDistribution::Constant(mean),
            DurationDistribution::Exponential(mean),
            DurationDistribution::Uniform(Dur::from_ms(5), Dur::from_ms(15)),
            DurationDistribution::Pareto(mean, 3.0),
            DurationDistribution::Normal(mean, Dur::from_ms(2)),
        ];
        for law in laws {
            let n = 200_000;
            let sum: f64 = (0..n).map(|_| rng.span(law).as_secs_f64()).sum();
            let got = sum / f64::from(n);
            // The widest (exponential) has a standard error of 10 ms / sqrt(200000) = 0.022 ms; five of them.
            assert!((got - 0.010).abs() < 0.000_11, "{law:?}: mean {got}");
        }
    }
    #[test]
    fn a_law_without_bounds_gives_spans_that_can_be_added_to_a_time() {
        let law = DurationDistribution::Pareto(Dur::from_secs(365 * 86_400), 1.000_000_1);
        let mut rng = Rng::new(7, "pareto");
        let most = (0..1_000_000).map(|_| rng.span(law)).max();
        assert!(most.and_then(|span| haltere_units::Time::from_ns(1 << 60).checked_add(span)).is_some(), "{most:?}");
        let law = DurationDistribution::Exponential(Dur::MAX);
        assert!((0..100).all(|_| rng.span(law) <= Dur::from_secs(100 * 365 * 86_400)));
    }
    #[test]
    fn a_normal_law_has_its_deviation_and_its_tails() {
        let mut rng = Rng::new(7, "normal");
        let law = DurationDistribution::Normal(Dur::from_ms(10), Dur::from_ms(2));
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| rng.span(law).as_secs_f64() * 1e3 - 10.0).collect();
        let sd = (drawn.iter().map(|x| x * x).sum::<f64>() / f64::from(n)).sqrt();
        // Standard error of the deviation: 2 ms / sqrt(2 n) = 0.0032 ms; five of them.
        assert!((sd - 2.0).abs() < 0.016, "deviation {sd} ms");
        // Within one deviation lie 68.27 %, within two 95.45 %: standard errors 0.10 % and 0.05 %.
        let within = |ms: f64| drawn.iter().filter(|x| x.abs() < ms).count() as f64 / f64::from(n);
        assert!((within(2.0) - 0.6827).abs() < 0.005 && (within(4.0) - 0.9545).abs() < 0.0025);
    }
    #[test]
    fn a_normal_law_is_truncated_at_zero_by_drawing_again() {
        // Half a normal law: its mean is deviation * sqrt(2 / pi), and nothing heaps up at zero.
        let mut rng = Rng::new(7, "half");
        let law = DurationDistribution::Normal(Dur::ZERO, Dur::from_ms(10));
        let n = 200_000;
        let drawn: Vec<f64> = (0..n).map(|_| rng.span(law).as_secs_f64()).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(n);
        // Standard error: 10 ms * sqrt(1 - 2 / pi) / sqrt(n) = 0.0135 ms; five of them.
        assert!((mean - 0.007_979).abs() < 0.000_068, "mean {mean}");
        assert!(drawn.iter().filter(|x| **x == 0.0).count() < 5);
    }
}
