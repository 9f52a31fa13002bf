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
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field counts.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(0x80);

    /// True if all of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets together.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
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
    /// Without blocks again.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }
    /// The blocks in order.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
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
    /// Flags.
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
}

impl Segment {
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
        if !self.sack.is_empty() {
            options += 4 + 8 * u32::from(self.sack.count);
        }
        20 + options
    }
}
