//! The application's side of a connection: writing, reading, closing, with lengths only or with bytes.

use super::payload::Payload;
use super::{Connection, State};
use crate::tcp::segment::Segment;
use crate::tcp::sender::Sender;
use alloc::boxed::Box;
use haltere_units::{Bytes, Ecn, Time};

impl Connection {
    /// The application writes up to `bytes` (lengths only). Returns what the send buffer takes.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        Bytes::new(self.write_length(bytes.as_u64()))
    }
    fn write_length(&mut self, bytes: u64) -> u64 {
        let now = self.clock;
        self.sender().write(bytes, now)
    }
    /// The application always has more to send, as much as the send buffer takes.
    pub fn write_endless(&mut self) {
        self.sender().write_endless();
    }
    /// The application writes these bytes. Returns how many the send buffer took. Not to be mixed with
    /// [`write`](Connection::write), which has lengths only.
    pub fn write_payload(&mut self, bytes: &[u8]) -> usize {
        let taken = self.write_length(bytes.len() as u64) as usize;
        self.bytes().write(&bytes[..taken]);
        taken
    }
    /// The application reads bytes in order. Returns how many there were.
    pub fn read_payload(&mut self, into: &mut [u8]) -> usize {
        let count = self.bytes().read(into);
        self.read(count as u64);
        count
    }
    /// Copies the payload of a segment from [`poll_transmit`](Connection::poll_transmit), before the next call of
    /// [`on_segment`](Connection::on_segment). Returns how many bytes there were.
    pub fn copy_payload(&self, segment: &Segment, into: &mut [u8]) -> usize {
        let room = into.len().min(segment.len as usize);
        let offset = self.iss.offset_of(segment.seq, self.nxt());
        self.payload.as_ref().map_or(0, |p| p.copy(offset, &mut into[..room]))
    }
    /// A segment arrived with its payload.
    pub fn on_segment_with(&mut self, now: Time, segment: &Segment, ecn: Ecn, payload: &[u8]) {
        let before = self.rx.next();
        let edge = before + self.rx.room();
        self.on_segment(now, segment, ecn);
        let (start, una, next) = (self.irs.offset_of(segment.seq, before), self.una(), self.rx.stream_end());
        let bytes = self.bytes();
        bytes.acknowledged(una);
        if !payload.is_empty() && start <= edge.max(next) {
            bytes.arrived(start, payload, next);
        }
    }
    fn bytes(&mut self) -> &mut Payload {
        self.payload.get_or_insert_with(|| Box::new(Payload::new()))
    }
    /// Bytes that [`write`](Connection::write) would take now.
    pub fn writable(&self) -> Bytes {
        Bytes::new(self.with_sender(Sender::writable))
    }
    /// Payload bytes written and not yet acknowledged by the peer.
    pub fn unacknowledged(&self) -> Bytes {
        Bytes::new(self.tx.as_ref().map_or(0, |tx| tx.buffer().write_end().since(tx.una())))
    }
    /// Payload bytes received in order and not yet read.
    pub fn readable(&self) -> u64 {
        self.rx.unread()
    }
    /// The application reads up to `bytes`. Returns what was there.
    pub fn read(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.rx.unread());
        if taken > 0 {
            self.rx.consume(self.clock, taken);
            self.rx.after_read(self.clock);
        }
        taken
    }
    /// The application reads everything at once, from now on.
    pub fn read_endless(&mut self) {
        self.rx.read_endless();
    }
    /// No more data will be written: FIN after what is in the buffer.
    pub fn close(&mut self) {
        self.sender().close();
    }
    /// Ends the connection at once with a RST.
    pub fn abort(&mut self) {
        self.rst_due = matches!(self.state, State::Established | State::SynReceived);
        self.state = State::Reset;
    }
    /// Packets of one MSS that a segment stands for: more than one only with
    /// [`Offload::Packet`](crate::Offload::Packet).
    pub fn packets_in(&self, segment: &Segment) -> u32 {
        (u64::from(segment.len).div_ceil(self.rx.mss()) as u32).max(1)
    }
    /// True once the handshake is done.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }
    /// True once the peer's FIN is here: nothing more will be readable than is.
    pub fn is_peer_closed(&self) -> bool {
        self.rx.is_finished()
    }
    /// True once both sides have closed and everything is acknowledged, or after a reset.
    pub fn is_closed(&self) -> bool {
        let done = self.tx.as_ref().is_some_and(|tx| tx.buffer().fin_acked())
            && self.is_peer_closed()
            && !self.rx.acks().is_due();
        done || (self.state == State::Reset && !self.rst_due)
    }
}
