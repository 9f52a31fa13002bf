//! One TCP connection endpoint.

use crate::{Segment, TcpParams};
use haltere_congestion::CongestionParams;
use haltere_units::{Bytes, Dur, Ecn, ParamError, Rate, Time};

/// Which side opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Client,
    /// Waits for a SYN.
    Server,
}

/// What a connection shows of itself (Linux's `TCP_INFO`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Info {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Bytes,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Dur,
    /// Its variation.
    pub rttvar: Dur,
    /// Least round-trip time; zero before the first sample.
    pub min_rtt: Dur,
    /// Pacing rate, where the control paces.
    pub pacing_rate: Option<Rate>,
    /// Payload bytes acknowledged by the peer, in order.
    pub acked: u64,
    /// Payload bytes received in order.
    pub received: u64,
    /// Segments sent with payload, retransmissions included.
    pub segments_sent: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Recovery episodes begun by loss.
    pub recoveries: u64,
    /// Reductions answering an ECN echo.
    pub ecn_reductions: u64,
    /// Segments delivered in all, and of these with a CE mark.
    pub delivered: u64,
    /// Segments delivered with a CE mark.
    pub delivered_ce: u64,
}

/// A TCP endpoint without I/O.
#[derive(Debug)]
pub struct Connection {}

#[expect(unused_variables, reason = "the door; the rooms behind it follow")]
impl Connection {
    /// An endpoint with these parameters; `seed` gives the initial sequence number and such.
    pub fn new(role: Role, tcp: &TcpParams, control: &CongestionParams, seed: u64) -> Result<Connection, ParamError> {
        todo!()
    }
    /// Opens: a client sends its SYN at the next [`poll_transmit`](Connection::poll_transmit).
    pub fn open(&mut self, now: Time) {
        todo!()
    }
    /// A segment arrived, whose IP header carried `ecn`.
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        todo!()
    }
    /// The time that [`next_timeout`](Connection::next_timeout) named has come (earlier calls do no harm).
    pub fn on_timeout(&mut self, now: Time) {
        todo!()
    }
    /// The next segment to send now, with its ECN codepoint; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        todo!()
    }
    /// When [`on_timeout`](Connection::on_timeout) is to be called, if ever. Cheap.
    pub fn next_timeout(&self) -> Option<Time> {
        todo!()
    }
    /// The application writes up to `bytes` (lengths only); what the send buffer takes is returned.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        todo!()
    }
    /// The application always has more to send, as much as the send buffer takes.
    pub fn write_endless(&mut self) {
        todo!()
    }
    /// Payload bytes received in order and not yet read.
    pub fn readable(&self) -> u64 {
        todo!()
    }
    /// The application reads up to `bytes`; what was there is returned.
    pub fn read(&mut self, bytes: u64) -> u64 {
        todo!()
    }
    /// No more data will be written: FIN after what is in the buffer.
    pub fn close(&mut self) {
        todo!()
    }
    /// True once the handshake is done.
    pub fn is_established(&self) -> bool {
        todo!()
    }
    /// True once both sides have closed and everything is acknowledged, or after a reset.
    pub fn is_closed(&self) -> bool {
        todo!()
    }
    /// What the connection shows of itself.
    pub fn info(&self) -> Info {
        todo!()
    }
}
