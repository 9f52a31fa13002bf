//! Laws of flow sizes: tables of a distribution function, published or the user's own.
//!
//! A table has one point a line: a size in bytes and the part of the flows that are at most so large. Between two points
//! sizes are spread evenly; all flows up to the first point's part have its size.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use haltere_units::Bytes;
use serde::{Deserialize, Serialize};

/// A size distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SizeDistribution(Arc<[(f64, f64)]>);

/// Web search, as a table: Alizadeh et al., "Data Center TCP", SIGCOMM 2010.
pub const WEB_SEARCH: &str = include_str!("sizes/web_search.txt");
/// Data mining, as a table: Greenberg et al., "VL2", SIGCOMM 2009.
pub const DATA_MINING: &str = include_str!("sizes/data_mining.txt");
/// Key-value cache, as a table: the file's head names the source.
pub const CACHE: &str = include_str!("sizes/cache.txt");

/// A rule that a table breaks, and what was there.
pub type TableFault = (String, String);

impl SizeDistribution {
    /// Always this size.
    pub fn constant(bytes: Bytes) -> SizeDistribution {
        SizeDistribution([(bytes.as_f64(), 1.0)].into())
    }
    /// The law of these points: sizes in bytes and the parts of the flows that are at most so large.
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
        Ok(SizeDistribution(points.iter().map(|&[bytes, part]| (bytes, part)).collect()))
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
    /// The size at which the distribution function reaches `u`, a number from 0 to 1; at least one byte.
    pub fn quantile(&self, u: f64) -> Bytes {
        let points = &self.0;
        let i = points.partition_point(|p| p.1 < u).min(points.len() - 1);
        let (bytes, part) = points[i];
        let size = match i.checked_sub(1).map(|before| points[before]) {
            Some((least, from)) if part > from => least + (bytes - least) * (u - from) / (part - from),
            _ => bytes,
        };
        Bytes::new((size as u64).max(1))
    }
    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        let (first, part) = self.0[0];
        let rest = self.0.windows(2).map(|two| (two[0].0 + two[1].0) / 2.0 * (two[1].1 - two[0].1));
        first * part + rest.sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_spread_evenly_between_points() {
        let law = SizeDistribution::new(&[[10.0, 0.5], [20.0, 1.0]]).unwrap();
        let at = |u| law.quantile(u).as_u64();
        assert_eq!([at(0.0), at(0.3), at(0.5), at(0.75), at(1.0)], [10, 10, 10, 15, 20]);
        assert_eq!(law.mean(), 12.5);
    }
    #[test]
    fn draws_have_the_mean_of_the_law() {
        for text in [WEB_SEARCH, DATA_MINING, CACHE] {
            let law = SizeDistribution::new(&SizeDistribution::read(text).unwrap()).unwrap();
            let n = 100_000;
            let sum: f64 = (0..n).map(|i| law.quantile((f64::from(i) + 0.5) / f64::from(n)).as_f64()).sum();
            // Even steps, so no error of chance; sizes are cut to whole bytes.
            assert!((sum / f64::from(n) / law.mean() - 1.0).abs() < 1e-3, "{} for {}", sum / f64::from(n), law.mean());
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
