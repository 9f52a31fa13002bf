//! The congestion control `@name@`: Reno, to begin with (RFC 5681, RFC 3465). Change this file.

use haltere_congestion::outside::OutsideControl;
use haltere_congestion::window::Window;
use haltere_congestion::{AckEvent, CongestionControl, LossEvent, RestartEvent, RtoEvent, SenderContext};
use haltere_units::outside::{Format, Parameter, Params};
use haltere_units::{Bytes, ParamError, Time};

/// What it does, in a sentence.
pub const SUMMARY: &str = "One segment more each round trip, a part of the window after a loss.";

/// Its parameters. The laboratory checks them before a run.
pub fn parameters() -> Vec<Parameter> {
    vec![Parameter::new("beta", Format::Number, 0.5, "The part of the window that a loss leaves.").range(0.1, 0.9)]
}

/// One for that sender.
pub fn make(params: &Params, sender: &SenderContext) -> Result<Box<dyn OutsideControl>, ParamError> {
    let beta = params.parameters.get("beta").and_then(|value| value.as_f64()).unwrap_or(0.5);
    Ok(Box::new(@Name@ { window: Window::new(sender), beta }))
}

/// The control.
#[derive(Debug, Clone)]
struct @Name@ {
    window: Window,
    beta: f64,
}

impl @Name@ {
    /// The threshold after a loss.
    fn reduced(&self) -> u64 {
        (self.window.cwnd as f64 * self.beta) as u64
    }
}

impl CongestionControl for @Name@ {
    fn on_ack(&mut self, ev: &AckEvent) {
        let acked = self.window.take_acked(ev);
        if !ev.cwnd_limited || acked == 0 {
            return;
        }
        let rest = if self.window.in_slow_start() { self.window.slow_start(acked) } else { acked };
        if rest > 0 {
            self.window.additive_increase(self.window.cwnd, rest);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.window.reduce(self.reduced(), ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.window.timeout(self.reduced(), ev);
    }
    fn on_spurious(&mut self, _now: Time) {
        self.window.undo();
    }
    fn on_restart(&mut self, ev: &RestartEvent) {
        self.window.restart(ev);
    }
    fn on_cached_ssthresh(&mut self, ssthresh: Bytes) {
        self.window.recall_ssthresh(ssthresh);
    }
    fn cwnd(&self) -> Bytes {
        self.window.cwnd_bytes()
    }
    fn ssthresh(&self) -> Bytes {
        self.window.ssthresh_bytes()
    }
}

impl OutsideControl for @Name@ {
    fn clone_box(&self) -> Box<dyn OutsideControl> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_congestion::LossKind;

    #[test]
    fn a_loss_leaves_half_of_the_window() {
        let sender = SenderContext { mss: Bytes::new(1000), initial_window: Bytes::new(10_000), seed: 0 };
        let mut control = make(&Params::default(), &sender).unwrap();
        control.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
        assert_eq!((control.cwnd(), control.ssthresh()), (Bytes::new(5000), Bytes::new(5000)));
    }
}
