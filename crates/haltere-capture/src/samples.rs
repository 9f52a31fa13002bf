//! Round-trip times and one-way delays of one direction of a TCP connection, from what passes one point.
//! Source: RFC 7323 section 4 (a timestamp value and the first acknowledgement that echoes it), RFC 6298 section 3
//! (Karn: what was sent twice is no sample), RFC 8382 section 3 (delays need no common clock). Deviations: none.
//! Model: with timestamps rtt = t(first packet that echoes v) - t(first data packet that bears v); without, rtt =
//! t(first acknowledgement of a segment's end) - t(segment). Both are the way from the capture to the receiver and
//! back. The one-way delay is t(data packet) - v * tick, the way from the sender to the capture, off by a constant.
//! Units: ns. Cost: O(1) a packet; memory O(packets in flight, at most 4096).
//! Known problems: an acknowledgement that the receiver delays counts with its delay.

use crate::packet::Tcp;
use std::collections::VecDeque;

/// Segments in flight that are remembered.
const MOST: usize = 4096;
/// Ticks of timestamp clocks in use (RFC 7323 section 5.4: 1 ms to 1 s; Linux also 1 us, 4 ms and 10 ms).
const TICKS_NS: [f64; 6] = [1e3, 1e6, 2e6, 4e6, 10e6, 100e6];

/// `a` lies behind `b` on the circle of 32-bit numbers.
fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

/// What is in flight in one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Track {
    /// Timestamp value or end of the segment, and when it passed.
    out: VecDeque<(u32, u64)>,
    newest: Option<u32>,
    /// End of the highest segment.
    highest: Option<u32>,
    /// Timestamp values as they passed, unrolled.
    clock: Clock,
    pub sent: u64,
    pub again: u64,
}

/// A sender's timestamp clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    first: Option<(u32, u64)>,
    ticks: i64,
    last_ns: u64,
}

impl Clock {
    fn see(&mut self, value: u32, at_ns: u64) {
        let (first, _) = *self.first.get_or_insert((value, at_ns));
        self.ticks = i64::from(value.wrapping_sub(first) as i32);
        self.last_ns = at_ns;
    }
    /// Nanoseconds a tick: a usual one where the clock ran within a twentieth of it, else as it ran. `None` where it
    /// did not.
    pub fn tick_ns(&self) -> Option<f64> {
        let (_, from) = self.first?;
        if self.ticks < 10 {
            return None;
        }
        let ran = (self.last_ns.saturating_sub(from)) as f64 / self.ticks as f64;
        Some(TICKS_NS.into_iter().find(|tick| (ran / tick - 1.0).abs() < 0.05).unwrap_or(ran))
    }
}

impl Track {
    /// A data segment passes. Its one-way delay in ns, off by a constant, where `tick_ns` is known.
    pub fn sent(&mut self, at_ns: u64, tcp: &Tcp, tick_ns: Option<f64>) -> Option<f64> {
        let end = tcp.seq.wrapping_add(tcp.payload);
        let new = self.highest.is_none_or(|highest| after(end, highest));
        self.sent += 1;
        if new {
            self.highest = Some(end);
        } else {
            self.again += 1;
        }
        let Some((value, _)) = tcp.timestamps else {
            if new {
                self.push(end, at_ns);
            } else {
                self.out.clear(); // which of the two was acknowledged nobody can tell
            }
            return None;
        };
        self.clock.see(value, at_ns);
        if self.newest.is_none_or(|newest| after(value, newest)) {
            self.newest = Some(value);
            self.push(value, at_ns);
        }
        let (first, from) = self.clock.first?;
        let spent = f64::from(value.wrapping_sub(first) as i32) * tick_ns?;
        Some(at_ns as f64 - from as f64 - spent)
    }
    /// A segment of the other direction passes. The round-trip time in ns that it ends.
    pub fn answered(&mut self, at_ns: u64, tcp: &Tcp) -> Option<u64> {
        let answer = match tcp.timestamps {
            Some((_, echo)) => echo,
            None => tcp.ack?,
        };
        tcp.ack?;
        let mut last = None;
        while let Some(&(key, at)) = self.out.front()
            && !after(key, answer)
        {
            last = Some((key, at));
            self.out.pop_front();
        }
        // An echo is of the segment that bore it; an acknowledgement covers what came before its number.
        let (key, at) = last?;
        (tcp.timestamps.is_none() || key == answer).then(|| at_ns.saturating_sub(at))
    }
    pub fn clock(&self) -> Clock {
        self.clock
    }
    fn push(&mut self, key: u32, at_ns: u64) {
        if self.out.len() == MOST {
            self.out.pop_front();
        }
        self.out.push_back((key, at_ns));
    }
}

/// Mean and deviation of a series that is seen once (Welford).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moments {
    pub count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }
    pub fn deviation(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u32, value: Option<u32>) -> Tcp {
        Tcp { seq, ack: Some(1), syn: false, fin: false, payload: 100, timestamps: value.map(|v| (v, 0)) }
    }
    fn answer(ack: u32, echo: Option<u32>) -> Tcp {
        Tcp { seq: 1, ack: Some(ack), syn: false, fin: false, payload: 0, timestamps: echo.map(|e| (0, e)) }
    }

    #[test]
    fn an_echo_ends_the_round_trip_of_the_first_segment_that_bore_the_value() {
        let mut track = Track::default();
        track.sent(1_000, &data(0, Some(7)), None);
        track.sent(1_500, &data(100, Some(7)), None);
        track.sent(2_000, &data(200, Some(8)), None);
        assert_eq!(track.answered(5_000, &answer(200, Some(7))), Some(4_000));
        assert_eq!(track.answered(5_100, &answer(200, Some(7))), None, "a repeated acknowledgement is no sample");
        assert_eq!(track.answered(6_000, &answer(300, Some(8))), Some(4_000));
    }

    #[test]
    fn without_timestamps_an_acknowledgement_ends_it_and_a_repeated_segment_none() {
        let mut track = Track::default();
        track.sent(1_000, &data(0, None), None);
        track.sent(1_100, &data(100, None), None);
        assert_eq!(track.answered(3_100, &answer(200, None)), Some(2_000), "of the newest segment that it covers");
        track.sent(4_000, &data(200, None), None);
        track.sent(5_000, &data(200, None), None);
        assert_eq!((track.again, track.sent), (1, 4));
        assert_eq!(track.answered(6_000, &answer(300, None)), None, "Karn: which of the two?");
    }

    #[test]
    fn numbers_go_round() {
        let mut track = Track::default();
        track.sent(0, &data(u32::MAX - 50, Some(u32::MAX)), None);
        track.sent(10, &data(49, Some(0)), None);
        assert_eq!(track.again, 0);
        assert_eq!(track.answered(100, &answer(149, Some(0))), Some(90));
    }

    #[test]
    fn a_clock_tells_its_tick_and_delays_vary_as_the_way_does() {
        let mut track = Track::default();
        for i in 0..100u32 {
            track.sent(u64::from(i) * 10_000_000, &data(i * 100, Some(1000 + i * 10)), None);
        }
        assert_eq!(track.clock().tick_ns(), Some(1e6));
        // 3 ms late.
        let late = track.sent(1_003_000_000, &data(10_000, Some(2000)), Some(1e6)).unwrap();
        assert!((late - 3e6).abs() < 1.0, "{late}");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut track = Track::default();
        for i in 0..10_000 {
            track.sent(u64::from(i), &data(i * 100, Some(i)), None);
        }
        assert_eq!(track.out.len(), MOST);
    }

    #[test]
    fn moments_of_a_worked_example() {
        let mut m = Moments::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            m.add(value);
        }
        assert!((m.deviation() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
