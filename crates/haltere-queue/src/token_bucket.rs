//! A token bucket, exact to the nanosecond: for the shapers and the policer.
//!
//! Model: the level rises with the rate up to the depth, and falls by each packet's length. It is counted in bits times
//! 10^9, which is rate in bit/s times ns, so nothing is rounded.

use haltere_units::{Bytes, ParamError, Probe, Rate, Time};

/// Bits times 10^9 of a byte.
const BYTE: i128 = 8_000_000_000;

/// Tokens that come at a rate. A new bucket is full.
#[derive(Debug, Clone)]
pub(crate) struct TokenBucket {
    rate: i128,
    depth: i128,
    level: i128,
    /// When the level was that.
    at: Time,
}

impl TokenBucket {
    /// A bucket of that rate, above 0, and depth.
    pub fn new(rate: Rate, depth: Bytes) -> TokenBucket {
        let depth = i128::from(depth.as_u64()) * BYTE;
        TokenBucket { rate: i128::from(rate.as_bps()), depth, level: depth, at: Time::ZERO }
    }
    /// The same of parameters with these names, if a packet can ever pass.
    pub fn checked(rate: (&'static str, Rate), depth: (&'static str, Bytes)) -> Result<TokenBucket, ParamError> {
        if rate.1 == Rate::ZERO {
            return Err(ParamError::new(rate.0, "above zero", rate.1));
        }
        if depth.1 == Bytes::ZERO {
            return Err(ParamError::new(depth.0, "at least the length of a full packet", depth.1));
        }
        Ok(TokenBucket::new(rate.1, depth.1))
    }
    /// True if a packet of `len` bytes can ever pass.
    pub fn holds(&self, len: u32) -> bool {
        i128::from(len) * BYTE <= self.depth
    }
    /// The tokens that came until `now` are in it.
    #[inline]
    pub fn fill(&mut self, now: Time) {
        self.level = (self.level + self.rate * i128::from(now.since(self.at).as_ns())).min(self.depth);
        self.at = now;
    }
    /// True if more tokens were taken than there were.
    pub fn is_owed(&self) -> bool {
        self.level < 0
    }
    /// True if there are tokens for a packet of `len` bytes at `now`.
    pub fn has(&mut self, now: Time, len: u32) -> bool {
        self.fill(now);
        self.level >= i128::from(len) * BYTE
    }
    /// A packet of `len` bytes takes its tokens.
    pub fn take(&mut self, len: u32) {
        self.level -= i128::from(len) * BYTE;
    }
    /// When there will be tokens for a packet of `len` bytes.
    pub fn ready_at(&self, len: u32) -> Time {
        let missing = (i128::from(len) * BYTE - self.level).max(0).cast_unsigned();
        let ns = missing.div_ceil(self.rate.cast_unsigned()) + u128::from(self.at.as_ns());
        u64::try_from(ns).map_or(Time::NEVER, Time::from_ns)
    }
    /// The tokens that were there at the last look, in bytes; none if some are owed.
    pub fn bytes(&self) -> f64 {
        self.level.max(0) as f64 / BYTE as f64
    }
    /// Shows the tokens that were there at the last look, in bytes. Of several buckets, one in another, the outermost
    /// is shown.
    pub fn probe(&self, row: &mut Probe) {
        if row.values().iter().all(|(name, ..)| *name != "tokens") {
            row.push("tokens", "B", self.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_units::Dur;

    #[test]
    fn tokens_come_at_the_rate_up_to_the_depth() {
        // 3 bit/s: a byte takes 2.666... s.
        let mut bucket =
            TokenBucket::checked(("rate", Rate::from_bps(3)), ("burst", Bytes::new(2))).expect("parameters");
        assert!(bucket.has(Time::ZERO, 2) && bucket.holds(2) && !bucket.holds(3));
        bucket.take(2);
        assert_eq!(bucket.ready_at(1), Time::from_ns(2_666_666_667));
        assert!(!bucket.has(Time::from_ns(2_666_666_666), 1) && bucket.has(Time::from_ns(2_666_666_667), 1));
        bucket.take(1);
        assert_eq!(bucket.ready_at(1), Time::from_ns(5_333_333_334), "nothing is lost by rounding: 16 bits at 3 bit/s");
        assert!(bucket.has(Time::ZERO + Dur::from_secs(1000), 2));
        let mut row = Probe::new();
        bucket.probe(&mut row);
        assert_eq!(row.values(), [("tokens", "B", 2.0)]);
    }
    /// A packet passes if, with it, no stretch of time from a packet that passed up to now has more bytes than the
    /// depth and what the rate brings in that time. Tried on every sequence of seven packets of one or two bytes, at
    /// once or a byte's time apart, less or more than a nanosecond's fraction of it.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn what_passes_is_within_the_curve_of_depth_and_rate_in_every_short_history() {
        const GAPS: [u64; 3] = [0, 2_666_666_666, 2_666_666_667];
        for history in 0..6u32.pow(7) {
            let mut bucket =
                TokenBucket::checked(("rate", Rate::from_bps(3)), ("burst", Bytes::new(2))).expect("parameters");
            let (mut passed, mut now, mut rest) = (alloc::vec::Vec::<(u64, u32)>::new(), 0, history);
            for _ in 0..7 {
                now += GAPS[(rest % 3) as usize];
                let len = 1 + rest / 3 % 2;
                rest /= 6;
                let mut bytes = i128::from(len);
                let conforms = bytes <= 2
                    && passed.iter().rev().all(|&(at, more)| {
                        bytes += i128::from(more);
                        bytes * BYTE <= 2 * BYTE + 3 * i128::from(now - at)
                    });
                assert_eq!(bucket.has(Time::from_ns(now), len), conforms, "history {history}, {len} B at {now} ns");
                if conforms {
                    bucket.take(len);
                    passed.push((now, len));
                } else {
                    let ready = bucket.ready_at(len);
                    let mut early = bucket.clone();
                    assert!(
                        !early.has(Time::from_ns(ready.as_ns() - 1), len) && early.has(ready, len),
                        "history {history}"
                    );
                }
            }
        }
    }
}
