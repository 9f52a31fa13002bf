//! Points in time and spans of it, in whole nanoseconds.

use crate::decimal::{self, Unit, thousands};
use crate::error::UnitError;
use core::fmt;
use core::iter::Sum;
use core::ops::Div;
use core::str::FromStr;

const UNITS: [Unit; 4] = thousands(["ns", "us", "ms", "s"], 1);
const S: u64 = 1_000_000_000;

const NOTATION: decimal::Notation = decimal::Notation {
    rule: "a duration such as `5ms`",
    units: &UNITS,
    printed: &UNITS,
    foreign: &[
        &thousands(["nsec", "usec", "msec"], 1),
        &[("µs", 1_000), ("μs", 1_000)],
        &[("sec", S), ("secs", S), ("second", S), ("seconds", S)],
        &[("m", 60 * S), ("min", 60 * S), ("minute", 60 * S), ("minutes", 60 * S)],
        &[("h", 3600 * S), ("hour", 3600 * S), ("hours", 3600 * S)],
    ],
};

/// A point in time: nanoseconds since the start of the run (0 to 584 years).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

/// A span of time in nanoseconds. Written `5ms`, `100us`, `1.5s`, `20ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Dur(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns)
    }
    /// Nanoseconds since the start.
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// Seconds since the start, for figures; not exact above 2^53 ns (104 days).
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// The span since `earlier`, or zero if that lies in the future.
    pub const fn since(self, earlier: Time) -> Dur {
        Dur(self.0.saturating_sub(earlier.0))
    }
    /// The time `span` later, or `None` past the end of time.
    pub const fn checked_add(self, span: Dur) -> Option<Time> {
        match self.0.checked_add(span.0) {
            Some(ns) => Some(Time(ns)),
            None => None,
        }
    }
    /// The time `span` earlier, or the start if that would lie before it.
    pub const fn saturating_sub(self, span: Dur) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Dur {
    /// A span of no time.
    pub const ZERO: Dur = Dur(0);
    /// The longest span that can be counted.
    pub const MAX: Dur = Dur(u64::MAX);

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Dur {
        Dur(ns)
    }
    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Dur {
        Dur(us * 1_000)
    }
    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Dur {
        Dur(ms * 1_000_000)
    }
    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Dur {
        Dur(s * 1_000_000_000)
    }
    /// The span nearest to `s` seconds; negative and not-a-number give zero, too large gives [`Dur::MAX`].
    pub fn from_secs_f64(s: f64) -> Dur {
        Dur((s * 1e9 + 0.5) as u64)
    }
    /// The span in nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }
    /// In whole microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000
    }
    /// The span in seconds, for figures.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// True for a span of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Dur) -> Dur {
        Dur(self.0.saturating_sub(other.0))
    }
    /// The sum, or [`Dur::MAX`].
    pub const fn saturating_add(self, other: Dur) -> Dur {
        Dur(self.0.saturating_add(other.0))
    }
    /// The sum, or `None` where it does not fit.
    pub const fn checked_add(self, other: Dur) -> Option<Dur> {
        match self.0.checked_add(other.0) {
            Some(ns) => Some(Dur(ns)),
            None => None,
        }
    }
    /// The span times a factor, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Dur {
        Dur((self.0 as f64 * factor + 0.5) as u64)
    }
}

operator! { Add add (AddAssign add_assign): Time, Dur.0 => Time, checked_add, "time overflow: {} ns + {} ns" }
operator! { Sub sub: Time, Time.0 => Dur, checked_sub, "time runs backwards: {} ns - {} ns" }
operator! { Add add (AddAssign add_assign): Dur, Dur.0 => Dur, checked_add, "duration overflow: {} ns + {} ns" }
operator! { Sub sub (SubAssign sub_assign): Dur, Dur.0 => Dur, checked_sub, "negative duration: {} ns - {} ns" }
operator! { Mul mul: Dur, u64 => Dur, checked_mul, "duration overflow: {} ns * {}" }
impl Div<u64> for Dur {
    type Output = Dur;
    #[inline]
    fn div(self, divisor: u64) -> Dur {
        Dur(self.0 / divisor)
    }
}
impl Sum for Dur {
    fn sum<I: Iterator<Item = Dur>>(iter: I) -> Dur {
        iter.fold(Dur::ZERO, |a, b| a + b)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::print(f, self.0, &UNITS)
    }
}

text_quantity!(
    Dur,
    NOTATION,
    "duration",
    r"^\s*[0-9]*\.?[0-9]+\s*(ns|us|ms|s)\s*$|^0$",
    "a duration: `5ms`, `100us`, `1.5s`"
);
