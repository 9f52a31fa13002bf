//! LP: a sender that yields to others as soon as the round-trip time says that they are there.
//! Model: d = (7 d + RTT) / 8. Early congestion, once a loss was seen: d > d_min + (d_max - d_min) delta. The first
//! halves the window and begins an inference time of three round trips, in which the window does not grow. Another one
//! in that time, later than a round trip after the halving, leaves one segment. Otherwise growth as Reno. On loss as
//! Reno.
//! Units: segments; delays ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Prob, Probe, Time};

haltere_units::params! {
    /// A sender of low priority: it takes what others leave, and yields when the delay rises (TCP-LP).
    ///
    /// Source: Kuzmanovic and Knightly, "TCP-LP: a distributed algorithm for low priority data transfer", INFOCOM 2003;
    /// the longer form is IEEE/ACM Transactions on Networking 14(4), 2006.
    ///
    /// Deviations: the delay is the round-trip time; the paper takes the one-way delay from timestamps. A queue on the
    /// return path counts, too. An indication in the first round trip after a halving does not count, because the queue
    /// cannot be shorter yet; the paper leaves that open. Nothing is inferred before the first loss: until a full
    /// buffer was seen, d_max is not known, and jitter would be taken for a queue.
    ///
    /// Known problems: with loss that no full buffer caused it yields to its own queue. If all flows of a link yield,
    /// the first one keeps it.
    pub struct Params {
        /// delta, above 0 and below 1: the part of the range of delays from which others are inferred. The default is
        /// the paper's.
        pub delta: Prob = Prob::of(0.15), [above 0 and below 1];
        /// Round trips of the inference time, above 0. The default is the paper's.
        pub inference: u32 = 3, [above 0];
    }
}

/// The weight of the newest delay, 1/8 (the paper's gamma).
const SMOOTHING: u64 = 8;

/// How TCP-LP changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    delta: f64,
    inference: u64,
    smoothed_ns: Option<u64>,
    least: Dur,
    largest: Dur,
    /// A loss was seen, so `largest` is the delay of a full buffer.
    lost: bool,
    /// When the inference time began, and the smoothed round-trip time then.
    halved: Option<(Time, Dur)>,
    inferring: bool,
}

/// TCP-LP for one sender.
pub type Lp = Windowed<Law>;

impl Law {
    fn sample(&mut self, rtt: Dur) {
        self.least = self.least.min(rtt);
        self.largest = self.largest.max(rtt);
        let before = self.smoothed_ns.unwrap_or(rtt.as_ns());
        self.smoothed_ns = Some(before - before / SMOOTHING + rtt.as_ns() / SMOOTHING);
    }
    /// The delay above which others are inferred, in nanoseconds.
    fn threshold_ns(&self) -> f64 {
        let range = self.largest.saturating_sub(self.least);
        self.least.as_ns() as f64 + self.delta * range.as_ns() as f64
    }
    fn is_inferring(&self, now: Time) -> bool {
        self.halved.is_some_and(|(at, rtt)| now.since(at) < rtt * self.inference)
    }
    /// Early congestion is indicated.
    fn yields(&mut self, ev: &AckEvent, window: &mut Window) {
        if self.halved.is_some_and(|(at, rtt)| ev.now.since(at) < rtt) {
            return;
        }
        window.set_cwnd(if self.is_inferring(ev.now) { 1 } else { window.cwnd / 2 });
        // What follows is congestion avoidance, from one segment, too.
        window.ssthresh = window.ssthresh.min(window.cwnd.max(2));
        self.halved = Some((ev.now, ev.srtt));
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        let (delta, inference) = (params.delta.as_f64(), u64::from(params.inference));
        Ok(Law { delta, inference, least: Dur::MAX, ..Law::default() })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        let Some(rtt) = ev.rtt else { return };
        self.sample(rtt);
        if self.lost && self.smoothed_ns.is_some_and(|delay| delay as f64 > self.threshold_ns()) {
            self.yields(ev, window);
        }
        self.inferring = self.is_inferring(ev.now);
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        if self.inferring { 0 } else { window.slow_start(acked) }
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        if !self.inferring {
            window.additive_increase(window.cwnd, acked);
        }
    }
    fn probe(&self, row: &mut Probe) {
        row.push("smoothed_delay", "s", self.smoothed_ns.unwrap_or(0) as f64 * 1e-9);
        row.push("inferring", "", f64::from(u8::from(self.inferring)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    fn lp(segments: u64) -> Lp {
        Lp::new(&Params::default(), &sender(10)).unwrap().avoiding(segments)
    }
    /// The range of delays is 40 to 140 ms, so the threshold is 55 ms; the smoothed delay is 50 ms.
    fn known(c: &mut Lp) {
        c.law.lost = true;
        (c.law.least, c.law.largest) = (Dur::from_ms(40), Dur::from_ms(140));
        c.law.smoothed_ns = Some(50_000_000);
    }

    /// By hand: d = 50 - 50/8 + 90/8 = 55 ms is the threshold and not above it; the next sample of 90 ms makes 59.4 ms.
    #[test]
    fn early_congestion_is_a_smoothed_delay_above_the_threshold() {
        let mut c = lp(40);
        known(&mut c);
        c.on_ack(&ack(0, 0, 90, 40));
        assert_eq!(c.window.cwnd, 40);
        c.on_ack(&ack(1, 0, 90, 40));
        assert_eq!(c.window.cwnd, 20);
    }

    #[test]
    fn the_window_rests_for_three_round_trips_and_then_grows_as_reno() {
        let mut c = lp(40);
        known(&mut c);
        c.law.smoothed_ns = Some(60_000_000);
        c.on_ack(&ack(0, 1, 60, 40));
        assert_eq!(c.window.cwnd, 20);
        c.law.smoothed_ns = Some(40_000_000);
        assert_eq!(c.round(170, 40, 40), 0, "three times 60 ms are not over");
        assert_eq!(c.round(190, 40, 40), 1);
    }

    #[test]
    fn a_second_indication_in_the_inference_time_leaves_one_segment() {
        let mut c = lp(40);
        known(&mut c);
        c.law.smoothed_ns = Some(80_000_000);
        c.on_ack(&ack(0, 0, 80, 40));
        c.on_ack(&ack(79, 0, 80, 40));
        assert_eq!(c.window.cwnd, 20, "the round trip of the halving is not over");
        c.on_ack(&ack(81, 0, 80, 40));
        assert_eq!(c.window.cwnd, 1);
    }

    #[test]
    fn jitter_is_no_congestion_before_a_buffer_was_full() {
        let mut c = lp(40);
        (0..100).for_each(|i| c.on_ack(&ack(i, 0, 40 + i % 5, 40)));
        assert_eq!(c.window.cwnd, 40);
    }

    #[test]
    fn a_loss_halves() {
        let mut c = lp(40);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 20);
    }
}
