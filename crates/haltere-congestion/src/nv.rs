//! NV: the window is what the measured rate needs without a queue, and a little more.
//! Model: RTT' = (RTT + RTT'_last) / 2; rate = the largest of (delivered in the segment's flight) / RTT' since the last
//! decision; needed = rate RTT'_min; most = needed + pad. Once a round trip, with enough acknowledgements since the
//! last decision: cwnd > most: cwnd -= 0.3 (cwnd - most), at least two. cwnd <= most - 2: growth as Reno. On loss 4/5
//! is left, and both the least RTT' and permission to grow are found anew.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::random::SplitMix;
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Vegas for fast networks and noisy round-trip times: the window follows the measured rate (TCP-NV, New Vegas).
    ///
    /// Source: Brakmo, "TCP-NV: an update to TCP-Vegas", 2015. The constants are those of its implementation in Linux
    /// as that document and its parameters describe it (`pad`, `min_cwnd`, 30 %, 0.8, 5 s, 20, 30 and 60
    /// acknowledgements, two round trips).
    ///
    /// Deviations: one from Linux: it does not detect a network card that merges acknowledgements, which leaves too few
    /// of them to judge by.
    ///
    /// Known problems: it yields to every control that fills the queue. A least RTT that was measured in a queue is too
    /// large until it is forgotten. With a small window the acknowledgements for a decision come in over several round
    /// trips.
    pub struct Params {
        /// Segments above what the rate needs that the window may have. The default is Linux's.
        pub pad: u32 = 10;
        /// The window is never reduced below this many segments, at least 1. The default is Linux's.
        pub min_cwnd: u32 = 2, [at least 1];
        /// Age at which the least RTT expires, above 0. The default is Linux's.
        pub reset: Dur = Dur::from_secs(5), [above 0];
    }
}

/// Below the largest window by so many segments it may grow.
const PAD_BUFFER: u64 = 2;
/// The part of the excess that a reduction takes, in 128ths, and what a loss leaves, in 1024ths (Linux: 30 % and 80 %,
/// rounded down).
const EXCESS_128: u64 = 38;
const LOSS_LEAVES_1024: u64 = 819;
/// Acknowledgements since the last decision before the next: for growth, to leave slow start, and for another
/// reduction.
const GROW_ACKS: u64 = 20;
const LEAVE_ACKS: u64 = 30;
const REDUCE_ACKS: u64 = 60;
/// Rounds since the last decision before a reduction, and those after which growth stops for want of acknowledgements.
const PATIENCE: u32 = 2;
const STOP_ROUNDS: u32 = 10;
/// The first least RTT is forgotten sooner.
const FIRST_RESET: Dur = Dur::from_secs(2);
/// Smaller growth than Reno's, by powers of two, after timeouts; it recovers after so many decisions to grow.
const MOST_SLOWDOWN: u32 = 8;
const RECOVERING_DECISIONS: u32 = 8;

/// How TCP-NV changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    params: Params,
    mss: f64,
    random: SplitMix,
    /// The RTT of the last sample, averaged; zero: the next one begins anew.
    last: Dur,
    /// The least one, that of this period, and when the period ends.
    least: Dur,
    coming: Dur,
    reset_at: Option<Time>,
    /// Since the last decision: the largest rate in segments a second, acknowledgements, rounds.
    rate: f64,
    acks: u64,
    rounds: u32,
    round_end: u64,
    growing: bool,
    /// Growth is Reno's divided by two to the power of this, which falls by one after so many decisions to grow.
    slowdown: u32,
    good: u32,
    /// A loss or a timeout: its repair resets all measurements.
    lost: bool,
    most: u64,
}

/// TCP-NV for one sender.
pub type Nv = Windowed<Law>;

impl Law {
    /// The averaged RTT of this sample, of which the least is kept.
    fn sample(&mut self, now: Time, rtt: Dur) -> Dur {
        let average = if self.last.is_zero() {
            self.least = rtt;
            rtt
        } else {
            (rtt + self.last) / 2
        };
        self.last = average;
        self.least = self.least.min(average);
        self.coming = self.coming.min(average);
        if now >= *self.reset_at.get_or_insert(now + FIRST_RESET) {
            (self.least, self.coming) = (self.coming, Dur::MAX);
            // From three quarters to five quarters of the period, so that flows do not measure together.
            self.reset_at = Some(now + self.params.reset / 512 * (384 + self.random.below(256)));
        }
        average
    }
    fn end_round(&mut self, window: &mut Window) {
        self.rounds = self.rounds.saturating_add(1);
        self.most = (self.rate * self.least.as_secs_f64()) as u64 + u64::from(self.params.pad);
        if window.cwnd > self.most {
            if !self.may_reduce(window) {
                return;
            }
            self.reduce(window);
        } else if window.cwnd + PAD_BUFFER <= self.most {
            if self.acks < GROW_ACKS {
                return;
            }
            self.grow();
        } else {
            return;
        }
        (self.rate, self.acks, self.rounds) = (0.0, 0, 0);
    }
    fn may_reduce(&mut self, window: &Window) -> bool {
        if self.rounds < PATIENCE {
            return false;
        }
        let first = window.ssthresh == u64::MAX;
        let enough = self.acks >= if first { LEAVE_ACKS } else { REDUCE_ACKS };
        if !enough && !first && self.rounds > STOP_ROUNDS {
            self.growing = false;
        }
        enough
    }
    fn reduce(&mut self, window: &mut Window) {
        (self.growing, self.good) = (false, 0);
        window.ssthresh = self.most;
        let excess = window.cwnd - self.most;
        let left = if excess > 2 { window.cwnd - (excess * EXCESS_128 / 128).max(2) } else { self.most };
        window.set_cwnd(left.max(u64::from(self.params.min_cwnd)));
    }
    fn grow(&mut self) {
        self.growing = true;
        self.good += 1;
        if self.slowdown > 0 && self.good > RECOVERING_DECISIONS {
            (self.slowdown, self.good) = (self.slowdown - 1, 0);
        }
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law {
            params: params.clone(),
            mss: sender.mss.as_u64().max(1) as f64,
            random: SplitMix::new(sender.seed),
            least: Dur::MAX,
            coming: Dur::MAX,
            growing: true,
            ..Law::default()
        })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if ev.in_recovery || ev.in_rto_recovery {
            return;
        }
        if core::mem::take(&mut self.lost) {
            // This acknowledgement ends the repair: its round-trip time is of the queue before it, and does not count.
            (self.last, self.rate, self.acks, self.rounds, self.good) = (Dur::ZERO, 0.0, 0, 0, 0);
            self.round_end = ev.snd_una;
            return;
        }
        let Some(rtt) = ev.rtt.filter(|rtt| !rtt.is_zero()) else { return };
        let average = self.sample(ev.now, rtt);
        let flight = ev.rate.map_or(ev.prior_in_flight, |rate| rate.delivered).as_f64() / self.mss;
        self.rate = self.rate.max(flight / average.as_secs_f64());
        self.acks += 1;
        if ev.snd_una > self.round_end {
            self.round_end = ev.snd_nxt;
            self.end_round(window);
        }
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        if self.growing { window.slow_start(acked) } else { 0 }
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        if self.growing {
            window.additive_increase((window.cwnd << self.slowdown).max(4), acked);
        }
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        (self.growing, self.lost) = (false, true);
        window.cwnd * LOSS_LEAVES_1024 / 1024
    }
    fn timed_out(&mut self) {
        self.slowdown = (self.slowdown + 1).min(MOST_SLOWDOWN);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("max_window", "segments", self.most as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{ack, at, loss, sender};
    use crate::{CongestionControl, RateSample};

    fn nv(segments: u64) -> Nv {
        let mut c = Nv::new(&Params::default(), &sender(10)).unwrap().avoiding(segments);
        c.law.least = Dur::from_ms(10);
        c
    }
    /// A round of so many acknowledgements whose largest rate is so many segments a second.
    fn pass(c: &mut Nv, rate: f64, acks: u64) {
        c.law.rate = c.law.rate.max(rate);
        c.law.acks += acks;
        let mut window = c.window.clone();
        c.law.end_round(&mut window);
        c.window = window;
    }

    /// By hand: 5000 segments/s over 10 ms need 50; with the pad 60. A window of 100 has 40 too many, of which 40 * 38
    /// / 128 = 11 go, in the second round.
    #[test]
    fn three_tenths_of_what_is_too_much_go_after_two_rounds() {
        let mut c = nv(100);
        pass(&mut c, 5000.0, 100);
        assert_eq!((c.window.cwnd, c.law.most), (100, 60));
        pass(&mut c, 5000.0, 100);
        assert_eq!((c.window.cwnd, c.window.ssthresh), (89, 60));
        pass(&mut c, 5000.0, 100);
        assert_eq!(c.window.cwnd, 89, "patience again");
    }

    /// Twenty-five a round: sixty are there in the third.
    #[test]
    fn a_reduction_waits_for_sixty_acknowledgements_over_several_rounds() {
        let mut c = nv(100);
        (0..2).for_each(|_| pass(&mut c, 5000.0, 25));
        assert_eq!(c.window.cwnd, 100);
        pass(&mut c, 4000.0, 25);
        assert_eq!(c.window.cwnd, 89, "the largest rate of the three rounds counts");
    }

    #[test]
    fn within_two_segments_of_the_largest_window_it_stays_and_below_it_grows() {
        let grown = |segments| {
            let mut c = nv(segments);
            c.law.growing = false;
            pass(&mut c, 5000.0, 20);
            c.law.round_end = u64::MAX;
            c.round(0, 20, 10)
        };
        assert_eq!((grown(59), grown(58)), (0, 1));
        let mut c = nv(58);
        c.law.growing = false;
        pass(&mut c, 5000.0, 19);
        assert!(!c.law.growing, "nineteen acknowledgements are too few");
    }

    /// 50 segments were delivered while the sampled one was in flight; 20 ms and then 40 ms make 30 ms.
    #[test]
    fn a_rate_is_what_was_delivered_in_a_flight_over_the_averaged_round_trip_time() {
        let mut c = nv(50);
        c.law.round_end = u64::MAX;
        let rate = RateSample::new(haltere_units::Bytes::new(50_000), Dur::from_ms(20));
        c.on_ack(&AckEvent { rate: Some(rate), ..ack(0, 1, 20, 10) });
        assert_eq!(c.law.rate, 2500.0);
        c.law.rate = 0.0;
        c.on_ack(&AckEvent { rate: Some(rate), ..ack(1, 1, 40, 10) });
        assert!((c.law.rate - 50.0 / 0.03).abs() < 1e-9);
    }

    #[test]
    fn a_least_round_trip_time_is_forgotten_after_two_periods_at_most() {
        let mut c = nv(50);
        c.law.last = Dur::from_ms(30);
        for ms in [0, 2000, 9000] {
            c.law.sample(at(ms), Dur::from_ms(30));
        }
        assert_eq!(c.law.least, Dur::from_ms(30));
    }

    /// By hand: 100 * 819 / 1024 = 79.98. The acknowledgement that ends the repair, at 50 ms, does not count; the next
    /// one does.
    #[test]
    fn a_loss_leaves_four_fifths_and_measures_anew() {
        let mut c = nv(100);
        c.law.last = Dur::from_ms(10);
        c.on_loss(&loss(0));
        assert_eq!((c.window.cwnd, c.law.growing), (79, false));
        c.on_ack(&ack(50, 1, 50, 10));
        assert_eq!((c.law.last, c.law.acks), (Dur::ZERO, 0));
        c.on_ack(&ack(51, 1, 30, 10));
        assert_eq!((c.law.least, c.law.acks), (Dur::from_ms(30), 1));
    }

    #[test]
    fn a_timeout_halves_the_growth_until_nine_decisions_to_grow() {
        let mut c = nv(20);
        c.law.timed_out();
        assert_eq!(c.law.slowdown, 1);
        (0..9).for_each(|_| pass(&mut c, 5000.0, 20));
        assert_eq!(c.law.slowdown, 0);
    }
}
