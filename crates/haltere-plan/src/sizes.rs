//! Distributions of sizes: laws with parameters, and tables of a distribution function, published or the user's own.
//!
//! A table has one point a line: a size in bytes and the part of the flows that are at most so large. Between two
//! points sizes are spread evenly; all flows up to the first point's part have its size.

use crate::rng::Rng;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use haltere_units::Bytes;
use serde::{Deserialize, Serialize};

/// A size distribution. Means and scales are in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SizeDistribution {
    /// Points of the distribution function: sizes and the parts that are at most so large.
    Table(Arc<[(f64, f64)]>),
    /// Exponential with this mean.
    Exponential(f64),
    /// The logarithm of the size is normal with this mean and this standard deviation.
    Lognormal(f64, f64),
    /// Pareto with this scale, the least size, and this shape: P(size > x) = (scale / x)^shape.
    Pareto(f64, f64),
}

/// The largest size that is drawn, in bytes: a Pareto distribution has no end.
const LARGEST: f64 = 1e15;

/// Web search, as a table: Alizadeh et al., "Data Center TCP", SIGCOMM 2010.
pub const WEB_SEARCH: &str = include_str!("sizes/web_search.txt");
/// Data mining, as a table: Greenberg et al., "VL2", SIGCOMM 2009.
pub const DATA_MINING: &str = include_str!("sizes/data_mining.txt");
/// Key-value cache, as a table: the file's head names the source.
pub const CACHE: &str = include_str!("sizes/cache.txt");

/// A rule that a table breaks, and what was there.
pub type TableFault = (String, String);

impl SizeDistribution {
    /// The distribution in which all flows have this size.
    pub fn constant(bytes: Bytes) -> SizeDistribution {
        SizeDistribution::Table([(bytes.as_f64(), 1.0)].into())
    }
    /// Lognormal with this mean in bytes. `sigma` is the standard deviation of the logarithm: mean = exp(mu + sigma^2 /
    /// 2).
    pub fn lognormal(mean: f64, sigma: f64) -> SizeDistribution {
        SizeDistribution::Lognormal(libm::log(mean) - sigma * sigma / 2.0, sigma)
    }
    /// Pareto with this mean in bytes and a shape above 1: mean = scale shape / (shape - 1).
    pub fn pareto(mean: f64, shape: f64) -> SizeDistribution {
        SizeDistribution::Pareto(mean * (shape - 1.0) / shape, shape)
    }
    /// The distribution of these points: sizes in bytes and the parts of the flows that are at most so large.
    pub fn new(points: &[[f64; 2]]) -> Result<SizeDistribution, TableFault> {
        let mut last = (0.0, 0.0);
        for (i, &[bytes, part]) in points.iter().enumerate() {
            let line = format!("{bytes} and {part} as point {}", i + 1);
            if !(1.0..=1e15).contains(&bytes) || bytes < last.0 {
                return Err(("sizes from 1 byte up, in order".into(), line));
            }
            if !(0.0..=1.0).contains(&part) || part < last.1 {
                return Err(("parts from 0 to 1, in order".into(), line));
            }
            last = (bytes, part);
        }
        if points.is_empty() || last.1 != 1.0 {
            return Err((
                "a table whose last part is 1".into(),
                format!("{} points that end at {}", points.len(), last.1),
            ));
        }
        Ok(SizeDistribution::Table(points.iter().map(|&[bytes, part]| (bytes, part)).collect()))
    }
    /// The points of a table: two numbers a line; what follows `#` does not count.
    pub fn read(text: &str) -> Result<Vec<[f64; 2]>, TableFault> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
        let point = |(i, line): (usize, &str)| {
            let mut numbers = line.split([' ', '\t', ',']).filter(|t| !t.is_empty()).map(str::parse::<f64>);
            match (numbers.next(), numbers.next(), numbers.next()) {
                (Some(Ok(bytes)), Some(Ok(part)), None) => Ok([bytes, part]),
                _ => Err(("lines of two numbers, bytes and part".into(), format!("`{line}` in line {}", i + 1))),
            }
        };
        lines.enumerate().filter(|(_, line)| !line.is_empty()).map(point).collect()
    }
    /// A size drawn at random, of one byte at least.
    pub fn draw(&self, rng: &mut Rng) -> Bytes {
        let size = match self {
            SizeDistribution::Table(points) => return quantile(points, rng.uniform()),
            SizeDistribution::Exponential(mean) => -mean * libm::log(1.0 - rng.uniform()),
            SizeDistribution::Lognormal(mu, sigma) => libm::exp(mu + sigma * rng.normal()),
            SizeDistribution::Pareto(scale, shape) => scale * libm::pow(1.0 - rng.uniform(), -1.0 / shape),
        };
        Bytes::new((size.min(LARGEST) as u64).max(1))
    }
    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            SizeDistribution::Table(points) => {
                let (first, part) = points[0];
                let rest = points.windows(2).map(|two| (two[0].0 + two[1].0) / 2.0 * (two[1].1 - two[0].1));
                first * part + rest.sum::<f64>()
            }
            SizeDistribution::Exponential(mean) => *mean,
            SizeDistribution::Lognormal(mu, sigma) => libm::exp(mu + sigma * sigma / 2.0),
            SizeDistribution::Pareto(scale, shape) => scale * shape / (shape - 1.0),
        }
    }
}

/// The size at which the distribution function of these points reaches `u`, a number from 0 to 1; at least one byte.
fn quantile(points: &[(f64, f64)], u: f64) -> Bytes {
    let i = points.partition_point(|p| p.1 < u).min(points.len() - 1);
    let (bytes, part) = points[i];
    let size = match i.checked_sub(1).map(|before| points[before]) {
        Some((least, from)) if part > from => least + (bytes - least) * (u - from) / (part - from),
        _ => bytes,
    };
    Bytes::new((size as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(law: &SizeDistribution) -> &[(f64, f64)] {
        let SizeDistribution::Table(points) = law else { panic!("{law:?}") };
        points
    }

    #[test]
    fn sizes_are_spread_evenly_between_points() {
        let law = SizeDistribution::new(&[[10.0, 0.5], [20.0, 1.0]]).unwrap();
        let at = |u| quantile(points(&law), u).as_u64();
        assert_eq!([at(0.0), at(0.3), at(0.5), at(0.75), at(1.0)], [10, 10, 10, 15, 20]);
        assert_eq!(law.mean(), 12.5);
    }
    #[test]
    fn draws_have_the_mean_of_the_law() {
        for text in [WEB_SEARCH, DATA_MINING, CACHE] {
            let law = SizeDistribution::new(&SizeDistribution::read(text).unwrap()).unwrap();
            let n = 100_000;
            let sum: f64 = (0..n).map(|i| quantile(points(&law), (f64::from(i) + 0.5) / f64::from(n)).as_f64()).sum();
            // Even steps, so no error of chance; sizes are cut to whole bytes.
            assert!((sum / f64::from(n) / law.mean() - 1.0).abs() < 1e-3, "{} for {}", sum / f64::from(n), law.mean());
        }
    }
    #[test]
    fn laws_have_the_means_and_medians_of_their_formulas() {
        // By hand: exponential ln 2 mean; lognormal exp(mu) = mean exp(-sigma^2 / 2); Pareto scale 2^(1/shape), where
        // the mean of 30 kB and the shape 2.5 give a scale of 18 kB.
        let laws = [
            (SizeDistribution::Exponential(30_000.0), 20_794.4),
            (SizeDistribution::lognormal(30_000.0, 1.0), 18_195.9),
            (SizeDistribution::pareto(30_000.0, 2.5), 23_751.1),
        ];
        for (law, median) in laws {
            assert!((law.mean() - 30_000.0).abs() < 1e-6, "{law:?}");
            let (mut rng, n) = (Rng::new(3, "sizes"), 200_001);
            let mut drawn: Vec<f64> = (0..n).map(|_| law.draw(&mut rng).as_f64()).collect();
            drawn.sort_by(f64::total_cmp);
            let (mean, middle) = (drawn.iter().sum::<f64>() / f64::from(n), drawn[n as usize / 2]);
            // Standard errors of the mean: at most 1.3 times the mean over sqrt(n) = 0.3 %; five of them. Medians are
            // closer.
            assert!((mean / 30_000.0 - 1.0).abs() < 0.015, "{law:?}: mean {mean}");
            assert!((middle / median - 1.0).abs() < 0.015, "{law:?}: median {middle} for {median}");
        }
    }
    #[test]
    fn a_wrong_table_is_told_with_its_point() {
        let fault = |points: &[[f64; 2]]| SizeDistribution::new(points).unwrap_err();
        assert_eq!(fault(&[[10.0, 0.5], [5.0, 1.0]]).1, "5 and 1 as point 2");
        assert_eq!(fault(&[[10.0, 0.5], [15.0, 0.4]]).0, "parts from 0 to 1, in order");
        assert_eq!(fault(&[[10.0, 0.5]]).1, "1 points that end at 0.5");
        assert_eq!(SizeDistribution::read("1 0.5\n2 x\n").unwrap_err().1, "`2 x` in line 2");
    }
}
