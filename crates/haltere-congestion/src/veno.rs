//! Veno: a loss with a short queue is taken for noise and costs a fifth.
//! Model: N = cwnd (RTT - baseRTT) / RTT, the flow's own packets in the queue, in halves. N < beta: cwnd += 1 a round
//! trip, and a loss leaves 4/5. N >= beta: cwnd += 1 every other round trip, and a loss leaves one half.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::reno::halved;
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Reno that distinguishes random losses from congestion by Vegas's estimate of the queue, for wireless paths.
    ///
    /// Source: Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC
    /// 21(2), 2003.
    ///
    /// Deviations: these are Linux's. N is computed from the least RTT since it was computed last, with every
    /// acknowledgement by which the window may grow; the paper does not say when. What is measured during a reduction
    /// does not count, so a loss is judged by the N before it. The acknowledgement that ends a reduction has no RTT, so
    /// the queue counts as long. Before the third sample, and after a timeout until it is repaired, it is Reno. With a
    /// long queue every other count of a window's segments makes an increase, the first one does, and the
    /// acknowledgement that finds a count complete is not counted. A flight that starts with nothing in flight measures
    /// the base RTT afresh.
    ///
    /// Known problems: in a queue that others keep full every loss looks like congestion.
    pub struct Params {
        /// Own packets in the queue from which a loss means congestion. The default is the paper's.
        pub beta: u32 = 3;
    }
}

/// With fewer samples nothing is known (Linux).
const MIN_SAMPLES: u32 = 3;

/// N is known in halves of a packet (Linux).
const PARTS: u64 = 2;

/// How Veno changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    /// beta and N, in halves of a packet.
    beta: u64,
    queued: u64,
    base: Option<Dur>,
    /// The least RTT since N was computed last.
    least: Option<Dur>,
    samples: u32,
    /// The sender is in a reduction, or this acknowledgement ended it.
    reduced: bool,
    /// With a long queue: the next complete count makes an increase.
    turn: bool,
}

/// Veno for one sender.
pub type Veno = Windowed<Law>;

impl Law {
    fn is_congested(&self) -> bool {
        self.queued >= self.beta
    }
    fn sample(&mut self, rtt: Dur) {
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.samples = self.samples.saturating_add(1);
    }
    /// N for this window. Without a round-trip time all of the window may be in the queue.
    fn estimate(&self, cwnd: u64) -> u64 {
        let cwnd = PARTS * cwnd;
        let (Some(base), Some(rtt)) = (self.base, self.least) else { return cwnd };
        let in_the_pipe = u128::from(cwnd) * u128::from(base.as_ns()) / u128::from(rtt.as_ns().max(1));
        cwnd - in_the_pipe as u64
    }
}

impl WindowLaw for Law {
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        Ok(Law { beta: PARTS * u64::from(params.beta), turn: true, ..Law::default() })
    }
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if let Some(rtt) = ev.rtt {
            self.sample(rtt);
        }
        if ev.in_recovery || ev.in_rto_recovery {
            return;
        }
        if core::mem::take(&mut self.reduced) {
            self.least = None;
        }
        if self.samples >= MIN_SAMPLES && ev.cwnd_limited && ev.acked > Bytes::ZERO {
            self.queued = self.estimate(window.cwnd);
            self.least = None;
        }
    }
    fn avoid(&mut self, ev: &AckEvent, window: &mut Window, acked: u64) {
        if self.samples < MIN_SAMPLES || ev.in_rto_recovery || !self.is_congested() {
            window.additive_increase(window.cwnd, acked);
        } else if window.completes(window.cwnd, acked) {
            window.set_cwnd(window.cwnd + u64::from(self.turn));
            self.turn = !self.turn;
        }
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        self.reduced = true;
        if self.is_congested() { halved(window) } else { window.cwnd * 4 / 5 }
    }
    fn flight_started(&mut self) {
        self.base = None;
    }
    fn probe(&self, row: &mut Probe) {
        row.push("queued", "segments", self.queued as f64 / PARTS as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};
    use alloc::vec::Vec;

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
        let grown: Vec<u64> = (1..5).map(|i| c.round(100 * i, 110, 100)).collect();
        assert_eq!(grown, [0, 1, 0, 1], "the first of two counts of 50 pays, with the 51st acknowledgement");
        c.window.cwnd = 50;
        c.on_loss(&loss(500));
        assert_eq!(c.window.cwnd, 25);
    }

    /// By hand: 2 x 50 x 100 / 106 = 94.3, so 94 of 100 halves are in the pipe and N is 6 halves, which is beta. At 105
    /// ms it is 95 and N 5.
    #[test]
    fn the_queue_is_known_in_halves_of_a_packet() {
        let congested = |rtt| {
            let mut c = veno();
            c.round(0, 100, 100);
            c.window.cwnd = 50;
            c.on_ack(&ack(100, 1, rtt, 100));
            (c.law.queued, c.law.is_congested())
        };
        assert_eq!((congested(106), congested(105)), ((6, true), (5, false)));
    }

    /// The queue was short when the loss was found; in the meantime it is long.
    #[test]
    fn a_loss_is_judged_by_the_queue_before_the_reduction() {
        let mut c = veno();
        c.round(0, 100, 100);
        c.window.cwnd = 50;
        c.on_ack(&AckEvent { in_recovery: true, ..ack(100, 1, 200, 100) });
        c.on_loss(&loss(100));
        assert_eq!(c.window.cwnd, 40);
    }

    #[test]
    fn the_acknowledgement_that_ends_a_reduction_takes_the_queue_for_long_and_the_next_one_measures_it() {
        let mut c = veno();
        c.round(0, 100, 100);
        c.on_loss(&loss(100));
        c.on_ack(&ack(200, 1, 100, 100));
        assert!(c.law.is_congested());
        c.on_ack(&ack(201, 1, 100, 100));
        assert!(!c.law.is_congested());
    }
}
