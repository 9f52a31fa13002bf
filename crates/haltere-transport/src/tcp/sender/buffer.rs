//! The send buffer: what the application wrote, what of it was sent, and what of that was acknowledged.
//! Source: RFC 9293 section 3.3.1 (SND.UNA, SND.NXT), RFC 896 in Minshall's variant, Linux's `tcp_sndbuf_expand`.
//! Deviations (Linux): a full segment is sent only if all of it fits the peer's window. If all that was written can
//! leave at once when the application closes, the FIN is a segment of its own, else it rides on the last segment. A
//! segment with the FIN ignores the congestion window.
//! Units: stream offsets, bytes. Cost: O(1). Known problems: none.

use crate::tcp::params::TcpParams;
use crate::tcp::seq::{Offset, StreamEnd};

/// Where the FIN goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FinPlace {
    /// The application has not closed, or nothing was sent since.
    Undecided,
    /// A segment of its own: the data was on its way when the application closed.
    Alone,
    /// On the last segment of the data.
    OnLast,
}

/// What may leave at this instant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sendable {
    /// Bytes that the congestion window has room for.
    pub room: u64,
    /// The first offset that the peer does not take.
    pub window_end: Offset,
    /// Segments that pacing lets go.
    pub burst: u64,
    /// Nothing is in flight.
    pub idle: bool,
}

#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// SND.UNA: the first offset not acknowledged.
    una: Offset,
    /// SND.NXT: the first offset not sent.
    nxt: Offset,
    /// The end of what the application wrote.
    write_end: Offset,
    fin: StreamEnd,
    mss: u64,
    /// Bytes that it holds at most.
    capacity: u64,
    /// The offset after the last small segment sent (Minshall).
    small_end: Offset,
    fixed: bool,
    nagle: bool,
    fin_place: FinPlace,
    /// The application always has more to write.
    endless: bool,
}

impl SendBuffer {
    pub(crate) fn new(p: &TcpParams, mss: u64) -> SendBuffer {
        SendBuffer {
            una: Offset::FIRST,
            nxt: Offset::FIRST,
            write_end: Offset::FIRST,
            fin: StreamEnd::UNKNOWN,
            mss,
            capacity: p.send_buffer.unwrap_or(p.send_buffer_max).as_u64(),
            small_end: Offset::SYN,
            fixed: p.send_buffer.is_some(),
            nagle: p.nagle,
            fin_place: FinPlace::Undecided,
            endless: false,
        }
    }

    #[inline]
    pub(crate) fn una(&self) -> Offset {
        self.una
    }
    #[inline]
    pub(crate) fn nxt(&self) -> Offset {
        self.nxt
    }
    #[inline]
    pub(crate) fn write_end(&self) -> Offset {
        self.write_end
    }
    #[inline]
    pub(crate) fn fin(&self) -> StreamEnd {
        self.fin
    }
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }
    /// The handshake agreed on segments of another size.
    pub(crate) fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }

    /// The application writes. Gives the bytes that there was room for.
    pub(crate) fn write(&mut self, bytes: u64, cwnd: u64) -> u64 {
        let taken = bytes.min(self.writable(cwnd));
        self.write_end += taken;
        taken
    }
    /// Bytes that [`write`](SendBuffer::write) would take. A tuned buffer has room for twice the window.
    pub(crate) fn writable(&self, cwnd: u64) -> u64 {
        if self.fin.is_known() || self.endless {
            return 0;
        }
        let tuned = 2 * cwnd.max(10 * self.mss);
        let size = if self.fixed { self.capacity } else { tuned.min(self.capacity) };
        size.saturating_sub(self.write_end - self.una)
    }
    /// Adds bytes for which the caller has seen to it that there is room.
    pub(crate) fn append(&mut self, bytes: u64) {
        self.write_end += bytes;
    }
    pub(crate) fn write_endless(&mut self) {
        if !self.fin.is_known() {
            self.endless = true;
            self.write_end = Offset::UNREACHABLE;
        }
    }
    /// A FIN follows what was written, or, of an endless stream, what was sent.
    pub(crate) fn close(&mut self) {
        if self.fin.is_known() {
            return;
        }
        if self.endless {
            self.write_end = self.nxt;
        }
        self.fin = StreamEnd::at(self.write_end);
    }

    /// True if the application has closed, and nothing was sent since.
    #[inline]
    pub(crate) fn has_fin_to_place(&self) -> bool {
        self.fin.is_known() && self.fin_place == FinPlace::Undecided
    }
    /// The first opportunity to send since the application closed: a FIN rides only on data that has to wait.
    pub(crate) fn place_fin(&mut self, s: &Sendable) {
        let unsent = self.unsent();
        let small_tail = !unsent.is_multiple_of(self.mss);
        let held = small_tail && self.is_small_held(s.idle);
        let fits = unsent <= s.room && unsent.div_ceil(self.mss) <= s.burst && self.write_end <= s.window_end;
        let leaves = fits && !held && self.write_end <= self.una + self.capacity;
        self.fin_place = if leaves { FinPlace::Alone } else { FinPlace::OnLast };
    }
    /// Minshall: a small segment is held back while another one is in flight.
    #[inline]
    fn is_small_held(&self, idle: bool) -> bool {
        self.nagle && !idle && self.small_end > self.una
    }
    /// True if the segment of `len` bytes that ends at `end` carries the FIN.
    #[inline]
    fn carries_fin(&self, len: u64, end: Offset) -> bool {
        self.fin.is_at(end) && (len == 0 || self.fin_place == FinPlace::OnLast)
    }

    /// Bytes written and not sent.
    #[inline]
    pub(crate) fn unsent(&self) -> u64 {
        self.write_end.since(self.nxt)
    }
    /// True if data, or a FIN, was never sent.
    #[inline]
    pub(crate) fn has_new(&self) -> bool {
        self.nxt < self.write_end || self.fin.is_at(self.nxt)
    }
    /// True once the FIN was sent and acknowledged.
    pub(crate) fn fin_acked(&self) -> bool {
        self.fin.is_before(self.una)
    }

    /// Everything before `ack` is acknowledged.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: Offset) {
        self.una = ack;
    }
    /// A new segment of `len` bytes was sent, with the FIN if `fin`.
    #[inline]
    pub(crate) fn sent(&mut self, len: u32, fin: bool) {
        self.nxt += u64::from(len + u32::from(fin));
        if u64::from(len) < self.mss && len > 0 {
            self.small_end = self.nxt;
        }
    }

    /// Length of the next new segment that fits `room` and the peer's window, and whether it carries the FIN. `idle`:
    /// nothing is in flight.
    #[inline]
    pub(crate) fn next_segment(&self, room: u64, window_end: Offset, idle: bool) -> Option<(u32, bool)> {
        let end = self.write_end.min(self.una + self.capacity);
        let len = end.since(self.nxt).min(self.mss);
        let segment_end = self.nxt + len;
        if len == self.mss {
            // The usual case.
            let fin = self.carries_fin(len, segment_end);
            if (room < len && !fin) || segment_end > window_end {
                return None;
            }
            return Some((len as u32, fin));
        }
        let fin = self.carries_fin(len, segment_end);
        if (len > 0 && segment_end > window_end) || (!fin && (len == 0 || room < len || self.is_small_held(idle))) {
            return None;
        }
        Some((len as u32, fin))
    }
    /// True if all of the next segment lies within the peer's window.
    pub(crate) fn next_fits(&self, window_end: Offset) -> bool {
        self.nxt + self.unsent().min(self.mss) <= window_end
    }
    /// What the peer's window has room for, short of a whole segment, and whether that ends with the FIN.
    pub(crate) fn window_probe(&self, window_end: Offset) -> Option<(u32, bool)> {
        let fits = window_end.since(self.nxt).min(self.mss).min(self.unsent());
        (fits > 0).then(|| (fits as u32, self.carries_fin(fits, self.nxt + fits)))
    }
}
