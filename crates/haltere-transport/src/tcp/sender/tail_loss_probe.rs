//! Tail loss probes: when the last segments of a flight may be lost, one more segment brings an acknowledgement.
//! Source: RFC 8985 section 7. Deviations (Linux): the probe's timeout with one segment in flight is 2 SRTT + 200 ms,
//! with more 2 SRTT + two clock ticks. A probe that repeats a segment is not a retransmission in flight.
//! Units: ns, stream offsets. Cost: O(1). Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::incoming::AckSummary;
use super::outgoing::Transmit;
use crate::tcp::seq::Offset;
use haltere_congestion::LossKind;
use haltere_units::{Dur, Time};

/// State of the tail loss probe.
#[derive(Debug, Default)]
pub(crate) struct TailLossProbe {
    /// The probe, until it is answered.
    out: Option<Probe>,
}

/// A probe that was sent.
#[derive(Debug, Clone, Copy)]
struct Probe {
    /// `TLP.end_seq`: SND.NXT when it left.
    end: Offset,
    /// `TLP.is_retrans`: it was a retransmission.
    is_retrans: bool,
}

impl TailLossProbe {
    #[inline]
    pub(crate) fn is_out(&self) -> bool {
        self.out.is_some()
    }
    /// Nothing is expected of the probe any more.
    pub(crate) fn end(&mut self) {
        self.out = None;
    }
    /// True if a duplicate that ends at `end` is that of the probe.
    pub(crate) fn is_duplicate(&self, end: Offset) -> bool {
        self.out.is_some_and(|probe| probe.is_retrans && probe.end == end)
    }
}

impl Sender {
    /// RFC 8985 section 7.2: arms the probe timer. False if no probe is in order.
    #[inline]
    pub(crate) fn schedule_probe(&mut self, now: Time, advancing: bool) -> bool {
        if !self.timers.has_probes() || !self.sack.is_enabled() || self.board.is_empty() {
            return false;
        }
        if !matches!(self.recovery.state(), CaState::Open | CaState::Cwr) || self.probe.is_out() {
            return false;
        }
        let timeout = self.timers.probe_timeout(self.rtt.srtt(), self.board.len() == 1);
        let rto_at = match self.board.front() {
            Some(front) if !advancing => (front.sent_at + self.rtt.rto()).max(now + Dur::from_ns(1)),
            _ => now + self.rtt.rto(),
        };
        self.timers.arm_probe((now + timeout).min(rto_at));
        true
    }

    /// RFC 8985 section 7.3: new data as probe if there is any, else the last segment again.
    pub(crate) fn send_probe(&mut self, now: Time) -> Option<Transmit> {
        let sent = match self.next_new(self.buffer.mss() + 1) {
            Some((len, fin)) => Some(self.send_new(len, fin, now)),
            None if !self.board.is_empty() && self.may_repeat(self.board.len() - 1) => Some(self.probe_with_last(now)),
            None => None,
        };
        if let Some(sent) = &sent {
            self.probe.out = Some(Probe { end: self.buffer.nxt(), is_retrans: !sent.new });
            self.output.take_burst(); // one probe an episode: the timer that follows is the retransmission's
        }
        self.timers.disarm();
        self.rearm_rto(now);
        sent
    }

    /// RFC 8985 section 7.4: the probe was answered; did it repair a loss?
    pub(crate) fn process_probe_ack(&mut self, ack: &AckSummary) {
        let Some(Probe { end, is_retrans }) = self.probe.out else { return };
        if ack.ack < end {
            return;
        }
        if !is_retrans || ack.dsack_of_probe {
            self.probe.end();
        } else if ack.ack > end {
            self.begin_reduction(LossKind::Loss);
            self.undo.set_restorable(false);
            self.recovery.set_state(CaState::Cwr);
            self.keep_open();
        } else if ack.is_plain_duplicate() {
            self.probe.end();
        }
    }
}
