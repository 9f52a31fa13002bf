//! Whether marks come from a queue that marks as RFC 3168 says, by the delay: such queues vary by milliseconds, those of L4S do not.
//! Source: Briscoe and Ahmed, "TCP Prague fall-back on detection of a classic ECN AQM", arXiv:1911.00710, passive detection.
//! Model: from the first mark on, once a round trip, score += lg(v / V0) / 2 + max(lg(d / D0), 0) / 2, with v the mean deviation of the round-trip time and
//! d its mean less its least value; V0 = 750 us, D0 = 2 ms. The score is held between -8 and 9; classic = score between 0 and 1.

use crate::AckEvent;
use haltere_units::Dur;

/// The variation and the depth of a queue that tell neither way (the paper).
const V0_NS: f64 = 750e3;
const D0_NS: f64 = 2e6;
/// The weights of both.
const WEIGHT: f64 = 0.5;
/// The distance of the score from the transition at the start and at its limit: the paper's stickiness of 16, weighted.
const STICKY: f64 = 16.0 * WEIGHT;
/// The weight of a sample in the mean and in the deviation.
const SMOOTHING: f64 = 1.0 / 256.0;
/// A deviation counts as at least so much: no clock is better.
const LEAST_DEVIATION_NS: f64 = 1e3;

/// The score and what it is made of.
#[derive(Debug, Clone)]
pub(super) struct Detector {
    score: f64,
    mean_ns: f64,
    deviation_ns: f64,
    saw_mark: bool,
}

impl Default for Detector {
    fn default() -> Detector {
        Detector { score: -STICKY, mean_ns: 0.0, deviation_ns: 0.0, saw_mark: false }
    }
}

impl Detector {
    /// 0: the marks are those of L4S. 1: they are RFC 3168's.
    pub fn classic(&self) -> f64 {
        self.score.clamp(0.0, 1.0)
    }
    pub fn on_ack(&mut self, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.sample(rtt);
        }
        self.saw_mark |= ev.ce.as_u64() > 0;
        if ev.round_start && self.saw_mark && self.mean_ns > 0.0 {
            self.judge(ev.min_rtt);
        }
    }
    fn sample(&mut self, rtt: Dur) {
        let rtt_ns = rtt.as_ns() as f64;
        if self.mean_ns == 0.0 {
            self.mean_ns = rtt_ns;
            return;
        }
        let error = rtt_ns - self.mean_ns;
        self.mean_ns += SMOOTHING * error;
        self.deviation_ns += SMOOTHING * (error.abs() - self.deviation_ns);
    }
    fn judge(&mut self, min_rtt: Dur) {
        let depth = (self.mean_ns - min_rtt.as_ns() as f64).max(1.0);
        let variation = self.deviation_ns.max(LEAST_DEVIATION_NS);
        let change = WEIGHT * (libm::log2(variation / V0_NS) + libm::log2(depth / D0_NS).max(0.0));
        self.score = (self.score + change).clamp(-STICKY, STICKY + 1.0);
    }
    #[cfg(test)]
    pub fn certain() -> Detector {
        Detector { score: STICKY + 1.0, ..Detector::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Time;

    fn known(deviation_us: f64, mean_ms: f64) -> Detector {
        Detector { deviation_ns: deviation_us * 1e3, mean_ns: mean_ms * 1e6, saw_mark: true, ..Detector::default() }
    }
    fn rounds(d: &mut Detector, count: usize) {
        (0..count).for_each(|_| d.judge(Dur::from_ms(20)));
    }

    /// By hand: 3 ms of variation are lg 4 = 2, 8 ms of queue lg 4 = 2: half of each, 2 a round trip; from -8 to 0 in four, to 1 in five.
    #[test]
    fn a_deep_queue_that_varies_is_known_after_five_round_trips() {
        let mut d = known(3000.0, 28.0);
        rounds(&mut d, 4);
        assert_eq!(d.classic(), 0.0);
        rounds(&mut d, 1);
        assert_eq!(d.classic(), 1.0);
        rounds(&mut d, 100);
        assert_eq!(d.score, 9.0);
    }

    /// 187.5 us are lg (1/4) = -2: one less a round trip. A shallow queue is neutral.
    #[test]
    fn a_queue_of_l4s_takes_the_score_back() {
        let mut d = known(187.5, 20.5);
        d.score = 9.0;
        rounds(&mut d, 8);
        assert_eq!(d.classic(), 1.0);
        rounds(&mut d, 1);
        assert_eq!(d.classic(), 0.0);
        rounds(&mut d, 100);
        assert_eq!(d.score, -8.0);
    }

    #[test]
    fn nothing_is_judged_before_the_first_mark() {
        let mut d = Detector { saw_mark: false, ..known(3000.0, 28.0) };
        let rtt = Some(Dur::from_ms(28));
        let ev = AckEvent { round_start: true, rtt, min_rtt: Dur::from_ms(20), ..AckEvent::at(Time::ZERO) };
        (0..100).for_each(|_| d.on_ack(&ev));
        assert_eq!(d.score, -STICKY);
        d.on_ack(&AckEvent { ce: haltere_units::Bytes::new(1000), ..ev });
        assert!(d.score > -STICKY);
    }
}
