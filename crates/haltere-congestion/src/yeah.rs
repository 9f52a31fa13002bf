//! YeAH: Scalable while the queue is short, Reno while it is long.
//! Model: once a round trip Q = cwnd (RTT_min of the round - base) / RTT_min. Fast mode grows as Scalable. Q > `queue`
//! or a delay over base / 8 begins slow mode, Reno, and takes the queue out of the window. A loss takes the queue, at
//! least an eighth and at most a half.
//! Units: segments; RTT ns. Cost: O(1) an acknowledgement.

use crate::law::{Openness, WindowLaw, Windowed};
use crate::window::Window;
use crate::{AckEvent, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// Two modes, by the flow's own queue: fast as Scalable, slow as Reno, with the queue taken out before it
    /// overflows.
    ///
    /// Source: Baiocchi, Castellani and Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007.
    ///
    /// Deviations: the constants are Linux's (`queue` 80, phi 8, gamma 1, epsilon 1, delta 3, zeta 50, rho 16). A loss
    /// counts as one in competition with Reno after 16 rounds of slow mode in a row. The queue is also judged in slow
    /// start, which ends if it is taken out. After a reduction the next judgement waits for a round of its own, whose
    /// round-trip times are all newer. A round is judged after the window grew by its last acknowledgement, and only if
    /// the window was the limit. A flight that starts with nothing in flight measures the base RTT afresh.
    ///
    /// Known problems: a base RTT that was measured in a queue hides that queue.
    pub struct Params {
        /// Own packets in the queue from which slow mode takes them out. The default is Linux's.
        pub queue: u32 = 80;
        /// Segments to acknowledge for one more in fast mode, from 2. The default is Linux's (Scalable's).
        pub per_segment: u32 = 100, [at least 2];
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
/// A round with fewer samples is ignored.
const MIN_SAMPLES: u32 = 3;

/// How YeAH changes the window.
#[derive(Debug, Clone, Default)]
pub struct Law {
    params: Params,
    base: Option<Dur>,
    round_rtt: Option<Dur>,
    samples: u32,
    round_end: u64,
    /// This acknowledgement ends a round; the next one ends there.
    next_end: Option<u64>,
    openness: Openness,
    /// The flow's own packets in the queue in the last round.
    queued: u64,
    /// Rounds of slow mode in a row; zero: fast mode.
    slow_rounds: u32,
    fast_rounds: u32,
    /// The window that a Reno flow would have.
    reno: u64,
}

/// YeAH for one sender.
pub type Yeah = Windowed<Law>;

impl Law {
    fn begin_round(&mut self, end: u64) {
        (self.round_end, self.round_rtt, self.samples) = (end, None, 0);
    }
    /// After growth: if the acknowledgement ends a round, it is judged.
    fn judge_if_due(&mut self, window: &mut Window) {
        let Some(end) = self.next_end.take() else { return };
        if let (Some(base), Some(rtt), MIN_SAMPLES..) = (self.base, self.round_rtt, self.samples) {
            self.judge(base, rtt, window);
        }
        self.begin_round(end);
    }
    fn judge(&mut self, base: Dur, rtt: Dur, window: &mut Window) {
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
    type Params = Params;
    fn new(params: &Params, _sender: &SenderContext) -> Result<Law, ParamError> {
        params.check()?;
        Ok(Law { params: params.clone(), reno: 2, ..Law::default() })
    }
    fn observe(&mut self, ev: &AckEvent, _window: &mut Window) {
        if let Some(rtt) = ev.rtt {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.next_end = None;
        let was_open = self.openness.take(ev);
        if ev.in_recovery {
            return;
        }
        if !was_open && self.openness.is_open() {
            self.begin_round(ev.snd_nxt);
        }
        if ev.cwnd_limited && ev.acked > Bytes::ZERO && ev.snd_una > self.round_end {
            self.next_end = Some(ev.snd_nxt);
        }
    }
    fn slow_start(&mut self, window: &mut Window, acked: u64) -> u64 {
        let rest = window.slow_start(acked);
        if rest == 0 {
            self.judge_if_due(window);
        }
        rest
    }
    fn avoid(&mut self, _ev: &AckEvent, window: &mut Window, acked: u64) {
        let scalable = window.cwnd.min(u64::from(self.params.per_segment));
        window.additive_increase(if self.slow_rounds == 0 { scalable } else { window.cwnd }, acked);
        self.judge_if_due(window);
    }
    fn flight_started(&mut self) {
        self.base = None;
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
    /// Eleven acknowledgements of a segment, the last of which ends a round.
    fn round(c: &mut Yeah, i: u64, rtt_ms: u64) {
        for _ in 0..10 {
            c.on_ack(&AckEvent { snd_una: 10 * i, snd_nxt: 10 * i + 5, ..ack(i, 1, rtt_ms, 100) });
        }
        c.on_ack(&AckEvent { snd_una: 10 * i + 6, snd_nxt: 10 * i + 6, ..ack(i, 1, rtt_ms, 100) });
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

    /// By hand: 1011 (105 - 100) / 105 = 48 packets are fewer than 80, and 5 ms less than an eighth; the loss takes
    /// 1011 / 8 = 126. At 150 ms it is 1011 x 50 / 150 = 337 packets.
    #[test]
    fn slow_start_knows_its_queue_and_ends_if_it_is_taken_out() {
        let slow_start = |rtt| {
            let mut c = Yeah::new(&Params::default(), &sender(989)).unwrap();
            round(&mut c, 1, 100);
            round(&mut c, 2, rtt);
            c
        };
        let mut c = slow_start(105);
        assert_eq!((c.window.cwnd, c.law.queued, c.window.ssthresh), (1011, 48, u64::MAX));
        c.on_loss(&loss(0));
        assert_eq!(c.window.cwnd, 885);
        let c = slow_start(150);
        assert_eq!((c.law.queued, c.window.cwnd, c.window.ssthresh), (337, 674, 674));
    }

    /// Recovery, or segments that arrive out of order. What was measured before its end is not judged.
    #[test]
    fn a_round_begins_anew_when_the_state_is_open_again() {
        let none = Bytes::ZERO;
        for (in_recovery, delivered) in [(true, none), (false, Bytes::new(1000))] {
            let mut c = yeah();
            round(&mut c, 1, 100);
            let (before, open) = (ack(3, 1, 125, 100), ack(4, 1, 125, 100));
            c.on_ack(&AckEvent { snd_una: 12, snd_nxt: 20, in_recovery, acked: none, delivered, ..before });
            assert_eq!((c.law.samples, c.law.round_end), (1, 16));
            c.on_ack(&AckEvent { snd_una: 14, snd_nxt: 45, delivered: none, ..open });
            assert_eq!((c.law.samples, c.law.round_end), (0, 45));
            c.on_ack(&AckEvent { snd_una: 44, snd_nxt: 46, ..ack(5, 1, 125, 100) });
            assert_eq!((c.law.samples, c.law.round_end, c.law.slow_rounds), (1, 45, 0));
        }
    }

    /// A flight that begins in a queue takes that queue for the path.
    #[test]
    fn nothing_in_flight_is_a_new_path() {
        let mut c = yeah();
        round(&mut c, 1, 100);
        c.on_flight_start(Time::ZERO);
        round(&mut c, 2, 150);
        assert_eq!((c.law.queued, c.law.slow_rounds), (0, 0));
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

    #[test]
    fn a_loss_halves_the_window_of_a_reno_flow() {
        let mut c = yeah();
        for (before, after) in [(101, 50), (50, 25), (3, 2), (2, 2)] {
            c.law.reno = before;
            c.on_loss(&loss(1));
            assert_eq!(c.law.reno, after);
        }
    }
}
