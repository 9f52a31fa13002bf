//! The common part of the coupled controls LIA, OLIA and BALIA: Reno, but the growth depends on the siblings.
//!
//! A coupled control is a [`Rule`] under [`Coupled`]: the values that it takes from its siblings, the growth of the
//! window for each acknowledged segment, and the window after a loss if that is not Reno's. All have the same
//! parameters, which [`coupled_params!`] makes.

use crate::coupling::{CouplingView, Credit};
use crate::slow_start::{Hystart, SlowStart};
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext, reno};
use haltere_units::{Bytes, ParamError, Probe};

/// The parameters of a coupled control, under the description of that control.
macro_rules! coupled_params {
    ($(#[$about:meta])+) => {
        haltere_units::params! {
            $(#[$about])+
            pub struct Params {
                /// How the first slow start ends before a loss. The source has no such rule.
                pub hystart: crate::Hystart = crate::Hystart::Off;
            }
        }
        impl crate::coupled::CoupledParams for Params {
            fn hystart(&self) -> crate::Hystart {
                self.hystart
            }
        }
    };
}
pub(crate) use coupled_params;

/// The parameters that [`Coupled`] reads of those that [`coupled_params!`] makes.
pub trait CoupledParams {
    /// How the first slow start ends.
    fn hystart(&self) -> Hystart;
}

/// What distinguishes one coupled control from another. The defaults are Reno's.
pub trait Rule: Default {
    /// The parameters of the control.
    type Params: CoupledParams;
    /// The siblings have this state now; `mss` in bytes.
    fn learn(&mut self, view: &CouplingView<'_>, mss: f64);
    /// Segments that the window grows by for each segment acknowledged above the threshold; `alone` is Reno's growth.
    fn growth(&self, alone: f64) -> f64;
    /// The window after a loss, of one of `cwnd` segments.
    fn reduced(&self, cwnd: u64) -> u64 {
        cwnd / 2
    }
    /// An acknowledgement delivered that number of bytes.
    fn on_delivered(&mut self, _bytes: Bytes) {}
    /// A loss, or a timeout.
    fn on_lost(&mut self) {}
    /// Bytes between the last two losses or since the last, if the siblings need to know.
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
        let (window, slow_start) = (Window::new(sender), SlowStart::new(params.hystart()));
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
    of_window!(undo, restart, sizes);
    fn probe(&self, row: &mut Probe) {
        self.slow_start.probe(row);
    }
}
