//! H-TCP: the window grows with the time since the last loss, and a loss drains the queue and no more.
//! Model: with D seconds since the last loss, alpha = 1 for D <= 1, else 1 + 10 (D - 1) + ((D - 1) / 2)^2; scaled by
//! the round-trip time and by 2 (1 - beta). cwnd += alpha a round trip. On loss cwnd *= beta = RTT_min / RTT_max, from
//! 0.5 to 0.8, or 0.5 if the throughput changed by over a fifth.
//! Units: segments; times in seconds. Cost: O(1) an acknowledgement.

use crate::law::{Count, LINUX_TICK, Openness, Ticks, WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Growth follows the time since the last loss, so flows converge fast on paths with large bandwidth-delay
    /// products.
    ///
    /// Source: Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
    /// draft-leith-tcp-htcp-06.
    ///
    /// Deviations: these are Linux's. The largest RTT follows the samples, by at most 20 ms at a time, and forgets 5 %
    /// of its distance to the least RTT at each loss. beta adapts from the second of two losses at about one
    /// throughput. The time since the last loss begins when its repair is over. alpha is computed anew at each
    /// increase, in whole steps of 2 (1 - beta). The count of acknowledged segments then restarts at zero, and the
    /// window grows with the acknowledgement after the count is complete. Times are whole ticks of the kernel's clock,
    /// and a round-trip time is rounded up to them.
    ///
    /// Known problems: after long times without loss it grows so fast that many segments are lost at once.
    pub struct Params {
        /// True: alpha is scaled to that of a path of 100 ms (from half to ten times), so that fairness depends less on
        /// the round-trip time.
        pub rtt_scaling: bool = true;
        /// True: beta is 0.5 after a change of the throughput by over a fifth.
        pub bandwidth_switch: bool = true;
        /// The tick of the clock that times are counted in, above 0. The default is Linux's at 250 Hz; 1 us is as good
        /// as exact.
        pub tick: Dur = LINUX_TICK, [above 0];
    }
}

/// The draft's bounds of beta.
const BETA: (f64, f64) = (0.5, 0.8);
/// Below this least RTT beta stays 0.5 (Linux).
const SHORT_RTT: Dur = Dur::from_ms(10);
/// The round-trip time to which alpha is scaled.
const REFERENCE_RTT: Dur = Dur::from_ms(100);
/// The largest RTT rises by at most this (Linux).
const MAX_RTT_STEP: Dur = Dur::from_ms(20);
/// Round trips after a loss in which a throughput is taken as it is; later ones are smoothed (Linux).
const FRESH_ROUNDS: u64 = 3;
/// The weights of an old and of a new throughput, in quarters.
const OLD_THROUGHPUT: f64 = 3.0;

/// How H-TCP changes the window. Times are in ticks.
#[derive(Debug, Clone, Default)]
pub struct Law {
    params: Params,
    ticks: Ticks,
    alpha: f64,
    beta: f64,
    /// The end of the last loss's repair, or the first acknowledgement.
    last_loss: Option<u64>,
    min_rtt: u64,
    max_rtt: u64,
    count: Count,
    mss: u64,
    /// Bytes acknowledged since `since`.
    bytes: u64,
    since: Option<u64>,
    /// The throughput, smoothed; the largest one since the last loss, and in the time before; in segments a tick.
    throughput: f64,
    best: f64,
    best_before: f64,
    /// The last two losses came at about one throughput.
    steady: bool,
    recovering: bool,
    openness: Openness,
    /// Segments that the next growth counts: those of the last acknowledgement that found the state open, once.
    counts: u64,
}

/// H-TCP for one sender.
pub type Htcp = Windowed<Law>;

impl Law {
    /// Segments a round trip.
    fn alpha_at(&self, now: u64) -> f64 {
        let since = now.saturating_sub(self.last_loss.unwrap_or(now));
        let elapsed = self.ticks.seconds(since) - 1.0;
        let mut factor = if elapsed <= 0.0 { 1.0 } else { libm::floor(1.0 + 10.0 * elapsed + elapsed * elapsed / 4.0) };
        if self.params.rtt_scaling && self.min_rtt > 0 {
            // The scale in whole eighths, as Linux has it.
            let scale = (8 * self.ticks.floor(REFERENCE_RTT) / self.min_rtt).clamp(4, 80);
            factor = libm::floor(8.0 * factor / scale as f64).max(1.0);
        }
        2.0 * (1.0 - self.beta) * factor
    }

    fn take_rtt(&mut self, rtt: u64, open: bool) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt > self.max_rtt && rtt <= self.max_rtt + self.ticks.of(MAX_RTT_STEP) {
                self.max_rtt = rtt;
            }
        }
    }

    /// The throughput over about a window, at least the least RTT.
    fn measure(&mut self, now: u64, acked: Bytes, cwnd: u64) {
        let since = *self.since.get_or_insert(now);
        self.bytes += acked.as_u64();
        let (took, segments) = (now - since, self.bytes / self.mss);
        let window = cwnd.saturating_sub((self.alpha as u64).max(1));
        if segments < window || self.min_rtt == 0 || took < self.min_rtt {
            return;
        }
        let newest = segments as f64 / took as f64;
        let rounds = now.saturating_sub(self.last_loss.unwrap_or(now)) / self.min_rtt;
        if rounds <= FRESH_ROUNDS {
            (self.throughput, self.best) = (newest, newest);
        } else {
            self.throughput = (OLD_THROUGHPUT * self.throughput + newest) / (OLD_THROUGHPUT + 1.0);
            self.best = self.best.max(self.throughput);
        }
        (self.bytes, self.since) = (0, Some(now));
    }

    /// beta after a loss.
    fn adapt(&mut self) {
        let switch = self.params.bandwidth_switch;
        let steady = (self.best - self.best_before).abs() <= 0.2 * self.best_before;
        self.best_before = self.best;
        if switch && !steady {
            (self.beta, self.steady) = (BETA.0, false);
        } else if self.steady && self.min_rtt > self.ticks.of(SHORT_RTT) && self.max_rtt > 0 {
            self.beta = (self.min_rtt as f64 / self.max_rtt as f64).clamp(BETA.0, BETA.1);
        } else {
            (self.beta, self.steady) = (BETA.0, true);
        }
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        let mss = sender.mss.as_u64().max(1);
        let ticks = Ticks(params.tick);
        Ok(Law { params: params.clone(), ticks, alpha: 1.0, beta: BETA.0, mss, ..Law::default() })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        let now = self.ticks.at(ev.now);
        self.last_loss.get_or_insert(now);
        let open = self.openness.take(ev);
        if open {
            self.counts = window.segments_in(ev.acked);
        }
        if let Some(rtt) = ev.rtt {
            self.take_rtt(self.ticks.of(rtt), open);
        }
        if ev.in_recovery || ev.in_rto_recovery {
            (self.bytes, self.since) = (0, Some(now));
        } else {
            self.measure(now, ev.acked, window.cwnd);
        }
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        window.slow_start(acked);
        0
    }
    fn avoid(&mut self, ev: &AckEvent, window: &mut Window, _acked: u64) {
        // The acknowledgement that ends a recovery counts nothing: the one that found the state open last was the first
        // duplicate, of no segment (Linux).
        let counts = core::mem::replace(&mut self.counts, 1);
        if self.count.ask_then_add(counts, self.alpha, window.cwnd) {
            window.set_cwnd(window.cwnd + 1);
            self.alpha = self.alpha_at(self.ticks.at(ev.now));
        }
    }
    fn reduced(&mut self, window: &Window, now: Time) -> u64 {
        let now = self.ticks.at(now);
        self.adapt();
        self.alpha = self.alpha_at(now);
        if self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        self.last_loss = Some(now);
        self.recovering = true;
        self.count.clear();
        (window.cwnd as f64 * self.beta) as u64
    }
    fn recovered(&mut self, _window: &mut Window, now: Time) {
        if core::mem::take(&mut self.recovering) {
            self.last_loss = Some(self.ticks.at(now));
        }
    }
    fn probe(&self, row: &mut Probe) {
        row.push("beta", "", self.beta);
        row.push("alpha", "segments", self.alpha);
        row.push("max_rtt", "s", self.ticks.seconds(self.max_rtt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    /// With a clock of microseconds.
    fn htcp(params: Params) -> Htcp {
        Htcp::new(&Params { tick: Dur::from_us(1), ..params }, &sender(10)).unwrap().avoiding(1000)
    }
    fn ms(ms: u64) -> u64 {
        1000 * ms
    }

    #[test]
    fn alpha_is_the_draft_s_function_of_the_time_since_the_loss() {
        let mut c = htcp(Params { rtt_scaling: false, ..Params::default() });
        c.law.last_loss = Some(0);
        // 2 (1 - 0.5) = 1: the function itself, whole segments.
        for (at, alpha) in [(500, 1.0), (1000, 1.0), (2000, 11.0), (3000, 22.0)] {
            assert_eq!(c.law.alpha_at(ms(at)), alpha, "after {at} ms");
        }
    }

    #[test]
    fn a_path_of_20_ms_grows_a_fifth_as_fast() {
        let mut c = htcp(Params::default());
        c.law.last_loss = Some(0);
        c.law.min_rtt = ms(20);
        assert_eq!(c.law.alpha_at(ms(3000)), 4.0, "22 / 5, whole segments");
    }

    /// By hand, ticks of 4 ms: 41 ms are 11 ticks, so the scale is 8 x 25 / 11 = 18 eighths; after two seconds 8 x 11 /
    /// 18 = 4.
    #[test]
    fn in_ticks_a_path_of_41_ms_is_one_of_44() {
        let mut c = Htcp::new(&Params::default(), &sender(10)).unwrap();
        c.on_ack(&ack(0, 1, 41, 41));
        assert_eq!(c.law.min_rtt, 11);
        assert_eq!(c.law.alpha_at(500), 4.0);
    }

    #[test]
    fn the_acknowledgement_that_ends_a_recovery_counts_nothing() {
        let mut c = htcp(Params::default());
        (c.window.cwnd, c.window.ssthresh) = (2, 2);
        let sacked = |in_recovery| AckEvent { acked: Bytes::ZERO, in_recovery, ..ack(0, 1, 40, 40) };
        let of_two = || ack(0, 2, 40, 40);
        // The first duplicate finds the state open, and covers nothing; here it begins the recovery, too.
        (0..3).for_each(|_| c.on_ack(&sacked(true)));
        c.on_ack(&AckEvent { delivered: Bytes::new(1000), ..ack(0, 4, 40, 40) });
        c.on_ack(&ack(0, 1, 40, 40));
        c.on_ack(&of_two());
        assert_eq!(c.window.cwnd, 2, "one segment is counted when it asks, of the two that a window of two needs");
        c.on_ack(&of_two());
        assert_eq!(c.window.cwnd, 3);
    }

    /// alpha 1, a window of 10: the eleventh acknowledgement pays, and is not counted for the next.
    #[test]
    fn the_acknowledgement_after_the_last_one_pays() {
        let mut c = htcp(Params::default());
        (c.window.cwnd, c.window.ssthresh) = (10, 10);
        let grows: alloc::vec::Vec<u64> = (0..23).map(|i| (c.on_ack(&ack(i, 1, 40, 40)), c.window.cwnd).1).collect();
        assert_eq!((grows[9], grows[10], grows[21], grows[22]), (10, 11, 11, 12));
    }

    #[test]
    fn the_time_since_a_loss_begins_with_the_end_of_its_repair() {
        let mut c = htcp(Params::default());
        c.on_loss(&loss(1000));
        assert_eq!(c.law.last_loss, Some(ms(1000)));
        c.on_recovered(crate::law::testing::at(1100));
        assert_eq!(c.law.last_loss, Some(ms(1100)));
    }

    #[test]
    fn beta_is_the_ratio_of_the_round_trip_times_once_the_throughput_is_steady() {
        let mut c = htcp(Params::default());
        let mut lose = |now: u64| {
            for i in 0..100 {
                c.window.cwnd = 50;
                c.on_ack(&ack(now + 10 * i, 10, if i < 50 { 85 } else { 100 }, 70));
            }
            c.law.min_rtt = ms(70);
            c.window.cwnd = 1000;
            c.on_loss(&loss(now + 1000));
            c.window.cwnd
        };
        assert_eq!(lose(0), 500, "nothing to compare with");
        assert_eq!(lose(2000), 500, "steady once");
        let left = lose(4000);
        assert!((690..=710).contains(&left), "70 ms of 100 ms: {left}");
    }

    /// By hand, in ticks of 4 ms: the largest RTT rises by 20 ms at a time, which are five ticks, and not by more.
    #[test]
    fn the_largest_rtt_rises_by_a_step_of_five_ticks_at_most() {
        let mut c = Htcp::new(&Params::default(), &sender(10)).unwrap();
        c.law.take_rtt(10, true);
        assert_eq!((c.law.min_rtt, c.law.max_rtt), (10, 10));
        c.law.take_rtt(16, true);
        assert_eq!(c.law.max_rtt, 10, "six ticks");
        c.law.take_rtt(15, true);
        assert_eq!(c.law.max_rtt, 15, "five");
        c.law.take_rtt(18, false);
        assert_eq!((c.law.min_rtt, c.law.max_rtt), (10, 15), "not during a repair");
    }

    /// By hand: a window of 10 segments and alpha 1 need 9 of them, over the least RTT at least.
    #[test]
    fn the_throughput_is_measured_over_a_window_and_the_least_rtt() {
        let measured = |segments: u64, took: u64| {
            let mut c = htcp(Params::default());
            (c.law.min_rtt, c.law.last_loss) = (100, Some(0));
            c.law.measure(0, Bytes::ZERO, 10);
            c.law.measure(took, Bytes::new(segments * c.law.mss), 10);
            c.law.throughput
        };
        assert_eq!((measured(8, 100), measured(9, 99)), (0.0, 0.0));
        assert_eq!((measured(9, 100), measured(20, 200)), (0.09, 0.1));
    }
}
