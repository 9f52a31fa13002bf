//! One TCP connection endpoint: the way between the header fields of segments and the endpoint's two halves.
//! Source: RFC 9293, RFC 7323 (timestamps).
//! Deviations (Linux): a segment without timestamps is taken although both sides agreed on them. TIME-WAIT is the state
//! itself: the endpoint answers a FIN that is repeated for as long as it is kept.
//! Units: stream offsets (`seq.rs`), ns. Cost: O(1) a segment. Known problems: none.

mod application;
mod handshake;
pub(crate) mod lazy;
mod output;
mod payload;
mod prefetch;

use crate::tcp::accurate_ecn::{AccurateEcn, Feedback};
use crate::tcp::params::TcpParams;
use crate::tcp::receiver::{Arrival, Receiver};
use crate::tcp::segment::{Flags, Segment};
use crate::tcp::sender::Sender;
use crate::tcp::sender::incoming::IncomingAck;
use crate::tcp::sender::returned::Returned;
use crate::tcp::sender::rtt::RttReading;
use crate::tcp::seq::{InitialSeq, Span};
use crate::tcp::time::{Deadline, Ms};
use alloc::boxed::Box;
use alloc::sync::Arc;
use haltere_congestion::{CongestionControl, CongestionParams, EcnUse};
use haltere_units::outside::Origin;
use haltere_units::{Ecn, ParamError, Probe, Time};
use handshake::Handshake;
use lazy::{LazySender, SenderSpec};
use payload::Payload;
pub use prefetch::PrefetchStage;

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

/// A TCP endpoint without I/O.
///
/// # Order of calls
///
/// 1. [`new`](Connection::new); then a client calls [`open`](Connection::open). A server waits.
/// 2. For each event one call: [`on_segment`](Connection::on_segment) for a segment that arrived,
///    [`on_timeout`](Connection::on_timeout) at the time of the timer, or a call of the application (`write`, `read`,
///    `close`).
/// 3. After each event [`poll_transmit`](Connection::poll_transmit) until it gives `None`. It is what starts timers
///    too.
/// 4. Then [`next_timeout`](Connection::next_timeout): an earlier answer counts no more.
///
/// [`copy_payload`](Connection::copy_payload) belongs between a segment's `poll_transmit` and the next
/// [`on_segment`](Connection::on_segment).
///
/// # Time
///
/// `now` never decreases from one call to the next; the same `now` may come again. Debug builds check it. A read or
/// write by the application happens at the time of the last event.
// What every segment of a pure receiver needs comes first; what a sender needs lies elsewhere.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    /// The time of the last event.
    clock: Time,
    iss: InitialSeq,
    irs: InitialSeq,
    ts_offset: u32,
    ts_recent: u32,
    state: State,
    /// What the control makes of ECN.
    ecn_use: EcnUse,
    /// What ECN-capable packets carry.
    ect: Ecn,
    /// What the handshake agreed on.
    feedback: Feedback,
    ts_ok: bool,
    rst_due: bool,
    /// Shift of the peer's window field.
    peer_scale: u8,
    /// The sending half, once something was written.
    pub(in crate::tcp) tx: Option<Box<Sender>>,
    lazy: LazySender,
    rx: Receiver,
    /// With accurate feedback, the counters.
    accurate: Option<Box<AccurateEcn>>,
    /// Until the connection is established.
    handshake: Option<Box<Handshake>>,
    pub(crate) returned: Returned,
    /// The bytes themselves, if the world has them.
    payload: Option<Box<Payload>>,
    spec: SenderSpec,
}

const _: () = assert!(size_of::<Connection>() <= 432, "thousands of them only receive");

fn mix(seed: u64) -> u64 {
    // SplitMix64 (Steele, Lea, Flood 2014).
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Connection {
    /// An endpoint with these parameters, which many may share; the origin's seed gives the initial sequence number and
    /// such.
    pub fn new(
        role: Role,
        tcp: impl Into<Arc<TcpParams>>,
        control: impl Into<Arc<CongestionParams>>,
        origin: impl Into<Origin>,
    ) -> Result<Connection, ParamError> {
        let origin = origin.into();
        let seed = origin.seed;
        let (spec, control) = SenderSpec::new(tcp.into(), control.into(), origin)?;
        let tcp = &spec.tcp;
        let ecn_use = control.ecn();
        // Most servers send nothing.
        let control = (role == Role::Client).then(|| Box::new(control));
        let random = mix(seed);
        Ok(Connection {
            clock: Time::ZERO,
            iss: InitialSeq::new(random as u32 >> tcp.isn_zero_bits << tcp.isn_zero_bits),
            irs: InitialSeq::default(),
            ts_offset: (random >> 32) as u32,
            ts_recent: 0,
            state: if role == Role::Server { State::Listen } else { State::Closed },
            ecn_use,
            ect: if tcp.l4s { Ecn::Ect1 } else { Ecn::Ect0 },
            feedback: Feedback::None,
            ts_ok: false,
            rst_due: false,
            peer_scale: 0,
            tx: None,
            lazy: LazySender::new(tcp),
            rx: Receiver::new(tcp, ecn_use == EcnUse::PerPacket),
            accurate: None,
            handshake: Some(Box::new(Handshake::new(control))),
            returned: Returned::default(),
            payload: None,
            spec,
        })
    }

    /// An event happens: time does not run backwards.
    #[inline]
    fn advance_clock(&mut self, now: Time) {
        debug_assert!(self.clock <= now, "time runs backwards: {} after {}", now, self.clock);
        self.clock = now;
    }

    /// A segment arrived, whose IP header carried `ecn`.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if segment.flags.contains(Flags::REFLECTED) {
            return self.on_reflected(now, segment);
        }
        self.advance_clock(now);
        if self.state == State::Established {
            self.on_established(now, segment, ecn);
        } else {
            self.on_handshake(now, segment, ecn);
        }
    }

    /// RFC 9293 section 3.10.7.4.
    #[inline]
    fn on_established(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let flags = segment.flags;
        let start = self.irs.offset_of(segment.seq, self.rx.next());
        if flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0 || !flags.contains(Flags::ACK) {
            return self.on_syn_or_rst(start.get(), flags, ecn);
        }
        let fin = flags.contains(Flags::FIN);
        let span = Span::new(start, start + (u64::from(segment.len) + u64::from(fin)));
        let has_data = !span.is_empty();
        let (mut echo, mut ts_recent) = (None, None);
        if self.ts_ok
            && let Some(ts) = segment.timestamps
        {
            let older = (ts.val.wrapping_sub(self.ts_recent) as i32) < 0;
            if older && has_data {
                self.rx.acks_mut().demand(); // RFC 7323 section 5.3: an old duplicate
                return;
            }
            if !older && start <= self.rx.acks().acked_up_to() {
                ts_recent = Some(ts.val);
            }
            echo = self.echoed(now, ts.ecr);
        }
        if !has_data && start < self.rx.acks().acked_up_to() {
            self.rx.acks_mut().demand(); // a window probe
        }
        let ack = IncomingAck {
            now,
            seq: start,
            ack: self.iss.offset_of(segment.ack, self.una()),
            window: u64::from(segment.window) << self.peer_scale,
            has_data,
            ece: self.feedback == Feedback::Classic && flags.contains(Flags::ECE),
            echo,
            sack: segment.sack.as_slice(),
            iss: self.iss,
        };
        let valid = match &mut self.tx {
            None if self.lazy.on_ack(&ack) => true,
            _ if self.accurate.is_some() => self.on_accurate_ack(&ack, segment),
            _ => self.sender().on_ack(&ack, None),
        };
        if !valid {
            self.rx.acks_mut().demand(); // it acknowledges what was not sent
            return;
        }
        self.ts_recent = ts_recent.unwrap_or(self.ts_recent);
        if self.accurate.is_some() {
            self.count_mark(ecn, segment.len);
        }
        if !has_data && self.feedback == Feedback::Classic && flags.contains(Flags::CWR) {
            self.rx.echo_mut().on_reduced(); // RFC 3168 wants it on data; Linux takes it from old stacks
        }
        if has_data {
            let (cwr, push) = (self.accurate.is_none() && flags.contains(Flags::CWR), flags.contains(Flags::PSH));
            let (srtt, rto) = self.srtt_and_rto();
            let closing = fin && self.tx.as_ref().is_some_and(|tx| tx.buffer().fin().is_known());
            self.rx.on_data(&Arrival { now, span, fin, closing, ecn, cwr, push, echo }, srtt, rto);
        }
    }

    /// An acknowledgement of a receiver that counts marks.
    #[cold]
    fn on_accurate_ack(&mut self, ack: &IncomingAck<'_>, segment: &Segment) -> bool {
        let mut accurate = self.accurate.take();
        let mut report = accurate.as_mut().and_then(|accurate| accurate.report(segment));
        let valid = self.sender().on_ack(ack, report.as_mut());
        self.accurate = accurate;
        valid
    }

    /// A packet arrived whose mark counts.
    #[cold]
    fn count_mark(&mut self, ecn: Ecn, payload: u32) {
        let at_once = self.accurate.as_mut().is_some_and(|accurate| accurate.count(ecn, payload));
        self.rx.acks_mut().demand_if(at_once);
        if ecn == Ecn::Ce && payload > 0 {
            self.rx.echo_mut().note_ce();
        }
    }

    /// Our clock as the peer echoes it.
    #[inline]
    fn echoed(&self, now: Time, ecr: u32) -> Option<Ms> {
        let ms = Ms::of(now);
        ms.earlier(ms.low_bits().wrapping_add(self.ts_offset).wrapping_sub(ecr))
    }

    /// A segment that an established connection sees rarely.
    fn on_syn_or_rst(&mut self, start: u64, flags: Flags, ecn: Ecn) {
        if flags.contains(Flags::RST) {
            let next = self.rx.next().get();
            if start == next {
                self.state = State::Reset;
                if let Some(tx) = &mut self.tx {
                    tx.stop();
                }
            } else if start > next && start <= next + self.rx.room() {
                self.rx.acks_mut().demand(); // RFC 5961 section 3.2: a peer that means it answers with the right number
            }
        } else if flags.contains(Flags::SYN) {
            self.rx.acks_mut().demand(); // our last acknowledgement of the handshake was lost
            // RFC 9768 section 3.2.2.1: a client's next one has the code of the handshake again.
            if flags.contains(Flags::ACK)
                && let Some(accurate) = &mut self.accurate
            {
                accurate.on_syn_ack_again(ecn);
                self.rx.acks_mut().demand_before_data();
            }
        }
    }

    /// The time that [`next_timeout`](Connection::next_timeout) named has come (earlier calls do no harm).
    pub fn on_timeout(&mut self, now: Time) {
        self.advance_clock(now);
        match self.state {
            State::Established => {
                let (_, rto) = self.srtt_and_rto();
                self.rx.acks_mut().on_timeout(now, rto);
                if self.tx.as_mut().is_some_and(|tx| !tx.on_timeout(now)) {
                    self.state = State::Reset;
                    self.rst_due = true;
                }
            }
            State::SynSent | State::SynReceived => self.on_handshake_timeout(now),
            _ => {}
        }
    }

    /// When [`on_timeout`](Connection::on_timeout) is to be called, if ever. Cheap.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        let due = match self.state {
            State::Established => {
                let sending = self.tx.as_ref().map_or(Deadline::NONE, |tx| tx.next_timeout());
                sending.earliest(self.rx.next_timeout())
            }
            State::Reset => Deadline::NONE, // given up in the handshake: its timer means nothing any more
            _ => self.handshake.as_ref().map_or(Deadline::NONE, |h| h.next_timeout()),
        };
        due.time()
    }

    /// Segments sent with payload so far, retransmissions included: cheaper than [`info`](Connection::info).
    pub fn segments_sent(&self) -> u64 {
        self.tx.as_ref().map_or(0, |tx| tx.output().segments())
    }

    /// Shows the control's inner variables.
    pub fn probe(&self, row: &mut Probe) {
        self.with_sender(|tx| tx.control().probe(row));
    }

    /// Shows the control's inner variables for `[measure] state`: see [`CongestionControl::state`].
    pub fn state(&self, row: &mut Probe) {
        self.with_sender(|tx| tx.control().state(row));
    }

    /// How far the samples of the round-trip time are.
    pub fn rtt_reading(&self) -> RttReading {
        self.tx.as_ref().map_or_else(RttReading::default, |tx| tx.rtt().reading())
    }

    /// Bytes of memory that this endpoint takes, with its heap.
    pub fn memory(&self) -> usize {
        let sending = self.tx.as_ref().map_or(0, |tx| tx.memory());
        size_of::<Connection>() + sending + self.rx.heap()
    }
}

/// What the rest of the crate may know and do.
impl Connection {
    /// True after a reset by either side, or once the connection was given up.
    pub(crate) fn is_reset(&self) -> bool {
        self.state == State::Reset
    }
    /// The parameters of this end.
    pub(crate) fn params(&self) -> &TcpParams {
        &self.spec.tcp
    }
    /// True if ECN was negotiated.
    pub(crate) fn uses_ecn(&self) -> bool {
        self.feedback > Feedback::None
    }
    #[inline]
    pub(crate) fn receiver(&self) -> &Receiver {
        &self.rx
    }
    /// An acknowledgement is to go out at once.
    pub(crate) fn demand_ack(&mut self) {
        self.rx.acks_mut().demand();
    }
    /// Relates sequence numbers of segments that we send to stream offsets.
    pub(crate) fn iss(&self) -> InitialSeq {
        self.iss
    }
    /// Relates sequence numbers of segments that arrive to stream offsets.
    pub(crate) fn irs(&self) -> InitialSeq {
        self.irs
    }
}
