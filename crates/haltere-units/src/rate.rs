//! Rates in bit/s, and exact times on the line.

use crate::decimal::{self, Unit, thousands};
use crate::error::UnitError;
use crate::size::Bytes;
use crate::time::Dur;
use core::fmt;
use core::str::FromStr;

const UNITS: [Unit; 5] = thousands(["bit", "kbit", "Mbit", "Gbit", "Tbit"], 1);

const NOTATION: decimal::Notation = decimal::Notation {
    rule: "a rate in bit/s such as `10Mbit`",
    units: &UNITS,
    printed: &UNITS,
    foreign: &[
        &thousands(["bps", "kbps", "Mbps", "Gbps", "Tbps"], 1),
        &thousands(["b", "kb", "Mb", "Gb"], 1),
        &thousands(["bits", "kbits", "Mbits", "Gbits"], 1),
        &thousands(["k", "M", "G"], 1000),
        // Bytes per second.
        &thousands(["Bps", "kBps", "MBps", "GBps"], 8),
        &thousands(["B", "kB", "MB", "GB"], 8),
    ],
};

/// A rate in bit/s. Written `10Mbit`, `1.5Gbit`, `64kbit` (always bits per second).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// A rate at which nothing is sent.
    pub const ZERO: Rate = Rate(0);

    /// A rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// A rate of `mbps` Mbit/s.
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }
    /// The rate at which `bytes` pass in `span`; zero where the span is zero.
    pub fn of(bytes: Bytes, span: Dur) -> Rate {
        if span.is_zero() {
            return Rate::ZERO;
        }
        let bits = u128::from(bytes.as_u64()) * 8 * 1_000_000_000;
        Rate(u64::try_from(bits / u128::from(span.as_ns())).unwrap_or(u64::MAX))
    }
    /// The rate in bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// In bit/s, for figures.
    pub fn as_bps_f64(self) -> f64 {
        self.0 as f64
    }
    /// The time that `bytes` take at this rate, rounded up; [`Dur::MAX`] at rate zero.
    pub fn time_for(self, bytes: Bytes) -> Dur {
        if self.0 == 0 {
            return Dur::MAX;
        }
        let ns = (u128::from(bytes.as_u64()) * 8_000_000_000).div_ceil(u128::from(self.0));
        Dur::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
    /// The bytes that pass in `span`, rounded down.
    pub fn bytes_in(self, span: Dur) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_ns()) / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
    /// The rate times a factor, rounded to the nearest bit/s.
    pub fn mul_f64(self, factor: f64) -> Rate {
        Rate((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        let bare = text.trim_end().trim_end_matches("/s");
        decimal::parse(bare, &NOTATION).map(Rate).map_err(|e| UnitError { got: text.into(), ..e })
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::print(f, self.0, &UNITS)
    }
}

text_quantity!(
    Rate,
    "rate",
    r"^\s*[0-9]*\.?[0-9]+\s*(bit|kbit|Mbit|Gbit|Tbit)(/s)?\s*$|^0$",
    "a rate in bit/s: `10Mbit`, `1.5Gbit`"
);

/// The transmitter of one line: how long each packet occupies it, to the nanosecond and without drift.
///
/// The fraction of a nanosecond that is left over after one packet is carried to the next, so `n`
/// packets together take the exact time rounded down, at any rate.
#[derive(Debug, Clone)]
pub struct Serialisation {
    rate: Rate,
    /// Left over from the packets so far, in 1/rate nanoseconds (below `rate`).
    remainder: u64,
    /// The last size, with its whole nanoseconds and its remainder: packets mostly repeat.
    last: (u64, u64, u64),
}

impl Serialisation {
    /// A line of this rate; with `None` packets take no time.
    pub fn new(rate: Option<Rate>) -> Serialisation {
        let rate = rate.unwrap_or(Rate::ZERO);
        Serialisation { rate, remainder: 0, last: (0, 0, 0) }
    }
    /// The rate, or `None` for a line on which packets take no time.
    pub fn rate(&self) -> Option<Rate> {
        (self.rate.0 != 0).then_some(self.rate)
    }
    /// The time that the next packet, of `bytes`, occupies the line.
    #[inline]
    pub fn next(&mut self, bytes: Bytes) -> Dur {
        if self.rate.0 == 0 {
            return Dur::ZERO;
        }
        if bytes.as_u64() != self.last.0 {
            let total = u128::from(bytes.as_u64()) * 8_000_000_000;
            let rate = u128::from(self.rate.0);
            self.last = (bytes.as_u64(), (total / rate) as u64, (total % rate) as u64);
        }
        let (_, mut ns, part) = self.last;
        // Not their sum: it has more than 64 bits at rates above 2^63 bit/s.
        let missing = self.rate.0 - self.remainder;
        if part >= missing {
            self.remainder = part - missing;
            ns += 1;
        } else {
            self.remainder += part;
        }
        Dur::from_ns(ns)
    }
}
