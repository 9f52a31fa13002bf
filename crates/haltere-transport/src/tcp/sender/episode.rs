//! The state of an episode: what the sender repairs, and whether the reduction can be taken back.
//!
//! `recovery.rs`, `undo.rs` and `frto.rs` have the transitions, with their sources.

use crate::tcp::seq::Offset;
use crate::tcp::time::Ms;
use haltere_congestion::LossKind;
use haltere_units::Time;

/// State of the sender (Linux's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
pub enum CaState {
    /// No SACK, loss or echo since the last episode.
    #[default]
    Open,
    /// Something is SACKed or was sent again; nothing is marked lost.
    Disorder,
    /// The window is being reduced after an ECN echo, or because the control asked for it.
    Cwr,
    /// Fast recovery: lost segments are sent again.
    Recovery,
    /// Repair after a retransmission timeout.
    Loss,
}

/// The state of the sender and its episode.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub(super) state: CaState,
    /// CWR is to be set on the next new segment.
    pub(super) cwr_queued: bool,
    /// A reduction has begun of which the control does not know yet.
    pub(super) pending: Option<LossKind>,
    /// RFC 6675 `RecoveryPoint`: the episode ends when everything before it is acknowledged.
    pub(super) high_seq: Offset,
    pub(super) recoveries: u32,
    pub(super) ecn_reductions: u32,
}

impl Recovery {
    pub(crate) fn new() -> Recovery {
        Recovery {
            state: CaState::Open,
            cwr_queued: false,
            pending: None,
            high_seq: Offset::SYN,
            recoveries: 0,
            ecn_reductions: 0,
        }
    }
    #[inline]
    pub(crate) fn state(&self) -> CaState {
        self.state
    }
    #[inline]
    pub(crate) fn high_seq(&self) -> Offset {
        self.high_seq
    }
    /// Recovery episodes begun by loss.
    pub(crate) fn recoveries(&self) -> u64 {
        u64::from(self.recoveries)
    }
    /// Reductions that answered an ECN echo.
    pub(crate) fn ecn_reductions(&self) -> u64 {
        u64::from(self.ecn_reductions)
    }
    /// True while the window is being reduced.
    #[inline]
    pub(crate) fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }
    pub(crate) fn set_state(&mut self, state: CaState) {
        self.state = state;
    }
    /// The episode now ends with what was sent so far.
    pub(crate) fn extend_to(&mut self, nxt: Offset) {
        self.high_seq = nxt;
    }
    pub(super) fn begin(&mut self, nxt: Offset, kind: LossKind) {
        self.high_seq = nxt;
        self.cwr_queued = true;
        self.pending = Some(kind);
    }
    /// No segment carries CWR: there is no reduction any more.
    pub(crate) fn cancel_cwr(&mut self) {
        self.cwr_queued = false;
    }
    /// True once after a reduction: the next new segment carries CWR.
    #[inline]
    pub(crate) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.cwr_queued)
    }
}

/// What is needed to take an episode's reduction back.
#[derive(Debug)]
pub(crate) struct Undo {
    enabled: bool,
    /// The control still has what it had before the episode.
    pub(super) restorable: bool,
    /// The first offset of the episode, if there is one to undo.
    marker: Option<Offset>,
    /// Retransmissions that no DSACK has reported yet; none if nothing was retransmitted.
    unreported: Option<u32>,
    /// When the episode's first retransmission left.
    first_retransmission: Option<Time>,
    pub(super) undone: u32,
}

impl Undo {
    pub(crate) fn new(enabled: bool) -> Undo {
        Undo { enabled, restorable: false, marker: None, unreported: None, first_retransmission: None, undone: 0 }
    }
    /// Reductions taken back so far.
    pub(crate) fn undone(&self) -> u64 {
        u64::from(self.undone)
    }
    /// An episode begins at `una` with so many retransmissions in flight.
    pub(crate) fn begin(&mut self, una: Offset, retransmissions: u32) {
        self.marker = self.enabled.then_some(una);
        self.unreported = (retransmissions > 0).then_some(retransmissions);
    }
    /// Nothing of this episode is undone any more.
    pub(crate) fn end(&mut self) {
        self.marker = None;
    }
    /// Whether the control has what it had before the episode.
    pub(crate) fn set_restorable(&mut self, restorable: bool) {
        self.restorable = restorable;
    }
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.marker.is_some()
    }
    pub(crate) fn on_retransmission(&mut self, now: Time) {
        self.first_retransmission.get_or_insert(now);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }
    /// No retransmission is in flight or unacknowledged.
    pub(crate) fn forget_retransmissions(&mut self) {
        self.first_retransmission = None;
    }
    /// True if a DSACK that ends at `end` reports a retransmission of this episode.
    pub(crate) fn awaits_report(&self, end: Offset) -> bool {
        self.marker.is_some_and(|marker| end > marker) && self.unreported.is_some_and(|n| n > 0)
    }
    /// A DSACK reports so many retransmissions.
    pub(crate) fn on_reported(&mut self, segments: u32) {
        self.unreported = self.unreported.map(|n| n.saturating_sub(segments));
    }
    /// RFC 3708: DSACKs reported all retransmissions of the episode.
    pub(crate) fn is_all_reported(&self) -> bool {
        self.is_open() && self.unreported == Some(0)
    }
    /// RFC 3522: the acknowledgement answers something sent before the first retransmission.
    pub(crate) fn is_answer_to_original(&self, echo: Option<Ms>) -> bool {
        match (self.first_retransmission, echo) {
            (Some(first), Some(echo)) => echo.is_before(first),
            _ => false,
        }
    }
    /// The peer had the originals: the retransmissions were spurious.
    pub(crate) fn is_spurious(&self, echo: Option<Ms>) -> bool {
        self.is_open() && (self.unreported == Some(0) || self.is_answer_to_original(echo))
    }
}

#[derive(Debug)]
pub(crate) struct Frto {
    enabled: bool,
    /// The last timeout is not known yet to be genuine.
    pub(super) active: bool,
}

impl Frto {
    pub(crate) fn new(enabled: bool) -> Frto {
        Frto { enabled, active: false }
    }
    /// A timeout; `eligible`: it begins an episode or repeats.
    pub(crate) fn on_timeout(&mut self, eligible: bool) {
        self.active = self.enabled && eligible;
    }
    /// The sender repairs as usual.
    pub(crate) fn stop(&mut self) {
        self.active = false;
    }
}
