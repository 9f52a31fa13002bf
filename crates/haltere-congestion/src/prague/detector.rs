//! Whether marks come from a queue that marks as RFC 3168 says, by the delay: such queues vary by milliseconds, those
//! of L4S do not.
//! Source: Briscoe and Ahmed, "TCP Prague fall-back on detection of a classic ECN AQM", arXiv:1911.00710, passive
//! detection; the behaviour of TCP Prague 0.6 (L4STeam/linux, net/ipv4/tcp_prague.c). No code was copied.
//! Model: from the first mark on, once a round trip (Linux: once every V), score += lg(v / V0) / 2 + max(lg(d / D0), 0)
//! / 2, with v the mean deviation of the round-trip time and d its mean less its least value; V0 = 750 us, D0 = 2 ms.
//! The score is held between -8 and 9; classic = score between 0 and 1.
//! Weights of a sample: 1/256 for mean and deviation. Linux: 2^-n for the mean, with n = 3/2 lg ssthresh + 1 in whole
//! numbers and at most 18, set by each reduction; half of that for the deviation. Before a threshold is known n is 18,
//! so that the mean is the first sample.

use crate::AckEvent;
use haltere_units::Dur;

haltere_units::params! {
    /// How Prague falls back to the answer of classic controls.
    #[derive(Default)]
    pub enum Fallback {
        /// Marks are always answered as those of L4S.
        #[default]
        Off,
        /// A reduction halves the window, as Reno's. Round-trip times have fixed weights in the detection.
        Paper,
        /// As TCP Prague 0.6 in Linux: a reduction takes 5/16 of the window. The weights follow from the threshold.
        Linux,
    }
}

/// The variation and the depth of a queue that are neutral (the paper).
const V0_NS: f64 = 750e3;
const D0_NS: f64 = 2e6;
/// The weights of both.
const WEIGHT: f64 = 0.5;
/// The distance of the score from the transition at the start and at its limit: the paper's stickiness of 16, weighted.
const STICKY: f64 = 16.0 * WEIGHT;
/// The fixed weight of a sample, as a negative power of two.
const FIXED_SHIFT: i32 = 8;
/// Linux's least weight of a sample, likewise.
const MAX_SHIFT: u32 = 18;
/// A deviation counts as at least so much: no clock is better.
const LEAST_DEVIATION_NS: f64 = 1e3;

/// The score and what it is made of.
#[derive(Debug, Clone)]
pub(super) struct Detector {
    linux: bool,
    score: f64,
    mean_ns: f64,
    deviation_ns: f64,
    /// The weight of a sample in the mean and in the deviation.
    weights: (f64, f64),
    saw_mark: bool,
}

impl Detector {
    /// `None`: there is to be none.
    pub fn of(fallback: Fallback) -> Option<Detector> {
        let linux = match fallback {
            Fallback::Off => return None,
            Fallback::Paper => false,
            Fallback::Linux => true,
        };
        let shifts = if linux { linux_shifts(u64::MAX) } else { (FIXED_SHIFT, FIXED_SHIFT) };
        let weights = weights(shifts);
        Some(Detector { linux, score: -STICKY, mean_ns: 0.0, deviation_ns: 0.0, weights, saw_mark: false })
    }
    /// 0: the marks are those of L4S. 1: they are RFC 3168's.
    pub fn classic(&self) -> f64 {
        self.score.clamp(0.0, 1.0)
    }
    /// The share of marks that a reduction answers at least.
    pub fn answered(&self) -> f64 {
        self.classic() * if self.linux { 0.625 } else { 1.0 }
    }
    pub fn on_ack(&mut self, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.sample(rtt);
        }
        self.saw_mark |= ev.ce.as_u64() > 0;
        if ev.round_start && !self.linux {
            self.judge(ev.min_rtt);
        }
    }
    /// The share of marks was measured.
    pub fn on_measured(&mut self, min_rtt: Dur) {
        if self.linux {
            self.judge(min_rtt);
        }
    }
    /// A reduction begins, in a window with that threshold in segments before it.
    pub fn on_reduction(&mut self, ssthresh: u64) {
        if self.linux {
            self.weights = weights(linux_shifts(ssthresh));
        }
    }
    fn sample(&mut self, rtt: Dur) {
        let rtt_ns = rtt.as_ns() as f64;
        if self.mean_ns == 0.0 {
            self.mean_ns = rtt_ns;
            return;
        }
        let error = rtt_ns - self.mean_ns;
        self.mean_ns += self.weights.0 * error;
        self.deviation_ns += self.weights.1 * (error.abs() - self.deviation_ns);
    }
    fn judge(&mut self, min_rtt: Dur) {
        if !self.saw_mark || self.mean_ns <= 0.0 {
            return;
        }
        let depth = (self.mean_ns - min_rtt.as_ns() as f64).max(1.0);
        let variation = self.deviation_ns.max(LEAST_DEVIATION_NS);
        let change = WEIGHT * (libm::log2(variation / V0_NS) + libm::log2(depth / D0_NS).max(0.0));
        self.score = (self.score + change).clamp(-STICKY, STICKY + 1.0);
    }
    #[cfg(test)]
    pub fn certain(fallback: Fallback) -> Detector {
        Detector { score: STICKY + 1.0, ..Detector::of(fallback).expect("a detector") }
    }
}

/// Linux's weights of mean and deviation, as negative powers of two.
fn linux_shifts(ssthresh: u64) -> (i32, i32) {
    let lg = ssthresh.max(1).ilog2();
    let mean = (lg + lg / 2 + 1).min(MAX_SHIFT) as i32;
    (mean, mean + 1)
}

fn weights((mean, deviation): (i32, i32)) -> (f64, f64) {
    (libm::ldexp(1.0, -mean), libm::ldexp(1.0, -deviation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Time;

    fn known(deviation_us: f64, mean_ms: f64) -> Detector {
        let paper = Detector::of(Fallback::Paper).unwrap();
        Detector { deviation_ns: deviation_us * 1e3, mean_ns: mean_ms * 1e6, saw_mark: true, ..paper }
    }
    fn rounds(d: &mut Detector, count: usize) {
        (0..count).for_each(|_| d.judge(Dur::from_ms(20)));
    }

    /// By hand: 3 ms of variation are lg 4 = 2, 8 ms of queue lg 4 = 2: half of each, 2 a round trip; from -8 to 0 in
    /// four, to 1 in five.
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

    /// By hand: lg 100 is 6 in whole numbers, 6 + 3 + 1 = 10, so 1/1024 and 1/2048; without a threshold 2^-18.
    #[test]
    fn linux_s_weights_follow_the_threshold_at_each_reduction() {
        let mut d = Detector::of(Fallback::Linux).unwrap();
        assert_eq!(d.weights, (1.0 / 262_144.0, 1.0 / 524_288.0));
        d.on_reduction(100);
        assert_eq!(d.weights, (1.0 / 1024.0, 1.0 / 2048.0));
        d.sample(Dur::from_us(20_000));
        d.sample(Dur::from_us(30_240));
        assert_eq!((d.mean_ns, d.deviation_ns), (20_010e3, 5e3));
        let mut paper = Detector::of(Fallback::Paper).unwrap();
        paper.on_reduction(100);
        assert_eq!(paper.weights, (1.0 / 256.0, 1.0 / 256.0));
    }

    /// Linux judges with each new alpha, which comes once every virtual round-trip time; the paper once a round trip.
    #[test]
    fn linux_judges_when_alpha_is_measured() {
        let rtt = Some(Dur::from_ms(28));
        let ev = AckEvent { round_start: true, rtt, min_rtt: Dur::from_ms(20), ..AckEvent::at(Time::ZERO) };
        let ev = AckEvent { ce: haltere_units::Bytes::new(1000), ..ev };
        for (fallback, by_round) in [(Fallback::Paper, true), (Fallback::Linux, false)] {
            let mut d = Detector { deviation_ns: 3e6, score: 0.0, ..Detector::of(fallback).unwrap() };
            d.on_ack(&ev);
            assert_eq!(d.score > 0.0, by_round);
            let before = d.score;
            d.on_measured(ev.min_rtt);
            assert_eq!(d.score > before, !by_round);
        }
    }
}
