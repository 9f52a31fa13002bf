//! Accurate ECN feedback: how many packets, and how many bytes, arrived with each mark.
//! Source: RFC 9768: sections 3.1 (negotiation), 3.2.2 (the ACE field), 3.2.3 (the option), appendix A.2 (decoding).
//! Deviations: the option is sent whole (11 bytes) or not at all: on segments that have room for it, if a counter has
//! changed. It is not on the SYN-ACK. A path that removes the option, or clears the ECN field, is not tested for, but
//! for an ACE field of zero on the third segment. A mark on a SYN or SYN-ACK brings no reduction: nothing else is in
//! flight.
//! Model: a receiver counts packets with CE (`cep`) and bytes of payload by codepoint. Each segment carries `cep`
//! modulo 8 in the flags AE, CWR and ECE. The sender takes the difference to what it knows. If so many packets are
//! acknowledged at once that the field may have wrapped, it takes the largest count that fits, or the option's bytes if
//! they contradict that.
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
    #[default]
    None,
    /// One bit (RFC 3168, or RFC 8257 with a control that asks for it).
    Classic,
    /// Counters (RFC 9768).
    Accurate,
}

impl Feedback {
    /// What a SYN asks for, of a server that can give `ours` at most (RFC 9768 sections 3.1.2 and 3.1.3). Flags that
    /// are reserved ask for counters.
    pub(crate) fn offered(syn: Flags, ours: Feedback) -> Feedback {
        match (syn.ace(), ours) {
            (0b000, _) | (_, Feedback::None) => Feedback::None,
            (0b011, _) => Feedback::Classic,
            (_, Feedback::Accurate) => Feedback::Accurate,
            // A host that knows only RFC 3168 looks at two flags.
            (0b111, _) => Feedback::Classic,
            _ => Feedback::None,
        }
    }
    /// What a SYN-ACK agrees to (RFC 9768 table 2); the peer was asked for `asked`. A SYN-ACK with the reserved flags
    /// 101 agrees (section 3.1.3).
    pub(crate) fn agreed(syn_ack: Flags, asked: Feedback) -> Feedback {
        match (syn_ack.ace(), asked) {
            (0b000 | 0b111, _) | (_, Feedback::None) => Feedback::None,
            (0b001, _) => Feedback::Classic,
            (_, Feedback::Accurate) => Feedback::Accurate,
            (0b101, _) => Feedback::Classic,
            // A host that knows only RFC 3168 sees both bits, which is no answer of that RFC.
            _ => Feedback::None,
        }
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

/// The count with which a server's sender begins, from the ACE field of the third segment (RFC 9768 table 4). `None`:
/// the field was cleared on the way.
fn first_count(ace: u8) -> Option<u32> {
    match ace {
        0 => None,
        0b110 => Some(FIRST_CEP + 1),
        _ => Some(FIRST_CEP),
    }
}

#[derive(Debug)]
struct Counters {
    /// Packets with CE.
    cep: u32,
    bytes: EcnCounts,
    /// The codepoint of the last packet; at first of the latest SYN or SYN-ACK.
    last: Ecn,
    /// The option is used.
    option: bool,
    /// What the last acknowledgement said.
    told_cep: u32,
    told_bytes: EcnCounts,
}

impl Counters {
    /// The counters of an end that received a SYN, or a client's with a SYN-ACK, with this codepoint. A mark of a SYN
    /// does not count (section 3.2.2.2): the SYN-ACK reports it reliably.
    fn new(handshake: Ecn, client: bool, option: bool) -> Counters {
        let cep = FIRST_CEP + u32::from(client && handshake == Ecn::Ce);
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
        // Section 3.2.2.5.1: by count, and at the first mark after packets without one; section 3.2.3.3: when another
        // counter begins to move.
        let first = changed && (ecn == Ecn::Ce || self.option && self.has_ce());
        payload > 0 && (self.cep.wrapping_sub(self.told_cep) >= CE_PER_ACK || first)
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
    /// `None`: what the peer reports is not believed.
    sent: Option<Decoder>,
}

impl AccurateEcn {
    /// For a server that received a SYN, or a client that received a SYN-ACK, with this codepoint; it sends the option
    /// or does not.
    pub(crate) fn new(handshake: Ecn, client: bool, option: bool) -> AccurateEcn {
        AccurateEcn { received: Counters::new(handshake, client, option), sent: Some(Decoder::new(FIRST_CEP)) }
    }
    /// The third segment has this field. Returns it as later segments have it; `None` if it was cleared on the way:
    /// reports are then not believed, but ours go on (RFC 9768 section 3.2.2.1, note 1).
    pub(crate) fn expect(&mut self, ace: u8) -> Option<u8> {
        let first = first_count(ace);
        self.sent = first.map(Decoder::new);
        first.map(|cep| cep as u8)
    }
    /// Another SYN arrived: the SYN-ACK reports the latest (section 3.1.5).
    pub(crate) fn on_syn_again(&mut self, ecn: Ecn) {
        self.received.last = ecn;
    }
    /// Another SYN-ACK arrived: its acknowledgement reports the latest, and the first one with CE counts (section
    /// 3.2.2.2).
    pub(crate) fn on_syn_ack_again(&mut self, ecn: Ecn) {
        let c = &mut self.received;
        if ecn == Ecn::Ce && c.cep == FIRST_CEP {
            c.cep += 1;
        }
        c.last = ecn;
    }
    /// A packet arrives. True if it is to be acknowledged at once.
    pub(crate) fn count(&mut self, ecn: Ecn, payload: u32) -> bool {
        self.received.count(ecn, payload)
    }
    /// What an acknowledgement says of our packets.
    pub(crate) fn report(&mut self, segment: &Segment) -> Option<Report<'_>> {
        let decoder = self.sent.as_mut()?;
        Some(Report { decoder, ace: segment.flags.ace(), option: segment.ecn_counts })
    }
    /// The code for the packet that opened the connection: in a SYN-ACK, and in the third segment.
    pub(crate) fn handshake_ace(&self) -> u8 {
        handshake_ace(self.received.last)
    }
    /// Puts the ACE field into a segment that is sent now, and the option if there is news and room: payload and
    /// options are at most `mss`.
    pub(crate) fn fill(&mut self, segment: &mut Segment, mss: u64) {
        let c = &mut self.received;
        segment.flags = segment.flags.with_ace((c.cep % ACE) as u8);
        c.told_cep = c.cep;
        if c.option && c.bytes != c.told_bytes && segment.put_ecn_counts(c.bytes, mss) {
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
    /// Packets that an acknowledgement delivers on average, in units of 1 / 64; 0: none yet.
    thinning: u32,
}

/// The average's unit, its weight of 1 / 64, and the average above which acknowledgements are thin, not lost (Linux).
const THINNING_UNIT: u32 = 64;
const THINNING_WEIGHT: u32 = 64;
const THIN: u32 = 4 * THINNING_UNIT;

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
        Decoder { cep, ceb: 0, thinning: 0 }
    }
    /// What an acknowledgement with this field and option reports that was not known yet.
    fn decode(&mut self, ace: u8, option: Option<EcnCounts>, new: &Delivered) -> Marked {
        let least = u32::from(ace).wrapping_sub(self.cep) % ACE;
        let bytes = option.map(|counts| {
            let moved = counts.ce.wrapping_sub(self.ceb) % COUNTS;
            self.ceb = counts.ce;
            u64::from(moved)
        });
        self.note_thinning(new.packets);
        let thin = bytes.is_none() && self.thinning > THIN;
        let packets = if new.packets < ACE || thin { least } else { unwrapped(least, bytes, new) };
        self.cep = self.cep.wrapping_add(packets);
        let bytes = bytes.unwrap_or_else(|| (u64::from(packets) * new.mss).min(new.bytes));
        Marked { packets, bytes }
    }
    fn note_thinning(&mut self, packets: u32) {
        let now = packets.saturating_mul(THINNING_UNIT);
        self.thinning = match self.thinning {
            _ if packets == 0 => self.thinning,
            0 => now,
            old => {
                ((u64::from(old) * u64::from(THINNING_WEIGHT - 1) + u64::from(now)) / u64::from(THINNING_WEIGHT)) as u32
            }
        };
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

    /// RFC 9768 table 2 and section 3.1.3, row by row.
    #[test]
    fn the_answer_to_a_syn_is_read_as_the_rfc_says() {
        use Feedback::{Accurate, Classic, None};
        let asked_accurate = [None, Classic, Accurate, Accurate, Accurate, Accurate, Accurate, None];
        let asked_classic = [None, Classic, None, None, None, Classic, None, None];
        for ace in 0..8u8 {
            let flags = Flags::SYN.with(Flags::ACK).with_ace(ace);
            assert_eq!(Feedback::agreed(flags, Accurate), asked_accurate[usize::from(ace)], "{ace:03b}");
            assert_eq!(Feedback::agreed(flags, Classic), asked_classic[usize::from(ace)], "{ace:03b}");
            assert_eq!(Feedback::agreed(flags, None), None);
        }
    }

    /// RFC 9768 section 3.1.3: all but 000 and 011 ask for counters; RFC 3168 knows two flags.
    #[test]
    fn a_syn_with_reserved_flags_asks_for_counters() {
        use Feedback::{Accurate, Classic, None};
        let accurate = [None, Accurate, Accurate, Classic, Accurate, Accurate, Accurate, Accurate];
        let classic = [None, None, None, Classic, None, None, None, Classic];
        for ace in 0..8u8 {
            let flags = Flags::SYN.with_ace(ace);
            assert_eq!(Feedback::offered(flags, Accurate), accurate[usize::from(ace)], "{ace:03b}");
            assert_eq!(Feedback::offered(flags, Classic), classic[usize::from(ace)], "{ace:03b}");
            assert_eq!(Feedback::offered(flags, None), None);
        }
    }

    #[test]
    fn each_codepoint_of_the_handshake_has_its_code() {
        let codes = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(handshake_ace);
        assert_eq!(codes, [0b010, 0b011, 0b100, 0b110]);
        assert_eq!(codes.map(first_count), [Some(5), Some(5), Some(5), Some(6)]);
        assert_eq!(first_count(0), None, "cleared on the way");
    }

    /// RFC 9768 section 3.2.2.2: a mark of the SYN does not count, one of the SYN-ACK counts once.
    #[test]
    fn the_first_count_is_five_but_for_a_marked_syn_ack() {
        let count = |ends: &AccurateEcn| ends.received.cep;
        assert_eq!(count(&AccurateEcn::new(Ecn::Ce, false, false)), 5, "a server with a marked SYN");
        let mut client = AccurateEcn::new(Ecn::Ce, true, false);
        client.on_syn_ack_again(Ecn::Ce);
        assert_eq!(count(&client), 6);
    }

    /// By hand: ten packets an acknowledgement, none marked. The first alone might hide eight marks; as a rule it is
    /// thinning.
    #[test]
    fn thin_acknowledgements_are_no_marks() {
        let mut d = Decoder::new(5);
        assert_eq!(d.decode(5, None, &delivered(2)).packets, 0);
        assert_eq!(d.decode(5, None, &delivered(10)).packets, 8, "acknowledgements may have been lost");
        let mut d = Decoder::new(5);
        assert_eq!(d.decode(5, None, &delivered(10)).packets, 0, "they are ten packets apart on average");
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
        let usual = || Decoder { thinning: 2 * THINNING_UNIT, ..Decoder::new(5) };
        let mut d = usual();
        assert_eq!(d.decode(7, None, &delivered(10)).packets, 10);
        let mut d = usual();
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
        let mut d = Decoder { cep: 5, ceb: COUNTS - 500, thinning: 0 };
        assert_eq!(d.decode(6, counts(500), &delivered(2)), Marked { packets: 1, bytes: 1000 });
    }

    #[test]
    fn two_marks_or_the_first_after_unmarked_data_bring_an_acknowledgement() {
        let mut c = Counters::new(Ecn::Ect1, true, false);
        let arrive = |c: &mut Counters, ecn| c.count(ecn, 1000);
        assert!(!arrive(&mut c, Ecn::Ect1));
        assert!(arrive(&mut c, Ecn::Ce), "the first mark is reported at once");
        c.told_cep = c.cep;
        assert!(!arrive(&mut c, Ecn::Ce), "one more waits for the delayed acknowledgement");
        assert!(arrive(&mut c, Ecn::Ce), "two do not");
        let mut c = Counters::new(Ecn::Ect1, true, true);
        assert!(arrive(&mut c, Ecn::Ce));
        assert_eq!((c.cep, c.bytes), (6, EcnCounts { ect0: 1, ce: 1000, ect1: 1 }));
        assert!(arrive(&mut c, Ecn::Ect1), "with the option the change back is reported, too");
        assert!(!c.count(Ecn::Ce, 0), "an acknowledgement is not acknowledged");
    }
}
