//! NV: the window is what the measured rate needs without a queue, and a little more.
//! Source, deviations and known problems: see [`Params`].
//! Model: once a round trip, rate = the largest of flight / RTT over its acknowledgements; needed = rate RTT_min; most = needed + pad.
//! cwnd > most, in two rounds or more: cwnd -= 0.3 (cwnd - most), at least two. most - 2 < cwnd <= most: it stays. Otherwise growth as Reno. On loss
//! 4/5 is left.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, LossKind, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Vegas for fast networks and noisy round-trip times: the window follows the measured rate (TCP-NV, New Vegas).
///
/// Source: Brakmo, "TCP-NV: an update to TCP-Vegas", 2015. The constants are those of its implementation in Linux as that document and its
/// parameters describe it (`pad`, `min_cwnd`, 30 %, 0.8, 5 s).
///
/// Deviations: a round ends when what was sent in it is delivered. The rate of a round is judged from 20 acknowledgements on for growth and from 60
/// on for a reduction, or from the window's own number if that is less; Linux leaves slower flows without any judgement. There is no growth above
/// Reno's.
///
/// Known problems: it yields to every control that fills the queue. A least RTT that was measured in a queue is too large until it is forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Segments above what the rate needs that the window may have. The default is Linux's.
    pub pad: u32,
    /// The window is never reduced below so many segments, at least 1. The default is Linux's.
    pub min_cwnd: u32,
    /// Age at which the least RTT is measured anew, above 0. The default is Linux's.
    pub reset: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params { pad: 10, min_cwnd: 2, reset: Dur::from_secs(5) }
    }
}

/// Below the largest window by so many segments it may grow.
const PAD_BUFFER: u64 = 2;
/// The part of the excess that a reduction takes, and what a loss leaves.
const EXCESS: f64 = 0.3;
const LOSS_LEAVES: f64 = 0.8;
/// Acknowledgements of a round before it is judged: for growth, and for a reduction.
const GROW_ACKS: u64 = 20;
const REDUCE_ACKS: u64 = 60;
/// Rounds with too large a window before a reduction, and before the next one.
const PATIENCE: u32 = 2;

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
    mss: f64,
    /// The least RTT, that of this period, and when the period began.
    least: Dur,
    coming: Dur,
    period: Option<Time>,
    /// The largest rate of this round, in segments a second, and its acknowledgements.
    rate: f64,
    acks: u64,
    /// Rounds in a row with too large a window.
    over: u32,
    growing: bool,
    most: u64,
}

/// The control.
pub type Nv = Windowed<Law>;

impl Nv {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Nv, ParamError> {
        if params.min_cwnd == 0 {
            let error = ParamError::new("min_cwnd", "at least 1", params.min_cwnd);
            return Err(error.default_is(Params::default().min_cwnd));
        }
        if params.reset.is_zero() {
            return Err(ParamError::new("reset", "above 0", params.reset).default_is(Params::default().reset));
        }
        let law = Law {
            params: params.clone(),
            mss: sender.mss.as_u64().max(1) as f64,
            least: Dur::MAX,
            coming: Dur::MAX,
            period: None,
            rate: 0.0,
            acks: 0,
            over: 0,
            growing: true,
            most: 0,
        };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    fn sample(&mut self, now: Time, rtt: Dur) {
        let began = *self.period.get_or_insert(now);
        if now.since(began) >= self.params.reset {
            (self.least, self.coming, self.period) = (self.coming, Dur::MAX, Some(now));
        }
        self.coming = self.coming.min(rtt);
        self.least = self.least.min(rtt);
    }
    fn end_round(&mut self, window: &mut Window) {
        let (rate, acks) = (self.rate, self.acks);
        (self.rate, self.acks) = (0.0, 0);
        if rate <= 0.0 || acks < GROW_ACKS.min(window.cwnd) {
            return;
        }
        self.most = (rate * self.least.as_secs_f64()) as u64 + u64::from(self.params.pad);
        if window.cwnd > self.most {
            self.growing = false;
            if acks >= REDUCE_ACKS.min(window.cwnd) {
                self.over += 1;
                self.reduce(window);
            }
        } else {
            self.over = 0;
            self.growing = window.cwnd + PAD_BUFFER <= self.most;
        }
    }
    fn reduce(&mut self, window: &mut Window) {
        if self.over < PATIENCE {
            return;
        }
        self.over = 0;
        let excess = ((window.cwnd - self.most) as f64 * EXCESS) as u64;
        let left = window.cwnd.saturating_sub(excess.max(2)).max(u64::from(self.params.min_cwnd));
        window.reduce(left, LossKind::Ecn);
        window.set_cwnd(left);
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if ev.round_start && !ev.in_recovery {
            self.end_round(window);
        }
        let Some(rtt) = ev.rtt.filter(|rtt| !rtt.is_zero()) else { return };
        self.sample(ev.now, rtt);
        let flight = ev.rate.map_or(ev.prior_in_flight, |rate| rate.tx_in_flight).as_f64() / self.mss;
        self.rate = self.rate.max(flight / rtt.as_secs_f64());
        self.acks += 1;
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        if self.growing { window.slow_start(acked) } else { 0 }
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        if self.growing {
            window.additive_increase(window.cwnd, acked);
        }
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        self.growing = true;
        (window.cwnd as f64 * LOSS_LEAVES) as u64
    }
    fn timed_out(&mut self) {
        (self.growing, self.over, self.rate, self.acks) = (true, 0, 0.0, 0);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("max_window", "segments", self.most as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    fn nv(segments: u64) -> Nv {
        let mut c = Nv::new(&Params::default(), &sender(10)).unwrap().avoiding(segments);
        c.law.least = Dur::from_ms(10);
        c
    }
    /// A round whose largest rate is so many segments a second.
    fn pass(c: &mut Nv, rate: f64) {
        (c.law.rate, c.law.acks) = (rate, 100);
        let mut window = c.window.clone();
        c.law.end_round(&mut window);
        c.window = window;
    }

    /// By hand: 5000 segments/s over 10 ms need 50; with the pad 60. A window of 100 has 40 too many, of which 12 go, in the second round.
    #[test]
    fn three_tenths_of_what_is_too_much_go_after_two_rounds() {
        let mut c = nv(100);
        pass(&mut c, 5000.0);
        assert_eq!((c.window.cwnd, c.law.most), (100, 60));
        pass(&mut c, 5000.0);
        assert_eq!(c.window.cwnd, 88);
        pass(&mut c, 5000.0);
        assert_eq!(c.window.cwnd, 88, "patience again");
    }

    #[test]
    fn within_two_segments_of_the_largest_window_it_stays_and_below_it_grows() {
        let mut c = nv(59);
        pass(&mut c, 5000.0);
        assert_eq!(c.round(0, 20, 10), 0);
        let mut c = nv(58);
        pass(&mut c, 5000.0);
        assert_eq!(c.round(0, 20, 10), 1);
    }

    #[test]
    fn a_rate_is_the_flight_when_it_was_sent_over_the_round_trip_time() {
        let mut c = nv(50);
        let mut ev = ack(0, 1, 20, 10);
        ev.prior_in_flight = haltere_units::Bytes::new(50_000);
        c.on_ack(&ev);
        assert_eq!(c.law.rate, 2500.0);
    }

    #[test]
    fn a_least_round_trip_time_is_forgotten_after_two_periods_at_most() {
        let mut c = nv(50);
        c.law.sample(crate::law::testing::at(0), Dur::from_ms(30));
        for ms in [5000, 10_000] {
            c.law.sample(crate::law::testing::at(ms), Dur::from_ms(30));
        }
        assert_eq!(c.law.least, Dur::from_ms(30));
    }

    #[test]
    fn a_loss_leaves_four_fifths() {
        let mut c = nv(100);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 80);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        assert!(Nv::new(&Params { min_cwnd: 0, ..Params::default() }, &sender(10)).is_err());
        assert!(Nv::new(&Params { reset: Dur::ZERO, ..Params::default() }, &sender(10)).is_err());
    }
}
