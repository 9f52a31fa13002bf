//! The congestion echo: what the receiver says of the marks that arrive.
//! Source: RFC 3168 section 6.1.3, RFC 8257 section 3.2 (DCTCP).
//! Deviations (Linux): the first CE mark of an episode brings two quick acknowledgements.
//! Units: stream offsets. Cost: O(1). Known problems: none.

use super::{Arrival, Receiver};
use crate::tcp::seq::Offset;
use haltere_units::Ecn;

/// Quick acknowledgements after a mark, or after a segment that was probably sent again: the sender's window may be
/// very small.
const AFTER_MARK: u32 = 2;

/// An acknowledgement of an earlier state, with its own echo (DCTCP).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldAck {
    pub ack: Offset,
    pub ece: bool,
}

#[derive(Debug)]
pub(crate) struct Echo {
    /// To be sent before any other.
    old_ack: Option<OldAck>,
    ce_segments: u64,
    enabled: bool,
    /// The echo is set.
    set: bool,
    /// The control wants to know of each mark (DCTCP).
    per_packet: bool,
    seen_ect: bool,
}

impl Echo {
    pub(crate) fn new(per_packet: bool) -> Echo {
        Echo { old_ack: None, ce_segments: 0, enabled: false, set: false, per_packet, seen_ect: false }
    }
    pub(crate) fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }
    /// A segment with CE arrived whose mark is counted elsewhere.
    pub(crate) fn note_ce(&mut self) {
        self.ce_segments += 1;
    }
    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        self.set
    }
    /// Segments received with CE.
    pub(crate) fn ce_segments(&self) -> u64 {
        self.ce_segments
    }
    /// True if an acknowledgement of an earlier state is to be sent.
    #[inline]
    pub(crate) fn has_old_ack(&self) -> bool {
        self.old_ack.is_some()
    }
    pub(crate) fn take_old_ack(&mut self) -> Option<OldAck> {
        self.old_ack.take()
    }
    /// The peer has reduced its window (CWR).
    #[inline]
    pub(crate) fn on_reduced(&mut self) {
        self.set &= self.per_packet;
    }
}

impl Receiver {
    /// A segment arrived with this ECN codepoint.
    #[inline]
    pub(crate) fn take_mark(&mut self, a: &Arrival) {
        let ce = a.ecn == Ecn::Ce;
        self.echo.ce_segments += u64::from(ce);
        if self.echo.per_packet {
            self.take_mark_per_packet(ce);
            self.echo.seen_ect |= a.ecn.is_capable();
            return;
        }
        match a.ecn {
            Ecn::Ce => {
                if !self.echo.set {
                    self.enter_quick(AFTER_MARK);
                    self.acks.demand(); // also by a receiver that knows no quick acknowledgements
                    self.echo.set = true;
                }
                self.echo.seen_ect = true;
            }
            Ecn::NotEct if self.echo.seen_ect => self.enter_quick(AFTER_MARK), // probably a retransmission
            Ecn::NotEct => {}
            Ecn::Ect0 | Ecn::Ect1 => self.echo.seen_ect = true,
        }
    }

    /// RFC 8257 section 3.2: a change of the mark sends what was held back, with the old echo.
    #[inline]
    fn take_mark_per_packet(&mut self, ce: bool) {
        if ce == self.echo.set {
            return;
        }
        if self.acks.is_delayed() {
            self.echo.old_ack = Some(OldAck { ack: self.next, ece: self.echo.set });
            self.ack_sent();
            self.acks.schedule();
        }
        self.acks.demand();
        self.echo.set = ce;
    }
}
