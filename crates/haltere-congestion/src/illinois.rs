//! Illinois: the queueing delay sets how fast the window grows and how much a loss takes.
//! Model: with d_a the mean queueing delay of a round and d_m the largest seen: alpha = 10 below d_m / 100, then it
//! falls as k1 / (k2 + d_a) to 0.3 at d_m. beta rises from 1/8 at d_m / 10 to 1/2 at 0.8 d_m. cwnd += alpha a round
//! trip; on loss cwnd *= 1 - beta.
//! Units: segments; delays ns. Cost: O(1) an acknowledgement.

use crate::law::{Count, WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Losses say when to reduce, delays by how much, and how fast to grow.
    ///
    /// Source: Liu, Basar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for
    /// high-speed networks", VALUETOOLS 2006.
    ///
    /// Deviations: alpha returns to its largest value only after `theta` rounds with little delay, as in Linux and the
    /// paper's section on noise. After an increase the count of acknowledged segments begins at zero, as in Linux: what
    /// the last acknowledgement had beyond it is lost, so with delayed acknowledgements and a large alpha growth is
    /// slower.
    ///
    /// Known problems: the largest delay seen belongs to the deepest buffer of the past.
    pub struct Params {
        /// alpha without a queue, in segments a round trip, at least `alpha_min`. The default is the paper's.
        pub alpha_max: f64 = 10.0;
        /// alpha at the largest delay, in segments a round trip, above 0. The default is Linux's (the paper: 0.1).
        pub alpha_min: f64 = 0.3, [above 0];
        /// beta while the delay is small, above 0. The default is the paper's.
        pub beta_min: f64 = 0.125, [above 0 and at most 0.9];
        /// beta while the delay is large, at least `beta_min` and at most 0.9. The default is the paper's.
        pub beta_max: f64 = 0.5;
        /// Below this window in segments it is Reno. The default is Linux's.
        pub window_threshold: u32 = 15;
        /// Rounds with little delay before alpha is `alpha_max` again. The default is Linux's.
        pub theta: u32 = 5;
    }
}

/// How Illinois changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    params: Params,
    alpha: f64,
    beta: f64,
    base: Option<Dur>,
    largest: Dur,
    /// Sum and number of the round's samples.
    sum: Dur,
    samples: u32,
    /// The round ends when this byte is acknowledged.
    round_end: u64,
    /// The delay was above the first bound, and for how many rounds it has been below since.
    above: bool,
    low_rounds: u32,
    count: Count,
}

/// Illinois for one sender.
pub type Illinois = Windowed<Law>;

impl Law {
    /// alpha for a mean delay `da` of at most `dm`.
    fn alpha_for(&mut self, da: f64, dm: f64) -> f64 {
        let (most, least) = (self.params.alpha_max, self.params.alpha_min);
        let first = dm / 100.0;
        if da <= first {
            if !self.above {
                return most;
            }
            self.low_rounds += 1;
            if self.low_rounds < self.params.theta {
                return self.alpha;
            }
            (self.low_rounds, self.above) = (0, false);
            return most;
        }
        self.above = true;
        let (dm, da) = (dm - first, da - first);
        dm * most / (dm + da * (most - least) / least)
    }
    /// beta for a mean delay `da` of at most `dm`.
    fn beta_for(&self, da: f64, dm: f64) -> f64 {
        let (least, most) = (self.params.beta_min, self.params.beta_max);
        let (second, third) = (dm / 10.0, 0.8 * dm);
        if da <= second {
            least
        } else if da >= third {
            most
        } else {
            (least * third - most * second + (most - least) * da) / (third - second)
        }
    }
    fn end_round(&mut self, cwnd: u64) {
        if cwnd < u64::from(self.params.window_threshold) {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if let (Some(base), 1..) = (self.base, self.samples) {
            let mean = self.sum.as_secs_f64() / f64::from(self.samples);
            let (da, dm) = (mean - base.as_secs_f64(), self.largest.saturating_sub(base).as_secs_f64());
            self.alpha = self.alpha_for(da, dm);
            self.beta = self.beta_for(da, dm);
        }
        (self.sum, self.samples) = (Dur::ZERO, 0);
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        haltere_units::refuse!(
            !(params.alpha_max >= params.alpha_min && params.alpha_max.is_finite()),
            params.alpha_max,
            alloc::format!("at least alpha_min ({})", params.alpha_min)
        );
        haltere_units::refuse!(
            !(params.beta_min..=0.9).contains(&params.beta_max),
            params.beta_max,
            alloc::format!("from beta_min ({}) to 0.9", params.beta_min)
        );
        Ok(Law { params: params.clone(), alpha: params.alpha_max, beta: params.beta_max, ..Law::default() })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if let Some(rtt) = ev.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.largest = self.largest.max(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
        if ev.snd_una > self.round_end && !ev.in_recovery {
            self.end_round(window.cwnd);
            self.round_end = ev.snd_nxt;
        }
    }
    /// Linux counts what the acknowledgement covers, whether it was SACKed before or not: all of a recovery's data with
    /// the one that ends it.
    fn avoid(&mut self, ev: &AckEvent, window: &mut Window, _delivered: u64) {
        let acked = window.segments_in(ev.acked);
        if let Some(segments) = self.count.add_then_ask(acked, self.alpha, window.cwnd) {
            window.set_cwnd(window.cwnd + segments);
        }
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        self.count.clear();
        window.cwnd - (window.cwnd as f64 * self.beta) as u64
    }
    fn timed_out(&mut self) {
        (self.alpha, self.beta) = (1.0, 0.5);
        (self.low_rounds, self.above) = (0, false);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("alpha", "segments", self.alpha);
        row.push("beta", "", self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};
    use haltere_units::Bytes;

    fn illinois() -> Illinois {
        Illinois::new(&Params::default(), &sender(10)).unwrap().avoiding(100)
    }

    #[test]
    fn alpha_falls_from_10_to_0_3_and_beta_rises_from_an_eighth_to_a_half() {
        let mut law = illinois().law;
        assert_eq!((law.alpha_for(0.0, 0.1), law.beta_for(0.0, 0.1)), (10.0, 0.125));
        assert!((law.alpha_for(0.1, 0.1) - 0.3).abs() < 1e-12);
        assert_eq!(law.beta_for(0.1, 0.1), 0.5);
        // Half way between the second and the third bound.
        assert!((law.beta_for(0.045, 0.1) - 0.3125).abs() < 1e-12);
    }

    #[test]
    fn alpha_returns_after_theta_quiet_rounds() {
        let mut law = illinois().law;
        law.alpha = law.alpha_for(0.05, 0.1);
        let before = law.alpha;
        for _ in 0..4 {
            assert_eq!(law.alpha_for(0.0, 0.1), before);
        }
        assert_eq!(law.alpha_for(0.0, 0.1), 10.0);
    }

    /// By hand: alpha 10, a window of 70: seven segments make one more. Two at a time, the fourth acknowledgement does,
    /// with eight.
    #[test]
    fn what_goes_beyond_an_increase_is_lost() {
        let acks_for_three = |each| {
            let mut c = illinois();
            (c.window.cwnd, c.window.ssthresh) = (70, 70);
            let mut acks = 0;
            while c.window.cwnd < 73 {
                c.on_ack(&ack(0, each, 40, 40));
                acks += 1;
            }
            acks
        };
        assert_eq!(acks_for_three(1), 7 + 8 + 8, "71 and 72 need 7.1 and 7.2");
        assert_eq!(acks_for_three(2), 4 + 4 + 4);
    }

    /// By hand: alpha 10, a window of 70: seven segments make one more, SACKed before or not.
    #[test]
    fn what_was_sacked_before_counts_when_it_is_covered() {
        let mut c = illinois();
        (c.window.cwnd, c.window.ssthresh) = (70, 70);
        c.on_ack(&AckEvent { delivered: Bytes::new(1000), ..ack(0, 7, 40, 40) });
        assert_eq!(c.window.cwnd, 71);
    }

    /// By hand: a quarter of 101 segments is 25.25, of which Linux takes the whole ones.
    #[test]
    fn what_a_loss_leaves_is_rounded_up() {
        let mut c = illinois();
        (c.window.cwnd, c.law.beta) = (101, 0.25);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 76);
    }

    #[test]
    fn a_full_queue_costs_half_of_the_window() {
        let mut c = illinois();
        for (i, rtt) in [(1, 20), (2, 120), (3, 120), (4, 120)] {
            for _ in 0..10 {
                c.on_ack(&AckEvent { snd_una: i, snd_nxt: i, ..ack(i * 100, 1, rtt, 20) });
            }
        }
        c.window.cwnd = 100;
        c.on_loss(&loss(500));
        assert_eq!(c.window.cwnd, 50);
    }
}
