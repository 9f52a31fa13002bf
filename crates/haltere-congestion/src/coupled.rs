//! What the coupled controls LIA, OLIA and BALIA have in common: Reno but for the growth, which depends on the siblings.
//!
//! A coupled control is a [`Rule`] under [`Coupled`]: what it learns of its siblings, what a segment acknowledged then earns, and
//! where it differs from Reno in what a loss costs.

use crate::coupling::{CouplingView, Credit};
use crate::slow_start::{Hystart, SlowStart};
use crate::window::Window;
use crate::{AckEvent, CongestionControl, LossEvent, RestartEvent, RtoEvent, SenderContext, reno};
use haltere_units::{Bytes, ParamError, Probe, Time};

/// What tells one coupled control from another. The defaults are Reno's.
pub trait Rule: Default {
    /// Its parameters.
    type Params;
    /// How the first slow start ends.
    fn hystart(params: &Self::Params) -> Hystart;
    /// What the siblings are now; `mss` in bytes.
    fn learn(&mut self, view: &CouplingView<'_>, mss: f64);
    /// Segments that the window grows by for each segment acknowledged above the threshold; `alone` is Reno's growth.
    fn growth(&self, alone: f64) -> f64;
    /// The window after a loss, of one of `cwnd` segments.
    fn reduced(&self, cwnd: u64) -> u64 {
        cwnd / 2
    }
    /// Bytes were delivered.
    fn on_delivered(&mut self, _bytes: Bytes) {}
    /// A loss, or a timeout.
    fn on_lost(&mut self) {}
    /// Bytes between the last two losses or since the last, where the siblings are to know.
    fn between_losses(&self) -> Bytes {
        Bytes::ZERO
    }
}

/// The control of one subflow under that rule.
#[derive(Debug, Clone)]
pub struct Coupled<R> {
    window: Window,
    slow_start: SlowStart,
    mss: f64,
    credit: Credit,
    rule: R,
}

impl<R: Rule> Coupled<R> {
    /// A sender at its initial window.
    pub fn new(params: &R::Params, sender: &SenderContext) -> Result<Coupled<R>, ParamError> {
        let mss = sender.mss.as_u64().max(1) as f64;
        let (window, slow_start) = (Window::new(sender), SlowStart::new(R::hystart(params)));
        Ok(Coupled { window, slow_start, mss, credit: Credit::default(), rule: R::default() })
    }
}

impl<R: Rule> CongestionControl for Coupled<R> {
    fn on_coupling(&mut self, view: &CouplingView<'_>) {
        self.rule.learn(view, self.mss);
    }
    fn is_coupled(&self) -> bool {
        true
    }
    fn bytes_between_losses(&self) -> Bytes {
        self.rule.between_losses()
    }
    fn on_ack(&mut self, ev: &AckEvent) {
        self.rule.on_delivered(ev.delivered);
        self.slow_start.on_ack(ev, ev.min_rtt, &mut self.window);
        let acked = self.window.take_acked(ev);
        if !ev.cwnd_limited || acked == 0 {
            return;
        }
        let rest = if self.window.in_slow_start() { self.slow_start.grow(&mut self.window, acked) } else { acked };
        let each = self.rule.growth(1.0 / self.window.cwnd as f64);
        self.credit.add(each * rest as f64, &mut self.window);
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.rule.on_lost();
        self.window.reduce(self.rule.reduced(self.window.cwnd), ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.rule.on_lost();
        self.window.timeout(reno::halved(&self.window), ev);
        self.slow_start.reset();
        self.credit.clear();
    }
    fn on_spurious(&mut self, _now: Time) {
        self.window.undo();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
    }
    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }
    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh_bytes()
    }
    fn probe(&self, row: &mut Probe) {
        self.slow_start.probe(row);
    }
}
