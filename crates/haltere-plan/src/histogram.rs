//! Histograms of durations with bins whose width grows with the value.
//! Model: a value below 256 ns has a bin of its own. Above, each power of two is cut into 128 bins of equal width. So a
//! bin is at most 1/128 as wide as its lowest value, and the middle of a bin is within 0.4 % of every value in it.
//! Source: the layout of HdrHistogram (hdrhistogram.org) with 7 significant bits. Deviations: none.
//! Units: ns. Cost: O(1) a value; at most 7,424 bins.

use alloc::vec::Vec;
use haltere_units::Dur;

/// Bits of a value that its bin keeps, besides the leading one.
const BITS: u32 = 7;
/// Bins of a power of two.
const PER_OCTAVE: usize = 1 << BITS;

/// How often durations occurred, in bins. Number, mean, least and largest are exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Counts by bin, up to the last bin that is not empty.
    bins: Vec<u64>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// The bin of a value.
fn bin_of(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(BITS + 1);
    shift as usize * PER_OCTAVE + (ns >> shift) as usize
}

/// The lowest value of a bin, and how many values it holds.
fn span_of(bin: usize) -> (u64, u64) {
    let shift = (bin / PER_OCTAVE).saturating_sub(1);
    (((bin - shift * PER_OCTAVE) as u64) << shift, 1 << shift)
}

impl Histogram {
    /// Counts a value in its bin.
    pub fn add(&mut self, value: Dur) {
        let ns = value.as_ns();
        let bin = bin_of(ns);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.min_ns = if self.count == 0 { ns } else { self.min_ns.min(ns) };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        self.sum_ns += u128::from(ns);
    }
    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Their mean, rounded down to nanoseconds. `None`: there is no value.
    pub fn mean(&self) -> Option<Dur> {
        let mean = self.sum_ns.checked_div(u128::from(self.count))?;
        Some(Dur::from_ns(mean as u64))
    }
    /// The least value, exactly. `None`: there is no value.
    pub fn min(&self) -> Option<Dur> {
        (self.count > 0).then(|| Dur::from_ns(self.min_ns))
    }
    /// The largest value, exactly. `None`: there is no value.
    pub fn max(&self) -> Option<Dur> {
        (self.count > 0).then(|| Dur::from_ns(self.max_ns))
    }
    /// The least value that at least `share` (0 to 1) of all values do not exceed (the nearest rank), as the middle of
    /// its bin.
    pub fn quantile(&self, share: f64) -> Option<Dur> {
        let rank = (libm::ceil(share * self.count as f64) as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        for (low, width, count) in self.bins() {
            below += count;
            if below >= rank {
                return Some(Dur::from_ns((low + width / 2).clamp(self.min_ns, self.max_ns)));
            }
        }
        None
    }
    /// The bins that are not empty, in ascending order: lowest value in ns, number of values that it can hold, and
    /// count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let bins = self.bins.iter().enumerate().filter(|(_, count)| **count > 0);
        bins.map(|(bin, &count)| {
            let (low, width) = span_of(bin);
            (low, width, count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bins_follow_each_other_without_gap() {
        let mut next = 0;
        for bin in 0..=bin_of(u64::MAX) {
            let (low, width) = span_of(bin);
            assert_eq!(low, next, "bin {bin}");
            assert_eq!(bin_of(low), bin);
            assert_eq!(bin_of(low + (width - 1)), bin);
            assert!(low < 256 || width * 128 <= low, "bin {bin} of {width} ns from {low} ns");
            next = low.wrapping_add(width);
        }
        assert_eq!(next, 0, "the last bin ends with the largest value");
    }
    #[test]
    fn nothing_has_no_quantile() {
        let empty = Histogram::default();
        assert_eq!((empty.quantile(0.5), empty.mean(), empty.min()), (None, None, None));
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_its_bound(mut values in prop::collection::vec(0u64..=40_000_000_000, 1..300), share in 0.0f64..=1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&ns| histogram.add(Dur::from_ns(ns)));
            values.sort_unstable();
            let rank = ((share * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let (want, got) = (values[rank - 1], histogram.quantile(share).expect("a value").as_ns());
            prop_assert!(got.abs_diff(want) * 256 <= want, "{got} for {want}");
            prop_assert_eq!(histogram.min().map(Dur::as_ns), values.first().copied());
            prop_assert_eq!(histogram.max().map(Dur::as_ns), values.last().copied());
            prop_assert_eq!(histogram.bins().map(|bin| bin.2).sum::<u64>(), values.len() as u64);
        }
    }
}
