//! Delivery rate estimation.
//! Source: draft-cheng-iccrg-delivery-rate-estimation, draft-ietf-ccwg-bbr (section on delivery rate samples).
//! Deviations: none.
//! Model: each segment carries what was delivered when it left; when it is delivered,
//! rate = (delivered now - delivered then) / max(send phase, acknowledgement phase).
//! Units: bytes, ns. Cost: O(1) a segment. Known problems: none.

use crate::scoreboard::{APP_LIMITED, SAMPLED, Sent, sent_after};
use haltere_congestion::{LostSegment, RateSample};
use haltere_units::{Bytes, Dur};

/// The connection's counters.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Bytes delivered in all, delivered with CE, held lost.
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub delivered_at: u64,
    /// Send time of the segment delivered last.
    pub first_sent_at: u64,
    /// Samples are the application's until this much is delivered; 0: not limited.
    pub app_limited: u64,
    /// Segments delivered in all, and with CE.
    pub segments: u64,
    pub segments_ce: u64,
}

/// What an acknowledgement gathers from the segments that it delivers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub any: bool,
    app_limited: bool,
    pub prior_delivered: u64,
    prior_at: u64,
    send_phase: u64,
    last_end: u64,
    lost: u32,
    ce: u32,
    in_flight: u32,
}

impl Delivery {
    /// The first segment of a flight is sent.
    #[inline]
    pub(crate) fn restart(&mut self, now: u64) {
        self.first_sent_at = now;
        self.delivered_at = now;
    }

    /// A segment is sent, with `in_flight` under way then.
    #[inline]
    pub(crate) fn on_sent(&self, sent: &mut Sent, in_flight: u64) {
        sent.first_sent_at = self.first_sent_at;
        sent.delivered = self.delivered;
        sent.delivered_at = self.delivered_at;
        sent.lost = self.lost as u32;
        sent.delivered_ce = self.delivered_ce as u32;
        sent.in_flight = in_flight.min(u64::from(u32::MAX)) as u32;
        sent.flags &= !(APP_LIMITED | SAMPLED);
        if self.app_limited != 0 {
            sent.flags |= APP_LIMITED;
        }
    }

    /// A segment is marked lost: what that tells of the flight in which it was sent.
    #[cold]
    pub(crate) fn on_lost(&mut self, sent: &Sent, bytes: u64) -> LostSegment {
        self.lost += bytes;
        let mut event = LostSegment::new(sent.seq, Bytes::new(bytes));
        event.tx_in_flight = Bytes::new(u64::from(sent.in_flight));
        event.lost = Bytes::new(u64::from((self.lost as u32).wrapping_sub(sent.lost)));
        event.prior_delivered = sent.delivered;
        event.total_delivered = self.delivered;
        event.app_limited = sent.has(APP_LIMITED);
        event
    }

    /// A segment is delivered: the one sent last gives the sample.
    #[inline]
    pub(crate) fn on_delivered(&mut self, sent: &Sent, sample: &mut Sample) {
        if sent.has(SAMPLED) {
            return;
        }
        if !sample.any || sent_after((sent.sent_at, sent.end()), (self.first_sent_at, sample.last_end)) {
            self.first_sent_at = sent.sent_at;
            *sample = Sample {
                any: true,
                app_limited: sent.has(APP_LIMITED),
                prior_delivered: sent.delivered,
                prior_at: sent.delivered_at,
                send_phase: sent.sent_at - sent.first_sent_at.min(sent.sent_at),
                last_end: sent.end(),
                lost: sent.lost,
                ce: sent.delivered_ce,
                in_flight: sent.in_flight,
            };
        }
    }

    /// All of an acknowledgement is counted.
    #[inline]
    pub(crate) fn finish(&mut self, sample: &Sample, now: u64, delivered: u64, min_rtt: u64) -> Option<RateSample> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        if !sample.any {
            return None;
        }
        let interval = sample.send_phase.max(now - sample.prior_at);
        if interval == 0 || interval < min_rtt {
            return None; // shorter than the path: stretched or compressed acknowledgements
        }
        let bytes = Bytes::new(self.delivered - sample.prior_delivered);
        let mut rate = RateSample::new(bytes, Dur::from_ns(interval));
        rate.prior_delivered = sample.prior_delivered;
        rate.total_delivered = self.delivered;
        rate.lost = Bytes::new(u64::from((self.lost as u32).wrapping_sub(sample.lost)));
        rate.total_lost = self.lost;
        rate.tx_in_flight = Bytes::new(u64::from(sample.in_flight));
        rate.delivered_ce = Bytes::new(u64::from((self.delivered_ce as u32).wrapping_sub(sample.ce)));
        rate.app_limited = sample.app_limited;
        Some(rate)
    }
}
