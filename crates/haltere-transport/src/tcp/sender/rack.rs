//! RACK: a segment is lost when one sent later has been delivered for a while.
//! Source: RFC 8985 section 6. Deviations (Linux): the wait is zero also outside recovery once as many segments as the
//! reordering degree are SACKed and no reordering was ever seen; a delivery faster than the least round trip, of a
//! retransmitted segment, is not believed.
//! Model: lost if sent before the newest delivered segment and now >= sent + its RTT + window,
//! window = min(steps * min_rtt / 4, srtt).
//! Units: ns. Cost: O(1) for each segment that changes state, by the chain of transmissions of the scoreboard.
//! Known problems: none.

use crate::tcp::sender::Sender;
use crate::tcp::sender::recovery::CaState;
use crate::tcp::sender::scoreboard::{EVER_RETRANS, Sent, sent_after};

/// Round trips during which a window widened by DSACK lasts, in recoveries (RFC 8985 section 6.2 step 4).
const PERSIST: u8 = 16;

/// State of RACK.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// Last transmission and end of the segment delivered that was sent last.
    xmit_at: u64,
    end: u64,
    rtt: u64,
    pub advanced: bool,
    /// Multiples of a quarter of the least round trip.
    steps: u8,
    pub persist: u8,
    pub dsack_seen: bool,
    last_delivered: u64,
    /// Reordering was seen.
    pub reordered: bool,
}

impl Rack {
    /// RFC 8985 section 6.2 step 2: a segment was delivered.
    #[inline]
    pub(crate) fn advance(&mut self, sent: &Sent, now: u64, min_rtt: u64) {
        let rtt = now - sent.sent_at;
        if rtt < min_rtt && sent.has(EVER_RETRANS) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent_after((sent.sent_at, sent.end()), (self.xmit_at, self.end)) {
            self.xmit_at = sent.sent_at;
            self.end = sent.end();
        }
    }

    /// RFC 8985 section 6.2 step 4: DSACKs widen the window, at most once a round trip.
    #[inline]
    pub(crate) fn adapt(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.max(1).saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    pub(crate) fn recovery_undone_by_dsack(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }
}

impl Sender {
    fn rack_window(&self) -> u64 {
        let rack = &self.rec.rack;
        if !rack.reordered {
            if matches!(self.state, CaState::Recovery | CaState::Loss) {
                return 0;
            }
            if self.board.sacked.segments >= self.rec.reordering {
                return 0;
            }
        }
        (self.rtt.min() / 4 * u64::from(rack.steps.max(1))).min(self.rtt.srtt())
    }

    /// Time until a segment is to be held lost, with a wait of `window`; 0: now.
    pub(crate) fn rack_remaining(&self, sent: &Sent, window: u64, now: u64) -> u64 {
        (sent.sent_at + self.rec.rack.rtt + window).saturating_sub(now)
    }

    /// RFC 8985 section 6.2 step 5. Gives the time until the last of the doubtful segments is decided, or 0.
    pub(crate) fn rack_detect(&mut self, now: u64) -> u64 {
        let window = self.rack_window();
        let newest = (self.rec.rack.xmit_at, self.rec.rack.end);
        let mut longest = 0;
        let mut at = self.board.oldest();
        while let Some(index) = at {
            let sent = *self.board.get(index);
            if !sent_after(newest, (sent.sent_at, sent.end())) {
                break;
            }
            at = self.board.after(index);
            let remaining = self.rack_remaining(&sent, window, now);
            if remaining == 0 {
                self.lose(index);
            } else {
                longest = longest.max(remaining);
            }
        }
        longest
    }

    /// Loss detection on an acknowledgement.
    pub(crate) fn rack_mark_lost(&mut self, now: u64) {
        if !core::mem::take(&mut self.rec.rack.advanced) {
            return;
        }
        let remaining = self.rack_detect(now);
        if remaining > 0 {
            self.set_reorder_timer(now, remaining);
        }
    }
}
