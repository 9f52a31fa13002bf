//! YeAH: Scalable while the queue is short, Reno while it is long.
//! Source, deviations and known problems: see [`Params`].
//! Model: once a round trip Q = cwnd (RTT_min of the round - base) / RTT_min. Fast mode grows as Scalable. Q > `queue` or a delay
//! over base / 8 begins slow mode, Reno, and takes the queue out of the window. A loss takes the queue, at least an eighth and
//! at most a half.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Dur, ParamError, Probe, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Two modes, by the flow's own queue: fast as Scalable, slow as Reno, with the queue taken out before it overflows.
///
/// Source: Baiocchi, Castellani and Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007.
///
/// Deviations: the constants are Linux's (`queue` 80, phi 8, gamma 1, epsilon 1, delta 3, zeta 50, rho 16). A loss counts as
/// one in competition with Reno after 16 rounds of slow mode in a row.
///
/// Known problems: a base RTT that was measured in a queue hides that queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Own packets in the queue from which slow mode takes them out. The default is Linux's.
    pub queue: u32,
    /// Segments to acknowledge for one more in fast mode, from 2. The default is Linux's (Scalable's).
    pub per_segment: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { queue: 80, per_segment: 100 }
    }
}

/// Slow mode begins over base / PHI.
const PHI: u64 = 8;
/// A loss in fast mode takes at least 1 / 2^DELTA.
const DELTA: u32 = 3;
/// Fast rounds after which Reno's window is forgotten.
const ZETA: u32 = 50;
/// Slow rounds in a row after which a loss is Reno's.
const RHO: u32 = 16;
/// With fewer samples a round tells nothing.
const MIN_SAMPLES: u32 = 3;

/// The law.
#[derive(Debug, Clone)]
pub struct Law {
    params: Params,
    base: Option<Dur>,
    round_rtt: Option<Dur>,
    samples: u32,
    round_end: u64,
    /// The flow's own packets in the queue in the last round.
    queued: u64,
    /// Rounds of slow mode in a row; zero: fast mode.
    slow_rounds: u32,
    fast_rounds: u32,
    /// The window that a Reno flow would have.
    reno: u64,
}

/// The control.
pub type Yeah = Windowed<Law>;

impl Yeah {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Yeah, ParamError> {
        if params.per_segment < 2 {
            return Err(ParamError::new("per_segment", "at least 2", params.per_segment)
                .default_is(Params::default().per_segment));
        }
        let law = Law {
            params: params.clone(),
            base: None,
            round_rtt: None,
            samples: 0,
            round_end: 0,
            queued: 0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno: 2,
        };
        Ok(Windowed { window: Window::new(sender), law })
    }
}

impl Law {
    fn end_round(&mut self, base: Dur, rtt: Dur, window: &mut Window) {
        let (base, rtt) = (base.as_ns(), rtt.as_ns().max(1));
        let limit = u64::from(self.params.queue);
        self.queued = (u128::from(window.cwnd) * u128::from(rtt - base) / u128::from(rtt)) as u64;
        if self.queued <= limit && rtt - base <= base / PHI {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                (self.reno, self.fast_rounds) = (2, 0);
            }
            self.slow_rounds = 0;
            return;
        }
        if self.queued > limit && window.cwnd > self.reno {
            let less = self.queued.min(window.cwnd / 2);
            window.set_cwnd((window.cwnd - less).max(self.reno));
            window.ssthresh = window.cwnd;
        }
        self.reno = if self.reno <= 2 { (window.cwnd / 2).max(2) } else { self.reno + 1 };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }
}

impl WindowLaw for Law {
    fn observe(&mut self, ev: &AckEvent, window: &mut Window) {
        if let Some(rtt) = ev.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if ev.snd_una <= self.round_end {
            return;
        }
        if let (Some(base), Some(rtt), MIN_SAMPLES..) = (self.base, self.round_rtt, self.samples)
            && !ev.in_recovery
            && !window.in_slow_start()
        {
            self.end_round(base, rtt, window);
        }
        (self.round_end, self.round_rtt, self.samples) = (ev.snd_nxt, None, 0);
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        let scalable = window.cwnd.min(u64::from(self.params.per_segment));
        window.additive_increase(if self.slow_rounds == 0 { scalable } else { window.cwnd }, acked);
    }
    fn reduced(&mut self, window: &Window, _now: Time) -> u64 {
        let half = (window.cwnd / 2).max(2);
        let less = if self.slow_rounds < RHO { self.queued.min(half).max(window.cwnd >> DELTA) } else { half };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2).max(2);
        window.cwnd.saturating_sub(less)
    }
    fn probe(&self, row: &mut Probe) {
        row.push("queued", "segments", self.queued as f64);
        row.push("slow_rounds", "", f64::from(self.slow_rounds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CongestionControl;
    use crate::law::testing::{ack, loss, sender};

    fn yeah() -> Yeah {
        Yeah::new(&Params::default(), &sender(10)).unwrap().avoiding(1000)
    }
    /// Ten acknowledgements of nothing, in a round of their own.
    fn round(c: &mut Yeah, i: u64, rtt_ms: u64) {
        for _ in 0..10 {
            c.on_ack(&AckEvent { cwnd_limited: false, snd_una: 10 * i, snd_nxt: 10 * i + 5, ..ack(i, 1, rtt_ms, 100) });
        }
        c.on_ack(&AckEvent { cwnd_limited: false, snd_una: 10 * i + 6, snd_nxt: 10 * i + 6, ..ack(i, 1, rtt_ms, 100) });
    }

    #[test]
    fn in_fast_mode_it_is_scalable() {
        assert_eq!(yeah().round(0, 100, 100), 10);
    }

    #[test]
    fn a_long_queue_is_taken_out_of_the_window() {
        let mut c = yeah();
        round(&mut c, 1, 100);
        round(&mut c, 2, 125);
        // 1000 (125 - 100) / 125 = 200 packets in the queue.
        assert_eq!((c.law.queued, c.window.cwnd, c.law.slow_rounds), (200, 800, 1));
    }

    #[test]
    fn a_loss_takes_the_queue_and_at_least_an_eighth() {
        let mut c = yeah();
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 875);
        c.law.queued = 300;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 575);
    }

    #[test]
    fn beside_reno_a_loss_takes_half() {
        let mut c = yeah();
        c.law.slow_rounds = 16;
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 500);
    }
}
