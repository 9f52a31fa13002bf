//! Levels of a queue: how they are written, and what they are on a link.

use super::Params;
use crate::LinkContext;
use alloc::format;
use core::fmt;
use core::str::FromStr;
use haltere_units::{Dur, ParamError, Size, UnitError};

/// DCTCP's K as a share of the bandwidth-delay product: one seventh of it, and some more (Alizadeh et al. 2010 section
/// 3.4).
const AUTO_SHARE: f64 = 0.17;

/// A level of a queue: a size (`42p`, `60kB`, `1bdp`), a delay (`1ms`), or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// DCTCP's `0.17 C RTT` in whole packets, from the link's rate and round-trip time.
    Auto,
    /// The backlog in packets or bytes.
    Size(Size),
    /// The sojourn time of a packet.
    Delay(Dur),
}

impl FromStr for Level {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Level, UnitError> {
        const RULE: &str = "a size such as `42p` or `60kB`, a delay such as `1ms`, or `auto`";
        let trimmed = text.trim();
        let level = if trimmed == "auto" {
            Ok(Level::Auto)
        } else if trimmed.ends_with('s') {
            trimmed.parse().map(Level::Delay)
        } else {
            trimmed.parse().map(Level::Size)
        };
        level.map_err(|e| UnitError { rule: RULE, ..e })
    }
}
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Auto => f.pad("auto"),
            Level::Size(size) => size.fmt(f),
            Level::Delay(delay) => delay.fmt(f),
        }
    }
}
haltere_units::text_quantity!(
    Level,
    "level",
    r"^\s*([0-9]*\.?[0-9]+\s*(p|B|kB|MB|GB|KiB|MiB|GiB|bdp|ns|us|ms|s)|auto)\s*$",
    "a size (`42p`, `60kB`, `1bdp`), a delay (`1ms`), or `auto`"
);

/// The quantity that is compared with the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    Packets,
    Bytes,
    /// Nanoseconds that a packet has waited.
    Delay,
}

/// A level on this link, as a number in the unit of its measure.
pub(super) fn level(name: &'static str, level: Level, link: &LinkContext) -> Result<(Measure, f64), ParamError> {
    let unknown = || {
        ParamError::new(name, "in packets, bytes or as a delay if the link has no rate or RTT", level)
            .hint("write for example `42p`")
    };
    let (measure, value) = match level {
        Level::Auto => {
            let (rate, rtt) = link.rate.zip(link.rtt).ok_or_else(unknown)?;
            let bdp = rate.as_bps_f64() / 8.0 * rtt.as_secs_f64() / link.packet.as_f64();
            (Measure::Packets, libm::floor(AUTO_SHARE * bdp).max(1.0))
        }
        Level::Size(size) => match link.resolve(size) {
            Size::Packets(n) => (Measure::Packets, n as f64),
            Size::Bytes(n) => (Measure::Bytes, n as f64),
            Size::MilliBdp(_) => return Err(unknown()),
        },
        Level::Delay(delay) => (Measure::Delay, delay.as_ns() as f64),
    };
    Ok((measure, value))
}

/// The lower threshold, from `lower` or `lower_fraction`.
pub(super) fn lower(params: &Params, measure: Measure, upper: f64, link: &LinkContext) -> Result<f64, ParamError> {
    match (params.lower, params.lower_fraction) {
        (None, None) => Ok(upper),
        (Some(given), Some(_)) => {
            Err(ParamError::new("lower", "given without lower_fraction", given).hint("remove one of them"))
        }
        // The study: the floor. The margin keeps whole products whole. With 0 marking would never end.
        (None, Some(part)) if (0.0..1.0).contains(&part) => Ok(libm::floor(upper * (1.0 - part) + 1e-6).max(1.0)),
        (None, Some(part)) => {
            Err(ParamError::new("lower_fraction", "at least 0 and below 1", part)
                .hint("0.15 puts lower 15 % below upper"))
        }
        (Some(given), None) => {
            let (unit, value) = level("lower", given, link)?;
            if unit != measure {
                return Err(ParamError::new("lower", format!("in the same unit as upper ({})", params.upper), given));
            }
            if value <= 0.0 {
                return Err(ParamError::new("lower", "above 0, or marking would never end", given));
            }
            if value > upper {
                return Err(ParamError::new("lower", format!("at most upper ({})", params.upper), given));
            }
            Ok(value)
        }
    }
}
