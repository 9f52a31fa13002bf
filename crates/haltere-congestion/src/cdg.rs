//! CDG: the window backs off when the round-trip time grows, whatever its size.
//! Model: once a round trip, of the least and of the largest RTT, g = its change since the round before, and the
//! gradient is the mean of the last `smoothing` values of g. The gradient of the least RTT counts if it is above 0,
//! else that of the largest. With the probability 1 - exp(-gradient / G) the window is multiplied by beta, over a round
//! trip. Otherwise growth as Reno. After 5 back-offs in a row that did not shorten the queue there are none until it
//! does. A shadow window grows as the window does and is not backed off, for losses: the window is half of the larger
//! of both, but no more than it was.
//! Units: segments; delays ms. Cost: O(1) an acknowledgement, an exponential function a round trip.

use crate::law::{WindowLaw, Windowed};
use crate::random::SplitMix;
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use alloc::collections::VecDeque;
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Delay gradients as the signal of congestion, with back-offs at random (CAIA Delay-Gradient).
    ///
    /// Source: Hayes and Armitage, "Revisiting TCP congestion control using delay gradients", NETWORKING 2011. Armitage
    /// and Khademi, "Using delay-gradient TCP for multimedia-friendly background transport in home networks", LCN 2013
    /// (use and defaults). Hayes, "Timing enhancements to the FreeBSD kernel to support delay and rate based TCP
    /// mechanisms", CAIA 100219A, 2010 (delayed acknowledgements).
    ///
    /// Deviations: these are Linux's. A loss always reduces by default; with `tolerance` not while the queue seems not
    /// full (the paper: only if it seems full). Slow start may end as in HyStart, before the first back-off
    /// (`hystart`). Changes during a reduction do not count. The shadow window begins with the connection, and a loss
    /// leaves no larger window than there was. A mean over fewer rounds than `smoothing` is of those that there are.
    ///
    /// Known problems: beside flows that fill the queue it gets less than its share, though the shadow window helps. In
    /// a queue that is always full there is no gradient.
    pub struct Params {
        /// G, above 0: the gradient, in time a round trip, at which a back-off has the probability 63 %. The default is
        /// the paper's.
        pub scale: Dur = Dur::from_ms(3), [above 0];
        /// beta, from 0.1 to 0.99: what a back-off leaves of the window. The default is the paper's (Linux: 0.7071).
        pub beta: f64 = 0.7, [from 0.1 to 0.99];
        /// a, from 1 to 64: round trips over which a gradient is smoothed. The default is the paper's.
        pub smoothing: u32 = 8, [from 1 to 64];
        /// Back-offs in a row that have no effect before back-offs pause; 0: never. The default is the paper's.
        pub ineffectual: u32 = 5;
        /// Round trips that back-offs pause for; 0: until the delay falls, as in Linux, which is the default. The
        /// paper's is 5.
        pub pause: u32 = 0;
        /// Keep a shadow window beside flows that fill the queue. The default is the paper's.
        pub shadow: bool = true;
        /// A loss does not reduce while the queue seems not to be full. It seems full when the largest RTT stops
        /// growing before the least one does; after a reduction nothing is known. For paths that lose at random.
        pub tolerance: bool = false;
        /// Slow start ends also if acknowledgements at most 3 ms apart span half of the least RTT, or if eight of a
        /// round are an eighth above it. The default is Linux's.
        pub hystart: bool = true;
    }
}

/// A sum of changes at most this says that the queue got shorter (Linux: 32 us).
const SHORTER_MS: f64 = -0.032;
/// Smaller sums are taken for none when the queue is judged (Linux: 32 us).
const STEADY_MS: f64 = 0.032;
/// HyStart here: acknowledgements of one train are at most so far apart, and no bound is below this (Linux).
const TRAIN_GAP: Dur = Dur::from_ms(3);
const LEAST_BOUND: Dur = Dur::from_us(125);
/// Acknowledgements of a round before its delay is judged.
const DELAY_SAMPLES: u32 = 8;
/// Delayed acknowledgements in credit at most.
const MAX_DELAYED: u32 = 5;

/// The changes of a round-trip time from round to round, in ms.
#[derive(Debug, Clone, Default)]
struct Gradient {
    changes: VecDeque<f64>,
    sum: f64,
}

impl Gradient {
    /// The paper, equation 2: a moving average over `length` changes.
    fn add(&mut self, change: f64, length: usize) {
        self.changes.push_back(change);
        if self.changes.len() > length {
            self.changes.pop_front();
        }
        self.sum = self.changes.iter().sum();
    }
    fn mean(&self) -> f64 {
        self.sum / self.changes.len().max(1) as f64
    }
}

/// 1 if a sum of changes says that the RTT rises, -1 if it falls, else 0.
fn direction(sum: f64) -> i8 {
    i8::from(sum >= STEADY_MS) - i8::from(sum <= -STEADY_MS)
}

/// The least and the largest RTT of a round trip, in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Extremes {
    least: f64,
    largest: f64,
}

/// How CDG changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    params: Params,
    scale_ms: f64,
    mss: Bytes,
    random: SplitMix,
    least: Gradient,
    largest: Gradient,
    /// This round trip, which ends when `round_end` is acknowledged, and the one before.
    round: Option<Extremes>,
    before: Option<Extremes>,
    round_end: u64,
    /// Acknowledgements of several segments, against which those of one are held for delayed ones.
    delayed: u32,
    /// The queue seems full, or not; `None` after a reduction.
    full: Option<bool>,
    /// The shadow window, in segments.
    shadow: u64,
    /// A back-off is asked for.
    asked: bool,
    /// The sender is in a reduction, or this acknowledgement ended it.
    reducing: bool,
    ended: bool,
    /// Back-offs in a row, and round trips until the next may come.
    backoffs: u32,
    pause: u32,
    train: Train,
}

/// HyStart's state: the train of this round, and the number of its acknowledgements.
#[derive(Debug, Clone, Default)]
struct Train {
    least: Option<Dur>,
    /// Start of the round and the last acknowledgement of its train.
    times: Option<(Time, Time)>,
    acks: u32,
}

/// CDG for one sender.
pub type Cdg = Windowed<Law>;

impl Law {
    /// A round-trip time. That of one segment may be a delayed acknowledgement's: then it counts only as the least.
    fn sample(&mut self, rtt: Dur, segments: u64, in_order: bool) {
        let ms = rtt.as_secs_f64() * 1e3;
        let known = self.round.unwrap_or(Extremes { least: ms, largest: ms });
        let least = known.least.min(ms);
        if in_order && segments == 1 && self.delayed > 0 {
            self.delayed -= 1;
            self.round = self.round.map(|round| Extremes { least, ..round });
            return;
        }
        if in_order && segments > 1 && self.delayed < MAX_DELAYED {
            self.delayed += 1;
        }
        self.round = Some(Extremes { least, largest: known.largest.max(ms) });
    }
    /// The gradient that counts.
    fn gradient(&self) -> f64 {
        if self.least.sum > 0.0 { self.least.mean() } else { self.largest.mean() }
    }
    /// The paper, equation 4.
    fn probability(&self) -> f64 {
        let gradient = self.gradient();
        if gradient > 0.0 { 1.0 - libm::exp(-gradient / self.scale_ms) } else { 0.0 }
    }
    fn draw(&mut self) -> f64 {
        (self.random.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// A round trip is over: there may be a back-off.
    fn end_round(&mut self) {
        let Some(round) = self.round.take() else { return };
        self.train.times = None;
        self.train.acks = 0;
        let Some(before) = self.before.replace(round) else { return };
        let length = self.params.smoothing as usize;
        self.least.add(round.least - before.least, length);
        self.largest.add(round.largest - before.largest, length);
        let (least, largest) = (self.least.sum, self.largest.sum);
        if least <= SHORTER_MS || largest <= SHORTER_MS {
            (self.backoffs, self.pause) = (0, 0);
        }
        // The paper, section 3.2: a full queue cannot grow, so the largest RTT stops first; an empty one cannot shrink.
        let (least, largest) = (direction(least), direction(largest));
        if least > 0 && largest <= 0 {
            self.full = Some(true);
        } else if least > 0 || largest < 0 {
            self.full = Some(false);
        }
        if self.gradient() > 0.0 {
            self.asked = self.backs_off();
        }
    }
    /// A change of the delay by the reduction is no gradient: a new round begins, and the round of the reduction is the
    /// one before.
    fn end_reduction(&mut self, snd_nxt: u64) {
        self.before = self.round.take();
        self.round_end = snd_nxt;
        self.full = None;
    }
    fn backs_off(&mut self) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            return false;
        }
        if self.draw() >= self.probability() {
            return false;
        }
        let most = self.params.ineffectual;
        self.backoffs = self.backoffs.saturating_add(1);
        if self.params.pause > 0 && self.backoffs == most {
            (self.backoffs, self.pause) = (0, self.params.pause);
            return true;
        }
        most == 0 || self.backoffs <= most
    }
    /// HyStart: true if slow start is to end.
    fn leaves_slow_start(&mut self, ev: &AckEvent) -> bool {
        // The least RTT of this round is not known if its only acknowledgement was taken for a delayed one.
        let rtt = self.round.map(|round| Dur::from_ns((round.least * 1e6) as u64));
        self.train.least = [self.train.least, rtt].into_iter().flatten().min();
        let Some(least) = self.train.least else { return false };
        match self.train.times {
            Some((start, last)) if ev.cwnd_limited => {
                if ev.now.since(last) < TRAIN_GAP {
                    self.train.times = Some((start, ev.now));
                    if ev.now.since(start) > (least / 2).max(LEAST_BOUND) {
                        return true;
                    }
                }
            }
            _ => self.train.times = Some((ev.now, ev.now)),
        }
        if self.train.acks < DELAY_SAMPLES {
            self.train.acks += 1;
            return false;
        }
        rtt.is_some_and(|rtt| rtt > least + (least / 8).max(LEAST_BOUND))
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law {
            params: params.clone(),
            scale_ms: params.scale.as_secs_f64() * 1e3,
            mss: sender.mss.max(Bytes::new(1)),
            random: SplitMix::new(sender.seed),
            shadow: Window::new(sender).cwnd,
            ..Law::default()
        })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        self.asked = false;
        if let Some(rtt) = ev.rtt {
            self.sample(rtt, ev.acked.as_u64().div_ceil(self.mss.as_u64()), !ev.in_recovery);
        }
        if ev.in_recovery {
            return;
        }
        if core::mem::take(&mut self.ended) {
            self.end_reduction(ev.snd_nxt);
        }
        if self.params.hystart && window.in_slow_start() && self.leaves_slow_start(ev) {
            window.ssthresh = window.cwnd.max(2);
        }
        if ev.snd_una > self.round_end && self.round.is_some() {
            self.round_end = ev.snd_nxt;
            self.end_round();
            self.asked &= !ev.in_rto_recovery;
        }
        if !ev.cwnd_limited {
            self.shadow = self.shadow.min(window.cwnd);
        }
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        let before = window.cwnd;
        let rest = window.slow_start(acked);
        self.shadow += window.cwnd - before;
        rest
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        let before = window.cwnd;
        window.additive_increase(before, acked);
        self.shadow += window.cwnd - before;
    }
    fn wants_reduction(&self) -> bool {
        self.asked
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        self.reducing = true;
        if core::mem::take(&mut self.asked) {
            self.shadow = self.shadow.max(window.cwnd);
            return (window.cwnd as f64 * self.params.beta) as u64;
        }
        if self.params.tolerance && self.full == Some(false) {
            return window.cwnd;
        }
        self.shadow = (self.shadow / 2).min(window.cwnd);
        if self.params.shadow { self.shadow.max(window.cwnd / 2) } else { window.cwnd / 2 }
    }
    fn left_by_timeout(&mut self, window: &Window, now: Time) -> u64 {
        let left = self.reduced(window, now);
        self.reducing = false;
        left
    }
    /// The acknowledgement that ended the reduction follows: its round-trip time belongs to the reduction, too.
    fn recovered(&mut self, _window: &mut Window, _now: Time) {
        self.ended |= core::mem::take(&mut self.reducing);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("gradient_min", "s", self.least.mean() * 1e-3);
        row.push("gradient_max", "s", self.largest.mean() * 1e-3);
        row.push("shadow", "segments", self.shadow as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{ack, at, loss, sender};
    use crate::{CongestionControl, LossEvent, LossKind};

    fn cdg(params: Params) -> Cdg {
        Cdg::new(&params, &sender(10)).unwrap().avoiding(100)
    }
    /// A round trip with this least and this largest RTT, in ms, and the reduction that it asks for.
    fn pass(c: &mut Cdg, least: f64, largest: f64) {
        c.law.round = Some(Extremes { least, largest });
        c.law.end_round();
        if c.wants_reduction() {
            c.on_loss(&LossEvent::at(at(0), LossKind::Asked));
        }
    }

    /// By hand, a = 3: changes of 4, 4, -2 and 1 ms: 4, 8/2, 6/3 and, without the first, 3/3 ms a round trip.
    #[test]
    fn a_gradient_is_the_moving_average_of_the_changes_there_are() {
        let mut g = Gradient::default();
        let seen: alloc::vec::Vec<f64> = [4.0, 4.0, -2.0, 1.0]
            .into_iter()
            .map(|change| {
                g.add(change, 3);
                g.mean()
            })
            .collect();
        assert_eq!(seen, [4.0, 4.0, 2.0, 1.0]);
    }

    #[test]
    fn the_largest_rtt_counts_only_if_the_least_does_not_rise() {
        let mut c = cdg(Params::default());
        (c.law.least.sum, c.law.largest.sum) = (1.0, 5.0);
        assert_eq!(c.law.gradient(), 1.0);
        c.law.least.sum = -1.0;
        assert_eq!(c.law.gradient(), 5.0);
    }

    /// By hand: gradient 3 ms at G = 3 ms: 1 - 1/e = 0.632.
    #[test]
    fn the_probability_of_a_back_off_is_that_of_the_paper() {
        let mut c = cdg(Params::default());
        c.law.largest.sum = 3.0;
        assert!((c.law.probability() - 0.632).abs() < 1e-3);
        c.law.largest.sum = -3.0;
        assert_eq!(c.law.probability(), 0.0);
    }

    #[test]
    fn a_steep_rise_backs_off_and_a_steady_delay_does_not() {
        let mut c = cdg(Params::default());
        c.law.shadow = 100;
        (0..20).for_each(|_| pass(&mut c, 40.0, 45.0));
        assert_eq!(c.window.cwnd, 100);
        pass(&mut c, 40.0, 4045.0);
        assert_eq!((c.window.cwnd, c.law.shadow), (70, 100));
    }

    /// The first round has no gradient; then five back-offs. The pause is five round trips, or lasts until the delay
    /// falls.
    #[test]
    fn five_back_offs_without_effect_pause() {
        let windows = |pause| {
            let mut c = cdg(Params { smoothing: 1, pause, ..Params::default() });
            let rtts = (1..=12).map(|i| f64::from(i) * 1000.0).chain([11_000.0, 12_000.0]);
            let seen: alloc::vec::Vec<u64> = rtts.map(|rtt| (pass(&mut c, rtt, rtt), c.window.cwnd).1).collect();
            seen
        };
        assert_eq!(windows(5), [100, 70, 49, 34, 23, 16, 16, 16, 16, 16, 16, 11, 11, 7]);
        assert_eq!(windows(0), [100, 70, 49, 34, 23, 16, 16, 16, 16, 16, 16, 16, 16, 11]);
    }

    #[test]
    fn a_loss_halves_the_larger_of_window_and_shadow_and_leaves_no_more_than_there_was() {
        let lost = |shadow| {
            let mut c = cdg(Params::default());
            c.law.shadow = shadow;
            c.on_loss(&loss(0));
            (c.window.cwnd, c.law.shadow)
        };
        assert_eq!(lost(80), (50, 40));
        assert_eq!(lost(140), (70, 70));
        assert_eq!(lost(300), (100, 100));
    }

    #[test]
    fn the_shadow_window_grows_with_the_window_and_is_not_backed_off() {
        let mut c = Cdg::new(&Params::default(), &sender(10)).unwrap();
        c.on_ack(&ack(0, 2, 40, 40));
        assert_eq!((c.window.cwnd, c.law.shadow), (12, 12));
        c.law.asked = true;
        c.on_loss(&LossEvent::at(at(1), LossKind::Asked));
        assert_eq!((c.window.cwnd, c.law.shadow), (8, 12));
    }

    /// The round of the reduction is the one before the next: its fall of 20 ms is no gradient.
    #[test]
    fn what_a_reduction_changes_is_no_gradient() {
        let mut c = cdg(Params::default());
        pass(&mut c, 60.0, 60.0);
        c.on_loss(&loss(0));
        c.law.round = Some(Extremes { least: 40.0, largest: 40.0 });
        c.on_recovered(at(40));
        c.on_ack(&ack(40, 1, 40, 40));
        pass(&mut c, 40.0, 40.0);
        assert_eq!(c.law.least.sum, 0.0);
    }

    /// By hand: a queue of 8 ms is full when the reduction ends, and empty a round trip later: the largest RTT falls by
    /// 8 ms. If that acknowledgement counted in the next round, it would not fall at all.
    #[test]
    fn the_acknowledgement_that_ends_a_reduction_belongs_to_it() {
        let mut c = cdg(Params::default());
        pass(&mut c, 40.0, 48.0);
        c.on_loss(&loss(0));
        c.on_recovered(at(48));
        c.on_ack(&AckEvent { snd_una: 10, snd_nxt: 60, ..ack(48, 1, 48, 40) });
        assert_eq!((c.law.round, c.law.before.map(|round| round.largest)), (None, Some(48.0)));
        c.on_ack(&AckEvent { snd_una: 60, snd_nxt: 100, ..ack(88, 2, 40, 40) });
        c.on_ack(&AckEvent { snd_una: 61, snd_nxt: 100, ..ack(89, 2, 40, 40) });
        assert_eq!(c.law.largest.sum, -8.0);
    }

    /// Acknowledgements 1 ms apart for 21 ms, at a least RTT of 40 ms, are a train of over a half.
    #[test]
    fn slow_start_ends_with_a_train_of_half_of_the_round_trip() {
        let mut c = Cdg::new(&Params::default(), &sender(10)).unwrap();
        (0..=20).for_each(|ms| c.on_ack(&AckEvent { snd_nxt: 1, ..ack(ms, 1, 40, 40) }));
        assert_eq!((c.window.cwnd, c.window.ssthresh), (31, u64::MAX));
        c.on_ack(&AckEvent { snd_nxt: 1, ..ack(21, 1, 40, 40) });
        assert_eq!(c.window.ssthresh, 31);
    }

    /// After an acknowledgement of two segments that of one is taken for a delayed one.
    #[test]
    fn a_delayed_acknowledgement_is_not_the_largest_round_trip_time() {
        let mut c = cdg(Params::default());
        c.law.sample(Dur::from_ms(41), 2, true);
        c.law.sample(Dur::from_ms(90), 1, true);
        assert!(c.law.round.is_some_and(|round| round.largest < 42.0), "{:?}", c.law.round);
        c.law.sample(Dur::from_ms(90), 1, true);
        assert!(c.law.round.is_some_and(|round| round.largest > 89.0), "{:?}", c.law.round);
    }

    #[test]
    fn with_tolerance_a_loss_counts_unless_the_queue_seems_not_to_be_full() {
        let left = |full| {
            let mut c = cdg(Params { tolerance: true, ..Params::default() });
            c.law.full = full;
            c.on_loss(&loss(0));
            c.window.cwnd
        };
        assert_eq!([left(Some(false)), left(Some(true)), left(None)], [100, 50, 50]);
    }

    #[test]
    fn a_sum_of_changes_rises_falls_or_is_steady() {
        assert_eq!([0.032, 0.031, -0.031, -0.032].map(direction), [1, 0, 0, -1]);
    }

    /// By hand: the acknowledgement of one segment after one of several may be a delayed one.
    #[test]
    fn a_delayed_acknowledgement_counts_as_the_least_alone() {
        let mut c = cdg(Params::default());
        let mut sample = |ms, segments, in_order| {
            c.law.sample(Dur::from_ms(ms), segments, in_order);
            let round = c.law.round.expect("a sample");
            (libm::round(round.least), libm::round(round.largest), c.law.delayed)
        };
        assert_eq!(sample(20, 1, true), (20.0, 20.0, 0));
        assert_eq!(sample(21, 2, false), (20.0, 21.0, 0), "not in order");
        assert_eq!(sample(22, 2, true), (20.0, 22.0, 1));
        assert_eq!(sample(60, 1, true), (20.0, 22.0, 0), "it may have waited 40 ms");
        assert_eq!(sample(23, 2, true), (20.0, 23.0, 1));
        assert_eq!(sample(10, 1, true), (10.0, 23.0, 0));
        assert_eq!(sample(24, 1, true), (10.0, 24.0, 0));
    }

    #[test]
    fn a_fall_of_the_least_or_of_the_largest_rtt_forgets_the_back_offs() {
        for (least, largest, left) in [(-1.0, 1.0, 0), (1.0, -1.0, 0), (0.0, 0.0, 3)] {
            let mut c = cdg(Params { scale: Dur::from_secs(3600), ..Params::default() });
            pass(&mut c, 20.0, 30.0);
            c.law.backoffs = 3;
            pass(&mut c, 20.0 + least, 30.0 + largest);
            assert_eq!(c.law.backoffs, left, "{least} {largest}");
        }
    }

    #[test]
    fn it_shows_its_gradients_and_its_shadow_window() {
        let mut c = cdg(Params { scale: Dur::from_secs(3600), ..Params::default() });
        pass(&mut c, 20.0, 30.0);
        pass(&mut c, 24.0, 32.0);
        let mut row = Probe::new();
        c.probe(&mut row);
        assert_eq!(["gradient_min", "gradient_max"].map(|name| row.get(name)), [Some(0.004), Some(0.002)]);
        assert!(row.get("shadow").is_some());
    }
}
