//! Streams of chance, one for each component, derived from the run's seed and the component's name.
//! Source: xoshiro256++ and splitmix64 (Blackman and Vigna 2018), FNV-1a for the name. Deviations: none.
//! Seeds, names and numbers are the simulator's: a component meets the same chance in both worlds.

/// One step of splitmix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One stream of random bits.
#[derive(Debug, Clone)]
pub struct Stream([u64; 4]);

impl Stream {
    /// The stream of the component `name` in the run of that seed.
    pub fn new(seed: u64, name: &str) -> Stream {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        let mut state = split_mix(&mut (seed ^ hash.rotate_left(32))) ^ hash;
        Stream(std::array::from_fn(|_| split_mix(&mut state)))
    }
    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }
    /// A number drawn uniformly from [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// True with this probability; draws nothing where the answer is certain.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.uniform() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_of_the_published_generator() {
        // xoshiro256++ from state 1, 2, 3, 4: (1 + 4) rotated left by 23, plus 1.
        assert_eq!(Stream([1, 2, 3, 4]).bits(), (5 << 23) + 1);
    }

    #[test]
    fn streams_differ_by_name_and_repeat_by_seed() {
        let draw = |seed, name: &str| {
            let mut s = Stream::new(seed, name);
            [s.bits(), s.bits()]
        };
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
    }

    #[test]
    fn uniform_has_the_right_mean() {
        let mut stream = Stream::new(7, "x");
        let mean = (0..100_000).map(|_| stream.uniform()).sum::<f64>() / 100_000.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}"); // five standard errors
    }
}
