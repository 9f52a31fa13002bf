//! A cellular link replayed from two traces, one of light and one of heavy load.
//!
//! Source: W. Sentosa, B. Chandrasekaran, P. B. Godfrey, H. Hassanieh, "CellReplay: Towards accurate record-and-replay
//! for cellular networks", NSDI 2025, and the format of its files. Deviations: the discipline waits before the base delay
//! and not behind it. A train begins when the line was idle for longer than `timer`; in the program, when no packet is
//! in the base delay. Base delays are interpolated without rounding to ms. Latency by packet size is left out.
//! Model: the packet that finds the line idle begins a train. It leaves at once. The packets behind it leave at the
//! train's light opportunities, one full packet each, and then at those of the heavy trace. All have the base delay of
//! the train's start, interpolated between two recorded trains. The heavy trace was recorded at the receiver, so an
//! opportunity at h takes a packet that comes to the line by h - delay.
//!
//! ```text
//!             idle > timer: a train begins      light opportunities used up
//!   (start) ------------------------------> light ------------------------> heavy --+
//!                                           ^ ^  |                            |     | at the heavy trace's instants
//!                                           | +--+ the next opportunity       |  <--+
//!                                           +---------------------------------+ idle > timer
//! ```
//!
//! Units: time ns. Cost: O(1) a packet, and two binary searches a train.

use crate::varying::Trace;
use alloc::sync::Arc;
use haltere_units::{Bytes, Dur, Time};
use serde::{Deserialize, Serialize};

/// Two traces of one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TwoTraces {
    /// Trains in order of time, the first at 0. After the time of the last they begin again.
    pub trains: Arc<[Train]>,
    /// Opportunities under heavy load.
    pub heavy: Trace,
    /// A line that was idle for longer begins a new train.
    pub timer: Dur,
}

/// A train of packets that was sent into an idle link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Train {
    /// When it was sent.
    pub at: Dur,
    /// The delay of its first packet.
    pub delay: Dur,
    /// When the others arrived after the first, in order.
    pub opportunities: Arc<[Dur]>,
}

/// The line of such a link.
#[derive(Debug, Clone)]
pub(crate) struct Replay {
    traces: TwoTraces,
    /// When the train began.
    start: Time,
    train: usize,
    delay: Dur,
    /// The opportunity that comes next in the train, and the bytes that it has left.
    next: usize,
    left: u64,
    /// The same of the heavy trace.
    heavy: (u64, u64),
    /// When the last packet left. `None`: none did yet.
    last: Option<Time>,
}

impl Replay {
    pub fn new(traces: &TwoTraces) -> Replay {
        let full = traces.heavy.opportunity.as_u64();
        let (first, delay) = (traces.heavy.first_from(Time::ZERO), traces.trains[0].delay);
        let traces = traces.clone();
        Replay { traces, start: Time::ZERO, train: 0, delay, next: 0, left: full, heavy: (first, full), last: None }
    }
    /// The base delay of the present train.
    pub fn delay(&self) -> Dur {
        self.delay
    }
    fn full(&self) -> u64 {
        self.traces.heavy.opportunity.as_u64()
    }
    /// A train begins.
    fn begin(&mut self, at: Time) {
        let trains = &self.traces.trains;
        let period = trains[trains.len() - 1].at.as_ns();
        let within = Dur::from_ns(at.as_ns() % period);
        let train = trains.partition_point(|train| train.at <= within) - 1;
        let (one, other) = (&trains[train], &trains[train + 1]);
        let share = within.saturating_sub(one.at).as_secs_f64() / other.at.saturating_sub(one.at).as_secs_f64();
        let delay = one.delay.as_ns() as f64 * (1.0 - share) + other.delay.as_ns() as f64 * share;
        (self.delay, self.train) = (Dur::from_ns(delay as u64), train);
        (self.start, self.next, self.left) = (at, 0, self.full());
    }
    /// When the light opportunity of that number is. `None`: the train is used up.
    fn light(&self, number: usize) -> Option<Time> {
        let offset = *self.traces.trains[self.train].opportunities.get(number)?;
        Some(self.start + offset)
    }
    /// When the heavy opportunity of that number takes a packet.
    fn heavy(&self, number: u64) -> Time {
        self.traces.heavy.time_of(number).saturating_sub(self.delay)
    }
    /// When a line that is free at `at` takes a packet out of the queue.
    pub fn ready(&mut self, at: Time) -> Time {
        if self.last.is_none_or(|last| at > last + self.traces.timer) {
            self.begin(at);
        }
        while let Some(light) = self.light(self.next) {
            if light >= at {
                return light;
            }
            (self.next, self.left) = (self.next + 1, self.full());
        }
        if self.heavy(self.heavy.0) < at {
            self.heavy = (self.traces.heavy.first_from(at + self.delay), self.full());
        }
        self.heavy(self.heavy.0)
    }
    /// When the last of the `bytes` leaves that the line takes at `at`.
    pub fn send(&mut self, at: Time, bytes: Bytes) -> Time {
        let leaves = self.send_light(bytes.as_u64()).unwrap_or_else(|| self.send_heavy(at, bytes.as_u64()));
        self.last = Some(leaves);
        leaves
    }
    /// A packet is not divided between light opportunities.
    fn send_light(&mut self, bytes: u64) -> Option<Time> {
        if bytes > self.left && self.left < self.full() {
            (self.next, self.left) = (self.next + 1, self.full());
        }
        let at = self.light(self.next)?;
        self.left = self.left.saturating_sub(bytes);
        if self.left == 0 {
            (self.next, self.left) = (self.next + 1, self.full());
        }
        Some(at)
    }
    fn send_heavy(&mut self, at: Time, bytes: u64) -> Time {
        if self.heavy(self.heavy.0) < at {
            self.heavy = (self.traces.heavy.first_from(at + self.delay), self.full());
        }
        let mut need = bytes;
        loop {
            let (number, left) = self.heavy;
            let take = need.min(left);
            need -= take;
            self.heavy = if take == left { (number + 1, self.full()) } else { (number, left - take) };
            if need == 0 {
                return self.heavy(number).max(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    /// Trains at 0, 100 and 200 ms; base delays of 20, 40 and 20 ms; heavy opportunities each 10 ms.
    fn replay() -> Replay {
        let ms = |ms: &[u64]| ms.iter().map(|ms| Dur::from_ms(*ms)).collect();
        let train = |(at, delay, opportunities): (u64, u64, &[u64])| Train {
            at: Dur::from_ms(at),
            delay: Dur::from_ms(delay),
            opportunities: ms(opportunities),
        };
        let trains = [(0, 20, &[0, 0, 3][..]), (100, 40, &[0, 5]), (200, 20, &[0])].map(train);
        let heavy = Trace { instants: ms(&[10]), opportunity: Bytes::new(1500), offset: Dur::ZERO };
        Replay::new(&TwoTraces { trains: trains.into(), heavy, timer: Dur::ZERO })
    }
    /// When packets of those lengths leave that all come at `now`, and when they arrive.
    fn burst(line: &mut Replay, now: u64, lens: &[u64]) -> Vec<(u64, u64)> {
        let (mut free, mut out) = (at(now), Vec::new());
        for len in lens {
            let start = line.ready(free);
            free = line.send(start, Bytes::new(*len));
            out.push((free.as_ns() / 1_000_000, (free + line.delay()).as_ns() / 1_000_000));
        }
        out
    }

    #[test]
    fn a_train_has_its_light_opportunities_and_then_the_heavy_trace() {
        // Light at 0, 0 and 3 ms. Heavy at 30 and 40 ms, which packets reach that leave at 10 and 20 ms.
        let got = burst(&mut replay(), 0, &[1500; 5]);
        assert_eq!(got, [(0, 20), (0, 20), (3, 23), (10, 30), (20, 40)]);
    }
    #[test]
    fn the_base_delay_is_that_of_the_train_s_start_between_two_recorded_ones() {
        let mut line = replay();
        assert_eq!(burst(&mut line, 50, &[1500]), [(50, 80)], "halfway from 20 to 40 ms");
        // 175 ms: a quarter of the way is left from 40 to 20. Light at 0 and 5 ms; heavy at 210, less 25.
        assert_eq!(burst(&mut line, 175, &[1500; 3]), [(175, 200), (180, 205), (185, 210)]);
        assert_eq!(burst(&mut line, 200, &[1500; 2]), [(200, 220), (200, 220)], "the trains begin again");
    }
    #[test]
    fn a_packet_is_not_divided_between_light_opportunities_but_between_heavy_ones() {
        let got = burst(&mut replay(), 0, &[1000, 1000, 1000, 1000, 1000]);
        assert_eq!(got, [(0, 20), (0, 20), (3, 23), (10, 30), (20, 40)]);
    }
    #[test]
    fn a_line_that_never_idles_stays_with_the_heavy_trace() {
        let mut line = replay();
        let first = burst(&mut line, 0, &[1500; 4]);
        assert_eq!(first[3], (10, 30));
        assert_eq!(burst(&mut line, 10, &[1500]), [(20, 40)], "it comes as the last one leaves");
        assert_eq!(burst(&mut line, 21, &[1500]), [(21, 45)], "a train with a base delay of 24.2 ms");
    }
}
