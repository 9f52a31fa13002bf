//! A window that follows a reduction by single segments, as that of the L4S team's Linux of August 2020.
//! Source: the behaviour of TCP Prague 0.5 (L4STeam/linux at b256daedc767, net/ipv4/tcp_prague.c). No code was copied.
//! Model: `cwnd` is the window with fractions, w the window in segments. Each acknowledgement moves w by one segment if
//! the two differ by a segment or more. A mark takes alpha w / 2 from `cwnd`, a loss half of it. Growth: `cwnd += 1 /
//! w` a segment without a mark, none while a loss is repaired. alpha stays 1 until the first mark.
//! Units: segments. Cost: O(1) an acknowledgement.

use super::{LEAST, Prague};
use crate::{AckEvent, RtoEvent};
use haltere_units::Bytes;

/// What such a window remembers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gradual {
    /// A mark has come.
    marked: bool,
    /// A loss is being repaired.
    repairing: bool,
    /// The window and `cwnd` before the last loss, while it may be taken back.
    prior: Option<(u64, f64)>,
}

impl Prague {
    /// alpha is measured from the first mark on.
    pub(super) fn may_measure(&mut self, ev: &AckEvent) -> bool {
        self.gradual.as_mut().is_none_or(|gradual| {
            gradual.marked |= ev.ce > Bytes::ZERO;
            gradual.marked
        })
    }

    /// Growth, and a step of the window.
    pub(super) fn follow(&mut self, ev: &AckEvent) {
        let unmarked = ev.delivered.as_u64().saturating_sub(ev.ce.as_u64()) as f64 / self.mss.as_u64() as f64;
        let repairing = self.gradual.is_some_and(|gradual| gradual.repairing);
        if unmarked > 0.0 && !repairing && (ev.cwnd_limited || self.params.grow_while_paced) {
            let before = self.window.cwnd;
            if self.window.in_slow_start() {
                let left = self.window.slow_start(unmarked as u64);
                self.cwnd += (self.window.cwnd - before) as f64;
                if left == 0 {
                    return;
                }
            }
            let grown = unmarked - (self.window.cwnd - before) as f64;
            self.cwnd += self.increase(grown, self.window.cwnd as f64);
        }
        self.step();
    }

    /// The window moves by a segment if it is that far from `cwnd`.
    fn step(&mut self) {
        let ahead = self.cwnd - self.window.cwnd as f64;
        if ahead >= 1.0 {
            self.window.set_cwnd(self.window.cwnd + 1);
        } else if ahead <= -1.0 {
            let next = (self.window.cwnd - 1) as f64;
            if next < LEAST {
                self.cwnd = LEAST;
            }
            self.window.set_cwnd(next.max(LEAST) as u64);
            self.window.ssthresh = self.window.cwnd;
        }
    }

    /// A loss: half of the window goes, step by step.
    pub(super) fn begin_repair(&mut self) {
        let Some(gradual) = &mut self.gradual else { return };
        (gradual.repairing, gradual.prior) = (true, Some((self.window.cwnd, self.cwnd)));
        self.cwnd /= 2.0;
    }
    pub(super) fn end_repair(&mut self) {
        if let Some(gradual) = &mut self.gradual {
            (gradual.repairing, gradual.prior) = (false, None);
        }
    }

    /// A timeout: what a loss takes is taken from the loss window, which leaves the least window.
    pub(super) fn time_out(&mut self, ev: &RtoEvent) {
        let whole = self.window.cwnd as f64;
        let prior = (self.window.cwnd, self.cwnd);
        self.window.timeout(self.window.ssthresh, ev);
        let pending = if ev.first { self.cwnd / 2.0 - whole } else { self.cwnd - whole };
        self.cwnd = self.window.cwnd as f64 + pending;
        if let Some(gradual) = &mut self.gradual {
            gradual.repairing = true;
            if ev.first {
                gradual.prior = Some(prior);
            }
        }
    }

    /// The last loss was spurious: the window from before it is back.
    pub(super) fn take_back(&mut self) {
        let Some((window, cwnd)) = self.gradual.as_mut().and_then(|gradual| gradual.prior.take()) else { return };
        self.window.set_cwnd(self.window.cwnd.max(window));
        self.cwnd = self.cwnd.max(cwnd);
    }
}

#[cfg(test)]
mod tests {
    use crate::law::testing::{MSS, ack, at, loss, sender};
    use crate::prague::{Params, Prague};
    use crate::{CongestionControl, LossEvent, LossKind, RtoEvent};
    use haltere_units::{Bytes, Dur, Rate};

    /// A sender with a window of so many segments, out of slow start.
    fn gradual(segments: u64) -> Prague {
        let params = Params { rtt_min: Dur::ZERO, gradual: true, grow_while_paced: true, ..Params::default() };
        let mut c = Prague::new(&params, &sender(segments)).unwrap();
        (c.window.ssthresh, c.accurate) = (segments, true);
        c
    }
    /// One segment acknowledged, marked or not; pacing is the limit.
    fn arrive(c: &mut Prague, now_ms: u64, seq: u64, marked: bool) {
        let mut ev = ack(now_ms, 1, 50, 50);
        (ev.accurate, ev.snd_una, ev.snd_nxt, ev.cwnd_limited) = (true, seq * MSS, (seq + 100) * MSS, false);
        (ev.ece, ev.ce) = (marked, Bytes::new(if marked { MSS } else { 0 }));
        c.on_ack(&ev);
    }
    fn segments(c: &Prague) -> u64 {
        c.cwnd().as_u64() / MSS
    }

    /// By hand: 20 -> 10 pending; ten acknowledgements later the window is 10, and nothing grew meanwhile.
    #[test]
    fn a_loss_takes_a_segment_an_acknowledgement() {
        let mut c = gradual(20);
        c.on_loss(&loss(1));
        assert_eq!(segments(&c), 20);
        (1..=4).for_each(|n| arrive(&mut c, n, n, false));
        assert_eq!(segments(&c), 16);
        (5..=30).for_each(|n| arrive(&mut c, n, n, false));
        assert_eq!((segments(&c), c.ssthresh()), (10, Bytes::new(10 * MSS)));
        c.on_recovered(at(31));
        (31..=39).for_each(|n| arrive(&mut c, n, n, false));
        assert_eq!(segments(&c), 10, "nine acknowledgements with a window of ten");
        (40..=41).for_each(|n| arrive(&mut c, n, n, false));
        assert_eq!(segments(&c), 11, "ten, and one for the rounding of tenths");
    }

    /// alpha is 1 until the first mark: half of 20. Growth while the window falls: 20 -> 10 takes more than ten
    /// acknowledgements.
    #[test]
    fn the_first_mark_takes_half_step_by_step() {
        let mut c = gradual(20);
        (1..=100).for_each(|n| arrive(&mut c, n * 10, n, false));
        assert_eq!(c.alpha, 1.0);
        let before = c.window.cwnd;
        arrive(&mut c, 1001, 101, true);
        assert_eq!(c.window.cwnd, before - 1);
        (102..=110).for_each(|n| arrive(&mut c, 1001, n, false));
        assert_eq!(c.window.cwnd, before - 10);
    }

    #[test]
    fn a_timeout_leaves_the_least_window() {
        let mut c = gradual(20);
        c.on_rto(&RtoEvent { first: true, ..RtoEvent::at(at(1)) });
        assert_eq!(segments(&c), 1);
        (1..=5).for_each(|n| arrive(&mut c, n, n, false));
        assert_eq!(segments(&c), 2);
    }

    #[test]
    fn a_loss_that_was_none_is_taken_back() {
        let mut c = gradual(20);
        c.on_loss(&loss(1));
        (1..=4).for_each(|n| arrive(&mut c, n, n, false));
        c.on_spurious(at(5));
        assert_eq!((segments(&c), c.cwnd), (20, 20.0));
    }

    #[test]
    fn without_counted_marks_it_is_reno() {
        let mut c = gradual(20);
        c.on_ack(&ack(10, 1, 50, 50));
        c.on_loss(&LossEvent::at(at(10), LossKind::Ecn));
        assert_eq!(segments(&c), 10);
    }

    #[test]
    fn pacing_has_a_gain() {
        let params = Params { pacing_gain: 1.5, ..Params::default() };
        let mut c = Prague::new(&params, &sender(20)).unwrap();
        c.window.ssthresh = 20;
        arrive(&mut c, 1, 1, false);
        assert_eq!(c.pacing_rate(), Some(Rate::from_bps(30 * 8 * MSS * 20)));
        let wrong = Params { pacing_gain: 0.5, ..Params::default() };
        assert!(Prague::new(&wrong, &sender(20)).is_err());
    }

    /// By hand: slow start takes the one segment below the threshold of 11, and the two that are left grow 2 / 11.
    #[test]
    fn slow_start_moves_the_window_and_its_fraction_alike() {
        let params = Params { rtt_min: Dur::ZERO, gradual: true, grow_while_paced: true, ..Params::default() };
        let mut c = Prague::new(&params, &sender(10)).unwrap();
        (1..=5).for_each(|n| arrive(&mut c, n, n, false));
        assert_eq!((segments(&c), c.cwnd), (15, 15.0));
        let mut c = gradual(10);
        c.window.ssthresh = 11;
        c.on_ack(&crate::AckEvent { accurate: true, snd_una: MSS, snd_nxt: 101 * MSS, ..ack(1, 3, 50, 50) });
        assert_eq!(segments(&c), 11);
        assert!((c.cwnd - 11.0 - 2.0 / 11.0).abs() < 0.01, "{}", c.cwnd);
    }

    /// By hand: half of 20 is 10 below; from the loss window of 1 that is -9.
    #[test]
    fn a_timeout_takes_what_a_loss_takes_from_the_loss_window() {
        let mut c = gradual(20);
        c.on_rto(&RtoEvent { first: true, ..RtoEvent::at(at(1)) });
        assert_eq!(c.cwnd, -9.0);
    }

    /// By hand: alpha is 1, so 20 - 1 / 2 * 20 = 10.
    #[test]
    fn a_mark_takes_its_part_of_the_whole_window() {
        let mut c = gradual(20);
        arrive(&mut c, 1, 1, true);
        assert!((c.cwnd - 10.0).abs() < 0.1, "{}", c.cwnd);
    }
}
