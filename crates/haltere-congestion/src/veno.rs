//! Veno: a loss with a short queue is taken for noise and costs a fifth.
//! Source, deviations and known problems: see [`Params`].
//! Model: N = cwnd (RTT - baseRTT) / RTT, the flow's own packets in the queue. N < beta: cwnd += 1 a round trip, and a loss leaves
//! 4/5. N >= beta: cwnd += 1 every other round trip, and a loss leaves one half.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::reno::halved;
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reno that tells random losses from congestion by Vegas's estimate of the queue, for wireless paths.
///
/// Source: Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC 21(2), 2003.
///
/// Deviations: N is computed from the newest sample, as in Linux; the paper does not say which. Before the third sample it is
/// Reno.
///
/// Known problems: in a queue that others keep full every loss looks like congestion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Own packets in the queue from which a loss means congestion. The default is the paper's.
    pub beta: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { beta: 3 }
    }
}

/// With fewer samples nothing is known (Linux).
const MIN_SAMPLES: u32 = 3;

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    beta: f64,
    base: Option<Dur>,
    samples: u32,
    /// The flow's own packets in the queue.
    queued: f64,
}

/// The control.
pub type Veno = Windowed<Law>;

impl Veno {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Veno, ParamError> {
        let law = Law { beta: f64::from(params.beta), base: None, samples: 0, queued: 0.0 };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    fn is_congested(&self) -> bool {
        self.queued >= self.beta
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        let Some(rtt) = ev.rtt else { return };
        let base = self.base.map_or(rtt, |base| base.min(rtt));
        self.base = Some(base);
        self.samples = self.samples.saturating_add(1);
        let share = 1.0 - base.as_secs_f64() / rtt.as_secs_f64().max(1e-9);
        self.queued = window.cwnd as f64 * share;
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        let slow = self.samples >= MIN_SAMPLES && self.is_congested();
        window.additive_increase(if slow { 2 * window.cwnd } else { window.cwnd }, acked);
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        if self.is_congested() { halved(window) } else { window.cwnd * 4 / 5 }
    }
    fn timed_out(&mut self) {
        (self.base, self.samples, self.queued) = (None, 0, 0.0);
    }
    fn probe(&self, row: &mut Probe) {
        row.push("queued", "segments", self.queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{loss, sender};

    fn veno() -> Veno {
        Veno::new(&Params::default(), &sender(10)).unwrap().avoiding(50)
    }

    #[test]
    fn without_a_queue_it_grows_as_reno_and_a_loss_takes_a_fifth() {
        let mut c = veno();
        assert_eq!(c.round(0, 100, 100), 1);
        c.window.cwnd = 50;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 40);
    }

    #[test]
    fn with_three_packets_in_the_queue_it_grows_half_as_fast_and_a_loss_takes_half() {
        let mut c = veno();
        c.round(0, 100, 100);
        c.window.cwnd = 50;
        // 50 (110 - 100) / 110 = 4.5 packets.
        let grown = c.round(100, 110, 100) + c.round(200, 110, 100);
        assert_eq!(grown, 1);
        c.window.cwnd = 50;
        c.on_loss(&loss(300));
        assert_eq!(c.window.cwnd, 25);
    }
}
