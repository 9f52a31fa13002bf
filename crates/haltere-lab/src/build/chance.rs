//! Streams of chance for building plans: one for each (seed, name), so that variants of an experiment meet the same.

use haltere_units::Dur;

/// A stream of random numbers (SplitMix64, Steele et al. 2014) seeded by a run's seed and a name.
#[derive(Debug, Clone)]
pub(crate) struct Stream(u64);

impl Stream {
    /// The stream of that name in the run of that seed.
    pub(crate) fn new(seed: u64, name: &str) -> Stream {
        Stream(named_seed(seed, name))
    }
    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
    /// A whole number from 0 to `n` - 1; `n` is at least 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
    /// A span drawn uniformly from zero to `most`.
    pub(crate) fn span(&mut self, most: Dur) -> Dur {
        Dur::from_ns(self.below(most.as_ns().saturating_add(1)))
    }
    /// Puts `items` in a random order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// A seed for the component of that name: FNV-1a of the name, mixed with the run's seed.
pub(crate) fn named_seed(seed: u64, name: &str) -> u64 {
    let hash = name.bytes().fold(0xCBF2_9CE4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3));
    mix(hash ^ mix(seed.wrapping_add(0x9E37_79B9_7F4A_7C15)))
}

fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draw = |seed, name| Stream::new(seed, name).next();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }

    #[test]
    fn spans_fill_the_range_evenly() {
        let mut stream = Stream::new(1, "x");
        let sum: u64 = (0..10_000).map(|_| stream.span(Dur::from_ns(1000)).as_ns()).sum();
        // The mean of 10,000 draws has a standard deviation of 2.9.
        assert!((485..515).contains(&(sum / 10_000)), "mean {}", sum / 10_000);
    }
}
