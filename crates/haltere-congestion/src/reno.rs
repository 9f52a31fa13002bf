//! Reno: additive increase, multiplicative decrease.
//! Model: slow start, below ssthresh: cwnd += 1 for each segment acknowledged. Congestion avoidance: cwnd += 1 for each
//! window acknowledged. On loss ssthresh = max(cwnd / 2, 2). After a timeout cwnd = 1.
//! Units: segments within, bytes in the interface. Cost: O(1) an acknowledgement.

use crate::slow_start::{Hystart, SlowStart};
use crate::window::{Window, of_window};
use crate::{AckEvent, CongestionControl, LossEvent, RtoEvent, SenderContext};
use haltere_units::{Bytes, ParamError, Probe};

haltere_units::params! {
    /// Additive increase, multiplicative decrease: one segment more each round trip, half the window after a loss.
    ///
    /// Source: RFC 5681 (section 3.1) and RFC 3465 (byte counting). Recovery by RFC 6582 and RFC 6675 belongs to the
    /// transport.
    ///
    /// Deviations: these are Linux's. The threshold is half of cwnd; RFC 5681 equation 4 takes half of FlightSize. The
    /// two are equal if the window limits the sender, and the window grows only then (RFC 7661). `threshold` offers
    /// ns-3's rule. In slow start one acknowledgement may add more than L = 2 segments (RFC 3465 section 2.3). Windows
    /// are whole segments.
    ///
    /// Known problems: it is slow on paths with a large bandwidth-delay product (RFC 9438 section 1).
    pub struct Params {
        /// How the first slow start ends before a loss. RFC 5681 has no such rule.
        pub hystart: Hystart = Hystart::Off;
        /// How much an acknowledgement adds to the window. The default is RFC 3465's and Linux's.
        pub counting: Counting = Counting::Bytes;
        /// What the threshold is half of after a loss. The default is Linux's.
        pub threshold: Threshold = Threshold::Cwnd;
    }
    /// What the threshold is half of after a loss.
    #[derive(Default)]
    pub enum Threshold {
        /// The congestion window at the loss.
        #[default]
        Cwnd,
        /// What is in flight, SACKed and lost segments left out (ns-3's `TcpNewReno`): less by at least four segments
        /// when three duplicate acknowledgements begin the recovery.
        InFlight,
    }
    /// How much an acknowledgement adds to the window.
    #[derive(Default)]
    pub enum Counting {
        /// All that it acknowledges (RFC 3465).
        #[default]
        Bytes,
        /// One segment (RFC 5681 equation 3): with delayed acknowledgements half the growth.
        Acks,
    }
}

/// Reno for one sender.
#[derive(Debug, Clone)]
pub struct Reno {
    window: Window,
    slow_start: SlowStart,
    counting: Counting,
    threshold: Threshold,
    mss: Bytes,
}

impl Reno {
    /// A sender at its initial window.
    pub fn new(params: &Params, sender: &SenderContext) -> Result<Reno, ParamError> {
        let (window, slow_start) = (Window::new(sender), SlowStart::new(params.hystart));
        let (counting, threshold) = (params.counting, params.threshold);
        Ok(Reno { window, slow_start, counting, threshold, mss: sender.mss.max(Bytes::new(1)) })
    }
    /// The threshold after a loss that finds so many bytes in flight.
    fn threshold(&self, in_flight: Bytes) -> u64 {
        match self.threshold {
            Threshold::Cwnd => halved(&self.window),
            Threshold::InFlight => in_flight.as_u64() / (2 * self.mss.as_u64()),
        }
    }
}

/// Half of the window (RFC 5681 equation 4, with cwnd for FlightSize).
pub(crate) fn halved(window: &Window) -> u64 {
    window.cwnd / 2
}

/// Growth without any heuristic: what Vegas and DCTCP fall back on.
pub(crate) fn grow(window: &mut Window, ev: &AckEvent, acked: u64) {
    if !ev.cwnd_limited || acked == 0 {
        return;
    }
    let rest = if window.in_slow_start() { window.slow_start(acked) } else { acked };
    if rest > 0 {
        window.additive_increase(window.cwnd, rest);
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ev: &AckEvent) {
        self.slow_start.on_ack(ev, ev.min_rtt, &mut self.window);
        let acked = match self.counting {
            Counting::Bytes => self.window.take_acked(ev),
            Counting::Acks => self.window.take_acked(ev).min(1),
        };
        if !ev.cwnd_limited || acked == 0 {
            return;
        }
        let rest = if self.window.in_slow_start() { self.slow_start.grow(&mut self.window, acked) } else { acked };
        if rest > 0 {
            self.window.additive_increase(self.window.cwnd, rest);
        }
    }
    fn on_loss(&mut self, ev: &LossEvent) {
        self.window.reduce(self.threshold(ev.in_flight), ev.kind);
    }
    fn on_rto(&mut self, ev: &RtoEvent) {
        self.window.timeout(self.threshold(ev.in_flight), ev);
        self.slow_start.reset();
    }
    of_window!(undo, restart, cache, sizes);
    fn probe(&self, row: &mut Probe) {
        self.slow_start.probe(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossKind;
    use haltere_units::Time;

    const MSS: u64 = 1000;

    fn reno(segments: u64) -> Reno {
        let mss = Bytes::new(MSS);
        Reno::new(
            &Params::default(),
            &SenderContext { mss, initial_window: mss * segments, seed: 0, ..Default::default() },
        )
        .unwrap()
    }
    fn ack(segments: u64) -> AckEvent {
        let bytes = Bytes::new(segments * MSS);
        AckEvent { acked: bytes, delivered: bytes, cwnd_limited: true, ..AckEvent::at(Time::ZERO) }
    }
    fn loss() -> LossEvent {
        LossEvent::at(Time::ZERO, LossKind::Loss)
    }

    #[test]
    fn slow_start_doubles_with_each_window() {
        let mut c = reno(10);
        (0..10).for_each(|_| c.on_ack(&ack(1)));
        assert_eq!(c.cwnd(), Bytes::new(20 * MSS));
        c.on_ack(&ack(20));
        assert_eq!(c.cwnd(), Bytes::new(40 * MSS), "no limit on what one acknowledgement adds");
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_a_window() {
        let mut c = reno(20);
        c.on_loss(&loss());
        assert_eq!((c.cwnd(), c.ssthresh()), (Bytes::new(10 * MSS), Bytes::new(10 * MSS)));
        (0..5).for_each(|_| c.on_ack(&ack(2)));
        assert_eq!(c.cwnd(), Bytes::new(11 * MSS));
        (0..11).for_each(|_| c.on_ack(&ack(1)));
        assert_eq!(c.cwnd(), Bytes::new(12 * MSS));
    }

    #[test]
    fn counting_acks_grows_by_acknowledgements_however_much_they_acknowledge() {
        let sender =
            SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(10 * MSS), seed: 0, ..Default::default() };
        let mut c = Reno::new(&Params { counting: Counting::Acks, ..Params::default() }, &sender).unwrap();
        (0..5).for_each(|_| c.on_ack(&ack(2)));
        assert_eq!(c.cwnd(), Bytes::new(15 * MSS), "slow start: one segment for each of five acknowledgements");
        c.on_loss(&loss());
        assert_eq!(c.cwnd(), Bytes::new(7 * MSS));
        (0..7).for_each(|_| c.on_ack(&ack(2)));
        assert_eq!(c.cwnd(), Bytes::new(8 * MSS), "avoidance: seven acknowledgements, one segment");
    }

    #[test]
    fn the_threshold_may_be_half_of_what_is_in_flight() {
        let sender =
            SenderContext { mss: Bytes::new(MSS), initial_window: Bytes::new(20 * MSS), seed: 0, ..Default::default() };
        let mut c = Reno::new(&Params { threshold: Threshold::InFlight, ..Params::default() }, &sender).unwrap();
        // 20 sent, 3 SACKed, 1 marked lost: 16 in flight.
        c.on_loss(&LossEvent { in_flight: Bytes::new(16 * MSS), ..loss() });
        assert_eq!(c.cwnd(), Bytes::new(8 * MSS));
        c.on_rto(&RtoEvent { first: true, in_flight: Bytes::new(7 * MSS), ..RtoEvent::at(Time::ZERO) });
        assert_eq!((c.cwnd(), c.ssthresh()), (Bytes::new(MSS), Bytes::new(3 * MSS)));
    }

    #[test]
    fn what_slow_start_leaves_goes_to_congestion_avoidance() {
        let mut c = reno(20);
        c.on_rto(&RtoEvent { first: true, ..RtoEvent::at(Time::ZERO) });
        assert_eq!((c.cwnd(), c.ssthresh()), (Bytes::new(MSS), Bytes::new(10 * MSS)));
        c.on_ack(&ack(19));
        assert_eq!(c.cwnd(), Bytes::new(11 * MSS), "9 segments to the threshold, 10 acknowledged at 10");
    }

    #[test]
    fn only_the_first_timeout_lowers_the_threshold() {
        let mut c = reno(20);
        c.on_rto(&RtoEvent { first: true, ..RtoEvent::at(Time::ZERO) });
        c.on_rto(&RtoEvent::at(Time::ZERO));
        assert_eq!(c.ssthresh(), Bytes::new(10 * MSS));
    }

    #[test]
    fn no_growth_in_recovery_nor_when_the_window_was_not_the_limit() {
        let mut c = reno(10);
        c.on_ack(&AckEvent { in_recovery: true, ..ack(4) });
        c.on_ack(&AckEvent { cwnd_limited: false, ..ack(4) });
        assert_eq!(c.cwnd(), Bytes::new(10 * MSS));
    }

    #[test]
    fn the_threshold_is_never_below_two_segments() {
        let mut c = reno(2);
        c.on_loss(&loss());
        c.on_loss(&loss());
        assert_eq!(c.ssthresh(), Bytes::new(2 * MSS));
    }
}
