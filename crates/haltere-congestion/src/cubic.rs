//! CUBIC: the window follows a cubic function of the time since the last reduction.
//! Model: W_cubic(t) = C (t - K)^3 + W_max, K = cbrt((W_max - cwnd_epoch) / C). On loss W_max = cwnd and cwnd = beta
//! cwnd. The window is never smaller than that of a Reno that reduces by the same beta (W_est).
//!
//! ```text
//!   W_max ........ ______....../      concave up to W_max, then convex: it probes for more
//!                _/           /
//!              _/  K seconds
//!   beta W_max/
//! ```
//!
//! Linux's beta is 717/1024 = 0.7002 and its C 410/1024 = 0.4004.
//! Units: segments and seconds within, bytes in the interface. Cost: O(1) an acknowledgement.

use crate::law::{Pace, Ticks};
use crate::slow_start::{Hystart, SlowStart};
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RestartEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Rate, Time};

haltere_units::params! {
    /// The window follows a cubic function of the time since the last reduction: Linux's default control.
    ///
    /// Source: RFC 9438 (sections 4.1 to 4.10).
    ///
    /// Deviations: most are Linux's, in places that the RFC leaves open or that show in the window. The window is in
    /// whole segments: the target is rounded towards W_max, and the pace (segments to acknowledge for one more) is a
    /// whole number. W_cubic is read at t plus the least RTT, not the current RTT. The pace is computed again if the
    /// window changed or after 1/32 s. It is at least 2, which is the RFC's limit of the target to 1.5 cwnd (section
    /// 4.2). Before any W_max is known the window grows by at least 5 % a round trip; the RFC would begin with the flat
    /// part of the cubic (section 4.8). `reno_friendly = "linux"` never sets alpha to 1, which RFC 9438 section 4.3
    /// recommends. RTT samples within one second of a reduction do not count for the least RTT. A spurious reduction
    /// gives back window and threshold, not W_max and K (section 4.9 would). The threshold after a loss is beta cwnd,
    /// not beta FlightSize. One deviation from Linux: time in which the window was not the limit is taken out of t, as
    /// RFC 9438 section 4.2 demands; Linux takes out idle time only.
    ///
    /// Known problems: it is unfair to Reno over large bandwidth-delay products, by intent.
    pub struct Params {
        /// C, in segments per cubed second, above 0: how fast the window grows on long paths. The default is RFC 9438's
        /// (section 5).
        pub c: f64 = 0.4, [above 0];
        /// beta, from 0.1 to 0.99: the part of the window that is left after a reduction. The default is RFC 9438's
        /// (section 4.6); Linux has 717/1024.
        pub beta: f64 = 0.7, [from 0.1 to 0.99] "it is the part of the window that is left";
        /// True: release more of the window if it falls from one loss to the next (RFC 9438 section 4.7).
        pub fast_convergence: bool = true;
        /// How the window keeps up with Reno's if Reno's is larger.
        pub reno_friendly: RenoFriendly = RenoFriendly::Rfc9438;
        /// How the first slow start ends before a loss. The default is RFC 9438's (section 4.10); Linux has
        /// `linux_5_16` or `linux_6_13`.
        pub hystart: Hystart = Hystart::PlusPlus;
        /// True: segments are paced, at twice cwnd / srtt in slow start and 1.2 times that afterwards. Linux does so by
        /// default behind `fq`, and whenever the socket requests it. RFC 9438 leaves it open.
        pub pacing: bool = false;
    }
    /// How CUBIC keeps up with Reno if Reno's window is larger.
    #[derive(Default)]
    pub enum RenoFriendly {
        /// RFC 9438 §4.3: alpha is 3 (1 - beta) / (1 + beta) until the window before the last reduction is reached,
        /// then 1.
        #[default]
        Rfc9438,
        /// Linux 6.1: alpha is 8/15 for the default beta, always.
        Linux,
        /// There is no Reno-friendly region.
        Off,
    }
}

/// Times are exact.
const CLOCK: Ticks = Ticks(Dur::from_ns(1));
/// RTT samples this soon after a reduction still hold the old queue (Linux).
const SETTLING: Dur = Dur::from_secs(1);
/// While W_max is unknown: at least one segment for so many acknowledged, 5 % (Linux).
const UNKNOWN_PACE: u64 = 20;
/// RFC 9438 §4.2: the target is at most 1.5 cwnd, so at most one segment for two acknowledged.
const FASTEST_PACE: u64 = 2;

/// CUBIC for one sender.
#[derive(Debug, Clone, Default)]
pub struct Cubic {
    params: Params,
    window: Window,
    slow_start: SlowStart,
    /// W_max in segments; zero: not known.
    w_max: u64,
    /// The window before the last reduction (cwnd_prior).
    cwnd_prior: u64,
    epoch: Option<Epoch>,
    /// Since when the window is not the limit.
    unlimited_since: Option<Time>,
    /// The least round-trip time; zero: not known.
    min_rtt: Dur,
    /// The smoothed round-trip time; zero: not known.
    srtt: Dur,
}

/// Congestion avoidance since a reduction.
#[derive(Debug, Clone)]
struct Epoch {
    start: Time,
    /// K, in seconds from the start.
    k_s: f64,
    /// Where the cubic is flat, in segments.
    origin: u64,
    /// The Reno window W_est in segments, and what was acknowledged towards its next one.
    w_est: u64,
    acked: u64,
    pace: Pace,
}

impl Cubic {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Cubic, ParamError> {
        params.check()?;
        let (window, slow_start) = (Window::new(sender), SlowStart::new(params.hystart));
        Ok(Cubic { params: params.clone(), window, slow_start, ..Cubic::default() })
    }

    fn sample_rtt(&mut self, ev: &AckEvent) -> bool {
        let Some(rtt) = ev.rtt else { return false };
        if self.epoch.as_ref().is_some_and(|epoch| ev.now.since(epoch.start) < SETTLING) {
            return false;
        }
        if self.min_rtt.is_zero() || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        true
    }

    /// RFC 9438 §4.2: t leaves out the time in which the window was not the limit.
    fn exclude(&mut self, span: Dur, now: Time) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.checked_add(span).map_or(now, |start| start.min(now));
        }
    }

    /// RFC 9438 §4.2: an epoch begins with congestion avoidance.
    fn begin(&self, now: Time) -> Epoch {
        let cwnd = self.window.cwnd;
        let origin = self.w_max.max(cwnd);
        // Equation 2; zero if the window is above W_max already.
        let k_s = libm::cbrt((origin - cwnd) as f64 / self.params.c);
        Epoch { start: now, k_s, origin, w_est: cwnd, acked: 0, pace: Pace::default() }
    }

    /// The segments to acknowledge for one more; `acked` segments were acknowledged now.
    fn pace(&mut self, now: Time, acked: u64) -> u64 {
        let cwnd = self.window.cwnd;
        let mut epoch = self.epoch.take().unwrap_or_else(|| self.begin(now));
        epoch.acked += acked;
        if epoch.pace.expires(cwnd, now, CLOCK) {
            epoch.pace.segments = self.cubic_pace(&epoch, now);
            self.follow_reno(&mut epoch);
            epoch.pace.segments = epoch.pace.segments.max(FASTEST_PACE);
        }
        let segments = epoch.pace.segments;
        self.epoch = Some(epoch);
        segments
    }

    /// RFC 9438 §4.4, §4.5: the pace that reaches W_cubic(t + RTT) in one round trip.
    fn cubic_pace(&self, epoch: &Epoch, now: Time) -> u64 {
        let cwnd = self.window.cwnd;
        let t_s = (now.since(epoch.start) + self.min_rtt).as_secs_f64() - epoch.k_s;
        // Equation 1, rounded towards the origin.
        let distance = (self.params.c * t_s * t_s * t_s) as i64;
        let target = epoch.origin.saturating_add_signed(distance);
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.w_max == 0 { cnt.min(UNKNOWN_PACE) } else { cnt }
    }

    /// RFC 9438 §4.3: at least as fast as Reno with the same average window.
    fn follow_reno(&self, epoch: &mut Epoch) {
        let cwnd = self.window.cwnd;
        loop {
            let Some(per_segment) = self.reno_pace(epoch) else { return };
            if epoch.acked <= per_segment {
                break;
            }
            epoch.acked -= per_segment;
            epoch.w_est += 1;
        }
        if epoch.w_est > cwnd {
            epoch.pace.segments = epoch.pace.segments.min(cwnd / (epoch.w_est - cwnd));
        }
    }

    /// Segments to acknowledge for one more of W_est: cwnd / alpha_cubic.
    fn reno_pace(&self, epoch: &Epoch) -> Option<u64> {
        let cwnd = self.window.cwnd;
        let beta = self.params.beta;
        let per_segment = match self.params.reno_friendly {
            RenoFriendly::Off => return None,
            RenoFriendly::Rfc9438 if self.cwnd_prior > 0 && epoch.w_est >= self.cwnd_prior => cwnd,
            RenoFriendly::Rfc9438 => (cwnd as f64 * (1.0 + beta) / (3.0 * (1.0 - beta))) as u64,
            // Linux has the factor in whole eighths: 15/8 at its beta.
            RenoFriendly::Linux => cwnd * ((8.0 * (1.0 + beta) / (3.0 * (1.0 - beta))) as u64) / 8,
        };
        Some(per_segment.max(1))
    }

    /// RFC 9438 §4.6, §4.7: the new threshold; W_max is remembered.
    fn reduced(&mut self) -> u64 {
        let cwnd = self.window.cwnd;
        let beta_ppm = libm::round(self.params.beta * 1e6) as u64;
        self.epoch = None;
        self.unlimited_since = None;
        self.cwnd_prior = cwnd;
        let converge = self.params.fast_convergence && cwnd < self.w_max;
        self.w_max = if converge { cwnd * (1_000_000 + beta_ppm) / 2_000_000 } else { cwnd };
        (cwnd * beta_ppm / 1_000_000).max(2)
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.srtt = ev.srtt;
        if self.sample_rtt(ev) {
            self.slow_start.on_ack(ev, self.min_rtt, &mut self.window);
        }
        let mut acked = self.window.take_acked(ev);
        if !ev.cwnd_limited && !ev.in_recovery {
            self.unlimited_since.get_or_insert(ev.now);
        }
        if !ev.cwnd_limited || acked == 0 {
            return;
        }
        if let Some(since) = self.unlimited_since.take() {
            self.exclude(ev.now.since(since), ev.now);
        }
        if self.window.in_slow_start() {
            acked = self.slow_start.grow(&mut self.window, acked);
        }
        if acked > 0 && !self.window.in_slow_start() {
            let cnt = self.pace(ev.now, acked);
            self.window.additive_increase(cnt, acked);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        let ssthresh = self.reduced();
        self.window.reduce(ssthresh, ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        let ssthresh = if ev.first { self.reduced() } else { self.window.ssthresh };
        self.window.timeout(ssthresh, ev);
        // RFC 9438 §4.8: what follows the timeout's slow start begins with K = 0 and a new W_max.
        self.epoch = None;
        self.w_max = 0;
        self.min_rtt = Dur::ZERO;
        self.slow_start.reset();
    }
    of_window!(undo, cache, sizes);
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
        if self.unlimited_since.is_none() {
            self.exclude(ev.idle, ev.now);
        }
    }
    fn pacing_rate(&self) -> Option<Rate> {
        if self.params.pacing { self.window.pacing_rate(self.srtt) } else { None }
    }
    fn probe(&self, row: &mut Probe) {
        row.push("w_max", "B", self.window.bytes(self.w_max).as_f64());
        let (k_s, w_est) = self.epoch.as_ref().map_or((0.0, 0), |epoch| (epoch.k_s, epoch.w_est));
        row.push("k", "s", k_s);
        row.push("w_est", "B", self.window.bytes(w_est).as_f64());
        self.slow_start.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossKind;

    const MSS: u64 = 1000;

    fn cubic(segments: u64, params: Params) -> Cubic {
        let mss = Bytes::new(MSS);
        Cubic::new(&params, &SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() })
            .unwrap()
    }
    fn ack(now: Time, segments: u64) -> AckEvent {
        let bytes = Bytes::new(segments * MSS);
        let rtt = Dur::from_ms(100);
        AckEvent { acked: bytes, delivered: bytes, rtt: Some(rtt), srtt: rtt, cwnd_limited: true, ..AckEvent::at(now) }
    }
    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    fn segments(c: &Cubic) -> u64 {
        c.cwnd().as_u64() / MSS
    }
    fn lose(c: &mut Cubic) {
        c.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
    }
    /// One window of acknowledgements at `now`.
    fn round(c: &mut Cubic, now: Time) {
        (0..segments(c)).for_each(|_| c.on_ack(&ack(now, 1)));
    }

    /// RFC 9438 §4.2 by hand: W_max 1000, beta 0.7: cwnd 700, K = cbrt(300 / 0.4) = 9.086 s.
    #[test]
    fn the_window_returns_to_w_max_after_k_seconds_and_then_probes() {
        let mut c = cubic(1000, Params { reno_friendly: RenoFriendly::Off, ..Params::default() });
        lose(&mut c);
        assert_eq!(segments(&c), 700);
        let at = |c: &mut Cubic, from: u64, to: u64| (from..to).for_each(|r| round(c, at_ms(r * 100)));
        at(&mut c, 0, 45);
        // W_cubic(4.5) = 1000 - 0.4 * 4.586^3 = 961.4
        assert!((959..=963).contains(&segments(&c)), "{}", segments(&c));
        at(&mut c, 45, 91);
        assert!((999..=1000).contains(&segments(&c)), "{}", segments(&c));
        at(&mut c, 91, 140);
        // W_cubic(14) = 1000 + 0.4 * 4.914^3 = 1047.5
        assert!((1044..=1049).contains(&segments(&c)), "{}", segments(&c));
    }

    /// RFC 9438 §4.7: W_max 100; a loss at 80 leaves W_max = 80 * (1 + 0.7) / 2 = 68.
    #[test]
    fn fast_convergence_releases_room() {
        let mut c = cubic(100, Params::default());
        lose(&mut c);
        c.window.set_cwnd(80);
        lose(&mut c);
        assert_eq!((c.w_max, segments(&c)), (68, 56));
        c.window.set_cwnd(90);
        lose(&mut c);
        assert_eq!(c.w_max, 90, "the window rose: no convergence");
    }

    /// RFC 9438 §4.3: with a short RTT Reno is faster. W_max 20: cwnd 14, alpha 9/17; 26.44 segments a Reno segment.
    #[test]
    fn the_reno_friendly_region_keeps_up_with_reno() {
        let mut c = cubic(20, Params::default());
        lose(&mut c);
        for r in 0..40 {
            round(&mut c, at_ms(r));
        }
        // 40 rounds at 9/17 give 21 segments at most, to which alpha = 1 adds above 20.
        assert!((30..=45).contains(&segments(&c)), "{}", segments(&c));
        let mut linux = cubic(20, Params { reno_friendly: RenoFriendly::Linux, ..Params::default() });
        lose(&mut linux);
        for r in 0..40 {
            round(&mut linux, at_ms(r));
        }
        assert!((30..=35).contains(&segments(&linux)), "{}", segments(&linux));
    }

    #[test]
    fn a_timeout_forgets_w_max_and_growth_is_five_percent_then() {
        let mut c = cubic(100, Params::default());
        c.on_rto(&RtoEvent { first: true, ..RtoEvent::at(Time::ZERO) });
        assert_eq!((segments(&c), c.w_max, c.ssthresh()), (1, 0, Bytes::new(70 * MSS)));
        c.on_ack(&ack(at_ms(0), 69));
        assert_eq!(segments(&c), 70);
        round(&mut c, at_ms(1));
        assert_eq!(segments(&c), 70 + 70 / 20);
    }

    /// By hand: 10 segments of 1000 bytes in 100 ms are 800 kbit/s; twice that in slow start, 1.2 times after a loss
    /// left 7.
    #[test]
    fn paced_segments_leave_at_twice_and_then_at_a_fifth_more_than_the_rate_of_the_window() {
        let mut c = cubic(10, Params { pacing: true, ..Params::default() });
        assert_eq!(c.pacing_rate(), None, "no round-trip time is known");
        c.on_ack(&AckEvent { cwnd_limited: false, ..ack(at_ms(0), 1) });
        assert_eq!(c.pacing_rate(), Some(Rate::from_bps(1_600_000)));
        lose(&mut c);
        assert_eq!(c.pacing_rate(), Some(Rate::from_bps(672_000)));
        c.params.pacing = false;
        assert_eq!(c.pacing_rate(), None);
    }

    /// RFC 9438 §4.2: elapsed time must not include periods that are limited by the application.
    #[test]
    fn time_in_which_the_window_is_not_the_limit_does_not_count() {
        let mut c = cubic(1000, Params { reno_friendly: RenoFriendly::Off, ..Params::default() });
        lose(&mut c);
        (0..20).for_each(|r| round(&mut c, at_ms(r * 100)));
        let before = segments(&c);
        let unlimited = |ms| AckEvent { cwnd_limited: false, ..ack(at_ms(ms), 1) };
        (20..600).for_each(|r| c.on_ack(&unlimited(r * 100)));
        round(&mut c, at_ms(60_000));
        assert!(segments(&c) - before < 30, "{before} to {}", segments(&c));
    }

    #[test]
    fn never_more_than_one_segment_for_two_acknowledged() {
        let mut c = cubic(1000, Params::default());
        lose(&mut c);
        round(&mut c, at_ms(0));
        let before = segments(&c);
        round(&mut c, at_ms(60_000));
        // One more may come from credit that was saved at a slower pace.
        assert!((before * 3 / 2 - 1..=before * 3 / 2 + 1).contains(&segments(&c)), "{before} to {}", segments(&c));
    }
}
