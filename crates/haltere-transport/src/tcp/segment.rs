//! A TCP segment as the endpoints see it: header fields and the length of its payload.

/// TCP header flags (RFC 9293 section 3.1, RFC 3168 section 6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// What was written ends here: the receiver is to pass it on (push).
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field counts.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN (RFC 9768): with CWR and ECE the ACE field.
    pub const AE: Flags = Flags(0x100);
    /// A segment of ours that a switch sent back with a congestion mark. No header has this flag: the world sets it.
    pub const REFLECTED: Flags = Flags(0x200);

    /// True if all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets together.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The ACE field: AE, CWR and ECE as a number from 0 to 7 (RFC 9768 section 3.2).
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }
    /// The same with that ACE field.
    pub const fn with_ace(self, ace: u8) -> Flags {
        Flags(self.0 & !(7 << 6) | (ace as u16 & 7) << 6)
    }
}

/// The timestamps option (RFC 7323), in milliseconds of the sender's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Timestamps {
    /// The sender's clock.
    pub val: u32,
    /// The peer's clock, echoed.
    pub ecr: u32,
}

/// Bytes of payload received by codepoint, modulo 2^24: the fields of the AccECN option (RFC 9768 section 3.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EcnCounts {
    /// With ECT(0), from 1.
    pub ect0: u32,
    /// With CE, from 0.
    pub ce: u32,
    /// With ECT(1), from 1.
    pub ect1: u32,
}

/// Kinds of the AccECN option: with ECT(0) first, and with ECT(1) first.
const ECT0_FIRST: u8 = 172;
const ECT1_FIRST: u8 = 174;

impl EcnCounts {
    /// The whole option, with ECT(1) first: kind, length and three fields of 24 bits.
    pub fn to_bytes(&self) -> [u8; 11] {
        let mut bytes = [ECT1_FIRST, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (field, count) in bytes[2..].chunks_exact_mut(3).zip([self.ect1, self.ce, self.ect0]) {
            field.copy_from_slice(&count.to_be_bytes()[1..]);
        }
        bytes
    }
    /// The fields of an option of that kind. `None`: it is of another kind, or not whole (senders may leave fields
    /// out).
    pub fn from_option(kind: u8, value: &[u8]) -> Option<EcnCounts> {
        let &[a, b, c, d, e, f, g, h, i] = value else { return None };
        let [first, ce, last] = [[0, a, b, c], [0, d, e, f], [0, g, h, i]].map(u32::from_be_bytes);
        match kind {
            ECT0_FIRST => Some(EcnCounts { ect0: first, ce, ect1: last }),
            ECT1_FIRST => Some(EcnCounts { ect0: last, ce, ect1: first }),
            _ => None,
        }
    }
}

/// Up to four SACK blocks (RFC 2018), newest first: sequence numbers of the first byte and the one after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SackBlocks {
    count: u8,
    blocks: [(u32, u32); 4],
}

impl SackBlocks {
    /// Adds a block; a fifth is left out.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = (start, end);
            self.count += 1;
        }
    }
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
    /// The blocks in order.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
    /// Bytes of the option with its padding.
    fn option_len(&self) -> u32 {
        if self.is_empty() { 0 } else { 4 + 8 * u32::from(self.count) }
    }
    /// True without blocks.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// A TCP segment: header fields, options, and the length of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Sequence number of the first payload byte (or of the SYN).
    pub seq: u32,
    /// Acknowledgement number; counts with [`Flags::ACK`].
    pub ack: u32,
    /// Payload bytes.
    pub len: u32,
    /// The window field as in the header, not scaled.
    pub window: u16,
    /// Flags of the TCP header, with those of ECN.
    pub flags: Flags,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
    /// Maximum segment size option (on SYN).
    pub mss: Option<u16>,
    /// Window scale option (on SYN).
    pub window_scale: Option<u8>,
    /// SACK-permitted option (on SYN).
    pub sack_permitted: bool,
    /// AccECN option.
    pub ecn_counts: Option<EcnCounts>,
}

/// The AccECN option with three fields, and a byte of padding.
const ECN_COUNTS_LEN: u32 = 12;
/// The longest TCP header.
const MAX_HEADER: u32 = 60;

impl Segment {
    /// Adds the AccECN option if the header has room for it, and payload and options are then at most `mss`. True if it
    /// is added.
    pub(crate) fn put_ecn_counts(&mut self, counts: EcnCounts, mss: u64) -> bool {
        let fits = self.header_len() + ECN_COUNTS_LEN <= MAX_HEADER
            && (self.len == 0 || u64::from(self.len + self.sack.option_len() + ECN_COUNTS_LEN) <= mss);
        self.ecn_counts = fits.then_some(counts);
        fits
    }

    /// Payload and SACK blocks are at most `mss` (RFC 9293 section 3.7.1): a segment with more has no blocks.
    pub(crate) fn drop_blocks_without_room(&mut self, mss: u64) {
        if self.len > 0 && u64::from(self.len + self.sack.option_len()) > mss {
            self.sack.clear();
        }
    }

    /// Length of the TCP header with its options, in bytes (a multiple of four, laid out as Linux does).
    pub fn header_len(&self) -> u32 {
        let mut options = 0;
        if self.mss.is_some() {
            options += 4;
        }
        if self.timestamps.is_some() {
            options += 12; // two bytes of padding, shared with SACK-permitted
        } else if self.sack_permitted {
            options += 4;
        }
        if self.window_scale.is_some() {
            options += 4;
        }
        options += self.sack.option_len();
        if self.ecn_counts.is_some() {
            options += ECN_COUNTS_LEN;
        }
        20 + options
    }
}
