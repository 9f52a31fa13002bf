//! Amounts of data: bytes, and queue sizes in packets, bytes or bandwidth-delay products.

use crate::decimal::{self, Unit, thousands};
use crate::error::UnitError;
use crate::rate::Rate;
use crate::time::Dur;
use alloc::format;
use core::fmt;
use core::iter::Sum;
use core::ops::Div;
use core::str::FromStr;

/// Decimal units first: printing uses these; the binary ones are for reading.
const PRINTED: [Unit; 4] = thousands(["B", "kB", "MB", "GB"], 1);
const READ: [Unit; 7] =
    [PRINTED[0], PRINTED[1], PRINTED[2], PRINTED[3], ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
/// Units of bytes that other tools use.
const FOREIGN: [&[Unit]; 2] = [&thousands(["k", "M", "G"], 1000), &[("byte", 1), ("bytes", 1), ("Bytes", 1)]];

const BYTES: decimal::Notation =
    decimal::Notation { rule: "a number of bytes such as `90kB`", units: &READ, printed: &PRINTED, foreign: &FOREIGN };

/// What a size must be.
const SIZE: &str = "a size such as `100p` (packets), `90kB` or `1bdp`";
const SIZE_IN_BYTES: decimal::Notation = decimal::Notation { rule: SIZE, ..BYTES };
const SIZE_IN_PACKETS: decimal::Notation = decimal::Notation {
    rule: SIZE,
    units: &[("p", 1)],
    printed: &[("p", 1)],
    foreign: &[&[("packet", 1), ("packets", 1), ("pkt", 1), ("pkts", 1)]],
};
const SIZE_IN_BDP: decimal::Notation =
    decimal::Notation { rule: SIZE, units: &[("bdp", 1000)], printed: &[("bdp", 1000)], foreign: &[] };

/// A number of bytes. Written `90kB`, `1MB`, `1500B`; `KiB`, `MiB`, `GiB` are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes at all.
    pub const ZERO: Bytes = Bytes(0);
    /// The largest number of bytes that can be counted.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// An amount of `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
    /// The number, for figures.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// The difference, or zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// The bytes times a factor, rounded to the nearest.
    pub fn mul_f64(self, factor: f64) -> Bytes {
        Bytes((self.0 as f64 * factor + 0.5) as u64)
    }
}

operator! { Add add (AddAssign add_assign): Bytes, Bytes.0 => Bytes, checked_add, "bytes out of range: {} + {}" }
operator! { Sub sub (SubAssign sub_assign): Bytes, Bytes.0 => Bytes, checked_sub, "bytes out of range: {} - {}" }
operator! { Mul mul: Bytes, u64 => Bytes, checked_mul, "bytes out of range: {} * {}" }
impl Div<u64> for Bytes {
    type Output = Bytes;
    #[inline]
    fn div(self, divisor: u64) -> Bytes {
        Bytes(self.0 / divisor)
    }
}
impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, |a, b| a + b)
    }
}

text_quantity!(
    Bytes,
    BYTES,
    "bytes",
    r"^\s*[0-9]*\.?[0-9]+\s*(B|kB|MB|GB|KiB|MiB|GiB)\s*$|^0$",
    "a number of bytes: `90kB`, `1500B`, `64KiB`"
);

/// The size of a queue: packets (`100p`), bytes (`90kB`) or bandwidth-delay products (`4bdp`).
///
/// A discipline counts in the unit it is given. A `bdp` is turned into packets by
/// [`Size::resolve`] where the link's rate and round-trip time are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Size {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(u64),
    /// Thousandths of a bandwidth-delay product.
    MilliBdp(u64),
}

impl Size {
    /// This size in packets or bytes: a bandwidth-delay product becomes whole packets of `packet`
    /// bytes, to the nearest and at least one; the others stay. `None` for `bdp` without a rate or RTT.
    pub fn resolve(self, rate: Option<Rate>, rtt: Option<Dur>, packet: Bytes) -> Option<Size> {
        let Size::MilliBdp(milli) = self else { return Some(self) };
        let bytes = u128::from(rate?.bytes_in(rtt?).as_u64()) * u128::from(milli);
        let unit = u128::from(packet.as_u64().max(1)) * 1000;
        Some(Size::Packets(u64::try_from((bytes + unit / 2) / unit).unwrap_or(u64::MAX).max(1)))
    }
}

impl FromStr for Size {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Size, UnitError> {
        let trimmed = text.trim();
        let unit = trimmed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        if unit.eq_ignore_ascii_case("bdp") {
            decimal::parse(trimmed, &SIZE_IN_BDP).map(Size::MilliBdp)
        } else if unit.starts_with('p') {
            decimal::parse(trimmed, &SIZE_IN_PACKETS).map(Size::Packets)
        } else if unit.is_empty() {
            let hint = format!("add a unit: `{trimmed}p`, `{trimmed}B` or `1bdp`");
            Err(UnitError::new(SIZE, text, hint))
        } else {
            decimal::parse(trimmed, &SIZE_IN_BYTES).map(Size::Bytes)
        }
    }
}
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Size::Packets(n) => decimal::print(f, n, SIZE_IN_PACKETS.printed),
            Size::Bytes(n) => decimal::print(f, n, &PRINTED),
            Size::MilliBdp(n) => decimal::print(f, n, SIZE_IN_BDP.printed),
        }
    }
}

text_quantity!(
    Size,
    "size",
    r"^\s*[0-9]*\.?[0-9]+\s*(p|B|kB|MB|GB|KiB|MiB|GiB|bdp)\s*$",
    "a size: `100p` (packets), `90kB` or `1bdp` (bandwidth-delay products)"
);
