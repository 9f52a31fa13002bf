//! Copa: the rate follows the inverse of the queueing delay.
//! Model: d_q = RTT_standing - RTT_min, with RTT_standing the least RTT of the last half smoothed RTT. Target rate 1 /
//! (delta d_q) segments a second. Below it cwnd += v / (delta cwnd) for each segment acknowledged, above it cwnd -= the
//! same. v doubles each round trip while the direction lasts. Beside flows that fill the queue 1 / delta is a Reno
//! window (competitive mode).
//! Units: segments and parts of them; delays ns. Cost: O(samples of half a round trip) an acknowledgement.

use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext};
use alloc::collections::VecDeque;
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};

haltere_units::params! {
    /// The rate follows the inverse of the queueing delay, and the queue empties every few round trips.
    ///
    /// Source: Arun and Balakrishnan, "Copa: practical delay-based congestion control for the Internet", NSDI 2018.
    ///
    /// Deviations: a loss does not reduce the window in default mode, as in the paper; a timeout does, by the
    /// transport's recovery. Segments are paced at twice the window in an `RTT_standing`, as in the paper.
    ///
    /// Known problems: a least RTT that was measured in a queue is too large; jitter of the path looks like a queue.
    pub struct Params {
        /// delta in default mode, above 0 and at most 1: about 1 / delta packets wait for each flow. The default is the
        /// paper's.
        pub delta: f64 = 0.5, [above 0 and at most 1];
        /// True: beside flows that fill the queue, delta falls as a Reno window grows.
        pub competitive: bool = true;
    }
}

/// The least RTT is that of the last 10 s (the paper).
const MIN_RTT_WINDOW: Dur = Dur::from_secs(10);
/// Without a nearly empty queue in so many round trips others fill it (the paper).
const MODE_ROUNDS: u64 = 5;
/// v doubles only after the direction lasted so many round trips (the paper).
const STEADY_ROUNDS: u32 = 3;

/// The least of the samples of a time.
#[derive(Debug, Clone, Default)]
struct Least {
    /// Times and values; the values grow.
    samples: VecDeque<(Time, Dur)>,
}

impl Least {
    fn add(&mut self, now: Time, value: Dur) {
        while self.samples.back().is_some_and(|(_, last)| *last >= value) {
            self.samples.pop_back();
        }
        self.samples.push_back((now, value));
    }
    fn of_last(&mut self, now: Time, span: Dur) -> Option<Dur> {
        while self.samples.len() > 1 && self.samples.front().is_some_and(|(at, _)| now.since(*at) > span) {
            self.samples.pop_front();
        }
        self.samples.front().map(|(_, value)| *value)
    }
}

/// Copa for one sender.
#[derive(Debug, Clone, Default)]
pub struct Copa {
    params: Params,
    delta: f64,
    window: Window,
    /// True until the target rate is reached for the first time.
    slow_start: bool,
    /// The part of a segment by which the window should be larger.
    part: f64,
    min: Least,
    standing: Least,
    /// RTT_standing and the queueing delay.
    standing_rtt: Dur,
    delay: Dur,
    /// The velocity v, the direction, and how many round trips it has lasted.
    velocity: f64,
    up: bool,
    same: u32,
    /// The round trip that runs: its end in the stream, and the window at its start.
    round_end: u64,
    round_cwnd: u64,
    /// The largest RTT of the last rounds, and when the queue was nearly empty last.
    largest: Dur,
    rounds: u64,
    empty_round: u64,
}

impl Copa {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Copa, ParamError> {
        params.check()?;
        let window = Window::new(sender);
        Ok(Copa {
            params: params.clone(),
            delta: params.delta,
            round_cwnd: window.cwnd,
            window,
            slow_start: true,
            velocity: 1.0,
            up: true,
            ..Copa::default()
        })
    }

    fn measure(&mut self, ev: &AckEvent) -> bool {
        let Some(rtt) = ev.rtt else { return false };
        self.min.add(ev.now, rtt);
        self.standing.add(ev.now, rtt);
        let least = self.min.of_last(ev.now, MIN_RTT_WINDOW).unwrap_or(rtt);
        self.standing_rtt = self.standing.of_last(ev.now, ev.srtt / 2).unwrap_or(rtt);
        self.delay = self.standing_rtt.saturating_sub(least);
        self.largest = self.largest.max(rtt);
        // The paper, section 2.2: nearly empty is a delay below a tenth of the largest.
        if self.delay <= self.largest.saturating_sub(least) / 10 {
            self.empty_round = self.rounds;
        }
        true
    }

    /// True while the rate is at most the target rate.
    fn is_below_target(&self) -> bool {
        let cwnd = self.window.cwnd as f64;
        // cwnd / RTT_standing <= 1 / (delta d_q), without a division.
        cwnd * self.delta * self.delay.as_secs_f64() <= self.standing_rtt.as_secs_f64()
    }

    fn end_round(&mut self, snd_nxt: u64) {
        let up = self.window.cwnd >= self.round_cwnd;
        self.same = if up == self.up { self.same + 1 } else { 0 };
        if up != self.up {
            (self.up, self.velocity) = (up, 1.0);
        } else if self.same >= STEADY_ROUNDS {
            self.velocity *= 2.0;
        }
        self.rounds += 1;
        (self.round_end, self.round_cwnd) = (snd_nxt, self.window.cwnd);
        if self.rounds.is_multiple_of(MODE_ROUNDS) {
            self.largest = Dur::ZERO;
        }
        if self.params.competitive && self.rounds > self.empty_round + MODE_ROUNDS {
            // AIMD on 1 / delta: one more a round trip.
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        } else {
            self.delta = self.params.delta;
        }
    }

    fn change(&mut self, segments: f64) {
        self.window.add_part(&mut self.part, segments, 2, u64::from(u32::MAX));
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ev: &AckEvent) {
        if !self.measure(ev) {
            return;
        }
        let below = self.is_below_target();
        let acked = self.window.take_acked(ev) as f64;
        if self.slow_start {
            if below {
                if ev.cwnd_limited {
                    self.change(acked);
                }
                return;
            }
            self.slow_start = false;
            (self.round_end, self.round_cwnd) = (ev.snd_nxt, self.window.cwnd);
        }
        if ev.snd_una > self.round_end {
            self.end_round(ev.snd_nxt);
        }
        if below != self.up && self.velocity > 1.0 {
            self.velocity = 1.0;
        }
        // The paper: not more than a doubling in a round trip.
        let step = (self.velocity / self.delta).min(self.window.cwnd as f64) * acked / self.window.cwnd as f64;
        if !below {
            self.change(-step);
        } else if ev.cwnd_limited {
            self.change(step);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        if self.params.competitive && self.delta < self.params.delta {
            // The paper, section 2.2: 1 / delta is halved by a loss in competitive mode.
            self.delta = (2.0 * self.delta).min(self.params.delta);
        }
        self.slow_start = false;
        let cwnd = self.window.cwnd;
        self.window.reduce(cwnd, ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.window.timeout(self.window.cwnd / 2, ev);
        (self.part, self.velocity, self.delta) = (0.0, 1.0, self.params.delta);
    }
    of_window!(undo, restart, sizes);
    fn pacing_rate(&self) -> Option<Rate> {
        if self.standing_rtt.is_zero() {
            return None;
        }
        let bits = 2.0 * self.cwnd().as_f64() * 8.0 / self.standing_rtt.as_secs_f64();
        Some(Rate::from_bps((bits as u64).max(1)))
    }
    fn probe(&self, row: &mut Probe) {
        row.push("queueing_delay", "s", self.delay.as_secs_f64());
        row.push("delta", "", self.delta);
        row.push("velocity", "", self.velocity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{ack, sender};

    fn copa() -> Copa {
        Copa::new(&Params { competitive: false, ..Params::default() }, &sender(10)).unwrap()
    }

    #[test]
    fn slow_start_ends_at_the_target_rate() {
        let mut c = copa();
        c.on_ack(&ack(0, 10, 40, 40));
        assert_eq!(c.window.cwnd, 20);
        // Delay 4 ms: target 1 / (0.5 * 4 ms) = 500 segments/s; 20 in 44 ms are 455.
        c.on_ack(&ack(100, 1, 44, 40));
        assert!(c.slow_start);
        // 21 in 44 ms are 477; 23 in 44 ms are 523.
        c.on_ack(&ack(200, 2, 44, 40));
        c.on_ack(&ack(300, 1, 44, 40));
        assert!(!c.slow_start);
    }

    #[test]
    fn the_window_grows_below_the_target_and_shrinks_above_it() {
        let mut c = copa();
        (c.window.cwnd, c.slow_start) = (50, false);
        c.min.add(Time::ZERO, Dur::from_ms(40));
        c.on_ack(&ack(0, 25, 41, 40));
        // Target 2000 segments/s, rate 1220: up by v / (delta cwnd) = 1 / 25 each.
        assert_eq!(c.window.cwnd, 51);
        c.on_ack(&ack(100, 51, 50, 40));
        assert_eq!(c.window.cwnd, 49);
    }

    #[test]
    fn the_velocity_doubles_from_the_third_round_trip_on_in_one_direction() {
        let mut c = copa();
        (c.window.cwnd, c.slow_start) = (50, false);
        for round in 1..=5 {
            c.window.cwnd += 1;
            c.end_round(round);
        }
        assert_eq!(c.velocity, 8.0);
        c.window.cwnd -= 10;
        c.end_round(6);
        assert_eq!(c.velocity, 1.0);
    }

    #[test]
    fn beside_flows_that_fill_the_queue_delta_falls() {
        let mut c = Copa::new(&Params::default(), &sender(10)).unwrap();
        (0..10).for_each(|i| c.end_round(i));
        assert!(c.delta < 0.3, "{}", c.delta);
        c.empty_round = c.rounds;
        c.end_round(11);
        assert_eq!(c.delta, 0.5);
    }

    /// The paper, section 2.2: a loss in competitive mode halves 1 / delta, down to that of the default mode.
    #[test]
    fn a_loss_in_competitive_mode_doubles_delta() {
        let mut c = Copa::new(&Params::default(), &sender(10)).unwrap();
        assert!(c.params.competitive);
        for (before, after) in [(0.1, 0.2), (0.4, 0.5), (0.5, 0.5)] {
            c.delta = before;
            c.on_loss(&crate::law::testing::loss(1));
            assert_eq!(c.delta, after);
        }
    }
}
