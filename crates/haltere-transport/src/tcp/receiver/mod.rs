//! The receiving half: order, acknowledgements, the congestion echo.
//! Source: RFC 9293, RFC 5681 section 4.2 (delayed acknowledgements), RFC 2018, RFC 2883, RFC 3168 section 6.1.3, RFC 8257 section 3.2.
//! Deviations (Linux): the first 16 segments, and as many after a long silence, are acknowledged one by one; the delay
//! adapts to the gaps between segments (40 to 200 ms); a segment that opens the window is acknowledged at once; while data waits out of order the first three acknowledgements go
//! at once, later ones are merged for up to a millisecond; the first CE mark of an episode brings two quick acknowledgements.
//! Model: an acknowledgement goes at once when two full segments are unacknowledged, in quick mode, when a hole is
//! filled, when the mark changes (DCTCP); else a timer runs.
//! Units: positions, ns. Cost: O(1) a segment in order. Known problems: none.

pub(crate) mod reassembly;
pub(crate) mod window;

use crate::TcpParams;
use crate::tcp::receiver::reassembly::Reassembly;
use crate::tcp::receiver::window::ReceiveWindow;
use crate::tcp::segment::SackBlocks;
use crate::tcp::seq::wire;
use alloc::boxed::Box;
use haltere_units::Ecn;

/// Acknowledgements of its own data that Linux sends before it believes in a conversation.
const PING_PONG: u8 = 3;

/// An acknowledgement of an earlier state, with its own echo (DCTCP).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldAck {
    pub ack: u64,
    pub ece: bool,
}

/// What a data segment is, by positions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub now: u64,
    pub start: u64,
    pub end: u64,
    pub fin: bool,
    pub ecn: Ecn,
    pub cwr: bool,
    pub push: bool,
    /// Our clock as echoed, in ms.
    pub echo_ms: Option<u64>,
}

/// What only a stream with holes or repetitions has.
#[derive(Debug, Default)]
pub(crate) struct Disorder {
    pub ooo: Reassembly,
    dsack: Option<(u64, u64)>,
    /// The next position when acknowledgements were counted last (see `dup_acks`).
    compress_next: u64,
}

/// The receiving half of a connection. What every segment needs comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next position expected; what the last acknowledgement said; read by the application.
    pub next: u64,
    pub acked_up_to: u64,
    pub read: u64,
    /// End of the stream, once the FIN is here; `u64::MAX` before.
    pub fin: u64,
    /// A delayed acknowledgement is waiting for this time.
    pub ack_at: u64,
    compress_at: u64,
    last_data: u64,
    ato: u64,
    /// One is due at once.
    pub ack_now: bool,
    /// Something is to be acknowledged.
    scheduled: bool,
    pub auto_read: bool,
    /// The echo is set.
    pub echo: bool,
    per_packet: bool,
    seen_ect: bool,
    pub ecn_ok: bool,
    pub sack_ok: bool,
    ping_pong: u8,
    pushed: u8,
    /// Acknowledgements at once since `compress_next`, and merged since.
    dup_acks: u8,
    merged: u8,
    /// Quick acknowledgements left, and at most.
    quick: u32,
    quick_max: u32,
    pub mss: u64,
    ack_every: u64,
    ato_min: u64,
    pub window: ReceiveWindow,
    /// Made when the first segment comes out of order or again; then it stays.
    pub disorder: Option<Box<Disorder>>,
    pub old_ack: Option<OldAck>,
    ato_max: u64,
    sack_delay: u64,
    merge_max: u8,
    pub duplicates: u64,
    pub ce_segments: u64,
}

impl Receiver {
    pub(crate) fn new(p: &TcpParams, per_packet: bool) -> Receiver {
        Receiver {
            next: 1,
            acked_up_to: 1,
            read: 1,
            fin: u64::MAX,
            window: ReceiveWindow::new(p),
            disorder: None,
            ack_at: u64::MAX,
            ack_now: false,
            scheduled: false,
            old_ack: None,
            auto_read: false,
            echo: false,
            per_packet,
            seen_ect: false,
            ecn_ok: false,
            sack_ok: false,
            mss: p.mss.as_u64(),
            ack_every: u64::from(p.ack_every),
            quick: 0,
            quick_max: p.quick_acks,
            ping_pong: 0,
            pushed: 0,
            ato: 0,
            ato_min: p.delayed_ack_min.min(p.delayed_ack).as_ns(),
            ato_max: p.delayed_ack.as_ns(),
            last_data: 0,
            dup_acks: 0,
            merged: 0,
            compress_at: u64::MAX,
            sack_delay: p.sack_delay.as_ns(),
            merge_max: p.sack_delay_segments as u8,
            duplicates: 0,
            ce_segments: 0,
        }
    }

    pub(crate) fn established(&mut self, now: u64, mss: u64, scaled: bool) {
        self.mss = mss;
        self.window.established(now, mss, scaled);
    }

    /// Payload waiting for the application.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        self.stream_end() - self.read
    }
    /// End of the payload in order (without the FIN).
    #[inline]
    pub(crate) fn stream_end(&self) -> u64 {
        self.next.min(self.fin)
    }

    /// When [`on_timeout`](Receiver::on_timeout) has something to do.
    #[inline]
    pub(crate) fn next_timeout(&self) -> u64 {
        self.ack_at.min(self.compress_at)
    }

    pub(crate) fn on_timeout(&mut self, now: u64, rto: u64) {
        if now >= self.ack_at {
            // Too early to wait: the delay was longer than the gap. Linux: double it.
            if self.ping_pong < PING_PONG {
                self.ato = (self.ato * 2).min(rto).max(self.ato_min);
            } else {
                self.ping_pong = 0;
                self.ato = self.ato_min;
            }
            self.ack_now = true;
            self.ack_at = u64::MAX;
        }
        if now >= self.compress_at {
            self.compress_at = u64::MAX;
            self.ack_now = true;
        }
    }

    /// A segment with data or FIN, within the window or in part below it. True where new bytes came.
    #[inline]
    pub(crate) fn on_data(&mut self, a: &Arrival, srtt: u64, rto: u64) -> bool {
        if a.cwr && self.ecn_ok {
            if !self.per_packet {
                self.echo = false;
            }
            self.ack_now = true; // the peer's window may be very small now
        }
        if a.start == self.next && !a.fin && !self.has_holes() && a.end - a.start <= self.room() {
            // The usual case: in order, nothing waiting.
            self.on_received(a, rto);
            self.next = a.end;
            self.in_order(a);
            self.consider_ack(a.now, false, srtt);
            return true;
        }
        self.on_data_slow(a, srtt, rto)
    }

    #[cold]
    fn on_data_slow(&mut self, a: &Arrival, srtt: u64, rto: u64) -> bool {
        if a.end <= self.next {
            self.on_duplicate(a.start, a.end);
            return false;
        }
        if a.start >= self.next + self.room() {
            self.enter_quick(self.quick_max);
            self.ack_now = true;
            return false;
        }
        if a.fin {
            self.fin = a.end - 1;
        }
        self.on_received(a, rto);
        if a.start > self.next {
            // An acknowledgement has room for three blocks, or two and a duplicate. Before the merged arrivals touch a third,
            // they are told: a block that is pushed out untold would be held lost by the sender. Linux tells them without
            // this arrival, which is merged anew; here with it.
            let (merged, sack_ok) = (self.merged > 0, self.sack_ok);
            let disorder = self.disorder();
            let third = merged && disorder.ooo.is_third(a.start, a.end);
            if let Some(twice) = disorder.ooo.insert(a.start, a.end)
                && sack_ok
            {
                disorder.dsack = Some(twice);
                self.duplicates += 1;
            }
            self.ack_now |= third;
            self.open_window(a.end - a.start, self.unread());
            self.consider_ack(a.now, true, srtt);
            return true;
        }
        if a.start < self.next && self.sack_ok {
            self.disorder().dsack = Some((a.start, self.next));
        }
        let had_holes = self.has_holes();
        self.next = if had_holes { self.disorder().ooo.advance(a.end) } else { a.end };
        if had_holes && !self.has_holes() {
            self.ack_now = true; // RFC 5681 section 4.2: the hole is filled
        }
        if self.next > self.fin {
            self.ack_now = true;
        }
        self.in_order(a);
        self.consider_ack(a.now, true, srtt);
        true
    }

    /// Data that is here already: the peer missed our acknowledgement, or repeats without need.
    fn on_duplicate(&mut self, start: u64, end: u64) {
        self.duplicates += 1;
        self.enter_quick(self.quick_max);
        if self.sack_ok && end > start {
            self.disorder().dsack = Some((start, end));
        }
        self.ack_now = true;
    }

    #[inline]
    fn in_order(&mut self, a: &Arrival) {
        // Linux since 6.1.56: a full segment with PSH counts too, it may be the end of a message.
        if a.push && a.end - a.start <= self.mss {
            self.pushed = (self.pushed + 1).min(2);
        }
        self.open_window(a.end - a.start, if self.auto_read { 0 } else { self.unread() });
        if self.auto_read {
            self.consume(a.now, self.unread());
            self.ack_now |= self.ato_max > 0 && self.push_answered();
        }
    }

    /// Room in the window advertised.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        self.window.edge.saturating_sub(self.next)
    }

    /// The application reads.
    pub(crate) fn consume(&mut self, now: u64, bytes: u64) {
        self.read += bytes;
        self.window.adjust(now, self.read);
    }

    /// After the application has read: does the peer need to know?
    pub(crate) fn after_read(&mut self) {
        let pending = self.scheduled && self.ack_at != u64::MAX;
        if (pending && self.push_answered() && self.unread() == 0) || self.window.opened(self.next, self.unread()) {
            self.ack_now = true;
        }
    }

    /// A pushed segment was read by the application: it is acknowledged at once, but in a conversation, and not by
    /// a receiver that knows no quick acknowledgements.
    #[inline]
    fn push_answered(&self) -> bool {
        if self.quick_max == 0 {
            return false;
        }
        self.pushed == 2 || (self.pushed == 1 && self.ping_pong < PING_PONG)
    }

    /// Bookkeeping of every segment that is taken: gaps, marks.
    #[inline]
    fn on_received(&mut self, a: &Arrival, rto: u64) {
        self.scheduled = true;
        if let Some(echo) = a.echo_ms
            && a.end - a.start >= self.mss
        {
            self.window.sample_rtt(a.now, echo);
        }
        let gap = a.now - self.last_data;
        if self.ato == 0 {
            self.allow_quick(self.quick_max);
            self.ato = self.ato_min.max(1);
        } else if gap <= self.ato_min / 2 {
            self.ato = (self.ato / 2 + self.ato_min / 2).max(1);
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto {
            self.allow_quick(self.quick_max); // the sender has restarted
        }
        self.last_data = a.now;
        if self.ecn_ok {
            self.take_mark(a);
        }
    }

    #[inline]
    fn take_mark(&mut self, a: &Arrival) {
        let ce = a.ecn == Ecn::Ce;
        self.ce_segments += u64::from(ce);
        if self.per_packet {
            // RFC 8257 section 3.2: a change of the mark sends what was held back, with the old echo.
            if ce != self.echo {
                if self.ack_at != u64::MAX {
                    self.old_ack = Some(OldAck { ack: self.next, ece: self.echo });
                    self.ack_sent();
                    self.scheduled = true;
                }
                self.ack_now = true;
                self.echo = ce;
            }
            self.seen_ect |= a.ecn.is_capable();
            return;
        }
        match a.ecn {
            Ecn::Ce => {
                if !self.echo {
                    self.enter_quick(2); // the sender's window may be very small
                    self.echo = true;
                }
                self.seen_ect = true;
            }
            Ecn::NotEct if self.seen_ect => self.enter_quick(2), // probably a retransmission
            Ecn::NotEct => {}
            Ecn::Ect0 | Ecn::Ect1 => self.seen_ect = true,
        }
    }

    /// A segment whose arrival opens the window is acknowledged at once, so that the sender learns of the room (Linux).
    #[inline]
    fn open_window(&mut self, len: u64, unread: u64) {
        if self.window.grow(len, unread) && self.quick_max > 0 {
            self.quick |= 1;
        }
    }

    fn allow_quick(&mut self, most: u32) {
        let fits = (self.room() / (2 * self.mss)).clamp(2, u64::from(u32::MAX)) as u32;
        self.quick = self.quick.max(fits.min(most));
    }

    fn enter_quick(&mut self, most: u32) {
        if self.quick_max > 0 {
            self.allow_quick(most.min(self.quick_max));
            self.ping_pong = 0;
            self.ato = self.ato_min.max(1);
        }
    }

    /// Linux's `__tcp_ack_snd_check`.
    #[inline]
    fn consider_ack(&mut self, now: u64, out_of_order: bool, srtt: u64) {
        let waiting = self.next - self.acked_up_to;
        let enough = waiting > (self.ack_every - 1) * self.mss
            && self.window.available(self.next, if self.auto_read { 0 } else { self.unread() }) >= self.room();
        let quick = self.quick > 0 && self.ping_pong < PING_PONG;
        if self.ack_now || enough || quick || self.ato_max == 0 {
            self.ack_now = true;
        } else if out_of_order && self.has_holes() {
            self.compress(now, srtt);
        } else {
            self.delay_ack(now, srtt);
        }
    }

    fn delay_ack(&mut self, now: u64, srtt: u64) {
        let mut wait = self.ato;
        if wait > self.ato_min {
            let mut most = self.ato_max;
            if srtt > 0 {
                most = most.min(srtt.max(self.ato_min));
            }
            wait = wait.min(most);
        }
        self.ack_at = self.ack_at.min(now + wait);
    }

    /// Linux's compression of SACKs: three at once, then merged for a twentieth of a round trip, or until they touch a third block.
    fn compress(&mut self, now: u64, srtt: u64) {
        if !self.sack_ok || self.sack_delay == 0 || self.merged >= self.merge_max {
            self.ack_now = true;
            return;
        }
        let next = self.next;
        if core::mem::replace(&mut self.disorder().compress_next, next) != next {
            self.dup_acks = 0;
        }
        if self.dup_acks < 3 {
            self.dup_acks += 1;
            self.ack_now = true;
            return;
        }
        self.merged += 1;
        if self.compress_at == u64::MAX {
            let mut rtt = self.window.rtt();
            if srtt > 0 && (srtt < rtt || rtt == 0) {
                rtt = srtt;
            }
            self.compress_at = now + (rtt / 20).min(self.sack_delay);
        }
    }

    /// Data of ours goes out: a conversation, where it answers at once.
    #[inline]
    pub(crate) fn data_sent(&mut self, now: u64) {
        if now.wrapping_sub(self.last_data) < self.ato {
            self.ping_pong = (self.ping_pong + 1).min(PING_PONG);
        }
    }

    /// An acknowledgement goes out, by itself or with data.
    #[inline]
    pub(crate) fn ack_sent(&mut self) {
        self.acked_up_to = self.next;
        self.ack_now = false;
        self.scheduled = false;
        self.pushed = 0;
        self.ack_at = u64::MAX;
        self.compress_at = u64::MAX;
        self.merged = 0;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.ato_min.max(1);
            }
        }
    }

    /// The SACK blocks of the next acknowledgement, a duplicate first (RFC 2883).
    #[cold]
    pub(crate) fn fill_blocks(&mut self, blocks: &mut SackBlocks, irs: u32, most: usize) {
        if !self.sack_ok {
            return;
        }
        let Some(disorder) = &mut self.disorder else { return };
        if let Some((start, end)) = disorder.dsack.take() {
            blocks.push(wire(start, irs), wire(end, irs));
        }
        for &(start, end) in disorder.ooo.recent() {
            if blocks.as_slice().len() < most {
                blocks.push(wire(start, irs), wire(end, irs));
            }
        }
    }

    /// True where the next acknowledgement carries SACK blocks.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        self.disorder.as_ref().is_some_and(|d| d.dsack.is_some() || !d.ooo.is_empty())
    }

    /// True where data waits for what is missing before it.
    #[inline]
    fn has_holes(&self) -> bool {
        self.disorder.as_ref().is_some_and(|d| !d.ooo.is_empty())
    }

    fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    /// Bytes of heap.
    pub(crate) fn heap(&self) -> usize {
        self.disorder.as_ref().map_or(0, |d| size_of::<Disorder>() + d.ooo.heap())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use haltere_units::Bytes;

    const MSS: u64 = 1000;

    /// A segment at `start`, out of order.
    fn arrive(r: &mut Receiver, start: u64) -> Option<SackBlocks> {
        let end = start + MSS;
        let a = Arrival { now: 1, start, end, fin: false, ecn: Ecn::NotEct, cwr: false, push: false, echo_ms: None };
        r.on_data(&a, 20_000_000, 200_000_000);
        told(r)
    }

    /// The blocks of an acknowledgement, if one is due at once.
    fn told(r: &mut Receiver) -> Option<SackBlocks> {
        r.ack_now.then(|| {
            let mut blocks = SackBlocks::default();
            r.fill_blocks(&mut blocks, 0, 3);
            r.ack_sent();
            blocks
        })
    }

    #[test]
    fn every_block_of_merged_arrivals_is_told() {
        let p = TcpParams { quick_acks: 0, recv_buffer: Some(Bytes::new(1 << 20)), ..TcpParams::default() };
        let mut r = Receiver::new(&p, false);
        r.established(0, MSS, true);
        r.window.advertise(1, 0);
        r.sack_ok = true;
        for i in 0..3 {
            assert!(arrive(&mut r, 10_001 + i * MSS).is_some(), "the first three are not merged");
        }
        for i in 1..5 {
            let both = [arrive(&mut r, 12_001 + i * MSS), arrive(&mut r, 30_001 + i * MSS)];
            assert_eq!(both, [None; 2], "two blocks grow by turns and are merged");
        }
        // Three places by turns, and a hole after every segment.
        let starts: Vec<u64> = (0..30).map(|i| 50_001 + i % 3 * 50_000 + i / 3 * 2 * MSS).collect();
        let mut acks: Vec<SackBlocks> = starts.iter().filter_map(|&start| arrive(&mut r, start)).collect();
        assert!(acks.len() < starts.len(), "some are merged");
        r.on_timeout(10_000_000, 200_000_000);
        acks.extend(told(&mut r));
        for block in starts.iter().map(|&start| (wire(start, 0), wire(start + MSS, 0))) {
            assert!(acks.iter().any(|ack| ack.as_slice().contains(&block)), "{block:?} was never told");
        }
    }
}
