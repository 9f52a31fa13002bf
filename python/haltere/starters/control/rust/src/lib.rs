//! The congestion control `@name@`: Reno, to begin with (RFC 5681, RFC 3465). Change this file; `haltere.rs` is the interface.

mod haltere;

use haltere::{Ack, CachedSsthresh, Control, ControlAnswer, Loss, Restart, Rto, Spurious, Start, UNLIMITED};
use std::ffi::CStr;

/// Windows are in whole segments.
pub struct @Name@ {
    mss: i64,
    initial: i64,
    /// The part of the window that a loss leaves.
    beta: f64,
    cwnd: i64,
    ssthresh: i64,
    /// Segments acknowledged towards the next increase.
    credit: i64,
    /// Acknowledged bytes that do not make a segment yet.
    carry: i64,
    /// Window and threshold before the last reduction, while it may be taken back.
    prior: Option<(i64, i64)>,
}

impl Control for @Name@ {
    const ABOUT: &'static CStr = cr#"{
        "kind": "control",
        "summary": "One segment more each round trip, a part of the window after a loss.",
        "parameters": [
            { "name": "beta", "format": "number", "default": 0.5, "minimum": 0.1, "maximum": 0.9,
              "meaning": "The part of the window that a loss leaves." }
        ],
        "state": [{ "name": "credit", "unit": "segments" }]
    }"#;

    fn start(sender: &Start, parameters: &[f64]) -> @Name@ {
        let mss = sender.mss.max(1);
        let initial = (sender.initial_window / mss).max(1);
        let beta = parameters[0];
        @Name@ { mss, initial, beta, cwnd: initial, ssthresh: UNLIMITED, credit: 0, carry: 0, prior: None }
    }

    fn on_ack(&mut self, ev: &Ack) {
        if ev.in_recovery == 1 || ev.acked == 0 {
            return;
        }
        let bytes = self.carry + ev.delivered;
        self.carry = bytes % self.mss;
        if ev.cwnd_limited == 1 {
            self.grow(bytes / self.mss);
        }
    }

    fn on_loss(&mut self, ev: &Loss) {
        // An echo of congestion is never spurious: there is nothing to take back.
        self.prior = (ev.ecn == 0).then(|| (self.cwnd, self.protected()));
        self.ssthresh = self.reduced();
        self.cwnd = self.ssthresh;
        self.credit = 0;
    }

    fn on_rto(&mut self, ev: &Rto) {
        if ev.first == 1 {
            self.prior = Some((self.cwnd, self.protected()));
            self.ssthresh = self.reduced();
        }
        self.credit = 0;
        self.cwnd = ev.still_in_flight / self.mss + 1;
    }

    fn on_spurious(&mut self, _: &Spurious) {
        if let Some((cwnd, ssthresh)) = self.prior.take() {
            self.cwnd = self.cwnd.max(cwnd);
            self.ssthresh = self.ssthresh.max(ssthresh);
        }
    }

    fn on_restart(&mut self, ev: &Restart) {
        if ev.rto == 0 || ev.idle <= ev.rto {
            return;
        }
        self.ssthresh = self.protected();
        let floor = self.initial.min(self.cwnd);
        let halvings = ((ev.idle - 1) / ev.rto).min(62);
        self.cwnd = (self.cwnd >> halvings).max(floor);
    }

    fn on_cached_ssthresh(&mut self, ev: &CachedSsthresh) {
        self.ssthresh = (ev.ssthresh / self.mss).max(2);
    }

    fn answer(&self) -> ControlAnswer {
        let ssthresh = self.ssthresh.saturating_mul(self.mss);
        ControlAnswer { cwnd: self.cwnd * self.mss, ssthresh, pacing_rate: -1 }
    }

    fn state(&self, values: &mut [f64]) {
        values[0] = self.credit as f64;
    }
}

impl @Name@ {
    /// Slow start up to the threshold, then one segment for each window acknowledged.
    fn grow(&mut self, acked: i64) {
        let fast = if self.cwnd < self.ssthresh { acked.min(self.ssthresh - self.cwnd) } else { 0 };
        self.cwnd += fast;
        if fast == acked {
            return;
        }
        let per_segment = self.cwnd;
        if self.credit >= per_segment {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked - fast;
        self.cwnd += self.credit / per_segment;
        self.credit %= per_segment;
    }

    /// The threshold after a loss: at least two segments.
    fn reduced(&self) -> i64 {
        ((self.cwnd as f64 * self.beta) as i64).max(2)
    }

    /// What a pause or a mistaken reduction leaves: at least three quarters of the window (RFC 2861).
    fn protected(&self) -> i64 {
        self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4)
    }
}

haltere::export_control!(@Name@);

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> @Name@ {
        @Name@::start(&Start { mss: 1000, initial_window: 10_000, ..Start::default() }, &[0.5])
    }
    fn ack(segments: i64) -> Ack {
        Ack { acked: segments * 1000, delivered: segments * 1000, cwnd_limited: 1, ..Ack::default() }
    }

    #[test]
    fn slow_start_doubles_with_each_window() {
        let mut control = sender();
        (0..10).for_each(|_| control.on_ack(&ack(1)));
        assert_eq!(control.answer().cwnd, 20_000);
    }

    #[test]
    fn a_loss_leaves_half_and_then_each_window_adds_a_segment() {
        let mut control = sender();
        control.on_ack(&ack(10));
        control.on_loss(&Loss::default());
        assert_eq!((control.answer().cwnd, control.answer().ssthresh), (10_000, 10_000));
        (0..10).for_each(|_| control.on_ack(&ack(1)));
        assert_eq!(control.answer().cwnd, 11_000);
    }
}
