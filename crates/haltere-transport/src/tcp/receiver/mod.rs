//! The receiving half of an endpoint: the order of the stream.
//!
//! [`Receiver`] puts segments in order. Its parts are `reassembly.rs` (what arrived out of order), `window.rs` (how
//! much the peer may send), `delayed_ack.rs` (when an acknowledgement goes out) and `echo.rs` (the congestion echo).
//! Source: RFC 9293, RFC 2018, RFC 2883. Deviations: those named in the files of the parts.
//! Units: stream offsets, ns. Cost: O(1) a segment in order. Known problems: none.

mod delayed_ack;
mod echo;
pub(crate) mod reassembly;
mod window;

use crate::tcp::params::TcpParams;
use crate::tcp::segment::SackBlocks;
use crate::tcp::seq::{InitialSeq, Offset, Span, StreamEnd};
use crate::tcp::time::{Deadline, Ms, PosDur};
use alloc::boxed::Box;
use delayed_ack::AckSchedule;
use echo::Echo;
use haltere_units::{Dur, Ecn, Time};
use reassembly::Reassembly;
use window::ReceiveWindow;

/// What a data segment is, by stream offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub now: Time,
    /// Its sequence numbers, with that of the FIN.
    pub span: Span,
    pub fin: bool,
    /// It has the FIN, and our application has closed already.
    pub closing: bool,
    pub ecn: Ecn,
    pub cwr: bool,
    pub push: bool,
    /// Our clock as echoed.
    pub echo: Option<Ms>,
}

impl Arrival {
    #[inline]
    fn payload(&self) -> u64 {
        self.span.len() - u64::from(self.fin)
    }
}

/// What only a stream with holes or repetitions has.
#[derive(Debug, Default)]
pub(crate) struct Disorder {
    ooo: Reassembly,
    /// What arrived twice and was not reported yet.
    dsack: Option<Span>,
    /// The next offset expected when acknowledgements were counted last.
    counted_at: Offset,
}

impl Disorder {
    /// True if the stream has advanced since the last call: the count of acknowledgements starts again.
    fn restart_count(&mut self, next: Offset) -> bool {
        core::mem::replace(&mut self.counted_at, next) != next
    }
}

/// The receiving half of a connection. What every segment needs comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Receiver {
    /// RCV.NXT: the next offset expected.
    next: Offset,
    /// The application has read up to here.
    read: Offset,
    fin: StreamEnd,
    acks: AckSchedule,
    window: ReceiveWindow,
    /// Made when the first segment comes out of order or again; then it stays.
    disorder: Option<Box<Disorder>>,
    /// The application reads everything at once.
    auto_read: bool,
    sack_ok: bool,
    echo: Echo,
    duplicates: u64,
}

impl Receiver {
    pub(crate) fn new(p: &TcpParams, per_packet: bool) -> Receiver {
        Receiver {
            next: Offset::FIRST,
            read: Offset::FIRST,
            fin: StreamEnd::UNKNOWN,
            acks: AckSchedule::new(p),
            window: ReceiveWindow::new(p),
            disorder: None,
            auto_read: false,
            sack_ok: false,
            echo: Echo::new(per_packet),
            duplicates: 0,
        }
    }

    /// The handshake is done.
    pub(crate) fn established(&mut self, now: Time, mss: u64, scaled: bool, sack: bool, ecn: bool) {
        self.next = Offset::FIRST;
        self.acks.start();
        self.sack_ok = sack;
        self.echo.enable(ecn);
        self.window.established(now, mss, scaled);
    }

    /// The third segment of the handshake is here: what the application reads is measured from now on.
    pub(crate) fn start_measuring(&mut self, now: Time) {
        self.window.start_measuring(now);
    }

    #[inline]
    pub(crate) fn next(&self) -> Offset {
        self.next
    }
    #[inline]
    pub(crate) fn window(&self) -> &ReceiveWindow {
        &self.window
    }
    #[inline]
    pub(crate) fn acks(&self) -> &AckSchedule {
        &self.acks
    }
    #[inline]
    pub(crate) fn acks_mut(&mut self) -> &mut AckSchedule {
        &mut self.acks
    }
    #[inline]
    pub(crate) fn echo(&self) -> &Echo {
        &self.echo
    }
    pub(crate) fn echo_mut(&mut self) -> &mut Echo {
        &mut self.echo
    }
    /// An acknowledgement is to go before any data.
    #[inline]
    pub(crate) fn owes_ack_before_data(&self) -> bool {
        self.echo.has_old_ack() || self.acks.goes_before_data()
    }
    /// The handshake agreed on SACK.
    pub(crate) fn sack_ok(&self) -> bool {
        self.sack_ok
    }
    /// Data segments received more than once.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }
    /// Payload of a full segment.
    #[inline]
    pub(crate) fn mss(&self) -> u64 {
        self.window.mss()
    }
    /// Payload in order that the application has not read.
    #[inline]
    pub(crate) fn unread(&self) -> u64 {
        self.stream_end() - self.read
    }
    /// The same as far as it takes space.
    #[inline]
    fn waiting(&self) -> u64 {
        if self.auto_read { 0 } else { self.unread() }
    }
    /// End of the payload in order (without the FIN).
    #[inline]
    pub(crate) fn stream_end(&self) -> Offset {
        self.fin.bound(self.next)
    }
    /// The FIN is here, and everything before it.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_before(self.next)
    }
    /// Room in the window advertised.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        self.window.room(self.next)
    }

    /// A segment with data or FIN, within the window or in part below it.
    #[inline]
    pub(crate) fn on_data(&mut self, a: &Arrival, srtt: Option<PosDur>, rto: Dur) {
        // An application that waits for data reads once all of an instant is here.
        if self.acks.last_data() < a.now {
            self.window.adjust(self.acks.last_data(), self.read);
        }
        if a.cwr && self.echo.is_enabled() {
            self.echo.on_reduced();
            self.acks.demand(); // the peer's window may be very small now
        }
        if a.span.start == self.next && !a.fin && !self.has_holes() && a.span.len() <= self.room() {
            // The usual case: in order, nothing waiting.
            self.on_received(a, rto);
            self.next = a.span.end;
            self.in_order(a, 0);
            self.consider_ack(a, false, srtt);
            return;
        }
        self.on_data_slow(a, srtt, rto);
    }

    #[cold]
    fn on_data_slow(&mut self, a: &Arrival, srtt: Option<PosDur>, rto: Dur) {
        if a.span.end <= self.next {
            self.on_duplicate(a.span);
            return;
        }
        if a.span.start >= self.next + self.room() {
            self.enter_quick(self.acks.quick_max());
            self.acks.demand();
            return;
        }
        if a.fin {
            self.fin = StreamEnd::at(a.span.end.previous());
        }
        if a.payload() > 0 {
            self.on_received(a, rto);
        } else {
            self.acks.schedule();
        }
        if a.span.start > self.next {
            self.out_of_order(a.span);
        } else {
            self.fill_hole(a);
        }
        self.consider_ack(a, true, srtt);
    }

    fn out_of_order(&mut self, span: Span) {
        // An acknowledgement has room for three blocks, or two and a duplicate. Before the merged arrivals touch a
        // third, they are reported: the sender would mark lost a block that is pushed out unreported. Linux reports
        // them without this arrival, which is merged anew; here with it.
        let (merged, sack_ok, unread) = (self.acks.has_merged(), self.sack_ok, self.unread());
        let disorder = self.disorder();
        let taken = unread + disorder.ooo.bytes();
        let third = merged && disorder.ooo.is_third(span);
        if let Some(twice) = disorder.ooo.insert(span)
            && sack_ok
        {
            disorder.dsack = Some(twice);
            self.duplicates += 1;
        }
        self.acks.demand_if(third);
        self.open_window(span.len(), taken);
    }

    fn fill_hole(&mut self, a: &Arrival) {
        let (had_holes, is_awaited) = (self.has_holes(), self.unread() == 0);
        if self.sack_ok {
            if a.span.start < self.next {
                self.disorder().dsack = Some(Span::new(a.span.start, self.next));
            } else if let Some(twice) = self.disorder.as_ref().and_then(|d| d.ooo.first_within(a.span)) {
                self.disorder().dsack = Some(twice);
            }
        }
        self.next = if had_holes { self.disorder().ooo.advance(a.span.end) } else { a.span.end };
        // RFC 5681 section 4.2: the hole is filled.
        self.acks.demand_if(had_holes && !self.has_holes());
        if self.is_finished() {
            self.acks.on_end(a.closing);
        }
        let held = self.disorder.as_ref().map_or(0, |d| d.ooo.bytes());
        self.in_order(a, held);
        // If the application does not read at once after all, the next measurement has nothing to count.
        if had_holes && is_awaited {
            self.window.adjust(a.now, a.span.end);
        }
    }

    /// Data that is here already: the peer missed our acknowledgement, or repeats without need.
    fn on_duplicate(&mut self, span: Span) {
        self.duplicates += 1;
        self.enter_quick(self.acks.quick_max());
        if self.sack_ok && !span.is_empty() {
            self.disorder().dsack = Some(span);
        }
        self.acks.demand();
    }

    /// A segment in order. `held`: bytes that wait behind holes.
    #[inline]
    fn in_order(&mut self, a: &Arrival, held: u64) {
        if a.push && a.span.len() <= self.window.mss() {
            self.acks.on_pushed();
        }
        self.open_window(a.span.len(), self.waiting() + held);
        if self.auto_read {
            self.consume(a.now, self.unread());
            self.acks.on_read_at_once(a.now);
        }
    }

    /// Bookkeeping of every segment that is taken: gaps (Linux: between segments in order), marks.
    #[inline]
    fn on_received(&mut self, a: &Arrival, rto: Dur) {
        if let Some(echo) = a.echo
            && a.span.len() >= self.window.mss()
        {
            self.window.sample_rtt(a.now, echo);
        }
        if a.span.start <= self.next {
            self.measure_gap(a.now, rto);
        } else {
            self.acks.schedule();
        }
        if self.echo.is_enabled() {
            self.take_mark(a);
        }
    }

    /// A segment whose arrival opens the window is acknowledged at once, so that the sender learns of the room (Linux).
    #[inline]
    fn open_window(&mut self, len: u64, unread: u64) {
        if self.window.grow(len, unread) {
            self.acks.on_window_opened();
        }
    }

    #[inline]
    pub(crate) fn consume(&mut self, now: Time, bytes: u64) {
        self.read += bytes;
        if self.acks.last_data() < now {
            self.window.adjust(now, self.read);
        }
    }
    /// After the application has read: does the peer need to know?
    #[inline]
    pub(crate) fn after_read(&mut self, now: Time) {
        if self.window.opened(self.next, self.unread()) {
            self.acks.demand();
        } else if self.acks.owes_answer() && self.unread() == 0 {
            self.acks.demand_after(now);
        }
    }
    /// The application reads everything at once, from now on.
    pub(crate) fn read_endless(&mut self) {
        self.auto_read = true;
        self.read += self.unread();
    }

    /// When [`on_timeout`](AckSchedule::on_timeout) has something to do.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Deadline {
        self.acks.next_timeout()
    }

    /// The window field of the next segment.
    #[inline]
    pub(crate) fn advertise(&mut self) -> u16 {
        self.window.advertise(self.next, self.waiting())
    }
    /// The window field of a SYN, which is not scaled. The edge is known to the peer from then on.
    pub(crate) fn advertise_syn(&mut self) -> u16 {
        let field = self.window.syn_window();
        self.window.raise_edge(Offset::FIRST + u64::from(field));
        field
    }

    /// The SACK blocks of the next acknowledgement, a duplicate first (RFC 2883).
    #[cold]
    pub(crate) fn fill_blocks(&mut self, blocks: &mut SackBlocks, irs: InitialSeq, most: usize) {
        if !self.sack_ok {
            return;
        }
        let Some(disorder) = &mut self.disorder else { return };
        if let Some(twice) = disorder.dsack.take() {
            blocks.push(irs.number_of(twice.start), irs.number_of(twice.end));
        }
        for block in disorder.ooo.recent() {
            if blocks.as_slice().len() < most {
                blocks.push(irs.number_of(block.start), irs.number_of(block.end));
            }
        }
    }
    /// True if the next acknowledgement carries SACK blocks.
    #[inline]
    pub(crate) fn has_blocks(&self) -> bool {
        self.disorder.as_ref().is_some_and(|d| d.dsack.is_some() || !d.ooo.is_empty())
    }
    /// True if data waits for what is missing before it.
    #[inline]
    fn has_holes(&self) -> bool {
        self.disorder.as_ref().is_some_and(|d| !d.ooo.is_empty())
    }
    fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }
    /// What is kept of a stream with holes, if it ever had any.
    #[inline(always)]
    pub(crate) fn kept_of_disorder(&self) -> Option<&Disorder> {
        self.disorder.as_deref()
    }
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
        let span = Span::new(Offset::new(start), Offset::new(start + MSS));
        let now = Time::from_ns(1);
        let a =
            Arrival { now, span, fin: false, closing: false, ecn: Ecn::NotEct, cwr: false, push: false, echo: None };
        r.on_data(&a, PosDur::new(Dur::from_ms(20)), Dur::from_ms(200));
        reported(r)
    }

    /// The blocks of an acknowledgement, if one is due at once.
    fn reported(r: &mut Receiver) -> Option<SackBlocks> {
        r.acks.is_due().then(|| {
            let mut blocks = SackBlocks::default();
            r.fill_blocks(&mut blocks, InitialSeq::default(), 3);
            r.ack_sent();
            blocks
        })
    }

    /// The application copies the segment that fills the hole first, and the round trip is over.
    #[test]
    fn what_a_filled_hole_sets_free_counts_to_the_next_round_trip() {
        let mut r = Receiver::new(&TcpParams::default(), false);
        r.established(Time::ZERO, MSS, true, true, false);
        r.read_endless();
        let mut arrive = |ms: u64, segment: u64| {
            let start = Offset::FIRST + segment * MSS;
            let (now, echo) = (Time::ZERO + Dur::from_ms(ms), Some(Ms::of(Time::ZERO + Dur::from_ms(ms - 40))));
            let span = Span::new(start, start + MSS);
            let a = Arrival { now, span, fin: false, closing: false, ecn: Ecn::NotEct, cwr: false, push: false, echo };
            r.advertise();
            r.on_data(&a, PosDur::new(Dur::from_ms(40)), Dur::from_ms(200));
            r.window.size()
        };
        let before = arrive(40, 0);
        (2..32).for_each(|segment| assert_eq!(arrive(50 + segment, segment), before));
        assert_eq!([arrive(90, 1), arrive(91, 32), arrive(131, 33)], [before; 3], "one segment was read");
        assert!(arrive(132, 34) > before, "30 segments, and those that followed");
    }

    #[test]
    fn every_block_of_merged_arrivals_is_reported() {
        let p = TcpParams { quick_acks: 0, recv_buffer: Some(Bytes::new(1 << 20)), ..TcpParams::default() };
        let mut r = Receiver::new(&p, false);
        r.established(Time::ZERO, MSS, true, true, false);
        r.advertise();
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
        r.acks.on_timeout(Time::ZERO + Dur::from_ms(10), Dur::from_ms(200));
        acks.extend(reported(&mut r));
        for block in starts.iter().map(|&start| (start as u32, (start + MSS) as u32)) {
            assert!(acks.iter().any(|ack| ack.as_slice().contains(&block)), "{block:?} was never reported");
        }
    }
}
