//! Rapid Start: three times a round trip while there is no queue, and a recovery that finds what the path holds.
//! Source: draft-kazuho-ccwg-rapid-start-02 (names as there).
//! Model:
//!
//! ```text
//!   first flight: twice the initial window, paced over one RTT
//!   growth:       cwnd += 2 acked  if rtt_floor <= min(min_rtt + 4 ms, 1.1 min_rtt),  else cwnd += acked
//!   recovery:     cwnd  = silence_factor cwnd                           at its start
//!                 cwnd -= ack_factor acked + loss_factor lost           for each acknowledgement
//!                 cwnd >= pre_recovery_cwnd beta / 3
//!   ack_factor = 2/3 (1 - beta),  silence_factor = loss_factor = beta + ack_factor
//! ```
//!
//! If losses are those of a full queue, cwnd is beta times what the path holds when the recovery ends. beta is the
//! control's, found by a loss that a copy of it is notified of. The control itself learns of the loss at the end, with what
//! the path holds as its window, so that CUBIC's W_max is that.
//! Deviations: rtt_floor is the least RTT of the current round, one of the two ways that the draft names. Segments are
//! paced in the first flight only, as the rest of the sender paces nothing. In TCP a recovery lasts until what was sent
//! again has arrived: only as many bytes count as were in flight at its start, and the rest of the recovery keeps the
//! window. The option to stop at beta times the initial window is not taken.
//! Units: bytes, ns. Cost: O(1) an acknowledgement; one copy of the control. Known problems: a loss that no queue
//! caused ends the start with up to a third of the window, times beta. The recovery takes the window for what is in
//! flight. If a buffer limits the sender, as Linux's auto-tuned ones do at three times a round trip, the window that it
//! leaves is too large, and a second recovery follows.

use crate::window::Window;
use crate::{AckEvent, Bytes, LossEvent};
use haltere_units::{Dur, Rate};

/// The queue's delay up to which the window grows three times: the smaller of these over the least RTT.
const THRESH: Dur = Dur::from_ms(4);
const THRESH_DIVISOR: u64 = 10;
/// K of section 3.3.1: with it the pause drains no more than (1 - beta) of what the path holds.
const K: f64 = 2.0 / 3.0;
/// The largest growth a round trip, so the largest share by which the window may be above what the path holds.
const GROWTH: f64 = 3.0;
/// The factors are fractions such as 2/3: a window that misses a whole segment by less than this has it.
const EXACTNESS: f64 = 1e-6;
/// The initial window is up to so many times that of slow start.
const INITIAL: u64 = 2;

/// Rapid Start of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Rapid {
    /// The rate of the first flight, until it is acknowledged.
    pub pace: Option<Rate>,
    rtt_floor: Option<Dur>,
    /// Bytes marked lost since the last acknowledgement outside of a recovery.
    lost: u64,
    /// Bytes that the acknowledgement delivered that begins a recovery.
    delivered: u64,
    pub recovery: Option<Converging>,
}

impl Rapid {
    /// The handshake measured this round-trip time.
    pub(super) fn on_established(&mut self, rtt: Dur, window: &mut Window) {
        window.set_cwnd(window.cwnd * INITIAL);
        self.pace = (!rtt.is_zero()).then(|| Rate::of(window.cwnd_bytes(), rtt));
    }

    /// The control let the window grow from `before` segments.
    pub(super) fn on_ack(&mut self, ev: &AckEvent, before: u64, window: &mut Window) {
        self.pace = None;
        if let Some(recovery) = &mut self.recovery {
            recovery.on_ack(ev.delivered.as_u64(), core::mem::take(&mut self.lost));
            recovery.set(window);
            return;
        }
        self.delivered = if ev.in_recovery { ev.delivered.as_u64() } else { 0 };
        if !ev.in_recovery {
            self.lost = 0;
        }
        if ev.round_start {
            self.rtt_floor = None;
        }
        if let Some(rtt) = ev.rtt {
            self.rtt_floor = Some(self.rtt_floor.map_or(rtt, |floor| floor.min(rtt)));
        }
        let grown = window.cwnd.saturating_sub(before);
        if grown > 0 && window.in_slow_start() && !self.builds_queue(ev.min_rtt) {
            window.set_cwnd(window.cwnd + grown);
        }
    }

    fn builds_queue(&self, min_rtt: Dur) -> bool {
        let thresh = min_rtt + THRESH.min(min_rtt / THRESH_DIVISOR);
        self.rtt_floor.is_some_and(|floor| floor > thresh)
    }

    pub(super) fn on_segment_lost(&mut self, bytes: Bytes) {
        self.lost += bytes.as_u64();
    }

    /// The first recovery begins, for a control that would leave `beta` of the window.
    pub(super) fn begin(&mut self, ev: &LossEvent, beta: f64, window: &mut Window) {
        let (delivered, lost) = (core::mem::take(&mut self.delivered), core::mem::take(&mut self.lost));
        let mut recovery = Converging::new(*ev, beta, window);
        recovery.left = ev.in_flight.as_u64() + delivered + lost;
        recovery.on_ack(delivered, lost);
        recovery.set(window);
        (self.recovery, self.pace) = (Some(recovery), None);
    }
}

/// The first recovery: the window converges.
#[derive(Debug, Clone)]
pub(super) struct Converging {
    /// What the control is notified of at the end.
    pub event: LossEvent,
    /// The window before, in segments.
    pub before: u64,
    beta: f64,
    mss: f64,
    cwnd: f64,
    least: f64,
    /// Bytes that were in flight at the start and do not count yet.
    left: u64,
}

impl Converging {
    fn new(event: LossEvent, beta: f64, window: &Window) -> Converging {
        let before = window.cwnd_bytes().as_f64();
        let mss = window.bytes(1).as_f64();
        let cwnd = before * (beta + K * (1.0 - beta));
        Converging { event, before: window.cwnd, beta, mss, cwnd, least: before * beta / GROWTH, left: 0 }
    }

    fn on_ack(&mut self, delivered: u64, lost: u64) {
        let lost = lost.min(self.left);
        let delivered = delivered.min(self.left - lost);
        self.left -= lost + delivered;
        let ack_factor = K * (1.0 - self.beta);
        let less = ack_factor * delivered as f64 + (self.beta + ack_factor) * lost as f64;
        self.cwnd = (self.cwnd - less).max(self.least).max(2.0 * self.mss);
    }

    fn set(&self, window: &mut Window) {
        window.set_cwnd((self.cwnd / self.mss + EXACTNESS) as u64);
    }

    /// All that was in flight at the start is acknowledged or lost.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// What the path holds, in segments, by what arrived.
    pub(super) fn held(&self) -> u64 {
        libm::round(self.cwnd / self.beta / self.mss) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossKind, SenderContext};
    use haltere_units::Time;

    const MSS: u64 = 1000;

    fn window(segments: u64) -> Window {
        let mss = Bytes::new(MSS);
        Window::new(&SenderContext { mss, initial_window: mss * segments, ..Default::default() })
    }
    fn ack(segments: u64, rtt_ms: u64, round_start: bool) -> AckEvent {
        let bytes = Bytes::new(segments * MSS);
        let (rtt, min_rtt) = (Some(Dur::from_ms(rtt_ms)), Dur::from_ms(30));
        AckEvent { acked: bytes, delivered: bytes, rtt, min_rtt, round_start, ..AckEvent::at(Time::ZERO) }
    }
    /// The control grew by as much as was acknowledged.
    fn grow(rapid: &mut Rapid, window: &mut Window, ev: &AckEvent) -> u64 {
        let before = window.cwnd;
        window.slow_start(ev.acked.as_u64() / MSS);
        rapid.on_ack(ev, before, window);
        window.cwnd - before
    }

    /// Section 3.2 with min_rtt 30 ms: min(34, 33) ms is the bound, so 33 ms is no queue and 34 ms is.
    #[test]
    fn the_window_triples_until_the_least_rtt_of_a_round_is_a_tenth_over_the_least() {
        let (mut rapid, mut window) = (Rapid::default(), window(10));
        assert_eq!(grow(&mut rapid, &mut window, &ack(10, 33, true)), 20);
        assert_eq!(grow(&mut rapid, &mut window, &ack(10, 34, true)), 10);
        assert_eq!(grow(&mut rapid, &mut window, &ack(10, 31, false)), 20, "one sample below shows that it was none");
        assert_eq!(grow(&mut rapid, &mut window, &ack(10, 50, false)), 20, "the least of the round counts");
    }

    #[test]
    fn twice_the_initial_window_is_paced_over_the_round_trip_until_it_is_acknowledged() {
        let (mut rapid, mut window) = (Rapid::default(), window(10));
        rapid.on_established(Dur::from_ms(100), &mut window);
        assert_eq!((window.cwnd, rapid.pace), (20, Some(Rate::from_bps(1_600_000))), "20 kB in 100 ms");
        grow(&mut rapid, &mut window, &ack(1, 100, true));
        assert_eq!(rapid.pace, None);
    }

    /// Begins a recovery of a window of 300 segments, all in flight. Of the first acknowledgement nothing is known.
    fn recovery(beta: f64, kind: LossKind) -> (Rapid, Window) {
        let (mut rapid, mut window) = (Rapid::default(), window(300));
        let in_flight = Bytes::new(300 * MSS);
        rapid.begin(&LossEvent { in_flight, ..LossEvent::at(Time::ZERO, kind) }, beta, &mut window);
        (rapid, window)
    }
    fn recover(rapid: &mut Rapid, window: &mut Window, acked: u64, lost: u64) {
        rapid.on_segment_lost(Bytes::new(lost * MSS));
        rapid.on_ack(&AckEvent { in_recovery: true, ..ack(acked, 30, false) }, window.cwnd, window);
    }

    /// Section 3.3.1: factors 9/10, 1/5 and 9/10 for 0.7; 5/6, 1/3 and 5/6 for 1/2. A window of 300 that loses 100
    /// leaves 270 - 40 - 90 = 140 = 0.7 * 200, and 250 - 200/3 - 250/3 = 100 = 0.5 * 200.
    #[test]
    fn the_recovery_leaves_beta_times_what_arrived() {
        for (beta, entry, end) in [(0.7, 270, 140), (0.5, 250, 100)] {
            let (mut rapid, mut window) = recovery(beta, LossKind::Loss);
            assert_eq!(window.cwnd, entry);
            (0..100).for_each(|_| recover(&mut rapid, &mut window, 2, 1));
            assert!(window.cwnd.abs_diff(end) <= 1, "{} for {end}", window.cwnd);
            assert_eq!(rapid.recovery.as_ref().unwrap().held(), 200);
            recover(&mut rapid, &mut window, 50, 10);
            assert_eq!(rapid.recovery.unwrap().held(), 200, "what was sent since the start does not count");
        }
    }

    /// Appendix A: of three times what the path holds two thirds are lost; sending goes on at x = 1 - beta.
    #[test]
    fn with_two_thirds_lost_sending_pauses_until_the_queue_has_lost_what_avoidance_would_take() {
        let (mut rapid, mut window) = recovery(0.7, LossKind::Loss);
        let resumed = (1..=100).find(|acked| {
            recover(&mut rapid, &mut window, 1, 2);
            window.cwnd >= 300 - 3 * acked
        });
        assert_eq!(resumed, Some(30), "of 100 that the path holds");
    }

    /// Section 3.3.2: with marks and no losses beta of the window is left.
    #[test]
    fn marks_alone_leave_beta_of_the_window() {
        let (mut rapid, mut window) = recovery(0.5, LossKind::Ecn);
        (0..300).for_each(|_| recover(&mut rapid, &mut window, 1, 0));
        assert!(window.cwnd.abs_diff(150) <= 1, "{}", window.cwnd);
    }

    #[test]
    fn never_below_a_third_of_beta_of_the_window_nor_below_two_segments() {
        let (mut rapid, mut window) = recovery(0.7, LossKind::Loss);
        recover(&mut rapid, &mut window, 0, 300);
        assert_eq!(window.cwnd, 70);
        let (mut rapid, mut small) = (Rapid::default(), self::window(3));
        rapid.begin(
            &LossEvent { in_flight: Bytes::new(MSS), ..LossEvent::at(Time::ZERO, LossKind::Loss) },
            0.5,
            &mut small,
        );
        assert_eq!(small.cwnd, 2);
    }
}
