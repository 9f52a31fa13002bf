//! Round-trip time: estimator, retransmission timeout, minimum.
//! Source: RFC 6298; Linux's refinements of it.
//! Deviations (Linux): the variation is not the smoothed deviation but the largest smoothed deviation of the last
//! round trip, decayed by a quarter a round trip, and never less than the least timeout, so RTO = SRTT + max(4 var, 200
//! ms) and an idle or steady path does not bring the timeout close to the round-trip time. A sample *below* the mean by
//! more than the deviation moves the deviation by an eighth only (a falling RTT is no reason for a longer timeout).
//! [`RtoRule::Rfc6298`] gives the standard's rule instead.
//! Model: error = sample - srtt; srtt += error / 8; mdev += (|error| - mdev) / 4; RTO = srtt + max over the round of 4
//! mdev.
//! Units: ns; `srtt` is kept times 8, the deviations times 4. Cost: O(1) a sample. Known problems: none.

use crate::tcp::params::RtoRule;
use crate::tcp::params::TcpParams;
use crate::tcp::seq::Offset;
use crate::tcp::time::PosDur;
use core::num::NonZeroU64;
use haltere_units::{Dur, Time};

/// The window of the minimum filter: Linux's `tcp_min_rtt_wlen`.
const MIN_RTT_WINDOW: Dur = Dur::from_secs(300);

/// The least timeout if the SYN was repeated and nothing was measured.
const RTO_WITHOUT_SAMPLE: Dur = Dur::from_secs(3);

/// Estimator of the round-trip time.
#[derive(Debug, Clone)]
pub(crate) struct Rtt {
    /// Smoothed round-trip time times 8.
    srtt8: Option<NonZeroU64>,
    /// Smoothed mean deviation times 4.
    mdev4: u64,
    /// The largest `mdev4` of this round trip.
    mdev4_max: u64,
    /// Variation times 4.
    var4: u64,
    /// When this offset is acknowledged a round trip is over.
    round_end: Offset,
    /// Timeout without backoff.
    base_rto: Dur,
    min_rto: Dur,
    max_rto: Dur,
    rule: RtoRule,
    /// Doublings since the last sample.
    backoff: u8,
    /// Samples so far, modulo 2^32.
    samples: u32,
    /// The least sample of the window, and the least of its second half.
    min: Option<[MinSample; 2]>,
}

/// How far the samples of the round-trip time are. The sender does not store its last sample: two readings tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RttReading {
    /// Samples so far, modulo 2^32.
    samples: u32,
    /// Smoothed round-trip time times 8, in ns; zero before the first sample.
    srtt8: u64,
}

impl RttReading {
    /// The sample that was taken since `before`. `None`: none, or more than one.
    pub fn sample_since(self, before: RttReading) -> Option<Dur> {
        if self.samples.wrapping_sub(before.samples) != 1 {
            return None;
        }
        // `Rtt::sample`, solved for the sample. The first sets srtt8 to 8 times itself.
        let ns = if before.srtt8 == 0 { self.srtt8 / 8 } else { self.srtt8 + (before.srtt8 >> 3) - before.srtt8 };
        Some(Dur::from_ns(ns))
    }
}

/// A sample of the minimum filter.
#[derive(Debug, Clone, Copy)]
struct MinSample {
    rtt: PosDur,
    at: Time,
}

impl Rtt {
    pub(crate) fn new(p: &TcpParams) -> Rtt {
        Rtt {
            srtt8: None,
            mdev4: 0,
            mdev4_max: 0,
            var4: 0,
            round_end: Offset::SYN,
            base_rto: p.initial_rto,
            min_rto: p.min_rto,
            max_rto: p.max_rto,
            rule: p.rto_rule,
            backoff: 0,
            samples: 0,
            min: None,
        }
    }

    /// The handshake is over and gave no sample (RFC 6298 section 5.7).
    pub(crate) fn begin_without_sample(&mut self) {
        self.base_rto = self.base_rto.max(RTO_WITHOUT_SAMPLE).min(self.max_rto);
    }

    /// A sample for the timeout. `una` and `nxt` show when a round trip is over.
    #[inline(always)]
    pub(crate) fn sample(&mut self, sample: Dur, una: Offset, nxt: Offset) {
        let sample = PosDur::at_least_1ns(sample).dur().as_ns();
        self.samples = self.samples.wrapping_add(1);
        let srtt8 = match self.srtt8 {
            None => {
                self.first_sample(sample, nxt);
                sample * 8
            }
            Some(srtt8) => {
                let srtt = srtt8.get() >> 3;
                self.deviation_sample(sample, srtt, una, nxt);
                (srtt8.get() + sample).saturating_sub(srtt)
            }
        };
        let srtt8 = NonZeroU64::new(srtt8).unwrap_or(NonZeroU64::MIN);
        self.srtt8 = Some(srtt8);
        let rto = Dur::from_ns((srtt8.get() >> 3) + self.var4);
        let rto = if self.rule == RtoRule::Rfc6298 { rto.max(self.min_rto) } else { rto };
        self.base_rto = rto.min(self.max_rto);
        self.backoff = 0;
    }

    fn first_sample(&mut self, sample: u64, nxt: Offset) {
        self.mdev4 = sample * 2; // var = sample / 2
        self.var4 = self.floor(self.mdev4);
        self.mdev4_max = self.var4;
        self.round_end = nxt;
    }
    #[inline]
    fn deviation_sample(&mut self, sample: u64, srtt: u64, una: Offset, nxt: Offset) {
        let error = sample.abs_diff(srtt);
        let step = error as i64 - (self.mdev4 >> 2) as i64;
        let step = if sample < srtt && step > 0 && self.rule == RtoRule::Linux { step >> 3 } else { step };
        self.mdev4 = self.mdev4.saturating_add_signed(step);
        if self.rule == RtoRule::Rfc6298 {
            self.var4 = self.mdev4;
        } else {
            self.raise_variation(una, nxt);
        }
    }

    fn floor(&self, var4: u64) -> u64 {
        if self.rule == RtoRule::Linux { var4.max(self.min_rto.as_ns()) } else { var4 }
    }

    #[inline]
    fn raise_variation(&mut self, una: Offset, nxt: Offset) {
        if self.mdev4 > self.mdev4_max {
            self.mdev4_max = self.mdev4;
            self.var4 = self.var4.max(self.mdev4_max);
        }
        if una > self.round_end {
            if self.mdev4_max < self.var4 {
                self.var4 -= (self.var4 - self.mdev4_max) >> 2;
            }
            self.round_end = nxt;
            self.mdev4_max = self.min_rto.as_ns();
        }
    }

    /// A sample for the minimum.
    #[inline]
    pub(crate) fn sample_min(&mut self, sample: Dur, now: Time, maybe_delayed: bool) {
        let new = MinSample { rtt: PosDur::at_least_1ns(sample), at: now };
        let Some([best, second]) = self.min else {
            self.min = Some([new; 2]);
            return;
        };
        if maybe_delayed && new.rtt > best.rtt {
            return; // a delayed acknowledgement says nothing new of the path
        }
        if new.rtt <= best.rtt {
            self.min = Some([new; 2]);
        } else if now - best.at > MIN_RTT_WINDOW {
            self.min = Some(if new.rtt <= second.rtt { [new; 2] } else { [second, new] });
        } else if new.rtt <= second.rtt || (second.at == best.at && now - best.at > MIN_RTT_WINDOW / 2) {
            self.min = Some([best, new]);
        }
    }

    /// The current timeout, backed off.
    #[inline]
    pub(crate) fn rto(&self) -> Dur {
        if self.backoff == 0 {
            self.base_rto
        } else {
            Dur::from_ns(self.base_rto.as_ns().saturating_mul(1 << self.backoff)).min(self.max_rto)
        }
    }
    /// RFC 6298 (5.5): back off.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(31);
    }
    /// How far the samples are.
    pub(crate) fn reading(&self) -> RttReading {
        RttReading { samples: self.samples, srtt8: self.srtt8.map_or(0, NonZeroU64::get) }
    }
    /// Smoothed round-trip time, after the first sample.
    #[inline]
    pub(crate) fn srtt(&self) -> Option<PosDur> {
        PosDur::new(Dur::from_ns(self.srtt8.map_or(0, NonZeroU64::get) >> 3))
    }
    pub(crate) fn var(&self) -> Dur {
        Dur::from_ns(self.var4 >> 2)
    }
    /// Its smoothed deviation, which the variation follows slowly.
    pub(crate) fn deviation(&self) -> Dur {
        Dur::from_ns(self.mdev4 >> 2)
    }
    /// A retransmission timeout has doubled, and no sample came since.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }
    /// A longer round-trip time is remembered than the handshake took: the timeout until the first sample follows from
    /// it.
    pub(crate) fn recall(&mut self, rtt: Dur) {
        if rtt > self.srtt().map_or(Dur::ZERO, PosDur::dur) {
            self.base_rto = (rtt + (rtt * 2).max(self.min_rto)).min(self.max_rto);
        }
    }
    /// Least round-trip time, after the first sample.
    #[inline]
    pub(crate) fn min(&self) -> Option<PosDur> {
        self.min.map(|[best, _]| best.rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Dur {
        Dur::from_ms(n)
    }
    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }
    fn known(rtt: Option<PosDur>) -> Dur {
        rtt.unwrap().dur()
    }

    fn rtt(rule: RtoRule, min_ms: u64) -> Rtt {
        Rtt::new(&TcpParams { min_rto: Dur::from_ms(min_ms), rto_rule: rule, ..TcpParams::default() })
    }

    #[test]
    fn the_first_sample_gives_srtt_and_half_of_it_as_variation() {
        // RFC 6298 (2.2): SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
        let mut r = rtt(RtoRule::Rfc6298, 1);
        assert_eq!(r.rto(), ms(1000));
        r.sample(ms(100), Offset::new(0), Offset::new(10));
        assert_eq!((known(r.srtt()), r.var(), r.rto()), (ms(100), ms(50), ms(300)));
    }

    #[test]
    fn two_readings_tell_the_sample_between_them() {
        for rule in [RtoRule::Linux, RtoRule::Rfc6298] {
            let mut r = rtt(rule, 200);
            let mut before = r.reading();
            assert_eq!(r.reading().sample_since(before), None);
            for ns in [100_000_007, 100_000_007, 93, 5_000_000_001, 100_000_007, 99] {
                r.sample(Dur::from_ns(ns), Offset::new(0), Offset::new(10));
                assert_eq!(r.reading().sample_since(before), Some(Dur::from_ns(ns)), "{rule:?}");
                before = r.reading();
            }
        }
    }

    #[test]
    fn later_samples_are_smoothed_by_an_eighth_and_a_quarter() {
        // RFC 6298 (2.3): RTTVAR = 3/4 50 + 1/4 |100 - 180| = 57.5, SRTT = 7/8 100 + 1/8 180 = 110.
        let mut r = rtt(RtoRule::Rfc6298, 1);
        r.sample(ms(100), Offset::new(0), Offset::new(10));
        r.sample(ms(180), Offset::new(5), Offset::new(10));
        assert_eq!((known(r.srtt()), r.var(), r.rto()), (ms(110), Dur::from_us(57_500), ms(340)));
    }

    #[test]
    fn a_standard_timeout_is_at_least_the_minimum() {
        let mut r = rtt(RtoRule::Rfc6298, 1000);
        r.sample(ms(10), Offset::new(0), Offset::new(10));
        assert_eq!(r.rto(), ms(1000));
    }

    #[test]
    fn a_steady_path_keeps_200_ms_above_srtt_as_linux_does() {
        let mut r = rtt(RtoRule::Linux, 200);
        for i in 0..1000 {
            r.sample(ms(40), Offset::new(i * 10), Offset::new(i * 10 + 10));
        }
        assert_eq!(known(r.srtt()), ms(40));
        assert_eq!(r.rto(), ms(240));
    }

    #[test]
    fn backoff_doubles_to_the_maximum_and_a_sample_ends_it() {
        let mut r = rtt(RtoRule::Linux, 200);
        r.sample(ms(100), Offset::new(0), Offset::new(10));
        let base = r.rto();
        for n in 1..=5 {
            r.back_off();
            assert_eq!(r.rto(), base * (1 << n));
        }
        for _ in 0..40 {
            r.back_off();
        }
        assert_eq!(r.rto(), ms(120_000));
        r.sample(ms(100), Offset::new(20), Offset::new(30));
        assert!(r.rto() < ms(400));
    }

    #[test]
    fn the_minimum_forgets_after_its_window() {
        let mut r = rtt(RtoRule::Linux, 200);
        r.sample_min(ms(10), at(0), false);
        r.sample_min(ms(20), at(200_000), false);
        assert_eq!(known(r.min()), ms(10));
        r.sample_min(ms(30), at(301_000), false);
        assert_eq!(known(r.min()), ms(20));
        r.sample_min(ms(50), at(302_000), true);
        assert_eq!(known(r.min()), ms(20));
    }
}
