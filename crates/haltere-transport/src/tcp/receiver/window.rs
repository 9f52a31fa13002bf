//! The receive window: how much the peer may send.
//! Source: Linux (dynamic right-sizing, Fisk and Feng 2001; `rcv_ssthresh`), RFC 7323 section 2.3 (never shrink), RFC 9293 section 3.8.6.2.2.
//! Deviations (Linux): overhead of packet buffers is taken as half the buffer (`tcp_adv_win_scale` 1) and sizes here are
//! windows, after that half; data waiting out of order takes no space (its window was advertised already).
//! Model: the window advertised opens by two segments for each segment in order, up to the buffer; once a round trip the
//! buffer grows to twice what the application read in it plus 16 segments, and more while that grows:
//!
//! ```text
//!     window = 2 copied + 16 mss; window += 2 window (copied - before) / before
//! ```
//!
//! Units: bytes, ns. Cost: O(1) a segment. Known problems: a fixed buffer advertises all of itself at once, Linux opens it step by step.

use crate::TcpParams;

/// The receive window.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    /// Space in all.
    clamp: u64,
    max: u64,
    tuned: bool,
    /// What may be advertised so far.
    ssthresh: u64,
    mss: u64,
    /// Shift of the window field of segments that we send.
    pub scale: u8,
    /// Right edge advertised last.
    pub edge: u64,
    /// Round-trip time as the receiver sees it, times 8.
    rtt8: u64,
    last_echo: u64,
    /// The measurement of what the application reads in a round trip.
    space: u64,
    read_before: u64,
    since: u64,
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
        let first = clamp - clamp % (mss + 12).min(clamp);
        ReceiveWindow {
            clamp,
            max,
            tuned,
            ssthresh: if tuned { first.min(65_535) } else { clamp },
            mss,
            scale,
            edge: 0,
            rtt8: 0,
            last_echo: u64::MAX,
            space: 0,
            read_before: 0,
            since: 0,
        }
    }

    /// The handshake is done: one segment of the buffer is set aside; measuring begins.
    pub(crate) fn established(&mut self, now: u64, mss: u64, scaled: bool) {
        self.mss = mss;
        if !scaled {
            self.scale = 0;
            self.max = self.max.min(65_535);
            self.clamp = self.clamp.min(65_535);
        }
        if self.tuned {
            self.clamp = self.clamp.saturating_sub(mss).max((2 * mss).min(self.clamp));
        }
        self.ssthresh = self.ssthresh.min(self.clamp);
        self.space = self.ssthresh.min(10 * mss);
        self.since = now;
    }

    /// The window field of a SYN, which is not scaled.
    pub(crate) fn syn_window(&self) -> u16 {
        self.ssthresh.min(65_535) as u16
    }

    /// Space to advertise with `unread` bytes waiting for the application, from position `next` on; the edge never moves back.
    #[inline]
    pub(crate) fn available(&self, next: u64, unread: u64) -> u64 {
        let mut free = self.clamp.saturating_sub(unread);
        if free < self.clamp / 2 {
            free &= !((1 << self.scale) - 1);
            if free < self.clamp / 16 || free < self.mss.min(self.clamp) {
                free = 0;
            }
        }
        let free = free.min(self.ssthresh);
        let unit = (1 << self.scale) - 1;
        ((free + unit) & !unit).max(self.edge.saturating_sub(next))
    }

    /// The window field for the next segment.
    #[inline]
    pub(crate) fn advertise(&mut self, next: u64, unread: u64) -> u16 {
        let most = 65_535 << self.scale;
        let unit = (1 << self.scale) - 1;
        let window = self.available(next, unread).min(most);
        let field = ((window + unit) >> self.scale).min(65_535);
        self.edge = self.edge.max(next + (field << self.scale));
        field as u16
    }

    /// True where the application has made so much room that the sender should know.
    pub(crate) fn opened(&self, next: u64, unread: u64) -> bool {
        let now = self.edge.saturating_sub(next);
        2 * now <= self.clamp && {
            let new = self.available(next, unread);
            new > 0 && new >= 2 * now
        }
    }

    /// A segment with `len` bytes arrived. True where the window opens by it.
    #[inline]
    pub(crate) fn grow(&mut self, len: u64, unread: u64) -> bool {
        if len < 128 || self.ssthresh >= self.clamp {
            return false;
        }
        let room = self.clamp.min(self.clamp.saturating_sub(unread)).saturating_sub(self.ssthresh);
        self.ssthresh += room.min((2 * self.mss).max(2 * len));
        room > 0
    }

    /// A data segment echoed our clock: the receiver's own round-trip time, to the millisecond.
    #[inline]
    pub(crate) fn sample_rtt(&mut self, now: u64, echo_ms: u64) {
        if !self.tuned || echo_ms == self.last_echo {
            return;
        }
        self.last_echo = echo_ms;
        let ns = (now / 1_000_000).saturating_sub(echo_ms).max(1) * 1_000_000;
        self.rtt8 = if self.rtt8 == 0 { ns * 8 } else { self.rtt8 - (self.rtt8 >> 3) + ns };
    }

    pub(crate) fn rtt(&self) -> u64 {
        self.rtt8 >> 3
    }

    /// The application has read `read` bytes in all.
    #[inline]
    pub(crate) fn adjust(&mut self, now: u64, read: u64) {
        if !self.tuned || self.rtt8 == 0 || now - self.since < self.rtt8 >> 3 {
            return;
        }
        let copied = read - self.read_before;
        if copied > self.space {
            let mut window = 2 * copied + 16 * self.mss;
            window += 2 * (window * (copied - self.space) / self.space.max(1));
            self.clamp = self.clamp.max(window.min(self.max));
            self.space = copied;
        }
        self.read_before = read;
        self.since = now;
    }

    pub(crate) fn size(&self) -> u64 {
        self.clamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Bytes;

    #[test]
    fn linux_defaults_advertise_64240_then_64088_and_scale_by_7() {
        let mut w = ReceiveWindow::new(&TcpParams::default());
        assert_eq!((w.syn_window(), w.scale), (64_240, 7));
        w.established(0, 1448, true);
        assert_eq!(w.ssthresh, 64_088);
        assert_eq!(w.advertise(1, 0), 501); // 64128: rounded up to the unit of 128
    }

    #[test]
    fn a_fixed_buffer_of_128_kib_is_exactly_the_window() {
        let p = TcpParams { recv_buffer: Some(Bytes::new(131_072)), ..TcpParams::default() };
        let mut w = ReceiveWindow::new(&p);
        assert_eq!(w.scale, 2);
        w.established(0, 1448, true);
        assert_eq!(u64::from(w.advertise(1, 0)) << w.scale, 131_072);
        // What waits for the application is taken off.
        assert_eq!(u64::from(w.advertise(1001, 1000)) << w.scale, 131_072 - 1000);
    }

    #[test]
    fn the_right_edge_never_moves_back() {
        let p = TcpParams { recv_buffer: Some(Bytes::new(60_000)), ..TcpParams::default() };
        let mut w = ReceiveWindow::new(&p);
        w.established(0, 1448, true);
        assert_eq!(w.advertise(1, 0), 60_000);
        assert_eq!(w.advertise(10_001, 60_000), 50_000);
    }

    #[test]
    fn the_buffer_follows_twice_what_is_read_in_a_round_trip() {
        let mut w = ReceiveWindow::new(&TcpParams::default());
        w.established(0, 1448, true);
        w.sample_rtt(40_000_000, 0);
        w.adjust(39_000_000, 100_000);
        assert_eq!(w.size(), 64_088, "not before a round trip is over");
        w.adjust(41_000_000, 28_960);
        // 2 x 28960 + 16 x 1448 = 81088; twice 81088 x (28960 - 14480) / 14480 more.
        assert_eq!(w.size(), 3 * 81_088);
    }
}
