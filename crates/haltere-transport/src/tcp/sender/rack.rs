//! RACK: a segment is lost if one sent later has been delivered for a while.
//! Source: RFC 8985 section 6. Deviations (Linux): the wait is zero also outside recovery once as many segments as the
//! reordering degree are SACKed and no reordering was ever seen; a delivery faster by a microsecond than the least
//! round trip, of a retransmitted segment, is not believed. The echoed timestamp counts for what is acknowledged in order
//! only: for a SACKed segment it is that of an earlier one (RFC 7323 section 4.3), and a SACKed tail loss probe would
//! never count.
//! Model: lost if sent before the newest delivered segment and now >= sent + its RTT + window,
//! window = min(steps * min_rtt / 4, srtt).
//! Units: ns. Cost: O(1) for each segment that changes state, by the chain of transmissions of the scoreboard.
//! Known problems: none.

use super::Sender;
use super::episode::CaState;
use super::scoreboard::{EVER_RETRANS, Sent, SentOrder};
use crate::tcp::time::{Ms, or_zero};
use haltere_units::{Dur, Time};

/// Recoveries for which a window widened by DSACK lasts (RFC 8985 section 6.2 step 4).
const PERSIST: u8 = 16;

#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: of the segments delivered, the one sent last.
    newest: SentOrder,
    /// `RACK.rtt`: its round-trip time.
    rtt: Dur,
    /// A segment was delivered since losses were looked for.
    advanced: bool,
    /// `RACK.reo_wnd_mult`: multiples of a quarter of the least round trip.
    steps: u8,
    /// `RACK.reo_wnd_persist`.
    persist: u8,
    /// `RACK.dsack_round`, as bytes delivered.
    dsack_seen: bool,
    last_delivered: u64,
    /// `RACK.reordering_seen`.
    reordered: bool,
}

impl Rack {
    /// RFC 8985 section 6.2 steps 1 and 2: a segment was delivered. `echo`: the timestamp that the peer had from it.
    #[inline]
    pub(crate) fn on_delivered(&mut self, sent: &Sent, now: Time, min_rtt: Dur, echo: Option<Ms>) {
        let rtt = now.since(sent.sent_at);
        if sent.has(EVER_RETRANS)
            && (rtt.as_ns() / 1000 < min_rtt.as_ns() / 1000 || echo.is_some_and(|echo| echo.is_before(sent.sent_at)))
        {
            return; // of the original, or of an earlier copy
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent.order().is_after(self.newest) {
            self.newest = sent.order();
        }
    }
    /// RFC 8985 section 6.2 step 3: reordering was seen.
    pub(crate) fn on_reordering(&mut self) {
        self.reordered = true;
    }
    /// The peer reports that it had a segment that was sent again. It counts once reordering was seen.
    pub(crate) fn on_dsack(&mut self) {
        self.dsack_seen |= self.reordered;
    }
    /// RFC 8985 section 6.2 step 4: DSACKs widen the window, at most once a round trip.
    #[inline]
    pub(crate) fn update_window(&mut self, prior_delivered: u64, delivered: u64) {
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
    /// A recovery has ended, and its retransmissions were needed.
    pub(crate) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }
    /// A recovery was undone because DSACKs reported all of its retransmissions.
    pub(crate) fn on_undone_by_dsack(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }
    /// Losses are to be looked for again at the next acknowledgement.
    pub(crate) fn look_again(&mut self) {
        self.advanced = true;
    }
    /// Time until a segment is to be marked lost with a wait of `window`; zero: now.
    #[inline]
    pub(crate) fn remaining(&self, sent: &Sent, window: Dur, now: Time) -> Dur {
        (sent.sent_at + self.rtt + window).since(now)
    }
}

impl Sender {
    fn rack_window(&self) -> Dur {
        let rack = &self.detection.rack;
        if !rack.reordered {
            if matches!(self.recovery.state(), CaState::Recovery | CaState::Loss) {
                return Dur::ZERO;
            }
            if self.board.sacked().segments >= self.detection.reordering() {
                return Dur::ZERO;
            }
        }
        (or_zero(self.rtt.min()) / 4 * u64::from(rack.steps.max(1))).min(or_zero(self.rtt.srtt()))
    }

    /// RFC 8985 section 6.2 step 5, `RACK_detect_loss`. Gives the time until the last of the doubtful segments is
    /// decided.
    pub(crate) fn rack_detect_loss(&mut self, now: Time) -> Option<Dur> {
        let window = self.rack_window();
        let newest = self.detection.rack.newest;
        let mut longest = None;
        let mut next = self.board.oldest();
        while let Some(index) = next {
            let sent = *self.board.get(index);
            if !newest.is_after(sent.order()) {
                break;
            }
            next = self.board.after(index);
            let remaining = self.detection.rack.remaining(&sent, window, now);
            if remaining.is_zero() {
                self.mark_lost(index);
            } else {
                longest = longest.max(Some(remaining));
            }
        }
        longest
    }

    /// Loss detection on an acknowledgement. True if some segments are doubtful: the reordering timer is set.
    pub(crate) fn rack_mark_lost(&mut self, now: Time) -> bool {
        if !core::mem::take(&mut self.detection.rack.advanced) {
            return false;
        }
        let Some(remaining) = self.rack_detect_loss(now) else { return false };
        self.timers.arm_reordering(now, remaining, self.rtt.rto());
        true
    }
}
