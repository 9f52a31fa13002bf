//! The send buffer: what the application wrote, what of it was sent, and what of that was acknowledged.
//! Source: RFC 9293 section 3.3.1 (SND.UNA, SND.NXT) and 3.9.1.2 (PSH), RFC 896 in Minshall's variant, Linux's
//! `tcp_sendmsg` (where a segment is pushed).
//! Deviations (Linux): a full segment is sent only if all of it fits the peer's window. If all that was written can
//! leave at once when the application closes, the FIN is a segment of its own, else it rides on the last segment. A
//! segment with the FIN ignores the congestion window. Three segments are pushed: the one that ends a write, the last
//! one for which the buffer had room, and one after each half of the largest window seen. The push of a small segment
//! is taken back if more is written before it leaves; half of the window is counted from it all the same.
//! Model: a write that finds no room makes the application wait. It writes again once a third of the buffer is free
//! ([`SendMemory`]), as much as there is room for, in writes of 128 KiB at most. It runs after all acknowledgements of an
//! instant: what a second one frees goes into the same write. An endless application always waits for room.
//! Units: stream offsets, bytes. Cost: O(1), a write O(pushes). Known problems: none.

use super::pushes::Pushes;
use super::send_memory::SendMemory;
use crate::tcp::params::TcpParams;
use crate::tcp::seq::{Offset, StreamEnd};
use haltere_units::Time;

/// What an application writes at a time if it has more (iperf3's default).
const WRITE: u64 = 131_072;

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
    memory: SendMemory,
    pushes: Pushes,
    /// The last of these that there was (Linux's `pushed_seq`).
    pushed: Offset,
    /// The offset after the last small segment sent (Minshall).
    small_end: Offset,
    nagle: bool,
    fin_place: FinPlace,
    /// The application always has more to write.
    endless: bool,
    /// The application waits until there is room.
    waits: bool,
    /// When it was woken last, and what was pushed by then.
    woken: (Time, Offset),
}

impl SendBuffer {
    /// `windows`: the congestion windows for which there is to be room.
    pub(crate) fn new(p: &TcpParams, mss: u64, windows: u8) -> SendBuffer {
        SendBuffer {
            una: Offset::FIRST,
            nxt: Offset::FIRST,
            write_end: Offset::FIRST,
            fin: StreamEnd::UNKNOWN,
            mss,
            memory: SendMemory::new(p, mss, windows),
            pushes: Pushes::new(),
            pushed: Offset::FIRST,
            small_end: Offset::SYN,
            nagle: p.nagle,
            fin_place: FinPlace::Undecided,
            endless: false,
            waits: false,
            woken: (Time::NEVER, Offset::FIRST),
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
        self.memory.set_mss(mss);
    }
    /// The handshake showed the peer's window: what was written before is pushed by it.
    pub(crate) fn on_first_window(&mut self, largest: u64) {
        if self.nxt == Offset::FIRST && self.write_end > Offset::FIRST {
            let bytes = self.write_end - Offset::FIRST;
            self.pushes.clear();
            (self.pushed, self.write_end) = (Offset::FIRST, Offset::FIRST);
            self.add(bytes, largest);
        }
    }

    /// The application writes. Gives the bytes that there was room for. `largest`: the peer's largest window.
    pub(crate) fn write(&mut self, bytes: u64, largest: u64) -> u64 {
        let taken = bytes.min(self.writable());
        if !self.fin.is_known() {
            self.waits |= taken < bytes;
        }
        self.add(taken, largest);
        taken
    }
    /// Bytes that [`write`](SendBuffer::write) would take.
    pub(crate) fn writable(&self) -> u64 {
        if self.fin.is_known() || self.endless || self.waits { 0 } else { self.room() }
    }
    #[inline]
    fn room(&self) -> u64 {
        self.memory.limit().saturating_sub(self.write_end.since(self.una))
    }
    /// Adds bytes for which the caller has seen to it that there is room. Of what is added before it leaves the end is
    /// pushed.
    pub(crate) fn append(&mut self, bytes: u64) {
        self.take_back_push();
        self.add(bytes, 0);
    }
    /// The application has no end of data.
    pub(crate) fn write_endless(&mut self, largest: u64) {
        if !self.fin.is_known() {
            self.endless = true;
            self.refill(largest);
        }
    }
    /// An endless application writes what there is room for.
    pub(crate) fn refill(&mut self, largest: u64) {
        self.add(self.room(), largest);
        self.waits = true;
    }
    /// The window has so many segments, and is not full.
    pub(crate) fn tune(&mut self, segments: u64) {
        self.memory.tune(segments, self.mss);
    }
    /// So many SACKed segments lie in packet buffers of their neighbours.
    #[inline]
    pub(crate) fn set_merged(&mut self, segments: u64) {
        self.memory.set_merged(segments, self.mss);
    }
    /// If the application waits and there is room, it waits no more. True if it is endless.
    #[inline]
    pub(crate) fn wakes_writer(&mut self, now: Time) -> bool {
        if self.waits && self.woken.0 == now && self.room() > 0 {
            self.waits = false;
            if self.take_back_push() {
                self.pushed = self.woken.1;
            }
        } else if self.waits && self.write_end.since(self.una) <= self.memory.wakes_below() {
            self.waits = false;
            self.woken = (now, self.pushed);
        }
        !self.waits && self.endless && !self.fin.is_known()
    }
    /// The push of what was written last is taken back. False if it has left.
    fn take_back_push(&mut self) -> bool {
        self.pushes.take_back(self.write_end)
    }

    /// The application adds to the stream, by writes of which each ends with a push.
    fn add(&mut self, mut bytes: u64, largest: u64) {
        while bytes > 0 {
            let write = bytes.min(WRITE);
            self.add_write(write, largest);
            bytes -= write;
        }
    }
    /// The stream grows. The segments that Linux pushes are noted.
    fn add_write(&mut self, bytes: u64, largest: u64) {
        let tail = self.write_end.since(self.nxt) % self.mss;
        if tail > 0 {
            self.take_back_push();
        }
        let mut filled = self.write_end + (self.mss - tail);
        self.write_end += bytes;
        let half = largest / 2;
        while half > 0 && filled < self.write_end {
            let short = (self.pushed + half + 1).since(filled);
            filled += short.next_multiple_of(self.mss);
            if filled < self.write_end {
                self.push(filled);
                filled += self.mss;
            }
        }
        self.push(self.write_end);
    }
    fn push(&mut self, end: Offset) {
        self.pushes.add(end);
        self.pushed = end;
    }
    /// A FIN follows what was written, or, of an endless stream, what was sent.
    pub(crate) fn close(&mut self) {
        if self.fin.is_known() {
            return;
        }
        if self.endless {
            self.write_end = self.nxt;
            self.pushes.clear();
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
        self.fin_place = if fits && !held { FinPlace::Alone } else { FinPlace::OnLast };
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
    /// A new segment of `len` bytes was sent, with the FIN if `fin`. True if it is pushed.
    #[inline]
    pub(crate) fn sent(&mut self, len: u32, fin: bool) -> bool {
        self.nxt += u64::from(len + u32::from(fin));
        if u64::from(len) < self.mss && len > 0 {
            self.small_end = self.nxt;
        }
        self.pushes.sent(self.nxt)
    }

    /// Length of the next new segment that fits `room` and the peer's window, and whether it carries the FIN. `idle`:
    /// nothing is in flight.
    #[inline]
    pub(crate) fn next_segment(&self, room: u64, window_end: Offset, idle: bool) -> Option<(u32, bool)> {
        let len = self.unsent().min(self.mss);
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
    /// Bytes of its heap.
    pub(crate) fn heap(&self) -> usize {
        self.pushes.heap()
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use haltere_units::Bytes;

    const MSS: u64 = 1448;
    const SEGMENT: u32 = 1448;

    fn buffer(size: Option<u64>) -> SendBuffer {
        let p = TcpParams { send_buffer: size.map(Bytes::new), ..TcpParams::default() };
        SendBuffer::new(&p, MSS, 2)
    }
    /// Numbers of the segments, from 1 on, that are pushed when all but a small one is sent.
    fn send(b: &mut SendBuffer) -> Vec<u64> {
        let mut pushed = Vec::new();
        while b.unsent() >= MSS {
            if b.sent(SEGMENT, false) {
                pushed.push((b.nxt - Offset::FIRST) / MSS);
            }
        }
        pushed
    }

    #[test]
    fn the_last_segment_that_finds_room_is_pushed() {
        let mut b = buffer(None);
        assert_eq!(b.write(100_000, 64_240), 17 * MSS);
        assert_eq!(send(&mut b), [17]);
        b.acknowledge(Offset::FIRST + 5 * MSS);
        b.wakes_writer(Time::from_ns(1));
        assert_eq!(b.writable(), 0, "twelve segments wait: a third is not free");
        b.acknowledge(Offset::FIRST + 6 * MSS);
        b.wakes_writer(Time::from_ns(2));
        assert_eq!(b.write(100_000 - 17 * MSS, 64_240), 6 * MSS);
        b.acknowledge(Offset::FIRST + 7 * MSS);
        b.wakes_writer(Time::from_ns(2));
        assert_eq!(b.write(100_000 - 23 * MSS, 64_240), MSS, "at the same instant: the write goes on");
        b.acknowledge(Offset::FIRST + 8 * MSS);
        b.wakes_writer(Time::from_ns(3));
        assert_eq!(b.writable(), 0);
        assert_eq!(send(&mut b), [24], "one write, one push");
    }

    /// Half of 40 segments and more than that: 21 segments after the last push.
    #[test]
    fn a_segment_is_pushed_beyond_half_of_the_largest_window() {
        let mut b = buffer(Some(1 << 20));
        b.write(70 * MSS, 40 * MSS);
        assert_eq!(send(&mut b), [21, 42, 63, 70]);
        b.write(10 * MSS, 40 * MSS);
        b.write(15 * MSS, 40 * MSS);
        assert_eq!(send(&mut b), [80, 95], "each write ends with one");
    }

    /// 131072 bytes are 90.5 segments: the push of the half one is taken back, and half a window counts from it.
    #[test]
    fn a_long_write_is_several_of_128_kib() {
        let mut b = buffer(Some(1 << 20));
        b.write(160 * MSS, 140 * MSS);
        assert_eq!(send(&mut b), [71, 160], "half a window after the half segment would be the 161st");
    }

    #[test]
    fn a_small_segment_that_grows_before_it_leaves_is_not_pushed() {
        let mut b = buffer(Some(1 << 20));
        b.write(1000, 64_240);
        b.write(1000, 64_240);
        assert!(send(&mut b).is_empty());
        assert!(b.sent(552, false), "the rest is");
        b.write(1000, 64_240);
        b.write(MSS, 64_240);
        assert!(!b.sent(SEGMENT, false), "a small one left before: the next begins anew");
        assert!(b.sent(1000, false));
    }

    #[test]
    fn of_what_is_appended_before_it_leaves_the_end_is_pushed() {
        let mut b = buffer(None);
        (0..3).for_each(|_| b.append(MSS));
        assert_eq!(send(&mut b), [3]);
        (0..2).for_each(|_| b.append(MSS));
        assert_eq!(send(&mut b), [5]);
    }

    #[test]
    fn what_is_written_before_the_handshake_is_pushed_by_the_window_that_it_shows() {
        let mut b = buffer(Some(1 << 20));
        b.write(30 * MSS, 0);
        b.on_first_window(40 * MSS);
        assert_eq!(send(&mut b), [21, 30]);
    }
}
