//! The lazy sender: an end's sending half before it is made, and the specification from which it is made.
//! Source: none; a flow goes one way, and most ends of flows never send.
//! Deviations: none. Model: while nothing was written, an acknowledgement can only move the peer's window. Anything
//! else that an end learns or is asked for makes its sending half, which is then as if it had been there from the
//! start. Units: stream offsets, ns. Cost: O(1). Known problems: none.

use super::Connection;
use crate::tcp::established::Established;
use crate::tcp::params::TcpParams;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use crate::tcp::sender::incoming::IncomingAck;
use crate::tcp::sender::rtt::Rtt;
use crate::tcp::seq::Offset;
use crate::tcp::time::PosDur;
use alloc::boxed::Box;
use alloc::sync::Arc;
use haltere_congestion::{CongestionParams, Control, SenderContext};
use haltere_units::outside::Origin;
use haltere_units::{Bytes, Dur, ParamError};

/// What stands for the sending half until that is made; after that it means nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LazySender {
    /// End of the peer's window.
    window_end: Offset,
    /// Offset of the segment that advertised it (SND.WL1).
    window_seq: Offset,
    /// Smoothed round-trip time and timeout, after the handshake's one sample.
    srtt: Option<PosDur>,
    rto: Dur,
}

impl LazySender {
    pub(crate) fn new(p: &TcpParams) -> LazySender {
        LazySender { window_end: Offset::FIRST, window_seq: Offset::SYN, srtt: None, rto: Rtt::new(p).rto() }
    }

    /// The peer's SYN advertised this window.
    pub(crate) fn open(&mut self, window_end: Offset) {
        self.window_end = window_end;
    }

    /// The handshake took `rtt`, if that could be measured.
    pub(crate) fn on_established(&mut self, p: &TcpParams, rtt: Option<Dur>) {
        let mut estimator = Rtt::new(p);
        match rtt {
            Some(rtt) => estimator.sample(rtt, Offset::FIRST, Offset::FIRST),
            None => estimator.begin_without_sample(),
        }
        (self.srtt, self.rto) = (estimator.srtt(), estimator.rto());
    }

    /// An acknowledgement arrived. False if it says what only a sending half understands.
    #[inline]
    pub(crate) fn on_ack(&mut self, a: &IncomingAck<'_>) -> bool {
        if a.ack != Offset::FIRST || !a.sack.is_empty() || a.ece {
            return false;
        }
        if a.seq >= self.window_seq {
            self.window_seq = a.seq;
            self.window_end = self.window_end.max(a.ack + a.window);
        }
        true
    }
}

/// The sender specification: from what a sending half is made.
#[derive(Debug)]
pub(crate) struct SenderSpec {
    pub tcp: Arc<TcpParams>,
    control: Arc<CongestionParams>,
    origin: Origin,
    /// The handshake, once it is over.
    pub established: Option<Established>,
}

impl SenderSpec {
    /// Gives the control as well, which shows that the parameters are in order.
    pub(crate) fn new(
        tcp: Arc<TcpParams>,
        control: Arc<CongestionParams>,
        origin: Origin,
    ) -> Result<(SenderSpec, Control), ParamError> {
        tcp.check()?;
        let spec = SenderSpec { tcp, control, origin, established: None };
        let control = spec.try_control(spec.tcp.mss)?;
        Ok((spec, control))
    }

    fn try_control(&self, mss: Bytes) -> Result<Control, ParamError> {
        let initial_window = mss * u64::from(self.tcp.initial_window);
        let Origin { seed, outside } = self.origin.clone();
        Control::new(&self.control, &SenderContext { mss, initial_window, seed, outside })
    }

    /// A control for segments of that size.
    pub(crate) fn control(&self, mss: u64) -> Control {
        self.try_control(Bytes::new(mss)).expect("checked when the connection was made")
    }

    #[cold]
    fn boxed_sender(&self, lazy: &LazySender, rx: &Receiver, made: Option<Control>) -> Box<Sender> {
        Box::new(self.sender(lazy, rx, made))
    }

    /// The sending half as it is while it has sent nothing. `made` is a control for segments of the endpoint's own
    /// size.
    fn sender(&self, lazy: &LazySender, rx: &Receiver, made: Option<Control>) -> Sender {
        let made = made.filter(|_| rx.mss() == self.tcp.mss.as_u64());
        let mut tx = Sender::new(&self.tcp, rx.mss(), made.unwrap_or_else(|| self.control(rx.mss())));
        tx.on_options(rx.sack_ok(), lazy.window_end);
        tx.restore_window(lazy.window_end, lazy.window_seq);
        if let Some(established) = &self.established {
            tx.on_established(established);
        }
        tx
    }
}

impl Connection {
    /// The sending half, made if it is not there yet.
    #[inline]
    pub(crate) fn sender(&mut self) -> &mut Sender {
        let handshake = &mut self.handshake;
        self.tx.get_or_insert_with(|| {
            let made = handshake.as_mut().and_then(|handshake| handshake.control.take()).map(|control| *control);
            self.spec.boxed_sender(&self.lazy, &self.rx, made)
        })
    }
    /// The congestion control, if there is a sending half. What is changed in it counts from the next event on.
    #[inline]
    pub fn control_mut(&mut self) -> Option<&mut Control> {
        self.tx.as_mut().map(|tx| tx.control_mut())
    }
    /// The sending half of a connection of which it is known that it has one.
    #[inline]
    pub(crate) fn made_sender(&self) -> &Sender {
        self.tx.as_ref().expect("made with the connection")
    }
    /// Looks at the sending half, or at what it would be. Not cheap if it is not there.
    pub(crate) fn with_sender<R>(&self, look: impl FnOnce(&Sender) -> R) -> R {
        match &self.tx {
            Some(tx) => look(tx),
            None => look(&self.spec.sender(&self.lazy, &self.rx, None)),
        }
    }
    /// First offset not acknowledged.
    #[inline]
    pub(crate) fn una(&self) -> Offset {
        self.tx.as_ref().map_or(Offset::FIRST, |tx| tx.una())
    }
    /// First offset not sent.
    #[inline]
    pub(crate) fn nxt(&self) -> Offset {
        self.tx.as_ref().map_or(Offset::FIRST, |tx| tx.nxt())
    }
    /// Smoothed round-trip time and retransmission timeout.
    #[inline]
    pub(crate) fn srtt_and_rto(&self) -> (Option<PosDur>, Dur) {
        match &self.tx {
            Some(tx) => (tx.rtt().srtt(), tx.rtt().rto()),
            None => (self.lazy.srtt, self.lazy.rto),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::connection::Role;
    use crate::tcp::params::RtoRule;
    use haltere_units::Time;

    #[test]
    fn the_receiving_half_hears_the_same_estimates_from_either() {
        let rfc = TcpParams { rto_rule: RtoRule::Rfc6298, min_rto: Dur::from_ms(1), ..TcpParams::default() };
        for tcp in [TcpParams::default(), rfc].map(Arc::new) {
            let control = Arc::new(CongestionParams::default_of("reno").unwrap());
            let mut ends =
                [Role::Client, Role::Server].map(|r| Connection::new(r, tcp.clone(), control.clone(), 1).unwrap());
            let of_sender = |end: &Connection| end.with_sender(|tx| (tx.rtt().srtt(), tx.rtt().rto()));
            assert_eq!(ends[1].srtt_and_rto(), of_sender(&ends[1]));
            assert_eq!(ends[1].srtt_and_rto(), (None, Dur::from_secs(1)));
            ends[0].open(Time::ZERO);
            for (ms, from) in [(0, 0), (30, 1), (60, 0)] {
                let now = Time::ZERO + Dur::from_ms(ms);
                let (segment, ecn) = ends[from].poll_transmit(now).unwrap();
                ends[1 - from].on_segment(now + Dur::from_ms(30), &segment, ecn);
            }
            assert_eq!(ends[1].srtt_and_rto(), of_sender(&ends[1]));
            assert_eq!(ends[1].srtt_and_rto().0, PosDur::new(Dur::from_ms(60)));
            assert!(ends[1].tx.is_none(), "nothing here needs it");
        }
    }
}
