//! One subflow: a TCP connection and the maps from its stream to the connection's, one for each direction.
//! Source: RFC 8684 sections 3.3.1 to 3.3.3 (data sequence mapping, data acknowledgement, closing).
//! Deviations: the mapping covers the payload of its segment; offsets have 64 bits and begin at 0. Every
//! segment carries the end of the stream once that is known, instead of a flag on one of them.
//! Units: offsets of the subflow's stream (the SYN is 0, the first byte 1), bytes of the connection's stream. Cost:
//! O(1) in order.

use crate::tcp::connection::Connection;
use crate::tcp::segment::Segment;
use crate::tcp::sender::send_memory::{FIRST_WINDOW, beside_payload, computed};
use crate::tcp::seq::{Offset, Span};
use alloc::collections::VecDeque;
use haltere_units::{Dur, Time};

/// What a segment of a multipath connection carries besides TCP (RFC 8684's DSS option).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dss {
    /// Where the first payload byte belongs in the connection's stream.
    pub data: Option<u64>,
    /// First byte of the connection's stream that has not arrived; one more once the end has.
    pub ack: u64,
    /// Bytes after `ack` that the receiver takes.
    pub window: u64,
    /// Where the stream ends, once that is known.
    pub end: Option<u64>,
    /// When the segment left, by the sender's clock.
    pub sent_at: Time,
    /// The one-way delay of the segment received last on this subflow, by both clocks.
    pub delay: Option<Dur>,
}

impl Dss {
    /// Bytes of the option in a TCP header, as Linux fills it: an acknowledgement of 8 bytes alone, or with a mapping
    /// one of 4 and a sequence number of 8, without checksum, rounded up to a multiple of four.
    pub fn option_len(&self) -> u32 {
        if self.data.is_some() { DATA_OPTION } else { 12 }
    }
}

/// A range of a subflow's stream and where it belongs.
#[derive(Debug, Clone, Copy)]
struct Map {
    sub: Offset,
    len: u32,
    data: u64,
}

impl Map {
    fn end(&self) -> Offset {
        self.sub + u64::from(self.len)
    }
    /// Where an offset of the subflow belongs in the connection's stream.
    fn stream_offset(&self, sub: Offset) -> Offset {
        Offset::new(self.data + (sub - self.sub))
    }
}

/// Bytes of the option of a segment with data.
pub(crate) const DATA_OPTION: u32 = 24;

#[derive(Debug)]
pub(crate) struct Subflow {
    pub conn: Connection,
    /// Ranges sent and not acknowledged by the subflow, in order.
    sent: VecDeque<Map>,
    /// Ranges received and not yet read from the subflow, in order.
    received: VecDeque<Map>,
    /// Next offset of the subflow to be read.
    read: Offset,
    /// Next byte of the connection's stream that a replicating scheduler looks at.
    pub cursor: u64,
    /// It has left, or was given up.
    pub gone: bool,
    /// Its SYN may go out.
    pub opened: bool,
    /// Timeouts at the last look.
    pub timeouts: u64,
    /// The last delay measured here, to be reported to the peer; the last one that the peer reported.
    pub delay_here: Option<Dur>,
    pub delay_there: Option<Dur>,
    pub srtt_seen: u64,
    pub penalised_until: Time,
    /// Memory of its own buffer, for what is sent and what is not, if the scheduler queues ahead.
    pub memory: u64,
    /// End of the last chunk that was shorter than a segment: none may follow in the same segment.
    short_end: Offset,
    pub segments: u64,
    pub bytes: u64,
    pub replicas: u64,
    pub reinjected: u64,
    pub dup_acks: u64,
}

impl Subflow {
    pub fn new(mut conn: Connection) -> Subflow {
        let mss = conn.sender().mss(); // its window and its control count from the start
        Subflow {
            memory: 2 * FIRST_WINDOW * computed(conn.params().header_room.as_u64(), mss),
            short_end: Offset::SYN,
            conn,
            sent: VecDeque::new(),
            received: VecDeque::new(),
            read: Offset::FIRST,
            cursor: 0,
            gone: false,
            opened: false,
            timeouts: 0,
            delay_here: None,
            delay_there: None,
            srtt_seen: 0,
            penalised_until: Time::ZERO,
            segments: 0,
            bytes: 0,
            replicas: 0,
            reinjected: 0,
            dup_acks: 0,
        }
    }
    /// Nothing was acknowledged since its last timeout.
    pub fn is_silent(&self) -> bool {
        self.conn.made_sender().timers().retries() > 0
    }
    /// Established, and not silent since a timeout.
    pub fn is_usable(&self) -> bool {
        !self.gone && self.conn.is_established() && !self.is_silent()
    }
    /// Nothing waits to be sent, and a segment of `len` bytes may go now. If only pacing forbids it, the subflow wakes
    /// up when it may.
    pub fn is_ready(&mut self, now: Time, len: u64) -> bool {
        let tx = self.conn.sender();
        let sent_all = tx.nxt() == tx.buffer().write_end();
        sent_all && tx.in_flight() + len <= tx.cwnd() && tx.nxt() + len <= tx.window_end() && tx.may_pace(now)
    }
    /// The subflow's own buffer takes a segment, sent now or not, and the segment has one mapping.
    pub fn has_room(&self) -> bool {
        let tx = self.conn.made_sender();
        // All of it fits the peer's window, or that would cut a segment in two.
        let write_end = tx.buffer().write_end();
        let fits = write_end + tx.mss() <= tx.window_end();
        let segment = tx.mss() + beside_payload(self.conn.params().header_room.as_u64());
        let taken = write_end.since(tx.una()).div_ceil(tx.mss()) * segment;
        taken < self.memory && tx.nxt() >= self.short_end && fits
    }
    /// As Linux tunes a send buffer: twice the window if that is not filled. It never shrinks.
    pub fn tune_memory(&mut self) {
        let (tx, headers) = (self.conn.made_sender(), self.conn.params().header_room.as_u64());
        if tx.in_flight() + tx.mss() <= tx.cwnd() {
            self.memory = self.memory.max(2 * (tx.cwnd() / tx.mss()) * computed(headers, tx.mss()));
        }
    }
    /// Writes `len` bytes that begin at `data` of the connection's stream.
    pub fn write(&mut self, data: u64, len: u32) {
        let tx = self.conn.sender();
        self.sent.push_back(Map { sub: tx.buffer().write_end(), len, data });
        tx.append(u64::from(len));
        if u64::from(len) < tx.mss() {
            self.short_end = tx.buffer().write_end();
        }
        self.segments += 1;
        self.bytes += u64::from(len);
    }
    /// Where the payload of a segment that was just sent belongs.
    pub fn mapping(&self, segment: &Segment) -> Option<u64> {
        if segment.len == 0 {
            return None;
        }
        let at = self.conn.iss().offset_of(segment.seq, self.conn.nxt());
        let index = self.sent.partition_point(|m| m.end() <= at);
        let map = self.sent.get(index).expect("what is sent was written with its mapping");
        Some(map.data + (at - map.sub))
    }
    /// Forgets the maps of what the subflow's peer has.
    pub fn trim(&mut self) {
        let una = self.conn.una();
        while self.sent.front().is_some_and(|m| m.end() <= una) {
            self.sent.pop_front();
        }
    }
    /// A data segment arrived: remembers where it belongs.
    pub fn map_arrival(&mut self, segment: &Segment, data: u64) {
        let start = self.conn.irs().offset_of(segment.seq, self.conn.receiver().next());
        let map = Map { sub: start, len: segment.len, data };
        if map.end() <= self.read {
            return;
        }
        let index = self.received.partition_point(|m| m.sub < start);
        if self.received.get(index).is_none_or(|m| m.sub != start) {
            self.received.insert(index, map);
        } else if self.received[index].len < segment.len {
            self.received[index] = map;
        }
    }
    /// Reads what the subflow has in order, and gives the range of the connection's stream that it is.
    pub fn next_range(&mut self) -> Option<Span> {
        let upto = self.read + self.conn.readable();
        let map = *self.received.front()?;
        let (from, to) = (map.sub.max(self.read), map.end().min(upto));
        if map.sub > self.read || to <= from {
            if map.end() <= self.read {
                self.received.pop_front();
                return self.next_range();
            }
            return None;
        }
        self.conn.read(to - self.read);
        self.read = to;
        if map.end() <= to {
            self.received.pop_front();
        }
        Some(Span::new(map.stream_offset(from), map.stream_offset(to)))
    }
}
