//! The congestion window that Reno, CUBIC, Vegas and DCTCP share.
//!
//! The window is in whole segments, as in Linux. A window in bytes that grows by parts of a segment would send each
//! segment a little earlier than Linux does. Acknowledged data is counted in bytes (RFC 3465) and converted to whole
//! segments. The remainder is carried over, so no error accumulates.

use crate::{AckEvent, LossKind, RestartEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, Dur, Rate};

/// The rate of paced segments as a percentage of cwnd / srtt: in slow start, so that the window can double, and in
/// congestion avoidance (the defaults of Linux's `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const PACING_SLOW_START_PERCENT: u128 = 200;
const PACING_AVOIDANCE_PERCENT: u128 = 120;

/// The largest window in segments: Linux stores it in 32 bits, and larger ones are not useful.
const MAX_SEGMENTS: u64 = u32::MAX as u64;

/// Congestion window, slow-start threshold and the state that undoes a reduction.
#[derive(Debug, Clone)]
pub struct Window {
    mss: Bytes,
    initial: u64,
    /// The congestion window in segments, at least one.
    pub cwnd: u64,
    /// The slow-start threshold in segments; `u64::MAX` before the first reduction.
    pub ssthresh: u64,
    /// Segments acknowledged towards the next additive increase.
    credit: u64,
    /// Acknowledged bytes that do not make a segment yet.
    carry_bytes: u64,
    /// Window and threshold before the last reduction, while it may be undone.
    prior: Option<(u64, u64)>,
    /// Another rule than `hystart` ends slow start.
    judged_elsewhere: bool,
}

impl Default for Window {
    /// That of the [default sender](SenderContext::default).
    fn default() -> Window {
        Window::new(&SenderContext::default())
    }
}

impl Window {
    /// The initial window of that sender.
    pub fn new(sender: &SenderContext) -> Window {
        let mss = sender.mss.max(Bytes::new(1));
        let initial = (sender.initial_window.as_u64() / mss.as_u64()).clamp(1, MAX_SEGMENTS);
        Window {
            mss,
            initial,
            cwnd: initial,
            ssthresh: u64::MAX,
            credit: 0,
            carry_bytes: 0,
            prior: None,
            judged_elsewhere: false,
        }
    }
    /// From now on another rule than `hystart` ends slow start.
    pub(crate) fn judge_elsewhere(&mut self) {
        self.judged_elsewhere = true;
    }
    /// True if another rule than `hystart` ends slow start.
    pub(crate) fn is_judged_elsewhere(&self) -> bool {
        self.judged_elsewhere
    }
    /// True while the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
    /// That number of segments in bytes.
    pub fn bytes(&self, segments: u64) -> Bytes {
        self.mss * segments
    }
    /// The window in bytes.
    pub fn cwnd_bytes(&self) -> Bytes {
        self.bytes(self.cwnd)
    }
    /// The threshold in bytes; [`Bytes::MAX`] before the first reduction.
    pub fn ssthresh_bytes(&self) -> Bytes {
        if self.ssthresh == u64::MAX { Bytes::MAX } else { self.bytes(self.ssthresh) }
    }

    /// The rate at which Linux paces the segments of a control that sets none: twice cwnd / srtt while the window is
    /// below half of the threshold, 1.2 times that afterwards. `None` before the first round-trip time.
    pub fn pacing_rate(&self, srtt: Dur) -> Option<Rate> {
        if srtt.is_zero() {
            return None;
        }
        let doubles = self.cwnd < self.ssthresh / 2;
        let percent = if doubles { PACING_SLOW_START_PERCENT } else { PACING_AVOIDANCE_PERCENT };
        let bits = u128::from(self.cwnd_bytes().as_u64()) * 8 * percent * 1_000_000_000;
        let rate = bits / 100 / u128::from(srtt.as_ns());
        Some(Rate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX).max(1)))
    }

    /// The threshold of an earlier connection, at least two segments.
    pub fn recall_ssthresh(&mut self, ssthresh: Bytes) {
        self.ssthresh = (ssthresh.as_u64() / self.mss.as_u64()).max(2);
    }

    /// The whole segments by which this acknowledgement may let the window grow, before asking whether the window was
    /// the limit.
    ///
    /// As Linux: every segment newly delivered counts, on acknowledgements that advance cumulatively, outside of a
    /// reduction.
    pub fn take_acked(&mut self, ev: &AckEvent) -> u64 {
        if ev.in_recovery || ev.acked == Bytes::ZERO {
            return 0;
        }
        let bytes = self.carry_bytes + ev.delivered.as_u64();
        self.carry_bytes = bytes % self.mss.as_u64();
        bytes / self.mss.as_u64()
    }

    /// Segments of which these bytes consist; a shorter one counts as one.
    pub fn segments_in(&self, bytes: Bytes) -> u64 {
        bytes.as_u64().div_ceil(self.mss.as_u64())
    }

    /// RFC 5681 §3.1, slow start: one segment for each acknowledged, up to the threshold. Returns what is left for
    /// congestion avoidance.
    pub fn slow_start(&mut self, acked: u64) -> u64 {
        let room = self.ssthresh.min(MAX_SEGMENTS).saturating_sub(self.cwnd);
        let used = acked.min(room);
        self.cwnd += used;
        acked - used
    }

    /// RFC 5681 §3.1, congestion avoidance: one segment for every `per_segment` acknowledged.
    ///
    /// Credit from a time of larger `per_segment` gives one segment at most, as in Linux: the window must not leap when
    /// CUBIC changes its pace.
    pub fn additive_increase(&mut self, per_segment: u64, acked: u64) {
        let per_segment = per_segment.max(1);
        if self.credit >= per_segment {
            self.credit = 0;
            self.set_cwnd(self.cwnd + 1);
        }
        self.credit += acked;
        self.set_cwnd(self.cwnd + self.credit / per_segment);
        self.credit %= per_segment;
    }

    /// Counts `acked` segments towards `per_segment`, with the same credit. True for the acknowledgement that finds
    /// them complete: it does not count itself, and the count begins at zero.
    pub(crate) fn completes(&mut self, per_segment: u64, acked: u64) -> bool {
        let complete = self.credit >= per_segment;
        self.credit = if complete { 0 } else { self.credit + acked };
        complete
    }

    /// Adds to the window, of which `part` is the fraction of a segment, within these bounds.
    pub(crate) fn add_part(&mut self, part: &mut f64, segments: f64, least: u64, most: u64) {
        let wanted = (self.cwnd as f64 + *part + segments).clamp(least as f64, most as f64);
        *part = wanted - libm::floor(wanted);
        self.set_cwnd(libm::floor(wanted) as u64);
    }

    /// Sets the window to `segments`, at least one.
    pub fn set_cwnd(&mut self, segments: u64) {
        self.cwnd = segments.clamp(1, MAX_SEGMENTS);
    }

    /// Reduces to `ssthresh` segments, at least two (RFC 5681 §3.1 equation 4). The additive increase starts anew:
    /// acknowledgements before the reduction do not count after it.
    pub fn reduce(&mut self, ssthresh: u64, kind: LossKind) {
        // An echo of congestion is never spurious: there is nothing to take back.
        self.prior = (kind == LossKind::Loss).then(|| (self.cwnd, self.protected_ssthresh()));
        self.ssthresh = ssthresh.max(2);
        self.cwnd = self.ssthresh;
        self.credit = 0;
    }

    /// A retransmission timeout; `ssthresh` counts at the first of an episode only (RFC 5681 §3.1).
    ///
    /// The loss window is one segment above what still counts as in flight: usually nothing; with RACK, what was sent
    /// less than a round trip ago.
    pub fn timeout(&mut self, ssthresh: u64, ev: &RtoEvent) {
        if ev.first {
            self.prior = Some((self.cwnd, self.protected_ssthresh()));
            self.ssthresh = ssthresh.max(2);
        }
        self.credit = 0;
        self.set_cwnd(ev.still_in_flight.as_u64() / self.mss.as_u64() + 1);
    }

    /// Undoes the last reduction (RFC 4015).
    pub fn undo(&mut self) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    /// RFC 2861 / RFC 5681 §4.1: after an idle time the window is halved for every timeout that passed, down to the
    /// initial window; the threshold remembers three quarters of it.
    pub fn restart(&mut self, ev: &RestartEvent) {
        if ev.rto.is_zero() || ev.idle <= ev.rto {
            return;
        }
        self.ssthresh = self.protected_ssthresh();
        let floor = self.initial.min(self.cwnd);
        let halvings = (ev.idle.as_ns() - 1) / ev.rto.as_ns();
        self.cwnd = self.cwnd.checked_shr(halvings.min(63) as u32).unwrap_or(0).max(floor);
    }

    /// The threshold that a pause or a mistaken reduction should leave: at least three quarters of the window (RFC 2861
    /// §3.1).
    pub fn protected_ssthresh(&self) -> u64 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }
}

/// Methods of a [`CongestionControl`](crate::CongestionControl) with a field `window` that only pass the call to it.
macro_rules! of_window {
    ($($method:ident),*) => { $($crate::window::of_window!(@ $method);)* };
    (@ undo) => {
        fn on_spurious(&mut self, _now: haltere_units::Time) {
            self.window.undo();
        }
    };
    (@ restart) => {
        fn on_restart(&mut self, ev: &$crate::RestartEvent) {
            self.window.restart(ev);
        }
    };
    (@ cache) => {
        fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
            self.window.recall_ssthresh(ssthresh);
        }
    };
    (@ sizes) => {
        fn cwnd(&self) -> Bytes {
            self.window.cwnd_bytes()
        }
        fn ssthresh(&self) -> Bytes {
            self.window.ssthresh_bytes()
        }
        fn window(&mut self) -> Option<&mut $crate::window::Window> {
            Some(&mut self.window)
        }
    };
}
pub(crate) use of_window;

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::{Dur, Time};

    fn window(segments: u64) -> Window {
        let mss = Bytes::new(1000);
        Window::new(&SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() })
    }
    fn acked(bytes: u64) -> AckEvent {
        AckEvent { acked: Bytes::new(bytes), delivered: Bytes::new(bytes), ..AckEvent::at(Time::ZERO) }
    }

    #[test]
    fn parts_of_segments_add_up() {
        let mut w = window(10);
        assert_eq!((0..5).map(|_| w.take_acked(&acked(500))).collect::<alloc::vec::Vec<_>>(), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn one_segment_for_each_window_acknowledged_exactly() {
        let mut w = window(10);
        for _ in 0..10 + 11 + 12 {
            let per_segment = w.cwnd;
            w.additive_increase(per_segment, 1);
        }
        assert_eq!((w.cwnd, w.credit), (13, 0));
    }

    #[test]
    fn a_reduction_starts_the_count_towards_the_next_increase_anew() {
        let mut w = window(10);
        w.additive_increase(10, 9);
        w.reduce(8, LossKind::Ecn);
        w.additive_increase(8, 7);
        assert_eq!(w.cwnd, 8);
        w.additive_increase(8, 1);
        assert_eq!(w.cwnd, 9);
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut w = window(10);
        w.ssthresh = 12;
        assert_eq!(w.slow_start(5), 3);
        assert_eq!(w.cwnd, 12);
    }

    #[test]
    fn idle_time_halves_the_window_once_for_every_timeout() {
        let mut w = window(10);
        w.cwnd = 100;
        let (idle, rto) = (Dur::from_ms(500), Dur::from_ms(200));
        w.restart(&RestartEvent { idle, rto, ..RestartEvent::at(Time::ZERO) });
        assert_eq!((w.cwnd, w.ssthresh), (25, u64::MAX), "500 ms hold two timeouts of 200 ms");
        w.restart(&RestartEvent { idle: rto, rto, ..RestartEvent::at(Time::ZERO) });
        assert_eq!(w.cwnd, 25, "one timeout exactly is not idle yet");
        w.restart(&RestartEvent { idle: Dur::from_secs(9), rto, ..RestartEvent::at(Time::ZERO) });
        assert_eq!(w.cwnd, 10);
    }

    #[test]
    fn a_spurious_reduction_is_taken_back_and_an_echo_is_not() {
        let mut w = window(40);
        w.reduce(20, LossKind::Loss);
        w.undo();
        assert_eq!((w.cwnd, w.ssthresh), (40, u64::MAX));
        w.reduce(20, LossKind::Ecn);
        w.undo();
        assert_eq!((w.cwnd, w.ssthresh), (20, 20));
    }
}
