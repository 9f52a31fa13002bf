//! The handshake.
//! Source: RFC 9293 section 3.5, RFC 3168 section 6.1.1 and RFC 9768 section 3.1 (negotiation of ECN), RFC 6298 section
//! 5.7 (SYN), RFC 7323, RFC 2018.
//! Deviations: no simultaneous open. Linux: the third segment is an acknowledgement of its own, before any data. A
//! listener takes no SYN with RST or FIN. A retransmitted SYN does not ask for ECN, but the first one asks for counts
//! again; with a control that counts marks every packet is ECT, else only new data is.
//! Units: ns. Cost: O(1). Known problems: none.

use super::{Connection, State};
use crate::tcp::accurate_ecn::{AccurateEcn, Feedback};
use crate::tcp::established::{Established, SynLoss};
use crate::tcp::metrics::Metrics;
use crate::tcp::params::AccurateEcn as AccurateEcnUse;
use crate::tcp::params::{CachedMetrics, TcpParams};
use crate::tcp::segment::{Flags, Segment, Timestamps};
use crate::tcp::seq::{InitialSeq, Offset};
use crate::tcp::time::{Deadline, Ms, PosDur};
use alloc::boxed::Box;
use haltere_congestion::Control;
use haltere_congestion::EcnUse;
use haltere_units::{Dur, Ecn, Time};

/// The MSS of a peer that names none (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u16 = 536;
/// The least MSS that is believed.
const LEAST_MSS: u64 = 64;
/// Bytes of the timestamps option with its padding.
const TIMESTAMPS_LEN: u64 = 12;
/// The largest window scale (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;

/// What the handshake needs and nothing later does.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// A SYN or SYN-ACK is to be sent.
    due: bool,
    /// How often it was sent.
    tries: u32,
    /// When it is sent again.
    timer: Deadline,
    first_at: Time,
    /// When it was sent the second time.
    again_at: Time,
    /// What a segment of another connection acknowledges: the sequence number of the reset that answers it.
    foreign: Option<u32>,
    /// What the host remembers of the peer.
    metrics: Option<Metrics>,
    /// The control that showed that its parameters are in order, for a sender that is made before the connection is
    /// established.
    pub(crate) control: Option<Box<Control>>,
}

impl Handshake {
    pub(crate) fn new(control: Option<Box<Control>>) -> Handshake {
        Handshake {
            due: false,
            tries: 0,
            timer: Deadline::NONE,
            first_at: Time::ZERO,
            again_at: Time::ZERO,
            foreign: None,
            metrics: None,
            control,
        }
    }
    pub(crate) fn next_timeout(&self) -> Deadline {
        self.timer
    }
    /// The sequence number of a reset that answers another connection, once.
    pub(super) fn take_foreign(&mut self) -> Option<u32> {
        self.foreign.take()
    }
    /// A SYN or SYN-ACK is to be sent for the first time.
    fn begin(&mut self, now: Time) {
        (self.due, self.first_at) = (true, now);
    }
    /// It is sent: RFC 6298 section 5.5 to 5.7.
    fn sent(&mut self, now: Time, p: &TcpParams) {
        self.tries += 1;
        if self.tries == 2 {
            self.again_at = now;
        }
        let backoff = 1 << (self.tries - 1).min(20);
        let wait = Dur::from_ns(p.initial_rto.as_ns().saturating_mul(backoff)).min(p.max_rto);
        self.timer = now.checked_add(wait).map_or(Deadline::NONE, Deadline::at);
    }
    /// The timer has expired. False if no more are to be sent.
    fn on_timeout(&mut self, p: &TcpParams) -> bool {
        self.due = self.tries <= p.syn_retries;
        self.due
    }
}

impl Connection {
    /// Opens: a client sends its SYN at the next [`poll_transmit`](Connection::poll_transmit); a server listens in any
    /// case.
    pub fn open(&mut self, now: Time) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.begin_handshake(now);
        }
    }

    /// It asks for ECN, or agrees to it.
    fn asks_ecn(&self) -> Feedback {
        let tcp = &self.spec.tcp;
        if tcp.accurate_ecn != AccurateEcnUse::Off || self.ecn_use == EcnUse::L4s {
            Feedback::Accurate
        } else if tcp.ecn || self.ecn_use == EcnUse::PerPacket {
            Feedback::Classic
        } else {
            Feedback::None
        }
    }

    /// It asks for counts of marks, or agrees to them.
    pub(crate) fn asks_accurate_ecn(&self) -> bool {
        self.asks_ecn() == Feedback::Accurate
    }

    fn begin_handshake(&mut self, now: Time) {
        if let Some(handshake) = &mut self.handshake {
            handshake.begin(now);
        }
    }

    pub(super) fn on_handshake_timeout(&mut self, now: Time) {
        let Some(handshake) = self.handshake.as_mut().filter(|h| h.timer.is_due(now)) else { return };
        handshake.timer = Deadline::NONE;
        if !handshake.on_timeout(&self.spec.tcp) {
            self.state = State::Reset;
        }
    }

    pub(super) fn on_handshake(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        let flags = segment.flags;
        let acks_syn = flags.contains(Flags::ACK) && segment.ack == self.iss.number_of(Offset::FIRST);
        match self.state {
            State::Listen if flags.0 & (Flags::SYN.0 | Flags::ACK.0 | Flags::RST.0 | Flags::FIN.0) == Flags::SYN.0 => {
                let agreed = Feedback::offered(flags, self.asks_ecn());
                self.take_options(now, segment, agreed, ecn);
                self.state = State::SynReceived;
                self.begin_handshake(now);
            }
            State::SynReceived if flags.contains(Flags::RST) => self.state = State::Reset,
            State::SynReceived if flags.contains(Flags::SYN) => {
                self.take_syn_again(flags, ecn);
                if let Some(handshake) = &mut self.handshake {
                    handshake.due = self.state == State::SynReceived;
                }
            }
            State::SynReceived if acks_syn => {
                self.establish(now, segment);
                self.rx.start_measuring(now);
                let segment = &self.take_third_ace(segment);
                self.on_established(now, segment, ecn);
            }
            State::SynSent if acks_syn && flags.contains(Flags::RST) => self.state = State::Reset,
            // RFC 9293 sections 3.10.7.1 to 3.10.7.4: what acknowledges anything else belongs to another connection.
            State::SynSent | State::SynReceived
                if flags.contains(Flags::ACK) && !flags.contains(Flags::RST) && !acks_syn =>
            {
                self.answer_foreign(segment.ack);
            }
            State::Listen | State::Reset if flags.contains(Flags::ACK) && !flags.contains(Flags::RST) => {
                self.answer_foreign(segment.ack);
            }
            State::SynSent if acks_syn && flags.contains(Flags::SYN) => {
                let agreed = Feedback::agreed(flags, self.asks_ecn());
                self.take_options(now, segment, agreed, ecn);
                self.establish(now, segment);
                self.rx.acks_mut().demand_before_data();
            }
            _ => {}
        }
    }

    /// A reset answers a segment that belongs to no connection of ours.
    fn answer_foreign(&mut self, ack: u32) {
        self.rst_due = true;
        self.handshake.get_or_insert_with(|| Box::new(Handshake::new(None))).foreign = Some(ack);
    }

    /// What the host remembers of the peer counts once the handshake is over.
    pub(crate) fn recall_at_handshake(&mut self, metrics: Metrics) {
        if let Some(handshake) = &mut self.handshake {
            handshake.metrics = Some(metrics);
        }
    }

    /// The peer's SYN or SYN-ACK.
    fn take_options(&mut self, now: Time, segment: &Segment, feedback: Feedback, ecn: Ecn) {
        let tcp = &self.spec.tcp;
        self.irs = InitialSeq::new(segment.seq);
        self.feedback = feedback;
        if feedback == Feedback::Accurate {
            let option = tcp.accurate_ecn != AccurateEcnUse::Ace;
            self.accurate = Some(Box::new(AccurateEcn::new(ecn, self.state == State::SynSent, option)));
            if self.ecn_use == EcnUse::L4s {
                self.ect = Ecn::Ect1;
            }
        }
        self.ts_ok = tcp.timestamps && segment.timestamps.is_some();
        if let Some(ts) = segment.timestamps {
            self.ts_recent = ts.val;
        }
        let sack = tcp.sack && segment.sack_permitted;
        let scaled = tcp.window_scaling && segment.window_scale.is_some();
        self.peer_scale = if scaled { segment.window_scale.unwrap_or(0).min(MAX_SCALE) } else { 0 };
        // RFC 6691: the option counts neither options nor headers.
        let options = if self.ts_ok { TIMESTAMPS_LEN } else { 0 };
        let peer = u64::from(segment.mss.unwrap_or(DEFAULT_MSS)).max(LEAST_MSS) - options;
        let spare = if tcp.timestamps && !self.ts_ok { TIMESTAMPS_LEN } else { 0 }; // of no use to this peer
        let before = self.rx.mss();
        let mss = peer.min(before + spare);
        self.rx.established(now, mss, scaled, sack, feedback == Feedback::Classic);
        let window_end = Offset::FIRST + u64::from(segment.window);
        self.lazy.open(window_end);
        if let Some(tx) = &mut self.tx {
            tx.on_options(sack, window_end);
            if mss != before {
                tx.on_agreed_mss(mss, self.spec.control(mss));
            }
        }
    }

    /// RFC 9768 section 3.1.5: the SYN-ACK reports the latest SYN; after one that asks for nothing, none of our packets
    /// is ECT; one that asks for less ends the connection.
    fn take_syn_again(&mut self, syn: Flags, ecn: Ecn) {
        let Some(accurate) = &mut self.accurate else { return };
        accurate.on_syn_again(ecn);
        match syn.ace() {
            0b000 => self.ect = Ecn::NotEct,
            0b011 => (self.state, self.rst_due) = (State::Reset, true),
            _ => {}
        }
    }

    /// The third segment, with the ACE field as later segments have it (RFC 9768 table 4). After a field of zero no
    /// packet of ours is ECT.
    fn take_third_ace(&mut self, segment: &Segment) -> Segment {
        let mut segment = *segment;
        if let Some(accurate) = &mut self.accurate {
            match accurate.expect(segment.flags.ace()) {
                Some(ace) => segment.flags = segment.flags.with_ace(ace),
                None => self.ect = Ecn::NotEct,
            }
        }
        segment
    }

    fn establish(&mut self, now: Time, segment: &Segment) {
        let opened = core::mem::replace(&mut self.state, State::Established) == State::SynSent;
        let Some(handshake) = self.handshake.take() else { return };
        let (rtt, lost) = if handshake.tries <= 1 {
            (Some(now - handshake.first_at), SynLoss::None)
        } else {
            let echo = segment.timestamps.filter(|_| self.ts_ok).and_then(|ts| self.echoed(now, ts.ecr));
            // The echo of the first SYN shows that it was only late (RFC 3522).
            let late = echo.is_some_and(|echo| echo.is_before(handshake.again_at));
            let lost = match handshake.tries {
                _ if late || !opened => SynLoss::None,
                2 => SynLoss::One,
                _ => SynLoss::More,
            };
            (echo.map(|echo| echo.elapsed(now)), lost)
        };
        let established = Established { at: now, rtt: rtt.map(PosDur::at_least_1ns), lost };
        match &mut self.tx {
            Some(tx) => tx.on_established(&established),
            None => self.lazy.on_established(&self.spec.tcp, rtt),
        }
        self.spec.established = Some(established);
        if let Some(metrics) = handshake.metrics {
            let with_ssthresh = self.spec.tcp.tcp_metrics == CachedMetrics::WithSsthresh;
            self.sender().recall(&metrics, with_ssthresh);
        }
    }

    /// The SYN, SYN-ACK or RST that is to be sent, if any.
    #[cold]
    pub(super) fn poll_handshake(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        if core::mem::take(&mut self.rst_due) {
            return Some((self.reset_segment(now), Ecn::NotEct));
        }
        let asks_ecn = self.asks_ecn();
        let tcp = &self.spec.tcp;
        let handshake = self.handshake.as_mut()?;
        if !core::mem::take(&mut handshake.due) {
            return None;
        }
        handshake.sent(now, tcp);
        let answer = self.state == State::SynReceived;
        let mut flags = if answer { Flags::SYN.with(Flags::ACK) } else { Flags::SYN };
        if let Some(accurate) = self.accurate.as_ref().filter(|_| answer) {
            flags = flags.with_ace(accurate.handshake_ace());
        } else if answer && self.feedback == Feedback::Classic {
            flags = flags.with(Flags::ECE);
        } else if !answer && handshake.tries <= if asks_ecn == Feedback::Accurate { 2 } else { 1 } {
            flags = flags.with(asks_ecn.ask());
        }
        let val = Ms::of(now).low_bits().wrapping_add(self.ts_offset);
        let offer = |ours: bool, agreed: bool| if answer { agreed } else { ours };
        let timestamps = offer(tcp.timestamps, self.ts_ok).then_some(Timestamps { val, ecr: self.ts_recent });
        let scale = self.rx.window().scale();
        let scales = tcp.window_scaling && (!answer || scale > 0 || self.peer_scale > 0);
        let mss = tcp.mss.as_u64() + if tcp.timestamps { TIMESTAMPS_LEN } else { 0 };
        let segment = Segment {
            seq: self.iss.number_of(Offset::SYN),
            ack: if answer { self.irs.number_of(Offset::FIRST) } else { 0 },
            window: self.rx.advertise_syn(),
            flags,
            timestamps,
            mss: Some(mss as u16),
            window_scale: scales.then_some(scale),
            sack_permitted: offer(tcp.sack, self.rx.sack_ok()),
            ..Segment::default()
        };
        Some((segment, if self.ecn_use == EcnUse::PerPacket { self.ect } else { Ecn::NotEct }))
    }
}
