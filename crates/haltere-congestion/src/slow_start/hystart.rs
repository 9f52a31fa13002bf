//! Leaving slow start before the first loss: HyStart++ and the older HyStart.
//! Source: RFC 9406 (HyStart++); Ha and Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55, 2011,
//! with Linux's constants (`linux_5_16`, `linux_6_13`).
//! Model of HyStart++: if a round's least RTT has grown by an eighth (4 to 16 ms) over the round before, slow start
//! goes on at a quarter of its pace for up to five rounds. If the RTT falls again it was noise.
//!
//! ```text
//!               min RTT of a round grew                    five rounds
//!   slow start ------------------------> conservative ----------------> congestion avoidance
//!              <------------------------  slow start
//!               min RTT fell again
//! ```
//!
//! Model of Linux's: slow start ends at once if acknowledgements that follow each other within 2 ms span half of the
//! least RTT (the train), or if eight samples of a round are all an eighth (4 to 16 ms) over the least RTT (the delay).
//! Deviations: HyStart++: the limit of 8 segments for one acknowledgement holds if it is chosen (RFC 9406 §4.2, L for
//! senders that do not pace). Linux's: the train's threshold has an allowance for aggregation (up to 1 ms). From 5.16
//! to 6.12 a window below 16 segments began no round, so the first round began in the midst of a window, and every
//! later one there, too. 6.13 begins rounds whatever the window; stable releases of older lines have that fix, too
//! (6.1.192).
//! Units: RTT ns, windows segments. Cost: O(1) an acknowledgement.
//! Known problems: Linux's leave too early on paths whose delay varies (RFC 9406 section 1).

use crate::AckEvent;
use crate::window::Window;
use haltere_units::{Bytes, Dur, Probe, Time};

haltere_units::params! {
    /// How the first slow start ends before a loss.
    #[derive(Default)]
    pub enum Hystart {
        /// RFC 9406: a slower slow start when the round-trip time grows, then congestion avoidance.
        #[default]
        #[serde(rename = "hystart++")]
        PlusPlus,
        /// The HyStart of CUBIC in Linux 5.16 to 6.12: as in 6.13, but a small window begins no round, so that slow
        /// start lasts longer.
        #[serde(rename = "linux_5_16")]
        Linux516,
        /// The HyStart of CUBIC in Linux 6.13, and in stable releases with its fix: congestion avoidance at once, by
        /// acknowledgement train or delay.
        #[serde(rename = "linux_6_13", alias = "classic")]
        Linux613,
        /// Slow start ends with a loss.
        #[serde(rename = "off")]
        Off,
    }
}

// RFC 9406 §4.3, recommended values. Linux's classic has the same bounds and number of samples.
const MIN_RTT_THRESH: Dur = Dur::from_ms(4);
const MAX_RTT_THRESH: Dur = Dur::from_ms(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// L for senders that do not pace: more in one acknowledgement would send a burst.
const GROWTH_LIMIT: u64 = 8;

/// Linux: HyStart begins at this window. A smaller one gives too few samples in a round.
const LOW_WINDOW: u64 = 16;
/// Linux: acknowledgements further apart than this are not of one train.
const ACK_DELTA: Dur = Dur::from_ms(2);
/// Linux: the receiver may hold acknowledgements for up to four of the largest offloaded packets, at most 1 ms.
const AGGREGATE_BYTES: u64 = 4 * 65_536;
const AGGREGATE_MAX: Dur = Dur::from_ms(1);

/// The increase of the least RTT that indicates a queue.
fn rtt_thresh(base: Dur) -> Dur {
    (base / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// The state of the heuristic of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) enum SlowStart {
    #[default]
    Off,
    PlusPlus(PlusPlus),
    Classic(Classic),
}

impl SlowStart {
    pub fn new(kind: Hystart) -> SlowStart {
        match kind {
            Hystart::Off => SlowStart::Off,
            Hystart::PlusPlus => SlowStart::PlusPlus(PlusPlus::default()),
            Hystart::Linux516 => SlowStart::Classic(Classic { late_rounds: true, ..Classic::default() }),
            Hystart::Linux613 => SlowStart::Classic(Classic::default()),
        }
    }

    /// Looks at an acknowledgement, before the window grows by it; sets the threshold when slow start is to end.
    /// `base_rtt` is the least RTT that the control knows.
    pub fn on_ack(&mut self, ev: &AckEvent, base_rtt: Dur, window: &mut Window) {
        if !window.in_slow_start() || window.is_judged_elsewhere() {
            return;
        }
        let exit = match self {
            SlowStart::Off => false,
            // RFC 9406 §4.2: only the first slow start; later ones have a threshold that was measured.
            SlowStart::PlusPlus(s) => window.ssthresh == u64::MAX && s.on_ack(ev),
            SlowStart::Classic(s) => s.on_ack(ev, base_rtt, window),
        };
        if exit {
            window.ssthresh = window.cwnd;
        }
    }

    /// Slow start's growth by `acked` segments; returns what is left for congestion avoidance.
    pub fn grow(&mut self, window: &mut Window, acked: u64) -> u64 {
        match self {
            SlowStart::PlusPlus(s) if window.ssthresh == u64::MAX => window.slow_start(s.share(acked)),
            _ => window.slow_start(acked),
        }
    }

    /// Forgets everything: after a timeout a new slow start begins.
    pub fn reset(&mut self) {
        match self {
            SlowStart::Off => {}
            SlowStart::PlusPlus(s) => *s = PlusPlus::default(),
            SlowStart::Classic(s) => *s = Classic { late_rounds: s.late_rounds, ..Classic::default() },
        }
    }

    pub fn probe(&self, row: &mut Probe) {
        if let SlowStart::PlusPlus(s) = self {
            row.push("conservative", "", f64::from(u8::from(s.css_baseline.is_some())));
        }
    }
}

/// HyStart++ (RFC 9406 section 4.2; names as there).
#[derive(Debug, Clone, Default)]
pub(crate) struct PlusPlus {
    window_end: u64,
    last_round_min_rtt: Option<Dur>,
    current_round_min_rtt: Option<Dur>,
    rtt_sample_count: u32,
    /// The least RTT of the round in which conservative slow start began; `None` in slow start.
    css_baseline: Option<Dur>,
    css_rounds: u32,
    /// Segments acknowledged in conservative slow start that are no increase yet.
    carry: u64,
}

impl PlusPlus {
    /// True when slow start is to end.
    fn on_ack(&mut self, ev: &AckEvent) -> bool {
        // `snd_nxt` is read before this acknowledgement sends anything, so the round's last acknowledgement is the one
        // that reaches it and the next one begins the next round.
        if ev.snd_una > self.window_end && self.end_round(ev.snd_nxt) {
            return true;
        }
        if let Some(rtt) = ev.rtt {
            self.current_round_min_rtt = Some(self.current_round_min_rtt.map_or(rtt, |min| min.min(rtt)));
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.judge();
        }
        false
    }

    /// A round is over; true when it was the last of conservative slow start.
    fn end_round(&mut self, snd_nxt: u64) -> bool {
        self.window_end = snd_nxt;
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        if self.css_baseline.is_some() {
            self.css_rounds += 1;
        }
        self.css_rounds >= CSS_ROUNDS
    }

    fn judge(&mut self) {
        let Some(current) = self.current_round_min_rtt else { return };
        match (self.css_baseline, self.last_round_min_rtt) {
            (Some(baseline), _) if current < baseline => {
                self.css_baseline = None;
                self.css_rounds = 0;
            }
            (None, Some(last)) if current >= last + rtt_thresh(last) => self.css_baseline = Some(current),
            _ => {}
        }
    }

    /// The segments by which `acked` let the window grow.
    fn share(&mut self, acked: u64) -> u64 {
        let acked = acked.min(GROWTH_LIMIT);
        if self.css_baseline.is_none() {
            return acked;
        }
        self.carry += acked;
        let share = self.carry / CSS_GROWTH_DIVISOR;
        self.carry %= CSS_GROWTH_DIVISOR;
        share
    }
}

/// The HyStart of 2008 with Linux's constants.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classic {
    /// A window below the limit of HyStart begins no round either (Linux 5.16 to 6.12).
    late_rounds: bool,
    found: bool,
    round_start: Time,
    last_ack: Time,
    end_seq: u64,
    curr_rtt: Option<Dur>,
    samples: u32,
}

impl Classic {
    /// True when slow start is to end.
    fn on_ack(&mut self, ev: &AckEvent, base_rtt: Dur, window: &Window) -> bool {
        let Some(rtt) = ev.rtt else { return false };
        if self.found {
            return false;
        }
        let low = window.cwnd < LOW_WINDOW;
        if ev.snd_una > self.end_seq && !(low && self.late_rounds) {
            let (now, late_rounds) = (ev.now, self.late_rounds);
            *self = Classic { late_rounds, round_start: now, last_ack: now, end_seq: ev.snd_nxt, ..Classic::default() };
        }
        if low {
            return false;
        }
        let train = self.train(ev, base_rtt, window.cwnd_bytes());
        self.found = self.delay(rtt, base_rtt) || train;
        self.found
    }

    /// Acknowledgements without a gap span half of the least RTT: half of the pipe is full, the next round fills it.
    fn train(&mut self, ev: &AckEvent, base_rtt: Dur, cwnd: Bytes) -> bool {
        if ev.now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = ev.now;
        let threshold = (base_rtt + aggregation(cwnd, ev.srtt)) / 2;
        ev.now.since(self.round_start) > threshold
    }

    fn delay(&mut self, rtt: Dur, base_rtt: Dur) -> bool {
        let curr_rtt = self.curr_rtt.map_or(rtt, |min| min.min(rtt));
        self.curr_rtt = Some(curr_rtt);
        if self.samples < N_RTT_SAMPLE {
            self.samples += 1;
            return false;
        }
        curr_rtt > base_rtt + rtt_thresh(base_rtt)
    }
}

/// How long the receiver may aggregate at the rate of slow start, two windows a round trip.
fn aggregation(cwnd: Bytes, srtt: Dur) -> Dur {
    let ns = u128::from(AGGREGATE_BYTES) * u128::from(srtt.as_ns()) / u128::from(2 * cwnd.as_u64().max(1));
    Dur::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)).min(AGGREGATE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SenderContext;

    const MSS: u64 = 1000;

    struct Fixture {
        slow_start: SlowStart,
        window: Window,
        now: Time,
        snd_una: u64,
        base: Dur,
    }
    impl Fixture {
        fn new(kind: Hystart) -> Fixture {
            Fixture::with_window(kind, 16)
        }
        fn with_window(kind: Hystart, segments: u64) -> Fixture {
            let mss = Bytes::new(MSS);
            let window =
                Window::new(&SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() });
            let base = Dur::from_ms(40);
            Fixture { slow_start: SlowStart::new(kind), window, now: Time::ZERO, snd_una: 0, base }
        }
        /// One round: a window of single acknowledgements, `gap` apart, all with this RTT.
        fn round(&mut self, rtt_ms: u64, gap: Dur) {
            self.now += Dur::from_ms(rtt_ms);
            let mut snd_nxt = self.snd_una + self.window.cwnd * MSS;
            for _ in 0..self.window.cwnd {
                self.snd_una += MSS;
                let rtt = Dur::from_ms(rtt_ms);
                let ev = AckEvent {
                    acked: Bytes::new(MSS),
                    delivered: Bytes::new(MSS),
                    rtt: Some(rtt),
                    srtt: rtt,
                    snd_una: self.snd_una,
                    snd_nxt,
                    cwnd_limited: true,
                    ..AckEvent::at(self.now)
                };
                self.slow_start.on_ack(&ev, self.base, &mut self.window);
                let before = self.window.cwnd;
                if self.window.in_slow_start() {
                    self.slow_start.grow(&mut self.window, 1);
                }
                snd_nxt += MSS * (1 + self.window.cwnd - before);
                self.now += gap;
            }
        }
    }

    /// RFC 9406 §4.2 with a minimum of 40 ms: the threshold is 5 ms, so 44.9 ms is not enough and 45 ms is.
    #[test]
    fn plus_plus_slows_down_and_leaves_after_five_rounds() {
        let mut f = Fixture::new(Hystart::PlusPlus);
        f.round(40, Dur::ZERO);
        assert_eq!(f.window.cwnd, 32);
        f.round(44, Dur::ZERO);
        assert_eq!(f.window.cwnd, 64, "4 ms over 40 ms is below the eighth");
        f.round(50, Dur::ZERO);
        assert_eq!(f.window.cwnd, 64 + 7 + 57 / 4, "seven samples at full pace, a quarter from the eighth on");
        for _ in 0..4 {
            f.round(50, Dur::ZERO);
            assert_eq!(f.window.ssthresh, u64::MAX);
        }
        let before = f.window.cwnd;
        f.round(50, Dur::ZERO);
        assert_eq!(f.window.ssthresh, before, "the first, partial round counts");
    }

    #[test]
    fn plus_plus_resumes_when_the_delay_was_noise() {
        let mut f = Fixture::new(Hystart::PlusPlus);
        f.round(40, Dur::ZERO);
        f.round(50, Dur::ZERO);
        let before = f.window.cwnd;
        f.round(41, Dur::ZERO);
        assert_eq!(
            f.window.cwnd,
            before + (1 + 7) / 4 + (before - 7),
            "one was carried; full pace from the eighth sample on"
        );
    }

    #[test]
    fn plus_plus_is_for_the_first_slow_start_only() {
        let mut f = Fixture::new(Hystart::PlusPlus);
        f.window.ssthresh = 1000;
        f.round(40, Dur::ZERO);
        f.round(80, Dur::ZERO);
        assert_eq!((f.window.cwnd, f.window.ssthresh), (64, 1000));
    }

    #[test]
    fn classic_leaves_when_the_train_spans_half_of_the_round_trip() {
        let mut f = Fixture::new(Hystart::Linux613);
        // 1 ms apart: more than (40 + 1) / 2 ms after the round's start is reached with its 22nd acknowledgement.
        f.round(40, Dur::from_ms(1));
        assert_eq!((f.window.cwnd, f.window.ssthresh), (32, u64::MAX), "16 acknowledgements span 15 ms only");
        f.round(40, Dur::from_ms(1));
        assert_eq!(f.window.ssthresh, 32 + 21);
    }

    #[test]
    fn before_6_13_the_first_round_begins_in_the_midst_of_a_window() {
        // From a window of 10, acknowledgements 1 ms apart; the 22nd of a round is more than 20.5 ms after its start.
        let exit = |kind| {
            let mut f = Fixture::with_window(kind, 10);
            (0..6).for_each(|_| f.round(40, Dur::from_ms(1)));
            f.window.ssthresh
        };
        assert_eq!(exit(Hystart::Linux613), 40 + 21, "rounds of 10, 20 and 40 acknowledgements");
        // The window is 16 at the 7th acknowledgement: rounds begin there, at the 13th of the next 20, the 25th of 40,
        // and the 49th of 80.
        assert_eq!(exit(Hystart::Linux516), 80 + 48 + 21);
    }

    #[test]
    fn classic_ignores_acknowledgements_that_are_far_apart() {
        let mut f = Fixture::new(Hystart::Linux613);
        f.round(40, Dur::from_ms(3));
        f.round(40, Dur::from_ms(3));
        assert_eq!(f.window.ssthresh, u64::MAX);
    }

    #[test]
    fn classic_leaves_after_eight_samples_over_the_least_rtt() {
        let mut f = Fixture::new(Hystart::Linux613);
        f.round(45, Dur::ZERO);
        assert_eq!(f.window.ssthresh, u64::MAX, "5 ms over 40 ms is the bound, not over it");
        f.round(46, Dur::ZERO);
        assert_eq!(f.window.ssthresh, 32 + 8, "the ninth sample judges");
    }

    #[test]
    fn a_careful_slow_start_is_shown() {
        let shown = |slow_start: &SlowStart| {
            let mut row = Probe::new();
            slow_start.probe(&mut row);
            row.get("conservative")
        };
        let careful = PlusPlus { css_baseline: Some(Dur::from_ms(40)), ..PlusPlus::default() };
        assert_eq!(shown(&SlowStart::PlusPlus(careful)), Some(1.0));
        assert_eq!((shown(&SlowStart::PlusPlus(PlusPlus::default())), shown(&SlowStart::Off)), (Some(0.0), None));
    }
}
