//! Proportional rate reduction: the window while it is being reduced.
//! Source: RFC 6937. Deviations (Linux): below the threshold it adds one segment (slow-start bound) only while the
//! cumulative acknowledgement advances and nothing new is lost, else it conserves packets; the window at the end is the
//! threshold.
//! Units: bytes. Cost: O(1) an acknowledgement. Known problems: none.

/// RFC 6937 section 3.1 with Linux's choice of the bound: bytes that may be sent for this acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prr {
    pub mss: u64,
    pub ssthresh: u64,
    pub prior_cwnd: u64,
    pub prr_delivered: u64,
    pub prr_out: u64,
    pub in_flight: u64,
    /// Bytes delivered by this acknowledgement, and whether it advanced without news of loss.
    pub delivered: u64,
    pub good: bool,
}

impl Prr {
    pub(crate) fn send_count(&self) -> u64 {
        let count = if self.in_flight > self.ssthresh {
            // Proportional rate reduction, rounded up to whole segments.
            let share = (self.ssthresh * self.prr_delivered).div_ceil(self.prior_cwnd.max(1));
            (share.div_ceil(self.mss) * self.mss).saturating_sub(self.prr_out)
        } else {
            let conserve = self.prr_delivered.saturating_sub(self.prr_out).max(self.delivered);
            let bound = if self.good { conserve + self.mss } else { conserve };
            bound.min(self.ssthresh - self.in_flight)
        };
        // The first acknowledgement of the episode sends a segment in any case.
        if self.prr_out == 0 { count.max(self.mss) } else { count }
    }
}

/// A reduction of the window that goes on.
#[derive(Debug)]
pub(crate) struct Reduction {
    enabled: bool,
    /// The window in force.
    cwnd: u64,
    prior_cwnd: u64,
    /// `prr_delivered` and `prr_out`.
    delivered: u64,
    out: u64,
}

/// An acknowledgement during a reduction, beside what [`Reduction`] knows.
#[derive(Debug)]
pub(crate) struct ReductionAck {
    pub mss: u64,
    pub ssthresh: u64,
    pub in_flight: u64,
    pub delivered: u64,
    pub good: bool,
}

impl Reduction {
    pub(crate) fn new(enabled: bool) -> Reduction {
        Reduction { enabled, cwnd: 0, prior_cwnd: 0, delivered: 0, out: 0 }
    }
    /// The window in force.
    #[inline]
    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }
    pub(crate) fn begin(&mut self, cwnd: u64) {
        *self = Reduction { enabled: self.enabled, cwnd, prior_cwnd: cwnd, delivered: 0, out: 0 };
    }
    /// The control was notified of the reduction and has this window now: without PRR it is in force at once.
    pub(crate) fn on_notified(&mut self, cwnd: u64) {
        if !self.enabled {
            self.cwnd = cwnd;
        }
    }
    /// The reduction was taken back.
    pub(crate) fn undo(&mut self, cwnd: u64) {
        self.cwnd = cwnd;
    }
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
    /// An acknowledgement sets the window.
    pub(crate) fn on_ack(&mut self, a: &ReductionAck) {
        if a.delivered == 0 || !self.enabled {
            return;
        }
        self.delivered += a.delivered;
        let prr = Prr {
            mss: a.mss,
            ssthresh: a.ssthresh,
            prior_cwnd: self.prior_cwnd,
            prr_delivered: self.delivered,
            prr_out: self.out,
            in_flight: a.in_flight,
            delivered: a.delivered,
            good: a.good,
        };
        self.cwnd = a.in_flight + prr.send_count();
    }
}
