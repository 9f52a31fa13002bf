//! Gains as exact ratios.

/// A factor in 1/256, the precision in which Linux holds BBR's gains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gain(pub u64);

impl Gain {
    pub const UNIT: Gain = Gain(256);

    /// `numerator / denominator`, rounded down to 1/256.
    pub const fn ratio(numerator: u64, denominator: u64) -> Gain {
        Gain(256 * numerator / denominator)
    }
    /// `value` times the gain, rounded down.
    pub fn of(self, value: u64) -> u64 {
        let scaled = u128::from(value) * u128::from(self.0) / 256;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 256.0
    }
}
