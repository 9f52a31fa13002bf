//! Jitter: what a link adds to the delay of each packet. A link keeps packets in order, whatever the jitter.
//!
//! Source of Wi-Fi's: C. Huitema, S. Nandakumar, C. Jennings, "Testing of Christian's Congestion Control Code (C4)",
//! draft-huitema-ccwg-c4-test, section "Handling of High Jitter Environments"; its authors fitted it to measurements in
//! busy networks. Deviations: none from the draft. Its simulator has 84 ms in place of the draft's 90, and spreads N2
//! uniformly over its last interval; the mean is then off by a tenth.
//! Model: N1 ~ Poisson(1) deferrals of a millisecond, the last of which is cut by r ~ U(0, 1 ms); and for a fraction x
//! of the packets N2 ~ Poisson(12) retransmissions of 7.5 ms.
//!
//! ```text
//!   jitter = N1 * 1 ms - r [if N1 > 0] + N2 * 7.5 ms [with probability x],   x = (mean - 1 ms) / 90 ms, from 0 to 1
//!   E[jitter] = 1 ms - 0.5 ms * (1 - 1/e) + x * 90 ms = mean - 0.316 ms   for a mean from 1 ms to 91 ms
//! ```
//!
//! Units: time ns. Cost: one draw a packet if uniform; Wi-Fi's about four, and for a fraction x 13 more.

use crate::rng::Rng;
use haltere_units::Dur;
use serde::{Deserialize, Serialize};

/// What is added to the delay of each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Jitter {
    /// A span drawn uniformly from zero to this.
    Uniform(Dur),
    /// Wi-Fi's, with about this mean.
    Wifi(Dur),
}

const MS: Dur = Dur::from_ms(1);

impl Jitter {
    /// True if it adds nothing to any packet.
    pub fn is_zero(&self) -> bool {
        *self == Jitter::default()
    }
    /// The most of uniform jitter, the mean of Wi-Fi's: the number that was written.
    pub fn size(&self) -> Dur {
        match self {
            Jitter::Uniform(span) | Jitter::Wifi(span) => *span,
        }
    }
    /// The most that it adds; of Wi-Fi's all but one packet in 10^9 have less.
    pub fn most(&self) -> Dur {
        match self {
            Jitter::Uniform(most) => *most,
            Jitter::Wifi(_) => MS * 14 + Dur::from_us(7500) * 39,
        }
    }
    /// What it adds to the next packet.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> Dur {
        match self {
            Jitter::Uniform(most) => most.mul_f64(rng.uniform()),
            Jitter::Wifi(mean) => wifi(*mean, rng),
        }
    }
}

impl Default for Jitter {
    fn default() -> Jitter {
        Jitter::Uniform(Dur::ZERO)
    }
}

impl From<Dur> for Jitter {
    fn from(most: Dur) -> Jitter {
        Jitter::Uniform(most)
    }
}

fn wifi(mean: Dur, rng: &mut Rng) -> Dur {
    let deferrals = MS * poisson(1.0, rng);
    let short = if deferrals.is_zero() { deferrals } else { deferrals.saturating_sub(MS.mul_f64(rng.uniform())) };
    let retried = mean.saturating_sub(MS).as_secs_f64() / 0.090;
    if rng.chance(retried) { short + Dur::from_us(7500) * poisson(12.0, rng) } else { short }
}

/// A number drawn from the Poisson distribution with that mean, at most a few tens (Knuth, TAOCP 3.4.1: so many uniform
/// numbers before their product is below e^-mean).
fn poisson(mean: f64, rng: &mut Rng) -> u64 {
    let (least, mut product, mut count) = (libm::exp(-mean), rng.uniform(), 0);
    while product > least {
        product *= rng.uniform();
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const COUNT: usize = 400_000;

    /// Draws of Wi-Fi's jitter in ms.
    fn drawn(mean: u64) -> Vec<f64> {
        let mut rng = Rng::new(1, "wifi");
        (0..COUNT).map(|_| Jitter::Wifi(Dur::from_ms(mean)).draw(&mut rng).as_secs_f64() * 1e3).collect()
    }
    fn share(of: &[f64], is_in: impl Fn(f64) -> bool) -> f64 {
        of.iter().filter(|ms| is_in(**ms)).count() as f64 / of.len() as f64
    }

    #[test]
    fn its_mean_is_what_was_asked_for_less_what_the_cut_takes() {
        // 0.5 ms * (1 - 1/e) = 0.316 ms. x is 0, 1/15 and 1, also above 91 ms. Largest deviation: 26 ms at x = 0.07,
        // so five standard errors are 0.2 ms.
        for (mean, want) in [(1, 0.684), (7, 6.684), (91, 90.684), (200, 90.684)] {
            let all = drawn(mean);
            let got = all.iter().sum::<f64>() / COUNT as f64;
            assert!((got - want).abs() < 0.2, "mean {mean} ms: {got}");
        }
    }
    #[test]
    fn short_jitter_has_the_distribution_worked_out_by_hand() {
        // P(N1 = 0) = 1/e; between k - 1 and k ms lies N1 = k, with probability 1/(e k!). Standard error 0.0008.
        let all = drawn(1);
        let e = core::f64::consts::E;
        assert!((share(&all, |ms| ms == 0.0) - 1.0 / e).abs() < 0.004);
        for (k, factorial) in [(1.0, 1.0), (2.0, 2.0), (3.0, 6.0), (4.0, 24.0)] {
            let got = share(&all, |ms| ms > k - 1.0 && ms <= k);
            assert!((got - 1.0 / (e * factorial)).abs() < 0.004, "{k}: {got}");
        }
    }
    #[test]
    fn a_fraction_of_the_packets_is_retransmitted_twelve_times_on_average() {
        // x = 6/90 of the packets, nearly all of them above 20 ms (N2 > 2, which has probability 0.9995).
        let all = drawn(7);
        let retried: Vec<f64> = all.iter().copied().filter(|ms| *ms > 20.0).collect();
        assert!((share(&all, |ms| ms > 20.0) - 1.0 / 15.0).abs() < 0.002);
        // Mean 90 + 0.684 ms; deviation 7.5 sqrt(12) = 26 ms. Standard errors 0.16 ms and 0.11 ms.
        let mean = retried.iter().sum::<f64>() / retried.len() as f64;
        let deviation = (retried.iter().map(|ms| (ms - mean) * (ms - mean)).sum::<f64>() / retried.len() as f64).sqrt();
        assert!((mean - 90.684).abs() < 0.8 && (deviation - 26.0).abs() < 0.6, "{mean} {deviation}");
        assert!(all.iter().all(|ms| *ms < Jitter::Wifi(Dur::from_ms(7)).most().as_secs_f64() * 1e3));
    }
    #[test]
    fn uniform_jitter_is_one_draw() {
        let (mut a, mut b) = (Rng::new(1, "a"), Rng::new(1, "a"));
        assert_eq!(Jitter::from(MS).draw(&mut a), MS.mul_f64(b.uniform()));
        assert_eq!(a, b);
    }
}
