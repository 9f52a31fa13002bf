//! A monitor interval: the loss and the round-trip times of the segments that left at one rate.

use haltere_units::{Dur, Time};

/// An interval in which less than this part of its rate left says nothing about the rate.
const LEAST_USE: f64 = 0.75;

/// Slope of the line of least squares.
#[derive(Debug, Clone, Copy, Default)]
struct Regression {
    n: f64,
    t: f64,
    y: f64,
    tt: f64,
    ty: f64,
}

impl Regression {
    fn add(&mut self, t: f64, y: f64) {
        self.n += 1.0;
        self.t += t;
        self.y += y;
        self.tt += t * t;
        self.ty += t * y;
    }
    /// 0 without two samples at two times.
    fn slope(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        if spread > 1e-18 { (self.n * self.ty - self.t * self.y) / spread } else { 0.0 }
    }
}

/// The measurements of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// L: the share of lost bytes.
    pub loss: f64,
    /// d(RTT)/dt in seconds a second.
    pub gradient: f64,
}

/// One interval. A segment belongs to it if the bytes delivered when the segment was sent are in its range: `from <=
/// delivered < until`.
#[derive(Debug, Clone, Default)]
pub(super) struct Interval {
    /// The rate that it tries, in Mbit/s.
    pub rate: f64,
    length: Dur,
    /// `None` before it runs.
    start: Option<Time>,
    /// How long it ran; `None` while it runs.
    ran: Option<Dur>,
    from: u64,
    until: u64,
    acked: u64,
    lost: u64,
    /// Bytes delivered of segments that left after it.
    after: u64,
    rtt: Regression,
}

impl Interval {
    /// An interval of that rate and length that does not run yet.
    pub fn new(rate: f64, length: Dur) -> Interval {
        Interval { rate, length, from: u64::MAX, until: u64::MAX, ..Interval::default() }
    }
    /// It runs from now on, when so many bytes are delivered.
    pub fn start(&mut self, now: Time, delivered: u64) {
        (self.start, self.from) = (Some(now), delivered);
    }
    /// It ends when so many bytes are delivered.
    pub fn stop(&mut self, now: Time, delivered: u64) {
        (self.ran, self.until) = (self.start.map(|start| now.since(start)), delivered);
    }
    /// True if it runs, and its time is over.
    pub fn is_over(&self, now: Time) -> bool {
        self.ran.is_none() && self.start.is_some_and(|start| now.since(start) >= self.length)
    }
    /// True if it ended, and `settled` bytes of later segments arrived: what is not acknowledged by then is marked
    /// lost.
    pub fn is_known(&self, settled: u64) -> bool {
        self.ran.is_some() && self.after >= settled
    }

    fn has(&self, prior_delivered: u64) -> bool {
        (self.from..self.until).contains(&prior_delivered)
    }
    /// Bytes were acknowledged; the newest segment of them left when so many were delivered.
    pub fn acked(&mut self, prior_delivered: u64, bytes: u64, now: Time, rtt: Option<Dur>) {
        if self.has(prior_delivered) {
            self.acked += bytes;
            if let (Some(rtt), Some(start)) = (rtt, self.start) {
                let sent = now.since(start).as_secs_f64() - rtt.as_secs_f64();
                self.rtt.add(sent, rtt.as_secs_f64());
            }
        } else if self.ran.is_some() && prior_delivered >= self.until {
            self.after += bytes;
        }
    }
    /// A segment was marked lost.
    pub fn lost(&mut self, prior_delivered: u64, bytes: u64) {
        if self.has(prior_delivered) {
            self.lost += bytes;
        }
    }
    /// Its measurements; `None` if there was no data for its rate.
    pub fn outcome(&self) -> Option<Outcome> {
        let sent = (self.acked + self.lost) as f64;
        let planned = self.rate * 1e6 / 8.0 * self.ran?.as_secs_f64();
        (sent >= LEAST_USE * planned && sent > 0.0)
            .then(|| Outcome { loss: self.lost as f64 / sent, gradient: self.rtt.slope() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    /// 8 Mbit/s for 10 ms: ten segments of 1000 bytes.
    fn ran() -> Interval {
        let mut it = Interval::new(8.0, Dur::from_ms(10));
        it.start(at(100), 50_000);
        it.stop(at(110), 60_000);
        it
    }

    /// By hand: segments leave each ms, and each round trip is 0.1 ms longer than the one before: 0.1 s a second.
    #[test]
    fn the_slope_is_that_of_the_round_trip_times_by_departure() {
        let mut it = ran();
        for n in 0..10 {
            let rtt = Dur::from_us(40_000 + 100 * n);
            it.acked(50_000 + 1000 * n, 1000, at(100) + Dur::from_ms(n) + rtt, Some(rtt));
        }
        let outcome = it.outcome().unwrap();
        assert!((outcome.gradient - 0.1).abs() < 1e-9, "{}", outcome.gradient);
        assert_eq!(outcome.loss, 0.0);
    }
    #[test]
    fn segments_of_other_intervals_do_not_count() {
        let mut it = ran();
        it.acked(49_999, 5000, at(150), None);
        (0..8).for_each(|n| it.acked(50_000 + n, 1000, at(150), None));
        it.lost(59_999, 2000);
        it.lost(60_000, 1000);
        assert!(!it.is_known(4000));
        it.acked(60_000, 4000, at(160), None);
        assert!(it.is_known(4000));
        assert_eq!(it.outcome().unwrap().loss, 0.2, "2000 of 10,000 bytes");
    }
    #[test]
    fn an_interval_without_data_for_its_rate_tells_nothing() {
        let mut it = ran();
        it.acked(50_000, 7000, at(150), None);
        assert_eq!(it.outcome(), None);
        it.acked(50_000, 500, at(150), None);
        assert!(it.outcome().is_some());
    }
    #[test]
    fn it_is_over_after_its_length() {
        let mut it = Interval::new(8.0, Dur::from_ms(10));
        assert!(!it.is_over(at(500)), "it does not run");
        it.start(at(100), 0);
        assert!(!it.is_over(at(109)) && it.is_over(at(110)));
        it.stop(at(110), 1);
        assert!(!it.is_over(at(500)));
    }
}
