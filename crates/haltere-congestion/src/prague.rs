//! Prague: DCTCP for the Internet, the sender of L4S.
//! Model: with V the virtual round-trip time, once every V: M = marked bytes / delivered bytes, alpha = (1 - g) alpha +
//! g M. At a mark, at most once every V: cwnd = cwnd (1 - alpha / 2). Each unmarked segment acknowledged: cwnd += (R /
//! V)^2 / cwnd, with R the round-trip time. At a loss cwnd = cwnd / 2, counted from before a reduction by marks less
//! than V ago. V = max(R, rtt_min), once `rtt_delay` round trips have passed since slow start; before that V = R. In
//! the steady state, with more than one mark in each V: rate = 2 (1 - p) / (p V), for a share p of marks (the draft's
//! two marks every round trip). With `fallback` a reduction answers max(alpha, a classic), a = 1 or 5/8; see
//! `detector`.
//! Units: segments (with fractions) and bytes. Cost: O(1) an acknowledgement.

mod detector;
mod gradual;

use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, EcnUse, LossEvent, LossKind, RestartEvent, RtoEvent, SenderContext};
use alloc::boxed::Box;
use detector::Detector;
pub use detector::Fallback;
use gradual::Gradual;
use haltere_units::{Bytes, Dur, ParamError, Prob, Probe, Rate, Time};

haltere_units::params! {
    /// The sender of L4S: DCTCP's answer to marks, with pacing and with rates that depend less on the round-trip time.
    ///
    /// Source: draft-briscoe-iccrg-prague-congestion-control-04, section 2.4. RFC 9331 (the requirements of L4S on a
    /// sender). It needs a receiver that counts marks (RFC 9768), which is negotiated in any case; its data is ECT(1).
    ///
    /// `fallback`: Briscoe and Ahmed, "TCP Prague fall-back on detection of a classic ECN AQM", arXiv:1911.00710, the
    /// passive detection; the L4S team's Linux, TCP Prague 0.6.
    ///
    /// Deviations: alpha is a fraction, without the rounding of integers. A receiver that does not count marks makes it
    /// a Reno sender, with ECT(0). `fallback = "paper"` measures the round-trip time with a weight of 1/256 a sample,
    /// about a sawtooth of many Internet paths; the paper adapts the weight to the window, as `"linux"` does.
    ///
    /// Known problems: in a queue that neither marks ECT(1) early nor separates flows it takes more than CUBIC or Reno,
    /// unless `fallback` finds that out. `fallback` takes a slow link for such a queue.
    pub struct Params {
        /// g, above 0 and at most 1: the weight of the newest share of marks in alpha. The default is the draft's.
        pub g: Prob = Prob::of(0.0625), [above 0 and at most 1];
        /// The least virtual round-trip time: flows with shorter paths behave as if theirs took this long. The default
        /// is the draft's. `0ms`: none.
        pub rtt_min: Dur = Dur::from_ms(25);
        /// Round trips after slow start before the virtual round-trip time counts, so that short flows are not slowed.
        /// The default is the draft's.
        pub rtt_delay: u32 = 500;
        /// Send segments at the rate of the window, not as acknowledgements arrive. RFC 9331 requires it.
        pub pacing: bool = true;
        /// Whether to detect, by the variation and the size of the queueing delay, that marks come from a queue with
        /// RFC 3168's marks, and to answer them more strongly then. The draft leaves it to the implementation, whose
        /// default is off.
        pub fallback: Fallback = Fallback::Off;
        /// True: the window moves by at most one segment an acknowledgement, after a reduction, too, and grows by whole
        /// segments. A loss stops its growth until it is repaired. So did the L4S team's Linux of 2020. The default is
        /// the draft's reduction at once.
        pub gradual: bool = false;
        /// True: the window grows while pacing, and not the window, is what limits the sender, as in the L4S team's
        /// Linux of 2020. False: only a window that was the limit grows (RFC 7661).
        pub grow_while_paced: bool = false;
        /// The pacing rate out of slow start as a multiple of the window a round-trip time, from 1 to 2. The default is
        /// the draft's. Linux computes the rate from packets with headers and paces the payload: with 1448 of 1500
        /// bytes that is 1.036.
        pub pacing_gain: f64 = 1.0, [from 1 to 2];
    }
}

/// Prague for one sender.
#[derive(Debug, Clone, Default)]
pub struct Prague {
    params: Params,
    mss: Bytes,
    /// Slow start, the pause and the whole segments; `cwnd` is its window with fractions.
    window: Window,
    cwnd: f64,
    alpha: f64,
    /// The smoothed round-trip time.
    srtt: Dur,
    /// The first byte not acknowledged.
    una: u64,
    /// The share of marks is measured since then, over so many bytes.
    since: Time,
    delivered: u64,
    marked: u64,
    /// Round trips since slow start.
    rounds: u64,
    /// The last reduction by marks.
    reduced: Option<Reduced>,
    /// The receiver counts marks.
    accurate: bool,
    /// The window follows `cwnd` by single segments.
    gradual: Option<Gradual>,
    /// Looks for a queue with RFC 3168's marks.
    detector: Option<Box<Detector>>,
}

/// A reduction by marks.
#[derive(Debug, Clone, Copy)]
struct Reduced {
    at: Time,
    /// A round trip has passed when this byte is acknowledged.
    until: u64,
    /// The window before it.
    before: f64,
}

/// The rate in slow start as a multiple of cwnd / RTT, so that the window can double.
const SLOW_START_GAIN: f64 = 2.0;
/// The smallest window in segments.
const LEAST: f64 = 2.0;

impl Prague {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Prague, ParamError> {
        params.check()?;
        haltere_units::refuse!(params.rtt_min > Dur::from_secs(1), params.rtt_min, "at most 1s");
        let window = Window::new(sender);
        Ok(Prague {
            params: params.clone(),
            mss: sender.mss,
            cwnd: window.cwnd as f64,
            window,
            alpha: 1.0,
            gradual: params.gradual.then(Gradual::default),
            detector: Detector::of(params.fallback).map(Box::new),
            ..Prague::default()
        })
    }

    /// The virtual round-trip time V.
    fn virtual_rtt(&self) -> Dur {
        if self.rounds > u64::from(self.params.rtt_delay) { self.srtt.max(self.params.rtt_min) } else { self.srtt }
    }
    /// The last reduction by marks, if it was less than V ago.
    fn recent(&self, now: Time, una: u64) -> Option<&Reduced> {
        let v = self.virtual_rtt();
        self.reduced.as_ref().filter(|last| una <= last.until || v > self.srtt && now.since(last.at) < v)
    }
    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(LEAST);
        self.window.set_cwnd(self.cwnd as u64);
    }
    /// The window after a reduction that leaves so much: slow start is over.
    fn reduce(&mut self, cwnd: f64, kind: LossKind) {
        self.window.reduce(cwnd.max(LEAST) as u64, kind);
        self.cwnd = cwnd.max(LEAST);
    }

    /// The share of marks, once every V.
    fn measure(&mut self, ev: &AckEvent) {
        if !self.may_measure(ev) {
            return;
        }
        self.delivered += ev.delivered.as_u64();
        self.marked += ev.ce.as_u64();
        if ev.now.since(self.since) < self.virtual_rtt() || self.delivered == 0 {
            return;
        }
        if let Some(detector) = &mut self.detector {
            detector.on_measured(ev.min_rtt);
        }
        let share = self.marked as f64 / self.delivered as f64;
        self.alpha += self.params.g.as_f64() * (share.min(1.0) - self.alpha);
        (self.since, self.delivered, self.marked) = (ev.now, 0, 0);
    }

    /// The reduction by marks.
    fn answer_marks(&mut self) {
        let part = self.answered() / 2.0;
        if let Some(detector) = &mut self.detector {
            detector.on_reduction(self.window.ssthresh);
        }
        if self.gradual.is_some() {
            self.cwnd -= part * self.window.cwnd as f64; // the window follows
        } else {
            self.reduce(self.cwnd * (1.0 - part), LossKind::Ecn);
        }
    }

    /// The share of marks that a reduction answers: more than alpha once the marks are known for RFC 3168's.
    fn answered(&self) -> f64 {
        self.detector.as_ref().map_or(self.alpha, |detector| self.alpha.max(detector.answered()))
    }

    fn grow(&mut self, ev: &AckEvent) {
        if !ev.cwnd_limited && !self.params.grow_while_paced || ev.in_recovery && !self.accurate {
            return;
        }
        let unmarked = ev.delivered.as_u64().saturating_sub(ev.ce.as_u64()) as f64 / self.mss.as_u64() as f64;
        if self.window.in_slow_start() {
            self.set_cwnd(self.cwnd + unmarked);
            return;
        }
        self.set_cwnd(self.cwnd + self.increase(unmarked, self.cwnd));
    }
    /// The additive increase for so many segments acknowledged without a mark.
    fn increase(&self, unmarked: f64, cwnd: f64) -> f64 {
        let ratio = self.srtt.as_ns() as f64 / self.virtual_rtt().as_ns().max(1) as f64;
        ratio * ratio * unmarked / cwnd
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.accurate = ev.accurate;
        (self.srtt, self.una) = (ev.srtt, ev.snd_una);
        self.rounds += u64::from(ev.round_start && !self.window.in_slow_start());
        if let Some(detector) = &mut self.detector {
            detector.on_ack(ev);
        }
        if self.accurate {
            self.measure(ev);
            if ev.ce > Bytes::ZERO && !ev.in_rto_recovery && self.recent(ev.now, ev.snd_una).is_none() {
                self.reduced = Some(Reduced { at: ev.now, until: ev.snd_nxt, before: self.cwnd });
                self.answer_marks();
            }
        }
        match self.gradual {
            Some(_) if self.accurate => self.follow(ev),
            _ => self.grow(ev),
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        if ev.kind == LossKind::Ecn && self.accurate {
            return; // marks are answered as they are counted
        }
        if self.gradual.is_some() && self.accurate {
            return self.begin_repair();
        }
        // The reduction by marks in this round trip counts towards the half.
        let before = self.recent(ev.now, self.una).map_or(self.cwnd, |last| last.before);
        self.reduced = None;
        self.reduce((before / 2.0).min(self.cwnd), ev.kind);
    }
    fn on_recovered(&mut self, _now: Time) {
        self.end_repair();
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        if self.gradual.is_some() && self.accurate {
            return self.time_out(ev);
        }
        self.window.timeout((self.cwnd / 2.0) as u64, ev);
        self.cwnd = self.window.cwnd as f64;
        self.reduced = None;
    }
    fn on_spurious(&mut self, _now: Time) {
        self.take_back();
        self.window.undo();
        self.cwnd = self.cwnd.max(self.window.cwnd as f64);
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
        self.cwnd = self.cwnd.min(self.window.cwnd as f64);
    }
    of_window!(sizes);
    fn pacing_rate(&self) -> Option<Rate> {
        if !self.params.pacing || self.srtt.is_zero() {
            return None;
        }
        // In the last doubling the rate is that of the window, so that the queue does not see twice of what the path
        // takes.
        let rises = 2 * self.window.cwnd < self.window.ssthresh;
        let gain = if rises { SLOW_START_GAIN } else { self.params.pacing_gain };
        let cwnd = if self.gradual.is_some() { self.window.cwnd as f64 } else { self.cwnd };
        let bits = gain * cwnd * self.mss.as_u64() as f64 * 8e9 / self.srtt.as_ns() as f64;
        Some(Rate::from_bps(bits as u64))
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn ecn(&self) -> EcnUse {
        EcnUse::L4s
    }
    fn probe(&self, row: &mut Probe) {
        row.push("alpha", "", self.alpha);
        if let Some(detector) = &self.detector {
            row.push("classic", "", detector.classic());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{MSS, ack, at, loss, sender};

    /// A sender with a window of so many segments, out of slow start.
    fn prague(segments: u64, rtt_min_ms: u64) -> Prague {
        let params = Params { rtt_min: Dur::from_ms(rtt_min_ms), rtt_delay: 0, ..Params::default() };
        let mut c = Prague::new(&params, &sender(segments)).unwrap();
        c.window.ssthresh = segments;
        c
    }
    /// One segment acknowledged, marked or not; `seq` segments were before it.
    fn arrive(c: &mut Prague, now_ms: u64, seq: u64, marked: bool) {
        let mut ev = ack(now_ms, 1, 50, 50);
        (ev.accurate, ev.snd_una, ev.snd_nxt) = (true, seq * MSS, (seq + 10) * MSS);
        (ev.ece, ev.ce) = (marked, Bytes::new(if marked { MSS } else { 0 }));
        c.on_ack(&ev);
    }

    /// By hand, g = 1/16: alpha is 1 at first; a round with one mark in ten: 1 + (0.1 - 1) / 16 = 0.94375.
    #[test]
    fn alpha_moves_by_a_sixteenth_of_the_difference_each_round_trip() {
        let mut c = prague(100, 0);
        c.since = at(0);
        (1..=10).for_each(|n| arrive(&mut c, n * 5, n, n == 3));
        assert!((c.alpha - 0.94375).abs() < 1e-12, "{}", c.alpha);
    }

    #[test]
    fn the_first_mark_reduces_and_others_in_the_round_trip_do_not() {
        let mut c = prague(100, 0);
        c.alpha = 0.5;
        c.since = at(1);
        arrive(&mut c, 10, 1, true);
        assert_eq!(c.cwnd(), Bytes::new(75 * MSS), "100 (1 - 0.5 / 2)");
        arrive(&mut c, 20, 5, true);
        assert_eq!(c.cwnd(), Bytes::new(75 * MSS));
        arrive(&mut c, 40, 12, true);
        assert!(c.cwnd() < Bytes::new(75 * MSS), "what was sent before the reduction is acknowledged");
    }

    #[test]
    fn marks_of_a_classic_queue_are_answered_as_reno_does_if_it_looks_for_one() {
        let mut c = prague(100, 0);
        (c.alpha, c.since) = (0.1, at(1));
        c.detector = Some(Box::new(Detector::certain(Fallback::Paper)));
        arrive(&mut c, 10, 1, true);
        assert_eq!(c.cwnd(), Bytes::new(50 * MSS));
    }

    /// By hand: Linux answers as if 5/8 of the segments were marked: 5/16 of the window, 31 %.
    #[test]
    fn linux_s_answer_to_a_classic_queue_leaves_eleven_sixteenths() {
        let mut c = prague(160, 0);
        (c.alpha, c.since) = (0.1, at(1));
        c.detector = Some(Box::new(Detector::certain(Fallback::Linux)));
        arrive(&mut c, 10, 1, true);
        assert_eq!(c.cwnd(), Bytes::new(110 * MSS));
    }

    #[test]
    fn only_unmarked_segments_let_the_window_grow() {
        let mut c = prague(10, 0);
        c.reduced = Some(Reduced { at: at(0), until: u64::MAX, before: 10.0 });
        (1..=10).for_each(|n| arrive(&mut c, n, n, n % 2 == 0));
        assert!((c.cwnd - 10.5).abs() < 0.02, "{}: five of ten, a tenth each", c.cwnd);
    }

    /// V = 100 ms at R = 50 ms: a quarter of the growth a round trip, half of it in a V.
    #[test]
    fn a_short_path_grows_as_one_of_the_virtual_round_trip_time() {
        let mut c = prague(10, 100);
        c.rounds = 1;
        (1..=10).for_each(|n| arrive(&mut c, n, n, false));
        assert!((c.cwnd - 10.25).abs() < 0.01, "{}", c.cwnd);
    }

    #[test]
    fn a_loss_halves_what_was_there_before_the_marks() {
        let mut c = prague(100, 0);
        c.alpha = 0.5;
        c.since = at(1);
        arrive(&mut c, 10, 1, true);
        c.on_loss(&loss(20));
        assert_eq!(c.cwnd(), Bytes::new(50 * MSS), "half of 100, not of 75");
        c.on_loss(&loss(30));
        assert_eq!(c.cwnd(), Bytes::new(25 * MSS));
    }

    #[test]
    fn without_counted_marks_it_is_reno() {
        let mut c = prague(100, 0);
        c.on_ack(&ack(10, 1, 50, 50));
        c.on_loss(&LossEvent::at(at(10), LossKind::Ecn));
        assert_eq!(c.cwnd(), Bytes::new(50 * MSS));
    }

    #[test]
    fn slow_start_is_paced_at_twice_the_window_until_its_last_doubling() {
        let mut c = prague(10, 0);
        c.window.ssthresh = 40;
        c.on_ack(&AckEvent { delivered: Bytes::ZERO, ..ack(10, 0, 50, 50) });
        assert_eq!(c.pacing_rate(), Some(Rate::from_bps(2 * 10 * 8 * MSS * 20)));
        c.set_cwnd(20.0);
        assert_eq!(c.pacing_rate(), Some(Rate::from_bps(20 * 8 * MSS * 20)));
    }
}
