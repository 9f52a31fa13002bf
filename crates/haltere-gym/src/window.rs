//! What a sender saw in one interval: sums over the events of its congestion control.
//! Source: none. Model: sums, least and most over events, and a least-squares line through the round-trip times.
//! Units: bytes, seconds, bit/s. Cost: O(1) an event.

use crate::fields::Row;
use haltere_congestion::{AckEvent, LossEvent, LostSegment};
use haltere_units::{Bytes, Dur, Time};

/// Intervals over which the largest throughput is kept.
const REMEMBERED: usize = 10;

/// Sums over the samples of the round-trip time, in seconds; times count from the start of the interval.
#[derive(Debug, Clone, Copy, Default)]
struct Rtts {
    count: f64,
    least: f64,
    most: f64,
    last: f64,
    sum: f64,
    sum_t: f64,
    sum_tt: f64,
    sum_t_rtt: f64,
}

impl Rtts {
    fn add(&mut self, at: f64, rtt: f64) {
        self.least = if self.count == 0.0 { rtt } else { self.least.min(rtt) };
        self.most = self.most.max(rtt);
        self.last = rtt;
        self.count += 1.0;
        self.sum += rtt;
        self.sum_t += at;
        self.sum_tt += at * at;
        self.sum_t_rtt += at * rtt;
    }
    fn mean(&self) -> f64 {
        self.sum / self.count
    }
    /// Slope of the least-squares line; 0 with fewer than two instants.
    fn slope(&self) -> f64 {
        let spread = self.count * self.sum_tt - self.sum_t * self.sum_t;
        if spread <= 1e-18 { 0.0 } else { (self.count * self.sum_t_rtt - self.sum_t * self.sum) / spread }
    }
}

/// What outlives an interval.
#[derive(Debug, Clone, Default)]
struct Memory {
    /// Least, mean, largest and last round-trip time of the last interval that had a sample.
    rtts: [f64; 4],
    base_rtt: f64,
    delivery_rate: f64,
    throughputs: [f64; REMEMBERED],
    intervals: usize,
    signalled: bool,
    in_flight: u64,
}

/// What the sender sets, at the end of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The congestion window in bytes.
    pub cwnd: f64,
    /// The pacing rate in bit/s; 0 without pacing.
    pub pacing_bps: f64,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The first value of the last decision, from -1 to 1.
    pub last_action: f64,
}

/// What a sender saw since the interval began.
#[derive(Debug, Clone, Default)]
pub struct Window {
    start: Time,
    in_flight_at_start: u64,
    acked: u64,
    lost: u64,
    marked: u64,
    acks: u64,
    episodes: u64,
    timeouts: u64,
    samples: u64,
    app_limited: u64,
    rtts: Rtts,
    memory: Memory,
}

impl Window {
    /// The interval after this one.
    pub fn restart(&mut self, now: Time) {
        let memory = core::mem::take(&mut self.memory);
        *self = Window { start: now, in_flight_at_start: memory.in_flight, memory, ..Window::default() };
    }
    /// The handshake took `rtt`.
    pub fn on_established(&mut self, rtt: Dur) {
        self.memory.rtts = [rtt.as_secs_f64(); 4];
        self.memory.base_rtt = rtt.as_secs_f64();
    }
    pub fn on_ack(&mut self, ev: &AckEvent) {
        self.acks += 1;
        self.acked += ev.delivered.as_u64();
        self.marked += ev.ce.as_u64();
        self.memory.in_flight = ev.in_flight.as_u64();
        self.memory.signalled |= ev.ce > Bytes::ZERO;
        if let Some(rtt) = ev.rtt {
            self.rtts.add(ev.now.since(self.start).as_secs_f64(), rtt.as_secs_f64());
        }
        if !ev.min_rtt.is_zero() {
            self.memory.base_rtt = ev.min_rtt.as_secs_f64();
        }
        if let Some(rate) = &ev.rate {
            self.samples += 1;
            self.app_limited += u64::from(rate.app_limited);
            self.memory.delivery_rate = rate.delivered.as_f64() * 8.0 / rate.interval.as_secs_f64();
        }
    }
    /// A segment was marked lost.
    pub fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.lost += lost.bytes.as_u64();
        self.memory.signalled = true;
    }
    /// A recovery episode begins.
    pub fn on_loss(&mut self, ev: &LossEvent) {
        self.episodes += 1;
        self.memory.signalled = true;
        self.memory.in_flight = ev.in_flight.as_u64();
    }
    /// A retransmission timeout left so many bytes in flight.
    pub fn on_rto(&mut self, still_in_flight: Bytes) {
        self.timeouts += 1;
        self.memory.signalled = true;
        self.memory.in_flight = still_in_flight.as_u64();
    }
    /// The interval ends: its fields, but for those of `tcp_info` and `network`.
    pub fn close(&mut self, now: Time, settings: &Settings, row: &mut Row) {
        let duration = now.since(self.start).as_secs_f64();
        let per_second = |bytes: f64| if duration > 0.0 { bytes * 8.0 / duration } else { 0.0 };
        let (acked, lost, marked) = (self.acked as f64, self.lost as f64, self.marked as f64);
        let sent = (self.memory.in_flight as f64 - self.in_flight_at_start as f64 + acked + lost).max(0.0);
        let memory = &mut self.memory;
        if self.rtts.count > 0.0 {
            memory.rtts = [self.rtts.least, self.rtts.mean(), self.rtts.most, self.rtts.last];
        }
        let throughput = per_second(acked);
        memory.throughputs[memory.intervals % REMEMBERED] = throughput;
        memory.intervals += 1;
        let max_throughput = memory.throughputs.iter().copied().fold(0.0, f64::max);
        let mss = settings.mss.as_f64();
        let [rtt_min, rtt_mean, rtt_max, rtt_last] = memory.rtts;
        for (field, value) in [
            (Row::DURATION, duration),
            (Row::ACKED, acked),
            (Row::LOST, lost),
            (Row::MARKED, marked),
            (Row::SENT, sent),
            (Row::ACKS, self.acks as f64),
            (Row::EPISODES, self.episodes as f64),
            (Row::TIMEOUTS, self.timeouts as f64),
            (Row::RTT_MIN, rtt_min),
            (Row::RTT_MEAN, rtt_mean),
            (Row::RTT_MAX, rtt_max),
            (Row::RTT_LAST, rtt_last),
            (Row::BASE_RTT, memory.base_rtt),
            (Row::THROUGHPUT, throughput),
            (Row::SEND_RATE, per_second(sent)),
            (Row::MAX_THROUGHPUT, max_throughput),
            (Row::DELIVERY_RATE, memory.delivery_rate),
            (Row::APP_LIMITED, share(self.app_limited as f64, self.samples as f64)),
            (Row::IN_FLIGHT, memory.in_flight as f64),
            (Row::CWND, settings.cwnd),
            (Row::PACING_RATE, settings.pacing_bps),
            (Row::MSS, mss),
            (Row::RTT_RATIO, log2_ratio(rtt_mean, memory.base_rtt)),
            (Row::RTT_MIN_RATIO, log2_ratio(rtt_min, memory.base_rtt)),
            (Row::RTT_GRADIENT, self.rtts.slope()),
            (Row::LOSS_SHARE, share(lost, lost + acked)),
            (Row::MARK_SHARE, share(marked, acked)),
            (Row::RATE_RATIO, log2_ratio(throughput, max_throughput)),
            (Row::SENT_RATIO, log2_ratio(sent, acked)),
            (Row::CWND_RATIO, log2_ratio(settings.cwnd, max_throughput / 8.0 * memory.base_rtt)),
            (
                Row::PACING_RATIO,
                if settings.pacing_bps > 0.0 { log2_ratio(settings.pacing_bps, max_throughput) } else { 0.0 },
            ),
            (Row::CWND_SIZE, log2_ratio(settings.cwnd, mss)),
            (Row::SLOW_START, f64::from(u8::from(!memory.signalled))),
            (Row::LAST_ACTION, settings.last_action),
        ] {
            row.set(field, value);
        }
    }
}

/// `part` over `whole`; 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The binary logarithm of a ratio: far below zero if the ratio is zero, 0 of nothing over nothing, far above over
/// nothing.
pub(crate) fn log2_ratio(value: f64, of: f64) -> f64 {
    match (value > 0.0, of > 0.0) {
        (true, true) => libm::log2(value / of),
        (false, false) => 0.0,
        (true, false) => 1e3,
        (false, true) => -1e3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::SENDER;

    fn closed(window: &mut Window, ms: u64) -> Row {
        let mut row = Row::new(SENDER);
        window.close(Time::ZERO + Dur::from_ms(ms), &settings(), &mut row);
        row
    }
    fn ack(ms: u64, delivered: u64, rtt_ms: u64) -> AckEvent {
        let mut ev = AckEvent::at(Time::ZERO + Dur::from_ms(ms));
        ev.delivered = Bytes::new(delivered);
        ev.rtt = Some(Dur::from_ms(rtt_ms));
        ev.min_rtt = Dur::from_ms(10);
        ev.in_flight = Bytes::new(5000);
        ev
    }
    fn settings() -> Settings {
        Settings { cwnd: 20_000.0, pacing_bps: 0.0, mss: Bytes::new(1000), last_action: 0.0 }
    }

    #[test]
    fn the_fields_of_an_interval_are_those_counted_by_hand() {
        let mut window = Window::default();
        window.restart(Time::ZERO);
        // The round-trip time rises from 20 ms to 40 ms in 10 ms: a slope of 2.
        window.on_ack(&ack(10, 3000, 20));
        window.on_ack(&ack(20, 1000, 40));
        window.on_segment_lost(&LostSegment::new(0, Bytes::new(1000)));
        let row = closed(&mut window, 20);
        let of = |field: usize| row.values()[field];
        assert_eq!([of(Row::ACKED), of(Row::LOST), of(Row::ACKS)], [4000.0, 1000.0, 2.0]);
        assert_eq!(of(Row::SENT), 10_000.0, "in flight 5000 from nothing, delivered 4000, lost 1000");
        assert!((of(Row::THROUGHPUT) - 1.6e6).abs() < 1e-6);
        assert!((of(Row::RTT_MEAN) - 0.030).abs() < 1e-12 && of(Row::BASE_RTT) == 0.010);
        assert!((of(Row::RTT_GRADIENT) - 2.0).abs() < 1e-9);
        assert_eq!((of(Row::LOSS_SHARE), of(Row::SLOW_START)), (0.2, 0.0));
        assert!((of(Row::CWND_RATIO) - libm::log2(20_000.0 / 2000.0)).abs() < 1e-12);
    }
    #[test]
    fn an_interval_without_samples_keeps_the_round_trip_time_and_forgets_the_counts() {
        let mut window = Window::default();
        window.restart(Time::ZERO);
        window.on_ack(&ack(10, 3000, 20));
        closed(&mut window, 10);
        window.restart(Time::ZERO + Dur::from_ms(10));
        let row = closed(&mut window, 20);
        assert_eq!((row.values()[Row::ACKED], row.values()[Row::RTT_MEAN]), (0.0, 0.020));
        assert_eq!(row.values()[Row::MAX_THROUGHPUT], 2.4e6, "of the interval before");
        assert_eq!((row.values()[Row::RATE_RATIO], row.values()[Row::SENT]), (-10.0, 0.0));
    }
}
