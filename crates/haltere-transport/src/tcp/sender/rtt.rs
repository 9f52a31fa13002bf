//! Round-trip time: estimator, retransmission timeout, minimum.
//! Source: RFC 6298; Linux's refinements of it.
//! Deviations (Linux): the variation is not the smoothed deviation but the largest smoothed deviation of the last
//! round trip, decayed by a quarter a round trip, and never less than the least timeout, so RTO = SRTT + max(4 var, 200 ms)
//! and an idle or steady path does not bring the timeout close to the round-trip time. A sample *below* the mean by more
//! than the deviation moves the deviation by an eighth only (a falling RTT is no reason for a longer timeout).
//! [`RtoRule::Rfc6298`] gives the standard's rule instead.
//! Model: error = sample - srtt; srtt += error / 8; mdev += (|error| - mdev) / 4; RTO = srtt + max over the round of 4 mdev.
//! Units: ns; `srtt` is held times 8, the deviations times 4. Cost: O(1) a sample. Known problems: none.

use crate::TcpParams;
use crate::tcp::params::RtoRule;

/// The window of the minimum filter: Linux's `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW_NS: u64 = 300_000_000_000;

/// Estimator of the round-trip time.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    /// Smoothed round-trip time times 8; zero before the first sample.
    srtt8: u64,
    /// Smoothed mean deviation times 4.
    mdev4: u64,
    /// The largest `mdev4` of this round trip.
    mdev4_max: u64,
    /// Variation times 4.
    var4: u64,
    /// When this position is acknowledged a round trip is over.
    round_end: u64,
    /// Timeout without backoff.
    base_rto: u64,
    min_rto: u64,
    max_rto: u64,
    rule: RtoRule,
    /// Doublings since the last sample.
    backoff: u8,
    /// Least sample of the window, when it was taken, and the least of its second half.
    min: [(u64, u64); 2],
}

impl Rtt {
    pub(crate) fn new(p: &TcpParams) -> Rtt {
        Rtt {
            srtt8: 0,
            mdev4: 0,
            mdev4_max: 0,
            var4: 0,
            round_end: 0,
            base_rto: p.initial_rto.as_ns(),
            min_rto: p.min_rto.as_ns(),
            max_rto: p.max_rto.as_ns(),
            rule: p.rto_rule,
            backoff: 0,
            min: [(0, 0); 2],
        }
    }

    /// A sample for the timeout. `una` and `nxt` tell when a round trip is over.
    #[inline]
    pub(crate) fn sample(&mut self, sample: u64, una: u64, nxt: u64) {
        let sample = sample.max(1);
        if self.srtt8 == 0 {
            self.srtt8 = sample * 8;
            self.mdev4 = sample * 2; // var = sample / 2
            self.var4 = self.floor(self.mdev4);
            self.mdev4_max = self.var4;
            self.round_end = nxt;
        } else {
            let srtt = self.srtt8 >> 3;
            let error = sample.abs_diff(srtt);
            self.srtt8 = (self.srtt8 + sample).saturating_sub(srtt).max(1);
            let step = error as i64 - (self.mdev4 >> 2) as i64;
            let step = if sample < srtt && step > 0 && self.rule == RtoRule::Linux { step >> 3 } else { step };
            self.mdev4 = self.mdev4.saturating_add_signed(step);
            if self.rule == RtoRule::Rfc6298 {
                self.var4 = self.mdev4;
            } else {
                self.raise_variation(una, nxt);
            }
        }
        let rto = (self.srtt8 >> 3) + self.var4;
        let rto = if self.rule == RtoRule::Rfc6298 { rto.max(self.min_rto) } else { rto };
        self.base_rto = rto.min(self.max_rto);
        self.backoff = 0;
    }

    fn floor(&self, var4: u64) -> u64 {
        if self.rule == RtoRule::Linux { var4.max(self.min_rto) } else { var4 }
    }

    #[inline]
    fn raise_variation(&mut self, una: u64, nxt: u64) {
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            self.var4 = self.var4.max(self.mdev4_max);
        }
        if una > self.round_end {
            if self.mdev4_max < self.var4 {
                self.var4 -= (self.var4 - self.mdev4_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev4_max = self.min_rto;
        }
    }

    /// A sample for the minimum.
    #[inline]
    pub(crate) fn sample_min(&mut self, sample: u64, now: u64, maybe_delayed: bool) {
        let sample = sample.max(1);
        let [best, second] = self.min;
        if maybe_delayed && best.0 != 0 && sample > best.0 {
            return; // a delayed acknowledgement is no news of the path
        }
        if best.0 == 0 || sample <= best.0 {
            self.min = [(sample, now); 2];
        } else if now - best.1 > MIN_RTT_WINDOW_NS {
            self.min = if sample <= second.0 { [(sample, now); 2] } else { [second, (sample, now)] };
        } else if sample <= second.0 || (second.1 == best.1 && now - best.1 > MIN_RTT_WINDOW_NS / 2) {
            self.min[1] = (sample, now);
        }
    }

    /// The current timeout, backed off.
    #[inline]
    pub(crate) fn rto(&self) -> u64 {
        if self.backoff == 0 {
            self.base_rto
        } else {
            self.base_rto.saturating_mul(1 << self.backoff).min(self.max_rto)
        }
    }
    /// RFC 6298 (5.5): back off.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(31);
    }
    #[inline]
    pub(crate) fn srtt(&self) -> u64 {
        self.srtt8 >> 3
    }
    pub(crate) fn var(&self) -> u64 {
        self.var4 >> 2
    }
    #[inline]
    pub(crate) fn min(&self) -> u64 {
        self.min[0].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Dur;
    const MS: u64 = 1_000_000;

    fn rtt(rule: RtoRule, min_ms: u64) -> Rtt {
        Rtt::new(&TcpParams { min_rto: Dur::from_ms(min_ms), rto_rule: rule, ..TcpParams::default() })
    }

    #[test]
    fn the_first_sample_gives_srtt_and_half_of_it_as_variation() {
        // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
        let mut r = rtt(RtoRule::Rfc6298, 1);
        assert_eq!(r.rto(), 1000 * MS);
        r.sample(100 * MS, 0, 10);
        assert_eq!((r.srtt(), r.var(), r.rto()), (100 * MS, 50 * MS, 300 * MS));
    }

    #[test]
    fn later_samples_are_smoothed_by_an_eighth_and_a_quarter() {
        // RFC 6298 (2.3): RTTVAR = 3/4 50 + 1/4 |100 - 180| = 57.5, SRTT = 7/8 100 + 1/8 180 = 110.
        let mut r = rtt(RtoRule::Rfc6298, 1);
        r.sample(100 * MS, 0, 10);
        r.sample(180 * MS, 5, 10);
        assert_eq!((r.srtt(), r.var(), r.rto()), (110 * MS, 57_500_000, 340 * MS));
    }

    #[test]
    fn a_standard_timeout_is_at_least_the_minimum() {
        let mut r = rtt(RtoRule::Rfc6298, 1000);
        r.sample(10 * MS, 0, 10);
        assert_eq!(r.rto(), 1000 * MS);
    }

    #[test]
    fn a_steady_path_keeps_200_ms_above_srtt_as_linux_does() {
        let mut r = rtt(RtoRule::Linux, 200);
        for i in 0..1000 {
            r.sample(40 * MS, i * 10, i * 10 + 10);
        }
        assert_eq!(r.srtt(), 40 * MS);
        assert_eq!(r.rto(), 240 * MS);
    }

    #[test]
    fn backoff_doubles_to_the_maximum_and_a_sample_ends_it() {
        let mut r = rtt(RtoRule::Linux, 200);
        r.sample(100 * MS, 0, 10);
        let base = r.rto();
        for n in 1..=5 {
            r.back_off();
            assert_eq!(r.rto(), base << n);
        }
        for _ in 0..40 {
            r.back_off();
        }
        assert_eq!(r.rto(), 120_000 * MS);
        r.sample(100 * MS, 20, 30);
        assert!(r.rto() < 400 * MS);
    }

    #[test]
    fn the_minimum_forgets_after_its_window() {
        let mut r = rtt(RtoRule::Linux, 200);
        r.sample_min(10 * MS, 0, false);
        r.sample_min(20 * MS, 200_000 * MS, false);
        assert_eq!(r.min(), 10 * MS);
        r.sample_min(30 * MS, 301_000 * MS, false);
        assert_eq!(r.min(), 20 * MS);
        r.sample_min(50 * MS, 302_000 * MS, true);
        assert_eq!(r.min(), 20 * MS);
    }
}
