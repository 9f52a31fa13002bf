//! An acknowledgement that comes in, and what it changed.

use super::rate_sample::Newest;
use crate::tcp::seq::{InitialSeq, Offset};
use crate::tcp::time::Ms;
use haltere_units::Time;

/// The cumulative acknowledgement advanced.
pub(super) const UNA_ADVANCED: u16 = 1;
/// The segment carried data.
pub(super) const DATA: u16 = 2;
/// It changed the window.
pub(super) const WINDOW: u16 = 4;
/// Something is newly SACKed.
pub(crate) const DATA_SACKED: u16 = 8;
/// It carries the congestion echo.
pub(super) const ECE: u16 = 16;
/// A segment never retransmitted, sent before the episode's end, was delivered.
pub(crate) const ORIG_SACK_ACKED: u16 = 32;
/// It reports a duplicate.
pub(crate) const DSACK: u16 = 64;
/// A retransmission was marked lost.
pub(crate) const LOST_RETRANS: u16 = 128;
/// A retransmitted segment was acknowledged.
pub(super) const RETRANS_ACKED: u16 = 256;
/// It set the reordering timer.
pub(crate) const TIMER_SET: u16 = 512;

/// An acknowledgement, with stream offsets instead of sequence numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncomingAck<'a> {
    pub now: Time,
    pub seq: Offset,
    pub ack: Offset,
    pub window: u64,
    pub has_data: bool,
    pub ece: bool,
    /// Our own clock as echoed.
    pub echo: Option<Ms>,
    /// SACK blocks as in the header, and the number to which they relate.
    pub sack: &'a [(u32, u32)],
    pub iss: InitialSeq,
}

/// What one acknowledgement changed.
#[derive(Debug)]
pub(crate) struct AckSummary {
    pub now: Time,
    pub flags: u16,
    pub ack: Offset,
    pub echo: Option<Ms>,
    pub prior_una: Offset,
    /// The end of the highest SACKed segment before.
    pub prior_fack: Offset,
    pub duplicate: bool,
    pub delivered: u64,
    pub delivered_segments: u32,
    /// Bytes reported as marked, by a receiver that counts marks.
    pub marked: Option<u64>,
    /// Bytes delivered whose mark was counted before.
    pub ce_counted: u64,
    /// Send times of the first and last segment acknowledged, and SACKed, that were never retransmitted.
    pub acked_sent: Option<(Time, Time)>,
    pub sacked_sent: Option<(Time, Time)>,
    /// The lowest offset at which reordering shows.
    pub reordered_at: Option<Offset>,
    pub acked_segments: u32,
    pub acked_bytes: u64,
    pub dsack_of_probe: bool,
    pub newest: Option<Newest>,
}

impl AckSummary {
    #[inline]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
    #[inline]
    pub(crate) fn set(&mut self, flag: u16) {
        self.flags |= flag;
    }
    #[inline]
    pub(crate) fn has_ece(&self) -> bool {
        self.has(ECE)
    }
    /// The cumulative acknowledgement advanced.
    #[inline]
    pub(crate) fn advanced(&self) -> bool {
        self.has(UNA_ADVANCED)
    }
    /// It counts as a duplicate acknowledgement (RFC 5681).
    pub(crate) fn is_duplicate(&self) -> bool {
        self.duplicate
    }
    /// It says nothing new at all.
    pub(crate) fn is_plain_duplicate(&self) -> bool {
        !self.has(UNA_ADVANCED | DATA | WINDOW | DATA_SACKED)
    }
}
