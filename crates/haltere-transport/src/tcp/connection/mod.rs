//! One TCP connection endpoint: handshake, closing, and the way between the wire and its two halves.
//! Source: RFC 9293, RFC 7323 (timestamps, scaling), RFC 3168 section 6.1.1 (negotiation), RFC 6298 section 5.7 (SYN).
//! Deviations: no simultaneous open; TIME-WAIT is the state itself: the endpoint answers a FIN that is repeated for as
//! long as it is kept. Linux: a retransmitted SYN does not ask for ECN; with a control that counts marks every packet is
//! ECT, else only new data is.
//! Units: positions (see seq.rs), ns. Cost: O(1) a segment. Known problems: none.

pub(crate) mod application;
pub(crate) mod lazy;
pub(crate) mod payload;

use crate::tcp::connection::lazy::{Origin, Quiet};
use crate::tcp::connection::payload::Payload;
use crate::tcp::receiver::{Arrival, Receiver};
use crate::tcp::sender::ack::AckIn;
use crate::tcp::sender::{Sender, Transmit};
use crate::tcp::seq::{position, wire};
use crate::{Flags, Segment, TcpParams, Timestamps};
use alloc::boxed::Box;
use alloc::sync::Arc;
use haltere_congestion::{CongestionControl, CongestionParams, EcnUse};
use haltere_units::{Dur, Ecn, ParamError, Probe, Time};

/// Which side opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends the SYN.
    Client,
    /// Waits for a SYN.
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    Reset,
}

/// What the handshake needs and nothing later does.
#[derive(Debug)]
struct Handshake {
    /// A SYN or SYN-ACK is to be sent; the timer after it; how often it was sent; when first.
    due: bool,
    tries: u32,
    at: u64,
    first_at: u64,
}

/// A TCP endpoint without I/O. What every segment of a pure receiver needs comes first; what a sender needs lies elsewhere.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    /// The last time heard of.
    pub(crate) clock: u64,
    pub(crate) iss: u32,
    pub(crate) irs: u32,
    ts_offset: u32,
    ts_recent: u32,
    pub(crate) state: State,
    per_packet: bool,
    pub(crate) ecn_ok: bool,
    ts_ok: bool,
    pub(crate) rst_due: bool,
    /// Shift of the peer's window field.
    peer_scale: u8,
    /// The sending half, once something was written.
    pub(crate) tx: Option<Box<Sender>>,
    pub(crate) quiet: Quiet,
    pub(crate) rx: Receiver,
    /// Until the connection is established.
    hs: Option<Box<Handshake>>,
    pub(crate) returned: u64,
    pub(crate) returned_late: u64,
    /// The bytes themselves, where the world has them.
    pub(crate) payload: Option<Box<Payload>>,
    pub(crate) origin: Origin,
}

const _: () = assert!(size_of::<Connection>() <= 416, "thousands of them only receive");

fn mix(seed: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014).
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Connection {
    /// An endpoint with these parameters, which many may share; `seed` gives the initial sequence number and such.
    pub fn new(
        role: Role,
        tcp: impl Into<Arc<TcpParams>>,
        control: impl Into<Arc<CongestionParams>>,
        seed: u64,
    ) -> Result<Connection, ParamError> {
        let (origin, control) = Origin::new(tcp.into(), control.into(), seed)?;
        let tcp = &origin.tcp;
        let per_packet = control.ecn() == EcnUse::PerPacket;
        let random = mix(seed);
        Ok(Connection {
            state: if role == Role::Server { State::Listen } else { State::Closed },
            per_packet,
            ecn_ok: false,
            ts_ok: false,
            rst_due: false,
            peer_scale: 0,
            iss: random as u32 >> tcp.isn_zero_bits << tcp.isn_zero_bits,
            irs: 0,
            ts_offset: (random >> 32) as u32,
            ts_recent: 0,
            tx: None,
            quiet: Quiet::new(tcp),
            rx: Receiver::new(tcp, per_packet),
            hs: Some(Box::new(Handshake { due: false, tries: 0, at: u64::MAX, first_at: 0 })),
            returned: 0,
            returned_late: 0,
            clock: 0,
            payload: None,
            origin,
        })
    }

    /// Opens: a client sends its SYN at the next [`poll_transmit`](Connection::poll_transmit); a server listens in any case.
    pub fn open(&mut self, now: Time) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.send_syn(now);
        }
    }

    /// It asks for ECN, or agrees to it.
    fn asks_ecn(&self) -> bool {
        self.origin.tcp.ecn || self.per_packet
    }

    /// A SYN or SYN-ACK is due, for the first time.
    fn send_syn(&mut self, now: Time) {
        if let Some(hs) = &mut self.hs {
            (hs.due, hs.first_at) = (true, now.as_ns());
        }
    }

    /// A segment arrived, whose IP header carried `ecn`.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        self.clock = now.as_ns();
        if self.state == State::Established {
            self.on_established(now, segment, ecn);
        } else {
            self.on_handshake(now, segment, ecn);
        }
    }

    #[inline]
    fn on_established(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let flags = segment.flags;
        let start = position(segment.seq, self.irs, self.rx.next);
        if flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0 || !flags.contains(Flags::ACK) {
            return self.on_odd(start, flags);
        }
        let fin = flags.contains(Flags::FIN);
        let end = start + u64::from(segment.len) + u64::from(fin);
        let mut echo_ms = None;
        if self.ts_ok {
            let Some(ts) = segment.timestamps else { return };
            let older = (ts.val.wrapping_sub(self.ts_recent) as i32) < 0;
            if older && end > start {
                self.rx.ack_now = true; // RFC 7323 section 5.3: an old duplicate
                return;
            }
            if !older && start <= self.rx.acked_up_to {
                self.ts_recent = ts.val;
            }
            echo_ms = self.echoed(now, ts.ecr);
        }
        if end == start && start < self.rx.acked_up_to {
            self.rx.ack_now = true; // a window probe
        }
        let a = AckIn {
            now,
            seq: start,
            ack: position(segment.ack, self.iss, self.una()),
            window: u64::from(segment.window) << self.peer_scale,
            has_data: end > start,
            ece: self.ecn_ok && flags.contains(Flags::ECE),
            echo_ms,
            sack: segment.sack.as_slice(),
            iss: self.iss,
        };
        let valid = match &mut self.tx {
            None if self.quiet.on_ack(&a) => true,
            _ => self.sender().on_ack(&a),
        };
        if !valid {
            self.rx.ack_now = true; // RFC 9293 section 3.10.7.4: it acknowledges what was not sent
            return;
        }
        if end > start {
            let arrival = Arrival {
                now: now.as_ns(),
                start,
                end,
                fin,
                ecn,
                cwr: flags.contains(Flags::CWR),
                push: flags.contains(Flags::PSH),
                echo_ms,
            };
            let (srtt, rto) = self.srtt_and_rto();
            self.rx.on_data(&arrival, srtt, rto);
        }
    }

    /// Our clock as the peer echoes it, in ms.
    #[inline]
    fn echoed(&self, now: Time, ecr: u32) -> Option<u64> {
        let ms = now.as_ns() / 1_000_000;
        let age = (ms as u32).wrapping_add(self.ts_offset).wrapping_sub(ecr);
        ms.checked_sub(u64::from(age))
    }

    fn on_odd(&mut self, start: u64, flags: Flags) {
        if flags.contains(Flags::RST) {
            if start >= self.rx.next && start <= self.rx.next + self.rx.room() {
                self.state = State::Reset;
                if let Some(tx) = &mut self.tx {
                    tx.xmit.clear();
                }
            }
        } else if flags.contains(Flags::SYN) {
            self.rx.ack_now = true; // our last acknowledgement of the handshake was lost
        }
    }

    fn on_handshake(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let flags = segment.flags;
        match self.state {
            State::Listen if flags.contains(Flags::SYN) && !flags.contains(Flags::ACK) => {
                let asks = flags.contains(Flags::ECE) && flags.contains(Flags::CWR);
                self.take_options(now, segment, asks);
                self.state = State::SynReceived;
                self.send_syn(now);
            }
            State::SynReceived if flags.contains(Flags::RST) => self.state = State::Reset,
            State::SynReceived if flags.contains(Flags::SYN) => {
                if let Some(hs) = &mut self.hs {
                    hs.due = true;
                }
            }
            State::SynReceived if flags.contains(Flags::ACK) && segment.ack == wire(1, self.iss) => {
                self.establish(now, segment);
                self.on_established(now, segment, ecn);
            }
            State::SynSent if flags.contains(Flags::ACK) && segment.ack == wire(1, self.iss) => {
                if flags.contains(Flags::RST) {
                    self.state = State::Reset;
                } else if flags.contains(Flags::SYN) {
                    let agrees = flags.contains(Flags::ECE) && !flags.contains(Flags::CWR);
                    self.take_options(now, segment, agrees);
                    self.establish(now, segment);
                    self.rx.ack_now = true;
                }
            }
            _ => {}
        }
    }

    /// The peer's SYN or SYN-ACK.
    fn take_options(&mut self, now: Time, segment: &Segment, ecn: bool) {
        let tcp = &self.origin.tcp;
        self.irs = segment.seq;
        self.rx.next = 1;
        self.rx.acked_up_to = 1;
        self.ecn_ok = self.asks_ecn() && ecn;
        self.ts_ok = tcp.timestamps && segment.timestamps.is_some();
        if let Some(ts) = segment.timestamps {
            self.ts_recent = ts.val;
        }
        self.rx.sack_ok = tcp.sack && segment.sack_permitted;
        self.rx.ecn_ok = self.ecn_ok;
        let scaled = tcp.window_scaling && segment.window_scale.is_some();
        self.peer_scale = if scaled { segment.window_scale.unwrap_or(0).min(14) } else { 0 };
        // RFC 6691: the option counts neither options nor headers.
        let peer = u64::from(segment.mss.unwrap_or(536)).max(64) - if self.ts_ok { 12 } else { 0 };
        let smaller = peer < self.rx.mss;
        self.rx.established(now.as_ns(), peer.min(self.rx.mss), scaled);
        self.quiet.window_end = 1 + u64::from(segment.window);
        if let Some(tx) = &mut self.tx {
            tx.sack_ok = self.rx.sack_ok;
            tx.window_end = self.quiet.window_end;
            if smaller {
                tx.mss = peer;
                tx.control = self.origin.control(peer);
                tx.refresh_cwnd();
            }
        }
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        self.state = State::Established;
        let Some(hs) = self.hs.take() else { return };
        let ns = now.as_ns();
        let rtt = if hs.tries <= 1 {
            Some(ns - hs.first_at)
        } else {
            let echo = segment.timestamps.filter(|_| self.ts_ok).and_then(|ts| self.echoed(now, ts.ecr));
            echo.map(|ms| (ns / 1_000_000).saturating_sub(ms).max(1) * 1_000_000)
        };
        let Some(rtt) = rtt.map(Dur::from_ns) else { return };
        self.origin.established = Some((now, rtt));
        match &mut self.tx {
            Some(tx) => tx.on_established(now, rtt),
            None => self.quiet.on_established(&self.origin.tcp, rtt),
        }
    }

    /// The time that [`next_timeout`](Connection::next_timeout) named has come (earlier calls do no harm).
    pub fn on_timeout(&mut self, now: Time) {
        let ns = now.as_ns();
        self.clock = ns;
        match self.state {
            State::Established => {
                let (_, rto) = self.srtt_and_rto();
                self.rx.on_timeout(ns, rto);
                if self.tx.as_mut().is_some_and(|tx| !tx.on_timeout(now)) {
                    self.state = State::Reset;
                    self.rst_due = true;
                }
            }
            State::SynSent | State::SynReceived => {
                let Some(hs) = self.hs.as_mut().filter(|hs| ns >= hs.at) else { return };
                hs.at = u64::MAX;
                hs.due = hs.tries <= self.origin.tcp.syn_retries;
                if !hs.due {
                    self.state = State::Reset;
                }
            }
            _ => {}
        }
    }

    /// The next segment to send now, with its ECN codepoint; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).map(|ecn| (segment, ecn))
    }

    /// The same, written into `segment`, for who sends many: nothing is copied.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        if self.state != State::Established {
            let (handshake, ecn) = self.poll_handshake(now)?;
            *segment = handshake;
            return Some(ecn);
        }
        let what = if self.rx.old_ack.is_some() {
            Transmit::ack(self.nxt())
        } else if let Some(data) = self.tx.as_mut().and_then(|tx| tx.poll(now)) {
            data
        } else if self.rx.ack_now {
            Transmit::ack(self.nxt())
        } else {
            return None;
        };
        Some(self.segment(now, &what, segment))
    }

    #[cold]
    fn poll_handshake(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        if self.rst_due {
            self.rst_due = false;
            let mut segment = Segment::default();
            self.segment(now, &Transmit::ack(self.nxt()), &mut segment);
            (segment.flags, segment.window) = (Flags::RST.with(Flags::ACK), 0);
            return Some((segment, Ecn::NotEct));
        }
        let asks_ecn = self.asks_ecn();
        let tcp = &self.origin.tcp;
        let hs = self.hs.as_mut()?;
        if !core::mem::take(&mut hs.due) {
            return None;
        }
        hs.tries += 1;
        let wait = tcp.initial_rto.as_ns().saturating_mul(1 << (hs.tries - 1).min(20)).min(tcp.max_rto.as_ns());
        hs.at = now.as_ns().saturating_add(wait);
        let answer = self.state == State::SynReceived;
        let mut flags = if answer { Flags::SYN.with(Flags::ACK) } else { Flags::SYN };
        if answer && self.ecn_ok {
            flags = flags.with(Flags::ECE);
        } else if !answer && asks_ecn && hs.tries == 1 {
            flags = flags.with(Flags::ECE).with(Flags::CWR);
        }
        let ms = (now.as_ns() / 1_000_000) as u32;
        let val = ms.wrapping_add(self.ts_offset);
        let offer = |ours: bool, agreed: bool| if answer { agreed } else { ours };
        let timestamps = offer(tcp.timestamps, self.ts_ok).then_some(Timestamps { val, ecr: self.ts_recent });
        let scales = tcp.window_scaling && (!answer || self.rx.window.scale > 0 || self.peer_scale > 0);
        let mss = tcp.mss.as_u64() + if tcp.timestamps { 12 } else { 0 };
        let segment = Segment {
            seq: self.iss,
            ack: if answer { wire(1, self.irs) } else { 0 },
            window: self.rx.window.syn_window(),
            flags,
            timestamps,
            mss: Some(mss as u16),
            window_scale: scales.then_some(self.rx.window.scale),
            sack_permitted: offer(tcp.sack, self.rx.sack_ok),
            ..Segment::default()
        };
        self.rx.window.edge = self.rx.window.edge.max(1 + u64::from(segment.window));
        Some((segment, if self.per_packet { Ecn::Ect0 } else { Ecn::NotEct }))
    }

    /// A segment, acknowledging what is here.
    #[inline]
    fn segment(&mut self, now: Time, what: &Transmit, segment: &mut Segment) -> Ecn {
        let unread = if self.rx.auto_read { 0 } else { self.rx.unread() };
        let mut flags = Flags::ACK;
        if what.push {
            flags = flags.with(Flags::PSH);
        }
        if what.fin {
            flags = flags.with(Flags::FIN);
        }
        if self.ecn_ok && self.rx.echo {
            flags = flags.with(Flags::ECE);
        }
        let mut ecn = if self.ecn_ok && self.per_packet { Ecn::Ect0 } else { Ecn::NotEct };
        if self.ecn_ok && what.new && what.len > 0 {
            ecn = Ecn::Ect0;
            if self.tx.as_mut().is_some_and(|tx| core::mem::take(&mut tx.rec.cwr_queued)) {
                flags = flags.with(Flags::CWR);
            }
        }
        segment.seq = wire(what.seq, self.iss);
        segment.ack = wire(self.rx.next, self.irs);
        segment.len = what.len;
        segment.window = self.rx.window.advertise(self.rx.next, unread);
        segment.flags = flags;
        (segment.mss, segment.window_scale, segment.sack_permitted) = (None, None, false);
        segment.timestamps = None;
        if self.ts_ok {
            let ms = (now.as_ns() / 1_000_000) as u32;
            segment.timestamps = Some(Timestamps { val: ms.wrapping_add(self.ts_offset), ecr: self.ts_recent });
        }
        segment.sack.clear();
        if self.rx.has_blocks() {
            self.rx.fill_blocks(&mut segment.sack, self.irs, if self.ts_ok { 3 } else { 4 });
        }
        if self.rx.old_ack.is_some() {
            self.make_old(segment);
            return ecn;
        }
        if what.len > 0 {
            self.rx.data_sent(now.as_ns());
        }
        self.rx.ack_sent();
        ecn
    }

    /// RFC 8257 section 3.2: the acknowledgement says what was so before the mark changed.
    #[cold]
    fn make_old(&mut self, segment: &mut Segment) {
        if let Some(old) = self.rx.old_ack.take() {
            segment.ack = wire(old.ack, self.irs);
            let echo = if old.ece { Flags::ECE.0 } else { 0 };
            segment.flags = Flags(segment.flags.0 & !Flags::ECE.0 | echo);
        }
    }

    /// When [`on_timeout`](Connection::on_timeout) is to be called, if ever. Cheap.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let at = match self.state {
            State::Established => {
                let sending = self.tx.as_ref().map_or(u64::MAX, |tx| tx.xmit.at.min(tx.pacing_wake));
                sending.min(self.rx.next_timeout())
            }
            State::Reset => u64::MAX, // given up in the handshake: its timer means nothing any more
            _ => self.hs.as_ref().map_or(u64::MAX, |hs| hs.at),
        };
        (at != u64::MAX).then_some(Time::from_ns(at))
    }

    /// A data segment of ours came back from the network with a congestion mark, ahead of the receiver's echo. Counts
    /// once, and then its echo does not. True where it counts: it was in flight.
    pub fn on_returned(&mut self, now: Time, segment: &Segment) -> bool {
        let seq = position(segment.seq, self.iss, self.una());
        let counts = segment.len > 0 && self.tx.as_mut().is_some_and(|tx| tx.on_returned(now, seq));
        if counts {
            self.returned += 1;
        } else {
            self.returned_late += 1;
        }
        counts
    }

    /// Segments sent with payload so far, retransmissions included: cheaper than [`info`](Connection::info).
    pub fn segments_sent(&self) -> u64 {
        self.tx.as_ref().map_or(0, |tx| tx.segments_sent)
    }

    /// Shows the control's inner variables.
    pub fn probe(&self, row: &mut Probe) {
        self.with_sender(|tx| tx.control.probe(row));
    }

    /// The sending half, if it is there: for who wants to have it near before the next segment arrives.
    #[inline(always)]
    pub fn sending_half(&self) -> Option<&impl Sized> {
        self.tx.as_deref()
    }
    /// What the receiving half keeps of a stream with holes, if it ever had any: likewise.
    #[inline(always)]
    pub fn disorder(&self) -> Option<&impl Sized> {
        self.rx.disorder.as_deref()
    }
    /// The record of the oldest segment under way, if there is one: an acknowledgement looks at it first.
    #[inline(always)]
    pub fn oldest_record(&self) -> Option<&impl Sized> {
        self.tx.as_ref()?.board.front()
    }
    /// Bytes of memory that this endpoint takes, with its heap.
    pub fn memory(&self) -> usize {
        let sending = self.tx.as_ref().map_or(0, |tx| size_of::<Sender>() + tx.board.heap());
        size_of::<Connection>() + sending + self.rx.heap()
    }
}
