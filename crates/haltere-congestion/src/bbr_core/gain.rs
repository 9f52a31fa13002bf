//! Gains as exact ratios.

/// A gain of one: a multiple of 256 and of 100, so that both kinds of gain are exact.
const ONE: u64 = 25_600;

/// A factor: in 1/256, the precision in which Linux holds the gains of BBR version 1, or in percent, as the draft of
/// version 3 writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gain(pub u64);

impl Gain {
    pub const UNIT: Gain = Gain(ONE);

    /// `numerator / denominator`, rounded down to 1/256.
    pub const fn ratio(numerator: u64, denominator: u64) -> Gain {
        Gain(256 * numerator / denominator * (ONE / 256))
    }
    /// So many hundredths, exactly.
    pub const fn percent(percent: u64) -> Gain {
        Gain(percent * (ONE / 100))
    }
    /// `value` times the gain, rounded down.
    pub fn of(self, value: u64) -> u64 {
        let scaled = u128::from(value) * u128::from(self.0) / u128::from(ONE);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
    /// `value` times the gain, rounded up.
    pub fn of_up(self, value: u64) -> u64 {
        (value * self.0).div_ceil(ONE)
    }
    /// `value` over one less the gain, rounded down.
    pub fn over_rest(self, value: u64) -> u64 {
        value * ONE / (ONE - self.0)
    }
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_cut_to_256ths_and_percents_are_exact() {
        assert_eq!(Gain::ratio(9, 10).of(25_600), 23_000, "230 / 256");
        assert_eq!(Gain::percent(90).of(25_600), 23_040);
        assert_eq!((Gain::percent(100), Gain::ratio(5, 4)), (Gain::UNIT, Gain::percent(125)));
    }

    #[test]
    fn a_gain_is_shown_as_a_number() {
        assert_eq!((Gain::percent(125).as_f64(), Gain::ratio(1, 4).as_f64()), (1.25, 0.25));
    }
}
