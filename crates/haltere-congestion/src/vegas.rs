//! Vegas: the window follows the number of the flow's own packets in the queue.
//! Model: once a round trip diff = cwnd (RTT - baseRTT) / baseRTT, the packets in the queue, with RTT the least of the
//! round. In congestion avoidance diff < alpha: cwnd += 1; diff > beta: cwnd -= 1. In slow start diff > gamma ends it
//! with cwnd = min(cwnd, cwnd baseRTT / RTT + 1).
//! Units: segments within, bytes in the interface. Cost: O(1) an acknowledgement. Not certain: with one flow on an idle
//! path Linux 6.1 was measured to miss the end of slow start by gamma, which depends on the phase of a single RTT
//! sample; here it is taken. Both end at the same window.

use crate::reno;
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext};
use alloc::format;
use haltere_units::{Bytes, Dur, ParamError, Probe, Time};

haltere_units::params! {
    /// The window keeps a few of the flow's own packets in the queue, as the round-trip time shows.
    ///
    /// Source: Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE JSAC 13(8),
    /// 1995. Brakmo, O'Malley and Peterson, "TCP Vegas: new techniques for congestion detection and avoidance", SIGCOMM
    /// 1994.
    ///
    /// Deviations: these are Linux's. diff is divided by baseRTT; the paper divides by RTT. Slow start doubles every
    /// round trip, not every other. Retransmission is the transport's, not Vegas's own. alpha and beta are 2 and 4
    /// (paper: 2 and 4, or 1 and 3). On loss, in recovery, and in rounds with fewer than three samples it is Reno. A
    /// flight that starts with nothing in flight measures baseRTT afresh.
    ///
    /// Known problems: it yields to every control that fills the queue. A base RTT that was measured in a queue is too
    /// large.
    pub struct Params {
        /// The window grows if fewer own packets than this are in the queue. In packets; the default is Linux's.
        pub alpha: u32 = 2;
        /// The window shrinks if more own packets than this are in the queue, at least `alpha`. In packets; the default
        /// is Linux's.
        pub beta: u32 = 4;
        /// Slow start ends if more own packets than this are in the queue. In packets; the default is Linux's.
        pub gamma: u32 = 1;
    }
}

/// With fewer samples a round's least RTT may all be delayed acknowledgements (Linux).
const MIN_SAMPLES: u32 = 3;

/// Vegas for one sender.
#[derive(Debug, Clone, Default)]
pub struct Vegas {
    params: Params,
    window: Window,
    /// The round ends when this byte is acknowledged; `None` while Reno is in charge.
    round_end: Option<u64>,
    base_rtt: Option<Dur>,
    /// The least RTT of this round, and how many samples there were.
    round_rtt: Option<Dur>,
    samples: u32,
    /// The last round's diff, for the probe.
    diff: u64,
}

impl Vegas {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Vegas, ParamError> {
        if params.beta < params.alpha {
            return Err(ParamError::new("beta", format!("at least alpha ({})", params.alpha), params.beta));
        }
        Ok(Vegas { params: params.clone(), window: Window::new(sender), ..Vegas::default() })
    }

    fn sample_rtt(&mut self, rtt: Dur) {
        // One microsecond more, as Linux: zero would divide by zero.
        let rtt = rtt + Dur::from_us(1);
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.round_rtt = Some(self.round_rtt.map_or(rtt, |min| min.min(rtt)));
        self.samples += 1;
    }

    fn begin_round(&mut self, snd_nxt: u64) {
        self.round_end = Some(snd_nxt);
        self.round_rtt = None;
        self.samples = 0;
    }

    /// The paper's once-per-RTT adjustment (§3.2 of the 1995 paper).
    fn adjust(&mut self, base: Dur, rtt: Dur, acked: u64) {
        let (base, rtt) = (base.as_us().max(1), rtt.as_us().max(1));
        let cwnd = self.window.cwnd;
        self.diff = cwnd * (rtt - base) / base;
        let in_slow_start = self.window.in_slow_start();
        if in_slow_start && self.diff > u64::from(self.params.gamma) {
            self.window.set_cwnd(cwnd.min(cwnd * base / rtt + 1));
            self.leave_slow_start();
        } else if in_slow_start {
            self.window.slow_start(acked);
        } else if self.diff > u64::from(self.params.beta) {
            self.window.set_cwnd(cwnd - 1);
            self.leave_slow_start();
        } else if self.diff < u64::from(self.params.alpha) {
            self.window.set_cwnd(cwnd + 1);
        }
        self.window.cwnd = self.window.cwnd.max(2);
        self.window.ssthresh = self.window.protected_ssthresh().max(2);
    }

    /// The threshold just under the window, so that the next round is congestion avoidance.
    fn leave_slow_start(&mut self) {
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd.saturating_sub(1));
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ev: &AckEvent) {
        if let Some(rtt) = ev.rtt {
            self.sample_rtt(rtt);
        }
        let acked = self.window.take_acked(ev);
        if ev.in_recovery || ev.in_rto_recovery {
            self.round_end = None;
            return reno::grow(&mut self.window, ev, acked);
        }
        let Some(round_end) = self.round_end else {
            reno::grow(&mut self.window, ev, acked);
            return self.begin_round(ev.snd_nxt);
        };
        if ev.snd_una > round_end {
            match (self.base_rtt, self.round_rtt) {
                (Some(base), Some(rtt)) if self.samples >= MIN_SAMPLES => self.adjust(base, rtt, acked),
                _ => reno::grow(&mut self.window, ev, acked),
            }
            self.begin_round(ev.snd_nxt);
        } else if self.window.in_slow_start() {
            self.window.slow_start(acked);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.window.reduce(reno::halved(&self.window), ev.kind);
        self.round_end = None;
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.window.timeout(reno::halved(&self.window), ev);
        self.round_end = None;
    }
    of_window!(undo, restart, cache, sizes);
    fn on_flight_start(&mut self, _now: Time) {
        // The path may have changed in the meantime: measure it afresh (Linux).
        self.base_rtt = None;
        self.round_end = None;
    }
    fn probe(&self, row: &mut Probe) {
        row.push("base_rtt", "s", self.base_rtt.unwrap_or(Dur::ZERO).as_secs_f64());
        row.push("diff", "", self.diff as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossKind;
    use haltere_units::Time;

    const MSS: u64 = 1000;

    struct Fixture {
        vegas: Vegas,
        snd_una: u64,
    }
    impl Fixture {
        fn new(segments: u64) -> Fixture {
            let mss = Bytes::new(MSS);
            let sender = SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() };
            let mut f = Fixture { vegas: Vegas::new(&Params::default(), &sender).unwrap(), snd_una: 0 };
            f.ack(40_000, 40 * MSS);
            f
        }
        fn segments(&self) -> u64 {
            self.vegas.cwnd().as_u64() / MSS
        }
        fn ack(&mut self, rtt_us: u64, ahead: u64) {
            self.snd_una += MSS;
            let bytes = Bytes::new(MSS);
            self.vegas.on_ack(&AckEvent {
                acked: bytes,
                delivered: bytes,
                rtt: Some(Dur::from_us(rtt_us)),
                snd_una: self.snd_una,
                snd_nxt: self.snd_una + ahead,
                cwnd_limited: true,
                ..AckEvent::at(Time::ZERO)
            });
        }
        /// Acknowledges up to and over the round's end.
        fn round(&mut self, rtt_us: u64) {
            let end = self.vegas.round_end.unwrap();
            while self.snd_una <= end {
                self.ack(rtt_us, 40 * MSS);
            }
        }
        fn congestion_avoidance(&mut self, segments: u64) {
            self.vegas.window.cwnd = segments;
            self.vegas.window.ssthresh = 2;
        }
    }

    /// cwnd 40, base 40 ms (40.001 with the added microsecond). 42 ms and a little: diff = 40 * 2 / 40 = 2, from alpha
    /// to beta: stays. 41 ms: 0.99, grows. 44 ms: 3.99, stays. 45 ms and a little: 5, shrinks.
    #[test]
    fn the_window_holds_two_to_four_packets_in_the_queue() {
        for (rtt_us, expected) in [(42_001, 40), (41_000, 41), (44_000, 40), (45_001, 39)] {
            let mut f = Fixture::new(10);
            f.congestion_avoidance(40);
            f.round(rtt_us);
            assert_eq!(f.segments(), expected, "RTT {rtt_us} us");
        }
    }

    /// cwnd 40 after a slow start, RTT 50 ms: diff 10 > gamma; cwnd = 40 * 40 / 50 + 1 = 33; threshold max(32, 24).
    #[test]
    fn slow_start_ends_at_gamma_with_the_window_that_leaves_no_queue() {
        let mut f = Fixture::new(40);
        let end = f.vegas.round_end.unwrap();
        f.vegas.window.cwnd = 40;
        while f.snd_una < end {
            f.ack(50_000, 40 * MSS);
        }
        f.vegas.window.cwnd = 40;
        f.ack(50_000, 40 * MSS);
        assert_eq!(f.segments(), 33);
        assert_eq!(f.vegas.ssthresh(), Bytes::new(32 * MSS));
    }

    #[test]
    fn slow_start_doubles_while_there_is_no_queue() {
        let mut f = Fixture::new(10);
        let before = f.segments();
        f.round(40_000);
        assert_eq!(f.segments(), before + 41, "the round's forty acknowledgements and the one after it");
    }

    #[test]
    fn two_samples_are_too_few_and_leave_it_to_reno() {
        let mut f = Fixture::new(10);
        f.congestion_avoidance(4);
        f.vegas.begin_round(f.snd_una + MSS);
        f.round(80_000);
        assert_eq!(f.segments(), 4, "a diff of 4 would have been judged");
        assert_eq!(f.vegas.diff, 0);
    }

    #[test]
    fn on_loss_it_is_reno_and_begins_a_new_round_after_recovery() {
        let mut f = Fixture::new(40);
        f.vegas.on_loss(&LossEvent::at(Time::ZERO, LossKind::Loss));
        assert_eq!(f.segments(), 20);
        assert_eq!(f.vegas.round_end, None);
        f.ack(40_000, 20 * MSS);
        assert_eq!(f.vegas.round_end, Some(f.snd_una + 20 * MSS));
    }
}
