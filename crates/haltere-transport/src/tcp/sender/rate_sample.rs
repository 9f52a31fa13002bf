//! Delivery rate estimation.
//! Source: draft-cheng-iccrg-delivery-rate-estimation, draft-ietf-ccwg-bbr (section on delivery rate samples).
//! Deviations: none.
//! Model: each segment carries what was delivered when it left; when it is delivered,
//! rate = (delivered now - delivered then) / max(send phase, acknowledgement phase).
//! Units: bytes, ns. Cost: O(1) a segment. Known problems: none.

use super::scoreboard::{APP_LIMITED, SAMPLED, Sent, SentOrder};
use crate::tcp::accurate_ecn::Marked;
use crate::tcp::seq::Offset;
use core::num::NonZeroU64;
use haltere_congestion::{LostSegment, RateSample};
use haltere_units::{Bytes, Dur, Time};

/// What was delivered so far.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Bytes delivered in all, delivered with CE, marked lost.
    delivered: u64,
    delivered_ce: u64,
    lost: u64,
    delivered_at: Time,
    /// Send time of the segment delivered last.
    first_sent_at: Time,
    /// Until this much is delivered, samples show the application and not the path.
    app_limited: Option<NonZeroU64>,
    /// Segments delivered in all, and with CE.
    segments: u64,
    segments_ce: u64,
    /// A round trip is over when a segment sent after this much was delivered is acknowledged; rounds so far.
    round_end: u64,
    rounds: u64,
}

/// Of the segments that an acknowledgement delivers, the one sent last: it gives the sample.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Newest {
    app_limited: bool,
    prior_delivered: u64,
    prior_at: Time,
    send_phase: Dur,
    end: Offset,
    lost: u32,
    ce: u32,
    in_flight: u32,
}

impl Newest {
    /// Bytes delivered in all when it was sent.
    #[inline]
    pub(crate) fn prior_delivered(&self) -> u64 {
        self.prior_delivered
    }
}

impl Delivery {
    /// Bytes delivered in all.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.delivered
    }
    /// Bytes delivered in all with CE.
    pub(crate) fn bytes_ce(&self) -> u64 {
        self.delivered_ce
    }
    /// Bytes marked lost in all.
    #[inline]
    pub(crate) fn bytes_lost(&self) -> u64 {
        self.lost
    }
    /// Segments delivered in all.
    pub(crate) fn segments(&self) -> u64 {
        self.segments
    }
    /// Segments delivered in all with CE.
    pub(crate) fn segments_ce(&self) -> u64 {
        self.segments_ce
    }
    /// Round trips so far.
    #[inline]
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The first segment of a flight is sent.
    #[inline]
    pub(crate) fn restart(&mut self, now: Time) {
        self.first_sent_at = now;
        self.delivered_at = now;
    }
    /// The application has too little to send, with `in_flight` bytes in flight.
    pub(crate) fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited = Some(NonZeroU64::new(self.delivered + in_flight).unwrap_or(NonZeroU64::MIN));
    }
    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }
    /// Bytes of a segment were marked lost: what that tells of the flight in which it was sent.
    #[cold]
    pub(crate) fn on_lost(&mut self, sent: &Sent, bytes: u64) -> LostSegment {
        self.lost += bytes;
        let mut event = LostSegment::new(sent.seq.get(), Bytes::new(bytes));
        event.tx_in_flight = Bytes::new(u64::from(sent.in_flight));
        event.lost = Bytes::new(u64::from((self.lost as u32).wrapping_sub(sent.lost)));
        event.prior_delivered = sent.delivered;
        event.total_delivered = self.delivered;
        event.app_limited = sent.has(APP_LIMITED);
        event
    }
    /// Bytes were delivered; `ce`: the acknowledgement echoes a mark.
    #[inline]
    pub(crate) fn count(&mut self, bytes: u64, segments: u32, ce: bool) {
        self.delivered += bytes;
        self.segments += u64::from(segments);
        if ce {
            self.delivered_ce += bytes;
            self.segments_ce += u64::from(segments);
        }
    }

    /// The receiver has counted marks.
    pub(crate) fn count_marked(&mut self, marked: Marked) {
        self.delivered_ce += marked.bytes;
        self.segments_ce += u64::from(marked.packets);
    }

    /// A segment is sent, with `in_flight` bytes in flight then.
    #[inline]
    pub(crate) fn on_sent(&self, sent: &mut Sent, in_flight: u64) {
        sent.first_sent_at = self.first_sent_at;
        sent.delivered = self.delivered;
        sent.delivered_at = self.delivered_at;
        sent.lost = self.lost as u32;
        sent.delivered_ce = self.delivered_ce as u32;
        sent.in_flight = in_flight.min(u64::from(u32::MAX)) as u32;
        sent.flags &= !(APP_LIMITED | SAMPLED);
        if self.app_limited.is_some() {
            sent.flags |= APP_LIMITED;
        }
    }

    /// A segment is delivered.
    #[inline]
    pub(crate) fn on_delivered(&mut self, sent: &Sent, newest: &mut Option<Newest>) {
        if sent.has(SAMPLED) {
            return;
        }
        let is_newest = match newest {
            None => true,
            Some(newest) => sent.order().is_after(SentOrder { at: self.first_sent_at, end: newest.end }),
        };
        if is_newest {
            self.first_sent_at = sent.sent_at;
            *newest = Some(Newest {
                app_limited: sent.has(APP_LIMITED),
                prior_delivered: sent.delivered,
                prior_at: sent.delivered_at,
                send_phase: sent.sent_at.since(sent.first_sent_at),
                end: sent.end(),
                lost: sent.lost,
                ce: sent.delivered_ce,
                in_flight: sent.in_flight,
            });
        }
    }

    /// All of an acknowledgement that delivered so many bytes is counted. Gives its sample, if one could be taken.
    #[inline]
    pub(crate) fn sample(
        &mut self,
        newest: Option<&Newest>,
        now: Time,
        delivered: u64,
        min_rtt: Dur,
    ) -> Option<RateSample> {
        if self.app_limited.is_some_and(|until| self.delivered > until.get()) {
            self.app_limited = None;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let newest = newest?;
        let interval = newest.send_phase.max(now - newest.prior_at);
        if interval.is_zero() || interval < min_rtt {
            return None; // shorter than the path: stretched or compressed acknowledgements
        }
        let bytes = Bytes::new(self.delivered - newest.prior_delivered);
        let mut rate = RateSample::new(bytes, interval);
        rate.prior_delivered = newest.prior_delivered;
        rate.total_delivered = self.delivered;
        rate.lost = Bytes::new(u64::from((self.lost as u32).wrapping_sub(newest.lost)));
        rate.total_lost = self.lost;
        rate.tx_in_flight = Bytes::new(u64::from(newest.in_flight));
        rate.delivered_ce = Bytes::new(u64::from((self.delivered_ce as u32).wrapping_sub(newest.ce)));
        rate.app_limited = newest.app_limited;
        Some(rate)
    }
    /// Counts rounds: true if the acknowledgement begins one.
    #[inline]
    pub(crate) fn starts_round(&mut self, newest: Option<&Newest>) -> bool {
        let starts = newest.is_some_and(|newest| newest.prior_delivered >= self.round_end);
        if starts {
            self.round_end = self.delivered;
            self.rounds += 1;
        }
        starts
    }
}
