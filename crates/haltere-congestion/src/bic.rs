//! BIC: a binary search for the window at the last loss.
//! Model: below W_max the window grows by (W_max - cwnd) / 4 a round trip, at most by `max_increment` and at least
//! slowly; above W_max it probes, slowly first. On loss W_max = cwnd and cwnd *= beta.
//! Units: segments. Cost: O(1) an acknowledgement.

use crate::law::{LINUX_TICK, Openness, Pace, Ticks, WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{ParamError, Probe, Time};

haltere_units::params! {
    /// A binary search for the window at the last loss: CUBIC's forerunner, Linux's default from 2.6.8 to 2.6.18.
    ///
    /// Source: Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks",
    /// INFOCOM 2004.
    ///
    /// Deviations: these are Linux's. A step is a quarter of the distance to W_max (the paper: half). Near W_max it
    /// takes `smooth_part` / 4 round trips for a segment. The growth is multiplied by the segments that an
    /// acknowledgement covers on average, to make up for delayed acknowledgements. Linux now counts their segments as
    /// well, so with them the window grows twice as fast as the paper's. While the window stays, its pace is computed
    /// again after 1/32 s, in whole ticks of 4 ms.
    ///
    /// Known problems: it is unfair to Reno on short paths, for which CUBIC was made.
    pub struct Params {
        /// Window in segments up to which it is Reno. The default is the paper's and Linux's.
        pub low_window: u32 = 14;
        /// Segments by which the window grows in a round trip at most, at least 1. The default is Linux's.
        pub max_increment: u32 = 16, [at least 1];
        /// The part of the window that is left after a loss, from 0.1 to 0.99. The default is 819/1024 (Linux).
        pub beta: f64 = 819.0 / 1024.0, [from 0.1 to 0.99];
        /// True: release more of the window if it falls from one loss to the next.
        pub fast_convergence: bool = true;
        /// How slowly the window passes W_max, at least 1. The default is Linux's.
        pub smooth_part: u32 = 20, [at least 1];
    }
}

/// A step is the distance divided by this (Linux).
const DIVISOR: u64 = 4;
/// While W_max is unknown: at least one segment for so many acknowledged (Linux).
const UNKNOWN_PACE: u64 = 20;
/// The first average of the segments of an acknowledgement, in sixteenths (Linux).
const ACK_RATIO: u64 = 2 << 4;

/// How BIC changes the window.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
    /// The window at the last loss; zero: not known.
    w_max: u64,
    /// Segments that an acknowledgement covers, on average, in sixteenths. Linux's arithmetic is whole: from 2 segments
    /// on, acknowledgements of one segment lower it to 31/16 and no further. It is never below 15/16.
    ack_ratio: u64,
    pace: Pace,
    openness: Openness,
}

/// BIC for one sender.
pub type Bic = Windowed<Law>;

impl Law {
    /// Segments to acknowledge for one more.
    fn pace(&self, cwnd: u64) -> u64 {
        let (most, slow) = (u64::from(self.params.max_increment), cwnd * u64::from(self.params.smooth_part) / DIVISOR);
        if cwnd <= u64::from(self.params.low_window) {
            return cwnd;
        }
        let pace = if cwnd < self.w_max {
            match (self.w_max - cwnd) / DIVISOR {
                step if step > most => cwnd / most,
                0 | 1 => slow,
                step => cwnd / step,
            }
        } else {
            match cwnd - self.w_max {
                beyond if beyond < DIVISOR => slow,
                beyond if beyond < most * (DIVISOR - 1) => cwnd * (DIVISOR - 1) / beyond,
                _ => cwnd / most,
            }
        };
        let pace = if self.w_max == 0 { pace.min(UNKNOWN_PACE) } else { pace };
        ((pace << 4) / self.ack_ratio).max(1)
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law {
            params: params.clone(),
            w_max: 0,
            ack_ratio: ACK_RATIO,
            pace: Pace::default(),
            openness: Openness::default(),
        })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if self.openness.take(ev) {
            self.ack_ratio = self.ack_ratio + window.segments_in(ev.acked) - (self.ack_ratio >> 4);
        }
    }
    fn avoid(&mut self, ev: &AckEvent, window: &mut Window, acked: u64) {
        if self.pace.expires(window.cwnd, ev.now, Ticks(LINUX_TICK)) {
            self.pace.segments = self.pace(window.cwnd);
        }
        window.additive_increase(self.pace.segments, acked);
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        let (cwnd, beta) = (window.cwnd, self.params.beta);
        let converge = self.params.fast_convergence && cwnd < self.w_max;
        self.w_max = if converge { (cwnd as f64 * (1.0 + beta) / 2.0) as u64 } else { cwnd };
        if cwnd <= u64::from(self.params.low_window) { cwnd / 2 } else { (cwnd as f64 * beta) as u64 }
    }
    fn timed_out(&mut self) {
        (self.w_max, self.ack_ratio, self.pace) = (0, ACK_RATIO, Pace::default());
    }
    fn probe(&self, row: &mut Probe) {
        row.push("w_max", "segments", self.w_max as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    fn bic(cwnd: u64, w_max: u64) -> Bic {
        let mut c = Bic::new(&Params::default(), &sender(10)).unwrap().avoiding(cwnd);
        (c.law.w_max, c.law.ack_ratio) = (w_max, 1 << 4);
        c
    }

    #[test]
    fn far_below_w_max_it_grows_by_the_most() {
        assert_eq!(bic(100, 1000).round(0, 100, 100), 16);
    }

    #[test]
    fn nearer_it_takes_a_quarter_of_the_distance() {
        assert_eq!(bic(100, 140).law.pace(100), 10, "10 of 40 segments in a round trip");
    }

    #[test]
    fn at_w_max_it_is_slow_and_then_probes() {
        let c = bic(100, 100);
        assert_eq!(c.law.pace(100), 100 * 20 / 4);
        assert_eq!(c.law.pace(110), 110 * 3 / 10);
        assert_eq!(c.law.pace(200), 200 / 16);
    }

    #[test]
    fn delayed_acknowledgements_double_the_growth() {
        let mut c = bic(100, 140);
        (0..200).for_each(|_| c.law.observe(&ack(0, 2, 100, 100), &mut Window::new(&sender(10))));
        assert_eq!((c.law.ack_ratio, c.law.pace(100)), (2 << 4, 5), "20 of 40 segments in a round trip");
        // One segment in each, from then on: 32 + 1 - 2, then 31 + 1 - 1.
        (0..200).for_each(|_| c.law.observe(&ack(0, 1, 100, 100), &mut Window::new(&sender(10))));
        assert_eq!(c.law.ack_ratio, 31);
    }

    #[test]
    fn a_pace_lasts_seven_ticks_while_the_window_stays() {
        let (mut c, mut window) = (bic(100, 140), Window::new(&sender(100)));
        let mut paced = |ms: u64| {
            c.law.avoid(&ack(ms, 0, 100, 100), &mut window, 0);
            c.law.ack_ratio = 2 << 4;
            c.law.pace.segments
        };
        assert_eq!([0, 28, 31, 32].map(&mut paced), [10, 10, 10, 5]);
    }

    #[test]
    fn the_first_duplicate_counts_as_an_acknowledgement_of_nothing() {
        let (mut c, mut window) = (bic(100, 140), Window::new(&sender(10)));
        c.law.ack_ratio = 40;
        let sacked = AckEvent { acked: haltere_units::Bytes::ZERO, ..ack(0, 1, 100, 100) };
        c.law.observe(&sacked, &mut window);
        assert_eq!(c.law.ack_ratio, 40 - (40 >> 4));
        // Linux's state is no longer open.
        c.law.observe(&sacked, &mut window);
        assert_eq!(c.law.ack_ratio, 38);
    }

    #[test]
    fn a_loss_leaves_819_of_1024_and_a_second_below_it_remembers_less() {
        let mut c = bic(100, 0);
        c.on_loss(&loss(0));
        assert_eq!((c.window.cwnd, c.law.w_max), (79, 100));
        c.on_loss(&loss(0));
        assert_eq!((c.window.cwnd, c.law.w_max), (63, 71));
    }
}
