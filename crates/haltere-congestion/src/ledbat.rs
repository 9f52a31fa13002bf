//! LEDBAT++: a background flow that yields to all others.
//! Model: with D the queueing delay (least of the last `filter` RTTs less the base RTT): D < target: cwnd += gain a
//! round trip. D > target: cwnd += gain - `decrease` cwnd (D / target - 1) a round trip, at most half of cwnd down.
//! gain = 1 / min(16, ceil(2 target / base)). From time to time the window is 2 segments for two round trips, so that
//! the base RTT is seen.
//!
//! ```text
//!   slow start --(3/4 target)--> avoid --(after 9 times the last slowdown)--> two segments, 2 RTT --> slow start
//! ```
//!
//! Units: segments and parts of them; delays ns. Cost: O(1) an acknowledgement.

use crate::reno::halved;
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext};
use alloc::collections::VecDeque;
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// A background flow: it uses what others leave and keeps at most `target` of delay.
    ///
    /// Source: draft-irtf-iccrg-ledbat-plus-plus-01, which corrects RFC 6817.
    ///
    /// Deviations: none known. Delays are round-trip times, as in the draft; RFC 6817 has one-way delays.
    ///
    /// Known problems: behind an AQM that keeps less than `target` it takes as much as Reno.
    pub struct Params {
        /// The queueing delay that the flow aims at, above 0. The default is the draft's (section 4).
        pub target: Dur = Dur::from_ms(60), [above 0];
        /// How strongly the window falls above `target`, from 0 to 10. The default is the draft's Constant (section
        /// 4.2).
        pub decrease: f64 = 1.0, [from 0 to 10];
        /// Samples of which the least is the current delay, from 1 to 100. The default is the draft's (section 4).
        pub filter: u32 = 4, [from 1 to 100];
        /// True: the window is two segments for two round trips from time to time (section 4.4).
        pub slowdowns: bool = true;
    }
}

/// Minutes over which the base delay is the least (RFC 6817 section 4.2: BASE_HISTORY).
const HISTORY_MINUTES: usize = 10;
const MINUTE: Dur = Dur::from_secs(60);
/// Draft section 4.4: the time between two slowdowns is nine times the last one's.
const SLOWDOWN_RATIO: u64 = 9;
/// Draft section 4.4: the window is least for two round trips.
const SLOWDOWN_ROUNDS: u64 = 2;
/// The window of a slowdown in segments.
const LEAST: u64 = 2;

/// Which part of the cycle of slowdowns the flow is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before the first slow start is over.
    First,
    /// Until the time of the next slowdown; `None`: not known yet.
    Steady { slow_at: Time },
    /// The window is least until that time; the slowdown began then.
    Least { began: Time, until: Time },
    /// Slow start back to the threshold; the slowdown began then.
    Ramp { began: Time },
}

/// LEDBAT++ for one sender.
#[derive(Debug, Clone)]
pub struct Ledbat {
    params: Params,
    window: Window,
    /// The part of a segment by which the window should be larger, or smaller.
    part: f64,
    /// The least RTT of each of the last minutes, the newest last.
    history: VecDeque<Dur>,
    minute: Time,
    /// The last `filter` samples of the RTT.
    recent: VecDeque<Dur>,
    phase: Phase,
}

impl Ledbat {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Ledbat, ParamError> {
        params.check()?;
        let mut window = Window::new(sender);
        // Draft section 4.3: the initial window is two segments.
        window.set_cwnd(window.cwnd.min(LEAST));
        Ok(Ledbat {
            params: params.clone(),
            window,
            part: 0.0,
            history: VecDeque::new(),
            minute: Time::ZERO,
            recent: VecDeque::new(),
            phase: Phase::First,
        })
    }

    fn sample(&mut self, now: Time, rtt: Dur) {
        if self.history.is_empty() || now.since(self.minute) >= MINUTE {
            self.minute = now;
            self.history.push_back(rtt);
            if self.history.len() > HISTORY_MINUTES {
                self.history.pop_front();
            }
        } else if let Some(last) = self.history.back_mut() {
            *last = rtt.min(*last);
        }
        self.recent.push_back(rtt);
        if self.recent.len() > self.params.filter as usize {
            self.recent.pop_front();
        }
    }
    fn base(&self) -> Dur {
        self.history.iter().copied().min().unwrap_or(Dur::ZERO)
    }
    /// The queueing delay of the last samples.
    fn delay(&self) -> Dur {
        self.recent.iter().copied().min().unwrap_or(Dur::ZERO).saturating_sub(self.base())
    }
    /// Draft section 4.1: slower than Reno on short paths.
    fn gain(&self) -> f64 {
        let base = self.base().as_secs_f64();
        let ratio = if base > 0.0 { libm::ceil(2.0 * self.params.target.as_secs_f64() / base) } else { 16.0 };
        1.0 / ratio.clamp(1.0, 16.0)
    }

    /// Adds to the window, in parts of a segment.
    fn add(&mut self, segments: f64, most: u64) {
        self.window.add_part(&mut self.part, segments, LEAST, most);
    }

    /// Draft section 4.2, for so many segments acknowledged.
    fn avoid(&mut self, acked: u64) {
        let cwnd = self.window.cwnd as f64;
        let over = self.delay().as_secs_f64() / self.params.target.as_secs_f64() - 1.0;
        let a_round =
            if over <= 0.0 { self.gain() } else { (self.gain() - self.params.decrease * cwnd * over).max(-cwnd / 2.0) };
        self.add(a_round * acked as f64 / cwnd, u64::from(u32::MAX));
        // A window that shrinks stays in congestion avoidance.
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
    }

    /// Draft section 4.4: begins and ends slowdowns.
    fn pass(&mut self, now: Time, rtt: Dur) {
        self.phase = match self.phase {
            Phase::First if !self.window.in_slow_start() => Phase::Steady { slow_at: now + rtt * SLOWDOWN_ROUNDS },
            Phase::Steady { slow_at } if self.params.slowdowns && now >= slow_at => {
                self.window.ssthresh = self.window.cwnd.max(LEAST);
                self.window.set_cwnd(LEAST);
                self.part = 0.0;
                Phase::Least { began: now, until: now + rtt * SLOWDOWN_ROUNDS }
            }
            Phase::Least { began, until } if now >= until => Phase::Ramp { began },
            Phase::Ramp { began } if !self.window.in_slow_start() => {
                Phase::Steady { slow_at: now + now.since(began) * SLOWDOWN_RATIO }
            }
            phase => phase,
        };
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.sample(ev.now, rtt);
        }
        self.pass(ev.now, ev.srtt);
        let acked = self.window.take_acked(ev);
        if acked == 0 || !ev.cwnd_limited || matches!(self.phase, Phase::Least { .. }) {
            return;
        }
        if !self.window.in_slow_start() {
            return self.avoid(acked);
        }
        // Draft section 4.3: only the first slow start ends by delay; a later one ends at its threshold.
        if self.phase == Phase::First && self.delay() > self.params.target * 3 / 4 {
            self.window.ssthresh = self.window.cwnd.max(LEAST);
        } else {
            self.add(acked as f64 * self.gain(), self.window.ssthresh);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.window.reduce(halved(&self.window), ev.kind);
        self.part = 0.0;
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.window.timeout(halved(&self.window), ev);
        self.part = 0.0;
    }
    of_window!(undo, restart, cache, sizes);
    fn probe(&self, row: &mut Probe) {
        row.push("queueing_delay", "s", self.delay().as_secs_f64());
        row.push("base_delay", "s", self.base().as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{ack, at, loss, sender};

    /// Past slow start, with a window of so many segments and a base RTT of 60 ms.
    fn ledbat(segments: u64) -> Ledbat {
        let mut c = Ledbat::new(&Params { slowdowns: false, ..Params::default() }, &sender(10)).unwrap();
        c.sample(at(0), Dur::from_ms(60));
        (c.window.cwnd, c.window.ssthresh) = (segments, segments);
        c.phase = Phase::Steady { slow_at: at(0) };
        c
    }
    fn round(c: &mut Ledbat, rtt_ms: u64) -> f64 {
        for _ in 0..4 {
            c.sample(at(0), Dur::from_ms(rtt_ms));
        }
        let before = c.window.cwnd as f64 + c.part;
        let segments = c.window.cwnd;
        c.avoid(segments);
        c.window.cwnd as f64 + c.part - before
    }

    #[test]
    fn below_target_it_grows_by_the_gain() {
        // 2 target / base = 120 / 60 = 2: half a segment a round trip.
        assert!((round(&mut ledbat(20), 100) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn above_target_it_falls_in_proportion_to_the_delay_beyond() {
        // Delay 66 ms: 0.5 - 20 (66 / 60 - 1) = -1.5.
        assert!((round(&mut ledbat(20), 126) + 1.5).abs() < 1e-6);
    }

    #[test]
    fn it_gives_up_at_most_half_in_a_round_trip() {
        assert!((round(&mut ledbat(20), 600) + 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let mut c = Ledbat::new(&Params::default(), &sender(10)).unwrap();
        assert_eq!(c.window.cwnd, 2);
        c.on_ack(&ack(0, 2, 60, 60));
        assert_eq!(c.window.cwnd, 3, "the gain is one half");
        (1..6).for_each(|i| c.on_ack(&ack(i, 1, 110, 60)));
        assert_eq!(c.window.ssthresh, c.window.cwnd);
    }

    #[test]
    fn a_slowdown_takes_two_segments_and_comes_again_after_nine_times_its_length() {
        let mut c = Ledbat::new(&Params::default(), &sender(10)).unwrap();
        (c.window.cwnd, c.window.ssthresh) = (40, 40);
        c.on_ack(&ack(0, 1, 60, 60));
        assert_eq!(c.phase, Phase::Steady { slow_at: at(120) });
        c.on_ack(&ack(120, 1, 60, 60));
        assert_eq!((c.window.cwnd, c.window.ssthresh), (2, 40));
        c.on_ack(&ack(200, 1, 60, 60));
        assert_eq!(c.window.cwnd, 2, "two round trips");
        let mut ms = 240;
        while c.window.in_slow_start() {
            c.on_ack(&ack(ms, 2, 60, 60));
            ms += 1;
        }
        c.on_ack(&ack(ms, 1, 60, 60));
        let length = ms - 120;
        assert_eq!(c.phase, Phase::Steady { slow_at: at(ms + 9 * length) });
    }

    #[test]
    fn a_loss_halves() {
        let mut c = ledbat(20);
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 10);
    }
}
