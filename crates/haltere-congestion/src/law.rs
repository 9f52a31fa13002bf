//! Controls that are a law for a window: its growth in congestion avoidance and its reduction after a loss.
//!
//! [`Windowed`] is the rest of such a control: slow start, the reduction, the timeout, the pause, and taking a
//! reduction back. A control of this kind is a [`WindowLaw`] and `pub type Name = Windowed<Law>`.

use crate::reno::halved;
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

/// How a window grows and shrinks. Windows are in segments. What a law does not state is Reno's.
pub trait WindowLaw: Sized {
    /// The parameters of the control.
    type Params;
    /// The law of these parameters for that sender, at its initial window.
    fn new(params: &Self::Params, sender: &SenderContext) -> Result<Self, ParamError>;
    /// Called for every acknowledgement, in recovery too, before the window grows.
    fn observe(&mut self, _ev: &AckEvent, _window: &mut Window) {}
    /// Slow start: `acked` segments were acknowledged. Returns what is left of them for congestion avoidance.
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        window.slow_start(acked)
    }
    /// Congestion avoidance: `acked` segments were acknowledged, and the window was the limit.
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        window.additive_increase(window.cwnd, acked);
    }
    /// The window that is left after a loss; it is at least two segments.
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        halved(window)
    }
    /// The recovery episode is over.
    fn recovered(&mut self, _window: &mut Window, _now: Time) {}
    /// The window that a timeout leaves as the threshold.
    fn left_by_timeout(&mut self, window: &Window, now: Time) -> u64 {
        self.reduced(window, now)
    }
    /// The retransmission timer fired.
    fn timed_out(&mut self) {}
    /// The law asks for a reduction of its own, once. [`reduced`](WindowLaw::reduced) follows.
    fn wants_reduction(&self) -> bool {
        false
    }
    /// Something is sent while nothing is in flight.
    fn flight_started(&mut self) {}
    /// The connection is established; the handshake measured this round-trip time.
    fn established(&mut self, _window: &mut Window, _now: Time, _rtt: Dur) {}
    /// Shows the inner variables, for time series.
    fn probe(&self, _row: &mut Probe) {}
}

/// A count of acknowledged segments towards the next increase. Unlike [`Window::additive_increase`] it begins at zero
/// after an increase: segments beyond the increase do not count, as in Linux's Illinois and H-TCP.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count(u64);

impl Count {
    /// Counts `acked` segments more. The segments that the count then gives at `alpha` a window, if any.
    pub(crate) fn add_then_ask(&mut self, acked: u64, alpha: f64, cwnd: u64) -> Option<u64> {
        self.0 += acked;
        let segments = (self.0 as f64 * alpha) as u64 / cwnd.max(1);
        if segments == 0 {
            return None;
        }
        self.0 = 0;
        Some(segments)
    }
    /// True if the count gives a segment at `alpha` a window; if not, it counts `acked` segments more. So the window
    /// grows one acknowledgement after the count is complete.
    pub(crate) fn ask_then_add(&mut self, acked: u64, alpha: f64, cwnd: u64) -> bool {
        let pays = (self.0 as f64 * alpha) as u64 >= cwnd;
        self.0 = if pays { 0 } else { self.0 + acked };
        pays
    }
    /// A reduction: the count begins at zero.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }
}

/// Tells whether an acknowledgement finds Linux's state `Open`: no recovery or reduction before it, and nothing above
/// `snd_una` SACKed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Openness {
    /// Bytes that are SACKed and not yet acknowledged.
    sacked: u64,
    repairing: bool,
}

impl Openness {
    /// Takes an acknowledgement in. True if the state was `Open` when it arrived, whatever it begins.
    pub(crate) fn take(&mut self, ev: &AckEvent) -> bool {
        let open = self.is_open() && !ev.in_rto_recovery;
        self.sacked = (self.sacked + ev.delivered.as_u64()).saturating_sub(ev.acked.as_u64());
        self.repairing = ev.in_recovery || ev.in_rto_recovery;
        open
    }
    /// True if the last acknowledgement left the state `Open`.
    pub(crate) fn is_open(&self) -> bool {
        self.sacked == 0 && !self.repairing
    }
}

/// Times in whole ticks of a kernel's clock (`CONFIG_HZ`; 4 ms at 250 Hz).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ticks(pub Dur);

impl Ticks {
    /// The ticks since the start at that time.
    pub(crate) fn at(self, now: Time) -> u64 {
        now.as_ns() / self.0.as_ns()
    }
    /// A span in ticks, rounded up, as Linux turns a round-trip time into ticks.
    pub(crate) fn of(self, span: Dur) -> u64 {
        span.as_ns().div_ceil(self.0.as_ns())
    }
    /// A span in ticks, rounded down.
    pub(crate) fn floor(self, span: Dur) -> u64 {
        span.as_ns() / self.0.as_ns()
    }
    /// That number of ticks in seconds.
    pub(crate) fn seconds(self, ticks: u64) -> f64 {
        (self.0 * ticks).as_secs_f64()
    }
}

/// The tick of Linux at 250 Hz, which most distributions choose.
pub(crate) const LINUX_TICK: Dur = Dur::from_ms(4);

/// A pace: the segments to acknowledge for one more. Linux keeps it while the window stays, for 1/32 s at most.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    pub segments: u64,
    cwnd: u64,
    at: Time,
}

impl Pace {
    /// True if it is to be computed again. It then stands for that window and time.
    pub(crate) fn expires(&mut self, cwnd: u64, now: Time, clock: Ticks) -> bool {
        let lasts = clock.floor(Dur::from_secs(1)) / 32;
        let expired = self.cwnd != cwnd || clock.at(now) - clock.at(self.at) > lasts;
        if expired {
            (self.cwnd, self.at) = (cwnd, now);
        }
        expired
    }
}

/// A control that is a law for its window.
#[derive(Debug, Clone)]
pub struct Windowed<L> {
    pub(crate) window: Window,
    pub(crate) law: L,
}

impl<L: WindowLaw> Windowed<L> {
    /// A sender at its initial window.
    pub fn new(params: &L::Params, sender: &SenderContext) -> Result<Self, ParamError> {
        Ok(Windowed { law: L::new(params, sender)?, window: Window::new(sender) })
    }
}

impl<L: WindowLaw> CongestionControl for Windowed<L> {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.law.observe(ev, &mut self.window);
        if self.law.wants_reduction() {
            return;
        }
        let acked = self.window.take_acked(ev);
        if !ev.cwnd_limited || acked == 0 {
            return;
        }
        let rest = if self.window.in_slow_start() { self.law.slow_start(&mut self.window, acked) } else { acked };
        if rest > 0 && !self.window.in_slow_start() {
            self.law.avoid(ev, &mut self.window, rest);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        let left = self.law.reduced(&self.window, ev.now);
        self.window.reduce(left, ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        let left = if ev.first { self.law.left_by_timeout(&self.window, ev.now) } else { self.window.ssthresh };
        self.window.timeout(left, ev);
        self.law.timed_out();
    }
    fn on_recovered(&mut self, now: Time) {
        self.law.recovered(&mut self.window, now);
    }
    fn wants_reduction(&self) -> bool {
        self.law.wants_reduction()
    }
    fn on_established(&mut self, now: Time, rtt: Dur) {
        self.law.established(&mut self.window, now, rtt);
    }
    fn on_flight_start(&mut self, _now: Time) {
        self.law.flight_started();
    }
    of_window!(undo, restart, cache, sizes);
    fn probe(&self, row: &mut Probe) {
        self.law.probe(row);
    }
}

/// What the tests of laws share: a control with a window of so many segments, and acknowledgements.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::SenderContext;

    pub const MSS: u64 = 1000;

    pub fn sender(segments: u64) -> SenderContext {
        let mss = Bytes::new(MSS);
        SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() }
    }
    /// So many segments acknowledged at that time, with this RTT; the least RTT so far is `base`.
    pub fn ack(now_ms: u64, segments: u64, rtt_ms: u64, base_ms: u64) -> AckEvent {
        let bytes = Bytes::new(segments * MSS);
        let rtt = Dur::from_ms(rtt_ms);
        AckEvent {
            acked: bytes,
            delivered: bytes,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: Dur::from_ms(base_ms),
            cwnd_limited: true,
            ..AckEvent::at(at(now_ms))
        }
    }
    pub fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }
    pub fn loss(now_ms: u64) -> LossEvent {
        LossEvent::at(at(now_ms), crate::LossKind::Loss)
    }
    impl<L: WindowLaw> Windowed<L> {
        /// Ends slow start, in a window of so many segments.
        pub fn avoiding(mut self, segments: u64) -> Self {
            (self.window.cwnd, self.window.ssthresh) = (segments, segments);
            self
        }
        /// One window acknowledged segment by segment; by how many segments it grew.
        pub fn round(&mut self, now_ms: u64, rtt_ms: u64, base_ms: u64) -> u64 {
            let before = self.window.cwnd;
            for _ in 0..before {
                self.on_ack(&ack(now_ms, 1, rtt_ms, base_ms));
            }
            self.window.cwnd - before
        }
    }
}
