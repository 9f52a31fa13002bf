//! Exact reading and printing of decimal numbers with a unit.

use crate::error::UnitError;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A unit: its name and how many base units it is.
pub(crate) type Unit = (&'static str, u64);

/// Units of these names, each a thousand times the one before it.
pub(crate) const fn thousands<const N: usize>(names: [&'static str; N], first: u64) -> [Unit; N] {
    let mut units = [("", first); N];
    let (mut at, mut scale) = (0, first);
    while at < N {
        units[at] = (names[at], scale);
        (at, scale) = (at + 1, scale * 1000);
    }
    units
}

/// How a quantity is written.
pub(crate) struct Notation {
    /// What a text must be, for errors.
    pub rule: &'static str,
    /// The units that are read.
    pub units: &'static [Unit],
    /// The units that are printed, in ascending order.
    pub printed: &'static [Unit],
    /// Units that other tools use: they are refused, and the hint has the value in ours. Before a unit come those of
    /// the same letters that are likelier.
    pub foreign: &'static [&'static [Unit]],
}

/// Reads `text` as a decimal number followed by one of the units, as a count of base units.
///
/// The value must be a whole number of base units and fit in a `u64`.
pub(crate) fn parse(text: &str, notation: &Notation) -> Result<u64, UnitError> {
    let Notation { rule, units, .. } = *notation;
    let error = |hint: String| Err(UnitError::new(rule, text, hint));
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    if trimmed.starts_with('-') {
        return error("it cannot be negative".into());
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return error("write a number and a unit".into());
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        if unit.is_empty() {
            if whole.bytes().all(|b| b == b'0') && fraction.bytes().all(|b| b == b'0') {
                return Ok(0);
            }
            return error(format!("add a unit: {}", names(units)));
        }
        return error(match meant(number, unit, notation) {
            Some(value) => format!("did you mean `{}`?", Printed(value, notation.printed)),
            None => format!("the units are {}", names(units)),
        });
    };
    value_of(number, scale).map_err(|hint| UnitError::new(rule, text, hint))
}

/// What `number` of a unit that is not ours comes to: one of other tools, or one of ours in other letters.
fn meant(number: &str, unit: &str, notation: &Notation) -> Option<u64> {
    let exact = |(name, _): &&Unit| *name == unit;
    let loose = |(name, _): &&Unit| name.eq_ignore_ascii_case(unit);
    let foreign = || notation.foreign.iter().copied().flatten();
    let found = foreign().find(exact).or_else(|| notation.units.iter().find(loose));
    let &(_, scale) = found.or_else(|| foreign().find(loose))?;
    value_of(number, scale).ok()
}

/// `number` times `scale`, or what is wrong with it.
fn value_of(number: &str, scale: u64) -> Result<u64, &'static str> {
    const TOO_LARGE: &str = "it is too large";
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut value: u128 = 0;
    for digit in whole.bytes() {
        value = value.checked_mul(10).and_then(|v| v.checked_add(u128::from(digit - b'0'))).ok_or(TOO_LARGE)?;
    }
    value = value.checked_mul(u128::from(scale)).ok_or(TOO_LARGE)?;
    let mut place = u128::from(scale);
    for digit in fraction.trim_end_matches('0').bytes() {
        if place % 10 != 0 {
            return Err("it has more decimals than the unit can hold");
        }
        place /= 10;
        value = value.checked_add(u128::from(digit - b'0') * place).ok_or(TOO_LARGE)?;
    }
    u64::try_from(value).map_err(|_| TOO_LARGE)
}

fn names(units: &[Unit]) -> String {
    let mut out = String::new();
    for (i, (name, _)) in units.iter().enumerate() {
        out.push_str(if i == 0 { "`" } else { ", `" });
        out.push_str(name);
        out.push('`');
    }
    out
}

/// Prints `value` base units in the largest of `units` (ascending) that is not larger than it.
///
/// The decimals are exact, so [`parse`] gives `value` again.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let &(name, scale) = units.iter().rev().find(|&&(_, scale)| scale <= value).unwrap_or(&units[0]);
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return f.pad(&format!("{whole}{name}"));
    }
    let mut digits = format!("{rest:0width$}", width = scale.ilog10() as usize);
    digits.truncate(digits.trim_end_matches('0').len());
    f.pad(&format!("{whole}.{digits}{name}"))
}

/// A value as [`print`] writes it.
struct Printed(u64, &'static [Unit]);

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(f, self.0, self.1)
    }
}
