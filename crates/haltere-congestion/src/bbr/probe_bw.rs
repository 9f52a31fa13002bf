//! ProbeBW: eight phases of one RTprop each: probe for more, drain what that queued, cruise for six.
//!
//! The first phase is drawn at random, so that flows do not probe together; the draining one is never the first, since
//! there is nothing to drain yet.

use super::{Ack, Bbr, Gain, Mode};
use crate::random::SplitMix;
use haltere_units::Time;

const CYCLE: [Gain; 8] =
    [Gain::ratio(5, 4), Gain::ratio(3, 4), Gain::UNIT, Gain::UNIT, Gain::UNIT, Gain::UNIT, Gain::UNIT, Gain::UNIT];

/// Where in the gain cycle, and since when.
#[derive(Debug, Clone)]
pub(super) struct Cycle {
    phase: usize,
    since: Time,
    random: SplitMix,
}

impl Cycle {
    pub fn new(seed: u64) -> Cycle {
        Cycle { phase: 0, since: Time::ZERO, random: SplitMix::new(seed) }
    }
    pub fn gain(&self) -> Gain {
        CYCLE[self.phase]
    }
    pub fn probes(&self) -> bool {
        self.phase == 0
    }

    /// Any phase but the draining one.
    fn restart(&mut self, now: Time) {
        let draw = self.random.below(7) as usize;
        self.phase = if draw == 0 { 0 } else { draw + 1 };
        self.since = now;
    }
    fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.since = now;
    }
}

impl Bbr {
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycle.restart(now);
    }

    pub(super) fn update_cycle(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeBw && self.phase_is_over(ack) {
            self.cycle.advance(ack.ev.now);
        }
    }

    fn phase_is_over(&self, ack: &Ack) -> bool {
        let lasted = self.core.min_rtt.value.is_some_and(|rtt| ack.ev.now.since(self.cycle.since) > rtt);
        if self.pacing_gain == Gain::UNIT {
            return lasted;
        }
        let in_net = self.in_net_at_departure(ack, ack.prior_in_flight);
        let bw = self.max_bw.get();
        if self.pacing_gain > Gain::UNIT {
            // With a small RTprop it may take longer to raise the flight to the gain; not so when that does not fit.
            lasted && (ack.lost > 0 || in_net >= self.inflight(bw, self.pacing_gain))
        } else {
            // Drained early: to go on would leave the path idle.
            lasted || in_net <= self.inflight(bw, Gain::UNIT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_phase_is_any_but_the_draining_one() {
        let mut seen = [false; 8];
        for seed in 0..200 {
            let mut cycle = Cycle::new(seed);
            cycle.restart(Time::ZERO);
            seen[cycle.phase] = true;
        }
        assert_eq!(seen, [true, false, true, true, true, true, true, true]);
    }

    #[test]
    fn the_gains_of_a_cycle_average_to_one() {
        let mut cycle = Cycle::new(1);
        let sum: u64 = (0..8)
            .map(|_| {
                cycle.advance(Time::ZERO);
                cycle.gain().0
            })
            .sum();
        assert_eq!(sum, 8 * Gain::UNIT.0);
    }
}
