//! From the gradient of the utility to the change of the rate: section 4.2.

use super::Params;

/// The confidence amplifier and the dynamic change boundary.
#[derive(Debug, Clone, Default)]
pub(super) struct Step {
    /// tau: steps in this direction, this one included.
    same: u32,
    up: bool,
    /// k: steps in a row that were above the boundary.
    beyond: u32,
}

/// m(tau): the steps grow, the longer one direction is right.
fn amplifier(same: u32) -> f64 {
    let tau = f64::from(same);
    match same {
        0..=3 => tau,
        4..=6 => 2.0 * tau - 3.0,
        7..=9 => 4.0 * tau - 15.0,
        _ => 9.0 * tau - 50.0,
    }
}

impl Step {
    /// m(tau) of the last step.
    pub fn confidence(&self) -> f64 {
        amplifier(self.same)
    }
    /// The change of a rate in Mbit/s for that gradient.
    pub fn change(&mut self, params: &Params, rate: f64, gradient: f64) -> f64 {
        let up = gradient > 0.0;
        if self.same == 0 || up != self.up {
            *self = Step { same: 0, up, beyond: 0 };
        }
        self.same = self.same.saturating_add(1);
        let wanted = (params.theta * amplifier(self.same) * gradient).abs();
        let change = wanted.min(self.bounded(params, rate, wanted));
        if up { change } else { -change }
    }
    /// omega x, with omega = omega_0 + k delta. A step beyond it raises k; else k is the least that allows the step.
    fn bounded(&mut self, params: &Params, rate: f64, wanted: f64) -> f64 {
        let bound = |k: u32| rate * (params.omega + f64::from(k) * params.delta);
        let most = bound(self.beyond);
        if wanted > most {
            self.beyond = self.beyond.saturating_add(1);
        } else {
            self.beyond = (0..=self.beyond).find(|&k| wanted <= bound(k)).unwrap_or(self.beyond);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn changes(params: &Params, gradients: &[f64]) -> Vec<f64> {
        let mut step = Step::default();
        gradients.iter().map(|gradient| libm::round(step.change(params, 100.0, *gradient) * 1e9) / 1e9).collect()
    }

    /// By m(tau): 1, 2, 3, then 2 tau - 3 = 5, 7, 9, then 4 tau - 15 = 13, 17, 21, then 9 tau - 50 = 40.
    #[test]
    fn the_longer_one_direction_is_right_the_larger_the_steps() {
        let params = Params { omega: 1.0, ..Params::default() };
        assert_eq!(changes(&params, &[1.0; 10]), [1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 13.0, 17.0, 21.0, 40.0]);
    }
    #[test]
    fn another_direction_begins_with_small_steps() {
        let params = Params { omega: 1.0, ..Params::default() };
        assert_eq!(changes(&params, &[1.0, 1.0, 1.0, -1.0, -1.0, 1.0]), [1.0, 2.0, 3.0, -1.0, -2.0, 1.0]);
    }
    /// At 100 Mbit/s: 5 %, then 15 % and 25 % after steps beyond the boundary. A direction that changes begins at 5 %.
    #[test]
    fn a_gradient_that_is_too_large_moves_the_rate_by_the_boundary() {
        assert_eq!(changes(&Params::default(), &[-400.0, -400.0, -400.0, 400.0]), [-5.0, -15.0, -25.0, 5.0]);
    }
    /// After 5 and 15 the boundary is 25. A step of 3 * 4 = 12 fits 15, so the next boundary is 15, and 5 * 10 = 50 is
    /// cut to it.
    #[test]
    fn a_step_within_the_boundary_takes_it_back_to_what_the_step_needs() {
        assert_eq!(changes(&Params::default(), &[400.0, 400.0, 4.0, 10.0]), [5.0, 15.0, 12.0, 15.0]);
    }
}
