//! Segments on their way out.
//! Source: RFC 9293 section 3.10.7, RFC 7323 section 3.2, RFC 3168 section 6.1, RFC 8257 section 3.2.
//! Deviations: none beyond those of the parts. Cost: O(1) a segment. Known problems: none.

use super::{Connection, State};
use crate::tcp::accurate_ecn::Feedback;
use crate::tcp::segment::{Flags, Segment, Timestamps};
use crate::tcp::sender::outgoing::Transmit;
use crate::tcp::time::Ms;
use haltere_congestion::EcnUse;
use haltere_units::{Ecn, Time};

impl Connection {
    /// The next segment to send now, with its ECN codepoint; call until `None`.
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Segment, Ecn)> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).map(|ecn| (segment, ecn))
    }

    /// The same, written into `segment`, for callers that send many: nothing is copied.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> Option<Ecn> {
        debug_assert!(self.clock <= now, "time runs backwards: {} after {}", now, self.clock);
        if self.state != State::Established {
            let (handshake, ecn) = self.poll_handshake(now)?;
            *segment = handshake;
            return Some(ecn);
        }
        let what = if self.rx.owes_ack_before_data() || self.owes_blocks() {
            Transmit::ack(self.nxt())
        } else if let Some(data) = self.tx.as_mut().and_then(|tx| tx.poll(now)) {
            data
        } else if self.rx.acks().is_due() {
            Transmit::ack(self.nxt())
        } else {
            return None;
        };
        Some(self.fill_segment(now, &what, segment))
    }

    /// An acknowledgement with SACK blocks is due. It goes alone: a full segment has no room for them.
    #[inline]
    fn owes_blocks(&self) -> bool {
        self.rx.acks().is_due() && self.rx.has_blocks()
    }

    /// A segment, acknowledging what is here.
    #[inline]
    fn fill_segment(&mut self, now: Time, what: &Transmit, segment: &mut Segment) -> Ecn {
        let mut flags = Flags::ACK;
        if what.push {
            flags = flags.with(Flags::PSH);
        }
        if what.fin {
            flags = flags.with(Flags::FIN);
        }
        let mut ecn = Ecn::NotEct;
        if self.feedback > Feedback::None {
            ecn = self.codepoint(what);
            if self.feedback == Feedback::Classic {
                flags = self.with_echo(what, flags);
            }
        }
        segment.seq = self.iss.number_of(what.seq);
        segment.ack = self.irs.number_of(self.rx.next());
        segment.len = what.len;
        segment.window = self.rx.advertise();
        segment.flags = flags;
        (segment.mss, segment.window_scale, segment.sack_permitted) = (None, None, false);
        segment.timestamps = None;
        if self.ts_ok {
            let val = Ms::of(now).low_bits().wrapping_add(self.ts_offset);
            segment.timestamps = Some(Timestamps { val, ecr: self.ts_recent });
        }
        segment.sack.clear();
        if self.rx.has_blocks() {
            self.rx.fill_blocks(&mut segment.sack, self.irs, if self.ts_ok { 3 } else { 4 });
            segment.drop_blocks_without_room(self.rx.mss());
        }
        segment.ecn_counts = None;
        if self.accurate.is_some() {
            self.put_counters(segment);
        }
        if self.rx.echo().has_old_ack() {
            self.make_old(segment);
            return ecn;
        }
        if what.len > 0 {
            self.rx.acks_mut().on_data_sent(now);
        }
        self.rx.ack_sent();
        ecn
    }

    /// The ECN field: new data is ECT. With accurate feedback retransmitted data is ECT, too, and so are
    /// acknowledgements if they are to be. With a control that counts each mark every packet is ECT.
    #[inline]
    fn codepoint(&self, what: &Transmit) -> Ecn {
        let accurate = self.feedback == Feedback::Accurate;
        let capable = match what.len {
            _ if self.ecn_use == EcnUse::PerPacket => true,
            0 => accurate && self.spec.tcp.ect_acks,
            _ => what.new || accurate,
        };
        if capable { self.ect } else { Ecn::NotEct }
    }

    /// RFC 3168 section 6.1: the echo, and CWR on new data after a reduction.
    #[inline]
    fn with_echo(&mut self, what: &Transmit, mut flags: Flags) -> Flags {
        if self.rx.echo().is_set() {
            flags = flags.with(Flags::ECE);
        }
        if what.new && what.len > 0 && self.tx.as_mut().is_some_and(|tx| tx.take_cwr()) {
            flags = flags.with(Flags::CWR);
        }
        flags
    }

    /// RFC 9768: the ACE field and, if there is room, the option. The third segment of the handshake has a code of its
    /// own.
    #[cold]
    fn put_counters(&mut self, segment: &mut Segment) {
        let third = self.rx.acks().goes_before_data();
        let Some(accurate) = &mut self.accurate else { return };
        if third {
            segment.flags = segment.flags.with_ace(accurate.handshake_ace());
        } else {
            accurate.fill(segment, self.rx.mss());
        }
    }

    /// RFC 8257 section 3.2: the acknowledgement says what was so before the mark changed.
    #[cold]
    fn make_old(&mut self, segment: &mut Segment) {
        if let Some(old) = self.rx.echo_mut().take_old_ack() {
            segment.ack = self.irs.number_of(old.ack);
            let echo = if old.ece { Flags::ECE.0 } else { 0 };
            segment.flags = Flags(segment.flags.0 & !Flags::ECE.0 | echo);
        }
    }

    /// The reset that is due: of our connection, or of one that is not ours.
    pub(super) fn reset_segment(&mut self, now: Time) -> Segment {
        if let Some(seq) = self.handshake.as_mut().and_then(|h| h.take_foreign()) {
            return Segment { seq, flags: Flags::RST, ..Segment::default() };
        }
        let mut segment = Segment::default();
        self.fill_segment(now, &Transmit::ack(self.nxt()), &mut segment);
        (segment.flags, segment.window) = (Flags::RST.with(Flags::ACK), 0);
        segment
    }
}
