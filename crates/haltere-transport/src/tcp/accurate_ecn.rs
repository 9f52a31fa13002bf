//! Accurate ECN feedback: how many packets, and how many bytes, arrived with each mark.
//! Source: RFC 9768: sections 3.1 (negotiation), 3.2.2 (the ACE field), 3.2.3 (the option), appendix A.2 (decoding).
//! Deviations: the option is sent whole (11 bytes) or not at all: on segments that have room for it, if a counter has changed.
//! It is not on the SYN-ACK. A path that removes the option, or clears the ECN field, is not tested for, but for an ACE field
//! of zero on the third segment.
//! Model: a receiver counts packets with CE (`cep`) and bytes of payload by codepoint. Each segment carries `cep` modulo 8 in
//! the flags AE, CWR and ECE. The sender takes the difference to what it knows. If so many packets are acknowledged at once that
//! the field may have wrapped, it takes the largest count that fits, or the option's bytes if they contradict that.
//! Units: packets, bytes. Cost: O(1) a segment. Known problems: none.

use super::segment::{EcnCounts, Flags, Segment};
use haltere_units::Ecn;

/// Both ends count packets with CE from here (RFC 9768 section 3.2.1): zero would look like a field that was cleared.
const FIRST_CEP: u32 = 5;
/// Packets with CE that bring an acknowledgement at once (section 3.2.2.5.1: 2 to 6, with data to acknowledge).
const CE_PER_ACK: u32 = 2;
/// The ACE field counts modulo this.
const ACE: u32 = 8;
/// The option's fields have 24 bits.
const COUNTS: u32 = 1 << 24;

/// How the receiver reports marks: what the handshake agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Feedback {
    /// No ECN.
    #[default]
    None,
    /// One bit (RFC 3168, or RFC 8257 with a control that asks for it).
    Classic,
    /// Counters (RFC 9768).
    Accurate,
}

impl Feedback {
    /// What a SYN asks for.
    pub(crate) fn asked(syn: Flags) -> Feedback {
        match syn.ace() {
            0b111 => Feedback::Accurate,
            0b011 => Feedback::Classic,
            _ => Feedback::None,
        }
    }
    /// What a SYN-ACK agrees to (RFC 9768 table 2); the peer was asked for `asked`.
    pub(crate) fn agreed(syn_ack: Flags, asked: Feedback) -> Feedback {
        let answer = match syn_ack.ace() {
            0b000 | 0b111 => Feedback::None,
            0b001 | 0b101 => Feedback::Classic,
            // A host that knows only RFC 3168 sees both bits, which is no answer of that RFC.
            _ if asked < Feedback::Accurate => Feedback::None,
            _ => Feedback::Accurate,
        };
        answer.min(asked)
    }
    /// The flags of a SYN that asks for this.
    pub(crate) fn ask(self) -> Flags {
        match self {
            Feedback::None => Flags::default(),
            Feedback::Classic => Flags::default().with_ace(0b011),
            Feedback::Accurate => Flags::default().with_ace(0b111),
        }
    }
}

/// The codepoint of a SYN or SYN-ACK as the answer reports it (RFC 9768 tables 2 and 3).
fn handshake_ace(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The count with which a sender begins, from the ACE field of the SYN-ACK or of the third segment. `None`: the field was
/// cleared on the way, and there is no feedback.
pub(crate) fn first_count(ace: u8) -> Option<u32> {
    match ace {
        0 => None,
        0b110 => Some(FIRST_CEP + 1),
        _ => Some(FIRST_CEP),
    }
}

/// What has arrived.
#[derive(Debug)]
struct Counters {
    /// Packets with CE.
    cep: u32,
    bytes: EcnCounts,
    /// The codepoint of the last packet; at first of the SYN or SYN-ACK.
    last: Ecn,
    /// The option is used.
    option: bool,
    /// What the last acknowledgement said.
    told_cep: u32,
    told_bytes: EcnCounts,
}

impl Counters {
    /// The counters of an end that received a SYN or SYN-ACK with this codepoint.
    fn new(handshake: Ecn, option: bool) -> Counters {
        let cep = FIRST_CEP + u32::from(handshake == Ecn::Ce);
        let bytes = EcnCounts { ect0: 1, ce: 0, ect1: 1 };
        Counters { cep, bytes, last: handshake, option, told_cep: cep, told_bytes: bytes }
    }
    /// A packet arrives. True if it is to be acknowledged at once.
    fn count(&mut self, ecn: Ecn, payload: u32) -> bool {
        let counter = match ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(&mut self.bytes.ect0),
            Ecn::Ect1 => Some(&mut self.bytes.ect1),
            Ecn::Ce => Some(&mut self.bytes.ce),
        };
        if let Some(counter) = counter {
            *counter = (*counter + payload) % COUNTS;
        }
        self.cep = self.cep.wrapping_add(u32::from(ecn == Ecn::Ce));
        let changed = core::mem::replace(&mut self.last, ecn) != ecn;
        // Sections 3.2.2.5.1 and 3.2.3.3: by count, and when another counter begins to move.
        payload > 0 && (self.cep.wrapping_sub(self.told_cep) >= CE_PER_ACK || self.option && changed && self.has_ce())
    }
    /// A CE mark is not reported yet.
    fn has_ce(&self) -> bool {
        self.cep != self.told_cep
    }
}

/// One end of a connection whose ends count marks.
#[derive(Debug)]
pub(crate) struct AccurateEcn {
    received: Counters,
    sent: Decoder,
}

impl AccurateEcn {
    /// For an end that received a SYN or SYN-ACK with this codepoint, and sends the option or does not.
    pub(crate) fn new(handshake: Ecn, option: bool) -> AccurateEcn {
        AccurateEcn { received: Counters::new(handshake, option), sent: Decoder::new(FIRST_CEP) }
    }
    /// The peer begins with this count.
    pub(crate) fn expect(&mut self, cep: u32) {
        self.sent = Decoder::new(cep);
    }
    /// A packet arrives. True if it is to be acknowledged at once.
    pub(crate) fn count(&mut self, ecn: Ecn, payload: u32) -> bool {
        self.received.count(ecn, payload)
    }
    /// What an acknowledgement says of our packets.
    pub(crate) fn report(&mut self, segment: &Segment) -> Report<'_> {
        Report { decoder: &mut self.sent, ace: segment.flags.ace(), option: segment.ecn_counts }
    }
    /// The code for the packet that opened the connection: in a SYN-ACK, and in the third segment.
    pub(crate) fn handshake_ace(&self) -> u8 {
        handshake_ace(self.received.last)
    }
    /// Puts the ACE field into a segment that is sent now, and the option if there is news and room.
    pub(crate) fn fill(&mut self, segment: &mut Segment) {
        let c = &mut self.received;
        segment.flags = segment.flags.with_ace((c.cep % ACE) as u8);
        c.told_cep = c.cep;
        if c.option && c.bytes != c.told_bytes && segment.put_ecn_counts(c.bytes) {
            c.told_bytes = c.bytes;
        }
    }
}

/// The counts of a receiver in an acknowledgement, with what is known of them.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    decoder: &'a mut Decoder,
    ace: u8,
    option: Option<EcnCounts>,
}

impl Report<'_> {
    /// What it says that was not known yet; the acknowledgement delivers `new`.
    #[cold]
    pub(crate) fn read(&mut self, new: &Delivered) -> Marked {
        self.decoder.decode(self.ace, self.option, new)
    }
}

/// The sender's copy of the receiver's counters.
#[derive(Debug)]
struct Decoder {
    cep: u32,
    /// Bytes with CE by the last option.
    ceb: u32,
}

/// Newly reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marked {
    pub packets: u32,
    pub bytes: u64,
}

/// What an acknowledgement delivers: packets and bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    pub packets: u32,
    pub bytes: u64,
    /// Bytes of a full segment.
    pub mss: u64,
}

impl Decoder {
    /// With the count that the handshake gave.
    fn new(cep: u32) -> Decoder {
        Decoder { cep, ceb: 0 }
    }
    /// What an acknowledgement with this field and option reports that was not known yet.
    fn decode(&mut self, ace: u8, option: Option<EcnCounts>, new: &Delivered) -> Marked {
        let least = u32::from(ace).wrapping_sub(self.cep) % ACE;
        let bytes = option.map(|counts| {
            let moved = counts.ce.wrapping_sub(self.ceb) % COUNTS;
            self.ceb = counts.ce;
            u64::from(moved)
        });
        let packets = if new.packets < ACE { least } else { unwrapped(least, bytes, new) };
        self.cep = self.cep.wrapping_add(packets);
        let bytes = bytes.unwrap_or_else(|| (u64::from(packets) * new.mss).min(new.bytes));
        Marked { packets, bytes }
    }
}

/// Appendix A.2: the field may have wrapped, since acknowledgements were lost or merged.
fn unwrapped(least: u32, bytes: Option<u64>, new: &Delivered) -> u32 {
    let most = new.packets.saturating_sub(new.packets.wrapping_sub(least) % ACE).max(least);
    match bytes {
        // The largest count would make the marked packets smaller than half of a full segment: it is not that.
        Some(bytes) if most > least && bytes * 2 < u64::from(most) * new.mss => {
            let likely = bytes.div_ceil(new.mss.max(1)) as u32;
            least + likely.saturating_sub(least).div_ceil(ACE) * ACE
        }
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn delivered(packets: u32) -> Delivered {
        Delivered { packets, bytes: u64::from(packets) * MSS, mss: MSS }
    }
    fn counts(ce: u32) -> Option<EcnCounts> {
        Some(EcnCounts { ect0: 1, ce, ect1: 1 })
    }

    /// RFC 9768 table 2, row by row.
    #[test]
    fn the_answer_to_a_syn_is_read_as_the_rfc_says() {
        use Feedback::{Accurate, Classic, None};
        let asked_accurate = [None, Classic, Accurate, Accurate, Accurate, Classic, Accurate, None];
        let asked_classic = [None, Classic, None, None, None, Classic, None, None];
        for ace in 0..8u8 {
            let flags = Flags::SYN.with(Flags::ACK).with_ace(ace);
            assert_eq!(Feedback::agreed(flags, Accurate), asked_accurate[usize::from(ace)], "{ace:03b}");
            assert_eq!(Feedback::agreed(flags, Classic), asked_classic[usize::from(ace)], "{ace:03b}");
            assert_eq!(Feedback::agreed(flags, None), None);
        }
    }

    #[test]
    fn each_codepoint_of_the_handshake_has_its_code() {
        let codes = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(handshake_ace);
        assert_eq!(codes, [0b010, 0b011, 0b100, 0b110]);
        assert_eq!(codes.map(first_count), [Some(5), Some(5), Some(5), Some(6)]);
        assert_eq!(first_count(0), None, "cleared on the way");
    }

    #[test]
    fn the_field_wraps_after_eight_packets() {
        let mut d = Decoder::new(5);
        assert_eq!(d.decode(7, None, &delivered(2)), Marked { packets: 2, bytes: 2000 });
        assert_eq!(d.decode(1, None, &delivered(2)), Marked { packets: 2, bytes: 2000 }, "7 to 9, which is 1");
        assert_eq!(d.decode(1, None, &delivered(7)), Marked::default(), "nothing new");
    }

    /// Appendix A.2.1: ten packets are acknowledged at once, the field has moved by two: two or ten.
    #[test]
    fn after_a_gap_the_largest_count_that_fits_is_taken() {
        let mut d = Decoder::new(5);
        assert_eq!(d.decode(7, None, &delivered(10)).packets, 10);
        let mut d = Decoder::new(5);
        assert_eq!(d.decode(7, None, &delivered(9)).packets, 2, "ten do not fit");
    }

    /// Appendix A.2.2: the option tells two from ten.
    #[test]
    fn the_option_says_which_count_it_is() {
        assert_eq!(Decoder::new(5).decode(7, counts(2000), &delivered(10)), Marked { packets: 2, bytes: 2000 });
        assert_eq!(Decoder::new(5).decode(7, counts(10_000), &delivered(10)), Marked { packets: 10, bytes: 10_000 });
        assert_eq!(Decoder::new(5).decode(7, counts(10_000), &delivered(26)), Marked { packets: 10, bytes: 10_000 });
    }

    #[test]
    fn the_option_wraps_after_24_bits() {
        let mut d = Decoder { cep: 5, ceb: COUNTS - 500 };
        assert_eq!(d.decode(6, counts(500), &delivered(2)), Marked { packets: 1, bytes: 1000 });
    }

    #[test]
    fn two_marks_or_the_first_after_unmarked_data_bring_an_acknowledgement() {
        let mut c = Counters::new(Ecn::Ect1, false);
        let arrive = |c: &mut Counters, ecn| c.count(ecn, 1000);
        assert!(!arrive(&mut c, Ecn::Ect1));
        assert!(!arrive(&mut c, Ecn::Ce), "one mark waits for the delayed acknowledgement");
        assert!(arrive(&mut c, Ecn::Ce));
        let mut c = Counters::new(Ecn::Ect1, true);
        assert!(arrive(&mut c, Ecn::Ce), "with the option the change is reported");
        assert_eq!((c.cep, c.bytes), (6, EcnCounts { ect0: 1, ce: 1000, ect1: 1 }));
        assert!(!c.count(Ecn::Ce, 0), "an acknowledgement is not acknowledged");
    }
}
