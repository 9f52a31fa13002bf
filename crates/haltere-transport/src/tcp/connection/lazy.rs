//! The sending half before it is made: what receiving needs of it, and what it is made of.
//! Source: none; a flow goes one way, and most ends of flows never send.
//! Deviations: none. Model: while nothing was written, an acknowledgement can only move the peer's window. Whatever else an
//! end is told or asked for makes its sending half, which is then as if it had been there from the start.
//! Units: positions, ns. Cost: O(1). Known problems: none.

use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::tcp::sender::ack::AckIn;
use crate::tcp::sender::rtt::Rtt;
use crate::{Connection, TcpParams};
use alloc::boxed::Box;
use alloc::sync::Arc;
use haltere_congestion::{CongestionControl, CongestionParams, Control, SenderContext};
use haltere_units::{Bytes, Dur, ParamError, Time};

/// The first byte's position: nothing was sent beyond it, nor acknowledged.
const FIRST: u64 = 1;

/// What stands for the sending half until that is made; after that it means nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Quiet {
    /// End of the peer's window.
    pub window_end: u64,
    /// Position of the segment that told it.
    window_seq: u64,
    /// Smoothed round-trip time (zero: unknown) and timeout, after the handshake's one sample.
    pub srtt: u64,
    pub rto: u64,
}

impl Quiet {
    pub(crate) fn new(p: &TcpParams) -> Quiet {
        Quiet { window_end: FIRST, window_seq: 0, srtt: 0, rto: Rtt::new(p).rto() }
    }

    /// The handshake took `rtt`.
    pub(crate) fn on_established(&mut self, p: &TcpParams, rtt: Dur) {
        let mut estimator = Rtt::new(p);
        estimator.sample(rtt.as_ns(), FIRST, FIRST);
        (self.srtt, self.rto) = (estimator.srtt(), estimator.rto());
    }

    /// An acknowledgement arrived. False where it says what only a sending half understands.
    #[inline]
    pub(crate) fn on_ack(&mut self, a: &AckIn<'_>) -> bool {
        if a.ack != FIRST || !a.sack.is_empty() || a.ece {
            return false;
        }
        if a.seq >= self.window_seq {
            self.window_seq = a.seq;
            self.window_end = self.window_end.max(a.ack + a.window);
        }
        true
    }
}

/// What a sending half is made of.
#[derive(Debug)]
pub(crate) struct Origin {
    pub tcp: Arc<TcpParams>,
    control: Arc<CongestionParams>,
    seed: u64,
    /// When the connection was established, and the round-trip time of the handshake, if it could be measured.
    pub established: Option<(Time, Dur)>,
}

impl Origin {
    /// Gives the control as well, which shows that the parameters are in order.
    pub(crate) fn new(
        tcp: Arc<TcpParams>,
        control: Arc<CongestionParams>,
        seed: u64,
    ) -> Result<(Origin, Control), ParamError> {
        tcp.check()?;
        let origin = Origin { tcp, control, seed, established: None };
        let control = origin.try_control(origin.tcp.mss)?;
        Ok((origin, control))
    }

    fn try_control(&self, mss: Bytes) -> Result<Control, ParamError> {
        let initial_window = mss * u64::from(self.tcp.initial_window);
        Control::new(&self.control, &SenderContext { mss, initial_window, seed: self.seed })
    }

    /// A control for segments of that size.
    pub(crate) fn control(&self, mss: u64) -> Control {
        self.try_control(Bytes::new(mss)).expect("checked when the connection was made")
    }

    /// The sending half as it is while it has sent nothing.
    fn sender(&self, quiet: &Quiet, rx: &Receiver) -> Sender {
        let mut tx = Sender::new(&self.tcp, rx.mss, self.control(rx.mss));
        tx.sack_ok = rx.sack_ok;
        (tx.window_end, tx.window_seq) = (quiet.window_end, quiet.window_seq);
        if let Some((at, rtt)) = self.established {
            tx.on_established(at, rtt);
        }
        tx
    }
}

impl Sender {
    /// The handshake took `rtt` and was over at `at`.
    pub(crate) fn on_established(&mut self, at: Time, rtt: Dur) {
        self.rtt.sample_min(rtt.as_ns(), at.as_ns(), false);
        self.rtt.sample(rtt.as_ns(), FIRST, FIRST);
        self.control.on_established(at, rtt);
        self.refresh_cwnd();
    }
}

impl Connection {
    /// The sending half, made if it is not there yet.
    pub(crate) fn sender(&mut self) -> &mut Sender {
        self.tx.get_or_insert_with(|| Box::new(self.origin.sender(&self.quiet, &self.rx)))
    }
    /// The sending half of a connection of which it is known that it has one.
    #[inline]
    pub(crate) fn made_sender(&self) -> &Sender {
        self.tx.as_ref().expect("made with the connection")
    }
    /// Looks at the sending half, or at what it would be. Not cheap where it is not there.
    pub(crate) fn with_sender<R>(&self, look: impl FnOnce(&Sender) -> R) -> R {
        match &self.tx {
            Some(tx) => look(tx),
            None => look(&self.origin.sender(&self.quiet, &self.rx)),
        }
    }
    /// First position not acknowledged.
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.tx.as_ref().map_or(FIRST, |tx| tx.una)
    }
    /// First position not sent.
    #[inline]
    pub(crate) fn nxt(&self) -> u64 {
        self.tx.as_ref().map_or(FIRST, |tx| tx.nxt)
    }
    /// Smoothed round-trip time and retransmission timeout.
    #[inline]
    pub(crate) fn srtt_and_rto(&self) -> (u64, u64) {
        match &self.tx {
            Some(tx) => (tx.rtt.srtt(), tx.rtt.rto()),
            None => (self.quiet.srtt, self.quiet.rto),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Role, RtoRule};

    #[test]
    fn the_receiving_half_hears_the_same_estimates_from_either() {
        let rfc = TcpParams { rto_rule: RtoRule::Rfc6298, min_rto: Dur::from_ms(1), ..TcpParams::default() };
        for tcp in [TcpParams::default(), rfc].map(Arc::new) {
            let control = Arc::new(CongestionParams::default_of("reno").unwrap());
            let mut ends =
                [Role::Client, Role::Server].map(|r| Connection::new(r, tcp.clone(), control.clone(), 1).unwrap());
            let told = |end: &Connection| end.with_sender(|tx| (tx.rtt.srtt(), tx.rtt.rto()));
            assert_eq!(ends[1].srtt_and_rto(), told(&ends[1]));
            assert_eq!(ends[1].srtt_and_rto(), (0, 1_000_000_000));
            ends[0].open(Time::ZERO);
            for (ms, from) in [(0, 0), (30, 1), (60, 0)] {
                let now = Time::ZERO + Dur::from_ms(ms);
                let (segment, ecn) = ends[from].poll_transmit(now).unwrap();
                ends[1 - from].on_segment(now + Dur::from_ms(30), &segment, ecn);
            }
            assert_eq!(ends[1].srtt_and_rto(), told(&ends[1]));
            assert_eq!(ends[1].srtt_and_rto().0, 60_000_000);
            assert!(ends[1].tx.is_none(), "nothing here needs it");
        }
    }
}
