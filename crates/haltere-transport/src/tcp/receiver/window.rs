//! The receive window: how much the peer may send.
//! Source: Linux (dynamic right-sizing, Fisk and Feng 2001; `rcv_ssthresh`), RFC 7323 section 2.3 (never shrink), RFC
//! 9293 section 3.8.6.2.2.
//! Deviations (Linux): overhead of packet buffers is taken as half the buffer (`tcp_adv_win_scale` 1) and sizes here
//! are windows, after that half; data waiting out of order keeps the window from growing, but takes no space of it (it
//! was advertised already).
//! Model: the window advertised opens by two segments for each segment in order, up to the buffer; once a round trip
//! the buffer grows to twice what the application read in it plus 16 segments, and more while that grows:
//!
//! ```text
//!     window = 2 copied + 16 mss; window += 2 window (copied - before) / before
//! ```
//!
//! It grows by whole segments, each as large as the memory that Linux counts for it. An application that waits for
//! data reads after all segments of an instant are here, so its reading counts when the instant is over. A segment that
//! fills a hole is a buffer of its own, and Linux measures after each buffer that it copies: what the segment sets free
//! counts to the next round trip.
//!
//! Units: bytes, ns. Cost: O(1) a segment. Known problems: a fixed buffer advertises all of itself at once, Linux opens
//! it step by step.

use crate::tcp::params::TcpParams;
use crate::tcp::sender::send_memory::{beside_payload, received};
use crate::tcp::seq::Offset;
use crate::tcp::time::{Ms, PosDur};
use core::num::NonZeroU64;
use haltere_units::{Dur, Time};

#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    /// Window that the whole buffer makes.
    clamp: u64,
    max: u64,
    tuned: bool,
    /// What may be advertised so far.
    ssthresh: u64,
    mss: u32,
    /// The part of the window that a byte takes until the application reads it, in 65,536ths.
    weight: u32,
    /// Room for headers in a packet's memory.
    headers: u16,
    /// The window field of a SYN.
    first: u16,
    /// Shift of the window field of segments that we send.
    scale: u8,
    /// Right edge advertised last.
    edge: Offset,
    /// Round-trip time in ns as the receiver sees it, times 8.
    rtt8: Option<NonZeroU64>,
    last_echo: Option<Ms>,
    /// The measurement of what the application reads in a round trip.
    space: u64,
    read_before: Offset,
    since: Time,
}

impl ReceiveWindow {
    pub(crate) fn new(p: &TcpParams) -> ReceiveWindow {
        let mss = p.mss.as_u64();
        let tuned = p.recv_buffer.is_none();
        let clamp = p.recv_buffer.unwrap_or(p.recv_buffer_initial).as_u64();
        let max = if tuned { p.recv_buffer_max.as_u64() } else { clamp };
        // Linux computes the scale from the buffer, of which the window is half.
        let small = |scale: u8| if tuned { (2 * max) >> (scale + 16) > 0 } else { 65_535 << scale < max };
        let mut scale = 0;
        while p.window_scaling && scale < 14 && small(scale) {
            scale += 1;
        }
        let headers = p.header_room.as_u64() as u16;
        ReceiveWindow {
            clamp,
            max,
            tuned,
            ssthresh: clamp,
            mss: mss as u32,
            weight: weight(tuned, headers, mss),
            headers,
            first: whole(clamp, if tuned { mss + 12 } else { 1 }),
            scale,
            edge: Offset::SYN,
            rtt8: None,
            last_echo: None,
            space: 0,
            read_before: Offset::SYN,
            since: Time::ZERO,
        }
    }

    /// Payload of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.mss.into()
    }
    /// Shift of the window field of segments that we send.
    pub(crate) fn scale(&self) -> u8 {
        self.scale
    }
    /// The edge that the peer knows is at least this.
    pub(crate) fn raise_edge(&mut self, edge: Offset) {
        self.edge = self.edge.max(edge);
    }
    /// Room up to the edge advertised, from offset `next` on.
    #[inline]
    pub(crate) fn room(&self, next: Offset) -> u64 {
        self.edge.since(next)
    }

    /// The handshake is done: one segment of the buffer is set aside; measuring begins.
    pub(crate) fn established(&mut self, now: Time, mss: u64, scaled: bool) {
        self.mss = mss as u32;
        self.weight = weight(self.tuned, self.headers, mss);
        if !scaled {
            self.scale = 0;
            self.max = self.max.min(65_535);
            self.clamp = self.clamp.min(65_535);
        }
        self.first = whole(self.clamp, if self.tuned { mss } else { 1 });
        if self.tuned {
            self.clamp = self.clamp.saturating_sub(mss).max((2 * mss).min(self.clamp));
        }
        self.ssthresh = if self.tuned { u64::from(self.first) } else { self.clamp }.min(self.clamp);
        self.space = self.ssthresh.min(10 * mss);
        self.since = now;
    }

    /// The third segment of the handshake is here: the first round trip of the measurement begins.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.since = now;
    }

    /// The window field of a SYN, which is not scaled.
    pub(crate) fn syn_window(&self) -> u16 {
        self.first
    }

    /// The part of the window that unread bytes take.
    #[inline]
    fn taken(&self, bytes: u64) -> u64 {
        (bytes * u64::from(self.weight)) >> 16
    }

    /// Space to advertise with `unread` bytes waiting for the application, from offset `next` on. The edge never moves
    /// back.
    #[inline]
    pub(crate) fn available(&self, next: Offset, unread: u64) -> u64 {
        let mut free = self.clamp.saturating_sub(self.taken(unread));
        if free < self.clamp / 2 {
            free &= !((1 << self.scale) - 1);
            if free < self.clamp / 16 || free < self.mss().min(self.clamp) {
                free = 0;
            }
        }
        let free = free.min(self.ssthresh);
        let unit = (1 << self.scale) - 1;
        ((free + unit) & !unit).max(self.room(next))
    }

    /// The window field for the next segment.
    #[inline]
    pub(crate) fn advertise(&mut self, next: Offset, unread: u64) -> u16 {
        let most = 65_535 << self.scale;
        let unit = (1 << self.scale) - 1;
        let window = self.available(next, unread).min(most);
        let field = ((window + unit) >> self.scale).min(65_535);
        self.edge = self.edge.max(next + (field << self.scale));
        field as u16
    }

    /// True if the application has made so much room that the sender should know.
    pub(crate) fn opened(&self, next: Offset, unread: u64) -> bool {
        let now = self.room(next);
        2 * now <= self.clamp && {
            let new = self.available(next, unread);
            new > 0 && new >= 2 * now
        }
    }

    /// A segment with `len` bytes arrived, `unread` wait in the buffer. True if the window opens by it.
    #[inline]
    pub(crate) fn grow(&mut self, len: u64, unread: u64) -> bool {
        if len < 128 || self.ssthresh >= self.clamp {
            return false;
        }
        let room = self.clamp.saturating_sub(self.taken(unread)).saturating_sub(self.ssthresh);
        self.ssthresh += room.min((2 * self.mss()).max(2 * len));
        room > 0
    }

    /// A data segment echoed our clock: the receiver's own round-trip time, to the millisecond. A shorter one counts at
    /// once, a longer one by an eighth (Linux).
    #[inline]
    pub(crate) fn sample_rtt(&mut self, now: Time, echo: Ms) {
        if !self.tuned || self.last_echo == Some(echo) {
            return;
        }
        self.last_echo = Some(echo);
        let ns = echo.elapsed(now).as_ns();
        let before = self.rtt8.map_or(u64::MAX, NonZeroU64::get);
        let rtt8 = if ns * 8 < before { ns * 8 } else { before - (before >> 3) + ns };
        self.rtt8 = NonZeroU64::new(rtt8);
    }

    pub(crate) fn rtt(&self) -> Option<PosDur> {
        self.rtt8.and_then(|rtt8| PosDur::new(Dur::from_ns(rtt8.get() >> 3)))
    }

    /// The application has read up to `read` at `at`.
    #[inline]
    pub(crate) fn adjust(&mut self, at: Time, read: Offset) {
        let span = at.since(self.since);
        if !self.tuned || self.rtt8.is_none_or(|rtt8| span < Dur::from_ns(rtt8.get() >> 3)) {
            return;
        }
        let copied = read.since(self.read_before);
        if copied > self.space {
            let mut window = 2 * copied + 16 * self.mss();
            let segment = u64::from(received(self.headers.into(), self.mss()));
            window += 2 * (window * (copied - self.space) / self.space.max(1));
            self.clamp = self.clamp.max((window / self.mss() * segment).min(self.max));
            self.space = copied;
        }
        self.read_before = read;
        self.since = at;
    }

    pub(crate) fn size(&self) -> u64 {
        self.clamp
    }
}

/// What a byte that waits in a tuned buffer takes of the window, in 65,536ths: half of its segment's memory.
fn weight(tuned: bool, headers: u16, mss: u64) -> u32 {
    let memory = beside_payload(headers.into()) + mss;
    if tuned { ((memory << 15).div_ceil(mss)) as u32 } else { 1 << 16 }
}

/// Whole segments of a buffer, as far as the field of a SYN shows them.
fn whole(buffer: u64, segment: u64) -> u16 {
    (buffer - buffer % segment.min(buffer)).min(65_535) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Bytes;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }

    #[test]
    fn linux_defaults_advertise_64240_then_64088_and_scale_by_7() {
        let mut w = ReceiveWindow::new(&TcpParams::default());
        assert_eq!((w.syn_window(), w.scale), (64_240, 7));
        w.established(Time::ZERO, 1448, true);
        assert_eq!(w.ssthresh, 64_088);
        assert_eq!(w.advertise(Offset::new(1), 0), 501); // 64128: rounded up to the unit of 128
    }

    #[test]
    fn a_fixed_buffer_of_128_kib_is_exactly_the_window() {
        let p = TcpParams { recv_buffer: Some(Bytes::new(131_072)), ..TcpParams::default() };
        let mut w = ReceiveWindow::new(&p);
        assert_eq!(w.scale, 2);
        w.established(Time::ZERO, 1448, true);
        assert_eq!(u64::from(w.advertise(Offset::new(1), 0)) << w.scale, 131_072);
        // What waits for the application is taken off.
        assert_eq!(u64::from(w.advertise(Offset::new(1001), 1000)) << w.scale, 131_072 - 1000);
    }

    #[test]
    fn the_right_edge_never_moves_back() {
        let p = TcpParams { recv_buffer: Some(Bytes::new(60_000)), ..TcpParams::default() };
        let mut w = ReceiveWindow::new(&p);
        w.established(Time::ZERO, 1448, true);
        assert_eq!(w.advertise(Offset::new(1), 0), 60_000);
        assert_eq!(w.advertise(Offset::new(10_001), 60_000), 50_000);
    }

    #[test]
    fn the_buffer_follows_twice_what_is_read_in_a_round_trip() {
        let mut w = ReceiveWindow::new(&TcpParams::default());
        w.established(Time::ZERO, 1448, true);
        w.sample_rtt(at(40), Ms::of(Time::ZERO));
        w.adjust(at(39), Offset::new(100_000));
        assert_eq!(w.size(), 64_088, "not before a round trip is over");
        w.adjust(at(41), Offset::new(28_960));
        // 2 x 28960 + 16 x 1448 = 81088; twice 81088 x (28960 - 14480) / 14480 more: 168 segments of 1460.
        assert_eq!(w.size(), 168 * 1460);
    }

    /// A burst whose end waits in a queue: the round-trip time rises, and the first segment of the next burst ends the
    /// measurement after 40 ms.
    #[test]
    fn a_shorter_round_trip_counts_at_once() {
        let mut w = ReceiveWindow::new(&TcpParams::default());
        w.established(Time::ZERO, 1448, true);
        for (echo, now) in [(0, 40), (41, 86), (47, 98)] {
            w.sample_rtt(at(now), Ms::of(at(echo)));
        }
        assert_eq!(
            w.rtt().map(|rtt| rtt.dur().as_ns()),
            Some((40_000_000 * 7 / 8 + 45_000_000 / 8) * 7 / 8 + 51_000_000 / 8)
        );
        w.sample_rtt(at(140), Ms::of(at(100)));
        assert_eq!(w.rtt().map(PosDur::dur), Some(Dur::from_ms(40)));
        w.start_measuring(at(100));
        w.adjust(at(140), Offset::new(28_960));
        assert_eq!(w.size(), 168 * 1460);
    }

    /// Linux 6.1 opens the window to 82304 with 320 bytes of headers. Twelve segments: 81088, 56 segments of 1492; one
    /// of the peer's buffers is unread when it opens.
    #[test]
    fn the_buffer_grows_by_whole_segments_and_their_memory() {
        for (headers, segment) in [(320, 1492), (256, 1460)] {
            let mut w = ReceiveWindow::new(&TcpParams { header_room: Bytes::new(headers), ..TcpParams::default() });
            w.established(Time::ZERO, 1448, true);
            w.sample_rtt(at(40), Ms::of(Time::ZERO));
            w.adjust(at(40), Offset::SYN + 12 * 1448);
            assert_eq!(w.size(), 56 * segment);
            // Half of 1280 + 1448 bytes are unread, and the field counts in 128.
            (0..10).for_each(|_| _ = w.grow(1448, 1448));
            assert_eq!(w.ssthresh, 56 * segment - 1364);
            let field = u64::from(w.advertise(Offset::new(1), 0));
            assert_eq!(field * 128, (56 * segment - 1364).next_multiple_of(128));
        }
    }

    #[test]
    fn a_syn_shows_whole_segments_with_timestamps_or_without() {
        let mut w = ReceiveWindow::new(&TcpParams::default());
        assert_eq!(w.syn_window(), 44 * 1460);
        w.established(Time::ZERO, 1448, true);
        assert_eq!(w.syn_window(), 45 * 1448);
    }
}
