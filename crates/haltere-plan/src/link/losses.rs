//! The packets that a line loses.
//!
//! Source of bursts: E. N. Gilbert, "Capacity of a burst-noise channel", BSTJ 39(5), 1960; E. O. Elliott,
//! "Estimates of error rates for codes on burst-noise channels", BSTJ 42(5), 1963. Order of the two draws: Linux's
//! `netem` (`gemodel`). Deviations: none.
//! Model: a line loses a packet if one of these says so:
//! - its probability of independent loss, which may change in steps;
//! - the Gilbert-Elliott process;
//! - the packet's number;
//! - a failure of the link while the packet is on the line or in flight (jitter aside).
//!
//! ```text
//!              p
//!      +---- ------> ----+         share of packets in the bad state: p / (p + r)
//!    good               bad        mean number of packets in one visit: 1 / r
//!      +---- <------ ----+         loss: (r * loss_good + p * loss_bad) / (p + r)
//!              r
//! ```
//!
//! Cost: O(1) a packet, and a binary search if the probability changes.

use crate::plan::{Failure, GilbertElliott, LinkPlan};
use crate::rng::Rng;
use crate::varying::Steps;
use alloc::vec::Vec;
use haltere_units::{Prob, Time};

/// Says of each packet that a line takes whether the line loses it.
#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// Probability of independent loss, if it does not change in steps.
    pub probability: Prob,
    steps: Option<Steps<Prob>>,
    bursts: Option<Bursts>,
    /// Numbers of packets, in ascending order from 1 on.
    numbers: Vec<u64>,
    taken: u64,
    next: usize,
    failures: Vec<Failure>,
}

/// The Gilbert-Elliott process. It begins in the good state.
#[derive(Debug, Clone)]
struct Bursts {
    params: GilbertElliott,
    is_bad: bool,
}

impl Bursts {
    /// True if the next packet is lost. Two draws: for the change of state, and for the loss, which has the probability
    /// of the old state.
    fn take(&mut self, rng: &mut Rng) -> bool {
        let GilbertElliott { p, r, loss_good, loss_bad } = self.params;
        let (leave, loss) = if self.is_bad { (r, loss_bad) } else { (p, loss_good) };
        self.is_bad ^= rng.uniform() < leave.as_f64();
        rng.uniform() < loss.as_f64()
    }
}

impl Losses {
    /// The losses of the link of that plan.
    pub fn new(plan: &LinkPlan) -> Losses {
        let impairments = plan.impairments.as_deref();
        Losses {
            probability: plan.loss,
            steps: plan.varying.as_ref().and_then(|varying| varying.loss.clone()),
            bursts: impairments.and_then(|all| all.gilbert_elliott).map(|params| Bursts { params, is_bad: false }),
            numbers: impairments.map(|all| all.lose.clone()).unwrap_or_default(),
            taken: 0,
            next: 0,
            failures: impairments.map(|all| all.failures.clone()).unwrap_or_default(),
        }
    }
    /// The line takes the next packet, at `start`. It leaves the line at `leaves` and is due at the other end at `due`.
    /// True if the line loses it. `rng` is the link's stream for losses.
    #[inline]
    pub fn take(&mut self, [start, leaves, due]: [Time; 3], rng: &mut Rng) -> bool {
        let probability = self.steps.as_ref().map_or(self.probability, |steps| steps.at(leaves).0);
        let mut loses = rng.chance(probability.as_f64());
        if let Some(bursts) = &mut self.bursts {
            loses |= bursts.take(rng);
        }
        self.taken += 1;
        if self.numbers.get(self.next) == Some(&self.taken) {
            self.next += 1;
            loses = true;
        }
        loses || self.failures.iter().any(|failure| start < failure.until && failure.at <= due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_queue::QueueParams;
    use haltere_units::Dur;

    fn losses(params: GilbertElliott) -> Losses {
        Losses { bursts: Some(Bursts { params, is_bad: false }), ..Losses::default() }
    }
    fn process(p: f64, r: f64, loss_good: f64, loss_bad: f64) -> GilbertElliott {
        let [p, r, loss_good, loss_bad] = [p, r, loss_good, loss_bad].map(Prob::of);
        GilbertElliott { p, r, loss_good, loss_bad }
    }
    /// Of a million packets: the share that is lost, and the mean number of lost packets in a row.
    fn measured(params: GilbertElliott) -> (f64, f64) {
        let (mut losses, mut rng) = (losses(params), Rng::new(1, "losses"));
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..1_000_000 {
            let now = losses.take([Time::ZERO; 3], &mut rng);
            (lost, bursts) = (lost + u32::from(now), bursts + u32::from(now && !before));
            before = now;
        }
        (f64::from(lost) / 1e6, f64::from(lost) / f64::from(bursts))
    }

    #[test]
    fn loss_and_mean_burst_are_those_of_the_chain() {
        // Simple Gilbert: 0.01 / 0.26 of all packets, 4 in a row. The standard errors are 0.0005 and 0.035.
        let params = process(0.01, 0.25, 0.0, 1.0);
        let (loss, burst) = measured(params);
        assert!((params.loss() - 0.01 / 0.26).abs() < 1e-12);
        assert!((loss - params.loss()).abs() < 0.0025 && (burst - 4.0).abs() < 0.18, "{loss} {burst}");
    }
    #[test]
    fn both_states_lose_with_their_own_probability() {
        // Bad 1/3 of the time: 2/3 * 0.1 + 1/3 * 0.7 = 0.3. The standard error is 0.0006.
        let params = process(0.05, 0.1, 0.1, 0.7);
        assert!((params.loss() - 0.3).abs() < 1e-12);
        assert!((measured(params).0 - 0.3).abs() < 0.003);
    }
    #[test]
    fn a_packet_is_lost_by_the_state_before_its_change() {
        // From good to bad at every packet and back: the second, the fourth and so on are lost.
        let (mut losses, mut rng) = (losses(process(1.0, 1.0, 0.0, 1.0)), Rng::new(1, "losses"));
        let lost: Vec<bool> = (0..4).map(|_| losses.take([Time::ZERO; 3], &mut rng)).collect();
        assert_eq!(lost, [false, true, false, true]);
    }
    #[test]
    fn a_failure_loses_what_is_on_the_link_while_it_lasts() {
        let ms = |ms| Time::ZERO + Dur::from_ms(ms);
        let failures = alloc::vec![Failure { at: ms(10), until: ms(20) }];
        let (mut losses, mut rng) = (Losses { failures, ..Losses::default() }, Rng::new(1, "losses"));
        let mut take = |start, due| losses.take([ms(start), ms(start), ms(due)], &mut rng);
        assert!(!take(5, 9), "delivered before");
        assert!(take(5, 10) && take(9, 12) && take(12, 14) && take(19, 25) && take(5, 25));
        assert!(!take(20, 25), "sent after");
    }
    #[test]
    fn the_probability_is_that_of_the_step() {
        let queue = QueueParams::default_of("drop_tail").expect("a name of the registry");
        let mut plan = LinkPlan::plain(0, 1, None, Dur::ZERO, queue);
        let steps = [(Dur::from_ms(10), Prob::ONE), (Dur::from_ms(20), Prob::ZERO)].into();
        let loss = Some(Steps { first: Prob::ZERO, steps, repeat: None });
        let capacity = crate::varying::Capacity::Constant(None);
        plan.varying =
            Some(alloc::boxed::Box::new(crate::varying::Varying { loss, ..crate::varying::Varying::of(capacity) }));
        let (mut losses, mut rng) = (Losses::new(&plan), Rng::new(1, "losses"));
        let lost = [9, 10, 19, 20].map(|ms| losses.take([Time::ZERO + Dur::from_ms(ms); 3], &mut rng));
        assert_eq!(lost, [false, true, true, false]);
    }
}
