//! Spans drawn from a law.

use crate::rng::Stream;
use haltere_lab::plan::Law;
use haltere_units::Dur;

/// A span of this law.
pub(super) fn draw(law: &Law, chance: &mut Stream) -> Dur {
    match *law {
        Law::Constant(span) => span,
        // Inverse of the distribution function; 1 - u is never zero.
        Law::Exponential(mean) => mean.mul_f64(-(1.0 - chance.uniform()).ln()),
        Law::Uniform(low, high) => low + high.saturating_sub(low).mul_f64(chance.uniform()),
        // The mean of a Pareto law is scale * shape / (shape - 1).
        Law::Pareto(mean, shape) => mean.mul_f64((shape - 1.0) / shape * (1.0 - chance.uniform()).powf(-1.0 / shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_are_the_laws_means() {
        let mean = Dur::from_ms(10);
        let uniform = Law::Uniform(Dur::from_ms(5), Dur::from_ms(15));
        for law in [Law::Constant(mean), Law::Exponential(mean), uniform, Law::Pareto(mean, 3.0)] {
            let mut chance = Stream::new(3, "law");
            let total: f64 = (0..200_000).map(|_| draw(&law, &mut chance).as_secs_f64()).sum();
            let ratio = total / 200_000.0 / 0.010;
            assert!((ratio - 1.0).abs() < 0.01, "{law:?}: {ratio}");
        }
    }
}
